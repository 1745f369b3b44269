//! Requests that failed or ended.

use super::backoff::{Cause, Wait};
use super::open::Open;
use super::retry_policy::REFUSED_WATCHES;
use super::{
    BackoffKind, Failure, FailureClass, FailureReport, Operation, Outage, Reaction, Reflector, RetryRule, State, Step,
    Then,
};
use core::time::Duration;

/// The least time between the starts of two watches that end properly but within moments: 30 s, spread by a fifth.
const APART: (Duration, Duration) = (Duration::from_secs(24), Duration::from_secs(36));

/// If a server refuses watches, one watch follows after this many watch-lists and refusals in a row.
const TRIED: u32 = 8;

impl Reflector {
    pub(super) fn on_closed(&mut self, failure: Failure) -> Step {
        let open = self.open.take();
        self.on_failure(failure, open)
    }

    pub(super) fn on_broken(&mut self, failure: Failure) -> Step {
        let open = self.abandon();
        self.on_failure(failure, open)
    }

    /// Handles every failure, with the request that was open.
    pub(super) fn on_failure(&mut self, failure: Failure, open: Option<Open>) -> Step {
        let (Some(operation), Some(open)) = (self.operation(), open) else { return Step::Nothing };
        let step = self.discard();
        let doubtful = open.doubtful;
        let class = if doubtful { FailureClass::Unreadable } else { failure.class() };
        let row = RetryRule::of(operation, class);
        let answered = failure.is_answer() || open.answered;
        let healthy = self.note_health(&open, answered);
        let (reaction, backoff) = row.after(self.times(operation, row));
        self.count(operation, reaction, row, class);
        self.relist.most_recent |= row.most_recent;
        let asked = open.retry_after.max(failure.retry_after()).unwrap_or_default();
        let cause = match Cause::of(backoff, reaction, answered, healthy) {
            Cause::Refused => self.cause_of_refusal(&open, class, reaction, backoff),
            cause => cause,
        };
        self.interrupted |= backoff == BackoffKind::Probe;
        self.react(reaction, backoff, cause, asked);
        let mut retry_in = Duration::ZERO;
        if let State::Waiting { until, .. } = self.state {
            retry_in = until.saturating_since(self.now);
            self.outage = Some(Outage::with(self.outage, &failure, self.now));
        }
        let attempts = self.outage.map_or(0, |outage| outage.attempts);
        self.report = Some(FailureReport { operation, request: open.request, failure, reaction, attempts, retry_in });
        step
    }

    /// The cause that a refusal counts as. The break of a watch is no refusal, nor is a 410 after an interrupted watch.
    fn cause_of_refusal(&self, open: &Open, class: FailureClass, reaction: Reaction, backoff: BackoffKind) -> Cause {
        match reaction {
            Reaction::Rewatch if backoff == BackoffKind::Probe && open.has_watched(self.now) => Cause::Interrupted,
            Reaction::Relist if self.interrupted && class == FailureClass::Expired => Cause::Forgotten,
            _ => Cause::Refused,
        }
    }

    /// A watch that ended properly is resumed at once. If watches end within moments, they are delayed like failures. A
    /// server that ends watches early may be shutting down, with its other clients returning too.
    pub(super) fn watch_on(&mut self, open: &Open) -> Step {
        let healthy = self.note_health(open, true);
        self.outage = None;
        if healthy && self.refuses_watches() {
            return self.stream_again(open);
        }
        let spread = self.config.reconnect_jitter;
        self.interrupted |= !open.is_over_time(self.now);
        let until = match healthy {
            true if open.is_over_time(self.now) => self.now,
            true => self.now + self.delays.between(Duration::ZERO, spread),
            false if open.has_watched(self.now) && self.delays.forgives() => {
                self.now + self.delays.after_interruption(spread)
            }
            false => open.since() + self.delays.grown().min(self.delays.between(APART.0, APART.1)),
        };
        if until > self.now {
            self.state = State::Waiting { until, then: Then::Watch };
        } else {
            self.watch();
        }
        Step::Nothing
    }

