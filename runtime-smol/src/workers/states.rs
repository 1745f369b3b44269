use crate::clock::Clock;
use core::future::poll_fn;
use core::pin::pin;
use core::task::{Context, Poll, Waker, ready};
use core::time::Duration;
use listwatch_core::Instant;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The workers of one [`Workers`](crate::Workers): which keys they have, and whether their time is over.
#[derive(Debug)]
pub(crate) struct WorkerStates<K> {
    states: Mutex<States<K>>,
    /// Whether the states tell since when the time to drain is over. Workers ask at each poll of a reconcile.
    is_over: AtomicBool,
}

#[derive(Debug)]
struct States<K> {
    workers: Vec<WorkerState<K>>,
    /// Since when the time to drain is over.
    over_at: Option<Instant>,
    dropped: Vec<K>,
    /// The task that waits for the end.
    waiting: Option<Waker>,
}

#[derive(Debug)]
struct WorkerState<K> {
    /// The number of the thread that it shares with others.
    thread: usize,
    key: Option<K>,
    /// It has a thread now.
    is_polled: bool,
    has_left: bool,
    waker: Option<Waker>,
}

/// The keys whose reconcile did not finish before its worker ended. [`Workers::join`](crate::Workers::join) returns
/// them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished<K> {
    /// The keys whose reconcile was not done when the time to drain was over, or when the executor was dropped. It was
    /// dropped, with its requests.
    pub dropped: Vec<K>,
    /// Keys whose reconcile was being called, polled or dropped at the deadline, and still was 100 ms later, and keys
    /// whose reconcile waits on such a thread. They are dropped when the poll returns; one that blocks may never return.
    pub blocked: Vec<K>,
}

impl<K> Unfinished<K> {
    /// Whether every reconcile that began has finished.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.blocked.is_empty()
    }
}

/// A worker that is polled at the deadline has so long to give its thread back.
const TO_RETURN: Duration = Duration::from_millis(100);

impl<K> WorkerStates<K> {
    /// A worker for each of `threads`. Workers whose thread has the same number share it.
    pub(crate) fn on(threads: impl IntoIterator<Item = usize>) -> Arc<Self> {
        let worker = |thread| WorkerState { thread, key: None, is_polled: false, has_left: false, waker: None };
        let workers = threads.into_iter().map(worker).collect();
        let states = Mutex::new(States { workers, over_at: None, dropped: Vec::new(), waiting: None });
        Arc::new(Self { states, is_over: AtomicBool::new(false) })
    }

    /// A worker's own. It has left when this is dropped.
    pub(crate) fn handle(self: &Arc<Self>, number: usize) -> WorkerHandle<K> {
        WorkerHandle { states: Arc::clone(self), number }
    }

