//! Inside of tokio, whose own drivers of timers and sockets are off.

use crate::runtimes::ends;
use crate::runtimes::pipeline::pipeline;
use listwatch::SharedWorkQueue;
use listwatch::{Clock, Outcome, Workers};
use std::sync::Arc;
use tokio::runtime::Builder;

#[test]
fn the_pipeline_runs_in_one_thread_of_tokio() {
    ends(|| {
        let runtime = Builder::new_current_thread().build().unwrap();
        runtime.block_on(pipeline(|task| drop(tokio::spawn(task))));
    });
}

#[test]
fn the_pipeline_runs_in_several_threads_of_tokio() {
    ends(|| {
        let runtime = Builder::new_multi_thread().worker_threads(3).build().unwrap();
        // The main task is spawned too: it is `Send`, as every other.
        let main = runtime.spawn(pipeline(|task| drop(tokio::spawn(task))));
        runtime.block_on(main).unwrap();
    });
}

#[test]
fn a_reconcile_uses_the_runtime_that_runs_its_workers() {
    ends(|| {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let queue = Arc::new(SharedWorkQueue::<u32>::default());
        let workers = Workers::run(&queue, &Clock::real(), 2, |key: u32| async move {
            let answer = tokio::spawn(async move { key });
            if answer.await.is_ok_and(|answer| answer == key) { Outcome::Done } else { Outcome::Retry }
        });
        queue.add(7);
        queue.shut_down();
        let ended = runtime.block_on(runtime.spawn(workers)).unwrap();
        assert_eq!((ended.dropped.len(), queue.stats().panics, queue.num_requeues(&7)), (0, 0, 0));
    });
}
