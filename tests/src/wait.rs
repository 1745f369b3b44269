//! Waiting for what other threads and processes bring about.

use std::thread;
use std::time::Duration;

/// How long a test waits for something before it fails. No test that passes waits for it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds, for [`PATIENCE`] at most.
///
/// # Panics
/// If it does not hold by then.
#[expect(clippy::disallowed_methods, reason = "other threads and processes keep real time")]
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool) {
    const PAUSE: Duration = Duration::from_millis(1);
    let mut left = PATIENCE;
    while !condition() {
        left = left.checked_sub(PAUSE).expect("the condition never holds");
        thread::sleep(PAUSE);
    }
}
