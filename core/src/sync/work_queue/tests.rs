use super::*;
use crate::queue::{ExponentialBackoff, Finished, Outcome, WhileDelayed};
use crate::storage::Slot;
use crate::sync::wakers::tests::{Wakes, counting};
use crate::sync::{Due, JobGuard, StdLock};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::hash::{Hash, Hasher};
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use core::task::{Context, Poll, Waker};
use std::task::Wake;

type Queue = SharedWorkQueue<u32, StdLock>;

/// A worker that waits for its next key, and is polled by hand.
struct Worker<'a> {
    get: Get<'a, u32, StdLock>,
    waker: Waker,
    wakes: Arc<Wakes>,
    /// How often it had been woken when it was last polled, if it sleeps.
    slept_at: Option<usize>,
}

impl<'a> Worker<'a> {
    fn new(get: Get<'a, u32, StdLock>) -> Self {
        let (wakes, waker) = counting();
        Self { get, waker, wakes, slept_at: None }
    }

    /// One that was polled in vain.
    fn asleep(queue: &'a Queue) -> Self {
        let mut worker = Self::new(queue.get());
        assert!(worker.poll().is_pending());
        worker
    }

    fn poll(&mut self) -> Poll<Option<JobGuard<'a, u32, StdLock>>> {
        let wakes = self.wakes.count();
        let answer = Pin::new(&mut self.get).poll(&mut Context::from_waker(&self.waker));
        self.slept_at = answer.is_pending().then_some(wakes);
        answer
    }

    fn take(&mut self) -> JobGuard<'a, u32, StdLock> {
        let Poll::Ready(Some(job)) = self.poll() else { panic!("nothing is ready") };
        job
    }

    fn is_asleep(&self) -> bool {
        self.slept_at == Some(self.wakes.count())
    }

    fn is_woken(&self) -> bool {
        self.slept_at.is_some() && !self.is_asleep()
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[test]
fn a_burst_wakes_a_worker_for_each_key() {
    let queue = Queue::default();
    let mut workers = [(); 3].map(|()| Worker::asleep(&queue));
    (1..=2).for_each(|key| _ = queue.add(key));
    queue.add(1);
    assert_eq!(workers.each_ref().map(Worker::is_woken), [true, true, false]);
    let (one, two) = (workers[0].take(), workers[1].take());
    assert_eq!(*two.key(), 2);
    assert!(workers[2].is_asleep());
    drop(one);
}

/// The ways in which keys come.
const WAYS: [fn(&Queue, u32); 3] = [
    |queue, key| _ = queue.add(key),
    |queue, key| queue.post(key),
    |queue, key| {
        let due = 10 * u64::from(key);
        queue.add_after(at(due - 1), key, Duration::from_millis(1));
        _ = queue.delays().poll_due(&mut Context::from_waker(Waker::noop()), at(due));
    },
];

/// The thread of the first worker computes: it was woken, and does not come.
#[test]
fn one_key_at_most_waits_for_a_worker_that_was_woken_and_does_not_come() {
    for come in WAYS {
        let queue = Queue::default();
        let (stalled, mut idle) = (Worker::asleep(&queue), Worker::asleep(&queue));
        come(&queue, 1);
        assert!(stalled.is_woken() && idle.is_asleep());
        come(&queue, 2);
        for key in 1..10 {
            assert!(key == 2 || idle.is_woken(), "{key}");
            assert_eq!(*idle.take().key(), key);
            idle = Worker::new(queue.get());
            if key > 1 {
                assert!(idle.poll().is_pending());
                come(&queue, key + 1);
            }
        }
    }
}

#[test]
fn no_key_waits_for_a_worker_that_does_not_come_where_all_workers_are_woken() {
    for come in WAYS {
        let queue = Queue::default();
        queue.wake_all_workers();
        let (stalled, mut idle) = (Worker::asleep(&queue), Worker::asleep(&queue));
        for key in 1..10 {
            come(&queue, key);
            assert!(stalled.is_woken() && idle.is_woken());
            assert_eq!(*idle.take().key(), key);
            idle = Worker::asleep(&queue);
        }
    }
}

#[test]
fn what_is_due_at_once_wakes_a_worker_for_each_key() {
    let queue = Queue::default();
    let workers = [(); 4].map(|()| Worker::asleep(&queue));
    (1..=3).for_each(|key| _ = queue.add_after(at(0), key, Duration::from_millis(20)));
    assert_eq!(queue.delays().poll_due(&mut Context::from_waker(Waker::noop()), at(20)), Due::Idle);
    assert_eq!(workers.each_ref().map(Worker::is_woken), [true, true, true, false]);
}

#[test]
fn a_worker_that_looks_is_not_woken_and_gives_its_key_back() {
    let queue = Queue::default();
    queue.add(1);
    let mut next = Worker::new(queue.get()).take().finish_and_get(at(0), Outcome::Retry);
    assert!(next.poll_now().is_pending());
    assert_eq!(next.finished(), Some(Finished::RetryAt(at(5))));
    let (mut woken, sleeper) = (Worker::asleep(&queue), Worker::asleep(&queue));
    queue.add(2);
    assert!(woken.is_woken() && sleeper.is_asleep());
    assert!(matches!(next.poll_now(), Poll::Ready(Some(job)) if *job.key() == 2));
    assert!(woken.get.poll_now().is_pending());
    queue.add(3);
    assert!(sleeper.is_woken(), "the one that looked sleeps no longer");
}

#[test]
fn posted_keys_wake_a_worker_for_each_key() {
    let queue = Queue::default();
    let mut workers = [(); 3].map(|()| Worker::asleep(&queue));
    [7, 8, 7].into_iter().for_each(|key| queue.post(key));
    assert_eq!(workers.each_ref().map(Worker::is_woken), [true, true, false]);
    let one = workers[0].take();
    let two = workers[1].take();
    assert_eq!([&one, &two].map(|job| *job.key()), [7, 8]);
    queue.post(7);
    assert!(workers[2].is_asleep());
    one.done();
    assert!(workers[2].is_woken(), "7 was posted again while a worker had it");
}

/// What is asked of the queue finds all keys, so they are as if they had been added.
#[test]
fn posted_keys_are_as_added_ones_for_everyone_who_asks() {
    let (posted, added) = (Queue::default(), Queue::default());
    let running = [&posted, &added].map(|queue| {
        queue.add(3);
        queue.add(200);
        [Worker::new(queue.get()).take(), Worker::new(queue.get()).take()]
    });
    for (n, key) in (0..1000).map(|n| n * 7919 % 300).enumerate() {
        posted.post(key);
        added.add(key);
        if n % 97 == 0 {
            assert_eq!((posted.stats(), posted.len()), (added.stats(), added.len()));
            assert_eq!(posted.add(key), Added::Merged);
            added.add(key);
        }
    }
    running.into_iter().flatten().for_each(JobGuard::done);
    assert_eq!(posted.stats(), added.stats());
    let rest = [&posted, &added].map(|queue| {
        let next = |_| *Worker::new(queue.get()).take().key();
        (0..queue.len()).map(next).collect::<Vec<_>>()
    });
    assert_eq!(rest[0], rest[1]);
}

/// Workers alone take the keys in, some at a time.
#[test]
fn posted_keys_come_out_in_their_order_each_of_them_once() {
    let queue = Queue::default();
    queue.post(9_999);
    for round in 1..4 {
        (0..5_000).for_each(|key| queue.post(key * round % 5_003));
    }
    let mut next = queue.get();
    let taken = core::iter::from_fn(|| {
        let Poll::Ready(job) = Worker::new(core::mem::replace(&mut next, queue.get())).poll() else { return None };
        let (key, last) = job.map(|job| (*job.key(), job.done_and_get()))?;
        next = last;
        Some(key)
    });
    let in_order = [9_999].into_iter().chain(0..=5_000).chain([5_002, 5_001]);
    assert!(taken.eq(in_order));
    let stats = queue.stats();
    assert_eq!((stats.adds + stats.merged, stats.depth), (15_001, 0));
}

#[test]
fn a_shut_down_hands_out_what_was_posted_before_and_refuses_the_rest() {
    let queue = Queue::default();
    let worker = Worker::asleep(&queue);
    (0..200).for_each(|key| queue.post(key));
    queue.shut_down();
    (200..203).for_each(|key| queue.post(key));
    assert!(worker.is_woken());
    let keys = core::iter::from_fn(|| match Worker::new(queue.get()).poll() {
        Poll::Ready(job) => job.map(|job| *job.key()),
        Poll::Pending => panic!("the queue is shut down"),
    });
    assert!(keys.eq(0..200));
    assert_eq!(queue.drained(), Some(Drained { refused: 3, ..Drained::default() }));
}

#[test]
fn what_was_posted_counts_at_the_deadline_of_a_drain() {
    let queue = Queue::default();
    let (mut delays, mut cx) = (queue.delays(), Context::from_waker(Waker::noop()));
    (0..200).for_each(|key| queue.post(key));
    queue.shut_down_with_drain(at(0), Duration::from_millis(20));
    assert_eq!(delays.poll_due(&mut cx, at(1)), Due::At(at(20)));
    Worker::new(queue.get()).take().done();
    assert_eq!(delays.poll_due(&mut cx, at(20)), Due::Closed);
    assert_eq!(queue.drained(), Some(Drained { ready: 199, ..Drained::default() }));
}

#[test]
fn a_key_that_was_ready_again_at_once_kept_posted_keys_waiting() {
    let queue = Queue::default();
    queue.post(0);
    let mut job = Worker::new(queue.get()).take();
    (1..=200).for_each(|key| queue.post(key));
    let mut taken = BTreeSet::new();
    for _ in 0..1_000 {
        taken.insert(*job.key());
        let outcome = if *job.key() == 0 { Outcome::RequeueAfter(Duration::ZERO) } else { Outcome::Done };
        job = Worker::new(job.finish_and_get(at(0), outcome)).take();
    }
    assert_eq!(taken.len(), 201);
}

#[test]
fn a_posted_key_that_was_delayed_is_ready_at_once_and_comes_out_again() {
    let queue = Queue::default();
    queue.post(1);
    queue.add_after(at(0), 2, Duration::from_millis(5));
    queue.post(2);
    let taken = [(); 2].map(|()| *Worker::new(queue.get()).take().key());
    assert_eq!(taken, [1, 2]);
    let mut delays = queue.delays();
    assert_eq!(delays.poll_due(&mut Context::from_waker(Waker::noop()), at(5)), Due::Idle);
    assert_eq!(*Worker::new(queue.get()).take().key(), 2);
}

#[test]
fn a_queue_with_metrics_notes_when_a_key_was_posted() {
    let queue = SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default().with_metrics());
    let now = Arc::new(AtomicUsize::new(0));
    let clock = now.clone();
    queue.set_clock(move || at(clock.load(SeqCst) as u64));
    for millis in [1, 3] {
        now.store(millis, SeqCst);
        queue.post(millis as u32);
    }
    now.store(10, SeqCst);
    (0..2).for_each(|_| Worker::new(queue.get()).take().done());
    let latency = queue.metrics(at(10)).unwrap().latency;
    assert_eq!((latency.count, latency.total), (2, Duration::from_millis(9 + 7)));
}

