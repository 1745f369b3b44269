//! Hundreds of starts and stops leave nothing behind: no thread, socket, task, timer, waker or allocation.

mod controllers;
mod counts;
mod informers;
mod site;

use listwatch_tests::alone::alone;

/// How often each part is started and stopped before it is counted: buffers that stay have grown, and threads that stay have
/// started.
const WARM_UP: u32 = 20;
const ROUNDS: u32 = 400;

#[test]
fn hundreds_of_starts_and_stops_leave_nothing_behind() {
    alone(|| {
        let _profiler = dhat::Profiler::builder().testing().build();
        informers::start_and_stop_in_simulated_time();
        controllers::start_and_stop_in_simulated_time();
        informers::start_and_stop_over_sockets();
        informers::start_and_stop_in_two_threads();
        controllers::start_and_stop_over_sockets();
    });
}
