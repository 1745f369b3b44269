//! The work queue: what one key costs. `compare` runs the same of client-go.

use divan::Bencher;
use divan::counter::ItemsCount;
use listwatch_core::queue::Outcome;
use listwatch_core::sync::{JobGuard, SharedWorkQueue, StdLock};
use listwatch_core::{Instant, WorkQueue};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const KEYS: usize = 100_000;

type Queue = WorkQueue<Arc<str>>;

fn main() {
    divan::main();
}

/// As long as the keys of pods are.
fn some_keys(number: usize) -> Vec<Arc<str>> {
    (0..number).map(|n| format!("ns-{:03}/pod-{n:07}", n % 100).into()).collect()
}

fn keys() -> Vec<Arc<str>> {
    some_keys(KEYS)
}

fn add_all(queue: &mut Queue, keys: &[Arc<str>]) {
    for key in keys {
        queue.add(Arc::clone(key));
    }
}

fn cycle(queue: &mut Queue, key: &Arc<str>) {
    queue.add(Arc::clone(key));
    let job = queue.poll_job().expect("a key was added");
    queue.done(job);
}

#[divan::bench]
fn add_get_done_one_key(bencher: Bencher<'_, '_>) {
    let (keys, mut queue) = (keys(), Queue::default());
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| (0..KEYS).for_each(|_| cycle(&mut queue, &keys[0])));
}

#[divan::bench]
fn add_get_done_empty(bencher: Bencher<'_, '_>) {
    let (keys, mut queue) = (keys(), Queue::default());
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| keys.iter().for_each(|key| cycle(&mut queue, key)));
}

/// Each key that is handed out is added again behind all others.
#[divan::bench]
fn add_get_done_100k_waiting(bencher: Bencher<'_, '_>) {
    let (keys, mut queue) = (keys(), Queue::default());
    add_all(&mut queue, &keys);
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| {
        for key in &keys {
            let job = queue.poll_job().expect("all are waiting");
            queue.done(job);
            queue.add(Arc::clone(key));
        }
    });
}

/// None of the keys that wait is added again before it has been handed out.
#[divan::bench]
fn add_get_done_100k_waiting_others(bencher: Bencher<'_, '_>) {
    let (keys, mut queue) = (some_keys(2 * KEYS), Queue::default());
    add_all(&mut queue, &keys[..KEYS]);
    let mut next = KEYS;
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| {
        for key in &keys[next..next + KEYS] {
            let job = queue.poll_job().expect("as many are waiting as ever");
            queue.done(job);
            queue.add(Arc::clone(key));
        }
        next = KEYS - next;
    });
}

fn shared_get_done(queue: &SharedWorkQueue<Arc<str>, StdLock>) {
    match pin!(queue.get()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(job) => drop(job),
        Poll::Pending => unreachable!("a key is ready"),
    }
}

/// Behind a lock, as client-go's always is.
#[divan::bench]
fn locked_add_get_done_empty(bencher: Bencher<'_, '_>) {
    let (keys, queue) = (keys(), SharedWorkQueue::default());
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| {
        for key in &keys {
            queue.add(Arc::clone(key));
            shared_get_done(&queue);
        }
    });
}

/// Behind a lock, as client-go's always is.
#[divan::bench]
fn locked_add_get_done_100k_waiting(bencher: Bencher<'_, '_>) {
    let (keys, mut queue) = (keys(), Queue::default());
    add_all(&mut queue, &keys);
    let queue = SharedWorkQueue::new(queue);
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| {
        for key in &keys {
            shared_get_done(&queue);
            queue.add(Arc::clone(key));
        }
    });
}

/// A worker that goes from one key to the next, as those of the runtime do.
fn work(
    bencher: Bencher<'_, '_>,
    settle: impl Fn(&Shared, &JobGuard<'_, Arc<str>, StdLock>),
    outcome: Option<Outcome>,
) {
    let (keys, mut queue) = (keys(), Queue::default());
    add_all(&mut queue, &keys);
    let queue = Shared::new(queue);
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| {
        let mut next = queue.get();
        for _ in 0..KEYS {
            let Poll::Ready(Some(job)) = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop())) else {
                unreachable!("each key is added again")
            };
            settle(&queue, &job);
            next = match outcome {
                Some(outcome) => job.finish_and_get(Instant::ZERO, outcome),
                None => job.done_and_get(),
            };
        }
    });
}

type Shared = SharedWorkQueue<Arc<str>, StdLock>;

/// Three locks for each key.
#[divan::bench]
fn locked_forget_add_done(bencher: Bencher<'_, '_>) {
    let settle = |queue: &Shared, job: &JobGuard<'_, Arc<str>, StdLock>| {
        queue.forget(job.key());
        queue.add_after(Instant::ZERO, Arc::clone(job.key()), Duration::ZERO);
    };
    work(bencher, settle, None);
}

/// One lock for each key, for the same.
#[divan::bench]
fn locked_finish(bencher: Bencher<'_, '_>) {
    work(bencher, |_, _| {}, Some(Outcome::RequeueAfter(Duration::ZERO)));
}

#[divan::bench]
fn add_waiting(bencher: Bencher<'_, '_>) {
    let (keys, mut queue) = (keys(), Queue::default());
    add_all(&mut queue, &keys);
    bencher.counter(ItemsCount::new(KEYS)).bench_local(|| add_all(&mut queue, &keys));
}

/// Into a new queue, in which all of them are delayed in the end.
#[divan::bench]
fn add_rate_limited(bencher: Bencher<'_, '_>) {
    let keys = keys();
    bencher.counter(ItemsCount::new(KEYS)).with_inputs(Queue::default).bench_local_values(|mut queue| {
        for key in &keys {
            queue.add_rate_limited(Instant::ZERO, Arc::clone(key));
        }
        queue
    });
}
