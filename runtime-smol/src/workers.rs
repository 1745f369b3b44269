use crate::budget::Budget;
use crate::caught::{Caught, caught, caught_call};
use crate::worker_states::{Unfinished, WorkerHandle, WorkerStates};
use crate::{Clock, Outcome};
use async_executor::{Executor, Task};
use core::fmt;
use core::future::poll_fn;
use core::hash::Hash;
use core::task::{Poll, ready};
use core::time::Duration;
use listwatch_core::queue::{Discipline, ExponentialBackoff, Fifo, RateLimiter};
use listwatch_core::sync::{Due, SharedWorkQueue, StdLock};
use std::sync::Arc;

/// Tasks that take keys out of a work queue, and one that follows its delays.
///
/// A reconcile that panics has failed: it is caught, counted ([`QueueStats::panics`](crate::queue::QueueStats::panics)), and its
/// key is tried again as the rate limiter says, while the worker goes on. The panic hook, which prints the message unless
/// the program has set another, is called as for any panic; [`on_panic`](WorkersBuilder::on_panic) tells the key too.
/// Under `panic = "abort"` nothing is caught: a panic ends the process.
///
/// The rate limiter is the queue's. By default that is exponential, from 5 ms to 1000 s for a key, without client-go's
/// bucket for all keys; a queue with both is a `SharedWorkQueue<K, StdLock, DefaultControllerRateLimiter>`.
///
/// Where the queue has [metrics](listwatch_core::queue::WorkQueueIn::with_metrics), their times are those of the workers' clock.
///
/// At the deadline of a [drain](SharedWorkQueue::shut_down_with_drain) the reconciles that are not done are dropped.
///
/// Dropping the workers ends them when their executor runs next, or when it is dropped. Where workers on several executors
/// share a queue, drop an executor that nobody runs any more: a worker that was woken there holds up those of the others.
///
/// ```
/// use listwatch_runtime_smol::sync::{SharedWorkQueue, StdLock};
/// use listwatch_runtime_smol::{Clock, Executor, Outcome, WorkQueue, Workers, run};
/// use std::sync::Arc;
///
/// let (clock, executor) = (Clock::simulated(), Executor::new());
/// let queue = Arc::new(SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default()));
/// let workers = Workers::spawn(&executor, &queue, &clock, 2, |key: u32| async move {
///     println!("reconciling {key}");
///     Outcome::Done
/// });
/// queue.add(7);
/// queue.add(8);
/// queue.shut_down();
/// let unfinished = run(&clock, &executor, workers.join());
/// assert!(queue.is_drained() && unfinished.is_empty());
/// ```
#[must_use = "dropping the workers ends them"]
pub struct Workers<K> {
    states: Arc<WorkerStates<K>>,
    clock: Clock,
    tasks: Vec<Task<()>>,
    _delays: Task<()>,
}

impl<K> Workers<K> {
    /// Workers of a queue that are yet to be [spawned](WorkersBuilder::spawn).
    pub fn builder<'q, L, D: Discipline<K>>(
        queue: &'q Arc<SharedWorkQueue<K, StdLock, L, D>>,
        clock: &'q Clock,
    ) -> WorkersBuilder<'q, K, L, D> {
        WorkersBuilder { queue, clock, on_panic: |_, _| {} }
    }

    /// Spawns `count` workers that call `reconcile` with one key after the other. A key is never with two of them.
    ///
    /// They end when the queue is shut down and what was ready is done.
    pub fn spawn<'a, L, D, R, F>(
        executor: &Executor<'a>,
        queue: &Arc<SharedWorkQueue<K, StdLock, L, D>>,
        clock: &Clock,
        count: usize,
        reconcile: R,
    ) -> Self
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        L: RateLimiter + 'a,
        D: Discipline<K> + 'a,
        SharedWorkQueue<K, StdLock, L, D>: Send + Sync,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        Self::builder(queue, clock).spawn(executor, count, reconcile)
    }

    /// Waits until the queue is shut down and every worker has ended.
    ///
    /// Where the queue is shut down with a drain, that is at its deadline at the latest, whatever the reconciles do. A
    /// reconcile that is being called, polled or dropped then has 100 ms more before it counts as
    /// [blocked](Unfinished::blocked). (One that blocks its thread can hold up all that this thread is to do, these workers' end
    /// among it: for that the executor needs another.)
    ///
    /// Where the executor is dropped first, its workers have ended with it, and the keys they had are among the
    /// [dropped](Unfinished::dropped).
    ///
    /// # Panics
    /// Where a key's `Clone` or `Drop` panicked under a worker, and not while the worker put the key back.
    pub async fn join(self) -> Unfinished<K> {
        let mut sleep = None;
        let unfinished = poll_fn(|cx| {
            loop {
                let now = self.clock.now();
                if let Poll::Ready(unfinished) = self.states.poll_join(cx, now) {
                    return Poll::Ready(unfinished);
                }
                let deadline = self.states.deadline().filter(|deadline| *deadline > now);
                ready!(self.clock.poll_at(&mut sleep, deadline, cx));
            }
        })
        .await;
        if unfinished.blocked.is_empty() {
            for task in self.tasks {
                // A task of an executor that was dropped has no output.
                _ = task.fallible().await;
            }
        }
        unfinished
    }
}

