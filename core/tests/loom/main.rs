//! The shared work queue itself, the shared reconciler, the store and the pipe of a response, on every interleaving of
//! their threads that loom can tell apart.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release --package listwatch-core --test loom
//! ```
//!
//! Everything that the queue shares lies behind its lock, so a lock of loom's, and wakers of loom's futures, are all
//! that has to stand in. A lost wake-up leaves a thread that nobody wakes, which loom reports as a deadlock. The
//! threads of a test are preempted [`PREEMPTIONS`] times at most; where they wait, they are switched without limit.
#![cfg(loom)]
#![expect(clippy::unwrap_used, reason = "a thread that panicked fails the test")]

mod controller;
mod response;
mod store;

use core::pin::pin;
use core::task::Poll;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::queue::{Drained, Outcome};
use listwatch_core::sync::{Due, Get, Lock, SharedWorkQueue};
use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use loom::sync::{Arc, Mutex};
use loom::thread::{self, JoinHandle};
use std::future::poll_fn;

/// How often threads are interrupted where they could have gone on, on one run.
const PREEMPTIONS: usize = 3;

/// loom's mutex as the queue's lock.
enum LoomLock {}

impl Lock for LoomLock {
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

    /// So that keys are left in front of the lock.
    fn is_taken<T>(_cell: &Mutex<T>) -> bool {
        true
    }
}

type Queue = SharedWorkQueue<u32, LoomLock>;

/// Runs `test` in every interleaving, each time with a new queue.
fn explore(test: impl Fn(Arc<Queue>) + Sync + Send + 'static) {
    check(move || test(Arc::default()));
}

/// Runs `test` in every interleaving.
fn check(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(test);
}

/// A thread that has the queue.
fn spawn<T: 'static>(queue: &Arc<Queue>, work: impl FnOnce(&Queue) -> T + 'static) -> JoinHandle<T> {
    let queue = Arc::clone(queue);
    thread::spawn(move || work(&queue))
}

/// Takes one key and gives it back.
fn take_one(queue: &Queue) -> Option<u32> {
    block_on(queue.get()).map(|job| *job.key())
}

/// Takes one key and never gives it back.
fn keep_one(queue: &Queue) -> u32 {
    let job = block_on(queue.get()).unwrap();
    let key = *job.key();
    core::mem::forget(job);
    key
}

