//! Responses: whether their parts are staged, applied or dropped.

use super::open::Open;
use super::{Failure, Reflector, Relist, Response, State, Step};
use crate::decode::EventType;
use crate::object::{Version, compare_versions, is_older};
use crate::request::Token;
use crate::transport::ResponseHead;
use core::cmp::Ordering;
use core::ops::RangeInclusive;
use core::time::Duration;

/// If the most recent state is older than the last one this many times in a row, the reflector accepts it. The server
/// was restored from a backup.
const BELIEVED: u32 = 2;
/// After at most this many silent watches in a row, a relist follows.
const MOST_SILENT: u32 = 16;

/// The time between periodic bookmarks: API servers send one a minute. Outside this range, a bookmark has another
/// cause, or was read late.
const USUAL_GAPS: RangeInclusive<Duration> = Duration::from_secs(30)..=Duration::from_secs(120);

impl Reflector {
    /// Handles a part of the response to the open request.
    pub(super) fn on_answer(&mut self, answer: Response<'_>) -> Step {
        let now = self.now;
        if let Some(open) = &mut self.open {
            open.touch(now);
        }
        match answer {
            Response::Head(head) => self.on_head(head),
            Response::Data(len) => self.on_data(len),
            Response::Object { version, event_type } => self.on_object(version, event_type),
            Response::Unreadable => self.on_unreadable(),
            Response::Outdated { version, known } => self.on_outdated(version, known),
            Response::ListEnd { version, continue_token } => self.on_list_end(version, continue_token),
            Response::Bookmark { version, initial_events_end } => self.on_bookmark(version, initial_events_end),
            Response::Closed(Ok(())) => self.on_end(),
            Response::Closed(Err(failure)) => self.on_closed(failure),
            Response::Broken(failure) => self.on_broken(failure),
        }
    }

    fn on_data(&mut self, len: usize) -> Step {
        let (now, least) = (self.now, self.config.min_list_progress);
        if let Some(open) = &mut self.open {
            open.advance(now, len, least);
        }
        Step::Nothing
    }

    /// A refusal is handled at the end of its body, which holds the reason.
    fn on_head(&mut self, head: &ResponseHead) -> Step {
        let (now, watching) = (self.now, self.state == State::Watching);
        self.delays.note_answer(now);
        if let Some(open) = &mut self.open {
            open.begin(now, head, watching);
            open.doubtful |= watching && open.answered && self.relist.doubtful;
            open.refused = if open.watching.is_some() { core::mem::take(&mut self.refused) } else { 0 };
        }
        Step::Nothing
    }

    fn on_object(&mut self, version: &str, event_type: Option<EventType>) -> Step {
        match self.state {
            State::Listing { .. } | State::WatchListing => {
                if matches!(event_type, Some(EventType::Modified | EventType::Deleted)) {
                    self.note_initial_over();
                }
                self.on_item()
            }
            State::Watching => {
                self.note_activity();
                // A watch from no version begins with the objects as they are, in no order (F5).
                if self.version.is_some() || event_type != Some(EventType::Added) {
                    self.accept(version);
                }
                Step::Apply
            }
            State::Idle | State::Stopped | State::Resuming | State::Held | State::Waiting { .. } => Step::Nothing,
        }
    }

    /// A change may be missing, for example a deletion. A relist finds it: soon if a watch brought it, else after the watch
    /// that follows this list.
    fn on_unreadable(&mut self) -> Step {
        self.relist.doubtful |= matches!(self.state, State::Listing { .. });
        match self.state {
            State::Listing { .. } | State::WatchListing => {
                self.open.iter_mut().for_each(|open| open.doubtful = true);
                self.on_item()
            }
            State::Watching => {
                self.doubt();
                Step::Apply
            }
            State::Idle | State::Stopped | State::Resuming | State::Held | State::Waiting { .. } => Step::Nothing,
        }
    }

    fn on_item(&mut self) -> Step {
        if let Some(open) = &mut self.open {
            open.empty = false;
        }
        Step::Stage
    }

    fn on_list_end(&mut self, version: &str, continue_token: &str) -> Step {
        match self.state {
            State::Listing { .. } => {}
            State::Resuming => return self.on_shown(version),
            _ => return Step::Nothing,
        }
        if let Some(failure) = self.back_in_time(version) {
            return self.on_closed(failure);
        }
        let version = self.pages.oldest(version);
        if !continue_token.is_empty() {
            return self.on_page_end(continue_token);
        }
        self.complete(&version);
        self.refused = 0;
        self.watch();
        Step::Commit
    }

    fn on_page_end(&mut self, next: &str) -> Step {
        // Without memory for tokens, no page was requested.
        let Some(next) = Token::copied(next) else { return self.on_closed(Failure::TooManyPages { limit: 1 }) };
        let State::Listing { token, unpaged } = &self.state else { return Step::Nothing };
        let unpaged = *unpaged;
        let empty = self.open.as_ref().is_some_and(|open| open.empty);
        if let Some(failure) = self.pages.next(token.as_ref(), &next, empty, self.config.max_pages) {
            return self.on_closed(failure);
        }
        self.relist.paginated |= self.requested_version().is_some();
        self.list(Some(next), unpaged);
        Step::Nothing
    }

    fn on_bookmark(&mut self, version: &str, initial_events_end: bool) -> Step {
        match self.state {
            State::WatchListing if initial_events_end => self.on_initial_events_end(version),
            State::WatchListing => {
                self.note_initial_over();
                Step::Nothing
            }
            State::Watching => {
                // One that lags shows neither that the watch is alive, nor that the server is of the same history.
                if !self.is_passed(version) {
                    self.note_activity();
                }
                self.note_bookmark();
                self.accept(version);
                Step::Nothing
            }
            _ => Step::Nothing,
        }
    }

