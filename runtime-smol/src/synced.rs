//! Waiting for the first state, beside whoever takes the events.

use crate::clock::{Clock, Sleep};
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::{InformerStatus, Instant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Waits until the first state has been told; see [`Events::synced`](crate::Events::synced).
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Synced {
    board: Arc<Board>,
    clock: Clock,
    deadline: Option<Sleep>,
}

/// Why there is no first state: what the informer is doing instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotSynced(pub InformerStatus);

/// Where the one who drives an informer writes down how far it is, for those who wait.
#[derive(Debug)]
pub(crate) struct Board(Mutex<Notes>);

#[derive(Debug)]
struct Notes {
    synced: Poll<Result<(), InformerStatus>>,
    status: InformerStatus,
    at: Instant,
    waiting: Vec<Waker>,
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
        if let Poll::Ready(synced) = self.board.poll(cx.waker()) {
            return Poll::Ready(synced.map_err(NotSynced));
        }
        let Some(deadline) = &mut self.deadline else { return Poll::Pending };
        if Pin::new(deadline).poll(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(Err(NotSynced(self.board.status(self.clock.now()))))
    }
}

impl Board {
    pub(crate) fn new(clock: &Clock) -> Arc<Self> {
        let (synced, status, at, waiting) = (Poll::Pending, InformerStatus::Idle, clock.now(), Vec::new());
        Arc::new(Self(Mutex::new(Notes { synced, status, at, waiting })))
    }

    pub(crate) fn wait(self: &Arc<Self>, clock: &Clock) -> Synced {
        Synced { board: Arc::clone(self), clock: clock.clone(), deadline: None }
    }

    /// Whether there is nothing more to write down.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.notes().synced, Poll::Ready(Ok(())))
    }

    /// Writes down how far the informer is, and wakes those who waited for it.
    pub(crate) fn note(&self, synced: Poll<Result<(), InformerStatus>>, status: InformerStatus, at: Instant) {
        let mut notes = self.notes();
        (notes.status, notes.at) = (status, at);
        let woken = if synced.is_ready() { core::mem::take(&mut notes.waiting) } else { Vec::new() };
        notes.synced = synced;
        drop(notes);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Nobody drives the informer any more.
    pub(crate) fn abandon(&self) {
        if !self.is_settled() {
            let at = self.notes().at;
            self.note(Poll::Ready(Err(InformerStatus::Stopped)), InformerStatus::Stopped, at);
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<Result<(), InformerStatus>> {
        let mut notes = self.notes();
        if notes.synced.is_pending() && !notes.waiting.iter().any(|waiting| waiting.will_wake(waker)) {
            notes.waiting.push(waker.clone());
        }
        notes.synced.clone()
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
        write!(f, "not synced: {}", self.0)
    }
}

impl core::error::Error for NotSynced {}
