//! client-go's `DeltaFIFO` and `RealFIFO`, transcribed, and our stage before them.

use listwatch_core::fifo::{Delta, Order, Popped};
use listwatch_core::storage::{Keyed, KnownObjects};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

/// A key and a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pod<K = u8, V = u32>(pub K, pub V);

impl<K: Hash + Eq, V> Keyed for Pod<K, V> {
    type Key = K;

    fn key(&self) -> &K {
        &self.0
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}

/// What the consumer has applied, in key order.
#[derive(Clone, Debug, Default)]
pub struct Known<K = u8, V = u32>(pub BTreeMap<K, Pod<K, V>>);

impl<K: Hash + Ord, V> KnownObjects<Pod<K, V>> for Known<K, V> {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a Pod<K, V>>
    where
        Pod<K, V>: 'a,
    {
        self.0.values()
    }

    fn is_known(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }
}

impl<K: Ord + Clone, V: Clone> Known<K, V> {
    /// Does what a consumer does.
    pub fn apply(&mut self, delta: &Delta<Pod<K, V>>) {
        let pod = delta.object();
        if delta.is_deletion() {
            self.0.remove(&pod.0);
        } else {
            self.0.insert(pod.0.clone(), pod.clone());
        }
    }
}

/// Units are what a pop of client-go gives: by arrival one delta, by key those of one key.
#[derive(Debug)]
pub struct DeltaFifoModel {
    order: Order,
    coalescing: bool,
    units: Vec<Vec<Delta<Pod>>>,
    /// A key without an object is only present.
    staged: Vec<(u8, Option<Pod>)>,
    unreadable: bool,
    populated: bool,
    initial: usize,
    arrived: u64,
    /// With which arrival each delta that waits came, and of which key it is; oldest first.
    arrivals: Vec<(u64, u8)>,
}

impl DeltaFifoModel {
    /// An empty queue.
    #[must_use]
    pub fn new(order: Order, coalescing: bool) -> Self {
        Self {
            order,
            coalescing,
            units: Vec::new(),
            staged: Vec::new(),
            unreadable: false,
            populated: false,
            initial: 0,
            arrived: 0,
            arrivals: Vec::new(),
        }
    }

    /// `Add` and `Update`.
    pub fn push(&mut self, delta: Delta<Pod>) {
        self.populated = true;
        self.arrive(delta);
    }

    /// `Delete`.
    pub fn delete(&mut self, pod: Pod, known: &Known) {
        self.populated = true;
        if self.order == Order::Arrival || self.newest_queued(pod.0).is_some() || known.0.contains_key(&pod.0) {
            self.arrive(Delta::Deleted(pod));
        }
    }

    /// An item of a list.
    pub fn stage(&mut self, pod: Pod) {
        match self.staged.iter_mut().find(|(key, object)| *key == pod.0 && object.is_none()) {
            Some(presence) => presence.1 = Some(pod),
            None => self.staged.push((pod.0, Some(pod))),
        }
    }

    /// An item of a list that is streamed.
    pub fn restage(&mut self, pod: Pod) {
        match self.staged.iter_mut().rfind(|(key, _)| *key == pod.0) {
            Some(item) => item.1 = Some(pod),
            None => self.stage(pod),
        }
    }

    /// An item without an object.
    pub fn stage_present(&mut self, key: u8) {
        if !self.is_staged(key) {
            self.staged.push((key, None));
        }
    }

    /// An item without a key.
    pub fn stage_unreadable(&mut self) {
        self.unreadable = true;
    }

    /// An item that a streamed list deleted again.
    pub fn unstage(&mut self, key: u8) {
        self.staged.retain(|(staged, _)| *staged != key);
    }

    /// The list broke off.
    pub fn discard_stage(&mut self) {
        self.staged.clear();
        self.unreadable = false;
    }