    /// The bookmark that completes the initial events is due.
    fn note_initial_over(&mut self) {
        let now = self.now;
        self.open.iter_mut().for_each(|open| _ = open.initial_over.get_or_insert(now));
    }

    fn on_initial_events_end(&mut self, version: &str) -> Step {
        if let Some(failure) = self.back_in_time(version) {
            return self.on_broken(failure);
        }
        self.complete(version);
        self.note_activity();
        self.note_bookmark();
        self.state = State::Watching;
        self.watch_list.failures = Default::default();
        let now = self.now;
        if let Some(open) = &mut self.open {
            open.watching = Some(now);
        }
        Step::Commit
    }

    fn on_end(&mut self) -> Step {
        match (&self.state, self.open.take()) {
            (State::Watching, Some(open)) => match (open.relist_at, self.ended_badly(&open)) {
                (Some(until), _) => self.relist_as_planned(open, until),
                (None, Some(failure)) => self.on_failure(failure, Some(open)),
                (None, None) => self.watch_on(&open),
            },
            (State::WatchListing, open) => self.on_failure(Failure::Unfinished, open),
            (_, open) => self.on_failure(Failure::Truncated, open),
        }
    }

    /// Why a watch that ended properly counts as failed.
    fn ended_badly(&mut self, open: &Open) -> Option<Failure> {
        if open.doubtful {
            return Some(Failure::Unreadable);
        }
        if open.is_very_short(self.now) {
            // It counts as a refusal.
            self.refused = self.refused.max(open.refused);
            return Some(Failure::VeryShort);
        }
        if open.proven || !self.is_overdue(self.now) {
            return None;
        }
        // A quiet server gets a relist less and less often, but at least after every `MOST_SILENT`th watch.
        self.silent = self.silent.saturating_add(1);
        let asked = self.silent.is_power_of_two() || self.silent.is_multiple_of(MOST_SILENT);
        asked.then_some(Failure::Silent)
    }

    /// Rejects a list that is older than the last one, or has an object that is older than the known state of it, so that
    /// a lagging replica cannot revert the cache. If the most recent state is older twice in a row, it is accepted.
    fn back_in_time(&mut self, version: &str) -> Option<Failure> {
        let is_list = matches!(self.state, State::Listing { .. });
        let outdated = |open: &mut Open| if is_list { open.outdated.take() } else { None };
        let (version, last) = self.older_than_known(version).or_else(|| self.open.as_mut().and_then(outdated))?;
        self.relist.older += u32::from(self.requested_version().is_none());
        self.relist.foreign |= self.relist.older > 0;
        (self.relist.older < BELIEVED).then_some(Failure::BackInTime { version, last })
    }

    fn older_than_known(&self, version: &str) -> Option<(Version, Version)> {
        let last = self.newest_known().filter(|last| is_older(version, last))?;
        Some((Version::copied(version).unwrap_or_else(|| last.clone()), last.clone()))
    }

    /// Notes the version of an object that was applied before the list that has it was complete: a list that is older is
    /// not accepted any more.
    pub(crate) fn note_ahead(&mut self, version: &str) {
        let is_newer = |known: &Version| compare_versions(version, known) == Ok(Ordering::Greater);
        if self.newest_known().is_none_or(is_newer) {
            self.ahead = Version::copied(version);
        }
    }

    /// Whether an object of this version is of the history that is followed. One that could not be decoded since may be of
    /// another one.
    pub(crate) fn has_reached(&self, version: &str) -> bool {
        self.newest_known().is_none_or(|newest| !is_older(newest, version))
    }

    /// The version that the cache has, or a newer one that a part of it has.
    fn newest_known(&self) -> Option<&Version> {
        self.ahead.as_ref().or(self.version.as_ref())
    }

    /// A list, or the initial events, are complete.
    fn complete(&mut self, version: &str) {
        (self.version, self.ahead) = (None, None);
        self.accept(version);
        self.last_activity = self.now;
        if let Some(outage) = &mut self.outage {
            outage.interrupted = true;
        }
        self.interrupted = false;
        self.note_read();
        self.relist = Relist { most_recent: false, older: 0, foreign: false, ..self.relist };
        self.resume = None;
    }

    /// A watch brought an event or a bookmark.
    fn note_activity(&mut self) {
        self.last_activity = self.now;
        self.silent = 0;
        if let Some(open) = &mut self.open {
            open.proven = true;
        }
    }

    /// Measures the time between two bookmarks of one watch.
    fn note_bookmark(&mut self) {
        let now = self.now;
        let last = self.open.as_mut().and_then(|open| open.bookmark.replace(now));
        let gap = last.map(|last| now.saturating_since(last)).filter(|gap| USUAL_GAPS.contains(gap));
        self.bookmarks = gap.or(self.bookmarks);
    }

    /// Goes on from this version, unless it is older than the one that was reached.
    fn accept(&mut self, version: &str) {
        if !version.is_empty() && self.version.as_deref() != Some(version) && !self.is_passed(version) {
            self.version = Version::copied(version).or_else(|| self.version.take());
        }
        if self.resume.is_some() {
            self.note_resumed();
        }
    }

    /// Whether the version is older than the one that was reached.
    fn is_passed(&self, version: &str) -> bool {
        self.version.as_deref().is_some_and(|reached| is_older(version, reached))
    }
}
