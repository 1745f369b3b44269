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

fn run_simulated<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut main = pin!(main);
    loop {
        if woken.0.swap(false, Ordering::AcqRel) {
            if let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker)) {
                return output;
            }
        } else if !executor.try_tick() && !woken.0.load(Ordering::Acquire) {
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
