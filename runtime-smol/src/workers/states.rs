//! Which key each worker has, and whether its thread is blocked.

use crate::clock::Clock;
use crate::mutex::Mutex;
use crate::waiting::Waiting;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Poll, Waker, ready};
use core::time::Duration;
use listwatch_core::Instant;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// The workers of one [`Workers`](crate::Workers): which keys they have, and whether their time is over.
#[derive(Debug)]
pub(crate) struct WorkerStates<K> {
    states: Mutex<States<K>>,
    /// Whether the drain has reached its deadline. Workers read it at each poll of a reconcile, without the lock.
    is_over: AtomicBool,
    /// The tasks that wait for the end.
    waiting: Arc<Waiting>,
}

#[derive(Debug)]
struct States<K> {
    workers: Vec<WorkerState<K>>,
    /// The deadline of the drain, once it is reached.
    over_at: Option<Instant>,
    /// The keys whose reconcile was dropped.
    dropped: Vec<K>,
    has_failed: bool,
    /// The task that [tells of blocked threads](WorkerStates::tell_blocked) sleeps until a worker is polled.
    is_unwatched: bool,
}

#[derive(Debug)]
struct WorkerState<K> {
    /// The number of the thread that it shares with others.
    thread: usize,
    key: Option<K>,
    /// A thread polls it now.
    is_polled: bool,
    polls: u64,
    has_left: bool,
    waker: Option<Waker>,
}

/// The keys whose reconcile did not finish. [`Workers::join`](crate::Workers::join) returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished<K> {
    /// The keys whose reconcile was dropped, with its requests: at the deadline of the drain, or with the executor.
    pub dropped: Vec<K>,
    /// The keys whose reconcile could not be dropped. It blocked its thread, and still did so 100 ms after the deadline;
    /// or it waits on a thread that another one blocks. It is dropped when the thread is free, which may be never.
    pub blocked: Vec<K>,
    /// The queue [has failed](crate::SharedWorkQueue::has_failed): the program's code panicked in it. The panic hook got
    /// the message.
    pub failed: bool,
}

impl<K> Unfinished<K> {
    /// Whether every reconcile that began has finished, and the queue has not failed.
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.blocked.is_empty() && !self.failed
    }
}

/// A poll that is found at two looks blocks its thread. So it is told before a second has passed.
const LOOK: Duration = Duration::from_millis(450);

/// If a thread polls a worker at the deadline, the poll has so much time to return.
const TO_RETURN: Duration = Duration::from_millis(100);

impl<K> WorkerStates<K> {
    /// A worker for each of `threads`. Workers whose thread has the same number share it.
    pub(crate) fn on(threads: impl IntoIterator<Item = usize>) -> Arc<Self> {
        let worker =
            |thread| WorkerState { thread, key: None, is_polled: false, polls: 0, has_left: false, waker: None };
        let workers = threads.into_iter().map(worker).collect();
        let (over_at, dropped, has_failed, is_unwatched) = (None, Vec::new(), false, false);
        let states = Mutex::new(States { workers, over_at, dropped, has_failed, is_unwatched });
        Arc::new(Self { states, is_over: AtomicBool::new(false), waiting: Arc::default() })
    }

    /// A worker's own. It has left when this is dropped.
    pub(crate) fn handle(self: &Arc<Self>, number: usize) -> WorkerHandle<K> {
        WorkerHandle { states: Arc::clone(self), number }
    }

    /// The drain has reached its deadline. Reconciles that run are dropped from now on.
    pub(crate) fn end(&self, now: Instant) {
        let mut states = self.states.lock();
        states.over_at = Some(now);
        self.is_over.store(true, Ordering::Release);
        let wakers: Vec<Waker> = states.workers.iter_mut().filter_map(|worker| worker.waker.take()).collect();
        drop(states);
        wakers.into_iter().for_each(Waker::wake);
        self.waiting.wake_by_ref();
    }

    /// Waits until a worker has left.
    pub(crate) async fn lost(&self) {
        self.waiting.until(|| self.states.lock().workers.iter().any(|worker| worker.has_left).then_some(())).await;
    }

    /// Tells the keys whose reconcile blocks its thread, each with the least time for which it has: while it does so, and
    /// again whenever that time has doubled. If no worker is polled, it sleeps.
    pub(crate) async fn tell_blocked(&self, clock: &Clock, mut tell: impl FnMut(&K, Duration))
    where
        K: Clone,
    {
        let mut seen = Vec::new();
        loop {
            clock.sleep(LOOK).await;
            let blocked = self.states.lock().look(&mut seen);
            blocked.iter().for_each(|(key, looks)| tell(key, LOOK * *looks));
            self.waiting.until(|| (!self.states.lock().is_unwatched).then_some(())).await;
        }
    }

