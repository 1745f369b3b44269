//! Real, scaled and simulated time: the only place that reads a clock or waits for time.

mod simulated;
mod sleep;
mod source;

pub(crate) use simulated::SimulatedTime;
pub use sleep::Sleep;
pub use source::Outside;

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::time::WallTime;
use source::Source;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::sync::Arc;

/// A program's source of time: the machine's clock, that clock accelerated, or simulated time. A clone is the same
/// clock.
///
/// Every wait of a program reads the same clock. So a recording that is played at a hundred times its speed also backs
/// off a hundred times faster. Under [`Clock::simulated`] no wait takes real time: when every task sleeps, time jumps
/// to the earliest deadline.
///
/// Sockets and threads run outside of simulated time. While a [`Clock::outside`] is held, simulated time stands still,
/// and [`run`](crate::run()) waits for a waker. So no simulated deadline passes during such a wait: if the peer never
/// answers, the transport's own time limit has to end the request.
///
/// # Under other executors
///
/// A real clock works under every executor, tokio and a bare `block_on` among them. The timer thread of async-io wakes
/// the sleeping task; the first sleep starts that thread. Simulated time passes under [`run`](crate::run()) alone.
///
/// ```
/// use core::time::Duration;
/// use listwatch::{Clock, Executor, run};
///
/// let clock = Clock::simulated();
/// let start = clock.now();
/// run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(86_400)));
/// assert_eq!(clock.now().saturating_since(start), Duration::from_secs(86_400));
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Arc<Source>);

impl Clock {
    /// The date at which a [simulated](Self::simulated) clock begins: `2000-01-01T00:00:00Z`, as in a bubble of Go's
    /// `testing/synctest`.
    pub const SIMULATED_ORIGIN: WallTime = WallTime::from_unix_seconds(946_684_800);

    /// The machine's monotonic clock. It goes on while the machine sleeps: on Linux it is `CLOCK_BOOTTIME`. A sleep that
    /// was begun before goes on when the machine is awake, and so ends late.
    pub fn real() -> Self {
        Self::scaled(NonZeroU32::MIN)
    }

    /// The machine's monotonic clock, `speed` times as fast.
    pub fn scaled(speed: NonZeroU32) -> Self {
        Self(Arc::new(Source::real(speed)))
    }

    /// A clock whose sleeps take no real time. [`run`](crate::run()) advances it, in one thread at a time. Under any
    /// other executor its time stands still, and a sleep never ends. Its [date](Self::wall) begins at
    /// [`SIMULATED_ORIGIN`](Self::SIMULATED_ORIGIN).
    pub fn simulated() -> Self {
        Self::simulated_at(Self::SIMULATED_ORIGIN)
    }

    /// A [simulated](Self::simulated) clock whose [date](Self::wall) begins at `origin`.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::{Clock, Executor, run};
    ///
    /// let clock = Clock::simulated_at("2026-11-22T11:34:48Z".parse()?);
    /// run(&clock, &Executor::new(), clock.sleep(Duration::from_secs(86_400)));
    /// assert_eq!(clock.wall().to_string(), "2026-11-23T11:34:48Z");
    /// # Ok::<(), listwatch::time::ParseWallTimeError>(())
    /// ```
    pub fn simulated_at(origin: WallTime) -> Self {
        Self(Arc::new(Source::simulated_at(origin)))
    }

    /// The time since the clock was made. All real clocks of a process show the same time.
    pub fn now(&self) -> Instant {
        self.0.now()
    }

    /// The date and the time of day, for the times that objects have. Measure with [`now`](Self::now) instead: the
    /// machine's date may be set back.
    ///
    /// A real clock tells the machine's. A scaled one starts with the machine's, and goes on at its speed. A simulated
    /// one starts with its origin; [`set_date`](Self::set_date) changes it.
    pub fn wall(&self) -> WallTime {
        let date = self.unwitnessed_wall();
        if let Some(witness) = crate::witness::present() {
            return witness.on_date(date);
        }
        date
    }

