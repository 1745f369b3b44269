//! The shards of a controller's keys.

use super::owners::OwnKind;
use crate::client::Gate;
use crate::election::Candidate;
use crate::informers::World;
use crate::mutex::Mutex;
pub(super) use crate::shards::Sharding;
use crate::shards::{ShardBy, ShardDriver, ShardGate, ShardTable, ShardWork};
use core::time::Duration;
use listwatch_core::Key;
use listwatch_core::object::{Meta, Uid};
use std::collections::HashMap;
use std::sync::Arc;

/// How a controller stands to the shards of its keys.
pub(super) struct Sharded {
    table: Arc<ShardTable>,
    /// The shards of keys that wait, and whose object is not in the cache: it was deleted, or only a child is known.
    absent: Mutex<HashMap<Key, u16>>,
}

/// A member of the group, which is to be driven.
pub(super) type Member = ShardDriver;

/// Work on a key, until it is dropped.
pub(super) struct Place(ShardWork);

/// What lets the writes of a reconcile out.
#[derive(Clone)]
pub(super) struct PlaceGate(Arc<ShardGate>);

/// A member of the group: the candidate for its lease, and what follows the map. The cache has no object before the member has
/// a shard.
pub(super) fn join(
    sharding: Sharding,
    world: &World,
    drain: Duration,
    own: &OwnKind,
) -> Result<(Candidate, Member), String> {
    let (candidate, mut member) = sharding.join(world, drain)?;
    match member.first_selection() {
        Some(selection) if !own.select(&selection) => {
            let why = "another controller with shards has its informer, or the cache is saved to a file";
            Err(format!("{why}; give it an informer of its own, or use Sharding::whole_cache"))
        }
        _ => Ok((candidate, member)),
    }
}

impl Sharded {
    pub(super) fn of(member: &Member) -> Self {
        Self { table: Arc::clone(member.table()), absent: Mutex::default() }
    }

    /// Whether the uids of objects tell their shards.
    pub(super) fn divides_by_uid(&self) -> bool {
        self.table.space().by() == ShardBy::Uid
    }

    /// Learns the shard of a key from the uid of its object, which may be gone, or known by a child alone.
    pub(super) fn learn(&self, own: &OwnKind, key: &Key, uid: Option<&Uid>) {
        self.learn_shard(Some(own), key, uid.map(|uid| self.table.space().of_uid(uid)));
    }

    /// Learns the shard of a key that is to be added.
    pub(super) fn learn_shard(&self, own: Option<&OwnKind>, key: &Key, shard: Option<u16>) {
        shard.filter(|shard| self.table.is_held(*shard)).into_iter().for_each(|shard| self.keep(own, key, shard));
    }

    /// Learns from an object whose owner is of the own kind.
    pub(super) fn learn_owner(&self, own: &OwnKind, child: &Meta) {
        let uid = own.owner_uid(child);
        own.owner_keys(child).for_each(|key| self.learn(own, &key, uid.as_ref()));
    }

    /// Whether this replica has the shard of a key.
    pub(super) fn admits(&self, own: Option<&OwnKind>, key: &Key) -> bool {
        self.shard_of(own, key).is_some_and(|shard| self.table.is_held(shard))
    }

    /// Begins work on a key, unless it is another replica's. `last` is the shard of its last reconcile, if that wrote.
    pub(super) fn enter(&self, own: Option<&OwnKind>, key: &Key, last: Option<u16>) -> Option<Place> {
        let shard = self.shard_of(own, key).or(last);
        self.absent.lock().remove(key);
        shard.and_then(|shard| self.table.enter(shard)).map(Place)
    }

    /// A key is to be reconciled again.
    pub(super) fn keep(&self, own: Option<&OwnKind>, key: &Key, shard: u16) {
        if self.divides_by_uid() && own.is_some_and(|own| own.uid_of(key).is_none()) {
            self.absent.lock().insert(key.clone(), shard);
        }
    }

    /// The shard of a key, if it is known.
    pub(super) fn shard_of(&self, own: Option<&OwnKind>, key: &Key) -> Option<u16> {
        let space = self.table.space();
        let uid = own.filter(|_| space.by() == ShardBy::Uid).and_then(|own| own.uid_of(key));
        space.of_object(key.namespace(), uid.as_ref()).or_else(|| self.absent.lock().get(key).copied())
    }
}

impl Place {
    pub(super) fn gate(&self) -> PlaceGate {
        PlaceGate(self.0.gate())
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_over()
    }

    pub(super) async fn over(&self) {
        self.0.over().await;
    }
}

impl PlaceGate {
    pub(super) fn gate(&self) -> Arc<dyn Gate> {
        Arc::clone(&self.0) as _
    }

    pub(super) fn shard(&self) -> u16 {
        self.0.shard()
    }

    /// Work beside the reconcile.
    pub(super) fn work(&self) -> Option<Place> {
        self.0.work().map(Place)
    }
}