    /// Waits until each worker has left, or blocks its thread although its time to return is over.
    pub(crate) async fn join(&self, clock: &Clock) -> Unfinished<K> {
        let (wait, mut sleep) = (self.waiting.join(), None);
        poll_fn(|cx| {
            loop {
                wait.set(cx.waker());
                let now = clock.now();
                if let Some(unfinished) = self.unfinished(now) {
                    return Poll::Ready(unfinished);
                }
                ready!(clock.poll_at(&mut sleep, self.deadline().filter(|deadline| *deadline > now), cx));
            }
        })
        .await
    }

    /// From when on no worker is waited for that still blocks its thread. `None` before the deadline of the drain.
    fn deadline(&self) -> Option<Instant> {
        self.states.lock().over_at.map(|at| at + TO_RETURN)
    }

    /// What is left, once each worker has left, or blocks its thread although its time to return is over.
    fn unfinished(&self, now: Instant) -> Option<Unfinished<K>> {
        let mut states = self.states.lock();
        let is_late = states.over_at.is_some_and(|at| now >= at + TO_RETURN);
        let blocked = if is_late { states.blocked_threads() } else { BTreeSet::new() };
        if !states.workers.iter().all(|worker| worker.has_left || blocked.contains(&worker.thread)) {
            return None;
        }
        let blocked = states.workers.iter_mut().filter_map(|worker| worker.key.take()).collect();
        Some(Unfinished { dropped: core::mem::take(&mut states.dropped), blocked, failed: states.has_failed })
    }
}

impl<K> States<K> {
    /// Compares the polls with those `seen` at the last look, each with the number of looks that have found it. Returns the
    /// keys of those to be told.
    fn look(&mut self, seen: &mut Vec<(u64, u32)>) -> Vec<(K, u32)>
    where
        K: Clone,
    {
        seen.resize(self.workers.len(), (0, 0));
        self.is_unwatched = !self.workers.iter().any(|worker| worker.is_polled);
        let found = self.workers.iter().zip(seen).filter_map(|(worker, (poll, looks))| {
            let is_same = worker.is_polled && *poll == worker.polls;
            (*poll, *looks) = (worker.polls, if is_same { *looks + 1 } else { 0 });
            looks.is_power_of_two().then_some((worker.key.clone()?, *looks))
        });
        found.collect()
    }

    /// The threads on which a reconcile is being polled. None of their workers can leave.
    fn blocked_threads(&self) -> BTreeSet<usize> {
        let blocks = |worker: &&WorkerState<K>| worker.is_polled && worker.key.is_some();
        self.workers.iter().filter(blocks).map(|worker| worker.thread).collect()
    }
}

/// One worker's access to its state.
#[derive(Debug)]
pub(crate) struct WorkerHandle<K> {
    states: Arc<WorkerStates<K>>,
    number: usize,
}

impl<K> WorkerHandle<K> {
    /// Polls the worker's future, and notes while a thread does so.
    pub(crate) async fn run(&self, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        poll_fn(|cx| {
            self.begin_poll(cx.waker());
            let done = work.as_mut().poll(cx);
            self.with(|states, number| states.workers[number].is_polled = false);
            done
        })
        .await;
    }

    /// Whether the drain has reached its deadline.
    pub(crate) fn is_over(&self) -> bool {
        self.states.is_over.load(Ordering::Acquire)
    }

    /// The worker takes this key. Returns the one that it had.
    pub(crate) fn take(&self, key: K) -> Option<K> {
        self.with(|states, number| states.workers[number].key.replace(key))
    }

    /// The worker is done with its key. If it does not wait before it takes the next one, it need not call this.
    pub(crate) fn put_down(&self) -> Option<K> {
        self.with(|states, number| states.workers[number].key.take())
    }

    /// The queue has failed.
    pub(crate) fn fail(&self) {
        self.with(|states, _| states.has_failed = true);
    }

    /// The worker's reconcile was dropped.
    pub(crate) fn give_up(&self) {
        self.with(|states, number| {
            let key = states.workers[number].key.take();
            states.dropped.extend(key);
        });
    }