std::thread_local!(static COMPARED: Cell<usize> = const { Cell::new(0) });

/// A key that counts how often it is compared.
#[derive(Debug, Clone, Eq)]
struct Counted(u32);

impl Hash for Counted {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl PartialEq for Counted {
    fn eq(&self, other: &Self) -> bool {
        COMPARED.set(COMPARED.get() + 1);
        self.0 == other.0
    }
}

#[test]
fn a_worker_took_in_all_posted_keys_that_back_off_under_one_lock() {
    let queue = WorkQueue::default().with_while_delayed(WhileDelayed::KeepWaiting);
    let queue = SharedWorkQueue::<Counted, StdLock>::new(queue);
    (0..10_000).for_each(|key| _ = queue.add_rate_limited(at(0), Counted(key)));
    queue.post(Counted(10_000));
    (0..10_000).for_each(|key| queue.post(Counted(key)));
    let (wakes, waker) = counting();
    let first = Pin::new(&mut queue.get()).poll(&mut Context::from_waker(&waker));
    let Poll::Ready(Some(job)) = first else { panic!("a key is ready") };
    job.done();
    let mut at_once = Vec::new();
    let mut get = queue.get();
    loop {
        let woken = wakes.count();
        COMPARED.set(0);
        assert!(Pin::new(&mut get).poll(&mut Context::from_waker(&waker)).is_pending());
        at_once.push(COMPARED.get());
        if wakes.count() == woken {
            break;
        }
    }
    assert_eq!(at_once, [4096, 4096, 1808]);
}

/// A key that is equal to none while this is set: it panics.
#[derive(Debug, Clone)]
struct Unlike(u32);

std::thread_local!(static UNLIKE: Cell<bool> = const { Cell::new(false) });

impl PartialEq for Unlike {
    fn eq(&self, other: &Self) -> bool {
        assert!(!UNLIKE.get(), "on purpose");
        self.0 == other.0
    }
}

impl Eq for Unlike {}

impl Hash for Unlike {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

#[test]
fn a_key_whose_eq_panics_where_it_is_posted_or_taken_in_leaves_the_others() {
    let queue = SharedWorkQueue::<Unlike, StdLock>::default();
    let mut cx = Context::from_waker(Waker::noop());
    let mut take = |queue: &SharedWorkQueue<Unlike, StdLock>| match Pin::new(&mut queue.get()).poll(&mut cx) {
        Poll::Ready(Some(job)) => {
            let number = job.key().0;
            core::mem::forget(job);
            Some(number)
        }
        _ => None,
    };
    queue.post(Unlike(1));
    queue.post(Unlike(2));
    UNLIKE.set(true);
    assert!(panics(|| queue.post(Unlike(2))), "where it is posted");
    UNLIKE.set(false);
    queue.post(Unlike(1));
    queue.post(Unlike(3));
    assert_eq!((take(&queue), take(&queue)), (Some(1), Some(2)));
    queue.post(Unlike(2));
    queue.post(Unlike(4));
    UNLIKE.set(true);
    assert!(panics(|| queue.len()), "2 is with a worker, and is taken in");
    UNLIKE.set(false);
    assert_eq!((take(&queue), take(&queue), take(&queue)), (Some(3), Some(4), None));
}

#[test]
fn a_posted_key_that_panics_where_it_is_taken_in_does_not_keep_a_job_that_is_given_back() {
    let queue = SharedWorkQueue::<Unlike, StdLock>::default();
    let mut cx = Context::from_waker(Waker::noop());
    queue.post(Unlike(1));
    let Poll::Ready(Some(job)) = Pin::new(&mut queue.get()).poll(&mut cx) else { panic!("a key is ready") };
    queue.post(Unlike(2));
    queue.post(Unlike(1));
    UNLIKE.set(true);
    job.done();
    UNLIKE.set(false);
    let keys = core::iter::from_fn(|| match Pin::new(&mut queue.get()).poll(&mut cx) {
        Poll::Ready(job) => job.map(|job| job.key().0),
        Poll::Pending => None,
    });
    assert!(keys.eq([2, 1]));
    queue.shut_down();
    assert!(queue.is_drained());
}

/// While workers sleep, as many others were woken as keys are ready.
fn assert_enough_are_woken(ready: usize, workers: &[Worker<'_>], seed: u64) {
    let woken = workers.iter().filter(|worker| worker.is_woken()).count();
    assert!(ready <= woken || !workers.iter().any(Worker::is_asleep), "seed {seed}: {ready} ready, {woken} woken");
}

/// The workers alone are polled, and those alone that were woken.
#[test]
fn no_posted_key_is_left_whatever_the_workers_do() {
    for seed in 0..300 {
        let (queue, mut random) = (Queue::default(), numbers(seed));
        let (mut workers, mut jobs, mut waiting) = (Vec::<Worker<'_>>::new(), Vec::new(), BTreeSet::new());
        for _ in 0..200 {
            match random() % 8 {
                0..=2 => {
                    let key = (random() % 6) as u32;
                    queue.post(key);
                    waiting.insert(key);
                }
                3 if workers.len() < 4 => workers.push(Worker::new(queue.get())),
                4 if !jobs.is_empty() => drop(jobs.swap_remove(random() as usize % jobs.len())),
                5..=6 if !workers.is_empty() => {
                    let at = random() as usize % workers.len();
                    if let Poll::Ready(Some(job)) = workers[at].poll() {
                        workers.swap_remove(at);
                        waiting.remove(job.key());
                        jobs.push(job);
                    }
                }
                7 if !workers.is_empty() => drop(workers.swap_remove(random() as usize % workers.len())),
                _ => {}
            }
        }
        jobs.clear();
        workers.push(Worker::new(queue.get()));
        while let Some(worker) = workers.iter_mut().find(|worker| !worker.is_asleep()) {
            if let Poll::Ready(Some(job)) = worker.poll() {
                waiting.remove(job.key());
                *worker = Worker::new(queue.get());
            }
        }
        assert!(waiting.is_empty(), "seed {seed}: {waiting:?}");
    }
}

#[test]
fn nobody_is_woken_for_what_is_not_ready() {
    let queue = Queue::default();
    queue.add(1);
    let _job = Worker::new(queue.get()).take();
    let worker = Worker::asleep(&queue);
    assert_eq!(queue.add(1), Added::Deferred);
    assert_eq!(queue.add_after(at(0), 2, Duration::from_secs(1)), Added::Delayed);
    assert!(worker.is_asleep());
}

#[test]
fn a_key_that_is_given_back_dirty_wakes_a_worker() {
    let queue = Queue::default();
    queue.add(1);
    let job = Worker::new(queue.get()).take();
    let mut worker = Worker::asleep(&queue);
    queue.add(1);
    job.done();
    assert!(worker.is_woken());
    assert_eq!(*worker.take().key(), 1);
}

#[test]
fn a_worker_that_leaves_passes_its_wake_up_on() {
    let queue = Queue::default();
    let (one, two, three) = (Worker::asleep(&queue), Worker::asleep(&queue), Worker::asleep(&queue));
    drop(two);
    queue.add(1);
    assert!(one.is_woken() && three.is_asleep());
    drop(one);
    assert!(three.is_woken());
}

#[test]
fn a_worker_that_comes_too_late_sleeps_again_and_can_be_woken_again() {
    let queue = Queue::default();
    let mut late = Worker::asleep(&queue);
    queue.add(1);
    let _job = Worker::new(queue.get()).take();
    assert!(late.is_woken() && late.poll().is_pending());
    queue.add(2);
    assert!(late.is_woken());
}

/// W3.
#[test]
fn shutting_down_wakes_everyone_and_hands_out_what_is_ready() {
    let queue = Queue::default();
    let mut workers = [(); 3].map(|()| Worker::asleep(&queue));
    let (wakes, waker) = counting();
    let (mut delays, mut cx) = (queue.delays(), Context::from_waker(&waker));
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle);
    queue.add(1);
    queue.shut_down();
    assert_eq!(wakes.count(), 1);
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle, "a key is ready still");
    assert!(workers.iter().all(Worker::is_woken));
    let job = workers[0].take();
    assert!(workers[1..].iter_mut().all(|worker| matches!(worker.poll(), Poll::Ready(None))));
    assert!(!queue.is_drained());
    drop(job);
    assert!(queue.is_drained());
    assert_eq!((wakes.count(), delays.poll_due(&mut cx, at(0))), (2, Due::Closed));
}

#[test]
fn a_drain_wakes_everyone_and_its_timer_sleeps_until_it_is_over() {
    let queue = Queue::default();
    let (wakes, waker) = counting();
    let (mut delays, mut cx) = (queue.delays(), Context::from_waker(&waker));
    let mut worker = Worker::asleep(&queue);
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle);
    queue.add(1);
    let job = worker.take();
    let mut sleeper = Worker::asleep(&queue);
    queue.shut_down_with_drain(at(0), Duration::from_millis(20));
    assert!(sleeper.is_woken() && matches!(sleeper.poll(), Poll::Ready(None)));
    assert_eq!((wakes.count(), delays.poll_due(&mut cx, at(0))), (1, Due::At(at(20))));
    drop(job);
    assert_eq!(wakes.count(), 2, "nothing is left to wait for");
    assert_eq!((delays.poll_due(&mut cx, at(1)), queue.drained()), (Due::Closed, Some(Drained::default())));
}

#[test]
fn the_timer_is_woken_only_when_it_would_sleep_too_long() {
    let queue = Queue::default();
    let (wakes, waker) = counting();
    let (mut delays, mut cx) = (queue.delays(), Context::from_waker(&waker));
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle);
    queue.add_after(at(0), 1, Duration::from_millis(20));
    assert_eq!(wakes.count(), 1, "the first delay");
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::At(at(20)));
    queue.add_after(at(0), 2, Duration::from_millis(30));
    queue.add(3);
    assert_eq!(wakes.count(), 1, "a later delay, and none");
    queue.add_rate_limited(at(0), 2);
    assert_eq!(wakes.count(), 2, "an earlier delay");
    assert_eq!(delays.poll_due(&mut cx, at(4)), Due::At(at(5)));
}

