use super::*;
use crate::caught::caught_call;
use crate::run;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use core::time::Duration;
use listwatch_core::api::ApiError;
use listwatch_core::decode::Status;
use listwatch_core::queue::{ExponentialBackoff, Fifo, Lanes};
use listwatch_core::sync::StdLock;
use listwatch_core::{Instant, WorkQueue};
use listwatch_tests::wait::{PATIENCE, wait_until};
use std::sync::Mutex;
use std::sync::mpsc;

type Queue = Arc<SharedWorkQueue<u32, StdLock>>;

fn queue() -> Queue {
    Arc::new(SharedWorkQueue::new(WorkQueue::default()))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn workers_go_on_after_a_panic_and_the_key_is_tried_again() {
    let (tries, told) = (AtomicU32::new(0), Mutex::new(Vec::new()));
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let on_panic = |key: &u32, message: &str| told.lock().unwrap().push((*key, message.to_owned()));
    let reconcile = |key: u32| {
        let n = tries.fetch_add(1, SeqCst);
        assert_ne!(n, 0, "in the call");
        async move {
            assert_ne!(n, 1, "in the {key}");
            if key == 1 { Outcome::Done } else { Outcome::Retry }
        }
    };
    let workers = Workers::spawn_with(&executor, &queue, &clock, 2, reconcile, on_panic);
    queue.add(1);
    run(&clock, &executor, async {
        while tries.load(SeqCst) < 3 {
            clock.sleep(Duration::from_millis(1)).await;
        }
        clock.sleep(Duration::from_millis(1)).await;
        assert_eq!((queue.stats().panics, queue.num_requeues(&1)), (2, 0));
        queue.shut_down();
        assert_eq!(workers.join().await, Unfinished { dropped: Vec::new(), blocked: Vec::new(), failed: false });
    });
    assert!(clock.now() >= Instant::ZERO + Duration::from_millis(15), "after back-offs of 5 and 10 ms");
    let told: Vec<(u32, String)> = told.lock().unwrap().clone();
    assert_eq!(told.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [1, 1]);
    assert!(told[0].1.ends_with("in the call\n  left: 0\n right: 0"), "{told:?}");
    assert!(told[1].1.contains("in the 1"), "{told:?}");
}

#[test]
fn a_drain_ends_at_its_deadline_although_a_reconcile_hangs() {
    struct Request(Arc<AtomicBool>);
    impl Drop for Request {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let is_dropped = Arc::new(AtomicBool::new(false));
    let request = Arc::clone(&is_dropped);
    let workers = Workers::spawn(&executor, &queue, &clock, 2, move |key: u32| {
        let request = Request(Arc::clone(&request));
        async move {
            if key == 7 {
                core::future::pending::<()>().await;
            }
            drop(request);
            Outcome::Done
        }
    });
    queue.add(7);
    let (until, unfinished) = run(&clock, &executor, async {
        clock.sleep(seconds(1)).await;
        is_dropped.store(false, SeqCst);
        queue.shut_down_with_drain(clock.now(), seconds(10));
        let late = async {
            clock.sleep(seconds(50)).await;
            None
        };
        let unfinished = smol::future::or(async { Some(workers.join().await) }, late).await;
        (clock.now(), unfinished.expect("it ends before 50 s are over"))
    });
    assert_eq!(
        (until, unfinished),
        (Instant::ZERO + seconds(11), Unfinished { dropped: [7].to_vec(), blocked: Vec::new(), failed: false })
    );
    assert!(is_dropped.load(SeqCst), "the request is dropped with its reconcile");
    assert_eq!((queue.is_drained(), queue.num_requeues(&7)), (true, 0));
}

/// The first signal lets what runs go on for as long as it takes, the second one gives it a second.
#[test]
fn a_drain_that_follows_a_shut_down_is_bounded_too() {
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |_| core::future::pending());
    queue.add(7);
    let unfinished = run(&clock, &executor, async {
        clock.sleep(seconds(1)).await;
        queue.shut_down();
        clock.sleep(seconds(1)).await;
        queue.shut_down_with_drain(clock.now(), seconds(1));
        workers.join().await
    });
    assert_eq!((clock.now(), unfinished.dropped), (Instant::ZERO + seconds(3), [7].to_vec()));
}

/// What a reconcile can block its thread with: it says when it begins, and goes on when the other end is dropped.
#[derive(Clone)]
struct Blocks {
    started: mpsc::Sender<()>,
    released: Arc<Mutex<mpsc::Receiver<()>>>,
}

impl Blocks {
    fn block(&self) {
        self.started.send(()).unwrap();
        // The limit is for an end that is held up: the test fails then, and does not hang.
        let _ = self.released.lock().unwrap().recv_timeout(PATIENCE);
    }
}

/// What became of workers whose reconcile blocks its thread when the time to drain is over. Another thread follows the
/// time.
fn unfinished_while_blocked<F>(reconcile: impl Fn(Blocks) -> F + Clone + Send + 'static) -> Unfinished<u32>
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let ((started, has_started), (release, released)) = (mpsc::channel(), mpsc::channel());
    let blocks = Blocks { started, released: Arc::new(Mutex::new(released)) };
    let (clock, executor, queue) = (Clock::real(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, move |_| reconcile(blocks.clone()));
    queue.add(7);
    let (stop, stopped) = smol::channel::bounded::<()>(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| smol::block_on(executor.run(stopped.recv())));
        }
        has_started.recv().unwrap();
        queue.shut_down_with_drain(clock.now(), Duration::from_millis(1));
        let unfinished = smol::block_on(workers.join());
        drop((release, stop));
        unfinished
    })
}