    /// `Replace`.
    pub fn commit_stage(&mut self, known: &Known) {
        let items: Vec<Delta<Pod>> = self.staged.iter().filter_map(|item| item.1.map(Delta::Replaced)).collect();
        let (queued, known) = (self.missing_queued(), self.missing_known(known));
        let plain_list = !self.unreadable && self.staged.iter().all(|(_, object)| object.is_some());
        let listed: BTreeSet<u8> = self.staged.iter().map(|(key, _)| *key).collect();
        let deletions = queued.len() + known.len();
        let parts = match self.order {
            Order::Arrival => [queued, known, items],
            Order::ByKey => [items, queued, known],
        };
        self.arrived += 1;
        parts.into_iter().flatten().for_each(|delta| _ = self.queue(delta));
        if !self.populated {
            self.initial = self.units.len();
            if self.order == Order::ByKey && plain_list {
                assert_eq!(self.initial, listed.len() + deletions, "client-go's count");
            }
        }
        self.populated = true;
        self.discard_stage();
    }

    /// `Resync`.
    pub fn resync(&mut self, known: &Known) {
        for pod in known.0.values().copied() {
            if self.newest_queued(pod.0).is_none() {
                self.arrive(Delta::Sync(pod));
            }
        }
    }

    /// `Pop`, delta by delta.
    pub fn pop(&mut self) -> Option<Popped<Pod>> {
        let initial = !self.has_synced();
        let delta = self.units.first_mut()?.remove(0);
        let place = self.arrivals.iter().position(|(_, key)| *key == delta.object().0)?;
        self.arrivals.remove(place);
        let more = !self.units[0].is_empty();
        if !more {
            self.units.remove(0);
            self.initial = self.initial.saturating_sub(1);
        }
        Some(Popped { delta, initial, more })
    }

    /// `HasSynced`.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.populated && self.initial == 0
    }

    /// The number of the newest arrival: of a delta, or of a list.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// The arrival of the delta that has waited longest.
    #[must_use]
    pub fn oldest(&self) -> Option<u64> {
        self.arrivals.first().map(|(arrival, _)| *arrival)
    }

    /// The number of deltas.
    #[must_use]
    pub fn len(&self) -> usize {
        self.units.iter().map(Vec::len).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// The newest staged object, or else the newest queued one.
    #[must_use]
    pub fn newest(&self, key: u8) -> Option<Pod> {
        let staged = self.staged.iter().rev().find_map(|(staged, object)| object.filter(|_| *staged == key));
        staged.or_else(|| self.newest_queued(key).map(|delta| *delta.object()))
    }

    /// How many places of a fixed memory are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.len() + self.staged.len()
    }

    /// How many places the tombstones of a commit would take.
    #[must_use]
    pub fn missing(&self, known: &Known) -> usize {
        let queued = if self.coalescing { 0 } else { self.missing_queued().len() };
        queued + self.missing_known(known).len()
    }

    /// How many places a delta would take.
    #[must_use]
    pub fn needed(&self, delta: Delta<Pod>) -> usize {
        let waiting = self.waiting(delta.object().0);
        if self.coalescing { coalesced(&waiting, delta).len().saturating_sub(waiting.len()) } else { 1 }
    }

    /// How many places a resync would take.
    #[must_use]
    pub fn unqueued(&self, known: &Known) -> usize {
        known.0.keys().filter(|key| self.newest_queued(**key).is_none()).count()
    }

    fn is_staged(&self, key: u8) -> bool {
        self.staged.iter().any(|(staged, _)| *staged == key)
    }

    fn newest_queued(&self, key: u8) -> Option<Delta<Pod>> {
        self.units.iter().flatten().rev().find(|delta| delta.object().0 == key).copied()
    }

    /// In the order of the first delta of each key.
    fn missing_queued(&self) -> Vec<Delta<Pod>> {
        let mut missing: Vec<Delta<Pod>> = Vec::new();
        for delta in self.units.iter().flatten() {
            let key = delta.object().0;
            let newest = self.newest_queued(key).filter(|newest| !newest.is_deletion());
            let done = self.unreadable || self.is_staged(key) || missing.iter().any(|delta| delta.object().0 == key);
            missing.extend(newest.filter(|_| !done).map(|newest| Delta::Tombstone(*newest.object())));
        }
        missing
    }

