use super::ApiError;
use crate::random::Random;
use core::time::Duration;

/// Delays and limits the repetition of a change after a conflict (client-go `retry.DefaultRetry`). The caller waits.
///
/// ```
/// use listwatch_core::api::{ApiError, ConflictRetry};
///
/// fn change_once() -> Result<(), ApiError> {
///     // Read the object, change it, replace it.
///     # Ok(())
/// }
///
/// let mut retry = ConflictRetry::new(7);
/// let result = loop {
///     match change_once() {
///         Err(error) => match retry.again(&error) {
///             Some(wait) => std::thread::sleep(wait),
///             None => break Err(error),
///         },
///         done => break done,
///     }
/// };
/// assert_eq!(result, Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct ConflictRetry {
    left: u32,
    wait: Duration,
    random: Random,
}

impl ConflictRetry {
    /// Five attempts, 10 to 11 ms apart. Clients that collide need different seeds.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { left: 4, wait: Duration::from_millis(10), random: Random::new(seed) }
    }

    /// `attempts` in all, `wait` and up to a tenth more apart.
    #[must_use]
    pub fn with(attempts: u32, wait: Duration, seed: u64) -> Self {
        Self { left: attempts.saturating_sub(1), wait, random: Random::new(seed) }
    }

    /// The time to wait before the next attempt. `None` if no attempt is left, or if the error is not a conflict, or is
    /// one of field managers.
    pub fn again(&mut self, error: &ApiError) -> Option<Duration> {
        if !(error.is_conflict() && error.is_transient()) {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.wait + self.random.below(self.wait / 10))
    }
}
