//! The watch: events, bookmarks, its end. If a change may be missing from it, it goes on, and a relist follows soon.

use super::backoff::Cause;
use super::call::{Call, Purpose, Watch};
use super::{Activity, Failure, FailureReport, Operation, Reaction, Reflector, Step, Then};
use crate::decode::EventType;
use crate::object::Version;
use crate::request::Verb;
use crate::time::{Instant, earliest};
use core::time::Duration;

/// The shortest requested timeout: servers count in seconds.
const SECOND: Duration = Duration::from_secs(1);
/// The longest one: servers count in nanoseconds, with 63 bits.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
/// The least time between the starts of two watches that end properly but within moments: 30 s, spread by a fifth.
const APART: (Duration, Duration) = (Duration::from_secs(24), Duration::from_secs(36));

impl Reflector {
    pub(super) fn watch(&mut self) {
        let reached = self.versions.reached.clone();
        self.request_watch(Purpose::Watch(Watch::default()), reached, false);
        self.report_lack();
    }

    /// Requests a watch, or a watch-list.
    pub(super) fn request_watch(&mut self, purpose: Purpose, resource_version: Option<Version>, initial_events: bool) {
        let timeout = self.config.watch_timeout;
        let timeout = timeout.map(|(least, most)| self.delays.between(least, most).clamp(SECOND, LONGEST));
        self.request(purpose, Verb::Watch { resource_version, timeout, initial_events });
    }

    pub(super) fn on_event(&mut self, version: &str, event_type: Option<EventType>) -> Step {
        self.note_heard();
        // A watch from no version begins with the objects as they are, in no order (F5).
        if self.versions.reached.is_some() || event_type != Some(EventType::Added) {
            self.accept(version);
        }
        Step::Apply
    }

    /// A change may be missing, for example a deletion. A relist finds it. If the list before this watch had the same fault,
    /// another list would show no more.
    pub(super) fn on_unreadable_event(&mut self) -> Step {
        if self.call().is_some_and(|call| !call.doubt.is_some()) {
            self.plan_relist();
        }
        Step::Apply
    }

    /// An event that is dropped may have been one of another history.
    pub(super) fn on_outdated_event(&mut self, version: &str, known: &str) -> Step {
        self.plan_relist();
        self.on_outdated_item(version, known)
    }

    /// A bookmark that lags shows neither that the watch is alive, nor that the server is of the same history.
    pub(super) fn on_bookmark(&mut self, version: &str) -> Step {
        if !self.versions.is_passed(version) {
            self.note_heard();
        }
        self.note_bookmark();
        self.accept(version);
        Step::Nothing
    }

    pub(super) fn on_watch_end(&mut self) -> Step {
        let Some(call) = self.end_call() else { return Step::Nothing };
        if let Some(until) = call.doubt.relist_at {
            return self.relist_as_planned(call, until);
        }
        match self.ended_badly(&call) {
            Some(failure) => self.on_failure(failure, call),
            None => self.watch_on(&call),
        }
    }

    /// Why a watch that ended properly counts as failed.
    fn ended_badly(&mut self, call: &Call) -> Option<Failure> {
        if call.doubt.is_some() {
            return Some(Failure::Unreadable);
        }
        if call.is_very_short(self.now) {
            // It counts as a refusal.
            let before = call.watch().map_or(0, |watch| watch.refused);
            self.server.refused = self.server.refused.max(before);
            return Some(Failure::VeryShort);
        }
        let is_silent = !call.is_proven() && self.is_overdue(self.now);
        (is_silent && self.server.note_silent()).then_some(Failure::Silent)
    }

