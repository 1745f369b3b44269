//! The loop of one worker, and the task that follows the delays.

use super::states::{WorkerHandle, WorkerStates};
use crate::Clock;
use crate::budget::Budget;
use crate::caught::{Caught, caught_call, caught_in};
use core::future::poll_fn;
use core::hash::Hash;
use core::pin::{Pin, pin};
use core::task::{self, Poll, ready};
use listwatch_core::Instant;
use listwatch_core::queue::{Discipline, Outcome, RateLimiter};
use listwatch_core::sync::{Due, Follower, Get, JobGuard, Lock, SharedWorkQueue, Shares};
use smol::future::yield_now;
use smol::lock::Mutex;
use std::sync::Arc;

/// What a worker is answered that asks for its next key.
type Next<'q, K, Lk, L, D> = Poll<Option<JobGuard<'q, K, Lk, L, D>>>;

/// The context that all workers of one [`Workers`](super::Workers) share.
pub(super) struct Context<K, Lk: Lock, L, D: Discipline<K>, P> {
    pub(super) queue: Arc<SharedWorkQueue<K, Lk, L, D>>,
    pub(super) clock: Clock,
    pub(super) on_panic: P,
    /// The right to wait for a key, which one worker has: so a ready key wakes one of them, even if the queue wakes all.
    pub(super) turn: Mutex<()>,
}

impl<K, Lk, L, D, P> Context<K, Lk, L, D, P>
where
    K: Hash + Eq + Clone,
    Lk: Lock,
    L: RateLimiter,
    D: Discipline<K>,
    P: Fn(&K, &str),
{
    /// Reconciles one key after the other, until the queue is shut down and nothing is ready.
    pub(super) async fn work<F: Future<Output = Outcome>>(&self, worker: &WorkerHandle<K>, reconcile: impl Fn(K) -> F) {
        let (mut budget, mut next) = (Budget::new(), self.queue.get());
        while let Some(job) = self.next(worker, &mut next).await {
            drop(worker.take(job.key().clone()));
            let mut future = pin!(None);
            let called = caught_call(|| future.set(Some(reconcile(job.key().clone()))));
            let end = match called {
                Ok(()) => caught_in(future, || worker.is_over()).await,
                Err(panic) => Caught::Panicked(panic),
            };
            next = match end {
                // Nothing is timed from its end, and a queue with metrics has the clock itself.
                Caught::Done(Outcome::Done) => job.finish_and_get(Instant::ZERO, Outcome::Done),
                end => match self.outcome(worker, job.key(), end) {
                    Some(outcome) => job.finish_and_get(self.clock.now(), outcome),
                    None => job.done_and_get(),
                },
            };
            if !budget.try_spend() {
                // Other workers can have the key while this one is not polled.
                let finished = core::mem::replace(&mut next, self.queue.get());
                let _failed = caught_call(|| drop(finished));
                worker.put_down();
                yield_now().await;
            }
        }
        if self.queue.has_failed() {
            worker.fail();
        }
    }

    /// The outcome of reconciling `key`, which ended so; none if the time to drain was over before.
    fn outcome(&self, worker: &WorkerHandle<K>, key: &K, end: Caught<Outcome>) -> Option<Outcome> {
        match end {
            Caught::Done(outcome) => Some(outcome),
            Caught::Panicked(panic) => {
                self.call_on_panic(key, &panic);
                Some(Outcome::Panicked)
            }
            Caught::Stopped(panic) => {
                if let Some(panic) = panic {
                    self.queue.note_panic();
                    self.call_on_panic(key, &panic);
                }
                worker.give_up();
                None
            }
        }
    }

    /// Waits for the next key.
    #[inline]
    async fn next<'q>(
        &self,
        worker: &WorkerHandle<K>,
        next: &mut Get<'q, K, Lk, L, D>,
    ) -> Option<JobGuard<'q, K, Lk, L, D>> {
        let looked = poll_fn(|cx| Poll::Ready(self.poll_next(worker, next, cx, |next, _| next.poll_now()))).await;
        match looked {
            Poll::Ready(next) => next,
            Poll::Pending => {
                let _turn = self.turn.lock().await;
                poll_fn(|cx| self.poll_next(worker, next, cx, |next, cx| Pin::new(next).poll(cx))).await
            }
        }
    }

    /// Asks for the next key by `poll`. The first time gives the last one back. If the program's code panics in the queue,
    /// the queue has failed, and no key comes.
    #[inline]
    fn poll_next<'q>(
        &self,
        worker: &WorkerHandle<K>,
        next: &mut Get<'q, K, Lk, L, D>,
        cx: &mut task::Context<'_>,
        poll: impl FnOnce(&mut Get<'q, K, Lk, L, D>, &mut task::Context<'_>) -> Next<'q, K, Lk, L, D>,
    ) -> Next<'q, K, Lk, L, D> {
        let polled = caught_call(|| poll(next, cx)).unwrap_or(Poll::Ready(None));
        if !matches!(polled, Poll::Ready(Some(_))) {
            // Its key is given back.
            worker.put_down();
        }
        polled
    }

    fn call_on_panic(&self, key: &K, panic: &str) {
        // The panic hook has reported a panic in here already.
        let _ = caught_call(|| (self.on_panic)(key, panic));
    }

    /// Moves keys whose delay is over to the ready ones, until the queue is drained or the time for that is over.
    pub(super) async fn follow_delays(&self, states: &WorkerStates<K>) {
        follow(self.queue.delays(), &self.clock, |_| Poll::Ready(())).await;
        if !self.queue.is_drained() {
            states.end(self.clock.now());
        }
    }
}

/// Gives a shared machine the time until it is over, or until the program's code panics in it. After each time,
/// `go_on` does what is due, and says when that is done.
pub(crate) async fn follow<S: Shares>(
    mut machine: Follower<'_, S>,
    clock: &Clock,
    mut go_on: impl FnMut(&mut task::Context<'_>) -> Poll<()>,
) {
    let mut sleep = None;
    poll_fn(|cx| {
        loop {
            let due = match caught_call(|| machine.poll_due(cx, clock.now())).unwrap_or(Due::Closed) {
                Due::Closed => return Poll::Ready(()),
                Due::Idle => None,
                Due::At(at) => Some(at),
            };
            ready!(go_on(cx));
            ready!(clock.poll_at(&mut sleep, due, cx));
        }
    })
    .await;
}
