//! Recording of another transport.

use crate::error::{CaptureError, CaptureErrorKind, Fault};
mod writer;

use crate::capture::format::{End, Line, Payload, Record, RequestRecord, ResponseRecord, Text, VERSION};
use core::task::Poll;
use jiff::Timestamp;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::time::earliest;
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher, Resource};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;
use std::time::SystemTime;
use writer::CaptureWriter;

/// A transport that records the requests and responses of another one, as a capture for [`Playback`](crate::Playback).
///
/// ```no_run
/// use listwatch_core::{ListerWatcher, Resource};
/// use listwatch_transport_file::{Recorder, RecorderConfig};
///
/// # fn record(transport: impl ListerWatcher) -> Result<(), listwatch_transport_file::CaptureError> {
/// let pods = Resource::new("/api/v1/pods");
/// let mut recorder = Recorder::create("pods.jsonl.gz".as_ref(), &pods, transport, RecorderConfig::new())?;
/// // … an informer of `pods` polls `recorder` …
/// recorder.finish()
/// # }
/// ```
///
/// The recorder passes requests and responses on unchanged.
///
/// # The file
///
/// A file whose name ends in `.gz` is compressed. If the process is killed, a file can be played up to its last line,
/// and a compressed one up to its last second.
///
/// Of the headers, only media types and `Retry-After` are written, and no credentials. On Unix, only the owner may read
/// the file.
///
/// An [aborted](ListerWatcher::abort) request gets the end `"end":"cut","by":"client"`. When played, it times out after
/// the same time.
///
/// If the file cannot be written, every request fails with the reason, and none goes on unrecorded.
#[derive(Debug)]
pub struct Recorder<L> {
    transport: L,
    writer: CaptureWriter,
    /// Actions that are not written yet, because `open` and `abort` get no time.
    unwritten: VecDeque<(RequestId, ClientAction)>,
    /// The open request.
    open: Option<RequestId>,
    /// When the recording began.
    began: Option<Instant>,
    /// When the last record was written.
    last: Instant,
    error: Option<CaptureError>,
}

/// An action of the client.
#[derive(Debug)]
enum ClientAction {
    Open(Request),
    Abort,
}

/// The settings of a [`Recorder`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RecorderConfig {
    started: Option<SystemTime>,
    include_secrets: bool,
}

impl RecorderConfig {
    /// Returns the defaults: no date, and no Secrets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the date of the recording, written by RFC 3339 in seconds. A date after the year 9999 is left out.
    #[must_use]
    pub fn started(mut self, started: SystemTime) -> Self {
        self.started = Some(started);
        self
    }

    /// Sets whether Secrets may be recorded, with their contents; `false` unless set.
    #[must_use]
    pub fn include_secrets(mut self, include: bool) -> Self {
        self.include_secrets = include;
        self
    }
}

impl<L: ListerWatcher> Recorder<L> {
    /// Creates a file, and records the requests for `resource` into it.
    ///
    /// # Errors
    /// If the file exists or cannot be created, and for Secrets unless they are included.
    pub fn create(
        path: &Path,
        resource: &Resource,
        transport: L,
        config: RecorderConfig,
    ) -> Result<Self, CaptureError> {
        if is_of_secrets(resource) && !config.include_secrets {
            let why = "the recording would contain Secrets; to allow that, set `RecorderConfig::include_secrets`";
            return Err(CaptureError::new(path, None, Fault::new(CaptureErrorKind::Secrets, why)));
        }
        Self::on(CaptureWriter::create(path)?, transport, config)
    }

    fn on(mut writer: CaptureWriter, transport: L, config: RecorderConfig) -> Result<Self, CaptureError> {
        // RFC 3339 cannot write later dates.
        let started = config.started.and_then(|started| Timestamp::try_from(started).ok());
        let started = started.map(|started| Text(format!("{started:.0}").into()));
        writer.write(Line::Start { version: VERSION, started })?;
        Ok(Self {
            transport,
            writer,
            unwritten: VecDeque::new(),
            open: None,
            began: None,
            last: Instant::ZERO,
            error: None,
        })
    }

