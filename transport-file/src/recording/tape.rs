use super::config::RecorderConfig;
use super::hashes::Hashes;
use super::mark::Mark;
use super::ring::{Cut, Ring};
use super::sink::Sink;
use super::writer::CaptureWriter;
use crate::capture::format::{End, Line, Payload, Record, VERSION};
use crate::capture::{Note, NoteKind, TapeStart};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use core::task::Waker;
use listwatch_core::request::is_confidential;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use listwatch_core::{Instant, Resource};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One file for a whole controller: the lists and watches of several resources, the other requests with their responses,
/// and [notes](Note) of the reconciles, on one time base. [`Playback`](crate::Playback) plays it. A clone writes to the
/// same file.
///
/// ```no_run
/// use listwatch_core::ListerWatcher;
/// use listwatch_core::api::{ApiTransport, Calls};
/// use listwatch_transport_file::{CaptureError, RecorderConfig, Tape};
///
/// # fn record(pods: impl ListerWatcher, nodes: impl ListerWatcher, client: impl ApiTransport) -> Result<(), CaptureError> {
/// let tape = Tape::create("tonight.jsonl.zst", RecorderConfig::new().seed(42))?;
/// let (pods, nodes) = (tape.transport(pods), tape.transport(nodes));
/// let calls = Calls::new(tape.client(client));
/// // … informers poll `pods` and `nodes`, and a controller sends its requests by `calls` …
/// tape.finish()
/// # }
/// ```
///
/// # Order
///
/// Lines are in the order in which things happened: a request stands before it is sent, and a part of a response before
/// the caller gets it. Times never decrease. All callers of one tape read the same clock.
///
/// # The file
///
/// A file whose name ends in `.zst` or `.gz` is compressed; Zstandard takes a tenth of the time. The file ends in a
/// whole line after a kill, which loses at most the last second, as long as an informer is polled. A tape with a
/// [seed](RecorderConfig::seed) that was finished has a last line, `"finished":true`, so that a replay can tell. On
/// Unix, only the owner may read the file.
///
/// Each line has one record, its number and a checksum. Bodies stand in their lines as they came: `grep` finds what is in
/// them, and `jq -R 'fromjson? | .line?'` prints the events of watches.
///
/// If the file cannot be written any more, the recording ends: [`error`](Self::error) says why, and the requests go on
/// without it, unless [`RecorderConfig::fail_unrecorded`] is set. The last clone [finishes](Self::finish) the file when
/// it is dropped.
///
/// # Secrets
///
/// Of the headers, only media types and `Retry-After` are written, and no credentials. In a request for Secrets, for the
/// token of a service account or for the review of a token, and in its response, a keyed hash stands for each value. A
/// value in an annotation of a Secret is hashed too. The key is drawn for the tape and is not written, so that equal values
/// have equal hashes on one tape, and on no other. [`on_hashes`](Self::on_hashes) says so when the first one is written.
///
/// A body that is not JSON is hashed as a whole, and an answer of more than 64 MiB ends on the tape as cut. Names, labels
/// and the keys of values stay. Behind the first hash, the messages of failed reconciles stay off the tape, because they
/// may quote a value. [`RecorderConfig::include_secrets`] records the values instead.
#[derive(Clone)]
pub struct Tape(Arc<Shared>);

struct Shared {
    path: PathBuf,
    start: TapeStart,
    state: Mutex<Recording>,
    /// `None` if values are recorded.
    hashes: Option<Hashes>,
    fail_unrecorded: bool,
    on_error: Mutex<Option<OnError>>,
    on_hashes: Mutex<Option<OnHashes>>,
}

/// Hears of the error that ends a recording.
type OnError = Box<dyn Fn(&CaptureError) + Send>;

/// Hears that the first confidential request is recorded.
type OnHashes = Box<dyn FnOnce() + Send>;

struct Recording {
    writer: Sink,
    /// Whether it has the seed of a program.
    is_of_controller: bool,
    /// The instant from which times count.
    began: Option<Instant>,
    /// When the last record was written.
    last: Instant,
    next_request: u64,
    next_transport: u64,
    next_reconcile: u64,
    next_note: u64,
    /// The requests without an end.
    open: BTreeSet<u64>,
    /// The requests that clients aborted, with no time to write it.
    aborted: Vec<u64>,
    has_hashes: bool,
    /// Whether a transport polls again when a flush is due.
    flush_is_promised: bool,
    /// The transports that are idle.
    idle: BTreeMap<u64, Waker>,
    error: Option<CaptureError>,
    is_finished: bool,
}