impl<K> fmt::Debug for Workers<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("workers", &self.tasks.len()).finish_non_exhaustive()
    }
}

/// Workers that are yet to be spawned; see [`Workers::builder`].
pub struct WorkersBuilder<'q, K, L = ExponentialBackoff, D: Discipline<K> = Fifo, P = fn(&K, &str)> {
    queue: &'q Arc<SharedWorkQueue<K, StdLock, L, D>>,
    clock: &'q Clock,
    on_panic: P,
}

impl<'q, K, L, D: Discipline<K>, P> WorkersBuilder<'q, K, L, D, P> {
    /// Tells of each reconcile that panics its key and the panic's message. So it does of a rate limiter, a group function
    /// or a key's own `Hash`, `Eq` or `Clone` that panics when the key is put back: the key is retried after a second, and
    /// if that panics too, not until it is added again.
    ///
    /// ```
    /// # use listwatch_runtime_smol::sync::{SharedWorkQueue, StdLock};
    /// # use listwatch_runtime_smol::{Clock, Executor, Outcome, WorkQueue, Workers, run};
    /// # use std::sync::Arc;
    /// # let (clock, executor) = (Clock::simulated(), Executor::new());
    /// # let queue = Arc::new(SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default()));
    /// let workers = Workers::builder(&queue, &clock)
    ///     .on_panic(|key: &u32, message: &str| eprintln!("{key}: {message}"))
    ///     .spawn(&executor, 2, |key: u32| async move {
    ///         assert_ne!(key, 7, "not this one");
    ///         Outcome::Done
    ///     });
    /// queue.add(7);
    /// queue.shut_down();
    /// run(&clock, &executor, workers.join());
    /// assert_eq!(queue.stats().panics, 1);
    /// ```
    pub fn on_panic<Q: Fn(&K, &str)>(self, on_panic: Q) -> WorkersBuilder<'q, K, L, D, Q> {
        WorkersBuilder { queue: self.queue, clock: self.clock, on_panic }
    }

    /// See [`Workers::spawn`].
    pub fn spawn<'a, R, F>(self, executor: &Executor<'a>, count: usize, reconcile: R) -> Workers<K>
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        L: RateLimiter + 'a,
        D: Discipline<K> + 'a,
        SharedWorkQueue<K, StdLock, L, D>: Send + Sync,
        P: Fn(&K, &str) + Send + Sync + 'a,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        let (count, clock) = (count.max(1), self.clock.clone());
        self.queue.set_clock(move || clock.now());
        let states = WorkerStates::new(count);
        let context = Context { queue: Arc::clone(self.queue), clock: self.clock.clone(), on_panic: self.on_panic };
        let context = Arc::new(context);
        let spawn = |number| {
            let (context, worker, reconcile) = (Arc::clone(&context), states.handle(number), reconcile.clone());
            executor.spawn(async move { worker.run(context.work(&worker, reconcile)).await })
        };
        let tasks = (0..count).map(spawn).collect();
        let followed = Arc::clone(&states);
        let delays = executor.spawn(async move { context.follow_delays(&followed).await });
        Workers { states, clock: self.clock.clone(), tasks, _delays: delays }
    }

    /// The same workers as one future, for any runtime to spawn: it completes as [`Workers::join`] does.
    ///
    /// The future names no executor and borrows neither queue nor clock, so that `tokio::spawn` takes it. The workers
    /// take turns on the thread that polls it. To reconcile on several threads, spawn several such futures on one queue.
    /// Dropping the future drops the reconciles under way.
    ///
    /// Take a [real](Clock::real) clock under another runtime than [`run`](crate::run()): nothing else advances simulated
    /// time.
    ///
    /// ```
    /// use listwatch_runtime_smol::sync::{SharedWorkQueue, StdLock};
    /// use listwatch_runtime_smol::{Clock, Outcome, WorkQueue, Workers};
    /// use std::sync::Arc;
    ///
    /// let queue = Arc::new(SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default()));
    /// let workers = Workers::builder(&queue, &Clock::real()).run(2, |key: u32| async move {
    ///     println!("reconciling {key}");
    ///     Outcome::Done
    /// });
    /// // Or `tokio::spawn(workers)`.
    /// let workers = std::thread::spawn(move || smol::block_on(workers));
    /// queue.add(7);
    /// queue.shut_down();
    /// assert!(workers.join().is_ok_and(|unfinished| unfinished.is_empty()));
    /// ```
    pub fn run<'a, R, F>(
        self,
        count: usize,
        reconcile: R,
    ) -> impl Future<Output = Unfinished<K>> + Send + use<'a, K, L, D, P, R, F>
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        L: RateLimiter + 'a,
        D: Discipline<K> + 'a,
        SharedWorkQueue<K, StdLock, L, D>: Send + Sync,
        P: Fn(&K, &str) + Send + Sync + 'a,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        let executor = Executor::new();
        let workers = self.spawn(&executor, count, reconcile);
        async move { executor.run(workers.join()).await }
    }
}

