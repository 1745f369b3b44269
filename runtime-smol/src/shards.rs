//! Shards: of many replicas of a program, each reconciles a part of the objects.
//!
//! [`Reconciler::shards`](crate::controller::Reconciler::shards) divides the objects of the own kind, by their uid or by their
//! namespace. Children follow their owner. Replicas come and go: they divide the shards anew, and each one that has to give a
//! shard away ends its work on it first. [`core`](listwatch_core::shards) has the protocol.
//!
//! ```no_run
//! use listwatch::controller::{Controller, Outcome, RunError};
//! use listwatch::decode::MetadataOnly;
//! use listwatch::http::Cluster;
//! use listwatch::shards::Sharding;
//!
//! fn main() -> Result<(), RunError> {
//!     let controller = Controller::new("pods", Cluster::infer()?);
//!     let pods = controller.informer_of::<MetadataOnly>("v1/pods");
//!     controller.reconciles(&pods).shards(Sharding::by_uid("pods")).run(async |_cx, key| {
//!         println!("{key}"); // one replica prints it
//!         Ok(Outcome::Done)
//!     })
//! }
//! ```
//!
//! # What is promised
//!
//! - No object is reconciled by two replicas at once. A replica gives a shard away after its reconciles have ended and its
//!   writes are answered. After the [drain](crate::controller::Reconciler::drain), it drops what still runs.
//! - The replica that gets a shard reconciles all objects of it.
//! - A replica that cannot renew its lease stops its work within ten seconds. The others take its shards after fifteen.
//! - `n` replicas send `n` renewals each two seconds, whatever the number of shards is. Of the writes and reconciles, each
//!   replica has about one part in `n`.
//! - The cache of the own kind has the objects of this replica's shards: about one part in `n`. A replica begins its work on a
//!   shard once it has listed the objects. They leave its cache when it has given the shard away and its work has ended.
//!   [`Sharding::whole_cache`] keeps all.
//! - The server sends all objects of the own kind to each replica, which drops those of others as it decodes them. With
//!   [`Sharding::shard_selector`], a server that has the alpha feature of KEP-5866 sends a replica its part alone.
//!
//! # What is not
//!
//! - **No API server fences writes.** A write that is on its way when a term ends may arrive while another replica works. So
//!   [`change`](crate::controller::Context::change), [`ensure`](crate::controller::Context::ensure) and deletions carry a version
//!   or a uid. A creation has no version: give what you create names that follow from the owner, so that the second creation
//!   is refused. `generate_name` does not.
//! - An object that is deleted and created again under its name has another uid, so perhaps another shard. Then the deletion
//!   and the creation may be reconciled at once. By namespace, they are not.
//! - A deletion during a hand-over wakes no key. What has to act on each deletion uses a
//!   [finalizer](crate::controller::Context::finalizer).
//! - Each replica has all objects of the other kinds in its caches.
//! - What leaves a cache with its shard is told to subscribers of the program as a deletion. It wakes no reconcile.
//! - An informer that is given to another controller, too, has the part of the objects for both. Two controllers with shards
//!   are refused one informer, and so is a cache that is saved to a file. A world that is recorded keeps all objects.
//! - A key that a [mapper](crate::controller::Reconciler::maps) or a handle adds is left to the replica that has its shard. By
//!   uid, it is dropped if the cache has no such object.
//!
//! # Permissions
//!
//! ```yaml
//! kind: Role
//! apiVersion: rbac.authorization.k8s.io/v1
//! metadata: { name: shards, namespace: web }
//! rules:
//! - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, watch, create, update, delete] }
//! ```

mod driver;
mod part;
mod report;
mod table;

pub(crate) use driver::{ShardDriver, Told};
use part::Kept;
pub use report::ShardReport;
pub(crate) use table::{ShardGate, ShardTable, ShardWork};

#[doc(no_inline)]
pub use listwatch_core::shards::{ShardBy, ShardSpace};

use crate::election::{Candidate, Election, WhenLost, default_identity};
use crate::informers::World;
use crate::stable_hash::StableHash;
use core::time::Duration;
use listwatch_core::shards::{GROUP_LABEL, ShardConfig, ShardHolder};

/// How replicas divide objects among them. The periods are those of an [`Election`].
///
/// ```
/// use listwatch::shards::Sharding;
///
/// let sharding = Sharding::by_namespace("pages").namespace("web").count(64);
/// ```
#[must_use = "a sharding does nothing until a controller has it"]
pub struct Sharding {
    group: String,
    space: ShardSpace,
    namespace: Option<String>,
    identity: Option<String>,
    lease_duration: Duration,
    renew_deadline: Duration,
    retry_period: Duration,
    when_lost: WhenLost,
    kept: Kept,
}

