use super::config::RecorderConfig;
use super::hashes::{Pieces, TooLong};
use super::mark::{Begun, Mark};
use super::tape::Tape;
use crate::capture::Data;
use crate::capture::format::{End, Payload, RequestRecord, ResponseRecord, Text};
use crate::error::CaptureError;
use core::fmt;
use core::task::{Context, Poll};
use listwatch_core::request::{Query, Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::time::earliest;
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError};
use listwatch_core::{Instant, ListerWatcher, Resource};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A transport that records the requests and responses of another one, as a capture for [`Playback`](crate::Playback).
/// [`Recorder::create`] makes one with a file of its own, and [`Tape::transport`] one of several for a file.
///
/// ```no_run
/// use listwatch_core::{ListerWatcher, Resource};
/// use listwatch_transport_file::{Recorder, RecorderConfig};
///
/// # fn record(transport: impl ListerWatcher) -> Result<(), listwatch_transport_file::CaptureError> {
/// let pods = Resource::new("/api/v1/pods");
/// let mut recorder = Recorder::create("pods.jsonl.zst".as_ref(), &pods, transport, RecorderConfig::new())?;
/// // … an informer of `pods` polls `recorder` …
/// recorder.finish()
/// # }
/// ```
///
/// The recorder passes requests and responses on, and asks for
/// [managed fields](Resource::without_managed_fields) in any case. A request is sent at the first poll after
/// [`open`](ListerWatcher::open), because its line stands before it is sent, and bears the time.
///
/// # The file
///
/// A file whose name ends in `.zst` or `.gz` is compressed. If the process is killed, the file can be played up to its last
/// second.
///
/// Of the headers, only media types and `Retry-After` are written, and no credentials. On Unix, only the owner may read
/// the file.
///
/// An [aborted](ListerWatcher::abort) request gets the end `"end":"cut","by":"client"`. When played, it times out after
/// the same time.
///
/// If the file cannot be written, every request of a recorder with a file of its own fails with the reason, and none goes
/// on unrecorded.
#[derive(Debug)]
pub struct Recorder<L> {
    transport: L,
    tape: Tape,
    /// Its number among the transports of the tape.
    number: u64,
    open: Option<(RequestId, OpenRequest)>,
    followed: Option<Followed>,
}

/// The cache that the transport leads to.
struct Followed {
    name: Arc<str>,
    changes: Box<dyn Fn() -> u64 + Send>,
}

/// The open request.
#[derive(Debug)]
enum OpenRequest {
    /// It is written and sent at the next poll, which knows the time.
    Unsent(Request),
    Sent {
        /// Its number on the tape.
        id: u64,
        /// What waits to be hashed, if it is confidential.
        pieces: Option<Pieces>,
    },
}

/// The end of a confidential response that is not held in memory.
const TOO_LONG: &str = "cut: more than 64 MiB of it would have to be hashed at once";

impl Tape {
    /// Records the lists and watches that go by this transport.
    #[must_use]
    pub fn transport<L: ListerWatcher>(&self, transport: L) -> Recorder<L> {
        Recorder::new(self.clone(), transport)
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
        Ok(Tape::create_for(path, [resource], config.fail_unrecorded(true))?.transport(transport))
    }

    pub(super) fn new(tape: Tape, transport: L) -> Self {
        let number = tape.next_transport();
        Self { transport, tape, number, open: None, followed: None }
    }

    /// Names the list-and-watch as notes of reconciles do, and tells how many changes its cache has at the moment. A dump of
    /// a tape [in memory](Tape::in_memory) needs it, to be replayed with the reconciles.
    #[must_use]
    pub fn followed_by(mut self, name: Arc<str>, changes: impl Fn() -> u64 + Send + 'static) -> Self {
        self.followed = Some(Followed { name, changes: Box::new(changes) });
        self
    }

    /// Writes the remaining records, and ends the file.
    ///
    /// # Errors
    /// If writing fails now, or failed before.
    pub fn finish(&mut self) -> Result<(), CaptureError> {
        self.tape.finish()
    }

    /// Returns the error that ended the recording; `None` while it goes on.
    #[must_use]
    pub fn error(&self) -> Option<CaptureError> {
        self.tape.error()
    }