impl Tape {
    /// Creates a file or, if it exists, the next one: `tonight-2.jsonl.zst` beside `tonight.jsonl.zst`. So a program that is
    /// started again keeps the tape of its last run. [`path`](Self::path) names the file.
    ///
    /// ```
    /// use listwatch_transport_file::{RecorderConfig, Tape};
    ///
    /// # let folder = std::env::temp_dir().join(format!("next-tape-{}", std::process::id()));
    /// # std::fs::create_dir(&folder)?;
    /// # let path = folder.join("tonight.jsonl.zst");
    /// let first = Tape::create(&path, RecorderConfig::new())?;
    /// let second = Tape::create(&path, RecorderConfig::new())?;
    /// assert_eq!(first.path(), path);
    /// assert!(second.path().ends_with("tonight-2.jsonl.zst"));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be created, or a thousand of this name exist.
    pub fn create(path: impl AsRef<Path>, config: RecorderConfig) -> Result<Self, CaptureError> {
        Self::on(CaptureWriter::create_next(path.as_ref())?, config)
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Creates a file for these resources.
    ///
    /// # Errors
    /// If the file exists or cannot be created, and if one of them is Secrets, unless they are included.
    pub fn create_for<'r>(
        path: impl AsRef<Path>,
        resources: impl IntoIterator<Item = &'r Resource>,
        config: RecorderConfig,
    ) -> Result<Self, CaptureError> {
        let path = path.as_ref();
        let is_secret = |resource: &Resource| is_confidential(resource.path());
        if !config.include_secrets && resources.into_iter().any(is_secret) {
            let why = "the recording would contain Secrets; to allow that, set `RecorderConfig::include_secrets`";
            return Err(CaptureError::new(path, None, Fault::new(CaptureErrorKind::Secrets, why)));
        }
        Self::on(CaptureWriter::create(path)?, config)
    }

    pub(super) fn on(mut writer: CaptureWriter, config: RecorderConfig) -> Result<Self, CaptureError> {
        writer.write(Line::Start(VERSION, config.start.clone()))?;
        Ok(Self::keeping(Sink::File(writer.into()), config))
    }

    pub(super) fn keeping(writer: Sink, config: RecorderConfig) -> Self {
        let RecorderConfig { start, began, include_secrets, fail_unrecorded } = config;
        let path = writer.path().to_path_buf();
        let state = Recording {
            writer,
            is_of_controller: start.seed.is_some(),
            began,
            last: Instant::ZERO,
            next_request: 1,
            next_transport: 1,
            next_reconcile: 1,
            next_note: 1,
            open: BTreeSet::new(),
            aborted: Vec::new(),
            has_hashes: false,
            flush_is_promised: false,
            idle: BTreeMap::new(),
            error: None,
            is_finished: false,
        };
        let (state, on_error, on_hashes) = (Mutex::new(state), Mutex::default(), Mutex::default());
        let hashes = (!include_secrets).then(Hashes::new);
        Self(Arc::new(Shared { path, start, state, hashes, fail_unrecorded, on_error, on_hashes }))
    }

    /// Acts on the memory of a tape without a file.
    pub(super) fn with_ring<R>(&self, act: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        match &mut self.state().writer {
            Sink::Memory(ring) => Some(act(ring)),
            Sink::File(_) => None,
        }
    }

    /// What the memory has now, and the number of the next request.
    ///
    /// # Errors
    /// The tape is in a file.
    pub(super) fn cut(&self, path: &Path, now: Instant) -> Result<(std::io::Result<Cut>, u64), CaptureError> {
        let mut state = self.state();
        let (t, next_request) = (state.time(now), state.next_request);
        let _aborted = state.write_aborts(t);
        match &mut state.writer {
            Sink::Memory(ring) => Ok((ring.cut(t), next_request)),
            Sink::File(file) => {
                let why = format!("the recording is in {} already; copy that file", file.path().display());
                Err(CaptureError::new(path, None, Fault::new(CaptureErrorKind::Io, why)))
            }
        }
    }

