use super::ObjectReference;
use super::config::{RecorderConfig, RecorderConfigError};
use super::occurrence::{Key, Occurrence};
use super::series::{Names, Series, Stage, Wish};
use super::spam::{Recent, SpamFilter};
use crate::api::{Api, ApiError, ApiResponse, Asked, CallAction, Patch, PendingCalls};
use crate::request::{RequestId, Resource};
use crate::text::Printable;
use crate::time::{Instant, WallTime, earliest};
use crate::transport::TransportError;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use serde::de::IgnoredAny;

/// Writes occurrences as Events (client-go `tools/events`), with the spam filter of `tools/record`.
///
/// # How it is driven
///
/// [`record`](Self::record) takes an occurrence and never waits. After each call of a method that takes the time, the
/// caller drains [`poll_action`](Self::poll_action) and [`poll_problem`](Self::poll_problem). It calls
/// [`handle_timeout`](Self::handle_timeout) at [`poll_timeout`](Self::poll_timeout).
///
/// # What it asks of a server
///
/// - The first occurrence of a series is written at once, and the second one too. Later ones are counted. The count is
///   written every 30 minutes, and six minutes after the last occurrence.
/// - The first two writes of a series take a token of their object each. An object has 25 tokens for each type, and gets
///   another one every five minutes. A series without a token waits for one, and is counted meanwhile. client-go drops
///   it.
/// - At most eight requests are open. After a failure that may pass, all wait for 10 to 12.5 s, or as long as the server
///   asks. After the twelfth failure in a row an Event is given up.
/// - A refused Event is not repeated: neither are the later occurrences of its series, for six minutes.
///
/// # What it never does
///
/// No text is refused for its length, and no namespace for its absence: see [`Occurrence`]. Series and queue are
/// bounded, and [`counts`](Self::counts) says what did not fit. The version of an object is no part of a series. In
/// client-go it is one, so that an object that changes has no series.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::api::{ApiResponse, CallAction};
/// use listwatch_core::recorder::{EventRecorder, ObjectReference, Occurrence, RecorderConfig};
/// use listwatch_core::time::WallTime;
///
/// let mut recorder = EventRecorder::new(RecorderConfig::new("foo-controller", "foo-controller-0"))?;
/// let (now, wall) = (Instant::ZERO, "2026-11-23T12:00:00Z".parse::<WallTime>()?);
/// let foo = ObjectReference::new("samplecontroller.k8s.io/v1alpha1", "Foo", Some("web"), "a");
/// let synced = || Occurrence::normal(foo.clone(), "Synced").note("all is as it should be");
///
/// recorder.record(now, wall, synced());
/// let Some(CallAction::Open { id, request }) = recorder.poll_action(now) else { panic!() };
/// assert_eq!(request.path, "/apis/events.k8s.io/v1/namespaces/web/events");
/// recorder.handle_answer(now, id, Ok(ApiResponse::new(201, *b"{}")));
///
/// // The second one makes a series. A hundred more are counted, and make no request.
/// for _ in 0..101 {
///     recorder.record(now, wall, synced());
/// }
/// let Some(CallAction::Open { id, request }) = recorder.poll_action(now) else { panic!() };
/// assert_eq!((request.method.name(), request.content_type), ("PATCH", Some("application/merge-patch+json")));
/// recorder.handle_answer(now, id, Ok(ApiResponse::new(200, *b"{}")));
/// assert!(recorder.poll_action(now).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventRecorder {
    config: RecorderConfig,
    now: Instant,
    names: Names,
    spam: SpamFilter,
    series: Recent<Arc<Key>, Series>,
    /// The series that are to be written.
    queue: VecDeque<Arc<Key>>,
    timers: BTreeSet<(Instant, Arc<Key>)>,
    calls: PendingCalls<IgnoredAny, Write>,
    /// The server is out of reach, or asked for time.
    paused: Option<Instant>,
    is_stopping: bool,
    counts: RecorderCounts,
    problems: VecDeque<RecorderProblem>,
}

/// As many requests are open.
const CALLS: usize = 8;
/// A series without an occurrence for so long is over (client-go `finishTime`).
const IDLE: Duration = Duration::from_secs(6 * 60);
/// The attempts to write one Event, and the pause before each (client-go `maxTriesPerEvent`, `defaultSleepDuration`).
const RETRIES: Retries = Retries { attempts: 12, pause: Duration::from_secs(10) };
/// The same after the stop, when the program waits for its end.
const LAST_RETRIES: Retries = Retries { attempts: 3, pause: Duration::from_secs(1) };
/// As many problems are kept for a caller that takes none.
const PROBLEMS: usize = 16;