#[test]
fn what_is_due_wakes_a_worker() {
    let queue = Queue::default();
    let mut worker = Worker::asleep(&queue);
    queue.add_after(at(0), 1, Duration::from_millis(20));
    assert!(worker.is_asleep());
    assert_eq!(queue.delays().poll_due(&mut Context::from_waker(Waker::noop()), at(20)), Due::Idle);
    assert_eq!(*worker.take().key(), 1);
}

#[test]
fn a_shared_queue_hands_out_by_priority_where_it_has_lanes() {
    let queue = WorkQueue::with_discipline(ExponentialBackoff::default(), Lanes::default(), 0);
    let queue = SharedWorkQueue::<u32, StdLock, _, _>::new(queue);
    queue.add(1);
    queue.add_with_priority(2, Priority::High);
    let mut first = queue.get();
    let Poll::Ready(Some(job)) = Pin::new(&mut first).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("two keys are ready")
    };
    assert_eq!(*job.key(), 2);
}

#[test]
fn done_and_get_gives_the_key_back_even_if_it_is_never_polled() {
    let queue = Queue::default();
    queue.add(1);
    let job = Worker::new(queue.get()).take();
    queue.add(1);
    let job = Worker::new(job.done_and_get()).take();
    assert_eq!(*job.key(), 1);
    drop(job.done_and_get());
    queue.shut_down();
    assert!(queue.is_drained());
}

