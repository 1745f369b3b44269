//! What the tasks around a shared machine have: the wait for a job, the job, and the place of one that follows the
//! timeouts. The machines name them: [`Get`](super::Get), [`JobGuard`](super::JobGuard), [`Delays`](super::Delays).

use super::Lock;
use super::dispatch::{Dispatch, Due};
use crate::queue::Machine;
use crate::storage::Slot;
use crate::time::Instant;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// A machine that is shared: a [`SharedWorkQueue`](super::SharedWorkQueue), or a controller's. Sealed.
///
/// What waits for it has a reference to it, and not to its parts. So it is `Send` wherever that is `Sync`.
pub trait Shares {
    #[doc(hidden)]
    type Machine: Machine;
    #[doc(hidden)]
    type Lock: Lock;

    #[doc(hidden)]
    fn dispatch(&self) -> &Dispatch<Self::Machine, Self::Lock, <Self::Machine as Machine>::Key>;
}

type ToldOf<S> = <<S as Shares>::Machine as Machine>::Told;
type JobOf<S> = <<S as Shares>::Machine as Machine>::Job;
type LastOf<S> = <<S as Shares>::Machine as Machine>::Last;
type FinishedOf<S> = <<S as Shares>::Machine as Machine>::Finished;

/// A future that waits for a job of a shared machine.
///
/// It can be dropped at any time. If it was woken, the next worker is woken in its place.
#[must_use = "a future does nothing unless it is polled"]
pub struct Wait<'a, S: Shares> {
    shared: &'a S,
    /// What is given back first.
    last: Option<LastOf<S>>,
    /// The answer to it.
    finished: Option<FinishedOf<S>>,
    /// The place among the sleeping workers.
    place: Option<Slot>,
}

impl<'a, S: Shares> Wait<'a, S> {
    pub(crate) fn new(shared: &'a S, last: Option<LastOf<S>>) -> Self {
        Self { shared, last, finished: None, place: None }
    }

    /// The result of the `finish`, once the first poll has taken back a job with its outcome.
    pub fn finished(&self) -> Option<FinishedOf<S>> {
        self.finished
    }

    #[inline]
    pub(crate) fn poll_with(&mut self, waker: Option<&Waker>) -> Poll<Option<Lent<'a, S>>> {
        let Self { shared, last, finished, place } = self;
        let shared: &'a S = shared;
        let work = shared.dispatch().poll_work(waker, last, finished, place);
        work.map(|work| work.map(|(told, job)| Lent { shared, told, job: Some(job) }))
    }
}

/// Nothing in it is pinned.
impl<S: Shares> Unpin for Wait<'_, S> {}

impl<'a, S: Shares> Future for Wait<'a, S> {
    type Output = Option<Lent<'a, S>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_with(Some(cx.waker()))
    }
}

impl<S: Shares> Drop for Wait<'_, S> {
    fn drop(&mut self) {
        self.shared.dispatch().leave(self.last.take(), &mut self.place);
    }
}

summary!(impl[S: Shares] "Wait" for Wait<'_, S>, |it| { place: it.place });

/// A job that a worker has, until it gives the job back or drops this.
#[must_use = "dropping it gives the key back"]
pub struct Lent<'a, S: Shares> {
    pub(crate) shared: &'a S,
    pub(crate) told: ToldOf<S>,
    /// None once it was given back.
    pub(crate) job: Option<JobOf<S>>,
}

impl<'a, S: Shares> Lent<'a, S> {
    pub(crate) fn give_back(mut self, last: impl FnOnce(JobOf<S>) -> LastOf<S>) -> Option<FinishedOf<S>> {
        let last = self.job.take().map(last)?;
        self.shared.dispatch().update_bare(|machine| machine.take_back(last))
    }

    pub(crate) fn give_back_and_wait(mut self, last: impl FnOnce(JobOf<S>) -> LastOf<S>) -> Wait<'a, S> {
        Wait::new(self.shared, self.job.take().map(last))
    }
}

impl<S: Shares> Drop for Lent<'_, S> {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            self.shared.dispatch().update_bare(|machine| machine.take_back(S::Machine::given_up(job)));
        }
    }
}

summary!(impl[S: Shares<Machine: Machine<Told: fmt::Debug>>] "Lent" for Lent<'_, S>, |it| { told: it.told });

/// The place of a task that follows the timeouts of a shared machine.
///
/// One task that follows them is enough. If several do, the first of them adds the keys that are due.
pub struct Follower<'a, S: Shares> {
    shared: &'a S,
    /// The place among the sleepers.
    place: Option<Slot>,
}

impl<'a, S: Shares> Follower<'a, S> {
    pub(crate) fn new(shared: &'a S) -> Self {
        Self { shared, place: None }
    }

    /// Gives the machine the time, and registers the task's waker. The task is woken if there is a timeout before the
    /// returned time, if there is none any more, and at each stage of the end.
    ///
    /// All keys that are due are added under the lock, in a time that grows with their number. Delays of different
    /// lengths keep a million keys from being due at once.
    #[must_use]
    pub fn poll_due(&mut self, cx: &mut Context<'_>, now: Instant) -> Due {
        self.shared.dispatch().poll_due(cx.waker(), now, &mut self.place)
    }
}

impl<S: Shares> Drop for Follower<'_, S> {
    fn drop(&mut self) {
        self.shared.dispatch().leave_timeouts(&mut self.place);
    }
}

summary!(impl[S: Shares] "Follower" for Follower<'_, S>, |it| { place: it.place });