    /// Adds what a tape in memory alone keeps.
    pub(super) fn mark(&self, mark: Mark<'_>) {
        let _failed = self.attempt(|state| state.writer.mark(mark));
    }

    /// Returns the number of a reconcile that begins: 1, 2, 3 and so on for the controllers of one tape.
    #[must_use]
    pub fn next_reconcile(&self) -> u64 {
        next(&mut self.state().next_reconcile)
    }

    /// Returns the first line of the file.
    #[must_use]
    pub fn start(&self) -> &TapeStart {
        &self.0.start
    }

    /// Writes a line about a reconcile.
    pub fn note(&self, now: Instant, note: &Note) {
        let _failed = self.write(now, |state, t| {
            let note = if state.has_hashes { without_message(note) } else { note.clone() };
            let number = next(&mut state.next_note);
            state.writer.write(Line::Note(t, number, note))
        });
        self.flush_soon(now);
    }

    /// Writes what is left, and ends the file. Later requests are not recorded.
    ///
    /// # Errors
    /// If writing fails now, or failed before.
    pub fn finish(&self) -> Result<(), CaptureError> {
        self.0.finish()
    }

    /// Returns the error that ended the recording; `None` while it goes on.
    #[must_use]
    pub fn error(&self) -> Option<CaptureError> {
        self.state().error.clone()
    }

    /// Calls `on_error` once if the recording ends with an error, on the thread that finds it.
    pub fn on_error(&self, on_error: impl Fn(&CaptureError) + Send + 'static) {
        *lock(&self.0.on_error) = Some(Box::new(on_error));
    }

    /// Calls `on_hashes` once, before the first request of which keyed hashes are recorded in place of values.
    pub fn on_hashes(&self, on_hashes: impl FnOnce() + Send + 'static) {
        *lock(&self.0.on_hashes) = Some(Box::new(on_hashes));
    }

    /// Returns what hides the values in a request for this path, and in its response, if they stay off the tape.
    pub(super) fn hashes(&self, path: &str) -> Option<&Hashes> {
        self.all_hashes().filter(|_| is_confidential(path))
    }

    /// Returns what hides values, if they stay off the tape.
    pub(super) fn all_hashes(&self) -> Option<&Hashes> {
        self.0.hashes.as_ref()
    }

    pub(super) fn next_transport(&self) -> u64 {
        next(&mut self.state().next_transport)
    }

    pub(super) fn next_request(&self) -> u64 {
        next(&mut self.state().next_request)
    }

