//! The index of a capture, which grows while the capture is played.

use super::exchange::{Exchange, Progress, Stage};
use super::key::{Key, ResourceKey};
use super::note::TapeStart;
use super::reader::{End, Reader, Step};
use super::seal::LineCheck;
use super::survey::{self, Found, Survey};
use super::waiting::Waiting;
use crate::error::{CaptureError, Fault};
use listwatch_core::Resource;
use listwatch_core::request::{Query, Request};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The exchanges of a capture, which its playback, its transports and its clients share.
///
/// The capture is read as far as the next answer needs. An exchange is played once, for the first request that matches.
#[derive(Clone)]
pub(crate) struct Index(Arc<Shared>);

struct Shared {
    path: Arc<Path>,
    line_limit: usize,
    skip_bad_lines: bool,
    start: TapeStart,
    check: LineCheck,
    /// The resource of the first list or watch.
    resource: Resource,
    end: Arc<OnceLock<End>>,
    survey: OnceLock<Survey>,
    calls: Calls,
    progress: Mutex<Reached>,
}

/// How far the capture was read and played.
struct Reached {
    reading: Reader,
    /// How many requests were read, with those in bad lines.
    requests: u64,
    waiting: Waiting,
    resources: HashMap<ResourceKey, Recorded>,
    found: Found,
    taken: Found,
    /// How many more times the capture may be read to tell how often a request was recorded.
    counts_left: u32,
}

/// What is known of a resource.
#[derive(Default)]
struct Recorded {
    /// The line of its last request.
    newest: u64,
    /// Its last watch-list.
    watch_list: Option<Arc<Exchange>>,
}

/// The counts of client requests.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) answered: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unrecorded: AtomicU64,
}

/// The recorded answer to a list or a watch.
#[derive(Debug)]
pub(crate) enum Taken {
    Exchange(Arc<Exchange>),
    /// The request is a watch-list, which the recorded server did not get.
    Unsupported,
    Nothing,
}

/// How a recording goes on behind the last record of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// With another list or watch of the same resource.
    SameResource,
    /// With records of others, up to this time in milliseconds.
    Others {
        until: u64,
    },
    Nothing,
}

/// How many bytes of lines are read to find a better answer than the one at hand.
const LOOK_AHEAD: u64 = 16 * 1024 * 1024;

/// The most resources of which something is known. Each takes 40 bytes.
const MOST_RESOURCES: usize = 1 << 14;

/// How often the capture is read to tell how often a request was recorded.
const COUNTS: u32 = 8;

impl Index {
    /// Reads a capture up to its first list or watch.
    pub(crate) fn open(path: &Arc<Path>, line_limit: usize, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        let mut state = Reached {
            reading: Reader::new(path, line_limit, skip_bad_lines),
            requests: 0,
            waiting: Waiting::new(path, line_limit),
            resources: HashMap::new(),
            found: Found::default(),
            taken: Found::default(),
            counts_left: COUNTS,
        };
        let resource = loop {
            match state.advance() {
                Step::Began(began) if began.resource.is_some() => break began.resource,
                Step::Over => break None,
                _ => {}
            }
        };
        let end = Arc::clone(state.reading.end());
        let Some(resource) = resource else {
            let fault = end.get().and_then(|end| end.fault.clone());
            return Err(fault.unwrap_or_else(|| CaptureError::new(path, None, state.nothing_to_play())));
        };
        Ok(Self(Arc::new(Shared {
            path: Arc::clone(path),
            line_limit,
            skip_bad_lines,
            start: state.reading.start().clone(),
            check: state.reading.check(),
            resource,
            end,
            survey: OnceLock::new(),
            calls: Calls::default(),
            progress: Mutex::new(state),
        })))
    }

    /// Takes the next recorded answer to a list or a watch.
    ///
    /// Metadata alone counts only if it is enough, or if no whole objects are left.
    pub(crate) fn take(&self, request: &Request) -> Result<Taken, CaptureError> {
        let (whole, metadata) = (Key::of_request(request, false), Key::of_request(request, true));
        let mut state = self.state();
        let metadata_is_enough = request.resource.is_metadata_only();
        let wanted = if metadata_is_enough { &[whole, metadata][..] } else { &[whole] };
        let mut taken = match request.query() {
            Query::WatchList => state.take_watch_list(wanted, &request.resource)?,
            Query::List | Query::Watch => state.take(wanted)?,
        };
        if taken.is_none() && !metadata_is_enough {
            taken = state.take_waiting(&[metadata])?;
        }
        Ok(match taken {
            Some(exchange) => Taken::Exchange(exchange),
            None if request.query() == Query::WatchList && !state.ends_without_watch_list(&request.resource)? => {
                Taken::Unsupported
            }
            None => Taken::Nothing,
        })
    }