struct Retries {
    attempts: u32,
    pause: Duration,
}

impl EventRecorder {
    /// A recorder without occurrences.
    ///
    /// # Errors
    /// If the configuration does not pass its [check](RecorderConfig::check).
    pub fn new(config: RecorderConfig) -> Result<Self, RecorderConfigError> {
        config.check()?;
        Ok(Self {
            now: Instant::ZERO,
            names: Names::new(&config),
            spam: SpamFilter::new(config.burst, config.refill, config.remembered),
            config,
            series: Recent::default(),
            queue: VecDeque::new(),
            timers: BTreeSet::new(),
            calls: PendingCalls::default(),
            paused: None,
            is_stopping: false,
            counts: RecorderCounts::default(),
            problems: VecDeque::new(),
        })
    }

    /// Records an occurrence. `wall` is its time in the Event.
    pub fn record(&mut self, now: Instant, wall: WallTime, occurrence: Occurrence) {
        self.handle_timeout(now);
        self.counts.recorded += 1;
        if self.is_stopping {
            self.counts.dropped += 1;
            return;
        }
        let key = Arc::new(occurrence.key.clone());
        let now = self.now;
        if self.series.peek_mut(&key).is_some_and(|series| series.was_refused_before(now, IDLE)) {
            self.end(&key);
        }
        match self.series.touch(&key) {
            Some(series) => {
                series.repeat(now, wall);
                self.counts.refused += u64::from(series.is_refused());
            }
            None => self.begin(&key, wall, occurrence),
        }
        self.decide(&key);
    }

    /// Writes what is counted and not written yet, and takes no more. [`is_done`](Self::is_done) says when that is over;
    /// the caller limits the time.
    pub fn stop(&mut self, now: Instant) {
        self.handle_timeout(now);
        (self.is_stopping, self.paused) = (true, None);
        let keys: Vec<_> = self.series.keys().cloned().collect();
        keys.iter().for_each(|key| self.decide(key));
    }

    /// Whether all is written or given up, after a [`stop`](Self::stop).
    pub fn is_done(&self) -> bool {
        self.is_stopping && self.queue.is_empty() && self.calls.len() == 0
    }

    /// The answer to a request; one to a request that was given up is ignored.
    pub fn handle_answer(&mut self, now: Instant, id: RequestId, answer: Result<ApiResponse, TransportError>) {
        self.advance(now);
        if let Some((call, read)) = self.calls.end(id, answer) {
            match read {
                Ok(IgnoredAny) => self.on_written(&call),
                Err(error) => self.on_error(&call, error),
            }
        }
        self.handle_timeout(now);
    }

    /// Lets time pass.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance(now);
        self.on_call_deadlines();
        self.paused.take_if(|until| *until <= self.now);
        while let Some((at, key)) = self.timers.pop_first() {
            if at > self.now {
                self.timers.insert((at, key));
                break;
            }
            self.on_timer(&key);
        }
        self.on_idle();
    }

    /// When [`handle_timeout`](Self::handle_timeout) has to be called at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.timers.first().map(|(at, _)| *at);
        let idle = self.series.oldest().map(|(_, series)| series.idle_since + IDLE).filter(|_| !self.is_stopping);
        let paused = self.paused.filter(|_| !self.queue.is_empty());
        [timer, idle, paused].into_iter().fold(self.calls.deadline(), earliest)
    }

    /// What to do next.
    #[must_use]
    pub fn poll_action(&mut self, now: Instant) -> Option<CallAction> {
        self.handle_timeout(now);
        if let Some(abort) = self.calls.poll_abort() {
            return Some(abort);
        }
        while self.paused.is_none() && self.calls.len() < CALLS {
            let key = self.queue.pop_front()?;
            if let Some(action) = self.open(key) {
                return Some(action);
            }
        }
        None
    }

    /// The next problem. A caller that takes none finds the last ones.
    #[must_use]
    pub fn poll_problem(&mut self) -> Option<RecorderProblem> {
        self.problems.pop_front()
    }

    /// What became of the occurrences.
    pub fn counts(&self) -> RecorderCounts {
        self.counts
    }
}

/// Inputs.
impl EventRecorder {
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn on_call_deadlines(&mut self) {
        while let Some((call, late)) = self.calls.end_late(self.now) {
            self.on_error(&call, late);
        }
    }

    fn on_timer(&mut self, key: &Arc<Key>) {
        if let Some(series) = self.series.peek_mut(key) {
            series.timer = None;
            self.decide(key);
        }
    }