    /// Whether this server refuses watches, though not the one that follows a watch-list. After the first watch-list it
    /// is tried, and then now and then.
    fn refuses_watches(&mut self) -> bool {
        let refuses = self.refused >= REFUSED_WATCHES;
        self.refused = self.refused.saturating_add(u32::from(refuses));
        refuses && self.refused % TRIED != (REFUSED_WATCHES + 2) % TRIED
    }

    /// A watch-list that went on as a watch has ended, and another watch would be refused.
    fn stream_again(&mut self, open: &Open) -> Step {
        if open.is_over_time(self.now) {
            self.synchronize();
        } else {
            self.wait(Then::Relist, Cause::Relist, Duration::ZERO);
        }
        Step::Nothing
    }

    /// A watch that lived for as long as the present delay shows that the server is well: the delays begin with the
    /// first. Nothing else does, neither time nor an event. Returns whether it is so.
    ///
    /// The reported outage ends earlier: a client that received an event was not cut off all the time.
    pub(super) fn note_health(&mut self, open: &Open, answered: bool) -> bool {
        if answered {
            self.delays.note_answer(self.now);
        }
        self.outage = self.outage.filter(|_| !open.proven);
        let healthy = open.watched_for(self.now).filter(|lived| self.delays.is_proof(*lived));
        if let Some(lived) = healthy {
            self.outage = None;
            self.delays.reset(lived);
        }
        healthy.is_some()
    }

    /// How many times in a row the rule has applied already.
    fn times(&self, operation: Operation, row: &RetryRule) -> u32 {
        match operation {
            Operation::List | Operation::Page => u32::from(matches!(self.state, State::Listing { unpaged: true, .. })),
            Operation::WatchList => {
                row.classes.iter().map(|class| u32::from(self.watch_list.failures[*class as usize])).sum()
            }
            Operation::Watch => self.refused,
            Operation::Resume => self.resume.as_ref().map_or(0, |resume| resume.refused),
        }
    }

    fn count(&mut self, operation: Operation, reaction: Reaction, row: &RetryRule, class: FailureClass) {
        match operation {
            Operation::WatchList => {
                let failures = &mut self.watch_list.failures[class as usize];
                *failures = failures.saturating_add(1);
            }
            Operation::Watch if row.limit.is_some() => self.refused = self.refused.saturating_add(1),
            Operation::Resume if row.limit.is_some() => {
                self.resume.iter_mut().for_each(|resume| resume.refused = resume.refused.saturating_add(1));
            }
            Operation::Watch | Operation::List | Operation::Page | Operation::Resume => {}
        }
        if reaction == Reaction::ListInstead {
            self.watch_list.given_up = Some(self.now);
        }
        self.watch_list.skipped |= reaction == Reaction::RelistByList;
    }

    fn react(&mut self, reaction: Reaction, backoff: BackoffKind, cause: Cause, asked: Duration) {
        match (reaction, backoff) {
            (Reaction::RelistUnpaged, _) => self.list(None, true),
            (Reaction::Rewatch, _) => self.wait(Then::Watch, cause, asked),
            (Reaction::Resume, _) => self.wait(Then::Resume, cause, asked),
            (_, BackoffKind::Immediate) => self.synchronize(),
            _ => self.wait(Then::Relist, cause, asked),
        }
    }

    fn wait(&mut self, then: Then, cause: Cause, asked: Duration) {
        let wait = Wait { cause, asked, spread: self.config.reconnect_jitter };
        let delay = self.delays.next(self.now, wait);
        self.state = State::Waiting { until: self.now + delay, then };
    }

    fn operation(&self) -> Option<Operation> {
        match &self.state {
            State::Listing { token: None, .. } => Some(Operation::List),
            State::Listing { .. } => Some(Operation::Page),
            State::WatchListing => Some(Operation::WatchList),
            State::Watching => Some(Operation::Watch),
            State::Resuming => Some(Operation::Resume),
            State::Idle | State::Stopped | State::Held | State::Waiting { .. } => None,
        }
    }
}
