use super::Job;
use crate::storage::{Keyed, Slot, Timed};

/// All that a queue knows of one key. A ready one is in a list.
#[derive(Debug)]
pub struct Record<K, T> {
    pub(super) key: K,
    /// The key's hash in the table of records.
    pub(super) hash: u32,
    pub(super) phase: Phase,
    /// The place among the timers while the key is delayed, in whatever phase it is.
    pub(super) timer: Option<Slot>,
    /// Whether the delay is the rate limiter's.
    pub(super) is_backing_off: bool,
    pub(super) failures: u32,
    /// Those of the failures that do not count towards parking.
    pub(super) transient: u32,
    /// The discipline's.
    pub(super) mark: T,
}

/// client-go keeps a dirty and a processing set; the first four are the ways to be in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In neither.
    Idle,
    /// Dirty.
    Ready,
    /// Processing, by the worker that holds the job of this number, and possibly dirty.
    Running { job: u32, then: Then, is_held: bool },
    /// In neither, and kept because it failed too often.
    Parked,
}

/// The next phase of a key when its worker is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    Rest,
    /// It is dirty.
    Again,
    Park,
}

impl<K, T> Record<K, T> {
    pub(super) fn new(key: K, hash: u32, mark: T) -> Self {
        Self { key, hash, phase: Phase::Idle, timer: None, is_backing_off: false, failures: 0, transient: 0, mark }
    }

    pub(super) fn is_run_by(&self, job: &Job) -> bool {
        matches!(self.phase, Phase::Running { job: number, .. } if number == job.number)
    }

    /// Whether it will be handed out again without being added.
    pub(super) fn is_pending(&self) -> bool {
        self.timer.is_some() || matches!(self.phase, Phase::Ready | Phase::Running { then: Then::Again, .. })
    }

    pub(super) fn is_parked(&self) -> bool {
        matches!(self.phase, Phase::Parked | Phase::Running { then: Then::Park, .. })
    }

    pub(super) fn forget_failures(&mut self) {
        (self.failures, self.transient) = (0, 0);
    }

    /// Whether nothing would be lost with this record. As in client-go, failures are kept until they are forgotten.
    pub(super) fn is_blank(&self) -> bool {
        self.phase == Phase::Idle && self.timer.is_none() && self.failures == 0
    }
}

impl<K: core::hash::Hash + Eq, T> Keyed for Record<K, T> {
    type Key = K;

    fn key(&self) -> &K {
        &self.key
    }
}

impl<K, T> Timed for Record<K, T> {
    fn timer(&mut self) -> &mut Option<Slot> {
        &mut self.timer
    }
}
