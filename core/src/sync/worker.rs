//! What the tasks around a shared machine have: the wait for a job, the job, and the place of one that follows the
//! timeouts. The machines name them: [`Get`](super::Get), [`JobGuard`](super::JobGuard), [`Delays`](super::Delays).

use super::Lock;
use super::dispatch::Dispatch;
use crate::queue::Machine;
use crate::storage::Slot;
use crate::time::Instant;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// A machine behind a lock, as the tasks around it see it.
type Shared<'a, Q, Lk> = &'a Dispatch<Q, Lk, <Q as Machine>::Key>;

/// A future that waits for a job of a shared machine.
///
/// It can be dropped at any time. If it was woken, the next worker is woken in its place.
#[must_use = "a future does nothing unless it is polled"]
pub struct Wait<'a, Q: Machine, Lk: Lock> {
    shared: Shared<'a, Q, Lk>,
    /// What is given back first.
    last: Option<Q::Last>,
    /// The answer to it.
    finished: Option<Q::Finished>,
    /// The place among the sleeping workers.
    place: Option<Slot>,
}

impl<'a, Q: Machine, Lk: Lock> Wait<'a, Q, Lk> {
    pub(crate) fn new(shared: Shared<'a, Q, Lk>, last: Option<Q::Last>) -> Self {
        Self { shared, last, finished: None, place: None }
    }

    /// The result of the `finish`, once the first poll has taken back a job with its outcome.
    #[must_use]
    pub fn finished(&self) -> Option<Q::Finished> {
        self.finished
    }

    #[inline]
    pub(crate) fn poll_with(&mut self, waker: Option<&Waker>) -> Poll<Option<Lent<'a, Q, Lk>>> {
        let Self { shared, last, finished, place } = self;
        let work = shared.poll_work(waker, last, finished, place);
        work.map(|work| work.map(|(told, job)| Lent { shared, told, job: Some(job) }))
    }
}

/// Nothing in it is pinned.
impl<Q: Machine, Lk: Lock> Unpin for Wait<'_, Q, Lk> {}

impl<'a, Q: Machine, Lk: Lock> Future for Wait<'a, Q, Lk> {
    type Output = Option<Lent<'a, Q, Lk>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_with(Some(cx.waker()))
    }
}

impl<Q: Machine, Lk: Lock> Drop for Wait<'_, Q, Lk> {
    fn drop(&mut self) {
        self.shared.leave(self.last.take(), &mut self.place);
    }
}

impl<Q: Machine, Lk: Lock> fmt::Debug for Wait<'_, Q, Lk> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wait").field("place", &self.place).finish_non_exhaustive()
    }
}

/// A job that a worker has, until it gives the job back or drops this.
#[must_use = "dropping it gives the key back"]
pub struct Lent<'a, Q: Machine, Lk: Lock> {
    pub(crate) shared: Shared<'a, Q, Lk>,
    pub(crate) told: Q::Told,
    /// None once it was given back.
    pub(crate) job: Option<Q::Job>,
}

impl<'a, Q: Machine, Lk: Lock> Lent<'a, Q, Lk> {
    pub(crate) fn give_back(mut self, last: impl FnOnce(Q::Job) -> Q::Last) -> Option<Q::Finished> {
        let last = self.job.take().map(last)?;
        self.shared.update_bare(|machine| machine.take_back(last))
    }

    pub(crate) fn give_back_and_wait(mut self, last: impl FnOnce(Q::Job) -> Q::Last) -> Wait<'a, Q, Lk> {
        Wait::new(self.shared, self.job.take().map(last))
    }
}

impl<Q: Machine, Lk: Lock> Drop for Lent<'_, Q, Lk> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.shared.update_bare(|machine| machine.take_back(Q::given_up(job)));
        }
    }
}

impl<Q: Machine<Told: fmt::Debug>, Lk: Lock> fmt::Debug for Lent<'_, Q, Lk> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("told", &self.told).finish_non_exhaustive()
    }
}

/// The time until which a task that follows the delays can sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Until this time, or until the task is woken.
    At(Instant),
    /// Until the task is woken, because no key is delayed.
    Idle,
    /// For ever, because the queue is shut down, and [nothing is left to wait for](crate::queue::WorkQueueIn::drained).
    Closed,
}

/// The place of a task that follows the timeouts of a shared machine.
///
/// One task that follows them is enough. If several do, the first of them adds the keys that are due.
pub struct Follower<'a, Q: Machine, Lk: Lock> {
    shared: Shared<'a, Q, Lk>,
    /// The place among the sleepers.
    place: Option<Slot>,
}

impl<'a, Q: Machine, Lk: Lock> Follower<'a, Q, Lk> {
    pub(crate) fn new(shared: Shared<'a, Q, Lk>) -> Self {
        Self { shared, place: None }
    }

    /// Gives the machine the time, and registers the task's waker. The task is woken if there is a timeout before the
    /// returned time, if there is none any more, and at each stage of the end.
    ///
    /// All keys that are due are added under the lock, in a time that grows with their number. Delays of different
    /// lengths keep a million keys from being due at once.
    #[must_use]
    pub fn poll_due(&mut self, cx: &mut Context<'_>, now: Instant) -> Due {
        self.shared.poll_due(cx.waker(), now, &mut self.place)
    }
}

impl<Q: Machine, Lk: Lock> Drop for Follower<'_, Q, Lk> {
    fn drop(&mut self) {
        self.shared.leave_timeouts(&mut self.place);
    }
}

impl<Q: Machine, Lk: Lock> fmt::Debug for Follower<'_, Q, Lk> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("place", &self.place).finish_non_exhaustive()
    }
}
