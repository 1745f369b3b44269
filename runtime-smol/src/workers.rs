//! Worker tasks over a shared work queue.

mod states;
mod work;

pub use states::Unfinished;
pub(crate) use states::{WorkerHandle, WorkerStates};
pub(crate) use work::follow;

use crate::Clock;
use async_executor::{Executor, Task};
use core::hash::Hash;
use listwatch_core::queue::{Discipline, Outcome, RateLimiter};
use listwatch_core::sync::{Lock, SharedWorkQueue};
use smol::lock::Mutex;
use std::sync::Arc;
use work::Context;

/// Worker tasks of a work queue, and the task that follows its delays. They run over any discipline, rate limiter and
/// lock.
///
/// [`Workers::spawn`] starts them on an [`Executor`]. [`Workers::run`] returns them as one plain future, which any
/// executor runs: `tokio::spawn` takes it, and so does a bare `block_on`.
///
/// The queue decides the effect of an [`Outcome`] on its key: see [`Outcome`] and
/// [`finish`](listwatch_core::queue::WorkQueueIn::finish).
///
/// If a reconcile panics, the worker catches the panic and goes on. The queue counts it
/// ([`QueueStats::panics`](crate::queue::QueueStats::panics)) and retries the key by its rate limiter. The panic hook
/// is called as for any panic; [`spawn_with`](Self::spawn_with) tells the key, too. Under `panic = "abort"` a
/// panic ends the process.
///
/// The rate limiter is the queue's. The default is exponential, from 5 ms to 1000 s for a key, without client-go's
/// bucket for all keys. A queue with both is a
/// [`SharedWorkQueue<K, DefaultControllerRateLimiter>`](crate::SharedWorkQueue).
///
/// If the queue has [metrics](listwatch_core::queue::WorkQueueIn::with_metrics), their times are those of the workers'
/// clock.
///
/// At the deadline of a [drain](SharedWorkQueue::shut_down_with_drain) the reconciles that are not done are dropped.
///
/// If the workers are dropped, they end when their executor runs next, or when it is dropped.
///
/// Several sets of workers can share a queue, for example one on each thread. Of each set, one idle worker waits for a
/// key, and a ready key wakes all of these. So a set whose thread computes, or whose executor no longer runs, holds up no
/// key that another set can take. A program's own [`get`](SharedWorkQueue::get) of such a queue is woken for each key.
///
/// ```
/// use listwatch::{Clock, Executor, Outcome, SharedWorkQueue, Workers, run};
/// use std::sync::Arc;
///
/// let (clock, executor) = (Clock::simulated(), Executor::new());
/// let queue = Arc::new(SharedWorkQueue::<u32>::default());
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
    /// Spawns `count` workers that call `reconcile` with one key after the other. A key is never with two of them.
    ///
    /// They end when the queue is shut down and its ready keys are done.
    pub fn spawn<'a, Lk, L, D, R, F>(
        executor: &Executor<'a>,
        queue: &Arc<SharedWorkQueue<K, Lk, L, D>>,
        clock: &Clock,
        count: usize,
        reconcile: R,
    ) -> Self
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        Lk: Lock + 'a,
        L: RateLimiter + 'a,
        D: Discipline<K> + 'a,
        SharedWorkQueue<K, Lk, L, D>: Send + Sync,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        Self::spawn_with(executor, queue, clock, count, reconcile, |_, _| {})
    }

    /// The same, and calls `on_panic` with the key and the message of each reconcile that panics.
    ///
    /// ```
    /// # use listwatch::SharedWorkQueue;
    /// # use listwatch::{Clock, Executor, Outcome, Workers, run};
    /// # use std::sync::Arc;
    /// # let (clock, executor) = (Clock::simulated(), Executor::new());
    /// # let queue = Arc::new(SharedWorkQueue::<u32>::default());
    /// let reconcile = |key: u32| async move {
    ///     assert_ne!(key, 7, "not this one");
    ///     Outcome::Done
    /// };
    /// let on_panic = |key: &u32, message: &str| eprintln!("{key}: {message}");
    /// let workers = Workers::spawn_with(&executor, &queue, &clock, 2, reconcile, on_panic);
    /// queue.add(7);
    /// queue.shut_down();
    /// run(&clock, &executor, workers.join());
    /// assert_eq!(queue.stats().panics, 1);
    /// ```
    pub fn spawn_with<'a, Lk, L, D, R, F>(
        executor: &Executor<'a>,
        queue: &Arc<SharedWorkQueue<K, Lk, L, D>>,
        clock: &Clock,
        count: usize,
        reconcile: R,
        on_panic: impl Fn(&K, &str) + Send + Sync + 'a,
    ) -> Self
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        Lk: Lock + 'a,
        L: RateLimiter + 'a,
        D: Discipline<K> + 'a,
        SharedWorkQueue<K, Lk, L, D>: Send + Sync,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        let (count, now) = (count.max(1), clock.clone());
        queue.set_clock(move || now.now());
        let states = WorkerStates::on(0..count);
        let (queue, turn) = (Arc::clone(queue), Mutex::new(()));
        let context = Arc::new(Context { queue, clock: clock.clone(), on_panic, turn });
        let spawn = |number| {
            let (context, worker, reconcile) = (Arc::clone(&context), states.handle(number), reconcile.clone());
            executor.spawn(async move { worker.run(context.work(&worker, reconcile)).await })
        };
        let tasks = (0..count).map(spawn).collect();
        let followed = Arc::clone(&states);
        let delays = executor.spawn(async move { context.follow_delays(&followed).await });
        Self { states, clock: clock.clone(), tasks, _delays: delays }
    }

    /// `count` workers as one future, for an executor of any make. The future completes as [`join`](Self::join) does,
    /// and dropping the future ends its workers.
    ///
    /// The workers start when the future is polled first, and one thread at a time runs all of them. To use several
    /// threads, run such a future on each of them, over one queue.
    ///
    /// ```
    /// use listwatch::{Clock, Outcome, SharedWorkQueue, Workers};
    /// use std::sync::Arc;
    ///
    /// let queue = Arc::new(SharedWorkQueue::<u32>::default());
    /// let workers = Workers::run(&queue, &Clock::real(), 2, |key: u32| async move {
    ///     println!("reconciling {key}");
    ///     Outcome::Done
    /// });
    /// queue.add(7);
    /// queue.shut_down();
    ///
    /// let tokio = tokio::runtime::Runtime::new()?;
    /// let unfinished = tokio.block_on(tokio.spawn(workers))?;
    /// assert!(queue.is_drained() && unfinished.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run<'a, Lk, L, D, R, F>(
        queue: &Arc<SharedWorkQueue<K, Lk, L, D>>,
        clock: &Clock,
        count: usize,
        reconcile: R,
    ) -> impl Future<Output = Unfinished<K>> + Send + use<'a, K, Lk, L, D, R, F>
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        Lk: Lock + 'a,
        L: RateLimiter + 'a,
        D: Discipline<K> + 'a,
        SharedWorkQueue<K, Lk, L, D>: Send + Sync,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        let executor = Executor::new();
        let workers = Self::spawn(&executor, queue, clock, count, reconcile);
        async move { executor.run(workers.join()).await }
    }

    /// Waits until the queue is shut down and every worker has ended.
    ///
    /// If the queue is shut down with a drain, this ends at its deadline at the latest, even if a reconcile goes on. A
    /// reconcile that is being called, polled or dropped then has 100 ms more before it counts as
    /// [blocked](Unfinished::blocked). (A reconcile that blocks its thread can hold up all work of that thread, the end
    /// of these workers included. For that case the executor needs a second thread.)
    ///
    /// Where the executor is dropped first, its workers have ended with it, and the keys they had are among the
    /// [dropped](Unfinished::dropped).
    ///
    /// If the program's code panics in the queue itself, as a key's `Hash` or the rate limiter may, the queue
    /// [has failed](Unfinished::failed), and its workers end.
    ///
    /// # Panics
    /// Where a key's `Clone` or `Drop` panicked in a worker.
    pub async fn join(self) -> Unfinished<K> {
        let unfinished = self.states.join(&self.clock).await;
        if unfinished.blocked.is_empty() {
            for task in self.tasks {
                // A task of an executor that was dropped has no output.
                _ = task.fallible().await;
            }
        }
        unfinished
    }
}

listwatch_core::summary!(impl[K] "Workers" for Workers<K>, |it| { workers: it.tasks.len() });

#[cfg(test)]
mod tests;