    /// The same date, which no reconcile has asked for.
    pub(crate) fn unwitnessed_wall(&self) -> WallTime {
        self.0.wall()
    }

    /// Waits until `at`.
    pub fn sleep_until(&self, at: Instant) -> Sleep {
        Sleep::until(Arc::clone(&self.0), at)
    }

    /// Waits for `delay`.
    pub fn sleep(&self, delay: Duration) -> Sleep {
        self.sleep_until(self.now() + delay)
    }

    /// Sleeps until `at`, or for ever if it is `None`. The caller keeps `sleep` from one poll to the next: it is armed
    /// again only if `at` changes.
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

    /// Lets simulated time jump, as the clock of a machine that sleeps. Until the tasks run again, nothing happens by it:
    /// a sleeper that is due meanwhile wakes after the jump. A real clock has its own time, and takes no notice.
    /// A jump ends 292 years after the begin of the clock at the latest.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::Clock;
    ///
    /// let clock = Clock::simulated();
    /// let before = clock.now();
    /// clock.jump(Duration::from_secs(3600));
    /// assert_eq!(clock.now().saturating_since(before), Duration::from_secs(3600));
    /// ```
    pub fn jump(&self, time: Duration) {
        self.simulation().into_iter().for_each(|simulated| simulated.jump(time));
    }

    /// Sets the [date](Self::wall) of a simulated clock, as somebody sets that of a machine which was ahead or behind. The
    /// time and what sleeps take no notice. A real clock tells the machine's date, and takes no notice either.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::Clock;
    ///
    /// let clock = Clock::simulated();
    /// clock.set_date("2026-11-22T11:34:48Z".parse()?);
    /// clock.jump(Duration::from_secs(2));
    /// assert_eq!(clock.wall().to_string(), "2026-11-22T11:34:50Z");
    /// # Ok::<(), listwatch::time::ParseWallTimeError>(())
    /// ```
    pub fn set_date(&self, date: WallTime) {
        self.0.set_date(date);
    }

    /// Stops simulated time until the guard is dropped, for a task that waits for a socket or another thread. A real
    /// clock goes on.
    ///
    /// The task has to be woken when the answer is there, as by any future. A [`Client`](crate::Client) holds a guard
    /// while it waits for a server; [`Events`](crate::Events) do so after
    /// [`Events::waiting_outside`](crate::Events::waiting_outside).
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch::{Clock, Executor, run};
    ///
    /// let clock = Clock::simulated();
    /// let slow = async {
    ///     let _outside = clock.outside();
    ///     smol::unblock(|| std::thread::sleep(Duration::from_millis(5))).await;
    ///     clock.now()
    /// };
    /// let (sleep, executor) = (clock.sleep(Duration::from_secs(60)), Executor::new());
    /// let (answered, ()) = run(&clock, &executor, smol::future::zip(slow, sleep));
    /// assert_eq!(answered, listwatch::time::Instant::ZERO);
    /// ```
    pub fn outside(&self) -> Outside {
        Outside::hold(Arc::clone(&self.0))
    }

    /// Whether both clocks always show the same time.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&*self.0, &*other.0) {
            (Source::Real { speed, .. }, Source::Real { speed: other, .. }) => speed == other,
            _ => Arc::ptr_eq(&self.0, &other.0),
        }
    }

    /// A seed of random delays. Under a simulated clock, each run is the same; otherwise none is as another one.
    pub(crate) fn random_seed(&self) -> u64 {
        if self.is_simulated() { 0 } else { RandomState::new().hash_one(()) }
    }

    /// Whether the caller that polls the tasks has to advance the time.
    pub(crate) fn is_simulated(&self) -> bool {
        self.simulation().is_some()
    }

    pub(crate) fn simulation(&self) -> Option<&SimulatedTime> {
        self.0.simulated()
    }
}

#[cfg(test)]
mod tests;
