use super::*;
use crate::queue::{ExponentialBackoff, Finished, Lanes, Outcome, Priority, WhileDelayed};
use crate::storage::Slot;
use crate::sync::wakers::tests::{Wakes, counting};
use crate::sync::{Due, JobGuard, Lock, StdLock};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::hash::{Hash, Hasher};
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use core::task::{Context, Poll, Waker};
use std::task::Wake;

/// A lock that always seems to be taken, so that keys are left in front of it.
enum Crowded {}

impl Lock for Crowded {
    type Cell<T> = <StdLock as Lock>::Cell<T>;

    fn new<T>(value: T) -> Self::Cell<T> {
        StdLock::new(value)
    }

    fn with<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&mut T) -> R) -> R {
        StdLock::with(cell, f)
    }

    fn read<T, R>(cell: &Self::Cell<T>, f: impl FnOnce(&T) -> R) -> R {
        StdLock::read(cell, f)
    }

    fn is_taken<T>(_cell: &Self::Cell<T>) -> bool {
        true
    }
}

type Queue = SharedWorkQueue<u32, Crowded>;

/// A worker that waits for its next key, and is polled by hand.
struct Worker<'a> {
    get: Get<'a, u32, Crowded>,
    waker: Waker,
    wakes: Arc<Wakes>,
    /// How often it had been woken when it was last polled, if it sleeps.
    slept_at: Option<usize>,
}

impl<'a> Worker<'a> {
    fn new(get: Get<'a, u32, Crowded>) -> Self {
        let (wakes, waker) = counting();
        Self { get, waker, wakes, slept_at: None }
    }

    /// One that was polled in vain.
    fn asleep(queue: &'a Queue) -> Self {
        let mut worker = Self::new(queue.get());
        assert!(worker.poll().is_pending());
        worker
    }

    fn poll(&mut self) -> Poll<Option<JobGuard<'a, u32, Crowded>>> {
        let wakes = self.wakes.count();
        let answer = Pin::new(&mut self.get).poll(&mut Context::from_waker(&self.waker));
        self.slept_at = answer.is_pending().then_some(wakes);
        answer
    }

    fn take(&mut self) -> JobGuard<'a, u32, Crowded> {
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
fn a_ready_key_wakes_all_workers_that_sleep() {
    let queue = Queue::default();
    let mut workers = [(); 3].map(|()| Worker::asleep(&queue));
    queue.add(1);
    assert!(workers.iter().all(Worker::is_woken));
    let job = workers[1].take();
    assert!(workers[0].poll().is_pending() && workers[0].is_asleep());
    queue.add(2);
    assert!(workers[0].is_woken());
    drop(job);
}

/// The ways in which keys come.
const WAYS: [fn(&Queue, u32); 3] = [
    |queue, key| queue.add(key),
    |queue, key| _ = queue.add_after(at(0), key, Duration::ZERO),
    |queue, key| {
        let due = 10 * u64::from(key);
        queue.add_after(at(due - 1), key, Duration::from_millis(1));
        _ = queue.delays().poll_due(&mut Context::from_waker(Waker::noop()), at(due));
    },
];

