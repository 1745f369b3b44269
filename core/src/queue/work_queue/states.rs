//! How a key stands, and how it goes from one state to the next.

use super::WorkQueueIn;
use crate::queue::record::{Phase, Record, Then};
use crate::queue::{Added, Discipline, Job, RateLimiter, WhileDelayed};
use crate::storage::sealed::HeapOnly;
use crate::storage::{Linked, Mem, Slot};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

/// What a queue knows of one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// It is ready, or is ready again when its worker is done.
    pub(crate) is_dirty: bool,
    pub(crate) is_parked: bool,
    /// When its delay ends.
    pub(crate) due: Option<Instant>,
    /// Whether the delay is the rate limiter's.
    pub(crate) is_backing_off: bool,
    pub(crate) failures: u32,
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> WorkQueueIn<K, L, M, D> {
    /// How the key stands; `None` if the queue does not know it.
    pub(crate) fn standing(&self, key: &K) -> Option<Standing> {
        let record = &self.records[self.records.find(key)?];
        Some(Standing {
            is_dirty: matches!(record.phase, Phase::Ready | Phase::Running { then: Then::Again, .. }),
            is_parked: record.is_parked(),
            due: record.timer.map(|place| self.delays.due(place)),
            is_backing_off: record.timer.is_some() && record.is_backing_off,
            failures: record.failures,
        })
    }

    /// Ends the delay of a key that is with a worker: the outcome of the work says when it is next due.
    pub(crate) fn end_delay(&mut self, job: &Job) {
        if let Some(place) = self.records[job.slot].timer {
            self.delays.disarm(&mut self.records, place);
        }
    }

    pub(crate) fn while_delayed(&self) -> WhileDelayed {
        self.while_delayed
    }

    /// Whether the queue keeps anything of the key.
    pub(crate) fn knows(&self, key: &K) -> bool {
        self.records.find(key).is_some()
    }

    /// The key's record, a blank one if it had none: the caller leaves a mark in it.
    #[inline]
    pub(super) fn try_record(&mut self, key: K) -> Result<Slot, M::Full<K>> {
        let hash = self.records.hash(&key);
        self.try_record_hashed(key, hash)
    }

    /// As [`try_record`](Self::try_record), of a key with that hash.
    #[inline]
    pub(super) fn try_record_hashed(&mut self, key: K, hash: u32) -> Result<Slot, M::Full<K>> {
        let mark = |key: &K| self.discipline.mark(key);
        let slot =
            self.records.try_entry_hashed(hash, key, mark, |key, mark| Linked::new(Record::new(key, hash, mark)));
        slot.map_err(|full| M::map_full(full, |record| record.into_record().key))
    }

    /// Adds to the dirty set, as far as a delay of the key lets it.
    #[inline]
    pub(super) fn mark_now(&mut self, slot: Slot) -> Added {
        let record = &self.records[slot];
        match (record.timer, self.while_delayed) {
            (None, _) | (_, WhileDelayed::RunTwice) => {}
            (Some(place), WhileDelayed::Promote) => self.delays.disarm(&mut self.records, place),
            (Some(_), WhileDelayed::KeepWaiting) if !record.is_backing_off => {}
            (Some(_), WhileDelayed::KeepWaiting) => {
                self.stats.merged += 1;
                return Added::Merged;
            }
        }
        self.mark(slot)
    }

    /// Adds to the dirty set.
    #[inline]
    pub(super) fn mark(&mut self, slot: Slot) -> Added {
        match self.records[slot].phase {
            Phase::Ready | Phase::Running { then: Then::Again, .. } => {
                self.stats.merged += 1;
                return Added::Merged;
            }
            Phase::Parked | Phase::Running { then: Then::Park, .. } => {
                self.unpark(slot);
                self.records[slot].forget_failures();
            }
            Phase::Idle | Phase::Running { then: Then::Rest, .. } => {}
        }
        self.stats.adds += 1;
        if let Some(Some(stopwatch)) = self.stopwatch.get_mut() {
            stopwatch.added(slot, self.now);
        }
        if let Phase::Running { then, .. } = &mut self.records[slot].phase {
            *then = Then::Again;
            self.deferred += 1;
            return Added::Deferred;
        }
        self.push(slot);
        Added::Queued
    }

    #[inline]
    pub(super) fn push(&mut self, slot: Slot) {
        self.records[slot].phase = Phase::Ready;
        self.discipline.push(&mut self.ready, &mut self.records, slot);
    }

    pub(super) fn delay(&mut self, now: Instant, slot: Slot, delay: Duration, is_backing_off: bool) -> Added {
        self.now = self.now.max(now);
        self.stats.retries += 1;
        if delay.is_zero() {
            return self.mark_now(slot);
        }
        let due = self.now + delay;
        if let Some(place) = self.records[slot].timer {
            if self.delays.due(place) <= due {
                self.stats.merged += 1;
                return Added::Merged;
            }
            self.delays.disarm(&mut self.records, place);
        }
        self.delays.arm(&mut self.records, slot, due);
        self.records[slot].is_backing_off = is_backing_off;
        Added::Delayed
    }

    /// Keeps the key from being tried again and ends its delay. One that is to run again has changed since, and starts
    /// anew.
    pub(super) fn park(&mut self, slot: Slot) -> Added {
        let record = &mut *self.records[slot];
        match &mut record.phase {
            Phase::Ready | Phase::Running { then: Then::Again, .. } => {
                record.forget_failures();
                self.stats.merged += 1;
                return Added::Merged;
            }
            Phase::Parked | Phase::Running { then: Then::Park, .. } => {}
            phase @ Phase::Idle => {
                *phase = Phase::Parked;
                self.stats.parked += 1;
            }
            Phase::Running { then, .. } => {
                *then = Then::Park;
                self.stats.parked += 1;
            }
        }
        if let Some(place) = record.timer {
            self.delays.disarm(&mut self.records, place);
        }
        Added::Parked
    }

    /// Counts a failure, and returns its delay.
    pub(super) fn count_failure(&mut self, slot: Slot, is_transient: bool) -> Duration {
        let record = &mut *self.records[slot];
        let delay = self.limiter.delay(self.now, record.failures);
        // A failure beyond the last number that can be counted is no transient one either.
        let counted = u32::from(record.failures < u32::MAX);
        record.failures += counted;
        record.transient += if is_transient { counted } else { 0 };
        delay
    }

    /// Delays a key whose failure was counted, or parks it. A token that was not needed goes back to the rate limiter.
    pub(super) fn back_off(&mut self, slot: Slot, delay: Duration) -> Added {
        let added = if self.is_shutting_down() {
            self.refuse()
        } else if u64::from(self.records[slot].failures - self.records[slot].transient) > self.max_retries.get() {
            self.park(slot)
        } else {
            self.delay(self.now, slot, delay, true)
        };
        if matches!(added, Added::Merged | Added::Parked | Added::Closed) {
            self.limiter.give_back();
        }
        added
    }

    /// Sets the key's failures back to none.
    pub(super) fn forget_slot(&mut self, slot: Slot) {
        self.records[slot].forget_failures();
        self.unpark(slot);
        self.remove_if_blank(slot);
    }

    pub(super) fn unpark(&mut self, slot: Slot) {
        match &mut self.records[slot].phase {
            phase @ Phase::Parked => *phase = Phase::Idle,
            Phase::Running { then, .. } if *then == Then::Park => *then = Then::Rest,
            _ => return,
        }
        self.stats.parked -= 1;
    }

    /// For how long each key that is with a worker has been there.
    pub(super) fn running_times(&self, now: Instant) -> impl Iterator<Item = Duration> {
        let running =
            self.records.iter().filter(|(_, record)| matches!(record.phase, Phase::Running { is_held: false, .. }));
        running
            .zip(self.stopwatch.get().into_iter().flatten().cycle())
            .map(move |((slot, _), stopwatch)| stopwatch.running(slot, now))
    }

    #[inline]
    pub(super) fn remove_if_blank(&mut self, slot: Slot) {
        let record = &self.records[slot];
        if record.is_blank() {
            self.records.discard_hashed(record.hash, slot);
            self.release_if_empty();
        }
    }

    /// A burst makes a queue as large as it may never be again.
    #[inline]
    fn release_if_empty(&mut self) {
        if self.records.len() == 0 {
            self.records.release();
            self.delays.release();
            if let Some(Some(stopwatch)) = self.stopwatch.get_mut() {
                stopwatch.release();
            }
        }
    }
}
