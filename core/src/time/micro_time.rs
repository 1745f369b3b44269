use super::wall::{ParseWallTimeError, WallTime};
use core::fmt;
use core::str::FromStr;

/// A [`WallTime`] that is written with its microseconds, as apimachinery's `metav1.MicroTime`: the times of a `Lease`
/// and of an `Event` of `events.k8s.io`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(pub WallTime);

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_seconds(f)?;
        write!(f, ".{:06}Z", self.0.subsecond_micros())
    }
}

impl From<WallTime> for MicroTime {
    fn from(time: WallTime) -> Self {
        Self(time)
    }
}

impl From<MicroTime> for WallTime {
    fn from(time: MicroTime) -> Self {
        time.0
    }
}

impl FromStr for MicroTime {
    type Err = ParseWallTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

#[cfg(feature = "json")]
mod json {
    use super::{MicroTime, WallTime};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    impl Serialize for MicroTime {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    impl<'de> Deserialize<'de> for MicroTime {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            WallTime::deserialize(deserializer).map(Self)
        }
    }
}