#[test]
fn a_worker_that_panics_gives_its_key_back() {
    let queue = Queue::default();
    queue.add(1);
    let panicked = std::thread::scope(|scope| {
        let work = || {
            let _job = Worker::new(queue.get()).take();
            panic!("on purpose");
        };
        scope.spawn(work).join().is_err()
    });
    queue.shut_down();
    assert!(panicked && queue.is_drained());
}

/// A lock that is never waited for.
enum Free {}

impl Lock for Free {
    type Cell<T> = std::sync::Mutex<T>;

    fn new<T>(value: T) -> Self::Cell<T> {
        std::sync::Mutex::new(value)
    }

    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut cell.try_lock().expect("the lock is free"))
    }

    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R {
        Self::with(cell, |value| f(value))
    }
}

#[test]
fn wakers_may_come_back_to_the_queue() {
    struct Reenter(Arc<SharedWorkQueue<u32, Free>>, AtomicUsize);
    impl Wake for Reenter {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(self.0.len() + 1, SeqCst);
        }
    }
    let queue = Arc::<SharedWorkQueue<u32, Free>>::default();
    let wakes = Arc::new(Reenter(queue.clone(), AtomicUsize::new(0)));
    let waker = Waker::from(wakes.clone());
    let mut cx = Context::from_waker(&waker);
    let (mut one, mut two, mut delays) = (queue.get(), queue.get(), queue.delays());
    assert!(Pin::new(&mut one).poll(&mut cx).is_pending() && Pin::new(&mut two).poll(&mut cx).is_pending());
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle);
    queue.add(1);
    queue.add_after(at(0), 2, Duration::from_secs(1));
    drop(one);
    queue.shut_down();
    assert_eq!(wakes.1.load(SeqCst), 6, "three wake-ups that saw one key");
}