/// So many shards, unless it is told otherwise. More than the replicas, so that their parts are about equal.
const COUNT: u16 = 32;

impl Sharding {
    /// Divides objects by the hash of their uid, so that the parts are about equal. `group` is the name of the replicas' lease:
    /// up to 46 lowercase letters, digits and dashes.
    pub fn by_uid(group: &str) -> Self {
        Self::by(group, ShardBy::Uid)
    }

    /// Divides objects by the hash of their namespace: those of one namespace are with one replica.
    pub fn by_namespace(group: &str) -> Self {
        Self::by(group, ShardBy::Namespace)
    }

    fn by(group: &str, by: ShardBy) -> Self {
        Self {
            group: group.to_owned(),
            space: ShardSpace::new(by, COUNT),
            namespace: None,
            identity: None,
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
            when_lost: WhenLost::End,
            kept: Kept::Part,
        }
    }

    /// The number of shards; 32 by default. All replicas need the same: those with another number, or another field, wait
    /// until the others have ended. It should be some times the number of replicas.
    pub fn count(mut self, count: u16) -> Self {
        self.space = ShardSpace::new(self.space.by(), count);
        self
    }

    /// The namespace of the leases; by default that of the pod, or of the kubeconfig's context.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The name of this replica, which no other life of a program may have; by default as [`Election::identity`].
    pub fn identity(mut self, identity: &str) -> Self {
        self.identity = Some(identity.to_owned());
        self
    }

    /// See [`Election::lease_duration`]; 15 s by default.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.lease_duration = duration;
        self
    }

    /// See [`Election::renew_deadline`]; 10 s by default. A request has half of it.
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.renew_deadline = deadline;
        self
    }

    /// See [`Election::retry_period`]; 2 s by default.
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.retry_period = period;
        self
    }

    /// What follows if this replica cannot renew its lease in time; by default the end of the run, as an error.
    pub fn when_lost(mut self, when_lost: WhenLost) -> Self {
        self.when_lost = when_lost;
        self
    }

    /// Keeps all objects in the cache of the own kind, for a program that reads those of other replicas there.
    pub fn whole_cache(mut self) -> Self {
        self.kept = Kept::All;
        self
    }

    /// Asks the server for the objects of this replica's shards alone (`shardSelector`, KEP-5866). It is alpha in Kubernetes
    /// 1.36 and 1.37: a server without the feature gate `ShardedListAndWatch` sends all objects, and this replica drops those of
    /// the others, as it does by default.
    pub fn shard_selector(mut self) -> Self {
        self.kept = Kept::Asked;
        self
    }

    /// A member of the group, in the cluster of this world: the candidate for its own lease, and what follows the map.
    pub(crate) fn join(self, world: &World, drain: Duration) -> Result<(Candidate, ShardDriver), String> {
        let identity = self.identity.unwrap_or_else(|| default_identity(world.clock()));
        let member = format!("{}-{:016x}", self.group, StableHash::new().text(&identity).finish());
        let namespace = self.namespace.or_else(|| world.namespace().map(str::to_owned));
        let namespace = namespace.ok_or("the shards' leases have no namespace; set one by Sharding::namespace")?;
        let election = Election::new(&member)
            .namespace(&namespace)
            .identity(&identity)
            .lease_duration(self.lease_duration)
            .renew_deadline(self.renew_deadline)
            .retry_period(self.retry_period)
            .request_timeout(self.renew_deadline / 2)
            .when_lost(self.when_lost)
            .label(GROUP_LABEL, &self.group)
            .watched(false);
        let candidate = election.candidate(world).map_err(|error| error.to_string())?;
        let mut config = ShardConfig::new(&namespace, &self.group, &member, self.space);
        (config.lease_duration, config.retry_period) = (self.lease_duration, self.retry_period);
        config.request_timeout = self.renew_deadline / 2;
        config.seed = world.clock().random_seed();
        let holder = ShardHolder::new(config).map_err(|error| error.to_string())?;
        let table = ShardTable::new(self.space, candidate.leadership());
        let kept = if world.keeps_all() { Kept::All } else { self.kept };
        let driver = ShardDriver::new(holder, table, world.clone(), (namespace, self.group), drain, kept);
        Ok((candidate, driver))
    }
}

listwatch_core::summary!("Sharding" for Sharding, |it| { group: it.group, space: it.space });
