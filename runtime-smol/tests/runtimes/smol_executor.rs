//! On smol's executor, in one thread and in several.

use crate::ends;
use crate::pipeline::pipeline;
use listwatch_runtime_smol::{Clock, Executor, run};
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
