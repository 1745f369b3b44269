use super::simulated::SimulatedTime;
use listwatch_core::Instant;
use std::num::NonZeroU32;

/// The source of a clock's time, which its sleeps share.
#[derive(Debug)]
pub(super) enum Source {
    Real { start: std::time::Instant, speed: NonZeroU32 },
    Simulated(SimulatedTime),
}

impl Source {
    pub(super) fn now(&self) -> Instant {
        match self {
            Self::Real { start, speed } => Instant::ZERO + start.elapsed().saturating_mul(speed.get()),
            Self::Simulated(time) => time.now(),
        }
    }

    pub(super) fn simulated(&self) -> Option<&SimulatedTime> {
        match self {
            Self::Real { .. } => None,
            Self::Simulated(time) => Some(time),
        }
    }
}
