use super::notes::NoteList;
use crate::queue::{Finished, Job};
use crate::storage::{Slot, Timed};
use crate::time::Instant;

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