    /// The time to drain is over: running reconciles are to be dropped.
    pub(crate) fn end(&self, now: Instant) {
        let mut states = self.lock();
        states.over_at = Some(now);
        self.is_over.store(true, Ordering::Release);
        let mut wakers: Vec<Waker> = states.workers.iter_mut().filter_map(|worker| worker.waker.take()).collect();
        wakers.extend(states.waiting.take());
        drop(states);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until one has left.
    pub(crate) async fn lost(&self) {
        poll_fn(|cx| {
            let waker = cx.waker().clone();
            let (has_lost, _last) = {
                let mut states = self.lock();
                let last = states.waiting.replace(waker);
                (states.workers.iter().any(|worker| worker.has_left), last)
            };
            if has_lost { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Waits until all have left, or those that have not cannot be stopped and had their time to return.
    pub(crate) async fn join(&self, clock: &Clock) -> Unfinished<K> {
        let mut sleep = None;
        poll_fn(|cx| {
            loop {
                let now = clock.now();
                if let Poll::Ready(unfinished) = self.poll_join(cx, now) {
                    return Poll::Ready(unfinished);
                }
                let deadline = self.deadline().filter(|deadline| *deadline > now);
                ready!(clock.poll_at(&mut sleep, deadline, cx));
            }
        })
        .await
    }

    /// When those that still have a thread are not waited for any more, once the time to drain is over.
    fn deadline(&self) -> Option<Instant> {
        self.lock().over_at.map(|at| at + TO_RETURN)
    }

    /// Ready when all have left, or those that have not cannot be stopped and had their time to return.
    fn poll_join(&self, cx: &Context<'_>, now: Instant) -> Poll<Unfinished<K>> {
        let waker = cx.waker().clone();
        let mut states = self.lock();
        let is_late = states.over_at.is_some_and(|at| now >= at + TO_RETURN);
        let blocked = if is_late { states.blocked_threads() } else { BTreeSet::new() };
        if !states.workers.iter().all(|worker| worker.has_left || blocked.contains(&worker.thread)) {
            let last = states.waiting.replace(waker);
            drop(states);
            drop(last);
            return Poll::Pending;
        }
        let blocked = states.workers.iter_mut().filter_map(|worker| worker.key.take()).collect();
        Poll::Ready(Unfinished { dropped: core::mem::take(&mut states.dropped), blocked })
    }

    fn lock(&self) -> MutexGuard<'_, States<K>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> States<K> {
    /// The threads that a reconcile has. None of their workers can leave.
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
    /// Runs all that the worker does, and notes when it has a thread.
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

    /// Whether the time to drain is over.
    pub(crate) fn is_over(&self) -> bool {
        self.states.is_over.load(Ordering::Acquire)
    }

    /// The worker has this key from now on, and no longer the one that comes out.
    pub(crate) fn take(&self, key: K) -> Option<K> {
        self.with(|states, number| states.workers[number].key.replace(key))
    }

    /// The worker is done with its key, if it did not [give up](Self::give_up). It may keep the key in its state until
    /// it takes the next one, if it does not wait in between.
    pub(crate) fn put_down(&self) -> Option<K> {
        self.with(|states, number| states.workers[number].key.take())
    }

    /// The worker's reconcile was dropped.
    pub(crate) fn give_up(&self) {
        self.with(|states, number| {
            let key = states.workers[number].key.take();
            states.dropped.extend(key);
        });
    }

    /// After the end, the task that waits for it looks again: the worker may keep its thread.
    fn begin_poll(&self, waker: &Waker) {
        let waker = waker.clone();
        let (_last, waiting) = self.with(|states, number| {
            let worker = &mut states.workers[number];
            worker.is_polled = true;
            let last = worker.waker.replace(waker);
            (last, states.over_at.and_then(|_| states.waiting.take()))
        });
        waiting.into_iter().for_each(Waker::wake);
    }

    fn with<R>(&self, change: impl FnOnce(&mut States<K>, usize) -> R) -> R {
        change(&mut self.states.lock(), self.number)
    }
}

impl<K> Drop for WorkerHandle<K> {
    fn drop(&mut self) {
        self.give_up();
        let (waiting, _waker) = self.with(|states, number| {
            let worker = &mut states.workers[number];
            worker.has_left = true;
            (states.waiting.take(), worker.waker.take())
        });
        waiting.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_tests::wait::{in_time, waker_with_drop};
    use smol::future::block_on;

    #[test]
    fn a_worker_that_gives_its_thread_back_soon_after_the_deadline_does_not_count_as_blocked() {
        let states = WorkerStates::on([0]);
        let (worker, cx) = (states.handle(0), Context::from_waker(Waker::noop()));
        let end = Instant::ZERO + Duration::from_secs(1);
        block_on(worker.run(async {
            worker.take(7);
            states.end(end);
            assert!(states.poll_join(&cx, end).is_pending());
            worker.give_up();
        }));
        drop(worker);
        let unfinished = states.poll_join(&cx, end);
        assert_eq!(unfinished, Poll::Ready(Unfinished { dropped: [7].to_vec(), blocked: Vec::new() }));
    }

    #[test]
    fn a_waker_that_asks_for_the_states_where_it_is_dropped_does_not_wait_for_ever() {
        in_time(|| {
            let states = WorkerStates::<u32>::on([0]);
            let asks = || {
                let states = Arc::clone(&states);
                waker_with_drop(move || _ = states.deadline())
            };
            let (mut lost, worker) = (Box::pin(states.lost()), states.handle(0));
            for _ in 0..2 {
                assert!(lost.as_mut().poll(&mut Context::from_waker(&asks())).is_pending());
                assert!(states.poll_join(&Context::from_waker(&asks()), Instant::ZERO).is_pending());
                worker.begin_poll(&asks());
            }
            drop(worker);
            assert!(lost.as_mut().poll(&mut Context::from_waker(&asks())).is_ready());
        });
    }

    #[test]
    fn a_worker_without_a_key_is_waited_for_because_it_may_have_taken_one() {
        let states = WorkerStates::on([0]);
        let (worker, cx) = (states.handle(0), Context::from_waker(Waker::noop()));
        states.end(Instant::ZERO);
        let late = Instant::ZERO + TO_RETURN;
        block_on(worker.run(async {
            assert!(states.poll_join(&cx, late).is_pending());
            worker.take(7);
            assert_eq!(
                states.poll_join(&cx, late),
                Poll::Ready(Unfinished { dropped: Vec::new(), blocked: [7].to_vec() })
            );
        }));
    }

    #[test]
    fn a_worker_whose_neighbour_blocked_their_thread_was_waited_for_although_it_could_not_leave() {
        let states = WorkerStates::on([0, 0, 1]);
        let [blocks, idle, other] = [0, 1, 2].map(|number| states.handle(number));
        let (cx, late) = (Context::from_waker(Waker::noop()), Instant::ZERO + TO_RETURN);
        states.end(Instant::ZERO);
        block_on(blocks.run(async {
            blocks.take(7);
            idle.take(8);
            assert!(states.poll_join(&cx, late).is_pending(), "the other thread's worker can leave");
            other.take(9);
            drop(other);
            assert!(states.poll_join(&cx, Instant::ZERO).is_pending());
            let unfinished = states.poll_join(&cx, late);
            assert_eq!(unfinished, Poll::Ready(Unfinished { dropped: [9].to_vec(), blocked: [7, 8].to_vec() }));
        }));
    }
}