#[test]
fn a_reconcile_that_blocks_its_thread_does_not_hold_up_the_end() {
    let unfinished = unfinished_while_blocked(|blocks| async move {
        blocks.block();
        Outcome::Done
    });
    assert_eq!(unfinished, Unfinished { dropped: Vec::new(), blocked: [7].to_vec(), failed: false });
}

#[test]
fn a_reconcile_that_blocks_before_its_future_is_made_does_not_hold_up_the_end() {
    let unfinished = unfinished_while_blocked(|blocks| {
        blocks.block();
        core::future::ready(Outcome::Done)
    });
    assert_eq!(unfinished, Unfinished { dropped: Vec::new(), blocked: [7].to_vec(), failed: false });
}

#[test]
fn a_reconcile_that_blocks_where_it_is_dropped_does_not_hold_up_the_end() {
    struct BlocksInDrop(Blocks);
    impl Drop for BlocksInDrop {
        fn drop(&mut self) {
            self.0.block();
        }
    }
    let unfinished = unfinished_while_blocked(|blocks| async move {
        let _held = BlocksInDrop(blocks.clone());
        blocks.started.send(()).unwrap();
        core::future::pending().await
    });
    assert_eq!(unfinished, Unfinished { dropped: Vec::new(), blocked: [7].to_vec(), failed: false });
}

#[test]
fn two_workers_on_one_queue_follow_its_delays_and_both_end() {
    let taken = Mutex::new(Vec::new());
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let spawn = |number: u32| {
        let (taken, clock) = (&taken, clock.clone());
        Workers::spawn(&executor, &queue, &clock.clone(), 1, move |key: u32| {
            taken.lock().unwrap().push((number, key, clock.now()));
            core::future::ready(Outcome::Done)
        })
    };
    let (one, other) = (spawn(1), spawn(2));
    run(&clock, &executor, async {
        clock.sleep(seconds(1)).await;
        queue.add_after(clock.now(), 7, seconds(1));
        clock.sleep(seconds(5)).await;
        drop(other);
        queue.add_after(clock.now(), 8, seconds(1));
        clock.sleep(seconds(5)).await;
        let third = spawn(3);
        queue.shut_down();
        assert!(one.join().await.dropped.is_empty() && third.join().await.dropped.is_empty());
    });
    let at = |at: u64| Instant::ZERO + seconds(at);
    let taken: Vec<(u32, Instant)> = taken.lock().unwrap().iter().map(|(_, key, at)| (*key, *at)).collect();
    assert_eq!(taken, [(7, at(2)), (8, at(7))]);
}

#[test]
fn both_of_two_workers_on_one_queue_end() {
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let spawn = || Workers::spawn(&executor, &queue, &clock, 1, |_| core::future::ready(Outcome::Done));
    let (one, other) = (spawn(), spawn());
    run(&clock, &executor, async {
        clock.sleep(seconds(1)).await;
        queue.shut_down();
        let both = smol::future::zip(one.join(), other.join());
        let late = async {
            clock.sleep(seconds(60)).await;
            panic!("one of them has not ended after a minute");
        };
        smol::future::or(async { _ = both.await }, late).await;
    });
}

