//! The status of an informer, and the version that it has applied.

use super::{InformerIn, InformerStatus};
use crate::cache::{Cache, Note};
use crate::decode::Decode;
use crate::object::Version;
use crate::reflector::{Outage, Phase};
use crate::storage::{Linked, Links, List, Mem, Slab, Slot};
use crate::time::Instant;
use core::task::Poll;

/// Which of the received versions has been applied.
pub(super) struct Progress<M: Mem> {
    /// The number of staged items.
    pub(super) staged: usize,
    /// The bytes of the list that count against `max_list_bytes`.
    pub(super) staged_bytes: usize,
    applied: Option<Version>,
    received: Slab<Received, M>,
    /// The versions received since, oldest first.
    order: List<Oldest>,
}

enum Oldest {}

/// A version that is applied once every delta up to an arrival has been taken. A bookmark queues no delta and shares
/// the arrival before it, so the queue's limit bounds the number of these.
struct Received {
    arrival: u64,
    version: Option<Version>,
    links: Links,
}

impl<M: Mem> Progress<M> {
    pub(super) fn count_bytes(&mut self, bytes: usize) {
        self.staged_bytes = self.staged_bytes.saturating_add(bytes);
    }

    fn receive(&mut self, arrival: u64, version: Option<&Version>) {
        let newest = self.order.back().map(|slot| &self.received[slot]);
        let known = newest.map_or(&self.applied, |newest| &newest.version);
        if known.as_ref() == version {
            return;
        }
        let shared = newest.is_some_and(|newest| newest.arrival == arrival);
        let received = Received { arrival, version: version.cloned(), links: Links::default() };
        match self.order.back().filter(|_| shared) {
            Some(newest) => self.received[newest].replace(received),
            None => self.push(received),
        }
    }

    /// In fixed memory that is full, the version before counts as applied later, together with this one.
    fn push(&mut self, received: Received) {
        match self.received.try_insert(received) {
            Ok(slot) => self.order.push_back(&mut self.received, slot),
            Err(full) => {
                if let Some(newest) = self.order.back() {
                    self.received[newest].replace(M::into_item(full));
                }
            }
        }
    }

    /// The version that is applied while `oldest` is the arrival of the oldest queued delta, `None` where the queue is
    /// empty. Only if it is a new one.
    pub(super) fn next(&self, oldest: Option<u64>) -> Option<&Version> {
        let slots = core::iter::successors(self.order.front(), |slot| self.received[*slot].links.next);
        let received = slots.map(|slot| &self.received[slot]);
        received.take_while(|received| received.is_applied(oldest)).last()?.version.as_ref()
    }

    /// Takes over the [next](Self::next) version.
    fn apply(&mut self, oldest: Option<u64>) {
        while self.order.front().is_some_and(|slot| self.received[slot].is_applied(oldest))
            && let Some(slot) = self.order.pop_front(&mut self.received)
        {
            self.applied = self.received.remove(slot).version;
        }
    }
}

impl<M: Mem> Default for Progress<M> {
    fn default() -> Self {
        Self { staged: 0, staged_bytes: 0, applied: None, received: Slab::default(), order: List::default() }
    }
}

impl Linked<Oldest> for Received {
    type Slot = Slot;

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}

impl Received {
    /// Takes the place of an older one.
    fn replace(&mut self, Self { arrival, version, links: _ }: Self) {
        (self.arrival, self.version) = (arrival, version);
    }

    fn is_applied(&self, oldest: Option<u64>) -> bool {
        oldest.is_none_or(|oldest| self.arrival < oldest)
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// The status at `now`.
    #[must_use]
    pub fn status(&self, now: Instant) -> InformerStatus {
        let elapsed = now.saturating_since(self.reflector.began());
        let (items, synced) = (self.progress.staged, self.fifo.has_synced());
        if let Some(outage) = self.reflector.outage() {
            return self.failing(outage, now);
        }
        let follows = matches!(self.reflector.phase(), Phase::Resuming | Phase::Watching | Phase::BackingOff);
        if let Some(age) = self.restored_age(now).filter(|_| synced && follows) {
            return InformerStatus::Restored { age };
        }
        match self.reflector.phase() {
            Phase::Idle => InformerStatus::Idle,
            Phase::Stopped => InformerStatus::Stopped,
            Phase::Listing if self.reflector.is_streaming() => InformerStatus::Streaming { elapsed, items, synced },
            Phase::Listing => InformerStatus::Listing { elapsed, items, synced },
            _ if !synced => InformerStatus::Delivering { queued: self.fifo.len() },
            Phase::Resuming | Phase::Watching | Phase::BackingOff => InformerStatus::Synced {
                age: now.saturating_since(self.reflector.last_activity()),
                overdue: self.reflector.is_overdue(now),
                received: self.reflector.version().cloned(),
                applied: self.progress.applied.clone(),
            },
        }
    }

    /// Ready once every object of the first list has been reported and is in the cache (client-go `WaitForCacheSync`).
    /// Call it again whenever events were taken.
    ///
    /// # Errors
    /// The status, if the informer was stopped before, or if the failure needs a manual change
    /// ([`FailureClass::requires_intervention`](crate::reflector::FailureClass::requires_intervention)).
    pub fn poll_synced(&self, now: Instant) -> Poll<Result<(), InformerStatus>> {
        if self.fifo.has_synced() {
            return Poll::Ready(Ok(()));
        }
        match self.status(now) {
            status @ InformerStatus::Stopped => Poll::Ready(Err(status)),
            status @ InformerStatus::Failing { class, .. } if class.requires_intervention() => Poll::Ready(Err(status)),
            _ => Poll::Pending,
        }
    }

    /// The version up to which [`poll_event`](Self::poll_event) has returned every change, so that the cache has them.
    /// It is that of the last event or bookmark before the oldest queued delta. If the queue is empty, it is
    /// [`received_version`](Self::received_version).
    #[must_use]
    pub fn applied_version(&self) -> Option<&str> {
        self.progress.applied.as_deref()
    }

    fn failing(&self, outage: Outage, now: Instant) -> InformerStatus {
        let backed_off = self.reflector.poll_timeout().filter(|_| self.reflector.phase() == Phase::BackingOff);
        let next = outage.again.or(backed_off);
        InformerStatus::Failing {
            class: outage.class,
            status: outage.status,
            attempts: outage.attempts,
            elapsed: now.saturating_since(outage.since),
            next_try: next.map(|next| next.saturating_since(now)),
            synced: self.fifo.has_synced(),
            restored: self.restored_age(now),
        }
    }
}

impl<D: Decode, C: Cache<D::Object>, M: Mem> InformerIn<D, C, M> {
    /// Notes that a part was received and its deltas were queued.
    pub(super) fn note_received(&mut self) {
        if self.pending.is_some() {
            // Not all of it was queued.
            return;
        }
        self.progress.receive(self.fifo.arrived(), self.reflector.version());
        if let Some(version) = self.progress.next(self.fifo.oldest()) {
            self.cache.note(Note::Applied(version));
        }
        self.note_taken();
    }

    /// Notes that a delta may have been taken from the queue. The cache has been told.
    pub(super) fn note_taken(&mut self) {
        self.progress.apply(self.fifo.oldest());
    }
}
