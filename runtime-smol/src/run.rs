use crate::clock::{Clock, SimulatedTime};
use async_executor::Executor;
use core::future::{pending, poll_fn};
use core::pin::{Pin, pin};
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
/// use listwatch::{Clock, Executor, run};
///
/// let (clock, executor) = (Clock::simulated(), Executor::new());
/// let nap = executor.spawn(clock.sleep(Duration::from_secs(60)));
/// let slept = run(&clock, &executor, async {
///     nap.await;
///     clock.now()
/// });
/// assert_eq!(slept, listwatch::time::Instant::ZERO + Duration::from_secs(60));
/// ```
///
/// # Panics
/// Under a simulated clock, if no task can run and none waits for time or for a peer outside: `main` would never be
/// done. Also if another thread runs under the same simulated clock.
pub fn run<F: Future>(clock: &Clock, executor: &Executor<'_>, main: F) -> F::Output {
    match clock.simulation() {
        Some(time) => run_simulated(time, executor, main),
        None => smol::block_on(run_real(executor, main)),
    }
}

/// How many polls the other tasks get for one of `main` under a simulated clock. Under a real one, the thread looks for
/// I/O after so many.
const STEPS: usize = 64;

/// So often the thread looks for tasks in the queues of other threads, where `main` alone goes on: once in so many times
/// [`STEPS`].
const ROUNDS: u32 = 16;

/// Polls `main` after each poll of another task, if it was woken. [`Executor::run`] gives the others 200 polls for one of
/// `main`. A subscriber there then falls behind, and each object that it has not heard of stays in memory in two states.
///
/// A tick takes tasks of the executor's own queue alone. Another thread in [`Executor::run`] takes many of them into a
/// queue of its own, and may block. So a thread without a task sleeps in [`Executor::run`] too, which finds those, and
/// polls up to 200 of them before `main`.
async fn run_real<F: Future>(executor: &Executor<'_>, main: F) -> F::Output {
    let thread = poll_fn(|cx| Poll::Ready(cx.waker().clone())).await;
    let woken = Arc::new(Woken { main: AtomicBool::new(true), thread });
    let waker = Waker::from(Arc::clone(&woken));
    let (mut main, mut tick, mut runner, mut round) = (pin!(main), pin!(executor.tick()), pin!(None), 0_u32);
    poll_fn(|cx| {
        // The executor gets back the tasks that this took and has not run.
        runner.set(None);
        let mut has_ticked = false;
        for _ in 0..STEPS {
            if woken.take()
                && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Poll::Ready(output);
            }
            has_ticked = tick.as_mut().poll(cx).is_ready();
            if has_ticked {
                tick.set(executor.tick());
            } else if !woken.is_due() {
                // Asleep once: a wake-up is passed on to another thread only if this one has none.
                tick.set(executor.tick());
                poll_new(runner.as_mut(), executor.run(pending::<()>()), cx);
                if !woken.is_due() {
                    return Poll::Pending;
                }
                runner.set(None);
            }
        }
        round = round.wrapping_add(1);
        // `Executor::run` polls 200 tasks at once, and those of the executor's own queue first.
        if !has_ticked && round.is_multiple_of(ROUNDS) {
            tick.set(executor.tick());
            poll_new(runner.as_mut(), executor.run(pending::<()>()), cx);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Polls a future that is never ready, and keeps it.
fn poll_new<R: Future<Output = ()>>(mut place: Pin<&mut Option<R>>, new: R, cx: &mut Context<'_>) {
    place.set(Some(new));
    let _ = place.as_pin_mut().map(|new| new.poll(cx));
}

fn run_simulated<F: Future>(time: &SimulatedTime, executor: &Executor<'_>, main: F) -> F::Output {
    let _entered = time.enter();
    let unpark = Waker::from(Arc::new(Unpark(thread::current())));
    let woken = Arc::new(Woken { main: AtomicBool::new(true), thread: unpark });
    let waker = Waker::from(Arc::clone(&woken));
    let mut main = pin!(main);
    loop {
        // Read first: a task that another thread wakes when it releases the time is then found below.
        let stands_still = time.stands_still(Waker::noop());
        let main_goes_on = woken.take();
        if main_goes_on && let Poll::Ready(output) = main.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let steps = (0..STEPS).take_while(|_| executor.try_tick()).count();
        if main_goes_on || steps > 0 || woken.is_due() {
            continue;
        }
        if stands_still {
            wait(executor, &woken, |unpark| time.stands_still(unpark).then_some(Duration::MAX));
        } else if time.ahead().is_some() {
            wait(executor, &woken, |_| time.ahead());
        } else {
            assert!(
                time.advance(),
                "no task can go on, and none waits for time: a task that waits for another thread has to hold a `Clock::outside`"
            );
        }
    }
}

/// Waits until a task can run, or no time is `left`. The thread is unparked if that ends earlier.
fn wait(executor: &Executor<'_>, woken: &Woken, left: impl Fn(&Waker) -> Option<Duration>) {
    // While the tick is pending, a task that can run wakes it.
    let mut tick = pin!(executor.tick());
    while !woken.is_due()
        && let Some(left) = left(&woken.thread)
    {
        if tick.as_mut().poll(&mut Context::from_waker(&woken.thread)).is_ready() {
            return;
        }
        thread::park_timeout(left);
    }
}

struct Woken {
    main: AtomicBool,
    /// Wakes the thread.
    thread: Waker,
}

impl Woken {
    /// Whether `main` was woken since the last call.
    fn take(&self) -> bool {
        self.main.swap(false, Ordering::AcqRel)
    }

    fn is_due(&self) -> bool {
        self.main.load(Ordering::Acquire)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.main.store(true, Ordering::Release);
        self.thread.wake_by_ref();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
