//! Requests that failed: the outage that they are part of, and the reaction of the retry policy.

use super::backoff::Cause;
use super::call::{Call, Purpose};
use super::pages::Pages;
use super::{
    Activity, BackoffKind, Failure, FailureClass, FailureReport, Operation, Reaction, Reflector, RetryRule, Step, Then,
};
use crate::time::Instant;
use core::time::Duration;

/// A time in which requests fail. It ends when a watch brings an event, ends properly, or lives for long. The delays
/// remember earlier outages too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    /// When it began.
    pub(crate) since: Instant,
    /// How many times in a row the reflector backed off.
    pub(crate) attempts: u32,
    /// The class of the last failure.
    pub(crate) class: FailureClass,
    /// The HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// A whole state arrived since, so the outage may be over.
    pub(super) interrupted: bool,
    /// When the next attempt follows, if that is not the end of a back-off.
    pub(crate) again: Option<Instant>,
}

impl Reflector {
    /// The outage, unless the last request is being answered, or a whole state arrived. Else that the cache lacks objects.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let answered = self.call().is_some_and(Call::is_answered);
        self.outage.filter(|outage| !answered && !outage.interrupted).or_else(|| self.lack())
    }

    pub(super) fn on_closed(&mut self, failure: Failure) -> Step {
        self.end_call().map_or(Step::Nothing, |call| self.on_failure(failure, call))
    }

    pub(super) fn on_broken(&mut self, failure: Failure) -> Step {
        self.abandon().map_or(Step::Nothing, |call| self.on_failure(failure, call))
    }

    /// Handles the failure of a request that is not open any more.
    pub(super) fn on_failure(&mut self, failure: Failure, call: Call) -> Step {
        let operation = call.operation();
        let class = if call.doubt.is_some() { FailureClass::Unreadable } else { failure.class() };
        let rule = RetryRule::of(operation, class);
        let answered = failure.is_answer() || call.is_answered();
        let healthy = self.note_health(&call, answered);
        let (reaction, backoff) = rule.after(self.times(&call, rule));
        self.count(operation, reaction, rule, class);
        self.versions.most_recent |= rule.most_recent;
        let asked = call.retry_after.max(failure.retry_after()).unwrap_or_default();
        let cause = match Cause::of(backoff, reaction, answered, healthy) {
            Cause::Refused => self.cause_of_refusal(&call, class, reaction, backoff),
            cause => cause,
        };
        self.interrupted |= backoff == BackoffKind::Probe;
        match (reaction, backoff) {
            (Reaction::RelistUnpaged, _) => self.list(Pages::unpaged(), None),
            (Reaction::Rewatch, _) => self.wait(Then::Watch, cause, asked),
            (Reaction::Resume, _) => self.wait(Then::Resume, cause, asked),
            (_, BackoffKind::Immediate) => self.synchronize(),
            _ => self.wait(Then::Relist, cause, asked),
        }
        let mut retry_in = Duration::ZERO;
        if let Activity::Waiting { until, .. } = self.activity {
            retry_in = until.saturating_since(self.now);
            self.note_outage(&failure);
        }
        let attempts = self.outage.map_or(0, |outage| outage.attempts);
        let step = call.step_at_failure();
        self.report = Some(FailureReport { operation, request: call.request, failure, reaction, attempts, retry_in });
        step
    }

    /// Begins an outage, or continues it.
    fn note_outage(&mut self, failure: &Failure) {
        self.outage = Some(Outage {
            since: self.outage.map_or(self.now, |outage| outage.since),
            attempts: self.outage.map_or(0, |outage| outage.attempts).saturating_add(1),
            class: failure.class(),
            status: failure.status().map(|status| status.code),
            interrupted: false,
            again: None,
        });
    }

    /// The cause that a refusal counts as. The break of a watch is no refusal, nor is a 410 after an interrupted watch.
    fn cause_of_refusal(&self, call: &Call, class: FailureClass, reaction: Reaction, backoff: BackoffKind) -> Cause {
        match reaction {
            Reaction::Rewatch if backoff == BackoffKind::Probe && call.has_watched(self.now) => Cause::Interrupted,
            Reaction::Relist if self.interrupted && class == FailureClass::Expired => Cause::Forgotten,
            _ => Cause::Refused,
        }
    }

    /// A watch that lived for as long as the present delay shows that the server is well: the delays begin with the
    /// first. Nothing else does, neither time nor an event. Returns whether it is so.
    ///
    /// The reported outage ends earlier: a client that received an event was not cut off all the time.
    pub(super) fn note_health(&mut self, call: &Call, answered: bool) -> bool {
        if answered {
            self.delays.note_answer(self.now);
        }
        self.outage = self.outage.filter(|_| !call.is_proven());
        let healthy = call.watched_for(self.now).filter(|lived| self.delays.is_proof(*lived));
        if let Some(lived) = healthy {
            self.outage = None;
            self.delays.reset(lived);
        }
        healthy.is_some()
    }

    /// How many times in a row the rule has applied already.
    fn times(&self, call: &Call, rule: &RetryRule) -> u32 {
        match &call.purpose {
            Purpose::List(pages) => u32::from(pages.is_unpaged),
            Purpose::Stream(_) => {
                rule.classes.iter().map(|class| u32::from(self.server.failures[*class as usize])).sum()
            }
            Purpose::Watch(_) => self.server.refused,
            Purpose::Version => self.resume.as_ref().map_or(0, |resume| resume.refused),
        }
    }

    fn count(&mut self, operation: Operation, reaction: Reaction, rule: &RetryRule, class: FailureClass) {
        match operation {
            Operation::WatchList => {
                let failures = &mut self.server.failures[class as usize];
                *failures = failures.saturating_add(1);
            }
            Operation::Watch if rule.limit.is_some() => self.server.refused = self.server.refused.saturating_add(1),
            Operation::Resume if rule.limit.is_some() => {
                self.resume.iter_mut().for_each(|resume| resume.refused = resume.refused.saturating_add(1));
            }
            Operation::Watch | Operation::List | Operation::Page | Operation::Resume => {}
        }
        if reaction == Reaction::ListInstead {
            self.server.lists_since = Some(self.now);
        }
        self.server.lists_next |= reaction == Reaction::RelistByList;
    }

    /// Waits for the delay after a failure, which is at least what the server asked for.
    pub(super) fn wait(&mut self, then: Then, cause: Cause, asked: Duration) {
        let delay = self.delays.next(self.now, cause, asked);
        self.activity = Activity::Waiting { until: self.now + delay, then };
    }
}