    fn missing_known(&self, known: &Known) -> Vec<Delta<Pod>> {
        let here = |key| self.unreadable || self.is_staged(key) || self.newest_queued(key).is_some();
        known.0.values().filter(|pod| !here(pod.0)).copied().map(Delta::Tombstone).collect()
    }

    /// A delta that comes by itself; it does not count where another one takes it in.
    fn arrive(&mut self, delta: Delta<Pod>) {
        self.arrived += 1;
        if !self.queue(delta) {
            self.arrived -= 1;
        }
    }

    /// Queues a delta; whether more deltas of its key wait than before.
    fn queue(&mut self, delta: Delta<Pod>) -> bool {
        let key = delta.object().0;
        let before = self.waiting(key).len();
        self.enqueue(delta);
        let after = self.waiting(key).len();
        if after > before {
            self.arrivals.push((self.arrived, key));
        } else if after < before
            && let Some(place) = self.arrivals.iter().rposition(|(_, of)| *of == key)
        {
            self.arrivals.remove(place);
        }
        after > before
    }

    /// `queueActionLocked` with `dedupDeltas`, or `addToItems_locked`.
    fn enqueue(&mut self, delta: Delta<Pod>) {
        let key = delta.object().0;
        if self.coalescing {
            return self.queue_coalesced(delta);
        }
        let unit = self.units.iter_mut().find(|unit| unit[0].object().0 == key);
        let Some(unit) = unit.filter(|_| self.order == Order::ByKey) else { return self.units.push(vec![delta]) };
        match unit.last_mut() {
            Some(newest) if newest.is_deletion() && delta.is_deletion() => {
                if matches!(newest, Delta::Tombstone(_)) {
                    *newest = delta;
                }
            }
            _ => unit.push(delta),
        }
    }

    /// The deltas of a key.
    fn waiting(&self, key: u8) -> Vec<Delta<Pod>> {
        self.units.iter().flatten().filter(|delta| delta.object().0 == key).copied().collect()
    }

    /// What is merged stays where it was; only what is new by itself is last, by arrival of all and by key of its key.
    fn queue_coalesced(&mut self, delta: Delta<Pod>) {
        let key = delta.object().0;
        let waiting = coalesced(&self.waiting(key), delta);
        let mut left = waiting.iter().copied();
        for unit in self.units.iter_mut().filter(|unit| unit[0].object().0 == key) {
            *unit = unit.iter().filter_map(|_| left.next()).collect();
        }
        let initial = self.units.iter().take(self.initial).filter(|unit| !unit.is_empty()).count();
        self.initial = self.initial.min(initial);
        self.units.retain(|unit| !unit.is_empty());
        if let Some(own) = left.next() {
            let unit = self.units.iter_mut().find(|unit| unit[0].object().0 == key);
            match unit.filter(|_| self.order == Order::ByKey) {
                Some(unit) => unit.push(own),
                None => self.units.push(vec![own]),
            }
        }
    }
}

/// The normal form of what waits of one key, already in it, and one delta more: one state, or a deletion, or a deletion
/// and a state after it.
fn coalesced(waiting: &[Delta<Pod>], delta: Delta<Pod>) -> Vec<Delta<Pod>> {
    match *waiting {
        [] => vec![delta],
        [deletion] if deletion.is_deletion() => match (deletion, delta.is_deletion()) {
            (_, false) => vec![deletion, delta],
            (Delta::Tombstone(_), true) => vec![delta],
            (_, true) => vec![deletion],
        },
        [_] if delta.is_deletion() => vec![delta],
        [state] => vec![newer_state(state, delta)],
        [deletion, _] if delta.is_deletion() => vec![deletion],
        [deletion, state] => vec![deletion, newer_state(state, delta)],
        _ => unreachable!("at most two"),
    }
}

fn newer_state(state: Delta<Pod>, newer: Delta<Pod>) -> Delta<Pod> {
    match state {
        Delta::Added(_) => Delta::Added(*newer.object()),
        Delta::Updated(_) => Delta::Updated(*newer.object()),
        Delta::Replaced(_) => Delta::Replaced(*newer.object()),
        _ => newer,
    }
}
