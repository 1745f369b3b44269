//! Why a wait for an object ended without it.

use super::stream_status::{StreamStatus, not_run};
use core::fmt;
use core::time::Duration;
use listwatch_core::cache::AwaitError;

/// The reason why a wait for one object ended without it. [`Debug`](fmt::Debug) is the same as
/// [`Display`](fmt::Display), for a `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitError {
    /// What ended the wait.
    pub failure: WaitFailure,
    /// The streams that could have brought the object, each with its last failure.
    pub streams: Vec<StreamStatus>,
    /// Whether a task ran the streams; see [`Informers::run`](crate::Informers::run).
    pub is_run: bool,
}

/// What ended a wait for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitFailure {
    /// This time limit has passed.
    Late(Duration),
    /// The first list fails, and only a manual change can help.
    NeedsIntervention,
    /// The cache will not have the object.
    NoState(AwaitError),
}

impl fmt::Display for WaitFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(within) => write!(f, "the condition did not hold within {within:?}"),
            Self::NeedsIntervention => f.write_str("the object cannot be read"),
            Self::NoState(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)?;
        self.streams.iter().try_for_each(|stream| write!(f, "; {stream}"))?;
        f.write_str(not_run(&self.streams, self.is_run))
    }
}

impl fmt::Debug for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for WaitError {}