    /// Writes the lines of a request, or of its response, together.
    pub(super) fn records<'p>(
        &self,
        now: Instant,
        id: u64,
        payloads: impl IntoIterator<Item = Payload<'p>>,
    ) -> Result<(), TransportError> {
        let mut is_first = false;
        let written = self.write(now, |state, t| {
            payloads.into_iter().try_for_each(|payload| {
                match &payload {
                    Payload::Request(request) => {
                        is_first = request.hashed && !state.has_hashes;
                        state.has_hashes |= request.hashed;
                        state.open.insert(id);
                    }
                    Payload::End(_) => _ = state.open.remove(&id),
                    Payload::Response(_) | Payload::Data(_) => {}
                }
                state.writer.write(Line::Record(Record { t, id, payload }))
            })
        });
        let told = lock(&self.0.on_hashes).take_if(|_| is_first);
        told.into_iter().for_each(|tell| tell());
        written
    }

    /// Notes that the client aborted a request. The next line comes behind it.
    pub(super) fn aborted(&self, id: u64) {
        let mut state = self.state();
        // A recording that is over is not written to any more.
        if !state.is_finished && state.error.is_none() && state.open.contains(&id) {
            state.aborted.push(id);
        }
    }

    /// Returns why a request must fail: it would go on unrecorded.
    pub(super) fn refusal(&self) -> Option<TransportError> {
        let error = self.state().error.clone().filter(|_| self.0.fail_unrecorded)?;
        Some(TransportError::new(TransportErrorKind::Other, error.to_string()))
    }

    /// Flushes the file while a transport is idle. If a flush is not due yet, returns when the transport has to call
    /// again; if there is nothing to flush, `waker` is called when there is.
    pub(super) fn rest(&self, now: Instant, transport: u64, waker: &Waker) -> Result<Option<Instant>, TransportError> {
        let (mut due, mut waker) = (None, Some(waker.clone()));
        self.attempt(|state| {
            due = state.writer.rest(now)?;
            state.flush_is_promised = due.is_some();
            // The last waker is dropped after the lock: its drop may drop a transport.
            waker = waker.take().and_then(|waker| state.idle.insert(transport, waker));
            Ok(())
        })?;
        Ok(due)
    }

    /// Forgets a transport.
    pub(super) fn leave(&self, transport: u64) {
        let mut state = self.state();
        let waker = state.idle.remove(&transport);
        state.flush_is_promised = false;
        let _failed = state.writer.mark(Mark::Left { transport });
        drop(state);
        drop(waker);
    }

    /// Lets the lines that are written reach the file within a second, although their writer does not call again.
    pub(super) fn flush_soon(&self, now: Instant) {
        let mut idle = BTreeMap::new();
        let _failed = self.attempt(|state| {
            if state.writer.rest(now)?.is_some() && !core::mem::replace(&mut state.flush_is_promised, true) {
                idle = core::mem::take(&mut state.idle);
            }
            Ok(())
        });
        idle.into_values().for_each(Waker::wake);
    }

    /// Writes lines at a time that is not before that of the last one.
    fn write(
        &self,
        now: Instant,
        write: impl FnOnce(&mut Recording, u64) -> Result<(), CaptureError>,
    ) -> Result<(), TransportError> {
        self.attempt(|state| {
            let t = state.time(now);
            state.write_aborts(t)?;
            write(state, t)
        })
    }

    /// Acts unless the recording is over. The first failure ends it.
    fn attempt(&self, act: impl FnOnce(&mut Recording) -> Result<(), CaptureError>) -> Result<(), TransportError> {
        let mut state = self.state();
        if state.error.is_none() && !state.is_finished {
            let Err(error) = act(&mut state) else { return Ok(()) };
            state.error = Some(error.clone());
            drop(state);
            self.0.tell(&error);
        } else {
            drop(state);
        }
        self.refusal().map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, Recording> {
        lock(&self.0.state)
    }
}

impl Recording {
    /// The milliseconds since the recording began.
    fn time(&mut self, now: Instant) -> u64 {
        // Threads that read the clock one after the other may come here in another order.
        self.last = self.last.max(now);
        let t = self.last.saturating_since(*self.began.get_or_insert(self.last)).as_millis();
        u64::try_from(t).unwrap_or(u64::MAX)
    }

    fn write_aborts(&mut self, t: u64) -> Result<(), CaptureError> {
        core::mem::take(&mut self.aborted).into_iter().try_for_each(|id| {
            if !self.open.remove(&id) {
                return Ok(());
            }
            let payload = Payload::End(End::by_client());
            self.writer.write(Line::Record(Record { t, id, payload }))
        })
    }

    /// Writes the last line of the tape of a controller, by which a replay knows that nothing is cut off.
    fn write_end(&mut self, t: u64) -> Result<(), CaptureError> {
        if self.is_of_controller { self.writer.write(Line::Finished(t)) } else { Ok(()) }
    }

    fn finish(&mut self) -> Result<(), CaptureError> {
        if core::mem::replace(&mut self.is_finished, true) {
            return self.error.clone().map_or(Ok(()), Err);
        }
        let t = self.time(self.last);
        // A single one ends with the recording. Of several, only one has the last line.
        if self.open.len() > 1 {
            self.aborted.extend(&self.open);
        }
        let written = match self.error.take() {
            Some(error) => Err(error),
            None => self.write_aborts(t).and_then(|()| self.write_end(t)),
        };
        // What was written before is kept, whatever failed.
        let ended = self.writer.finish();
        let finished = written.and(ended);
        self.error = finished.clone().err();
        finished
    }
}