impl<K, L, D: Discipline<K>, P> fmt::Debug for WorkersBuilder<'_, K, L, D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkersBuilder").finish_non_exhaustive()
    }
}

/// What all workers have in common.
struct Context<K, L, D: Discipline<K>, P> {
    queue: Arc<SharedWorkQueue<K, StdLock, L, D>>,
    clock: Clock,
    on_panic: P,
}

/// If the rate limiter panics, the key is retried after this delay.
const AFTER_A_LIMITER_THAT_PANICS: Duration = Duration::from_secs(1);

impl<K, L, D, P> Context<K, L, D, P>
where
    K: Hash + Eq + Clone,
    L: RateLimiter,
    D: Discipline<K>,
    P: Fn(&K, &str),
{
    async fn work<F: Future<Output = Outcome>>(&self, worker: &WorkerHandle<K>, reconcile: impl Fn(K) -> F) {
        let (mut budget, mut next) = (Budget::new(), self.queue.get());
        while let Some(job) = next.await {
            let key = job.key();
            worker.take(key.clone());
            let end = match caught_call(|| reconcile(key.clone())) {
                Ok(future) => caught(future, || worker.is_over()).await,
                Err(panic) => Caught::Panicked(panic),
            };
            match end {
                Caught::Done(outcome) => self.settle(key, outcome),
                Caught::Stopped(panic) => {
                    panic.into_iter().for_each(|panic| self.report(key, &panic));
                    worker.give_up();
                }
                Caught::Panicked(panic) => {
                    self.report(key, &panic);
                    self.settle(key, Outcome::Retry);
                }
            }
            worker.put_down();
            let mut job = Some(job);
            next = poll_fn(|cx| {
                // The key is given back before others go on.
                if budget.poll_spend(cx).is_pending() {
                    job = None;
                    return Poll::Pending;
                }
                Poll::Ready(job.take().map_or_else(|| self.queue.get(), |job| job.done_and_get()))
            })
            .await;
        }
    }

    /// Puts the key where its outcome says.
    fn settle(&self, key: &K, outcome: Outcome) {
        let now = self.clock.now();
        let settled = caught_call(|| match outcome {
            Outcome::Done => self.queue.forget(key),
            Outcome::Retry => _ = self.queue.add_rate_limited(now, key.clone()),
            Outcome::RetryAfter(least) => _ = self.queue.add_rate_limited_after(now, key.clone(), least),
            Outcome::RequeueAfter(delay) => {
                self.queue.forget(key);
                self.queue.add_after(now, key.clone(), delay);
            }
        });
        if let Err(panic) = settled {
            self.report(key, &panic);
            let retried = caught_call(|| self.queue.add_after(now, key.clone(), AFTER_A_LIMITER_THAT_PANICS));
            // A key that panics itself each time cannot be added: its next change is its next chance.
            if let Err(panic) = retried {
                self.report(key, &panic);
            }
        }
    }

    fn report(&self, key: &K, panic: &str) {
        self.queue.note_panic();
        // The hook has told of a panic in here, and nobody else is left to tell.
        let _ = caught_call(|| (self.on_panic)(key, panic));
    }

    /// Moves keys whose delay is over to the ready ones, until the queue is drained or the time for that is over.
    async fn follow_delays(&self, states: &WorkerStates<K>) {
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

#[cfg(test)]
mod tests;