/// Numbers that follow from `seed`, by Knuth's MMIX generator.
fn numbers(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

#[test]
fn no_wake_up_is_lost_whatever_the_workers_do() {
    for seed in 0..300 {
        let (queue, mut random) = (Queue::default(), numbers(seed));
        let mut workers: Vec<Worker<'_>> = Vec::new();
        let mut jobs = Vec::new();
        for _ in 0..200 {
            match random() % 8 {
                0..=2 => _ = queue.add((random() % 6) as u32),
                3 if workers.len() < 4 => workers.push(Worker::new(queue.get())),
                4 if !jobs.is_empty() => drop(jobs.swap_remove(random() as usize % jobs.len())),
                5..=6 if !workers.is_empty() => {
                    let at = random() as usize % workers.len();
                    if let Poll::Ready(job) = workers[at].poll() {
                        workers.swap_remove(at);
                        jobs.extend(job);
                    }
                }
                7 if !workers.is_empty() => drop(workers.swap_remove(random() as usize % workers.len())),
                _ => {}
            }
            assert_enough_are_woken(queue.len(), &workers, seed);
        }
    }
}

#[test]
fn threads_work_on_every_key_and_never_two_on_one() {
    const KEYS: u32 = 4_000;
    let queue = Queue::default();
    let handled: Vec<AtomicUsize> = (0..KEYS).map(|_| AtomicUsize::new(0)).collect();
    let busy: Vec<AtomicBool> = (0..KEYS).map(|_| AtomicBool::new(false)).collect();
    let work = || {
        let mut next = queue.get();
        while let Some(job) = block_on(next) {
            let key = *job.key() as usize;
            assert!(!busy[key].swap(true, SeqCst), "{key} is with two workers");
            handled[key].fetch_add(1, SeqCst);
            busy[key].store(false, SeqCst);
            next = job.done_and_get();
        }
    };
    std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        for (key, times) in (0..).zip(&handled[..500]) {
            queue.add(key);
            while times.load(SeqCst) == 0 && !workers.iter().any(|worker| worker.is_finished()) {
                std::thread::yield_now();
            }
        }
        for round in 0..3 {
            (0..KEYS).for_each(|key| _ = queue.add((key + round) % KEYS));
            (0..KEYS).for_each(|key| queue.post((key * 7 + round) % KEYS));
        }
        queue.shut_down();
    });
    assert!(queue.is_drained());
    assert!(handled.iter().all(|times| (1..=7).contains(&times.load(SeqCst))));
    let total: usize = handled.iter().map(|times| times.load(SeqCst)).sum();
    assert_eq!(total as u64, queue.stats().adds);
}