    /// Ends the series that had no occurrence for long. A count that the server does not know is written first.
    fn on_idle(&mut self) {
        let is_idle = |since: Instant, now: Instant| now.saturating_since(since) >= IDLE;
        while let Some((key, series)) = self.series.oldest().filter(|(_, series)| is_idle(series.idle_since, self.now))
        {
            let key = key.clone();
            let has_to_wait = series.stage != Stage::Idle;
            let has_more = series.written > 0 && series.unwritten() > 0 && !series.is_closing;
            if !has_to_wait && !has_more {
                self.end(&key);
                continue;
            }
            let Some(series) = self.series.touch(&key) else { return };
            series.idle_since = self.now;
            series.is_closing |= has_more;
            self.decide(&key);
        }
    }

    fn on_written(&mut self, call: &Asked<Write>) {
        self.counts.requests += 1;
        self.note_written(call, call.about.count);
    }

    /// The server knows this count, by this request or by an earlier one.
    fn note_written(&mut self, call: &Asked<Write>, count: u32) {
        let Some(series) = series_of(&mut self.series, call) else { return };
        series.on_written(self.now, count);
        if series.is_closing && series.unwritten() == 0 {
            self.end(&call.about.key);
        } else {
            self.decide(&call.about.key);
        }
    }

    fn on_error(&mut self, call: &Asked<Write>, error: ApiError) {
        // Where the answer cannot be read, the next attempt finds out whether the Event was written.
        let may_pass = error.is_transient() || matches!(error, ApiError::Unreadable(_));
        if may_pass {
            self.pause(&error);
        }
        let Some(series) = series_of(&mut self.series, call) else { return };
        let is_taken = !call.about.is_patch && error.is_already_exists();
        if let Some(count) = series.tried.filter(|_| is_taken) {
            // The answer to an earlier attempt was lost.
            return self.note_written(call, count);
        }
        series.stage = Stage::Idle;
        if call.about.is_patch && error.is_not_found() {
            series.on_gone();
            self.decide(&call.about.key);
        } else if is_taken && series.attempts < RETRIES.attempts {
            series.attempts += 1;
            series.name = self.names.other(series.regarding().name());
            self.decide(&call.about.key);
        } else if may_pass {
            self.on_failure(call, error);
        } else {
            self.on_refused(&call.about.key, error);
        }
    }

    /// No request is sent for a while.
    fn pause(&mut self, error: &ApiError) {
        let pause = self.retries().pause;
        let asked = error.retry_after().unwrap_or_default();
        let until = self.now + asked.max(pause + self.names.jitter(pause / 4));
        self.paused = self.paused.max(Some(until));
    }

    /// A failure that may pass. The server may have processed the request, unless it said that it has too many.
    fn on_failure(&mut self, call: &Asked<Write>, error: ApiError) {
        let attempts = self.retries().attempts;
        let Some(series) = self.series.peek_mut(&call.about.key) else { return };
        series.attempts += 1;
        if !call.about.is_patch && !error.is_too_many_requests() {
            // The first one that arrived counts: the later ones find its Event.
            series.tried.get_or_insert(call.about.count);
        }
        if series.attempts < attempts {
            return self.decide(&call.about.key);
        }
        self.counts.failed += series.unwritten();
        self.forget(&call.about.key, Some(error));
    }

    fn on_refused(&mut self, key: &Arc<Key>, error: ApiError) {
        let Some(series) = self.series.peek_mut(key) else { return };
        self.counts.refused += series.unwritten();
        series.on_refused(self.now);
        let regarding = series.regarding().clone();
        self.tell(RecorderProblem { regarding, error });
    }

    fn retries(&self) -> Retries {
        if self.is_stopping { LAST_RETRIES } else { RETRIES }
    }
}

/// Series.
impl EventRecorder {
    fn begin(&mut self, key: &Arc<Key>, wall: WallTime, occurrence: Occurrence) {
        if self.series.len() >= self.config.remembered
            && let Some((oldest, _)) = self.series.oldest()
        {
            self.drop_series(&oldest.clone());
        }
        let name = self.names.at(occurrence.regarding.name(), wall);
        self.series.insert(key.clone(), Series::new(self.now, wall, name, occurrence));
    }

    /// Does what is to be done with a series now.
    fn decide(&mut self, key: &Arc<Key>) {
        let Some(series) = self.series.peek_mut(key) else { return };
        let wish = series.wish(self.now, self.is_stopping);
        self.set_timer(key, None);
        match wish {
            Wish::Nothing => {}
            Wish::Now => self.push(key),
            Wish::At(at) => self.set_timer(key, Some(at)),
            Wish::ForToken => match self.spam.try_take(self.now, key) {
                Ok(()) => self.push(key),
                Err(_) if self.is_stopping => self.end(key),
                Err(at) => self.set_timer(key, Some(at)),
            },
        }
    }

