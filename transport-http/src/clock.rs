//! The one place that asks what time it is: credentials expire by the clock on the wall, whatever the machines' time is.
#![expect(clippy::disallowed_methods, reason = "credentials expire by these clocks")]

use std::time::{Instant, SystemTime};

pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

pub(crate) fn steady() -> Instant {
    Instant::now()
}
