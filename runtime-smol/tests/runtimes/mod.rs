//! The whole pipeline under executors of several makes: list and watch over HTTP, events, work queue, workers, requests
//! over HTTP, drain, stop.

mod bare;
mod pipeline;
mod smol_executor;
mod tokio_runtime;
mod workers;

use core::time::Duration;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

/// Runs `test` in a thread of its own, and fails if it does not end: a lost wake-up would hold up the suite for ever.
fn ends(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel::<()>();
    let thread = thread::spawn(move || {
        let _done = done;
        test();
    });
    match is_done.recv_timeout(Duration::from_secs(120)) {
        Err(RecvTimeoutError::Timeout) => panic!("the pipeline is stuck"),
        _ => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
    }
}