#[test]
fn a_key_waits_for_as_long_as_its_server_asks() {
    let times = Mutex::new(Vec::new());
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let mut status = Box::new(Status::default());
    status.code = 429;
    let busy = ApiError::Status { status, request: None, retry_after: Some(seconds(30)) };
    let (times_of, now) = (&times, clock.clone());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, move |_| {
        let mut times = times_of.lock().unwrap();
        times.push(now.now());
        let outcome = if times.len() < 3 { Outcome::from(&busy) } else { Outcome::Done };
        core::future::ready(outcome)
    });
    queue.add(1);
    run(&clock, &executor, async {
        clock.sleep(seconds(100)).await;
        assert_eq!(queue.num_requeues(&1), 0);
        queue.shut_down();
        workers.join().await;
    });
    assert_eq!(*times.lock().unwrap(), [0, 30, 60].map(|at| Instant::ZERO + seconds(at)));
}

#[test]
fn workers_that_always_have_a_key_let_others_go_on() {
    let done = AtomicU32::new(0);
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    (0..1000).for_each(|key| queue.add(key));
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |_| {
        done.fetch_add(1, SeqCst);
        core::future::ready(Outcome::Done)
    });
    let other = executor.spawn(async {
        smol::future::yield_now().await;
        done.load(SeqCst)
    });
    let meanwhile = run(&clock, &executor, other);
    assert!(meanwhile < 1000, "{meanwhile} of 1,000 keys before anybody else went on");
    drop(workers);
}

#[test]
fn workers_take_keys_by_priority_where_the_queue_has_lanes() {
    let taken = Mutex::new(Vec::new());
    let (clock, executor) = (Clock::simulated(), Executor::new());
    let queue = WorkQueue::with_discipline(ExponentialBackoff::default(), Lanes::default(), 0);
    let queue = Arc::new(SharedWorkQueue::<u32, StdLock, _, _>::new(queue));
    queue.add(1);
    queue.update(|queue| queue.add_with_priority(2, listwatch_core::queue::Priority::High));
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |key| {
        taken.lock().unwrap().push(key);
        core::future::ready(Outcome::Done)
    });
    queue.shut_down();
    run(&clock, &executor, workers.join());
    assert_eq!(*taken.lock().unwrap(), [2, 1]);
}

#[test]
fn a_delay_that_a_shut_down_dropped_moves_simulated_time_no_more() {
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |_| core::future::pending());
    queue.add(7);
    queue.add_after(clock.now(), 8, seconds(3600));
    run(&clock, &executor, clock.sleep(seconds(1)));
    queue.shut_down();
    let stands_still = caught_call(|| run(&clock, &executor, core::future::pending::<()>()));
    assert!(stands_still.unwrap_err().starts_with("no task can go on"));
    assert_eq!(clock.now(), Instant::ZERO + seconds(1));
    drop(workers);
}

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "in drop");
    }
}

#[test]
fn a_panic_whose_payload_panics_when_it_is_dropped_does_not_end_the_worker() {
    let done = AtomicU32::new(0);
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |key| {
        let done = &done;
        async move {
            if key == 1 && done.load(SeqCst) == 0 {
                std::panic::panic_any(PanicsInDrop);
            }
            done.fetch_add(1, SeqCst);
            Outcome::Done
        }
    });
    [1, 2].into_iter().for_each(|key| queue.add(key));
    run(&clock, &executor, clock.sleep(seconds(1)));
    assert_eq!((done.load(SeqCst), queue.stats().panics), (2, 1));
    drop(workers);
}

#[test]
fn jobs_and_additions_happen_when_the_clock_of_the_workers_says() {
    let clock = Clock::simulated();
    let (sleeper, executor) = (clock.clone(), Executor::new());
    let queue = Arc::new(SharedWorkQueue::<u32, StdLock>::new(WorkQueue::default().with_metrics()));
    let _workers = Workers::spawn(&executor, &queue, &clock, 1, |_| async {
        sleeper.sleep(seconds(10)).await;
        Outcome::Done
    });
    run(&clock, &executor, async {
        clock.sleep(seconds(3600)).await;
        [1, 2].into_iter().for_each(|key| queue.add(key));
        clock.sleep(seconds(1)).await;
        assert_eq!(queue.metrics(clock.now()).unwrap().longest_running, seconds(1), "an idle hour is no work");
        clock.sleep(seconds(100)).await;
    });
    let metrics = queue.metrics(clock.now()).unwrap();
    assert_eq!((metrics.work.total, metrics.latency.total), (seconds(20), seconds(10)));
}

#[test]
fn a_reconcile_that_panics_where_it_is_dropped_at_the_deadline_is_among_the_dropped() {
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 1, |_| async {
        let _held = PanicsInDrop;
        core::future::pending().await
    });
    queue.add(7);
    let unfinished = run(&clock, &executor, async {
        clock.sleep(seconds(1)).await;
        queue.shut_down_with_drain(clock.now(), seconds(1));
        workers.join().await
    });
    assert_eq!((unfinished.dropped, queue.stats().panics), ([7].to_vec(), 1));
}

