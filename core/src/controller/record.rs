use super::notes::NoteList;
use super::report::KeyState;
use crate::queue::Priority;
use crate::storage::{Keyed, Slot, Timed};
use crate::time::Instant;
use core::hash::Hash;

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
