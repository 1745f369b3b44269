use super::simulated::SimulatedTime;
use super::steady::steady;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::time::WallTime;
use std::num::NonZeroU32;
use std::sync::OnceLock;
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
        origin: WallTime,
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
        Self::Simulated { time: SimulatedTime::default(), origin }
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
            Self::Real { origin, .. } | Self::Simulated { origin, .. } => {
                *origin + self.now().saturating_since(Instant::ZERO)
            }
        }
    }

    pub(super) fn simulated(&self) -> Option<&SimulatedTime> {
        match self {
            Self::Real { .. } => None,
            Self::Simulated { time, .. } => Some(time),
        }
    }
}