#[test]
fn what_a_worker_holds_can_move_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Queue>();
    check::<Get<'_, u32, StdLock>>();
    check::<JobGuard<'_, u32, StdLock>>();
}

fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match Pin::new(&mut future).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A waker of an executor that has an error: it panics, as often as that.
fn flawed(times: usize) -> Waker {
    struct Flawed(AtomicUsize);
    impl Wake for Flawed {
        fn wake(self: Arc<Self>) {
            let sound = self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err();
            assert!(sound, "on purpose");
        }
    }
    Waker::from(Arc::new(Flawed(AtomicUsize::new(times))))
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| _ = call())).is_err()
}

#[test]
fn a_waker_that_panics_takes_nobody_elses_wake_up_with_it() {
    let queue = Queue::default();
    let (mut lost, flawed) = (queue.get(), flawed(1));
    assert!(Pin::new(&mut lost).poll(&mut Context::from_waker(&flawed)).is_pending());
    let mut next = Worker::asleep(&queue);
    assert!(panics(|| queue.add(1)));
    assert!(next.is_woken(), "another worker is woken in its place");
    let job = next.take();
    let last = Worker::asleep(&queue);
    queue.add(2);
    assert!(last.is_woken(), "the one that is lost holds nobody up");
    drop(job);
}

#[test]
fn a_waker_that_panics_does_not_keep_others_from_hearing_of_the_end() {
    let queue = Queue::default();
    let (mut lost, flawed) = (queue.get(), flawed(1));
    assert!(Pin::new(&mut lost).poll(&mut Context::from_waker(&flawed)).is_pending());
    let workers = [(); 2].map(|()| Worker::asleep(&queue));
    assert!(panics(|| queue.shut_down()));
    assert!(workers.iter().all(Worker::is_woken));
}

#[test]
fn a_waker_that_panics_does_not_keep_the_key_that_was_handed_out_before() {
    let queue = Queue::default();
    queue.add(2);
    let job = Worker::new(queue.get()).take();
    assert_eq!(queue.add(2), Added::Deferred);
    let (woken, mut lost, flawed) = (Worker::asleep(&queue), queue.get(), flawed(1));
    assert!(Pin::new(&mut lost).poll(&mut Context::from_waker(&flawed)).is_pending());
    queue.add(1);
    assert!(woken.is_woken());
    let mut worker = Worker::new(job.done_and_get());
    assert!(panics(|| worker.poll().is_ready()), "it has 1, and wakes a worker for 2");
    queue.shut_down();
    let jobs = [(); 2].map(|()| Worker::new(queue.get()).poll());
    let keys = jobs.each_ref().map(|job| if let Poll::Ready(Some(job)) = job { Some(*job.key()) } else { None });
    assert_eq!(keys, [Some(2), Some(1)]);
    drop(jobs);
    assert!(queue.is_drained());
}

