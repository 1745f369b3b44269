use crate::Clock;
use async_executor::Executor;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

/// Runs `main`, and the tasks of `executor` beside it, on this thread until `main` is done.
///
/// Under a simulated clock the time jumps ahead whenever no task can go on.
///
/// # Panics
/// Under a simulated clock, when no task can go on and none waits for time: `main` would never be done.
pub fn run<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    if clock.is_simulated() { run_simulated(clock, executor, main) } else { smol::block_on(executor.run(main)) }
}

/// How many steps the other tasks get for one of `main`.
const STEPS: usize = 64;

fn run_simulated<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut main = pin!(main);
    loop {
        let main_goes_on = woken.0.swap(false, Ordering::AcqRel);
        if main_goes_on && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let steps = (0..STEPS).take_while(|_| executor.try_tick()).count();
        if !main_goes_on && steps == 0 && !woken.0.load(Ordering::Acquire) {
            assert!(clock.advance(), "no task can go on, and none waits for time");
        }
    }
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}
