//! The leases that a member writes.

use super::super::config::GROUP_LABEL;
use super::super::map::{ANNOTATION, ShardMap};
use super::{Intent, ShardHolder, ShardState, Unsettled};
use crate::api::{ApiCall, DeleteOptions};
use crate::election::lease::{self, Known, Record, field, object};
use crate::time::WallTime;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;
use serde_json::{Value, json};

impl ShardHolder {
    pub(super) fn request(&mut self, intent: &Intent, wall: WallTime) -> ApiCall<Value> {
        match intent {
            Intent::Read { name } => self.api.get(name),
            Intent::Write { map } => self.write_map(map),
            Intent::Bury { holder } => {
                // It keeps the time of the term: the lease proves that this one is over, and no later one.
                let (holder_is, acquired) = (None, Some(holder.term));
                let duration = Some(Duration::from_secs(1));
                let known = self.members.get(&*holder.member);
                let transitions = known.map_or(0, |known| known.record.transitions);
                let record = Record { holder: holder_is, duration, acquired, renewed: Some(wall), transitions };
                self.put(&holder.member, known, |lease| record.write(lease))
            }
            Intent::Remove { name } => self.remove(name),
        }
    }

    /// From now on, the shards that the map gives away are not this member's.
    fn write_map(&mut self, map: &ShardMap) -> ApiCall<Value> {
        let own = self.own();
        let given: Vec<u16> = (0..self.config.space.count())
            .filter(|shard| self.state(*shard) == ShardState::Drained || self.is_given_away(*shard))
            .filter(|shard| map.holders[usize::from(*shard)] != own || self.is_given_away(*shard))
            .collect();
        if let Some(known) = self.lease.as_ref().filter(|_| !given.is_empty()) {
            self.unsettled = Some(Unsettled { base: String::from(&*known.version), shards: given });
        }
        let text = map.next_text();
        self.put(&self.config.group, self.lease.as_ref(), |lease| {
            object(field(field(lease, "metadata"), "annotations")).insert(ANNOTATION.into(), json!(text));
        })
    }

    /// Creates a lease of the group, or replaces it in the version that is known.
    fn put(&self, name: &str, known: Option<&Known>, change: impl FnOnce(&mut Value)) -> ApiCall<Value> {
        let is_new = known.is_none();
        let mut lease = known.map_or_else(|| lease::created(&self.config.namespace, name), |known| known.lease.clone());
        lease::label(&mut lease, &[(GROUP_LABEL.into(), self.config.group.clone())]);
        change(&mut lease);
        if is_new { self.api.create(&lease) } else { self.api.replace(name, &lease) }
    }

    /// Deletes a lease in the version that is known. The body of the answer counts for nothing.
    fn remove(&self, name: &str) -> ApiCall<Value> {
        let version = self.members.get(name).map(|known| String::from(&*known.version));
        let options = DeleteOptions { resource_version: version, ..DeleteOptions::default() };
        let call = self.api.delete(name, &options);
        self.api.get(name).map_request(|get| call.request().cloned().unwrap_or(get))
    }
}
