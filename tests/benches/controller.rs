//! What a key costs in a controller, next to the workers of a queue alone: 100,000 keys, 8 workers, on one thread and
//! on four.
#![expect(clippy::unwrap_used, reason = "what cannot be built cannot be measured")]

use divan::Bencher;
use divan::counter::ItemsCount;
use listwatch::controller::{Controller, ControllerHandle};
use listwatch::decode::MetadataOnly;
use listwatch::{Client, Clock, Executor, Informers, Outcome, Resource, SharedWorkQueue, Workers, World, run};
use listwatch_core::Key;
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Feed, Trace, Troubles};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const KEYS: usize = 100_000;
const WORKERS: usize = 8;
const FOOS: &str = "/apis/example.com/v1/foos";

fn main() {
    divan::main();
}

/// As long as the keys of pods are.
fn keys() -> Vec<Key> {
    (0..KEYS).map(|n| Key::new(Some(&format!("ns-{:03}", n % 100)), &format!("pod-{n:07}"))).collect()
}

/// The informers of a server without objects.
fn informers(clock: &Clock) -> Informers {
    let server = ApiServer::new(FOOS, Trace::new(false));
    let now = clock.clone();
    let line = ApiLine::new(&server, Dice::new(1), Troubles::NONE, move || now.now());
    Informers::new(World::from_parts(clock.clone(), Client::new(line, clock.clone()), move |_| {
        Box::new(Feed::new(&server))
    }))
}

/// Worker tasks of a queue that has all keys.
#[divan::bench(sample_count = 10)]
fn workers_one_thread(bencher: Bencher<'_, '_>) {
    let keys = keys();
    bencher.counter(ItemsCount::new(KEYS)).with_inputs(|| keys.clone()).bench_local_values(|keys| {
        let (clock, executor, queue) = (Clock::real(), Executor::new(), Arc::new(SharedWorkQueue::<Key>::default()));
        keys.into_iter().for_each(|key| queue.add(key));
        let workers = Workers::spawn(&executor, &queue, &clock, WORKERS, |_key: Key| async { Outcome::Done });
        queue.shut_down();
        run(&clock, &executor, workers.join())
    });
}

#[divan::bench(sample_count = 10)]
fn controller_one_thread(bencher: Bencher<'_, '_>) {
    controller(bencher, 1);
}

#[divan::bench(sample_count = 10)]
fn controller_four_threads(bencher: Bencher<'_, '_>) {
    controller(bencher, 4);
}

/// A controller that all keys were added to before it runs, from its start until the last key is done.
fn controller(bencher: Bencher<'_, '_>, threads: usize) {
    let keys = keys();
    let with_keys = || {
        let handle = ControllerHandle::default();
        keys.iter().for_each(|key| assert!(handle.add(key.clone())));
        handle
    };
    bencher.counter(ItemsCount::new(KEYS)).with_inputs(with_keys).bench_local_values(|handle| {
        let clock = Clock::real();
        let informers = informers(&clock);
        let foos = informers.informer_of::<MetadataOnly>(Resource::new(FOOS));
        let (done, stop) = (AtomicUsize::new(0), handle.clone());
        let controller = Controller::new("bench", &informers).reconciles(&foos).workers(WORKERS).threads(threads);
        let reconcile = async |_cx, _key| {
            if done.fetch_add(1, Ordering::Relaxed) + 1 == KEYS {
                stop.stop();
            }
            Ok(Outcome::Done)
        };
        controller.keys(&handle).on_report(|_, _| {}).run(reconcile).unwrap();
    });
}
