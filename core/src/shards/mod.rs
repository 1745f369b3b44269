//! Shards: of many replicas, each works on a part of the objects, by leases.
//!
//! | type | purpose |
//! |---|---|
//! | [`ShardSpace`] | from an object to the number of its shard, and to the `shardSelector` of KEP-5866 |
//! | [`ShardHolder`] | which shards a replica holds, and when it has to stop its work on one |
//! | [`ShardConfig`] | the group of replicas, and the periods |
//! | [`ShardEvent`] | when work on a shard begins, when it has to end, and when it is over |
//!
//! # The leases
//!
//! A group of replicas has a lease of its name, the *map*: an annotation says which member holds each shard. Each member
//! has a lease of its own, which a [`LeaderElector`](crate::election::LeaderElector) renews. The map is written only if a
//! shard gets another holder. So `n` replicas send `n` renewals in a period, whatever the number of shards is.
//!
//! # What holds
//!
//! No two members work on one shard, as far as the [election](crate::election::LeaderElector) keeps its promise:
//!
//! - A member works on a shard while the map names it and its present term, and its term lasts.
//! - It takes a shard out of its own hands only after its work on the shard has [ended](ShardHolder::handle_drained).
//! - Another member takes the shard only if the lease of the holder proves that the term is over. A lease that nobody
//!   renewed for its duration proves nothing, as the watch may be late. So the other member first writes that lease itself,
//!   by its version. If that succeeds, no renewal was made, and none can be made.
//! - A write that was not answered may still be made. Until a later version of the map was seen, the member does not work
//!   on the shards that the write gave away.
//!
//! A map that someone deletes, or writes by hand, protects nothing. No API server checks that the writer of an object holds
//! its shard: a write that is on its way when a term ends has the rest of the lease to arrive, as in an election.

mod assign;
mod config;
mod event;
mod holder;
mod map;
mod space;
#[cfg(test)]
mod tests;

pub use config::{GROUP_LABEL, ShardConfig, ShardConfigError};
pub use event::ShardEvent;
pub use holder::{ShardHolder, ShardState};
pub use space::{ShardBy, ShardSpace};
