//! Waiting for the first state, beside whoever takes the events.

use crate::clock::{Clock, Sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::informer::InformerStatus;
use listwatch_core::reflector::Failure;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Waits until the first state has been told; see [`Events::synced`](crate::Events::synced).
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Synced {
    board: Arc<Board>,
    clock: Clock,
    deadline: Option<Sleep>,
    /// By which the board has its waker.
    number: u64,
}

/// Why there is no first state. [`Debug`](fmt::Debug) is the same as [`Display`](fmt::Display), for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// What the informer is doing instead.
    pub status: InformerStatus,
    /// The last failure of a request, with what the server said.
    pub failure: Option<Failure>,
}

/// Where the one who drives an informer writes down how far it is, for those who wait.
#[derive(Debug)]
pub(crate) struct Board(Mutex<Notes>);

#[derive(Debug)]
struct Notes {
    synced: Poll<Result<(), InformerStatus>>,
    status: InformerStatus,
    failure: Option<Failure>,
    at: Instant,
    /// The waker of the task that polled last, of each who waits.
    waiting: BTreeMap<u64, Waker>,
    last: u64,
}

impl Synced {
    /// Gives up after so long, with what the informer is doing then.
    pub fn within(mut self, time: Duration) -> Self {
        self.deadline = Some(self.clock.sleep(time));
        self
    }
}

impl Future for Synced {
    type Output = Result<(), NotSynced>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(synced) = self.board.poll(self.number, cx.waker()) {
            return Poll::Ready(synced.map_err(|status| self.board.not_synced(status)));
        }
        let Some(deadline) = &mut self.deadline else { return Poll::Pending };
        if Pin::new(deadline).poll(cx).is_pending() {
            return Poll::Pending;
        }
        let status = self.board.status(self.clock.now());
        Poll::Ready(Err(self.board.not_synced(status)))
    }
}

impl Drop for Synced {
    fn drop(&mut self) {
        let _waker = self.board.notes().waiting.remove(&self.number);
    }
}

impl Board {
    pub(crate) fn new(clock: &Clock) -> Arc<Self> {
        let (synced, status, at, waiting) = (Poll::Pending, InformerStatus::Idle, clock.now(), BTreeMap::new());
        Arc::new(Self(Mutex::new(Notes { synced, status, failure: None, at, waiting, last: 0 })))
    }

    pub(crate) fn wait(self: &Arc<Self>, clock: &Clock) -> Synced {
        let mut notes = self.notes();
        notes.last += 1;
        Synced { board: Arc::clone(self), clock: clock.clone(), deadline: None, number: notes.last }
    }

    /// Whether there is nothing more to write down.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.notes().synced, Poll::Ready(Ok(())))
    }

    /// Writes down how far the informer is, and wakes those who waited for it.
    pub(crate) fn note(&self, synced: Poll<Result<(), InformerStatus>>, status: InformerStatus, at: Instant) {
        let mut notes = self.notes();
        (notes.status, notes.at) = (status, at);
        let woken = if synced.is_ready() { core::mem::take(&mut notes.waiting) } else { BTreeMap::new() };
        notes.synced = synced;
        drop(notes);
        woken.into_values().for_each(Waker::wake);
    }

    /// Writes down why the last request failed, until there is a first state.
    pub(crate) fn note_failure(&self, failure: &Failure) {
        if !self.is_settled() {
            self.notes().failure = Some(failure.clone());
        }
    }

    fn not_synced(&self, status: InformerStatus) -> NotSynced {
        NotSynced { status, failure: self.notes().failure.clone() }
    }

    /// Nobody drives the informer any more.
    pub(crate) fn abandon(&self) {
        if !self.is_settled() {
            let at = self.notes().at;
            self.note(Poll::Ready(Err(InformerStatus::Stopped)), InformerStatus::Stopped, at);
        }
    }

    /// The waker of `number` is from now on this one. Wakers are cloned and dropped while the lock is open.
    fn poll(&self, number: u64, waker: &Waker) -> Poll<Result<(), InformerStatus>> {
        let waker = waker.clone();
        let (synced, _last) = {
            let mut notes = self.notes();
            let last = if notes.synced.is_pending() { notes.waiting.insert(number, waker) } else { None };
            (notes.synced.clone(), last)
        };
        synced
    }

    fn status(&self, now: Instant) -> InformerStatus {
        let notes = self.notes();
        notes.status.clone().later(now.saturating_since(notes.at))
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not synced: {}", self.status)?;
        self.failure.iter().try_for_each(|failure| write!(f, "; the last failure: {failure}"))
    }
}

impl fmt::Debug for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for NotSynced {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Wake;

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn one_synced_kept_the_waker_of_each_task_that_had_polled_it() {
        let clock = Clock::simulated();
        let board = Board::new(&clock);
        let mut synced = board.wait(&clock);
        for _ in 0..100 {
            let waker = Waker::from(Arc::new(Nobody));
            assert!(Pin::new(&mut synced).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(board.notes().waiting.len(), 1);
        drop(synced);
        assert_eq!(board.notes().waiting.len(), 0);
    }
}
