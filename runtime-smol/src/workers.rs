use crate::Clock;
use async_executor::{Executor, Task};
use core::hash::Hash;
use core::task::Poll;
use core::time::Duration;
use listwatch_core::{Due, RateLimiter, SharedWorkQueue, StdLock};
use std::sync::Arc;

/// What a worker says of a key it has worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// All is as it should be. Earlier failures are forgotten.
    Done,
    /// It failed: again, after a delay that the queue's rate limiter gives.
    Retry,
    /// Again after this time, and no failure.
    RequeueAfter(Duration),
}

/// Tasks that take keys out of a work queue, and one that follows its delays.
///
/// ```
/// use listwatch_runtime_smol::{Clock, Executor, Outcome, SharedWorkQueue, StdLock, WorkQueue, Workers, run};
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
/// run(&clock, &executor, workers.ended());
/// assert!(queue.is_drained());
/// ```
#[derive(Debug)]
#[must_use = "dropping the workers ends them"]
pub struct Workers {
    tasks: Vec<Task<()>>,
}

impl Workers {
    /// Spawns `count` workers that call `reconcile` with one key after the other. A key is never with two of them.
    ///
    /// They end when the queue is shut down and what was ready is done.
    pub fn spawn<'a, K, L, R, F>(
        executor: &Executor<'a>,
        queue: &Arc<SharedWorkQueue<K, StdLock, L>>,
        clock: &Clock,
        count: usize,
        reconcile: R,
    ) -> Self
    where
        K: Hash + Eq + Clone + Send + Sync + 'a,
        L: RateLimiter + Send + Sync + 'a,
        R: Fn(K) -> F + Clone + Send + 'a,
        F: Future<Output = Outcome> + Send + 'a,
    {
        let delays = executor.spawn(follow_delays(Arc::clone(queue), clock.clone()));
        let workers =
            (0..count.max(1)).map(|_| executor.spawn(work(Arc::clone(queue), clock.clone(), reconcile.clone())));
        Self { tasks: workers.chain([delays]).collect() }
    }

    /// Waits until the queue is shut down and every worker has ended.
    pub async fn ended(self) {
        for task in self.tasks {
            task.await;
        }
    }
}

async fn work<K, L, R, F>(queue: Arc<SharedWorkQueue<K, StdLock, L>>, clock: Clock, reconcile: R)
where
    K: Hash + Eq + Clone,
    L: RateLimiter,
    R: Fn(K) -> F,
    F: Future<Output = Outcome>,
{
    let mut next = queue.get();
    while let Some(job) = next.await {
        let key = job.key().clone();
        match reconcile(key.clone()).await {
            Outcome::Done => queue.forget(&key),
            Outcome::Retry => {
                queue.add_rate_limited(clock.now(), key);
            }
            Outcome::RequeueAfter(delay) => {
                queue.forget(&key);
                queue.add_after(clock.now(), key, delay);
            }
        }
        next = job.done_and_get();
    }
}

/// Moves keys whose delay is over to the ready ones, for as long as the queue is open.
async fn follow_delays<K, L>(queue: Arc<SharedWorkQueue<K, StdLock, L>>, clock: Clock)
where
    K: Hash + Eq + Clone,
    L: RateLimiter,
{
    let (mut delays, mut sleep) = (queue.delays(), None);
    core::future::poll_fn(|cx| {
        loop {
            match delays.poll_due(cx, clock.now()) {
                Due::Closed => return Poll::Ready(()),
                Due::Idle => return Poll::Pending,
                Due::At(at) => {
                    let sleep = sleep.insert(clock.sleep_until(at));
                    if core::pin::Pin::new(sleep).poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    })
    .await;
}
