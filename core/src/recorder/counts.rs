use super::ObjectReference;
use crate::api::ApiError;
use crate::text::Printable;
use core::fmt;

/// What became of the occurrences that were recorded. Those that no field counts wait to be written, or are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderCounts {
    /// Occurrences that were recorded.
    pub recorded: u64,
    /// Requests that a server took. This field counts no occurrences.
    pub requests: u64,
    /// Occurrences that the spam filter held back until their series was over.
    pub filtered: u64,
    /// Occurrences that found no room in the queue, or whose series was forgotten, or that came after the stop.
    pub dropped: u64,
    /// Occurrences of series that a server refused.
    pub refused: u64,
    /// Occurrences that could not be written in a number of attempts.
    pub failed: u64,
}

/// An Event that could not be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecorderProblem {
    /// The object that it was about.
    pub regarding: ObjectReference,
    /// The last failure.
    pub error: ApiError,
}

impl fmt::Display for RecorderProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an Event about {} was not written: {}", Printable::new(&self.regarding), self.error)
    }
}