    /// Writes the remaining records, and ends the file.
    ///
    /// # Errors
    /// If writing fails now, or failed before.
    pub fn finish(&mut self) -> Result<(), CaptureError> {
        let written = match self.error.take() {
            Some(error) => Err(error),
            None => self.note_actions(self.last),
        };
        let finished = self.writer.finish();
        written.and(finished)
    }

    /// Returns the error that ended the recording; `None` while it goes on.
    #[must_use]
    pub fn error(&self) -> Option<&CaptureError> {
        self.error.as_ref()
    }

    /// Returns the recorded transport.
    #[must_use]
    pub fn transport(&self) -> &L {
        &self.transport
    }

    fn note(&mut self, now: Instant, id: RequestId, payload: Payload<'_>) -> Result<(), CaptureError> {
        self.last = now;
        let t = now.saturating_since(*self.began.get_or_insert(now)).as_millis();
        self.writer.write(Line::Record(Record { t: u64::try_from(t).unwrap_or(u64::MAX), id: id.0, payload }))
    }

    fn note_actions(&mut self, now: Instant) -> Result<(), CaptureError> {
        while let Some((id, action)) = self.unwritten.pop_front() {
            let payload = match &action {
                ClientAction::Open(request) => Payload::Request(sent(request)),
                ClientAction::Abort => Payload::End(End::by_client()),
            };
            self.note(now, id, payload)?;
        }
        Ok(())
    }

    fn note_incoming(&mut self, now: Instant, incoming: &Incoming, buf: &[u8]) -> Result<(), CaptureError> {
        match incoming {
            Incoming::Head { id, head } => self.note(now, *id, Payload::Response(response(head))),
            Incoming::Data { id, len } => self.note(now, *id, Payload::Data(Cow::Borrowed(&buf[..*len]))),
            Incoming::End { id } => self.note_end(now, *id, "eof".into()),
            Incoming::Failed { id, error } => self.note_end(now, *id, error.to_string()),
            Incoming::Idle { .. } => Ok(()),
        }
    }

    fn note_end(&mut self, now: Instant, id: RequestId, how: String) -> Result<(), CaptureError> {
        self.open.take_if(|open| *open == id);
        self.note(now, id, Payload::End(End::new(how)))
    }

    /// Flushes the file while the transport is idle, now or when a flush is due.
    fn rest(&mut self, now: Instant, until: Option<Instant>) -> Result<Poll<Incoming>, CaptureError> {
        let due = self.writer.rest(now)?;
        Ok(Poll::Ready(Incoming::Idle { until: earliest(until, due) }))
    }

    /// Fails the open request.
    fn fail(&mut self, error: &CaptureError) -> Poll<Incoming> {
        let Some(id) = self.open.take() else { return Poll::Ready(Incoming::Idle { until: None }) };
        self.transport.abort(id);
        let error = TransportError::new(TransportErrorKind::Other, error.to_string());
        Poll::Ready(Incoming::Failed { id, error })
    }
}

impl<L: ListerWatcher> ListerWatcher for Recorder<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.open = Some(id);
        if self.error.is_none() {
            self.unwritten.push_back((id, ClientAction::Open(request.clone())));
            self.transport.open(id, request);
        }
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        if let Some(error) = self.error.clone() {
            return self.fail(&error);
        }
        let now = context.now;
        let polled = self.note_actions(now).map(|()| self.transport.poll_read(context, buf));
        let noted = polled.and_then(|polled| match polled {
            // The transport wakes the caller, which may also poll earlier.
            Poll::Pending => self.rest(now, None),
            Poll::Ready(Incoming::Idle { until }) => self.rest(now, until),
            Poll::Ready(incoming) => self.note_incoming(now, &incoming, buf).map(|()| Poll::Ready(incoming)),
        });
        noted.unwrap_or_else(|error| {
            let failed = self.fail(&error);
            self.error = Some(error);
            failed
        })
    }

    fn abort(&mut self, id: RequestId) {
        let written = self.unwritten.iter().all(|(unwritten, _)| *unwritten != id);
        self.unwritten.retain(|(unwritten, _)| *unwritten != id);
        if self.open.take_if(|open| *open == id).is_some() && written {
            self.unwritten.push_back((id, ClientAction::Abort));
        }
        self.transport.abort(id);
    }
}