#[test]
fn workers_of_a_queue_in_which_the_programs_code_panicked_end_and_say_so() {
    struct Flawed;
    impl RateLimiter for Flawed {
        fn delay(&mut self, _: Instant, _: u32) -> Duration {
            panic!("in the limiter");
        }
    }
    let reconciled = AtomicU32::new(0);
    let (clock, executor) = (Clock::simulated(), Executor::new());
    let queue = Arc::new(SharedWorkQueue::<u32, StdLock, Flawed>::new(WorkQueue::new(Flawed)));
    let workers = Workers::spawn(&executor, &queue, &clock, 2, |key| {
        reconciled.fetch_add(1, SeqCst);
        core::future::ready(if key == 1 { Outcome::Retry } else { Outcome::Done })
    });
    queue.add(1);
    let unfinished = run(&clock, &executor, workers.join());
    assert_eq!((reconciled.load(SeqCst), unfinished.is_empty(), unfinished.failed), (1, false, true));
    queue.add(2);
    assert!(queue.has_failed() && queue.is_drained());
}

/// A lock that a user has written.
enum MutexLock {}

impl Lock for MutexLock {
    type Cell<T> = Mutex<T>;

    fn new<T>(value: T) -> Mutex<T> {
        Mutex::new(value)
    }

    fn with<T, R>(cell: &Mutex<T>, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut cell.lock().unwrap())
    }

    fn read<T, R>(cell: &Mutex<T>, f: impl FnOnce(&T) -> R) -> R {
        f(&cell.lock().unwrap())
    }
}

#[test]
fn workers_run_over_any_discipline_limiter_and_lock() {
    /// Retries each key once.
    fn check<Lk, L, D>(limiter: L, discipline: D)
    where
        Lk: Lock + 'static,
        L: RateLimiter + 'static,
        D: Discipline<u32> + 'static,
        SharedWorkQueue<u32, Lk, L, D>: Send + Sync,
    {
        let (clock, executor, tries) = (Clock::simulated(), Executor::new(), Arc::new(AtomicU32::new(0)));
        let queue = WorkQueue::with_discipline(limiter, discipline, 0);
        let queue = Arc::new(SharedWorkQueue::<u32, Lk, L, D>::new(queue));
        let reconcile = {
            let tries = Arc::clone(&tries);
            move |_| {
                let is_retry = tries.fetch_add(1, SeqCst) >= 2;
                core::future::ready(if is_retry { Outcome::Done } else { Outcome::Retry })
            }
        };
        fn is_spawned_anywhere<F: Future + Send + 'static>(_: F) {}
        is_spawned_anywhere(Workers::run(&queue, &clock, 2, reconcile.clone()));
        let workers = Workers::spawn(&executor, &queue, &clock, 2, reconcile);
        [1, 2].into_iter().for_each(|key| queue.add(key));
        let unfinished = run(&clock, &executor, async {
            clock.sleep(seconds(100)).await;
            queue.shut_down();
            workers.join().await
        });
        assert!(unfinished.is_empty() && queue.is_drained());
        assert_eq!((tries.load(SeqCst), queue.stats().retries), (4, 2));
    }
    use listwatch_core::queue::{DefaultControllerRateLimiter, FastSlow, MaxWait, TokenBucket};
    check::<StdLock, _, _>(ExponentialBackoff::default(), Fifo);
    check::<StdLock, _, _>(ExponentialBackoff::default(), Lanes::default());
    check::<MutexLock, _, _>(DefaultControllerRateLimiter::default_controller(), Fifo);
    check::<MutexLock, _, _>(FastSlow::new(seconds(1), seconds(2), 1), Lanes::default());
    check::<StdLock, _, _>(MaxWait { limiter: TokenBucket::per_second(1, 1), max: seconds(5) }, Lanes::default());
}

#[test]
fn workers_whose_executor_was_dropped_end_and_name_the_keys_they_had() {
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 2, |_| core::future::pending());
    queue.add(7);
    run(&clock, &executor, clock.sleep(seconds(1)));
    drop(executor);
    let unfinished = smol::block_on(workers.join());
    assert_eq!(unfinished, Unfinished { dropped: [7].to_vec(), blocked: Vec::new(), failed: false });
}

