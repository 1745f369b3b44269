//! The only module that reads the system's clocks: credentials expire by them, not by the time that the machines are
//! given.
#![expect(clippy::disallowed_methods, reason = "credentials expire by these clocks")]

use std::time::{Instant, SystemTime};

pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

pub(crate) fn steady() -> Instant {
    Instant::now()
}
