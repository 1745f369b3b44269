use super::notes::NoteList;
use super::report::KeyState;
use crate::queue::{Finished, Job, Priority};
use crate::storage::{Keyed, Slot, Timed};
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

/// What a reconciler knows of one key, beside its queue.
#[derive(Debug)]
pub(super) struct Record<K> {
    pub(super) key: K,
    /// The key's hash in the table of records.
    pub(super) hash: u32,
    /// The place among the timers while the key's changes are gathered.
    pub(super) timer: Option<Slot>,
    /// When the first of these changes came.
    pub(super) since: Instant,
    /// The highest priority among these changes.
    pub(super) priority: Priority,
    /// What the next reconcile is told.
    pub(super) causes: NoteList,
    /// The key's reconcile, or what is left of its last one.
    pub(super) work: Option<Slot>,
    /// How the drain left the key.
    pub(super) left: Option<KeyState>,
}

impl<K> Record<K> {
    pub(super) fn new(key: K, hash: u32) -> Self {
        let (since, priority, causes) = (Instant::ZERO, Priority::Low, NoteList::default());
        Self { key, hash, timer: None, since, priority, causes, work: None, left: None }
    }

    /// Whether nothing but the queue knows anything of the key.
    pub(super) fn is_blank(&self) -> bool {
        self.timer.is_none() && self.causes.is_empty() && self.work.is_none() && self.left.is_none()
    }
}

impl<K: Hash + Eq> Keyed for Record<K> {
    type Key = K;

    fn key(&self) -> &K {
        &self.key
    }
}

impl<K> Timed for Record<K> {
    fn timer(&mut self) -> &mut Option<Slot> {
        &mut self.timer
    }
}

/// The right to reconcile one key, until it is given back.
///
/// It belongs to the reconciler that it came from. Another one ignores it, if it can detect that.
#[derive(Debug)]
#[must_use = "the key stays with its worker until the item is given back"]
pub struct WorkItem {
    pub(super) job: Job,
    pub(super) id: HoldId,
}

/// The id of a reconcile, and of the wait for its writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldId {
    pub(super) work: Slot,
    pub(super) number: u64,
}

/// When a key is reconciled next, after its reconcile has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As the work queue says.
    Finished(Finished),
    /// Not before its writes were [seen](super::ReconcilerIn::fulfil), or this time has come.
    Held {
        /// The id of the wait.
        hold: HoldId,
        /// The end of the wait.
        until: Instant,
    },
}

/// A reconcile, under way or over.
#[derive(Debug)]
pub(super) struct Work {
    /// The key's record.
    pub(super) record: Slot,
    pub(super) number: u64,
    pub(super) phase: Phase,
    /// When the phase began.
    pub(super) since: Instant,
    /// What the reconcile is told.
    pub(super) causes: NoteList,
    /// The writes of the last reconcile that were not seen in time.
    pub(super) late: NoteList,
    /// The writes of this one that were not seen yet.
    pub(super) writes: NoteList,
    pub(super) timer: Option<Slot>,
}

/// The phases of a reconcile.
#[derive(Debug)]
pub(super) enum Phase {
    /// It is with a worker.
    Running,
    /// It is over, and its writes are not seen yet.
    Held(Job),
    /// It is over, and the next one is to be told of its late writes.
    Over,
}

impl Work {
    pub(super) fn new(record: Slot) -> Self {
        Self {
            record,
            number: 0,
            phase: Phase::Over,
            since: Instant::ZERO,
            causes: NoteList::default(),
            late: NoteList::default(),
            writes: NoteList::default(),
            timer: None,
        }
    }
}

impl Timed for Work {
    fn timer(&mut self) -> &mut Option<Slot> {
        &mut self.timer
    }
}

/// Gathers the changes of a key before it is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    /// A key is ready when it has not changed for this time.
    pub quiet: Duration,
    /// A key that does not come to rest is ready this time after its first change.
    pub longest: Duration,
}

impl Debounce {
    /// When a key is ready that changed first at `first` and last at `now`.
    pub(super) fn end(self, first: Instant, now: Instant) -> Instant {
        (now + self.quiet).min(first + self.longest)
    }
}