/// No key is given back, so only the additions, and those who were woken by them, can wake the second worker.
#[test]
fn no_wake_up_is_lost() {
    explore(|queue| {
        let workers = [spawn(&queue, keep_one), spawn(&queue, keep_one)];
        queue.add(1);
        queue.add(2);
        let mut taken = workers.map(|worker| worker.join().unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn no_wake_up_is_lost_where_a_worker_goes_on_to_its_next_key() {
    explore(|queue| {
        let busy = spawn(&queue, |queue| {
            block_on(async {
                let first = queue.get().await.unwrap();
                drop(first.done_and_get().await);
            });
        });
        let other = spawn(&queue, take_one);
        (1..=3).for_each(|key| queue.add(key));
        busy.join().unwrap();
        other.join().unwrap();
        assert!(queue.is_empty());
    });
}

/// The outcome of the last key and the next key come under one lock; a retry at once wakes the other worker.
#[test]
fn no_wake_up_is_lost_where_an_outcome_is_given_back_with_the_wait_for_the_next_key() {
    explore(|queue| {
        let busy = spawn(&queue, |queue| {
            block_on(async {
                let first = queue.get().await.unwrap();
                let again = Outcome::RequeueAfter(Duration::ZERO);
                drop(first.finish_and_get(Instant::ZERO, again).await);
            });
        });
        let other = spawn(&queue, take_one);
        (1..=2).for_each(|key| queue.add(key));
        busy.join().unwrap();
        other.join().unwrap();
        assert_eq!(queue.len(), 0);
    });
}

/// No key is given back. A key that waits in front of the lock is one that a worker must come for.
#[test]
fn no_wake_up_is_lost_where_keys_are_posted() {
    explore(|queue| {
        let workers = [spawn(&queue, keep_one), spawn(&queue, keep_one)];
        queue.add(1);
        queue.add(2);
        let mut taken = workers.map(|worker| worker.join().unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

/// A worker whose thread computes: it sleeps, and once it was woken it does not come.
fn stall(queue: &Queue) -> Get<'_, u32, LoomLock> {
    let mut get = queue.get();
    let first_look = block_on(poll_fn(|cx| Poll::Ready(pin!(&mut get).poll(cx))));
    assert!(first_look.is_pending());
    get
}

#[test]
fn no_key_waits_for_a_worker_that_was_woken_and_does_not_come() {
    let after = |queue: &Queue, key| _ = queue.add_after(Instant::ZERO, key, Duration::ZERO);
    for come in [|queue: &Queue, key| queue.add(key), after] {
        explore(move |queue| {
            let _stalled = stall(&queue);
            let worker = spawn(&queue, |queue| [keep_one(queue), keep_one(queue)]);
            come(&queue, 1);
            let other = spawn(&queue, move |queue| come(queue, 2));
            other.join().unwrap();
            let mut taken = worker.join().unwrap();
            taken.sort_unstable();
            assert_eq!(taken, [1, 2]);
        });
    }
}

/// The worker that was woken leaves, while a key waits in front of the lock and another worker sleeps.
#[test]
fn a_worker_that_is_dropped_passes_posted_keys_on() {
    explore(|queue| {
        let worker = spawn(&queue, |queue| [keep_one(queue), keep_one(queue)]);
        let fickle = spawn(&queue, |queue| {
            let mut get = pin!(queue.get());
            let first_look = block_on(poll_fn(|cx| Poll::Ready(get.as_mut().poll(cx))));
            if let Poll::Ready(Some(job)) = first_look {
                queue.add(*job.key());
            }
        });
        queue.add(7);
        queue.add(8);
        fickle.join().unwrap();
        let mut taken = worker.join().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, [7, 8]);
    });
}

/// Two producers post while two workers go from key to key and sleep in between. Each key comes out.
#[test]
fn all_posted_keys_come_out_before_the_end() {
    explore(|queue| {
        let work = |queue: &Queue| {
            let mut taken = Vec::new();
            block_on(async {
                let mut next = queue.get();
                while let Some(job) = next.await {
                    taken.push(*job.key());
                    next = job.done_and_get();
                }
            });
            taken
        };
        let worker = spawn(&queue, work);
        let producer = spawn(&queue, |queue| [1, 2].into_iter().for_each(|key| queue.add(key)));
        queue.add(3);
        producer.join().unwrap();
        queue.shut_down();
        let mut taken = worker.join().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2, 3]);
        assert!(queue.is_drained());
    });
}

/// A drain whose keys wait in front of the lock is neither over before they are done, nor unheard when they are.
#[test]
fn a_drain_is_over_with_the_last_posted_key() {
    explore(|queue| {
        let worker = spawn(&queue, |queue| {
            block_on(async {
                let mut next = queue.get();
                while let Some(job) = next.await {
                    next = job.done_and_get();
                }
            });
        });
        let timer = spawn(&queue, |queue| {
            let mut delays = queue.delays();
            block_on(poll_fn(|cx| match delays.poll_due(cx, Instant::ZERO) {
                Due::Closed => Poll::Ready(()),
                Due::At(_) | Due::Idle => Poll::Pending,
            }));
            queue.drained()
        });
        queue.add(1);
        queue.add(2);
        queue.shut_down_with_drain(Instant::ZERO, Duration::from_secs(1));
        worker.join().unwrap();
        assert_eq!(timer.join().unwrap(), Some(Drained::default()));
    });
}

/// An inbox has room for two keys under loom: more are added to the queue by the producers.
#[test]
fn no_key_is_lost_where_the_inbox_is_full() {
    explore(|queue| {
        let worker = spawn(&queue, |queue| (0..5).map(|_| keep_one(queue)).collect::<Vec<_>>());
        let producer = spawn(&queue, |queue| [1, 2].into_iter().for_each(|key| queue.add(key)));
        (3..=5).for_each(|key| queue.add(key));
        producer.join().unwrap();
        let mut taken = worker.join().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2, 3, 4, 5]);
    });
}

/// A thread finds what it has posted itself, and what it was told of.
#[test]
fn every_call_but_that_of_a_worker_finds_posted_keys() {
    explore(|queue| {
        let worker = spawn(&queue, |queue| {
            let first = block_on(queue.get()).unwrap();
            queue.add(8);
            let waiting = queue.len();
            (*first.key(), waiting)
        });
        queue.add(7);
        queue.add(9);
        let (first, waiting) = worker.join().unwrap();
        assert!((first, waiting) == (7, 1) || (first, waiting) == (7, 2), "{first} {waiting}");
        assert_eq!(queue.len(), 2);
    });
}

/// What is added while its key is with a worker is seen by that worker or by the next.
#[test]
fn a_key_is_never_with_two_workers_and_its_newest_state_is_seen() {
    explore(|queue| {
        let (taken, newest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let worker = || {
            let (taken, newest) = (Arc::clone(&taken), Arc::clone(&newest));
            spawn(&queue, move |queue| {
                let mut seen = 0;
                while let Some(job) = block_on(queue.get()) {
                    assert!(!taken.swap(true, Relaxed), "{} is with another worker", job.key());
                    seen = newest.load(Relaxed);
                    taken.store(false, Relaxed);
                }
                seen
            })
        };
        let workers = [worker(), worker()];
        for state in 1..=2 {
            newest.store(state, Relaxed);
            queue.add(7);
        }
        queue.shut_down();
        assert_eq!(workers.map(|worker| worker.join().unwrap()).into_iter().max(), Some(2));
    });
}

#[test]
fn shutting_down_wakes_everyone() {
    explore(|queue| {
        let workers = [spawn(&queue, take_one), spawn(&queue, take_one)];
        let timer = spawn(&queue, |queue| {
            let mut delays = queue.delays();
            block_on(poll_fn(|cx| match delays.poll_due(cx, Instant::ZERO) {
                Due::Closed => Poll::Ready(()),
                Due::At(_) | Due::Idle => Poll::Pending,
            }));
        });
        queue.shut_down();
        assert_eq!(workers.map(|worker| worker.join().unwrap()), [None, None]);
        timer.join().unwrap();
    });
}

/// One worker waits for the key; the other leaves after its first look, woken or not, and with the key or without it.
#[test]
fn a_worker_that_is_dropped_passes_its_wake_up_on() {
    explore(|queue| {
        let worker = spawn(&queue, take_one);
        let fickle = spawn(&queue, |queue| {
            let mut get = pin!(queue.get());
            let first_look = block_on(poll_fn(|cx| Poll::Ready(get.as_mut().poll(cx))));
            if let Poll::Ready(Some(job)) = first_look {
                queue.add(*job.key());
            }
        });
        queue.add(7);
        fickle.join().unwrap();
        assert_eq!(worker.join().unwrap(), Some(7));
    });
}

#[test]
fn the_task_that_follows_the_delays_hears_of_an_earlier_one() {
    explore(|queue| {
        let timer = spawn(&queue, |queue| {
            let mut delays = queue.delays();
            block_on(poll_fn(|cx| match delays.poll_due(cx, Instant::ZERO) {
                Due::At(at) if at == Instant::ZERO + Duration::from_secs(1) => Poll::Ready(()),
                _ => Poll::Pending,
            }));
        });
        let other = spawn(&queue, |queue| {
            queue.add_after(Instant::ZERO, 1, Duration::from_secs(2));
        });
        queue.add_after(Instant::ZERO, 2, Duration::from_secs(1));
        other.join().unwrap();
        timer.join().unwrap();
    });
}
