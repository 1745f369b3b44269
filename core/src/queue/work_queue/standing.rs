//! How a key stands, for machines that are built around a queue.

use super::WorkQueueIn;
use crate::queue::record::{Phase, Then};
use crate::queue::{Discipline, Job, RateLimiter, WhileDelayed};
use crate::storage::Mem;
use crate::time::Instant;
use core::hash::Hash;

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
}
