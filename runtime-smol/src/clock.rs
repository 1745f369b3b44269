//! The only place that reads a clock or waits for time.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::Instant;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Where a program's time comes from: the machine's clock, that clock made faster, or nothing but the wish to go on.
///
/// Everything that waits asks the same clock, so a recording played at a hundred times the speed backs off a hundred
/// times faster too. Under [`Clock::simulated`] nothing waits at all: when every task sleeps, time jumps to the first
/// that is to wake.
///
/// What runs outside of simulated time (a socket, a thread) takes none of it: while a [`Clock::outside`] is held, time
/// stands still, and [`run`](crate::run()) waits for a waker instead. So a deadline in simulated time cannot pass while an
/// outside answer is waited for; one that never comes has to be ended by a time limit of its transport.
///
/// ```
/// use core::time::Duration;
/// use listwatch_runtime_smol::{Clock, Executor, run};
///
/// let clock = Clock::simulated();
/// let start = clock.now();
/// run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(86_400)));
/// assert_eq!(clock.now().saturating_since(start), Duration::from_secs(86_400));
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Arc<Kind>);

#[derive(Debug)]
enum Kind {
    Real { start: std::time::Instant, speed: NonZeroU32 },
    Simulated(Mutex<Simulated>),
}

/// Where a sum with [`Duration::MAX`] ends. Simulated time does not jump there: nothing could come after it.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Time that passes when nothing else is left to do.
///
/// The wakers are the executor's: they are cloned, woken and dropped while the lock is open.
#[derive(Default)]
struct Simulated {
    now: Instant,
    sleepers: BTreeMap<(Instant, u64), Waker>,
    last: u64,
    /// How many wait for something outside.
    outside: usize,
    /// Wakes the one who polls the tasks, and waits for what runs outside.
    parked: Option<Waker>,
    /// The thread that runs under this clock, and how many runs it is in, one within the other.
    running: Option<(ThreadId, usize)>,
}

impl Clock {
    /// The machine's clock.
    #[must_use]
    pub fn real() -> Self {
        Self::scaled(NonZeroU32::MIN)
    }