#[test]
fn workers_are_a_future_that_any_thread_can_poll_without_an_executor() {
    fn spawn<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> std::thread::JoinHandle<T> {
        std::thread::spawn(|| smol::block_on(future))
    }
    let queue = Arc::new(SharedWorkQueue::<_, StdLock>::new(WorkQueue::default().with_metrics()));
    let (clock, panics) = (Clock::real(), Arc::new(AtomicU32::new(0)));
    let (done, has_done) = mpsc::channel();
    let workers = || {
        let (done, panics) = (done.clone(), Arc::clone(&panics));
        let counted = Arc::clone(&panics);
        let on_panic = move |_: &u32, _: &str| _ = counted.fetch_add(1, SeqCst);
        let reconcile = move |key: u32| {
            let (done, has_panicked) = (done.clone(), panics.load(SeqCst) > 0);
            async move {
                assert!(key != 7 || has_panicked, "once");
                done.send(key).unwrap();
                if key == 8 { core::future::pending().await } else { Outcome::Done }
            }
        };
        let executor = Executor::new();
        let workers = Workers::spawn_with(&executor, &queue, &clock, 2, reconcile, on_panic);
        async move { executor.run(workers.join()).await }
    };
    let threads = [spawn(workers()), spawn(workers())];
    (0..=8).for_each(|key| queue.add(key));
    let mut taken: Vec<u32> = (0..=8).map(|_| has_done.recv_timeout(PATIENCE).unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    // Of ten tries, all but the one that never resolves.
    wait_until(|| queue.metrics(clock.now()).unwrap().work.count == 9);
    queue.shut_down_with_drain(clock.now(), Duration::from_millis(1));
    // On a busy machine, a thread may not give its worker up in time.
    let unfinished = threads.map(|thread| thread.join().unwrap());
    let unfinished: Vec<u32> = unfinished.into_iter().flat_map(|it| [it.dropped, it.blocked].concat()).collect();
    assert_eq!((unfinished, panics.load(SeqCst)), ([8].to_vec(), 1));
    wait_until(|| queue.is_drained());
}

/// The first key computes on its thread until the other thread has had the rest.
#[test]
fn no_key_waits_for_a_thread_that_computes() {
    for keys in [1, 8] {
        let (queue, clock) = (queue(), Clock::real());
        let (taken, has_taken) = mpsc::channel();
        let (free, computes) = mpsc::channel();
        let computes = Arc::new(Mutex::new(computes));
        let thread = || {
            let (taken, computes) = (taken.clone(), Arc::clone(&computes));
            let workers = Workers::run(&queue, &clock, 2, move |key: u32| {
                taken.send((key, std::thread::current().id())).unwrap();
                if key == 0 {
                    computes.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                }
                core::future::ready(Outcome::Done)
            });
            std::thread::spawn(|| smol::block_on(workers))
        };
        let threads = [thread(), thread()];
        // Every worker waits by then, or this shows less.
        std::thread::park_timeout(Duration::from_millis(50));
        queue.add(0);
        let (_, busy) = has_taken.recv_timeout(PATIENCE).unwrap();
        for key in 1..=keys {
            queue.add(key);
            let (taken, by) = has_taken.recv_timeout(PATIENCE / 2).unwrap();
            assert!(taken == key && by != busy);
            std::thread::park_timeout(Duration::from_millis(5));
        }
        free.send(()).unwrap();
        queue.shut_down();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_empty()));
    }
}

#[test]
fn an_idle_worker_of_a_set_is_woken_while_another_reconciles() {
    let done = AtomicU32::new(0);
    let (clock, executor, queue) = (Clock::simulated(), Executor::new(), queue());
    let workers = Workers::spawn(&executor, &queue, &clock, 3, |_| async {
        clock.sleep(seconds(10)).await;
        done.fetch_add(1, SeqCst);
        Outcome::Done
    });
    run(&clock, &executor, async {
        for key in 0..3 {
            clock.sleep(seconds(1)).await;
            queue.add(key);
        }
        clock.sleep(seconds(11)).await;
    });
    assert_eq!((done.load(SeqCst), clock.now()), (3, Instant::ZERO + seconds(14)));
    drop(workers);
}

#[test]
fn a_future_of_workers_that_is_dropped_gives_its_keys_back() {
    let (clock, queue) = (Clock::real(), queue());
    let mut workers = Box::pin(Workers::run(&queue, &clock, 1, |_| core::future::pending()));
    queue.add(7);
    while !queue.is_empty() {
        assert_eq!(smol::block_on(smol::future::poll_once(&mut workers)), None);
    }
    queue.shut_down();
    assert!(!queue.is_drained());
    drop(workers);
    assert!(queue.is_drained());
}