    fn push(&mut self, key: &Arc<Key>) {
        let Some(series) = self.series.peek_mut(key) else { return };
        (series.stage, series.is_paid) = (Stage::Queued, true);
        let is_new = series.written == 0;
        if is_new && !self.is_stopping {
            self.make_room();
        }
        self.queue.push_back(key.clone());
    }

    /// Drops the oldest Event that waits and that no server knows, if too many wait. The number of series bounds the rest.
    fn make_room(&mut self) {
        if self.queue.len() < self.config.queue {
            return;
        }
        let series = &mut self.series;
        let oldest = self.queue.iter().find(|key| series.peek_mut(key).is_some_and(|series| series.written == 0));
        if let Some(oldest) = oldest.cloned() {
            self.drop_series(&oldest);
        }
    }

    /// The request for a series that was queued; `None` if there is none any more, or it cannot be sent.
    fn open(&mut self, key: Arc<Key>) -> Option<CallAction> {
        let series = self.series.peek_mut(&key).filter(|series| series.stage == Stage::Queued)?;
        let events = Resource::new("/apis/events.k8s.io/v1/events").in_namespace(series.namespace());
        let (events, is_patch) = (Api::<IgnoredAny>::new(&events), series.written > 0);
        let call = match is_patch {
            true => events.patch(&series.name, &Patch::Merge(&series.patch())),
            false => events.create(&series.event(&key, &self.config)),
        };
        let write = Write { key: key.clone(), count: series.count, is_patch };
        match self.calls.open(self.now, self.config.request_timeout, call, write) {
            Ok((id, open)) => {
                series.stage = Stage::Open(id);
                Some(open)
            }
            Err(error) => {
                series.stage = Stage::Idle;
                self.on_refused(&key, error);
                None
            }
        }
    }

    fn set_timer(&mut self, key: &Arc<Key>, at: Option<Instant>) {
        let Some(series) = self.series.peek_mut(key) else { return };
        if let Some(before) = core::mem::replace(&mut series.timer, at) {
            self.timers.remove(&(before, key.clone()));
        }
        if let Some(at) = at {
            self.timers.insert((at, key.clone()));
        }
    }

    /// Forgets a series for which there is no room.
    fn drop_series(&mut self, key: &Arc<Key>) {
        let series = self.forget(key, None);
        self.counts.dropped += series.map_or(0, |series| series.unwritten());
    }

    /// Forgets a series that is over. It had no token for what was not written.
    fn end(&mut self, key: &Arc<Key>) {
        let series = self.forget(key, None);
        self.counts.filtered += series.map_or(0, |series| series.unwritten());
    }

    /// Forgets a series, and says why, if that is a failure.
    fn forget(&mut self, key: &Arc<Key>, error: Option<ApiError>) -> Option<Series> {
        self.set_timer(key, None);
        let series = self.series.remove(key)?;
        if series.stage == Stage::Queued {
            self.queue.retain(|queued| queued != key);
        }
        if let Some(error) = error {
            self.tell(RecorderProblem { regarding: series.regarding().clone(), error });
        }
        Some(series)
    }

    fn tell(&mut self, problem: RecorderProblem) {
        if self.problems.len() >= PROBLEMS {
            self.problems.pop_front();
        }
        self.problems.push_back(problem);
    }
}

/// The series that waits for the answer to this request. Another one may have its key by now.
fn series_of<'a>(series: &'a mut Recent<Arc<Key>, Series>, call: &Asked<Write>) -> Option<&'a mut Series> {
    series.peek_mut(&call.about.key).filter(|series| series.stage == Stage::Open(call.id))
}

/// What a request writes.
#[derive(Debug)]
struct Write {
    key: Arc<Key>,
    /// The occurrences that it writes.
    count: u32,
    is_patch: bool,
}

/// What became of the occurrences that were recorded. Those that no field counts wait to be written, or are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderCounts {
    /// Occurrences that were recorded.
    pub recorded: u64,
    /// Requests that a server took. This field counts no occurrences.
    pub requests: u64,
    /// Occurrences that the spam filter held back until their series was over.
    pub filtered: u64,
    /// Occurrences that found no room in the queue, or whose series was forgotten, or that came after the stop.
    pub dropped: u64,
    /// Occurrences of series that a server refused.
    pub refused: u64,
    /// Occurrences that could not be written in a number of attempts.
    pub failed: u64,
}

/// An Event that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderProblem {
    /// The object that it was about.
    pub regarding: ObjectReference,
    /// The last failure.
    pub error: ApiError,
}

impl fmt::Display for RecorderProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an Event about {} was not written: {}", Printable::new(&self.regarding), self.error)
    }
}