/// A key that cannot be cloned while this is set.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Fragile(u32);

std::thread_local!(static BREAKS: Cell<bool> = const { Cell::new(false) });

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(!BREAKS.get(), "on purpose");
        Self(self.0)
    }
}

#[test]
fn a_key_whose_clone_panics_stays_ready() {
    let queue = SharedWorkQueue::<Fragile, StdLock>::default();
    queue.add(Fragile(1));
    let get = || Pin::new(&mut queue.get()).poll(&mut Context::from_waker(Waker::noop()));
    BREAKS.set(true);
    assert!(panics(get));
    BREAKS.set(false);
    assert!(matches!(get(), Poll::Ready(Some(_))));
    queue.shut_down();
    assert!(queue.is_drained());
}

/// A key that panics where it is dropped, once for each of these.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PanicsInDrop(u32);

std::thread_local!(static PANICS_IN_DROP: Cell<u32> = const { Cell::new(0) });

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        let left = PANICS_IN_DROP.get();
        PANICS_IN_DROP.set(left.saturating_sub(1));
        assert_eq!(left, 0, "on purpose");
    }
}

impl Clone for PanicsInDrop {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

#[test]
fn a_key_that_panics_where_a_shut_down_drops_it_does_not_keep_others_from_hearing_of_the_end() {
    let queue = SharedWorkQueue::<PanicsInDrop, StdLock>::default();
    let ((worker_wakes, waker), (wakes, delays_waker)) = (counting(), counting());
    let (mut sleeper, mut delays) = (queue.get(), queue.delays());
    queue.add_after(at(0), PanicsInDrop(1), Duration::from_secs(1));
    assert!(Pin::new(&mut sleeper).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(delays.poll_due(&mut Context::from_waker(&delays_waker), at(0)), Due::At(at(1000)));
    PANICS_IN_DROP.set(1);
    assert!(panics(|| queue.shut_down()));
    assert_eq!((worker_wakes.count(), wakes.count(), queue.is_drained()), (1, 1, true));
}

#[test]
fn keys_that_panic_where_the_end_of_a_drain_drops_them_are_all_dropped_when_it_goes_on() {
    let queue = SharedWorkQueue::<PanicsInDrop, StdLock>::default();
    let (mut delays, mut cx) = (queue.delays(), Context::from_waker(Waker::noop()));
    (1..=3).for_each(|key| _ = queue.add(PanicsInDrop(key)));
    queue.shut_down_with_drain(at(0), Duration::from_millis(20));
    PANICS_IN_DROP.set(1);
    assert!(panics(|| delays.poll_due(&mut cx, at(20))));
    assert_eq!((delays.poll_due(&mut cx, at(20)), queue.len()), (Due::Closed, 0));
    assert_eq!(queue.drained(), Some(Drained { ready: 3, ..Drained::default() }));
}

#[test]
fn two_tasks_that_follow_the_delays_both_hear_of_an_earlier_one_and_of_the_end() {
    let queue = Queue::default();
    let ((wakes, waker), (other_wakes, other_waker)) = (counting(), counting());
    let (mut cx, mut other_cx) = (Context::from_waker(&waker), Context::from_waker(&other_waker));
    let (mut delays, mut other) = (queue.delays(), queue.delays());
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle);
    assert_eq!(other.poll_due(&mut other_cx, at(0)), Due::Idle);
    queue.add_after(at(0), 1, Duration::from_millis(20));
    assert_eq!((wakes.count(), other_wakes.count()), (1, 1));
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::At(at(20)));
    assert_eq!(other.poll_due(&mut other_cx, at(0)), Due::At(at(20)));
    queue.shut_down();
    assert_eq!((wakes.count(), other_wakes.count()), (2, 2));
}

#[test]
fn a_key_whose_clone_panics_when_another_is_given_back_wakes_a_worker() {
    let queue = SharedWorkQueue::<Fragile, StdLock>::default();
    queue.add(Fragile(1));
    let Poll::Ready(Some(job)) = Pin::new(&mut queue.get()).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a key is ready")
    };
    let ((wakes, waker), mut sleeper) = (counting(), queue.get());
    assert!(Pin::new(&mut sleeper).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(queue.add(Fragile(1)), Added::Deferred);
    let mut next = job.done_and_get();
    BREAKS.set(true);
    assert!(panics(|| Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop())).is_ready()));
    BREAKS.set(false);
    assert_eq!((queue.len(), wakes.count()), (1, 1), "a key is ready and the other worker is woken");
}

