use super::space::ShardSpace;
use crate::api::ApiError;

/// What a [`ShardHolder`](super::ShardHolder) tells its program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ShardEvent {
    /// Work on this shard begins, or goes on after [`Draining`](Self::Draining): all its objects are to be looked at.
    Gained(u16),
    /// Work on this shard has to end, and none may begin. [`handle_drained`](super::ShardHolder::handle_drained) says when
    /// it has ended.
    Draining(u16),
    /// The shard is not this member's any more. Its work is to be dropped at once.
    Lost(u16),
    /// The members that run have other shards than this one, so it waits until they have ended.
    Mismatch {
        /// Those of the map.
        is: ShardSpace,
    },
    /// A request failed, and another one follows.
    Failed(ApiError),
}
