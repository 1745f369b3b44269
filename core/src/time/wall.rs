use super::date;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// A time of the API: a date and a time of day in UTC, to the microsecond, from the year 0 to the year 9999.
///
/// [`Display`](fmt::Display) and serde write RFC 3339 as apimachinery's `metav1.Time` does: whole seconds, and a `Z`.
/// [`MicroTime`] is the form with microseconds. Reading takes every form of RFC 3339, section
/// 5.6: a fraction of any length, of which six digits count, and an offset. A time that is not set is `null` in JSON:
/// `Option<WallTime>`.
///
/// Arithmetic saturates at [`MIN`](Self::MIN) and [`MAX`](Self::MAX). Machines take no wall time: a clock that is set
/// back moves it back. [`Instant`](crate::Instant) is the time that deadlines are made of.
///
/// ```
/// use core::time::Duration;
/// use listwatch_core::time::{MicroTime, WallTime};
///
/// let renewed: WallTime = "2026-11-22T12:34:48.25+01:00".parse()?;
/// assert_eq!(renewed.to_string(), "2026-11-22T11:34:48Z");
/// assert_eq!(MicroTime(renewed).to_string(), "2026-11-22T11:34:48.250000Z");
/// assert_eq!((renewed + Duration::from_secs(15)).to_string(), "2026-11-22T11:35:03Z");
/// # Ok::<(), listwatch_core::time::ParseWallTimeError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallTime(i64);

const MICROS: i64 = 1_000_000;
const DAY: i64 = 86_400;

impl WallTime {
    /// `0000-01-01T00:00:00Z`, the earliest time that RFC 3339 can write.
    pub const MIN: Self = Self(-62_167_219_200 * MICROS);

    /// `9999-12-31T23:59:59.999999Z`, the latest time that RFC 3339 can write.
    pub const MAX: Self = Self(253_402_300_800 * MICROS - 1);

    /// `1970-01-01T00:00:00Z`.
    pub const UNIX_EPOCH: Self = Self(0);

    /// The time that is `micros` microseconds after [`UNIX_EPOCH`](Self::UNIX_EPOCH).
    pub const fn from_unix_micros(micros: i64) -> Self {
        if micros < Self::MIN.0 {
            return Self::MIN;
        }
        if micros > Self::MAX.0 { Self::MAX } else { Self(micros) }
    }

    /// The time that is `millis` milliseconds after [`UNIX_EPOCH`](Self::UNIX_EPOCH).
    pub const fn from_unix_millis(millis: i64) -> Self {
        Self::from_unix_micros(millis.saturating_mul(1_000))
    }

    /// The time that is `seconds` seconds after [`UNIX_EPOCH`](Self::UNIX_EPOCH).
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        Self::from_unix_micros(seconds.saturating_mul(MICROS))
    }

    /// Microseconds since [`UNIX_EPOCH`](Self::UNIX_EPOCH); negative before it.
    pub const fn as_unix_micros(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since [`UNIX_EPOCH`](Self::UNIX_EPOCH), rounded down; negative before it.
    pub const fn as_unix_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Whole seconds since [`UNIX_EPOCH`](Self::UNIX_EPOCH), rounded down; negative before it.
    pub const fn as_unix_seconds(self) -> i64 {
        self.0.div_euclid(MICROS)
    }

    /// The start of this second: the time as [`Display`](fmt::Display) writes it.
    #[must_use]
    pub const fn truncated_to_seconds(self) -> Self {
        Self(self.as_unix_seconds() * MICROS)
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// The microseconds after the start of this second.
    pub(super) const fn subsecond_micros(self) -> i64 {
        self.0.rem_euclid(MICROS)
    }

    /// Writes all of the time but its fraction and its `Z`.
    pub(super) fn write_seconds(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, second) = (self.as_unix_seconds().div_euclid(DAY), self.as_unix_seconds().rem_euclid(DAY));
        let (year, month, day) = date::civil_from_days(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

impl core::ops::Add<Duration> for WallTime {
    type Output = Self;

    /// The time `delay` later, or [`MAX`](Self::MAX).
    fn add(self, delay: Duration) -> Self {
        let micros = i64::try_from(delay.as_micros()).unwrap_or(i64::MAX);
        Self::from_unix_micros(self.0.saturating_add(micros))
    }
}

impl core::ops::Sub<Duration> for WallTime {
    type Output = Self;

    /// The time `delay` earlier, or [`MIN`](Self::MIN).
    fn sub(self, delay: Duration) -> Self {
        let micros = i64::try_from(delay.as_micros()).unwrap_or(i64::MAX);
        Self::from_unix_micros(self.0.saturating_sub(micros))
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_seconds(f)?;
        f.write_str("Z")
    }
}

impl fmt::Debug for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_seconds(f)?;
        write!(f, ".{:06}Z", self.subsecond_micros())
    }
}

impl FromStr for WallTime {
    type Err = ParseWallTimeError;

    /// Reads a time by RFC 3339. A leap second is the second before it. If the offset leads past [`MIN`](Self::MIN) or
    /// [`MAX`](Self::MAX), the time is that one.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        date::micros(text).map(Self::from_unix_micros).ok_or(ParseWallTimeError)
    }
}

/// A text is no time by RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseWallTimeError;

impl fmt::Display for ParseWallTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text is no date and time by RFC 3339, such as 2026-11-22T11:34:48Z")
    }
}

impl core::error::Error for ParseWallTimeError {}

#[cfg(feature = "json")]
mod json {
    use super::{MicroTime, ParseWallTimeError, WallTime};
    use alloc::string::String;
    use serde::de::{Deserialize, Deserializer, Error, Unexpected};
    use serde::ser::{Serialize, Serializer};

    impl Serialize for WallTime {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for WallTime {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let (text, expected) =
                (String::deserialize(deserializer)?, &"a date and time by RFC 3339, such as 2026-11-22T11:34:48Z");
            text.parse().map_err(|_: ParseWallTimeError| D::Error::invalid_value(Unexpected::Str(&text), expected))
        }
    }

    impl Serialize for MicroTime {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
}

#[cfg(feature = "std")]
impl From<std::time::SystemTime> for WallTime {
    /// The machine's time, rounded down to the microsecond, or the end of the range that it lies beyond.
    fn from(time: std::time::SystemTime) -> Self {
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(since) => Self::UNIX_EPOCH + since,
            // The next whole microsecond before it.
            Err(before) => Self::UNIX_EPOCH - before.duration().saturating_add(Duration::from_nanos(999)),
        }
    }
}

/// A [`WallTime`] that is written with its microseconds, as apimachinery's `metav1.MicroTime`: the times of a `Lease`
/// and of an `Event` of `events.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "json", derive(serde::Deserialize), serde(transparent))]
pub struct MicroTime(pub WallTime);

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_seconds(f)?;
        write!(f, ".{:06}Z", self.0.subsecond_micros())
    }
}

impl FromStr for MicroTime {
    type Err = ParseWallTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests;