    /// The machine's clock, `speed` times as fast.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn scaled(speed: NonZeroU32) -> Self {
        Self(Arc::new(Kind::Real { start: std::time::Instant::now(), speed }))
    }

    /// A clock that never makes anybody wait under [`run`](crate::run()), which advances it; one thread at a time may run
    /// under it. Under any other executor, such as a bare `block_on`, its time stands still and a sleep never ends.
    #[must_use]
    pub fn simulated() -> Self {
        Self(Arc::new(Kind::Simulated(Mutex::default())))
    }

    /// The time since the clock was made.
    #[must_use]
    pub fn now(&self) -> Instant {
        match &*self.0 {
            Kind::Real { start, speed } => Instant::ZERO + start.elapsed().saturating_mul(speed.get()),
            Kind::Simulated(time) => lock(time).now,
        }
    }

    /// Waits until `at`.
    pub fn sleep_until(&self, at: Instant) -> Sleep {
        Sleep { clock: self.clone(), at, timer: Timer::None }
    }

    /// Waits for `delay`.
    pub fn sleep(&self, delay: Duration) -> Sleep {
        self.sleep_until(self.now() + delay)
    }

    /// Sleeps until `at`, and never ends for `None`: `sleep` is kept from one poll to the next, for as long as `at` stays.
    pub(crate) fn poll_at(&self, sleep: &mut Option<Sleep>, at: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = at else {
            *sleep = None;
            return Poll::Pending;
        };
        let armed = match sleep.take().filter(|sleep| sleep.at() == at) {
            Some(armed) => sleep.insert(armed),
            None => sleep.insert(self.sleep_until(at)),
        };
        let ready = Pin::new(armed).poll(cx);
        if ready.is_ready() {
            *sleep = None;
        }
        ready
    }

    /// Says that somebody waits for what runs outside of the clock's time, until the guard is dropped: for an answer from a
    /// socket, or from another thread. Simulated time stands still meanwhile; a real clock does not care.
    ///
    /// The waiting task has to be woken when the answer is there, as by any future. A [`Client`](crate::Client) holds one
    /// by itself; [`Events`](crate::Events) do where they are told to
    /// ([`Events::waiting_outside`](crate::Events::waiting_outside)).
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_runtime_smol::{Clock, Executor, run};
    ///
    /// let clock = Clock::simulated();
    /// let slow = async {
    ///     let _outside = clock.outside();
    ///     smol::unblock(|| std::thread::sleep(Duration::from_millis(5))).await;
    ///     clock.now()
    /// };
    /// let (sleep, executor) = (clock.sleep(Duration::from_secs(60)), Executor::new());
    /// let (answered, ()) = run(&clock, &executor, smol::future::zip(slow, sleep));
    /// assert_eq!(answered, listwatch_runtime_smol::Instant::ZERO);
    /// ```
    pub fn outside(&self) -> Outside {
        if let Kind::Simulated(time) = &*self.0 {
            lock(time).outside += 1;
        }
        Outside(self.clone())
    }

    /// Says that this thread runs tasks under the clock and advances it, until the guard is dropped.
    ///
    /// # Panics
    /// If another thread does.
    pub(crate) fn enter(&self) -> Entered<'_> {
        if let Kind::Simulated(time) = &*self.0 {
            let this = std::thread::current().id();
            let mut time = lock(time);
            let (running, runs) = time.running.unwrap_or((this, 0));
            if running == this {
                time.running = Some((this, runs + 1));
            }
            drop(time);
            assert!(running == this, "only one thread can run under a simulated clock: give each its own");
        }
        Entered(self)
    }

    /// Whether somebody waits for what runs outside; `waker` is called when nobody does any more.
    pub(crate) fn stands_still(&self, waker: &Waker) -> bool {
        let Kind::Simulated(time) = &*self.0 else { return false };
        let waker = waker.clone();
        let (stands_still, _last) = {
            let mut time = lock(time);
            let stands_still = time.outside > 0;
            let parked = if stands_still { Some(waker) } else { None };
            (stands_still, core::mem::replace(&mut time.parked, parked))
        };
        stands_still
    }

    /// Whether time has to be advanced by whoever polls the tasks.
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(*self.0, Kind::Simulated(_))
    }

    /// Jumps to the first moment that anybody waits for, and wakes the one who does. False when nobody waits.
    pub(crate) fn advance(&self) -> bool {
        let Kind::Simulated(time) = &*self.0 else { return false };
        let first = {
            let mut time = lock(time);
            let first = time.sleepers.pop_first();
            if let Some(((at, _), _)) = &first {
                time.now = time.now.max(*at);
            }
            first
        };
        first.map(|(_, waker)| waker.wake()).is_some()
    }
}

/// See [`Clock::enter`].
pub(crate) struct Entered<'a>(&'a Clock);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if let Kind::Simulated(time) = &*self.0.0 {
            let mut time = lock(time);
            time.running = time.running.map(|(thread, runs)| (thread, runs - 1)).filter(|(_, runs)| *runs > 0);
        }
    }
}

/// Somebody waits for what runs outside of the clock's time; see [`Clock::outside`].
#[derive(Debug)]
#[must_use = "time stands still only while this is held"]
pub struct Outside(Clock);

impl Drop for Outside {
    fn drop(&mut self) {
        let Kind::Simulated(time) = &*self.0.0 else { return };
        let mut time = lock(time);
        time.outside -= 1;
        let parked = if time.outside == 0 { time.parked.take() } else { None };
        drop(time);
        if let Some(parked) = parked {
            parked.wake();
        }
    }
}

