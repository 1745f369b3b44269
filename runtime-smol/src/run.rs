use crate::Clock;
use async_executor::Executor;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread::{self, Thread};

/// Runs `main`, and the tasks of `executor` beside it, on this thread until `main` is done.
///
/// Under a simulated clock the time jumps ahead whenever no task can go on, unless one waits for what runs outside
/// ([`Clock::outside`]): then the thread waits too.
///
/// # Panics
/// Under a simulated clock, when no task can go on and none waits for time or for what runs outside: `main` would never be
/// done. Also where another thread runs under the same simulated clock.
pub fn run<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    if clock.is_simulated() { run_simulated(clock, executor, main) } else { smol::block_on(executor.run(main)) }
}

/// How many steps the other tasks get for one of `main`.
const STEPS: usize = 64;

fn run_simulated<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    let _entered = clock.enter();
    let woken = Arc::new(Woken { main: AtomicBool::new(true), thread: Unpark(thread::current()).into() });
    let waker = Waker::from(Arc::clone(&woken));
    let mut main = pin!(main);
    loop {
        // Asked first: whatever was woken by another thread that waits no longer is then found below.
        let stands_still = clock.stands_still(Waker::noop());
        let main_goes_on = woken.main.swap(false, Ordering::AcqRel);
        if main_goes_on && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let steps = (0..STEPS).take_while(|_| executor.try_tick()).count();
        if main_goes_on || steps > 0 || woken.is_due() {
            continue;
        }
        if stands_still {
            wait_outside(clock, executor, &woken);
        } else {
            assert!(
                clock.advance(),
                "no task can go on, and none waits for time: what waits for another thread has to hold a `Clock::outside`"
            );
        }
    }
}

/// Waits until a task can go on, or none waits any more for what runs outside.
fn wait_outside(clock: &Clock, executor: &Executor<'_>, woken: &Woken) {
    let unpark = Waker::from(Arc::clone(&woken.thread));
    // While it is pending, it is told of tasks that can go on.
    let mut tick = pin!(executor.tick());
    while !woken.is_due() && clock.stands_still(&unpark) {
        if tick.as_mut().poll(&mut Context::from_waker(&unpark)).is_ready() {
            return;
        }
        thread::park();
    }
}

struct Woken {
    main: AtomicBool,
    thread: Arc<Unpark>,
}

impl Woken {
    fn is_due(&self) -> bool {
        self.main.load(Ordering::Acquire)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.main.store(true, Ordering::Release);
        self.thread.0.unpark();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
