//! The loop of one worker, and the task that follows the delays.

use super::states::{WorkerHandle, WorkerStates};
use crate::Clock;
use crate::budget::Budget;
use crate::caught::{Caught, caught, caught_call};
use core::future::poll_fn;
use core::hash::Hash;
use core::pin::Pin;
use core::task::{Poll, ready};
use listwatch_core::Instant;
use listwatch_core::queue::{Discipline, Outcome, RateLimiter};
use listwatch_core::sync::{Due, Get, JobGuard, Lock, SharedWorkQueue};
use std::sync::Arc;

/// The context that all workers of one [`Workers`](super::Workers) share.
pub(super) struct Context<K, Lk: Lock, L, D: Discipline<K>, P> {
    pub(super) queue: Arc<SharedWorkQueue<K, Lk, L, D>>,
    pub(super) clock: Clock,
    pub(super) on_panic: P,
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
        let (mut budget, mut next, mut last) = (Budget::new(), self.queue.get(), None);
        while let Some(job) = self.next(&mut next, last.take()).await {
            worker.take(job.key().clone());
            let outcome = self.follow(worker, job.key(), caught_call(|| reconcile(job.key().clone()))).await;
            last = worker.put_down();
            next = match outcome {
                Some(outcome) => job.finish_and_get(self.end_of(outcome), outcome),
                None => job.done_and_get(),
            };
            poll_fn(|cx| {
                let spent = budget.poll_spend(cx);
                if spent.is_pending() {
                    // Other workers can have the key while this one is not polled.
                    let finished = core::mem::replace(&mut next, self.queue.get());
                    self.report(last.take(), caught_call(|| drop(finished)));
                }
                spent
            })
            .await;
        }
    }

    /// When a reconcile with this outcome ended. Nothing is timed from the end of one that is done, and a queue with
    /// metrics has the clock itself.
    fn end_of(&self, outcome: Outcome) -> Instant {
        if outcome == Outcome::Done { Instant::ZERO } else { self.clock.now() }
    }

    /// The outcome of reconciling `key`, of which the call has returned; none if the time to drain was over before.
    async fn follow<F: Future<Output = Outcome>>(
        &self,
        worker: &WorkerHandle<K>,
        key: &K,
        called: Result<F, String>,
    ) -> Option<Outcome> {
        let end = match called {
            Ok(future) => caught(future, || worker.is_over()).await,
            Err(panic) => Caught::Panicked(panic),
        };
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

    /// Waits for the next key. The first poll gives the `last` one back, in which the rate limiter may panic.
    async fn next<'q>(
        &self,
        next: &mut Get<'q, K, Lk, L, D>,
        mut last: Option<K>,
    ) -> Option<JobGuard<'q, K, Lk, L, D>> {
        poll_fn(|cx| {
            let Some(key) = last.take() else { return Pin::new(&mut *next).poll(cx) };
            match caught_call(|| Pin::new(&mut *next).poll(cx)) {
                Ok(polled) => polled,
                Err(panic) => {
                    assert!(next.finished().is_none(), "the next key cannot be handed out: {panic}");
                    self.call_on_panic(&key, &panic);
                    Pin::new(&mut *next).poll(cx)
                }
            }
        })
        .await
    }

    /// Reports a panic while the key was given back.
    fn report(&self, key: Option<K>, given_back: Result<(), String>) {
        if let (Some(key), Err(panic)) = (key, given_back) {
            self.call_on_panic(&key, &panic);
        }
    }

    fn call_on_panic(&self, key: &K, panic: &str) {
        // The panic hook has reported a panic in here already.
        let _ = caught_call(|| (self.on_panic)(key, panic));
    }

    /// Moves keys whose delay is over to the ready ones, until the queue is drained or the time for that is over.
    pub(super) async fn follow_delays(&self, states: &WorkerStates<K>) {
        let (mut delays, mut sleep) = (self.queue.delays(), None);
        poll_fn(|cx| {
            loop {
                let due = match caught_call(|| delays.poll_due(cx, self.clock.now())) {
                    Ok(Due::Closed) => return Poll::Ready(()),
                    Ok(Due::Idle) => None,
                    Ok(Due::At(at)) => Some(at),
                    // A key panicked where it was dropped, or a waker did: without this task no drain ends.
                    Err(_) => {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                };
                ready!(self.clock.poll_at(&mut sleep, due, cx));
            }
        })
        .await;
        if !self.queue.is_drained() {
            states.end(self.clock.now());
        }
    }
}
