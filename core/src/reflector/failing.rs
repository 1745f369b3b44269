//! What becomes of a request that failed, or ended.

use super::backoff::Wait;
use super::open::{HEALTHY, Open};
use super::{
    During, Failure, FailureClass, FailureReport, Outage, Pace, Reaction, ReactionRow, Reflector, State, Step, Then,
};
use core::time::Duration;

impl Reflector {
    pub(super) fn on_closed(&mut self, failure: Failure) -> Step {
        let open = self.open.take();
        self.on_failure(failure, open)
    }

    pub(super) fn on_broken(&mut self, failure: Failure) -> Step {
        let open = self.abandon();
        self.on_failure(failure, open)
    }

    /// Every failure comes here, with the request that was open.
    pub(super) fn on_failure(&mut self, failure: Failure, open: Option<Open>) -> Step {
        let (Some(during), Some(open)) = (self.during(), open) else { return Step::Nothing };
        let step = self.discard();
        let doubtful = open.doubtful;
        let row = ReactionRow::of(during, if doubtful { FailureClass::Unreadable } else { failure.class() });
        self.note_health(&open, row.reaction);
        let (reaction, pace) = row.after(self.times(during));
        self.count(during, reaction);
        self.relist.most_recent |= row.most_recent;
        let asked = open.retry_after.max(failure.retry_after()).unwrap_or_default();
        self.react(reaction, pace, asked);
        let mut retry_in = Duration::ZERO;
        if let State::Waiting { until, .. } = self.state {
            retry_in = until.saturating_since(self.now);
            self.outage = Some(Outage::with(self.outage, &failure, self.now));
        }
        let attempts = self.outage.map_or(0, |outage| outage.attempts);
        self.report = Some(FailureReport { during, request: open.request, failure, reaction, attempts, retry_in });
        step
    }

    /// A watch that ended as it should goes on: at once, or where watches end after moments only, as often as those
    /// that fail.
    pub(super) fn watch_on(&mut self, open: &Open) -> Step {
        self.note_health(open, Reaction::Rewatch);
        self.outage = None;
        // What it waits for is that one request, and what came before is not forgotten.
        self.requests = self.requests.saturating_sub(1);
        if !open.is_healthy(self.now) {
            let apart = self.delays.between(HEALTHY * 4 / 5, HEALTHY * 6 / 5);
            let until = open.since() + self.delays.grown().min(apart);
            if until > self.now {
                self.state = State::Waiting { until, then: Then::Watch };
                return Step::Nothing;
            }
        }
        self.watch();
        Step::Nothing
    }

    /// A watch that lived for long shows that the server is well: delays begin again with the first. Nothing else does, neither time
    /// nor an event. If all has to be listed again even so, delays go on to grow: a server that forgets every version
    /// after a minute would be asked for lists all day.
    ///
    /// What is said of the outage is another matter: who was brought something since was not cut off all the time.
    fn note_health(&mut self, open: &Open, reaction: Reaction) {
        self.outage = self.outage.filter(|_| !open.proven);
        if !open.is_healthy(self.now) {
            return;
        }
        (self.refused, self.outage) = (0, None);
        if reaction == Reaction::Rewatch {
            self.delays.reset();
            self.requests = 1;
        }
    }

    /// How many times in a row the row's reaction has followed already.
    fn times(&self, during: During) -> u32 {
        match during {
            During::List | During::Page => u32::from(matches!(self.state, State::Listing { unpaged: true, .. })),
            During::WatchList => self.watch_list.failures,
            During::Watch => self.refused,
        }
    }

    fn count(&mut self, during: During, reaction: Reaction) {
        match during {
            During::WatchList => self.watch_list.failures += 1,
            During::Watch => self.refused = if reaction == Reaction::Rewatch { self.refused + 1 } else { 0 },
            During::List | During::Page => {}
        }
        self.watch_list.given_up |= reaction == Reaction::ListInstead;
        self.watch_list.skipped |= reaction == Reaction::RelistByList;
    }

    fn react(&mut self, reaction: Reaction, pace: Pace, asked: Duration) {
        match (reaction, pace) {
            (Reaction::RelistUnpaged, _) => self.list(None, true),
            (Reaction::Rewatch, _) => self.wait(Then::Watch, pace, asked),
            (_, Pace::AtOnce) => self.synchronize(),
            _ => self.wait(Then::Relist, pace, asked),
        }
    }

    fn wait(&mut self, then: Then, pace: Pace, asked: Duration) {
        // Who never had a state did not lose its server.
        let spread = if self.listed { self.config.reconnect_spread } else { Duration::ZERO };
        let requests = core::mem::take(&mut self.requests);
        let delay = self.delays.next(Wait { pace, asked, requests, spread });
        self.state = State::Waiting { until: self.now + delay, then };
    }

    fn during(&self) -> Option<During> {
        match &self.state {
            State::Listing { token: None, .. } => Some(During::List),
            State::Listing { .. } => Some(During::Page),
            State::WatchListing => Some(During::WatchList),
            State::Watching => Some(During::Watch),
            State::Idle | State::Stopped | State::Waiting { .. } => None,
        }
    }
}