/// Waits for a moment; see [`Clock::sleep_until`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is polled"]
pub struct Sleep {
    clock: Clock,
    at: Instant,
    timer: Timer,
}

#[derive(Debug)]
enum Timer {
    None,
    Real(smol::Timer),
    /// The sleeper's number.
    Simulated(u64),
}

impl Sleep {
    /// The moment that is waited for.
    #[must_use]
    pub fn at(&self) -> Instant {
        self.at
    }

    fn poll_real(&mut self, start: std::time::Instant, speed: NonZeroU32, cx: &mut Context<'_>) -> Poll<()> {
        let after = self.at.saturating_since(Instant::ZERO) / speed.get();
        if matches!(self.timer, Timer::None) {
            let at = start.checked_add(after);
            self.timer = Timer::Real(at.map_or_else(smol::Timer::never, smol::Timer::at));
        }
        // The clock decides, not the timer: one that fires early by a rounding is armed again.
        while let Timer::Real(timer) = &mut self.timer {
            if Pin::new(&mut *timer).poll(cx).is_pending() {
                return Poll::Pending;
            }
            if self.clock.now() >= self.at {
                break;
            }
            timer.set_after(Duration::from_micros(50));
        }
        Poll::Ready(())
    }

    fn poll_simulated(&mut self, time: &Mutex<Simulated>, cx: &Context<'_>) -> Poll<()> {
        if self.at == NEVER {
            return Poll::Pending;
        }
        let waker = cx.waker().clone();
        let _last = {
            let mut time = lock(time);
            let number = match self.timer {
                Timer::Simulated(number) => number,
                Timer::None | Timer::Real(_) => {
                    time.last += 1;
                    time.last
                }
            };
            self.timer = Timer::Simulated(number);
            time.sleepers.insert((self.at, number), waker)
        };
        Poll::Pending
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.clock.now() >= self.at {
            return Poll::Ready(());
        }
        let clock = self.clock.clone();
        match &*clock.0 {
            Kind::Real { start, speed } => self.poll_real(*start, *speed, cx),
            Kind::Simulated(time) => self.poll_simulated(time, cx),
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let (Kind::Simulated(time), Timer::Simulated(number)) = (&*self.clock.0, &self.timer) {
            let _waker = lock(time).sleepers.remove(&(self.at, *number));
        }
    }
}

impl fmt::Debug for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulated").field("now", &self.now).field("sleepers", &self.sleepers.len()).finish()
    }
}

