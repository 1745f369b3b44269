//! Waiting for the first state, beside the task that takes the events.

use crate::clock::{Clock, Sleep};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use listwatch_core::informer::{self, NotSynced};
use listwatch_core::sync::StdLock;

/// Waits until the first state has been reported; see [`Events::synced`](crate::Events::synced).
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Synced {
    synced: informer::Synced<StdLock>,
    clock: Clock,
    deadline: Option<Sleep>,
}

impl Synced {
    pub(crate) fn new(synced: informer::Synced<StdLock>, clock: Clock) -> Self {
        Self { synced, clock, deadline: None }
    }

    /// Gives up when `time` is over, with the informer's status of that moment.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Some(self.clock.sleep(time));
        self
    }
}

impl Future for Synced {
    type Output = Result<(), NotSynced>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Poll::Ready(synced) = Pin::new(&mut this.synced).poll(cx) {
            return Poll::Ready(synced);
        }
        let Some(deadline) = &mut this.deadline else { return Poll::Pending };
        ready!(Pin::new(deadline).poll(cx));
        Poll::Ready(Err(this.synced.not_synced(this.clock.now())))
    }
}
