//! What a member does next.

use super::super::assign::assign;
use super::super::map::{Holder, ShardMap};
use super::{Intent, Readable, ShardHolder, ShardState, after};
use crate::time::{Instant, earliest};
use alloc::string::String;
use alloc::vec::Vec;

impl ShardHolder {
    /// The next request.
    ///
    /// # Errors
    /// When to plan again, as long as there is nothing to do.
    pub(super) fn plan(&self) -> Result<Intent, Option<Instant>> {
        let Some(own) = self.own().filter(|_| self.is_synced) else { return Err(None) };
        if let Some(name) = self.doubtful.first() {
            return Ok(Intent::Read { name: name.clone() });
        }
        let live = self.live();
        let rank = live.iter().position(|it| *it == own).unwrap_or_default();
        let mut due =
            self.members.values().map(|it| it.expiry(self.config.lease_duration)).filter(|it| *it > self.now).min();
        for (holder, expiry) in self.silent() {
            match after(expiry, rank, self.config.retry_period) {
                at if at <= self.now => return Ok(Intent::Bury { holder }),
                at => due = earliest(due, Some(at)),
            }
        }
        if let Some(map) = self.next_map(&mut due, rank) {
            return Ok(Intent::Write { map });
        }
        for (name, at) in self.removable().filter(|_| rank == 0) {
            match at {
                at if at <= self.now => return Ok(Intent::Remove { name: name.clone() }),
                at => due = earliest(due, Some(at)),
            }
        }
        Err(due)
    }

    /// The map that this member has to write now, if it has to.
    fn next_map(&self, due: &mut Option<Instant>, rank: usize) -> Option<ShardMap> {
        if matches!(self.map, Readable::Unreadable) {
            return None;
        }
        let orphans_due = self.orphaned_at.map(|at| after(at, rank, self.config.retry_period));
        let is_due = orphans_due.is_some_and(|at| at <= self.now);
        let gives = |shard: u16| self.state(shard) == ShardState::Drained || self.is_given_away(shard);
        if !is_due && !(0..self.config.space.count()).any(gives) && self.unsettled.is_none() {
            *due = earliest(*due, orphans_due);
            return None;
        }
        let targets = self.targets();
        let known = self.map().filter(|map| map.space == self.config.space);
        let mut map = known.cloned().unwrap_or_else(|| ShardMap::new(self.config.space));
        for (place, holder) in map.holders.iter_mut().enumerate() {
            let is_free = holder.as_ref().is_none_or(|holder| self.is_over(holder));
            if is_free || gives(place as u16) {
                *holder = targets.get(place).cloned();
            }
        }
        Some(map)
    }

    /// The members that run, in the order of their names; this one is among them while it has a term.
    pub(super) fn live(&self) -> Vec<Holder> {
        let own = self.own();
        let others = self.members.iter().filter(|(name, _)| **name != self.config.member);
        let is_live = |(name, known): (&String, &crate::election::lease::Known)| {
            known.record.holder.as_ref()?;
            let term = known.record.acquired.filter(|_| known.expiry(self.config.lease_duration) > self.now)?;
            Some(Holder { member: name.as_str().into(), term })
        };
        let mut live: Vec<_> = others.filter_map(is_live).chain(own).collect();
        live.sort_unstable();
        live
    }

    /// The next holder of each shard; none as long as the members have other shards.
    pub(super) fn targets(&self) -> Vec<Holder> {
        let live = self.live();
        let place = |holder: &Option<Holder>| live.iter().position(|it| Some(it) == holder.as_ref());
        let held: Vec<Option<usize>> = match self.map() {
            Some(map) if map.space == self.config.space => map.holders.iter().map(place).collect(),
            _ => alloc::vec![None; self.config.space.count().into()],
        };
        assign(&held, live.len()).into_iter().map(|member| live[member].clone()).collect()
    }

    /// Whether this member may give shards to members: there are some that no term holds.
    pub(super) fn has_orphans(&self) -> bool {
        let is_orphan = |holder: &Option<Holder>| holder.as_ref().is_none_or(|holder| self.is_over(holder));
        match &self.map {
            Readable::Absent => true,
            Readable::Unreadable => false,
            Readable::Map(map) if map.space == self.config.space => map.holders.iter().any(is_orphan),
            // Another map is replaced as a whole.
            Readable::Map(map) => map.holders.iter().all(is_orphan),
        }
    }

    /// Whether a lease proves that a term is over: its member has left or lost it, or has a later one.
    ///
    /// The view of a lease may be older than that of the map. So the lease of an earlier term proves nothing.
    fn is_over(&self, holder: &Holder) -> bool {
        if *holder.member == *self.config.member {
            return self.term != Some(holder.term);
        }
        let Some(known) = self.members.get(&*holder.member) else { return false };
        match (&known.record.holder, known.record.acquired) {
            (Some(_), Some(acquired)) => acquired > holder.term,
            (None, Some(acquired)) => acquired >= holder.term,
            (_, None) => false,
        }
    }

    /// The terms in the map that nothing proves to be over, and whose lease has not changed or been there: each with the time
    /// at which that has lasted for the duration of the lease.
    fn silent(&self) -> impl Iterator<Item = (Holder, Instant)> {
        let holders = self.map().map(ShardMap::distinct).unwrap_or_default();
        let open = holders.into_iter().filter(move |it| *it.member != *self.config.member && !self.is_over(it));
        open.filter_map(move |holder| {
            let duration = self.config.lease_duration;
            let expiry = match self.members.get(&*holder.member) {
                Some(known) => known.expiry(duration).max(known.since() + duration),
                None => *self.absent.get(&*holder.member)? + duration,
            };
            Some((holder.clone(), expiry))
        })
    }

    /// The leases of members that have ended, which the map does not name, and when they may be deleted.
    fn removable(&self) -> impl Iterator<Item = (&String, Instant)> {
        let named = self.map().map(ShardMap::distinct).unwrap_or_default();
        let is_named = move |name: &str| named.iter().any(|holder| *holder.member == *name);
        let others = self.members.iter().filter(move |(name, _)| **name != self.config.member && !is_named(name));
        let duration = self.config.lease_duration;
        others.map(move |(name, known)| (name, known.expiry(duration).max(known.since() + duration) + duration))
    }

    /// Notes since when a holder in the map has no lease.
    pub(super) fn note_absent(&mut self) {
        let holders = self.map().map(ShardMap::distinct).unwrap_or_default();
        let absent = holders.iter().map(|holder| String::from(&*holder.member));
        let absent: Vec<_> = absent.filter(|name| !self.members.contains_key(name)).collect();
        self.absent.retain(|name, _| absent.contains(name));
        for name in absent.into_iter().filter(|name| *name != self.config.member) {
            self.absent.entry(name).or_insert(self.now);
        }
    }
}
