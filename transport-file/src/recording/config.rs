use crate::capture::TapeStart;
use listwatch_core::Instant;
use listwatch_core::time::WallTime;

/// The settings of a [`Tape`](crate::Tape) or a [`Recorder`](crate::Recorder).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RecorderConfig {
    pub(super) start: TapeStart,
    pub(super) began: Option<Instant>,
    pub(super) include_secrets: bool,
    pub(super) fail_unrecorded: bool,
}

impl RecorderConfig {
    /// Returns the defaults: no date, and no values of Secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the date of the recording, written by RFC 3339 in milliseconds. A date after the year 9999 is left out.
    pub fn started(mut self, started: impl Into<WallTime>) -> Self {
        self.start.started = Some(started.into());
        self
    }

    /// Sets the instant of that date, from which the times count; that of the first record unless set.
    pub fn began(mut self, began: Instant) -> Self {
        self.began = Some(began);
        self
    }

    /// Sets the address of the API server, for the first line. It must not contain credentials.
    pub fn server(mut self, url: impl Into<String>) -> Self {
        self.start.server = Some(url.into());
        self
    }

    /// Sets the identity of the cluster, for the first line: the uid of its namespace `kube-system`.
    pub fn cluster(mut self, uid: impl Into<String>) -> Self {
        self.start.cluster = Some(uid.into());
        self
    }

    /// Sets the seed of the program's random delays, for the first line.
    pub fn seed(mut self, seed: u64) -> Self {
        self.start.seed = Some(seed);
        self
    }

    /// Sets whether the values of Secrets and tokens are recorded; `false` unless set. Without them, a keyed hash stands for
    /// each, as [`Tape`](crate::Tape) says.
    pub fn include_secrets(mut self, include: bool) -> Self {
        self.include_secrets = include;
        self
    }

    /// Sets whether every request fails once the file cannot be written, so that none goes on unrecorded. `false` unless
    /// set: a program that records itself goes on without its tape. [`Recorder::create`](crate::Recorder::create) sets
    /// it.
    pub fn fail_unrecorded(mut self, fail: bool) -> Self {
        self.fail_unrecorded = fail;
        self
    }
}