    /// Takes the next recorded answer to a client's request; if none is near, one that was recorded without its body.
    pub(crate) fn take_call(&self, exact: Key, bare: Key) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let mut state = self.state();
        let until = (exact != bare).then_some([bare]);
        match state.take_before(&[exact], until.as_ref().map_or(&[], |bare| &bare[..]))? {
            None if exact != bare => state.take_waiting(&[bare]),
            taken => Ok(taken),
        }
    }

    /// Reads on until there is a record of an exchange behind `line`, or no more, and returns the progress.
    pub(crate) fn await_record(&self, exchange: &Exchange, line: u64) -> Progress {
        let mut state = self.state();
        loop {
            let progress = exchange.progress();
            if progress.last > line || progress.stage.has_ended() || state.reading.is_over() {
                return progress;
            }
            state.advance();
        }
    }

    /// Reads on until it is known how the recording goes on behind an exchange, whose last record is in `line`.
    pub(crate) fn behind(&self, exchange: &Exchange, line: u64) -> Behind {
        let mut state = self.state();
        loop {
            let newest = exchange.resource.and_then(|resource| state.resources.get(&resource));
            if newest.is_some_and(|known| known.newest > line) {
                return Behind::SameResource;
            }
            if state.reading.is_over() {
                break;
            }
            state.advance();
        }
        let (last, until) = state.reading.last_record();
        if line < last { Behind::Others { until } } else { Behind::Nothing }
    }

    /// How often a client's request was recorded, of which nothing waits; `None` if that is not counted once more.
    pub(crate) fn count(&self, call: Key) -> Option<u64> {
        let mut state = self.state();
        state.counts_left = state.counts_left.checked_sub(1)?;
        drop(state);
        Some(survey::count(self.reading(), call))
    }

    /// The first line.
    pub(crate) fn start(&self) -> &TapeStart {
        &self.0.start
    }

    /// What tells whether a line of the file is whole.
    pub(crate) fn check(&self) -> LineCheck {
        self.0.check
    }

    pub(crate) fn path(&self) -> &Arc<Path> {
        &self.0.path
    }

    /// The resource of the first list or watch.
    pub(crate) fn resource(&self) -> &Resource {
        &self.0.resource
    }

    /// The resources that were listed or watched, in the order of their first requests. Reads the whole capture once,
    /// unless it was read and has one.
    pub(crate) fn resources(&self) -> &[Resource] {
        let has_one = Some(self.state()).is_some_and(|state| state.reading.is_over() && state.resources.len() == 1);
        if has_one { core::slice::from_ref(&self.0.resource) } else { &self.survey().resources }
    }

    /// Whether watch-lists of a resource were recorded, not far behind its first list.
    pub(crate) fn has_watch_lists(&self, resource: &Resource) -> bool {
        let mut state = self.state();
        if state.recorded_watch_list(resource).is_none() {
            let keys = keys_of(resource, Query::WatchList);
            // What cannot be read is reported when it is played.
            let _unreadable = state.read_up_to(&keys, &keys_of(resource, Query::List));
        }
        state.recorded_watch_list(resource).is_some()
    }

    /// The counts of client requests.
    pub(crate) fn calls(&self) -> &Calls {
        &self.0.calls
    }

    /// How many exchanges there are, how many of them were not taken, and how many lines are bad.
    ///
    /// Reads the whole capture, unless it was read.
    pub(crate) fn counts(&self) -> (Found, Found, u64) {
        let whole = Some(self.state()).filter(|state| state.reading.is_over());
        let whole = whole.map(|state| (state.found, state.reading.bad_lines()));
        let (found, bad_lines) = whole.unwrap_or_else(|| (self.survey().found, self.survey().bad_lines));
        (found, found.without(self.state().taken), bad_lines)
    }

    /// The error that ended the capture before the file, once it was read up to there.
    pub(crate) fn fault(&self) -> Option<&CaptureError> {
        self.0.end.get()?.fault.as_ref()
    }

    /// Where the data breaks off behind a whole line. Reads the whole capture, unless it was read.
    pub(crate) fn cut(&self) -> Option<&CaptureError> {
        let is_read = self.state().reading.is_over();
        if is_read { self.0.end.get()?.cut.as_ref() } else { self.survey().cut.as_ref() }
    }

    fn survey(&self) -> &Survey {
        self.0.survey.get_or_init(|| Survey::of(self.reading()))
    }

    /// A reading of its own, from the beginning.
    fn reading(&self) -> Reader {
        Reader::new(&self.0.path, self.0.line_limit, self.0.skip_bad_lines)
    }

    fn state(&self) -> MutexGuard<'_, Reached> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reached {
    /// Reads a line.
    fn advance(&mut self) -> Step {
        let step = self.reading.step();
        match &step {
            Step::Began(began) => {
                // Those between were bad.
                (self.requests..began.exchange.number).for_each(|number| self.waiting.leave_out(number));
                self.requests = began.exchange.number + 1;
                self.found.add(began.exchange.query);
                if let Some(resource) = began.exchange.resource {
                    self.note(resource, &began.exchange);
                }
                self.waiting.add(began);
            }
            Step::Read | Step::Over => {}
        }
        step
    }

    /// Notes a request for a resource.
    fn note(&mut self, resource: ResourceKey, exchange: &Arc<Exchange>) {
        if self.resources.len() == MOST_RESOURCES && !self.resources.contains_key(&resource) {
            return;
        }
        let known = self.resources.entry(resource).or_default();
        known.newest = exchange.place.line;
        if exchange.query == Some(Query::WatchList) {
            known.watch_list = Some(Arc::clone(exchange));
        }
    }

    /// Takes the first exchange that waits for one of these keys.
    fn take_waiting(&mut self, keys: &[Key]) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let first = self.waiting.first(keys, &self.reading)?;
        if let Some(exchange) = &first {
            self.waiting.take(exchange);
            self.taken.add(exchange.query);
        }
        Ok(first)
    }

    /// Takes the first exchange with one of these keys.
    fn take(&mut self, keys: &[Key]) -> Result<Option<Arc<Exchange>>, CaptureError> {
        self.take_before(keys, &[])
    }

    /// Takes the first exchange with one of these keys, unless it lies far behind one with a key of `others`.
    fn take_before(&mut self, keys: &[Key], others: &[Key]) -> Result<Option<Arc<Exchange>>, CaptureError> {
        self.read_up_to(keys, others)?;
        self.take_waiting(keys)
    }

    /// Reads on until an exchange with one of these keys waits, unless it lies far behind one with a key of `others`.
    fn read_up_to(&mut self, keys: &[Key], others: &[Key]) -> Result<(), CaptureError> {
        if self.waiting.first(keys, &self.reading)?.is_some() {
            return Ok(());
        }
        let has_other = self.waiting.first(others, &self.reading)?.is_some();
        let mut until = has_other.then(|| self.reading.bytes() + LOOK_AHEAD);
        while until.is_none_or(|until| self.reading.bytes() < until) {
            match self.advance() {
                Step::Began(began) if keys.iter().any(|key| began.keys.contains(*key)) => break,
                Step::Began(began) if others.iter().any(|key| began.keys.contains(*key)) => {
                    until.get_or_insert_with(|| self.reading.bytes() + LOOK_AHEAD);
                }
                Step::Over => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes the first watch-list with one of these keys. If only lists of the resource are near, there is none.
    fn take_watch_list(&mut self, keys: &[Key], resource: &Resource) -> Result<Option<Arc<Exchange>>, CaptureError> {
        // If the recorded server did watch-lists, another one may come at any time.
        match self.recorded_watch_list(resource) {
            Some(_) => self.take(keys),
            None => self.take_before(keys, &keys_of(resource, Query::List)),
        }
    }

    /// Whether the recording is over for a client that asks for one more watch-list.
    ///
    /// It is, if the recorded server did watch-lists; but a client that aborted one and listed instead did not try again.
    fn ends_without_watch_list(&mut self, resource: &Resource) -> Result<bool, CaptureError> {
        let Some(newest) = self.recorded_watch_list(resource) else { return Ok(false) };
        let is_given_up = matches!(newest.progress().stage, Stage::Ended { given_up: true, .. });
        let was_given_up = is_given_up && self.waiting.is_taken(&newest);
        Ok(!was_given_up || self.waiting.first(&keys_of(resource, Query::List), &self.reading)?.is_none())
    }

    /// The last watch-list of a resource that was read.
    fn recorded_watch_list(&self, resource: &Resource) -> Option<Arc<Exchange>> {
        self.resources.get(&ResourceKey::of(resource)).and_then(|known| known.watch_list.clone())
    }

    fn nothing_to_play(&self) -> Fault {
        let (others, bad) = (self.found.of(None), self.reading.bad_lines());
        let found = format!("the capture has neither lists nor watches (other requests: {others}, bad lines: {bad})");
        Fault::nothing_to_play(found, self.reading.end().get().and_then(|end| end.cut.as_ref()))
    }
}

/// The keys of the first pages of lists, or of watch-lists.
fn keys_of(resource: &Resource, query: Query) -> [Key; 2] {
    [false, true].map(|metadata_only| Key::of_query(resource, query, metadata_only))
}

listwatch_core::summary!("Index" for Index, |it| { path: it.0.path });
#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::waiting::STEPS;
    use listwatch_core::api::{ApiRequest, Method};
    use std::fmt::Write;

    /// A capture of these requests, all of which failed to connect.
    fn capture(name: &str, targets: impl Iterator<Item = String>) -> Arc<Path> {
        let mut lines = String::new();
        for (id, target) in targets.enumerate() {
            writeln!(lines, r#"{{"t":0,"id":{id},"request":{{"method":"GET","path":"{target}","headers":{{}}}}}}"#)
                .unwrap();
            writeln!(lines, r#"{{"t":1,"id":{id},"end":"connection refused"}}"#).unwrap();
        }
        let path = std::env::temp_dir().join(format!("listwatch-index-{name}-{}", std::process::id()));
        std::fs::write(&path, lines).unwrap();
        path.into()
    }

    /// The steps to make each of these requests again.
    fn steps(name: &str, targets: impl Iterator<Item = String> + Clone) -> u64 {
        let path = capture(name, targets.clone());
        STEPS.set(0);
        let index = Index::open(&path, usize::MAX, false).unwrap();
        for target in targets {
            let request = Request::parse(&target);
            let Ok(Taken::Exchange(exchange)) = index.take(&request) else { panic!("{target}") };
            index.await_record(&exchange, exchange.place.line);
            assert!(exchange.is_refused(), "{target}");
        }
        let (found, left, _) = index.counts();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((found.of(Some(Query::List)) > 0, left.of(Some(Query::List))), (true, 0));
        STEPS.get()
    }

    #[test]
    fn a_replay_looks_at_each_resource_and_at_each_failing_list_a_few_times_however_many_there_are() {
        for count in [500, 2_000] {
            let resources = steps("resources", (0..count).map(|number| format!("/api/v1/namespaces/n{number}/pods")));
            let lists = steps("lists", (0..count).map(|_| "/api/v1/pods".to_owned()));
            assert!(
                resources <= 16 * count && lists <= 16 * count,
                "{count}: {resources} for resources, {lists} for lists"
            );
        }
    }

    /// An informer's list, and as many writes behind it as the capture has lists.
    fn others(count: u64) -> impl Iterator<Item = String> + Clone {
        (0..count).map(|number| match number % 100 {
            0 => "/api/v1/pods".to_owned(),
            _ => format!("/api/v1/namespaces/web/pods/p{number}"),
        })
    }

    /// The steps to play all lists, and the other requests after them.
    #[test]
    fn requests_behind_which_a_playback_ran_ahead_are_each_read_again_once() {
        let count = 20_000;
        let path = capture("behind", others(count));
        let index = Index::open(&path, usize::MAX, false).unwrap();
        STEPS.set(0);
        let list = Request::parse("/api/v1/pods");
        for _ in 0..count / 100 {
            assert!(matches!(index.take(&list), Ok(Taken::Exchange(_))));
        }
        assert!(matches!(index.take(&list), Ok(Taken::Nothing)));
        let ahead = STEPS.get();
        assert!(ahead < 5 * count, "{ahead} steps");
        for target in others(count).filter(|target| target.contains("web")) {
            let call = Key::of_call(&ApiRequest::new(Method::Get, target.clone()));
            let exchange = index.take_call(call, call).unwrap().unwrap_or_else(|| panic!("{target}"));
            assert!(exchange.is_refused(), "{target}");
            assert!(matches!(index.take_call(call, call), Ok(None)));
        }
        let (_, left, _) = index.counts();
        assert_eq!((left.of(None), left.of(Some(Query::List))), (0, 0));
        let behind = STEPS.get() - ahead;
        assert!(behind < 8 * count, "{behind} steps");
        std::fs::remove_file(&path).unwrap();
    }

    /// The bytes that are read for the first answers.
    #[test]
    fn the_first_answers_read_only_the_beginning_of_a_capture() {
        let watch_list = Request::parse("/api/v1/pods?watch=1&sendInitialEvents=true");
        let bytes = [1_000, 150_000].map(|count| {
            let path = capture("first", others(count));
            let index = Index::open(&path, usize::MAX, false).unwrap();
            assert!(matches!(index.take(&Request::parse("/api/v1/pods")), Ok(Taken::Exchange(_))));
            let for_list = index.state().reading.bytes();
            assert!(matches!(index.take(&watch_list), Ok(Taken::Unsupported)));
            let for_watch_list = index.state().reading.bytes();
            std::fs::remove_file(&path).unwrap();
            (for_list, for_watch_list)
        });
        assert_eq!(bytes[0].0, bytes[1].0);
        assert!(bytes[1].1 < LOOK_AHEAD + 100_000, "{bytes:?}");
    }
}
