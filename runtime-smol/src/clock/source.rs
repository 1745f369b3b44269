use super::simulated::SimulatedTime;
use crate::mutex::Mutex;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::time::WallTime;
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// The source of a clock's time, which its sleeps share.
#[derive(Debug)]
pub(super) enum Source {
    Real {
        /// Tells the machine's time.
        steady: fn() -> Duration,
        start: Duration,
        origin: WallTime,
        speed: NonZeroU32,
    },
    Simulated {
        time: SimulatedTime,
        /// A date, and when it was.
        date: Mutex<(WallTime, Instant)>,
    },
}

impl Source {
    /// All clocks of a process begin at the same time.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(super) fn real(speed: NonZeroU32) -> Self {
        static START: OnceLock<(Duration, SystemTime)> = OnceLock::new();
        let (start, origin) = *START.get_or_init(|| (steady(), SystemTime::now()));
        Self::Real { steady, start, origin: origin.into(), speed }
    }

    pub(super) fn simulated_at(origin: WallTime) -> Self {
        Self::Simulated { time: SimulatedTime::default(), date: Mutex::new((origin, Instant::ZERO)) }
    }

    pub(super) fn now(&self) -> Instant {
        match self {
            Self::Real { steady, start, speed, .. } => {
                Instant::ZERO + steady().saturating_sub(*start).saturating_mul(speed.get())
            }
            Self::Simulated { time, .. } => time.now(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(super) fn wall(&self) -> WallTime {
        match self {
            Self::Real { speed: NonZeroU32::MIN, .. } => SystemTime::now().into(),
            Self::Real { origin, .. } => *origin + self.now().saturating_since(Instant::ZERO),
            Self::Simulated { time, date } => {
                let (date, at) = *date.lock();
                date + time.now().saturating_since(at)
            }
        }
    }

    pub(super) fn set_date(&self, to: WallTime) {
        if let Self::Simulated { time, date } = self {
            *date.lock() = (to, time.now());
        }
    }

    pub(super) fn simulated(&self) -> Option<&SimulatedTime> {
        match self {
            Self::Real { .. } => None,
            Self::Simulated { time, .. } => Some(time),
        }
    }
}

/// The time since a moment that stays the same as long as the process lives. It goes on while the machine sleeps;
/// `std::time::Instant` stands still meanwhile on Linux and on Apple's systems.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn steady() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    #[cfg(not(target_vendor = "apple"))]
    let clock = ClockId::Boottime;
    // There it counts sleep, too.
    #[cfg(target_vendor = "apple")]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The time since the first call.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
#[expect(clippy::disallowed_methods, reason = "this is the clock")]
pub(super) fn steady() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// A task waits for a peer outside of the clock's time; see [`Clock::outside`](crate::Clock::outside).
#[derive(Debug)]
#[must_use = "simulated time stands still only while this is held"]
pub struct Outside(Arc<Source>);

impl Outside {
    pub(super) fn hold(source: Arc<Source>) -> Self {
        if let Some(time) = source.simulated() {
            time.hold();
        }
        Self(source)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if let Some(time) = self.0.simulated() {
            time.release();
        }
    }
}