    /// A watch that ended properly is resumed at once. If watches end within moments, they are delayed like failures. A
    /// server that ends watches early may be shutting down, with its other clients returning too.
    fn watch_on(&mut self, call: &Call) -> Step {
        let healthy = self.note_health(call, true);
        self.outage = None;
        let is_over_time = call.is_over_time(self.now);
        if healthy && self.server.refuses_watches() {
            // Another watch would be refused, but not the one that follows a watch-list.
            match is_over_time {
                true => self.synchronize(),
                false => self.wait(Then::Relist, Cause::Relist, Duration::ZERO),
            }
            return Step::Nothing;
        }
        self.interrupted |= !is_over_time;
        let until = match healthy {
            true if is_over_time => self.now,
            true => self.now + self.delays.between(Duration::ZERO, self.config.reconnect_jitter),
            false if call.has_watched(self.now) && self.delays.forgives() => {
                self.now + self.delays.after_interruption()
            }
            false => call.since() + self.delays.grown().min(self.delays.between(APART.0, APART.1)),
        };
        if until > self.now {
            self.activity = Activity::Waiting { until, then: Then::Watch };
        } else {
            self.watch();
        }
        Step::Nothing
    }

    /// An audit lists the most recent state, so the relist does the same, by a list.
    pub(super) fn on_drifted(&mut self, objects: usize) {
        match &mut self.activity {
            Activity::Requesting(call) if call.watch().is_some() => call.doubt.drifted = objects,
            Activity::Waiting { then: then @ Then::Watch, .. } => *then = Then::Relist,
            _ => return,
        }
        (self.versions.most_recent, self.server.lists_next) = (true, true);
        self.plan_relist();
    }

    /// Lets one relist follow, while the watch goes on. Each that follows another one within minutes waits for longer.
    fn plan_relist(&mut self) {
        let Activity::Requesting(call) = &mut self.activity else { return };
        if call.doubt.relist_at.is_none() {
            let asked = call.retry_after.unwrap_or_default();
            call.doubt.relist_at = Some(self.now + self.delays.next(self.now, Cause::Relist, asked));
        }
    }

    /// When the watch gives way to a relist.
    pub(super) fn relists_at(&self) -> Option<Instant> {
        let call = self.call().filter(|call| call.watch().is_some())?;
        earliest(call.doubt.relist_at, self.due_for_room())
    }

    /// The watch gives way to a relist.
    pub(super) fn relist_in_watch(&mut self) {
        if let Some(call) = self.abandon() {
            self.note_health(&call, call.is_answered());
            if call.doubt.relist_at.is_some_and(|at| at <= self.now) {
                self.report_doubt(call, Duration::ZERO);
            }
        }
        self.synchronize();
    }

    /// A watch has ended that was to give way at `until`.
    fn relist_as_planned(&mut self, call: Call, until: Instant) -> Step {
        self.note_health(&call, true);
        let until = until.max(self.now);
        self.report_doubt(call, until.saturating_since(self.now));
        self.activity = Activity::Waiting { until, then: Then::Relist };
        Step::Nothing
    }

    /// Reports why the watch gave way.
    fn report_doubt(&mut self, call: Call, retry_in: Duration) {
        let failure = match (call.doubt.drifted, call.doubt.outdated) {
            (0, None) => Failure::Unreadable,
            (0, Some((version, last))) => Failure::BackInTime { version, last },
            (objects, _) => Failure::Drifted { objects },
        };
        let (operation, reaction) = (Operation::Watch, Reaction::Relist);
        self.report =
            Some(FailureReport { operation, request: call.request, failure, reaction, attempts: 1, retry_in });
    }

    /// The watch brought an event or a bookmark.
    pub(super) fn note_heard(&mut self) {
        self.last_heard = self.now;
        self.server.silent = 0;
        if let Some(Call { purpose: Purpose::Watch(watch), .. }) = self.call_mut() {
            watch.proven = true;
        }
    }

    /// Measures the time between two bookmarks of the watch.
    pub(super) fn note_bookmark(&mut self) {
        let now = self.now;
        let Some(Call { purpose: Purpose::Watch(watch), .. }) = self.call_mut() else { return };
        if let Some(last) = watch.bookmark.replace(now) {
            self.server.note_gap(now.saturating_since(last));
        }
    }

    /// Goes on from this version, unless it is older than the one that was reached.
    fn accept(&mut self, version: &str) {
        self.versions.accept(version);
        self.note_resumed();
    }
}
