use super::Job;
use crate::storage::{Keyed, Linked, Links, Slot, Timed};

/// All that a queue knows of one key.
#[derive(Debug)]
pub(super) struct Record<K> {
    pub(super) key: K,
    pub(super) phase: Phase,
    /// The place among the timers while the key is delayed, in whatever phase it is.
    pub(super) timer: Option<u32>,
    pub(super) failures: u32,
    links: Links,
}

/// client-go keeps a dirty and a processing set; these are the four ways to be in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// In neither.
    Idle,
    /// Dirty.
    Ready,
    /// Processing, by the worker that holds the job of this number; dirty too if it was added since.
    Running { job: u32, dirty: bool },
}

/// The kind of list that holds what is ready.
pub(super) enum Ready {}

impl<K> Record<K> {
    pub(super) fn new(key: K) -> Self {
        Self { key, phase: Phase::Idle, timer: None, failures: 0, links: Links::default() }
    }

    pub(super) fn is_run_by(&self, job: &Job) -> bool {
        matches!(self.phase, Phase::Running { job: number, .. } if number == job.number)
    }

    pub(super) fn is_deferred(&self) -> bool {
        matches!(self.phase, Phase::Running { dirty: true, .. })
    }

    /// Whether nothing would be lost with this record. As in client-go, failures are kept until they are forgotten.
    pub(super) fn is_blank(&self) -> bool {
        self.phase == Phase::Idle && self.timer.is_none() && self.failures == 0
    }
}

impl<K: core::hash::Hash + Eq> Keyed for Record<K> {
    type Key = K;

    fn key(&self) -> &K {
        &self.key
    }
}

impl<K> Timed for Record<K> {
    fn place(&mut self) -> &mut Option<u32> {
        &mut self.timer
    }
}

impl<K> Linked<Ready> for Record<K> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next
    }
}
