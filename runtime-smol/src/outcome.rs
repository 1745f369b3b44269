use core::time::Duration;
use listwatch_core::api::ApiError;

/// What a worker says of a key it has worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// All is as it should be. Earlier failures are forgotten.
    Done,
    /// It failed: again, after a delay that the queue's rate limiter gives.
    Retry,
    /// It failed, and the server asks to wait: again after the longer of this time and the rate limiter's delay.
    RetryAfter(Duration),
    /// Again after this time, and no failure.
    RequeueAfter(Duration),
}

/// A failure, with the time that the server asks for if it asks for one (`Retry-After`); at most an hour.
///
/// ```
/// use listwatch_runtime_smol::api::ApiError;
/// use listwatch_runtime_smol::Outcome;
///
/// fn reconcile() -> Result<(), ApiError> {
///     Ok(())
/// }
///
/// let outcome = match reconcile() {
///     Ok(()) => Outcome::Done,
///     Err(error) => Outcome::from(&error),
/// };
/// assert_eq!(outcome, Outcome::Done);
/// ```
impl From<&ApiError> for Outcome {
    fn from(error: &ApiError) -> Self {
        error.retry_after().map_or(Self::Retry, Self::RetryAfter)
    }
}
