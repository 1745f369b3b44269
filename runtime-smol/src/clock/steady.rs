//! The machine's time, which goes on while the machine sleeps.
//!
//! `std::time::Instant` stands still meanwhile on Linux and on Apple's systems. A term, a deadline or an age would then
//! be told too short by hours.

use core::time::Duration;

/// The time since a moment that stays the same as long as the process lives.
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
