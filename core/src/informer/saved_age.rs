use crate::time::{Span, WallTime};
use core::fmt;
use core::time::Duration;

/// How long ago a [restored](crate::informer::InformerIn::restore) state was saved.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::informer::SavedAge;
/// use listwatch_core::time::WallTime;
///
/// let (then, now) = ("2026-03-01T12:00:00Z".parse()?, "2026-03-01T15:00:00Z".parse()?);
/// assert_eq!(SavedAge::between(then, now).to_string(), "3 h ago");
/// assert_eq!(SavedAge::between(now, then), SavedAge::Unknown);
/// # Ok::<(), listwatch_core::time::ParseWallTimeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum SavedAge {
    /// As long as this.
    Known(Duration),
    /// The clock is behind the date of the state. A device without a clock of its own begins so, until it has asked for
    /// the time.
    Unknown,
}

impl SavedAge {
    /// The age at `now` of a state that was saved at `then`.
    #[must_use]
    pub fn between(then: WallTime, now: WallTime) -> Self {
        if now < then { Self::Unknown } else { Self::Known(now.saturating_since(then)) }
    }

    /// The age `by` later.
    #[must_use]
    pub fn later(self, by: Duration) -> Self {
        match self {
            Self::Known(age) => Self::Known(age.saturating_add(by)),
            Self::Unknown => Self::Unknown,
        }
    }
}

impl From<Duration> for SavedAge {
    fn from(age: Duration) -> Self {
        Self::Known(age)
    }
}

impl fmt::Display for SavedAge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(age) => write!(f, "{} ago", Span(*age)),
            Self::Unknown => f.write_str("at an unknown time: the clock is behind its date"),
        }
    }
}