#[test]
fn a_rate_limiter_that_comes_back_to_its_queue_is_told_so() {
    struct ComesBack;
    static QUEUE: std::sync::OnceLock<SharedWorkQueue<u32, StdLock, ComesBack>> = std::sync::OnceLock::new();
    impl RateLimiter for ComesBack {
        fn delay(&mut self, _: Instant, _: u32) -> Duration {
            QUEUE.get().into_iter().for_each(|queue| _ = queue.add(2));
            Duration::ZERO
        }
    }
    let queue = QUEUE.get_or_init(|| SharedWorkQueue::new(WorkQueue::new(ComesBack)));
    assert!(panics(|| queue.add_rate_limited(at(0), 1)));
    assert_eq!((queue.add(3), queue.len()), (Added::Queued, 1));
}

#[test]
fn a_waker_that_polls_at_once_is_not_woken_for_ever() {
    /// Follows the delays again whenever it is woken, on the spot.
    struct Inline {
        queue: Arc<Queue>,
        place: std::sync::Mutex<Option<Slot>>,
        wakes: AtomicUsize,
    }
    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            if self.wakes.fetch_add(1, SeqCst) < 1_000 {
                let waker = Waker::from(self.clone());
                _ = self.queue.dispatch.poll_due(&waker, at(0), &mut self.place.lock().unwrap());
            }
        }
    }
    let queue = Arc::<Queue>::default();
    let inline = Inline { queue: queue.clone(), place: Default::default(), wakes: AtomicUsize::new(0) };
    let inline = Arc::new(inline);
    let due = queue.dispatch.poll_due(&Waker::from(inline.clone()), at(0), &mut inline.place.lock().unwrap());
    assert_eq!(due, Due::Idle);
    queue.add_after(at(0), 1, Duration::from_secs(5));
    assert_eq!(inline.wakes.load(SeqCst), 1);
}

#[test]
fn the_timer_is_woken_when_the_only_delay_is_promoted() {
    let queue = WorkQueue::default().with_while_delayed(WhileDelayed::Promote);
    let queue = Queue::new(queue);
    let (wakes, waker) = counting();
    let (mut delays, mut cx) = (queue.delays(), Context::from_waker(&waker));
    queue.add_after(at(0), 1, Duration::from_millis(20));
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::At(at(20)));
    assert_eq!(queue.add(1), Added::Queued);
    assert_eq!((wakes.count(), delays.poll_due(&mut cx, at(0))), (1, Due::Idle));
    queue.add_after(at(0), 2, Duration::from_millis(20));
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::At(at(20)));
    assert_eq!((delays.poll_due(&mut cx, at(20)), wakes.count()), (Due::Idle, 2), "it knows what it has added itself");
}

#[test]
fn a_retry_that_a_worker_gives_back_wakes_the_task_that_follows_the_delays() {
    let queue = Queue::default();
    let ((wakes, waker), mut delays) = (counting(), queue.delays());
    let mut cx = Context::from_waker(&waker);
    queue.add(1);
    let job = Worker::new(queue.get()).take();
    assert_eq!(delays.poll_due(&mut cx, at(0)), Due::Idle);
    assert_eq!(job.finish(at(0), Outcome::Retry), Finished::RetryAt(at(5)));
    assert_eq!((wakes.count(), delays.poll_due(&mut cx, at(0))), (1, Due::At(at(5))));
}

#[test]
fn finish_and_get_finishes_by_the_first_poll_and_answers_then() {
    let queue = Queue::default();
    [1, 2].into_iter().for_each(|key| _ = queue.add(key));
    let mut next = Worker::new(queue.get()).take().finish_and_get(at(0), Outcome::Retry);
    assert_eq!((next.finished(), queue.stats().retries), (None, 0));
    let Poll::Ready(Some(job)) = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a key is ready")
    };
    assert_eq!((*job.key(), next.finished()), (2, Some(Finished::RetryAt(at(5)))));
    drop(job.finish_and_get(at(0), Outcome::Retry));
    assert_eq!(queue.stats().retries, 2, "also if it is never polled");
}

#[test]
fn a_limiter_that_panics_while_a_key_is_given_back_wakes_the_other_workers_and_the_timer() {
    #[derive(Default)]
    struct Flawed;
    impl RateLimiter for Flawed {
        fn delay(&mut self, _: Instant, _: u32) -> Duration {
            panic!("on purpose")
        }
    }
    let queue = SharedWorkQueue::<u32, StdLock, Flawed>::default();
    queue.add(1);
    let Poll::Ready(Some(job)) = Pin::new(&mut queue.get()).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a key is ready")
    };
    let ((worker_wakes, waker), (wakes, delays_waker)) = (counting(), counting());
    let (mut sleeper, mut delays) = (queue.get(), queue.delays());
    assert!(Pin::new(&mut sleeper).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(delays.poll_due(&mut Context::from_waker(&delays_waker), at(0)), Due::Idle);
    queue.add(1);
    let mut next = job.finish_and_get(at(0), Outcome::Retry);
    assert!(panics(|| Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop())).is_ready()));
    assert_eq!((next.finished(), worker_wakes.count(), wakes.count()), (None, 1, 1));
    assert_eq!((queue.len(), queue.stats().panics), (1, 1), "it was added meanwhile");
}
