//! Keys that wait in front of a queue's lock.

use super::{Lock, Shared};
use crate::queue::Posted;
use crate::storage::sealed::{Empty, Index};
use crate::storage::{PassingIndex, Slot};
use alloc::collections::VecDeque;
use core::mem;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// Keys that were added while all workers were busy and the queue's lock was taken, each of them once. They have a lock of
/// their own.
///
/// A producer that leaves a key here does not wait for a worker that has the queue's lock. It does not touch the queue's
/// memory either, which is in the caches of the worker's core. Whoever has the queue's lock [takes](Self::take) the keys
/// out, and adds them to the queue.
///
/// The inbox is open only while no worker sleeps: a worker that is busy looks into it before it sleeps. A producer that
/// finds the queue's lock taken opens it. If the inbox is shut, or [full](LIMIT), the producer adds its key to the queue
/// itself.
pub(super) struct Inbox<K, Lk: Lock> {
    posts: Apart<Shared<Posts<K>, Lk>>,
    /// A hint, so that no producer takes the lock of an inbox that is shut.
    may_be_open: Apart<AtomicBool>,
}

/// A value in cache lines of its own, so that a producer does not take the first line of the queue from a worker.
#[repr(align(128))]
struct Apart<T>(T);

struct Posts<K> {
    keys: VecDeque<Posted<K>>,
    /// The places of the keys in the array.
    index: Places,
    /// The number of additions that found their key here.
    merged: u64,
    is_open: bool,
}

type Places = PassingIndex;

/// The number of keys at which the inbox is full. A producer then adds all of them to the queue, whose records of so many
/// keys no cache of a processor holds: at 65,536, a key takes twice the time.
const LIMIT: usize = if cfg!(loom) { 2 } else { 1 << 20 };

/// An array with room for more keys than this is given back when it is empty.
const KEPT: usize = 4096;

/// An index of fewer keys is cleared key by key, because it may have many more cells.
const FEW: usize = 8;

impl<K, Lk: Lock> Inbox<K, Lk> {
    /// One that is shut.
    pub(super) fn new() -> Self {
        let posts = Posts { keys: VecDeque::new(), index: Places::EMPTY, merged: 0, is_open: false };
        Self { posts: Apart(Shared::new(posts)), may_be_open: Apart(AtomicBool::new(false)) }
    }

    /// Leaves a key here, unless the inbox is shut or full. If the key is here already, the caller drops its own.
    pub(super) fn try_add(&self, key: &mut Option<Posted<K>>) -> bool
    where
        K: Eq,
    {
        self.may_be_open.0.load(Relaxed) && self.posts.0.with(|posts| posts.try_add(key))
    }

    /// Moves all keys behind those in `taken`. Returns the number of additions that found their key here.
    pub(super) fn take(&self, taken: &mut VecDeque<Posted<K>>, stays_open: bool) -> u64 {
        self.may_be_open.0.store(stays_open, Relaxed);
        self.posts.0.with(|posts| posts.take(taken, stays_open))
    }

    /// Opens the inbox.
    pub(super) fn open(&self) {
        self.posts.0.with(|posts| posts.is_open = true);
        self.may_be_open.0.store(true, Relaxed);
    }
}

/// Gives back the memory of an empty array that was large once.
pub(super) fn release<T>(array: &mut VecDeque<T>) {
    if array.is_empty() && array.capacity() > KEPT {
        *array = VecDeque::new();
    }
}

impl<K> Posts<K> {
    fn take(&mut self, taken: &mut VecDeque<Posted<K>>, stays_open: bool) -> u64 {
        self.is_open = stays_open;
        self.forget_places();
        if taken.is_empty() {
            mem::swap(&mut self.keys, taken);
        } else {
            taken.append(&mut self.keys);
            release(&mut self.keys);
        }
        mem::take(&mut self.merged)
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
    fn try_add(&mut self, key: &mut Option<Posted<K>>) -> bool {
        let has_room = self.is_open && self.keys.len() < LIMIT;
        let Some(posted) = key.as_ref().filter(|_| has_room) else { return false };
        let (keys, vacant) = (&self.keys, self.keys.len());
        let is_it = |slot: Slot| keys[slot.index()].key == posted.key;
        match self.index.find_or_insert(posted.hash, is_it, || Slot::at(vacant)) {
            Some(_) => self.merged += 1,
            None => self.keys.extend(key.take()),
        }
        true
    }
}
