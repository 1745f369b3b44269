//! How a recording is played.

use core::time::Duration;
use listwatch_core::Instant;

/// How a recording is played.
///
/// ```
/// use listwatch_transport_file::{Chunks, Pace, PlaybackConfig};
///
/// let config = PlaybackConfig::new().pace(Pace::Immediate).chunks(Chunks::AtMost(1)).skip_bad_lines(true);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaybackConfig {
    pub(crate) pace: Pace,
    pub(crate) chunks: Chunks,
    pub(crate) skip_bad_lines: bool,
    pub(crate) line_limit: usize,
}

/// When the parts of an answer come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As long after the request as they were recorded.
    #[default]
    Recorded,
    /// At once.
    Immediate,
}

/// How much of a body comes at a time, as far as the caller's buffer has room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Chunks {
    /// What came at a time when it was recorded.
    #[default]
    Recorded,
    /// At most so many bytes; zero counts as one.
    AtMost(usize),
    /// All that is due.
    Whole,
}

impl Default for PlaybackConfig {
    fn default() -> Self {
        Self { pace: Pace::Recorded, chunks: Chunks::Recorded, skip_bad_lines: false, line_limit: 64 * 1024 * 1024 }
    }
}

impl PlaybackConfig {
    /// As recorded, in time and in size; the first bad line is the end.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// When the parts of an answer come.
    #[must_use]
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// How much of a body comes at a time.
    #[must_use]
    pub fn chunks(mut self, chunks: Chunks) -> Self {
        self.chunks = chunks;
        self
    }

    /// Whether bad lines of a capture or a watch log are counted and passed over, instead of ending the playback.
    ///
    /// In a watch log whose events take several lines, what is passed over is a whole event and counts as one. A list
    /// has no lines to pass over.
    #[must_use]
    pub fn skip_bad_lines(mut self, skip: bool) -> Self {
        self.skip_bad_lines = skip;
        self
    }

    /// How many bytes a line of a capture or an event of a watch log may have, the line's end not counted; 64 MiB unless set.
    #[must_use]
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.line_limit = bytes;
        self
    }

    /// When something comes that came so long after a request which is answered from `began` on.
    pub(crate) fn due(&self, began: Instant, delay: Duration) -> Instant {
        match self.pace {
            Pace::Recorded => began + delay,
            Pace::Immediate => began,
        }
    }

    /// How many bytes of a body come at a time at most.
    pub(crate) fn most(&self) -> usize {
        match self.chunks {
            Chunks::AtMost(bytes) => bytes.max(1),
            Chunks::Recorded | Chunks::Whole => usize::MAX,
        }
    }
}