    /// Returns the recorded transport.
    #[must_use]
    pub fn transport(&self) -> &L {
        &self.transport
    }

    /// Writes and sends a request that was opened.
    fn send(&mut self, now: Instant) -> Result<(), TransportError> {
        let Some((request_id, open @ OpenRequest::Unsent(_))) = &mut self.open else { return Ok(()) };
        let id = self.tape.next_request();
        let OpenRequest::Unsent(request) = core::mem::replace(open, OpenRequest::Sent { id, pieces: None }) else {
            return Ok(());
        };
        let hashes = self.tape.hashes(request.resource.path());
        let pieces = hashes.map(|_| Pieces::new(request.query() != Query::List));
        let record = sent(&request, pieces.is_some());
        *open = OpenRequest::Sent { id, pieces };
        let name = self.followed.as_ref().map_or("", |followed| &*followed.name);
        let begun = Begun { id, transport: self.number, query: request.query(), name };
        self.tape.mark(Mark::Begun(begun));
        self.tape.records(now, id, [Payload::Request(record)])?;
        self.transport.open(*request_id, &request);
        Ok(())
    }

    fn record(&mut self, now: Instant, incoming: &Incoming, buf: &[u8]) -> Result<(), TransportError> {
        let Some((request_id, OpenRequest::Sent { id, pieces })) = &mut self.open else { return Ok(()) };
        let (request_id, id) = (*request_id, *id);
        if let (Some(followed), Incoming::Data { .. }) = (&self.followed, incoming) {
            self.tape.mark(Mark::Position { id, changes: (followed.changes)() });
        }
        let mut last = None;
        let payload = match (incoming, pieces.as_mut().zip(self.tape.all_hashes())) {
            (Incoming::Head { head, .. }, _) => Payload::Response(response(head)),
            (Incoming::Data { len, .. }, None) => Payload::Data(Data::new(&buf[..*len], false)),
            (Incoming::Data { len, .. }, Some((pieces, hashes))) => match pieces.add(hashes, &buf[..*len]) {
                Ok(whole) if whole.is_empty() => return Ok(()),
                Ok(whole) => Payload::Data(Data::new(whole, false)),
                Err(TooLong) => Payload::End(End::new(TOO_LONG)),
            },
            (Incoming::End { .. }, hashed) => {
                last = hashed.map(|(pieces, hashes)| pieces.end(hashes)).filter(|piece| !piece.is_empty());
                Payload::End(End::new("eof"))
            }
            (Incoming::Failed { error, .. }, hashed) => {
                let is_hashed = hashed.is_some();
                last = hashed.and_then(|(pieces, hashes)| pieces.end_if_whole(hashes));
                Payload::End(failure(error, is_hashed))
            }
            (Incoming::Idle { .. }, _) => return Ok(()),
        };
        if matches!(payload, Payload::End(_)) {
            self.open.take_if(|(open, _)| *open == request_id);
        }
        let last = last.map(|piece| Payload::Data(Data::new(piece, false)));
        self.tape.records(now, id, last.into_iter().chain([payload]))
    }

    /// Flushes the file while the transport is idle, now or when a flush is due.
    fn rest(&self, now: Instant, until: Option<Instant>, cx: &Context<'_>) -> Result<Poll<Incoming>, TransportError> {
        let due = self.tape.rest(now, self.number, cx.waker())?;
        Ok(Poll::Ready(Incoming::Idle { until: earliest(until, due) }))
    }

    /// Fails the open request.
    fn fail(&mut self, error: TransportError) -> Poll<Incoming> {
        let Some((id, open)) = self.open.take() else { return Poll::Ready(Incoming::Idle { until: None }) };
        if let OpenRequest::Sent { .. } = open {
            self.transport.abort(id);
        }
        Poll::Ready(Incoming::Failed { id, error })
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<L: ListerWatcher> ListerWatcher for Recorder<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        // Managers tell the programs that changed a field.
        let Request { resource, verb } = request.clone();
        let resource = resource.without_managed_fields(false);
        self.open = Some((id, OpenRequest::Unsent(Request { resource, verb })));
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let ReadContext { cx, now, max_wait } = context;
        let sent = match self.tape.refusal() {
            Some(error) => Err(error),
            None => self.send(now),
        };
        let polled = sent.map(|()| self.transport.poll_read(ReadContext { cx, now, max_wait }, buf));
        let recorded = polled.and_then(|polled| match polled {
            // The transport wakes the caller, which may also poll earlier.
            Poll::Pending => self.rest(now, None, cx),
            Poll::Ready(Incoming::Idle { until }) => self.rest(now, until, cx),
            Poll::Ready(incoming) => self.record(now, &incoming, buf).map(|()| Poll::Ready(incoming)),
        });
        recorded.unwrap_or_else(|error| self.fail(error))
    }

