//! Keys that wait in front of a machine's lock.

use super::{Lock, Shared};
use crate::queue::Posted;
use crate::storage::sealed::{Empty, Index};
use crate::storage::{PassingIndex, Slot};
use alloc::vec::Vec;
use core::mem;

/// Keys in front of a machine's lock, under a lock of their own, each of them once.
///
/// A producer that leaves a key here neither waits for a worker nor fetches the machine's memory from the worker's
/// core. A task that has the machine's lock [takes](Self::take) all keys out. The inbox is open only while no worker
/// sleeps, so that one is sure to come.
pub(super) struct Inbox<K, Lk: Lock> {
    posts: Apart<Shared<Posts<K>, Lk>>,
}

/// In cache lines of its own: each key would take the machine's first line away from the worker else.
#[repr(align(128))]
struct Apart<T>(T);

struct Posts<K> {
    keys: Vec<Posted<K>>,
    /// The keys' places, so that a key which is posted often takes no more memory.
    index: Places,
    /// The number of additions that found their key here.
    merged: u64,
    is_open: bool,
}

type Places = PassingIndex;

/// An empty inbox keeps room for so many keys.
const KEPT: usize = 4096;

/// Fewer keys than this are fewer than the cells of any index that has them.
const FEW: usize = 8;

impl<K, Lk: Lock> Inbox<K, Lk> {
    /// One that is shut.
    pub(super) fn new() -> Self {
        let posts = Posts { keys: Vec::new(), index: Places::EMPTY, merged: 0, is_open: false };
        Self { posts: Apart(Shared::new(posts)) }
    }

    /// Leaves a key here, if the inbox is open. If the key is here already, the caller drops its own.
    pub(super) fn try_post(&self, key: &mut Option<Posted<K>>) -> bool
    where
        K: Eq,
    {
        self.posts.0.with(|posts| posts.try_take_in(key))
    }

    /// Moves all keys behind those in `taken`, of which the last one is the first to be added. Returns the number of
    /// additions that found their key here.
    pub(super) fn take(&self, taken: &mut Vec<Posted<K>>, stays_open: bool) -> u64 {
        let spare = if taken.is_empty() { mem::take(taken) } else { Vec::new() };
        let (mut keys, merged) = self.posts.0.with(|posts| posts.take(spare, stays_open));
        keys.reverse();
        keys.append(taken);
        *taken = keys;
        merged
    }

    /// Opens the inbox.
    pub(super) fn open(&self) {
        self.posts.0.with(|posts| posts.is_open = true);
    }
}

/// Gives back the memory of an empty array that was large once.
pub(super) fn release<T>(array: &mut Vec<T>) {
    if array.is_empty() && array.capacity() > KEPT {
        *array = Vec::new();
    }
}

impl<K> Posts<K> {
    /// Takes all keys out. Those that come from now on are in `spare`.
    fn take(&mut self, spare: Vec<Posted<K>>, stays_open: bool) -> (Vec<Posted<K>>, u64) {
        self.is_open = stays_open;
        if self.keys.is_empty() {
            return (spare, 0);
        }
        self.forget_places();
        (mem::replace(&mut self.keys, spare), mem::take(&mut self.merged))
    }

    /// Clears the index. One that was large has many cells, so few keys are taken out one by one.
    fn forget_places(&mut self) {
        if self.keys.len() < FEW {
            for (place, posted) in self.keys.iter().enumerate() {
                self.index.remove(posted.hash, Slot::at(place));
            }
        } else {
            self.index.release();
            self.index.clear();
        }
    }
}

impl<K: Eq> Posts<K> {
    #[inline]
    fn try_take_in(&mut self, key: &mut Option<Posted<K>>) -> bool {
        let Some(posted) = key.as_ref().filter(|_| self.is_open) else { return false };
        let (keys, vacant) = (&self.keys, self.keys.len());
        let is_it = |slot: Slot| keys[slot.index()].key == posted.key;
        match self.index.find_or_insert(posted.hash, is_it, || Slot::at(vacant)) {
            Some(_) => self.merged += 1,
            None => self.keys.extend(key.take()),
        }
        true
    }
}
