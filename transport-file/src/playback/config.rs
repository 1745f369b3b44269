use crate::file::LINE_LIMIT;
use core::time::Duration;
use listwatch_core::Instant;

/// The settings of a [`Playback`](crate::Playback): delays, chunks, and the treatment of bad lines.
///
/// ```
/// use listwatch_transport_file::{Chunks, Pace, PlaybackConfig};
///
/// let config = PlaybackConfig::new().pace(Pace::Immediate).chunks(Chunks::AtMost(1)).skip_bad_lines(true);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct PlaybackConfig {
    pub(crate) pace: Pace,
    pub(crate) chunks: Chunks,
    pub(crate) skip_bad_lines: bool,
    pub(crate) line_limit: usize,
    pub(crate) from: Duration,
}

/// When the parts of a response come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pace {
    /// After their recorded delays, which count from the request.
    #[default]
    Recorded,
    /// At once.
    Immediate,
    /// At their times since the recording began, which the caller's clock counts, so that all resources play in one time
    /// line. Of a log, which has no times, an event comes each second behind its first state.
    Dated,
}

/// How many bytes of a body come per poll. The caller's buffer is a further limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chunks {
    /// The chunks of the recording.
    #[default]
    Recorded,
    /// At most this many bytes; zero counts as one.
    AtMost(usize),
    /// All bytes that are due.
    Whole,
}

impl Default for PlaybackConfig {
    fn default() -> Self {
        Self {
            pace: Pace::Recorded,
            chunks: Chunks::Recorded,
            skip_bad_lines: false,
            line_limit: LINE_LIMIT,
            from: Duration::ZERO,
        }
    }
}

impl PlaybackConfig {
    /// Returns the defaults: recorded delays and chunks, and an end at the first bad line.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when the parts of a response come; [`Pace::Recorded`] unless set.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.pace = pace;
        self
    }

    /// Sets how many bytes of a body come per poll; [`Chunks::Recorded`] unless set.
    pub fn chunks(mut self, chunks: Chunks) -> Self {
        self.chunks = chunks;
        self
    }

    /// Sets whether bad lines of a capture or a watch log are counted and skipped; unless set, they end the playback.
    ///
    /// In a watch log whose events take several lines, a whole event is skipped, and counts as one. A list has no lines
    /// to skip.
    pub fn skip_bad_lines(mut self, skip: bool) -> Self {
        self.skip_bad_lines = skip;
        self
    }

    /// Limits a line of a capture or an event of a watch log, in bytes without the line end; 64 MiB unless set.
    pub fn line_limit(mut self, bytes: usize) -> Self {
        self.line_limit = bytes;
        self
    }

    /// Sets the moment of a capture from which its delays count, since its beginning; zero unless set.
    ///
    /// The state at that moment comes from the exchanges before it, so they are played too, without delays.
    pub fn from(mut self, moment: Duration) -> Self {
        self.from = moment;
        self
    }

    /// Whether the delay of a part counts from the beginning of the recording.
    pub(crate) fn is_dated(&self) -> bool {
        self.pace == Pace::Dated
    }

    /// When a part with this delay is due, for a request that was first polled at `began`.
    pub(crate) fn due(&self, began: Instant, delay: Duration) -> Instant {
        match self.pace {
            Pace::Dated => began.max(Instant::ZERO + delay),
            Pace::Recorded => began + delay,
            Pace::Immediate => began,
        }
    }

    /// The most bytes of a body per poll.
    pub(crate) fn most(&self) -> usize {
        match self.chunks {
            Chunks::AtMost(bytes) => bytes.max(1),
            Chunks::Recorded | Chunks::Whole => usize::MAX,
        }
    }
}