    /// Notes that a thread polls the worker. It may block its thread from now on: the task that tells so is woken if it
    /// sleeps, and after the deadline the one that [joins](WorkerStates::join).
    fn begin_poll(&self, waker: &Waker) {
        let waker = waker.clone();
        let (_last, was_unwatched) = self.with(|states, number| {
            let worker = &mut states.workers[number];
            worker.is_polled = true;
            worker.polls += 1;
            (worker.waker.replace(waker), core::mem::take(&mut states.is_unwatched))
        });
        if was_unwatched || self.is_over() {
            self.states.waiting.wake_by_ref();
        }
    }

    fn with<R>(&self, change: impl FnOnce(&mut States<K>, usize) -> R) -> R {
        change(&mut self.states.states.lock(), self.number)
    }
}

impl<K> Drop for WorkerHandle<K> {
    fn drop(&mut self) {
        self.give_up();
        let _waker = self.with(|states, number| {
            let worker = &mut states.workers[number];
            worker.has_left = true;
            worker.waker.take()
        });
        self.states.waiting.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::task::Context;
    use listwatch_tests::wait::{in_time, waker_with_drop};
    use smol::future::block_on;

    #[test]
    fn a_poll_that_goes_on_is_told_while_it_does_and_each_time_that_it_has_doubled() {
        let states = WorkerStates::on([0, 1]);
        let [blocks, waits] = [0, 1].map(|number| states.handle(number));
        waits.take(8);
        let (mut told, mut seen) = (Vec::new(), Vec::new());
        block_on(blocks.run(async {
            blocks.take(7);
            for look in 1..=9 {
                let blocked = states.states.lock().look(&mut seen);
                told.extend(blocked.into_iter().map(|(key, times)| (look, key, times)));
            }
        }));
        assert_eq!(told, [(2, 7, 1), (3, 7, 2), (5, 7, 4), (9, 7, 8)]);
    }

    #[test]
    fn a_worker_that_gives_its_thread_back_soon_after_the_deadline_does_not_count_as_blocked() {
        let states = WorkerStates::on([0]);
        let worker = states.handle(0);
        let end = Instant::ZERO + Duration::from_secs(1);
        block_on(worker.run(async {
            worker.take(7);
            states.end(end);
            assert_eq!(states.unfinished(end), None);
            worker.give_up();
        }));
        drop(worker);
        let unfinished = Unfinished { dropped: [7].to_vec(), blocked: Vec::new(), failed: false };
        assert_eq!(states.unfinished(end), Some(unfinished));
    }

    #[test]
    fn a_waker_that_asks_for_the_states_where_it_is_dropped_does_not_wait_for_ever() {
        in_time(|| {
            let states = WorkerStates::<u32>::on([0]);
            let asks = || {
                let states = Arc::clone(&states);
                waker_with_drop(move || _ = states.deadline())
            };
            let clock = Clock::simulated();
            let (mut lost, mut join, worker) =
                (Box::pin(states.lost()), Box::pin(states.join(&clock)), states.handle(0));
            for _ in 0..2 {
                assert!(lost.as_mut().poll(&mut Context::from_waker(&asks())).is_pending());
                assert!(join.as_mut().poll(&mut Context::from_waker(&asks())).is_pending());
                worker.begin_poll(&asks());
            }
            drop(worker);
            assert!(lost.as_mut().poll(&mut Context::from_waker(&asks())).is_ready());
        });
    }

    #[test]
    fn a_worker_without_a_key_is_waited_for_because_it_may_have_taken_one() {
        let states = WorkerStates::on([0]);
        let worker = states.handle(0);
        states.end(Instant::ZERO);
        let late = Instant::ZERO + TO_RETURN;
        block_on(worker.run(async {
            assert_eq!(states.unfinished(late), None);
            worker.take(7);
            let unfinished = Unfinished { dropped: Vec::new(), blocked: [7].to_vec(), failed: false };
            assert_eq!(states.unfinished(late), Some(unfinished));
        }));
    }

    #[test]
    fn a_worker_on_a_blocked_thread_is_not_waited_for() {
        let states = WorkerStates::on([0, 0, 1]);
        let [blocks, idle, other] = [0, 1, 2].map(|number| states.handle(number));
        let late = Instant::ZERO + TO_RETURN;
        states.end(Instant::ZERO);
        block_on(blocks.run(async {
            blocks.take(7);
            idle.take(8);
            assert_eq!(states.unfinished(late), None, "the other thread's worker can leave");
            other.take(9);
            drop(other);
            assert_eq!(states.unfinished(Instant::ZERO), None);
            let unfinished = Unfinished { dropped: [9].to_vec(), blocked: [7, 8].to_vec(), failed: false };
            assert_eq!(states.unfinished(late), Some(unfinished));
        }));
    }
}
