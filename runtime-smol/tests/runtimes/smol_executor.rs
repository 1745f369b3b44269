//! On smol's executor, in one thread and in several.

use crate::runtimes::ends;
use crate::runtimes::pipeline::pipeline;
use listwatch::{Clock, Executor, run};
use smol::future::yield_now;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;

#[test]
fn the_pipeline_runs_in_one_thread_of_smol() {
    ends(|| {
        let executor = Executor::new();
        run(&Clock::real(), &executor, pipeline(|task| executor.spawn(task).detach()));
    });
}

#[test]
fn the_pipeline_runs_in_several_threads_of_smol() {
    ends(|| {
        let (executor, (stop, stopped)) = (Executor::new(), smol::channel::bounded::<()>(1));
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| smol::block_on(executor.run(stopped.recv())));
            }
            smol::block_on(pipeline(|task| executor.spawn(task).detach()));
            drop(stop);
        });
    });
}

/// The other thread is in `Executor::run`, which takes many tasks at once into a queue of its own.
#[test]
fn tasks_do_not_wait_for_a_thread_that_is_blocked() {
    ends(|| {
        let (executor, (release, released), (block, is_blocked)) = (Executor::new(), channel(), channel());
        let blocks = async move {
            block.send(()).unwrap();
            released.recv().unwrap();
        };
        executor.spawn(blocks).detach();
        let others: Vec<_> = (0..64).map(|_| executor.spawn(async {})).collect();
        let (stop, is_stopped) = smol::channel::bounded::<()>(1);
        thread::scope(|scope| {
            scope.spawn(|| smol::block_on(executor.run(is_stopped.recv())));
            is_blocked.recv().unwrap();
            run(&Clock::real(), &executor, async {
                for other in others {
                    other.await;
                }
            });
            release.send(()).unwrap();
            drop(stop);
        });
    });
}

/// A subscriber in `main` would fall behind, and what it has not read takes memory.
#[test]
fn main_gets_every_second_turn() {
    ends(|| {
        let (executor, others) = (Executor::new(), Arc::new(AtomicUsize::new(0)));
        let counted = Arc::clone(&others);
        let other = async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                yield_now().await;
            }
        };
        executor.spawn(other).detach();
        run(&Clock::real(), &executor, async {
            for _ in 0..10_000 {
                yield_now().await;
            }
        });
        assert_eq!(others.load(Ordering::Relaxed), 10_000);
    });
}