fn sent(request: &Request) -> RequestRecord<'_> {
    let headers = [("accept".into(), Text(request.accept().into()))].into();
    RequestRecord { method: "GET".into(), path: request.to_string().into(), headers, body: None }
}

/// The record of a response, without headers that could be confidential.
fn response(head: &ResponseHead) -> ResponseRecord<'_> {
    let media_type = head.content_type.as_deref().map(|value| ("content-type".into(), Text(value.into())));
    let wait = head.retry_after.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    let retry_after = wait.map(|seconds| ("retry-after".into(), Text(seconds.to_string().into())));
    ResponseRecord { status: head.status, headers: media_type.into_iter().chain(retry_after).collect() }
}

fn is_of_secrets(resource: &Resource) -> bool {
    resource.path().split(['/', '?']).any(|part| part == "secrets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Playback;
    use core::task::{Context, Waker};
    use std::io::Write;

    /// A sink for a limited number of bytes.
    struct Disk(usize);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_ends_the_requests_instead_of_going_on_unrecorded() {
        let mut recorder = on_a_disk_of(9_000, "full.jsonl");
        let Incoming::Failed { error, .. } = answer(&mut recorder, 1) else { panic!("all was recorded") };
        assert!(error.detail.starts_with("full.jsonl: cannot be written"), "{error}");
        assert!(
            error.detail.ends_with("are kept, and can be played; make room, and record on under another name"),
            "{error}"
        );
        assert_eq!(answer(&mut recorder, 2), Incoming::Failed { id: RequestId(2), error });
        assert_eq!(recorder.finish().unwrap_err().kind(), CaptureErrorKind::Io);
    }

    #[test]
    fn a_disk_that_is_full_only_at_the_end_is_told_at_the_end() {
        // The smallest disk with room for all but the end.
        let mut disks = (9_000..40_000).step_by(32).map(|bytes| on_a_disk_of(bytes, "full.jsonl.gz"));
        let ended = Incoming::End { id: RequestId(1) };
        let mut recorder = disks.find_map(|mut disk| (answer(&mut disk, 1) == ended).then_some(disk)).unwrap();
        assert_eq!(recorder.finish().unwrap_err().kind(), CaptureErrorKind::Io);
    }

    fn on_a_disk_of(bytes: usize, name: &str) -> Recorder<Playback> {
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures/pods-rollout.jsonl.gz");
        let writer = CaptureWriter::new(name.as_ref(), Box::new(Disk(bytes)));
        Recorder::on(writer, Playback::from_file(capture).unwrap(), RecorderConfig::new()).unwrap()
    }

    /// The end of the response to a list.
    fn answer(recorder: &mut Recorder<Playback>, id: u64) -> Incoming {
        let (mut cx, mut now, mut buf) = (Context::from_waker(Waker::noop()), Instant::ZERO, [0; 4096]);
        recorder.open(RequestId(id), &Request::parse("/api/v1/pods?limit=50"));
        loop {
            match recorder.poll_read(ReadContext { cx: &mut cx, now, max_wait: None }, &mut buf) {
                Poll::Ready(Incoming::Idle { until }) => now = until.unwrap(),
                Poll::Ready(ended @ (Incoming::Failed { .. } | Incoming::End { .. })) => return ended,
                Poll::Ready(_) => {}
                Poll::Pending => panic!("a recording always knows"),
            }
        }
    }
}