    fn abort(&mut self, id: RequestId) {
        match self.open.take_if(|(open, _)| *open == id) {
            Some((_, OpenRequest::Sent { id: recorded, .. })) => {
                self.tape.aborted(recorded);
                self.transport.abort(id);
            }
            Some((_, OpenRequest::Unsent(_))) => {}
            None => self.transport.abort(id),
        }
    }

    fn waits_for(&self) -> Option<SharedText> {
        self.transport.waits_for()
    }
}

impl<L> Drop for Recorder<L> {
    fn drop(&mut self) {
        if let Some((_, OpenRequest::Sent { id, .. })) = self.open {
            self.tape.aborted(id);
        }
        self.tape.leave(self.number);
    }
}

fn sent(request: &Request, hashed: bool) -> RequestRecord<'_> {
    let headers = [("accept".into(), Text(request.accept().into()))].into();
    RequestRecord { headers, hashed, ..RequestRecord::new("GET", request.to_string()) }
}

/// The record of a response, without headers that could be confidential.
fn response(head: &ResponseHead) -> ResponseRecord<'_> {
    let media_type = head.content_type.as_deref().map(|value| ("content-type".into(), Text(value.into())));
    let headers = media_type.into_iter().chain(retry_after(head.retry_after)).collect();
    ResponseRecord { status: head.status, headers }
}

/// The header of a delay that the server requests, in whole seconds.
pub(super) fn retry_after(wait: Option<Duration>) -> Option<(Cow<'static, str>, Text<'static>)> {
    let seconds = wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
    seconds.map(|seconds| ("retry-after".into(), Text(seconds.to_string().into())))
}

/// The end of a request that failed, without the message if that may quote a secret.
pub(super) fn failure(error: &TransportError, is_confidential: bool) -> End<'static> {
    End::new(if is_confidential { error.kind.to_string() } else { error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Playback;
    use crate::error::CaptureErrorKind;
    use crate::recording::writer::CaptureWriter;
    use core::task::Waker;
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

    #[test]
    fn a_program_that_records_itself_goes_on_when_its_disk_is_full_and_is_told_once() {
        let told = Arc::new(std::sync::Mutex::new(Vec::new()));
        for name in ["itself.jsonl", "itself.jsonl.gz", "itself.jsonl.zst"] {
            let writer = CaptureWriter::new(name.as_ref(), Box::new(Disk(3_000))).unwrap();
            let tape = Tape::on(writer, RecorderConfig::new()).unwrap();
            let errors = told.clone();
            tape.on_error(move |error| errors.lock().unwrap().push(error.to_string()));
            let mut recorder = tape.transport(rollout());
            assert_eq!(answer(&mut recorder, 1), Incoming::End { id: RequestId(1) });
            drop(recorder);
            assert_eq!(tape.finish().unwrap_err(), tape.error().unwrap());
            let told = std::mem::take(&mut *told.lock().unwrap());
            assert!(told.len() == 1 && told[0].starts_with(&format!("{name}: cannot be written")), "{told:?}");
        }
    }

    fn rollout() -> Playback {
        Playback::from_file(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/captures/pods-rollout.jsonl.gz"))
            .unwrap()
    }

    fn on_a_disk_of(bytes: usize, name: &str) -> Recorder<Playback> {
        let writer = CaptureWriter::new(name.as_ref(), Box::new(Disk(bytes))).unwrap();
        let tape = Tape::on(writer, RecorderConfig::new().fail_unrecorded(true)).unwrap();
        tape.transport(rollout())
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
