//! The name of a candidate.

use crate::clock::Clock;

/// The host's name with a random part: no two lives of a program have the same one. Under a simulated clock, a number is the
/// same in each run.
pub(super) fn default_identity(clock: &Clock) -> String {
    if let Some(number) = clock.number_candidate() {
        return format!("simulated-{number}");
    }
    let [high, low] = [(); 2].map(|()| clock.random_seed());
    format!("{}_{high:016x}{low:016x}", host())
}

/// The host's name; empty on a machine that has none.
#[cfg(unix)]
pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The host's name.
#[cfg(not(unix))]
pub(crate) fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_else(|_| "host".to_owned())
}
