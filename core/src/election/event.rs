use crate::api::ApiError;
use crate::object::Version;
use crate::time::WallTime;
use alloc::string::String;
use core::fmt;

/// What a [`LeaderElector`](super::LeaderElector) tells its program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElectionEvent {
    /// The holder changed; `None` if there is none. It may be this candidate. The text comes from the server.
    Leader(Option<String>),
    /// This candidate leads: work starts.
    Started(FencingToken),
    /// Work has to stop. [`handle_stopped`](super::LeaderElector::handle_stopped) says when it has.
    ///
    /// If the program asked for it, the lease is renewed meanwhile. If that fails too, a second event has the reason.
    Stopping(StopReason),
    /// The election is over for this candidate.
    Ended {
        /// Whether the lease was left free. If not, another candidate holds it, or it has to expire.
        released: bool,
    },
    /// A request failed, and another one follows. Or a watch brought a lease without a version.
    Failed(ApiError),
}

/// Why work has to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The program called [`stop`](super::LeaderElector::stop).
    Asked,
    /// No renewal succeeded before the deadline.
    Expired,
    /// The lease has another record than this candidate wrote.
    Taken {
        /// The holder; `None` if the lease has none.
        by: Option<String>,
    },
}

/// The term that a leader began. A write carries it, where its receiver can compare.
///
/// Of two terms, the later one has the greater [`version`](Self::version), as
/// [`compare_versions`](crate::object::compare_versions) compares them. It is displayed as `TRANSITIONS-VERSION`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FencingToken {
    pub(super) transitions: u32,
    pub(super) version: Version,
    pub(super) acquired: Option<WallTime>,
}

impl FencingToken {
    /// How many times the lease had gone to another holder (`spec.leaseTransitions`). It starts again if the lease is
    /// deleted.
    pub fn transitions(&self) -> u32 {
        self.transitions
    }

    /// The resource version of the lease when the term began.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// When the term began, by the candidate's wall clock (`spec.acquireTime`). Of two terms of one candidate, the later
    /// one has the later time.
    pub fn acquired(&self) -> Option<WallTime> {
        self.acquired
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.transitions, self.version)
    }
}
