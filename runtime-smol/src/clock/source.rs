use super::simulated::SimulatedTime;
use listwatch_core::Instant;
use listwatch_core::time::WallTime;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The source of a clock's time, which its sleeps share.
#[derive(Debug)]
pub(super) enum Source {
    Real { start: std::time::Instant, origin: WallTime, speed: NonZeroU32 },
    Simulated { time: SimulatedTime, origin: WallTime },
}

impl Source {
    /// All clocks of a process begin at the same time.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(super) fn real(speed: NonZeroU32) -> Self {
        static START: OnceLock<(std::time::Instant, SystemTime)> = OnceLock::new();
        let (start, origin) = *START.get_or_init(|| (std::time::Instant::now(), SystemTime::now()));
        Self::Real { start, origin: origin.into(), speed }
    }

    pub(super) fn simulated_at(origin: WallTime) -> Self {
        Self::Simulated { time: SimulatedTime::default(), origin }
    }

    pub(super) fn now(&self) -> Instant {
        match self {
            Self::Real { start, speed, .. } => Instant::ZERO + start.elapsed().saturating_mul(speed.get()),
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
