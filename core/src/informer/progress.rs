//! Up to which version the cache has every change.

use crate::object::Version;
use crate::storage::{Linked, List, Mem, Slab};

/// Which of the received versions has been applied.
pub(super) struct Progress<M: Mem> {
    /// The newest version that is applied.
    pub(super) applied: Option<Version>,
    received: Slab<Linked<Received>, M>,
    /// The versions received since, oldest first.
    order: List,
}

/// A version that is applied once every delta up to an arrival has been taken. A bookmark queues no delta and shares
/// the arrival before it, so the queue's limit bounds the number of these.
struct Received {
    arrival: u64,
    version: Option<Version>,
}

impl<M: Mem> Progress<M> {
    /// Notes that the deltas up to an arrival bring everything up to a version.
    pub(super) fn receive(&mut self, arrival: u64, version: Option<&Version>) {
        let newest = self.order.back().map(|slot| &self.received[slot]);
        let known = newest.map_or(&self.applied, |newest| &newest.version);
        if known.as_ref() == version {
            return;
        }
        let shared = newest.is_some_and(|newest| newest.arrival == arrival);
        let received = Received { arrival, version: version.cloned() };
        match self.order.back().filter(|_| shared) {
            Some(newest) => *self.received[newest] = received,
            None => self.push(received),
        }
    }

    /// If fixed memory is full, this version takes the place of the one before it, which then counts as applied later.
    fn push(&mut self, received: Received) {
        match self.received.try_insert(Linked::new(received)) {
            Ok(slot) => self.order.push_back(&mut self.received, slot),
            Err(full) => {
                if let Some(newest) = self.order.back() {
                    *self.received[newest] = M::into_item(full).into_record();
                }
            }
        }
    }

    /// The newest version whose deltas all arrived before `oldest`, the arrival of the oldest queued delta; `None` if no
    /// new version is applied. If the queue is empty, there is no `oldest`, and every version is applied.
    pub(super) fn next(&self, oldest: Option<u64>) -> Option<&Version> {
        let received = self.order.iter(&self.received).map(|slot| &self.received[slot]);
        received.take_while(|received| received.is_applied(oldest)).last()?.version.as_ref()
    }

    /// Takes over the [next](Self::next) version.
    pub(super) fn apply(&mut self, oldest: Option<u64>) {
        while self.order.front().is_some_and(|slot| self.received[slot].is_applied(oldest))
            && let Some(slot) = self.order.pop_front(&mut self.received)
        {
            self.applied = self.received.remove(slot).into_record().version;
        }
    }
}

impl<M: Mem> Default for Progress<M> {
    fn default() -> Self {
        Self { applied: None, received: Slab::default(), order: List::default() }
    }
}

impl Received {
    fn is_applied(&self, oldest: Option<u64>) -> bool {
        oldest.is_none_or(|oldest| self.arrival < oldest)
    }
}