fn lock(time: &Mutex<Simulated>) -> MutexGuard<'_, Simulated> {
    time.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Executor, run};
    use std::cell::RefCell;

    #[test]
    fn sleepers_wake_in_order_of_their_time_and_nobody_waits() {
        let (clock, executor, order) = (Clock::simulated(), Executor::new(), RefCell::new(Vec::new()));
        let sleeper = async |seconds: u64| {
            clock.sleep(Duration::from_secs(seconds)).await;
            order.borrow_mut().push((seconds, clock.now()));
        };
        run(&clock, &executor, async {
            smol::future::zip(sleeper(3600), smol::future::zip(sleeper(60), sleeper(7))).await;
        });
        let expected = [7, 60, 3600].map(|seconds| (seconds, Instant::ZERO + Duration::from_secs(seconds)));
        assert_eq!(*order.borrow(), expected);
    }

    #[test]
    fn a_sleep_that_is_dropped_is_not_waited_for() {
        let clock = Clock::simulated();
        run(&clock, &Executor::new(), async {
            let long = async {
                clock.sleep(Duration::from_secs(1000)).await;
            };
            smol::future::or(long, clock.sleep(Duration::from_secs(1))).await;
            clock.sleep(Duration::from_secs(1)).await;
        });
        assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(2));
    }

    #[test]
    fn time_stands_still_while_something_runs_outside_and_ready_tasks_go_on() {
        let (clock, (go, gone)) = (Clock::simulated(), smol::channel::bounded::<()>(1));
        let executor = Executor::new();
        let asks = async {
            let _outside = clock.outside();
            smol::unblock(move || gone.recv_blocking()).await.unwrap();
            clock.now()
        };
        let yields = async {
            for _ in 0..500 {
                smol::future::yield_now().await;
            }
            go.send(()).await.unwrap();
        };
        let sleeps = async {
            clock.sleep(Duration::from_secs(1)).await;
            clock.now()
        };
        let (asks, yields) = (executor.spawn(asks), executor.spawn(yields));
        let (answered, (slept, ())) =
            run(&clock, &executor, smol::future::zip(asks, smol::future::zip(sleeps, yields)));
        assert_eq!((answered, slept), (Instant::ZERO, Instant::ZERO + Duration::from_secs(1)));
    }

    #[test]
    fn time_goes_on_when_who_waited_for_something_outside_gives_up_on_another_thread() {
        let clock = Clock::simulated();
        let outside = clock.outside();
        let (parks, parked) = std::sync::mpsc::channel();
        let gives_up = std::thread::spawn(move || {
            parked.recv().unwrap();
            drop(outside);
        });
        run(&clock, &Executor::new(), async {
            parks.send(()).unwrap();
            clock.sleep(Duration::from_secs(1)).await;
        });
        gives_up.join().unwrap();
        assert_eq!(clock.now(), Instant::ZERO + Duration::from_secs(1));
    }

    #[test]
    fn a_waker_that_asks_for_the_time_when_it_is_dropped_does_not_wait_for_ever() {
        struct Asks(Clock);
        impl std::task::Wake for Asks {
            fn wake(self: Arc<Self>) {}
        }
        impl Drop for Asks {
            fn drop(&mut self) {
                let _now = self.0.now();
            }
        }
        let (done, is_done) = std::sync::mpsc::channel();
        // A thread that is not joined, because it would wait for itself for ever.
        std::thread::spawn(move || {
            let clock = Clock::simulated();
            let asks = || Waker::from(Arc::new(Asks(clock.clone())));
            let mut sleep = clock.sleep(Duration::from_secs(1));
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&asks())).is_pending());
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&asks())).is_pending());
            drop(sleep);
            let outside = clock.outside();
            assert!(clock.stands_still(&asks()) && clock.stands_still(&asks()));
            drop(outside);
            done.send(()).unwrap();
        });
        assert_eq!(is_done.recv_timeout(Duration::from_secs(20)), Ok(()));
    }

    #[test]
    fn a_fast_clock_sleeps_less_and_never_wakes_early() {
        let clock = Clock::scaled(NonZeroU32::new(1000).unwrap());
        run(&clock, &Executor::new(), async {
            for _ in 0..20 {
                let at = clock.now() + Duration::from_millis(1500);
                clock.sleep_until(at).await;
                assert!(clock.now() >= at);
            }
        });
    }

    #[test]
    #[should_panic(expected = "no task can go on, and none waits for time")]
    fn a_sleep_of_the_longest_duration_jumped_to_the_end_of_time() {
        let clock = Clock::simulated();
        run(&clock, &Executor::new(), async {
            clock.sleep(Duration::from_secs(1)).await;
            clock.sleep(Duration::MAX).await;
        });
    }

    #[test]
    fn two_threads_that_ran_under_one_simulated_clock_lost_a_wake_up() {
        let clock = Clock::simulated();
        run(&clock, &Executor::new(), async {
            run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(1)));
            let clock = clock.clone();
            let second = std::thread::spawn(move || run(&clock, &Executor::new(), async {}));
            let panic = second.join().unwrap_err();
            let message = panic.downcast_ref::<&str>().unwrap();
            assert!(message.contains("only one thread can run under a simulated clock"), "{message}");
        });
        let second = std::thread::spawn(move || run(&clock, &Executor::new(), async {}));
        second.join().unwrap();
    }
}