impl Shared {
    fn finish(&self) -> Result<(), CaptureError> {
        let (was_known, finished) = {
            let mut state = lock(&self.state);
            (state.error.is_some(), state.finish())
        };
        if let Err(error) = finished.as_ref()
            && !was_known
        {
            self.tell(error);
        }
        finished
    }

    fn tell(&self, error: &CaptureError) {
        if let Some(on_error) = lock(&self.on_error).take() {
            on_error(error);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // It told its error.
        let _told = self.finish();
    }
}

listwatch_core::summary!("Tape" for Tape, |it| { writer: it.state().writer });

/// The note without the message of an error, which may quote a Secret.
fn without_message(note: &Note) -> Note {
    let mut note = note.clone();
    if let NoteKind::Ended { outcome } = &mut note.kind
        && let Some(message) = outcome.find(": ")
    {
        outcome.truncate(message);
        outcome.push_str(": withheld");
    }
    note
}

/// Returns a number, and counts on.
fn next(number: &mut u64) -> u64 {
    *number += 1;
    *number - 1
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::{Context, Poll};
    use listwatch_core::api::{ApiRequest, ApiTransport, Method, Reply};
    use listwatch_core::request::RequestId;
    use listwatch_core::transport::ReadContext;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    /// A tape in a file of this name, which is gone when the test is over.
    struct Taped(Tape);

    impl Taped {
        fn named(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("listwatch-tape-{name}-{}.jsonl", std::process::id()));
            let _of_an_earlier_run = std::fs::remove_file(&path);
            Self(Tape::create(path, RecorderConfig::new()).unwrap())
        }
    }

    impl Drop for Taped {
        fn drop(&mut self) {
            std::fs::remove_file(self.0.path()).unwrap();
        }
    }

    /// Answers nothing.
    struct Silent;

    impl ApiTransport for Silent {
        fn open(&mut self, _: RequestId, _: &ApiRequest) {}

        fn poll_response(&mut self, _: RequestId, _: ReadContext<'_, '_>) -> Poll<Reply> {
            Poll::Pending
        }

        fn abort(&mut self, _: RequestId) {}
    }

    fn send(calls: &mut impl ApiTransport, id: u64) {
        calls.open(RequestId(id), &ApiRequest::new(Method::Get, "/api/v1/nodes/a"));
        let mut cx = Context::from_waker(Waker::noop());
        let turn = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
        assert!(calls.poll_response(RequestId(id), turn).is_pending());
    }

    #[test]
    fn a_finished_tape_does_not_grow_with_aborted_requests() {
        let taped = Taped::named("grew");
        let mut calls = taped.0.client(Silent);
        taped.0.finish().unwrap();
        for id in 0..1000 {
            send(&mut calls, id);
            calls.abort(RequestId(id));
        }
        assert_eq!(taped.0.state().aborted.len(), 0);
    }

    /// Tries to take the tape's lock when it is dropped, and counts how often it can.
    struct Asks(Tape, Arc<AtomicUsize>);

    impl Wake for Asks {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Asks {
        fn drop(&mut self) {
            self.1.fetch_add(usize::from(self.0.0.state.try_lock().is_ok()), Ordering::Relaxed);
        }
    }

    #[test]
    fn a_waker_is_dropped_after_the_lock_of_its_tape() {
        let (taped, free) = (Taped::named("wakers"), Arc::new(AtomicUsize::new(0)));
        for _ in 0..3 {
            let waker = Waker::from(Arc::new(Asks(taped.0.clone(), free.clone())));
            taped.0.rest(Instant::ZERO, 1, &waker).unwrap();
        }
        taped.0.leave(1);
        assert_eq!(free.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn the_requests_of_a_dropped_client_end_as_cut_by_the_client() {
        let taped = Taped::named("dropped");
        let mut calls = taped.0.client(Silent);
        send(&mut calls, 1);
        drop(calls);
        let note = Note { reconcile: 1, of: "foos".into(), kind: NoteKind::Ended { outcome: "dropped".into() } };
        taped.0.note(Instant::ZERO, &note);
        taped.0.finish().unwrap();
        let lines = std::fs::read_to_string(taped.0.path()).unwrap();
        let end = lines.lines().nth(2).unwrap();
        assert!(end.contains(r#""id":1,"end":"cut","by":"client""#), "{lines}");
    }
}