/// The thread of the first worker computes: it was woken, and does not come.
#[test]
fn no_key_waits_for_a_worker_that_was_woken_and_does_not_come() {
    for come in WAYS {
        let queue = Queue::default();
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
fn a_worker_that_looks_is_not_woken_and_gives_its_key_back() {
    let queue = Queue::default();
    queue.add(1);
    let mut next = Worker::new(queue.get()).take().finish_and_get(at(0), Outcome::Retry);
    assert!(next.poll_now().is_pending());
    assert_eq!(next.finished(), Some(Finished::RetryAt(at(5))));
    let mut woken = Worker::asleep(&queue);
    queue.add(2);
    assert!(woken.is_woken());
    assert!(matches!(next.poll_now(), Poll::Ready(Some(job)) if *job.key() == 2));
    let wakes = woken.wakes.count();
    assert!(woken.get.poll_now().is_pending());
    queue.add(3);
    assert_eq!(woken.wakes.count(), wakes, "the one that looked sleeps no longer");
}

#[test]
fn a_key_that_is_posted_again_while_a_worker_has_it_wakes_a_worker_afterwards() {
    let queue = Queue::default();
    let mut workers = [(); 2].map(|()| Worker::asleep(&queue));
    [7, 8, 7].into_iter().for_each(|key| queue.add(key));
    let [one, two] = workers.each_mut().map(Worker::take);
    assert_eq!([&one, &two].map(|job| *job.key()), [7, 8]);
    let idle = Worker::asleep(&queue);
    queue.add(7);
    assert!(idle.is_asleep());
    one.done();
    assert!(idle.is_woken());
}

/// What is asked of the queue finds all keys. In a queue with metrics, none waits in front of the lock.
#[test]
fn posted_keys_are_as_others_for_everyone_who_asks() {
    let (posted, added) = (Queue::default(), Queue::new(WorkQueue::default().with_metrics()));
    let running = [&posted, &added].map(|queue| {
        queue.add(3);
        queue.add(200);
        [Worker::new(queue.get()).take(), Worker::new(queue.get()).take()]
    });
    for (n, key) in (0..1000).map(|n| n * 7919 % 300).enumerate() {
        posted.add(key);
        added.add(key);
        if n % 97 == 0 {
            assert_eq!((posted.stats(), posted.len()), (added.stats(), added.len()));
            let again = [&posted, &added].map(|queue| queue.add_after(at(0), key, Duration::ZERO));
            assert_eq!(again, [Added::Merged; 2]);
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
    queue.add(9_999);
    for round in 1..4 {
        (0..5_000).for_each(|key| queue.add(key * round % 5_003));
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
fn a_full_inbox_is_added_to_the_queue_with_the_key_that_found_it_full() {
    let queue = SharedWorkQueue::<Counted, Crowded>::default();
    queue.add(Counted(0));
    (1..=1 << 20).for_each(|key| queue.add(Counted(key)));
    COMPARED.set(0);
    queue.add(Counted(1));
    assert_eq!(queue.dispatch.read_bare(|queue| queue.len()), (1 << 20) + 1);
    assert_eq!((queue.stats().merged, COMPARED.get() > 0), (1, true));
}

#[test]
fn a_shut_down_hands_out_what_was_posted_before_and_refuses_the_rest() {
    let queue = Queue::default();
    let worker = Worker::asleep(&queue);
    (0..200).for_each(|key| queue.add(key));
    queue.shut_down();
    (200..203).for_each(|key| queue.add(key));
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
    (0..200).for_each(|key| queue.add(key));
    queue.shut_down_with_drain(at(0), Duration::from_millis(20));
    assert_eq!(delays.poll_due(&mut cx, at(1)), Due::At(at(20)));
    Worker::new(queue.get()).take().done();
    assert_eq!(delays.poll_due(&mut cx, at(20)), Due::Closed);
    assert_eq!(queue.drained(), Some(Drained { ready: 199, ..Drained::default() }));
}

#[test]
fn posted_keys_are_taken_beside_a_key_that_is_always_ready() {
    let queue = Queue::default();
    queue.add(0);
    let mut job = Worker::new(queue.get()).take();
    (1..=200).for_each(|key| queue.add(key));
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
    queue.add(1);
    queue.add_after(at(0), 2, Duration::from_millis(5));
    queue.add(2);
    let taken = [(); 2].map(|()| *Worker::new(queue.get()).take().key());
    assert_eq!(taken, [1, 2]);
    let mut delays = queue.delays();
    assert_eq!(delays.poll_due(&mut Context::from_waker(Waker::noop()), at(5)), Due::Idle);
    assert_eq!(*Worker::new(queue.get()).take().key(), 2);
}

#[test]
fn a_queue_with_metrics_notes_when_a_key_was_posted() {
    let queue = SharedWorkQueue::<u32, Crowded>::new(WorkQueue::default().with_metrics());
    let now = Arc::new(AtomicUsize::new(0));
    let clock = now.clone();
    queue.set_clock(move || at(clock.load(SeqCst) as u64));
    for millis in [1, 3] {
        now.store(millis, SeqCst);
        queue.add(millis as u32);
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

/// No worker sleeps while a key is ready.
fn assert_enough_are_woken(ready: usize, workers: &[Worker<'_>], seed: u64) {
    assert!(ready == 0 || !workers.iter().any(Worker::is_asleep), "seed {seed}: {ready} ready");
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
                    queue.add(key);
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
    queue.add(1);
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
    let queue = SharedWorkQueue::<u32, Crowded, _, _>::new(queue);
    queue.add(1);
    queue.update(|queue| queue.add_with_priority(2, Priority::High));
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
                0..=2 => queue.add((random() % 6) as u32),
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
            (0..KEYS).for_each(|key| queue.add((key + round) % KEYS));
            (0..KEYS).for_each(|key| queue.add((key * 7 + round) % KEYS));
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
    check::<Get<'_, u32, Crowded>>();
    check::<JobGuard<'_, u32, Crowded>>();
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

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| _ = call())).is_err()
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

/// What panics while it is set.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Flaw {
    Eq,
    Clone,
    Drop,
    Limiter,
    Waker,
}

std::thread_local!(static FLAW: Cell<Option<Flaw>> = const { Cell::new(None) });

/// Panics once.
fn may_panic(flaw: Flaw) {
    if FLAW.get() == Some(flaw) {
        FLAW.set(None);
        panic!("on purpose");
    }
}

/// A key, its limiter and its waker. All keys have one hash.
#[derive(Debug)]
struct Flawed(u32);

impl Hash for Flawed {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl PartialEq for Flawed {
    fn eq(&self, other: &Self) -> bool {
        may_panic(Flaw::Eq);
        self.0 == other.0
    }
}

impl Eq for Flawed {}

impl Clone for Flawed {
    fn clone(&self) -> Self {
        may_panic(Flaw::Clone);
        Self(self.0)
    }
}

impl Drop for Flawed {
    fn drop(&mut self) {
        may_panic(Flaw::Drop);
    }
}

impl RateLimiter for Flawed {
    fn delay(&mut self, _: Instant, _: u32) -> Duration {
        may_panic(Flaw::Limiter);
        Duration::from_millis(5)
    }
}

impl Wake for Flawed {
    fn wake(self: Arc<Self>) {
        may_panic(Flaw::Waker);
    }
}

#[test]
fn a_queue_in_which_the_programs_code_panicked_has_failed_and_says_so() {
    for flaw in [Flaw::Eq, Flaw::Clone, Flaw::Drop, Flaw::Limiter, Flaw::Waker] {
        let queue = SharedWorkQueue::<Flawed, Crowded, Flawed>::new(WorkQueue::new(Flawed(0)));
        let waker = Waker::from(Arc::new(Flawed(0)));
        let poll = |waker: &Waker| Pin::new(&mut queue.get()).poll(&mut Context::from_waker(waker));
        [1, 2, 3].into_iter().for_each(|key| queue.add(Flawed(key)));
        queue.add_after(at(0), Flawed(4), Duration::from_millis(5));
        let [Poll::Ready(Some(one)), Poll::Ready(Some(two)), Poll::Ready(Some(three))] = [(); 3].map(|()| poll(&waker))
        else {
            panic!("three keys are ready")
        };
        let ((wakes, sound), (followed, follows)) = (counting(), counting());
        let (mut first, mut second, mut delays) = (queue.get(), queue.get(), queue.delays());
        assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(Pin::new(&mut second).poll(&mut Context::from_waker(&sound)).is_pending());
        assert_eq!(delays.poll_due(&mut Context::from_waker(&follows), at(0)), Due::At(at(5)));
        FLAW.set(Some(flaw));
        let panicked = panics(|| match flaw {
            Flaw::Eq => _ = queue.add_after(at(0), Flawed(5), Duration::ZERO),
            Flaw::Clone | Flaw::Waker => {
                queue.add(Flawed(5));
                _ = poll(&sound);
            }
            Flaw::Drop => one.done(),
            Flaw::Limiter => _ = one.finish(at(0), Outcome::Retry),
        });
        assert!(
            panicked && queue.has_failed() && queue.read(|queue| queue.is_shutting_down()) && queue.is_drained(),
            "{flaw:?}"
        );
        assert_eq!((wakes.count(), followed.count()), (1, 1), "{flaw:?}: all that sleep are woken");
        assert!(matches!(poll(&waker), Poll::Ready(None)), "{flaw:?}: no key comes");
        assert_eq!(delays.poll_due(&mut Context::from_waker(&follows), at(5)), Due::Closed);
        queue.add(Flawed(1));
        assert_eq!(queue.add_after(at(0), Flawed(1), Duration::ZERO), Added::Closed);
        assert_eq!((queue.len(), queue.stats().depth, queue.read(|queue| queue.parked().count())), (0, 0, 0));
        assert_eq!(two.finish(at(0), Outcome::Retry), Finished::Ignored);
        drop(three);
        queue.shut_down();
    }
}

#[test]
fn a_rate_limiter_that_comes_back_to_its_queue_is_told_so() {
    struct ComesBack;
    static QUEUE: std::sync::OnceLock<SharedWorkQueue<u32, Crowded, ComesBack>> = std::sync::OnceLock::new();
    impl RateLimiter for ComesBack {
        fn delay(&mut self, _: Instant, _: u32) -> Duration {
            QUEUE.get().into_iter().for_each(|queue| queue.add(2));
            Duration::ZERO
        }
    }
    let queue = QUEUE.get_or_init(|| SharedWorkQueue::new(WorkQueue::new(ComesBack)));
    assert!(panics(|| queue.add_rate_limited(at(0), 1)));
    assert!(queue.has_failed());
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
    queue.add(1);
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
    [1, 2].into_iter().for_each(|key| queue.add(key));
    let mut next = Worker::new(queue.get()).take().finish_and_get(at(0), Outcome::Retry);
    assert_eq!((next.finished(), queue.stats().retries), (None, 0));
    let Poll::Ready(Some(job)) = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("a key is ready")
    };
    assert_eq!((*job.key(), next.finished()), (2, Some(Finished::RetryAt(at(5)))));
    drop(job.finish_and_get(at(0), Outcome::Retry));
    assert_eq!(queue.stats().retries, 2, "also if it is never polled");
}
