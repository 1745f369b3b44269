//! What the operator is told of shards.

use core::fmt;
use listwatch_core::api::ApiError;
use listwatch_core::reflector::FailureReport;
use listwatch_core::shards::ShardSpace;

/// Something about shards that an operator should know.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShardReport<'a> {
    /// This replica has other shards than before.
    Holds {
        /// The numbers of those that it works on, in ascending order.
        shards: &'a [u16],
        /// The number of all shards.
        of: u16,
        /// The number of replicas.
        members: usize,
    },
    /// The replicas that run divide objects in another way, so this one waits until they have ended.
    Mismatch {
        /// The shards of the others.
        is: ShardSpace,
    },
    /// A request failed, and another one follows.
    Failed {
        /// The failure.
        error: &'a ApiError,
    },
    /// The leases cannot be listed or watched. The request is repeated.
    NotWatched {
        /// The failure.
        failure: &'a FailureReport,
    },
}

impl ShardReport<'_> {
    /// Whether it is no sign of a problem.
    #[cfg(feature = "tracing")]
    pub(crate) fn is_information(&self) -> bool {
        matches!(self, Self::Holds { .. })
    }
}

impl fmt::Display for ShardReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds { shards, of, members } => {
                write!(f, "works on {} of {of} shards; replicas: {members}", shards.len())
            }
            Self::Mismatch { is } => write!(
                f,
                "waits: the other replicas have {} shards by {}; give all the same, or end the others",
                is.count(),
                is.by()
            ),
            Self::Failed { error } => write!(
                f,
                "a request failed: {error}; it needs the verbs get, list, watch, create, update and delete of \
                 leases.coordination.k8s.io"
            ),
            Self::NotWatched { failure } => write!(f, "the leases are not watched: {failure}"),
        }
    }
}
