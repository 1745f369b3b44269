use crate::clock::Clock;
use async_executor::Executor;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread::{self, Thread};

/// Runs `main` on this thread until it is done, and the tasks of `executor` beside it.
///
/// Under a simulated clock, time jumps to the next deadline whenever no task can run. While a task waits for a peer
/// outside of simulated time ([`Clock::outside`]), the thread waits too. So it does for a world with a
/// [pace](crate::World::paced).
///
/// Under a real clock, any other executor does as well: [`Events`](crate::Events), [`Synced`](crate::events::Synced),
/// [`Workers::run`](crate::Workers::run), [`Client::call`](crate::Client::call) and [`Clock::sleep`] are plain futures.
///
/// ```
/// use core::time::Duration;
/// use listwatch_runtime_smol::{Clock, Executor, run};
///
/// let (clock, executor) = (Clock::simulated(), Executor::new());
/// let nap = executor.spawn(clock.sleep(Duration::from_secs(60)));
/// let slept = run(&clock, &executor, async {
///     nap.await;
///     clock.now()
/// });
/// assert_eq!(slept, listwatch_runtime_smol::time::Instant::ZERO + Duration::from_secs(60));
/// ```
///
/// # Panics
/// Under a simulated clock, if no task can run and none waits for time or for a peer outside: `main` would never be
/// done. Also if another thread runs under the same simulated clock.
pub fn run<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    if clock.is_simulated() { run_simulated(clock, executor, main) } else { smol::block_on(executor.run(main)) }
}

/// How many polls the other tasks get for one of `main`.
const STEPS: usize = 64;

fn run_simulated<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    let _entered = clock.enter();
    let woken = Arc::new(Woken { main: AtomicBool::new(true), thread: Unpark(thread::current()).into() });
    let waker = Waker::from(Arc::clone(&woken));
    let mut main = pin!(main);
    loop {
        // Read first: a task that another thread wakes when it releases the time is then found below.
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
            wait(executor, &woken, |unpark| clock.stands_still(unpark).then_some(Duration::MAX));
        } else if clock.ahead().is_some() {
            wait(executor, &woken, |_| clock.ahead());
        } else {
            assert!(
                clock.advance(),
                "no task can go on, and none waits for time: a task that waits for another thread has to hold a `Clock::outside`"
            );
        }
    }
}

/// Waits until a task can run, or no time is `left`. The thread is unparked if that ends earlier.
fn wait(executor: &Executor<'_>, woken: &Woken, left: impl Fn(&Waker) -> Option<Duration>) {
    let unpark = Waker::from(Arc::clone(&woken.thread));
    // While the tick is pending, a task that can run wakes it.
    let mut tick = pin!(executor.tick());
    while !woken.is_due()
        && let Some(left) = left(&unpark)
    {
        if tick.as_mut().poll(&mut Context::from_waker(&unpark)).is_ready() {
            return;
        }
        thread::park_timeout(left);
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
