use crate::storage::{Heap, Linked, List, Slab, Slot, never_full};
use alloc::vec::Vec;
use core::task::Waker;

/// The wakers of sleeping tasks, the longest sleeper first.
///
/// A task keeps its place when it is woken, until it leaves. Wakers come out of every method: they are to be woken, or
/// dropped, after the lock.
#[derive(Default)]
pub(crate) struct Wakers {
    /// None once the task was woken.
    sleepers: Slab<Linked<Option<Waker>>, Heap>,
    /// Those that were not woken.
    asleep: List,
}

impl Wakers {
    /// Lets the task that keeps `place` sleep, for the first time or again. The waker that comes out is its last one.
    #[must_use]
    pub(crate) fn register(&mut self, place: &mut Option<Slot>, waker: &Waker) -> Option<Waker> {
        let current = place.and_then(|slot| self.sleepers[slot].as_ref());
        if current.is_some_and(|current| current.will_wake(waker)) {
            return None;
        }
        let waker = waker.clone();
        let slot = *place.get_or_insert_with(|| never_full(self.sleepers.try_insert(Linked::new(None))));
        let last = self.sleepers[slot].replace(waker);
        if last.is_none() {
            self.asleep.push_back(&mut self.sleepers, slot);
        }
        last
    }

    /// Takes out the task that keeps `place`. No waker comes out of one that was woken.
    #[must_use]
    pub(crate) fn remove(&mut self, place: &mut Option<Slot>) -> Option<Waker> {
        let slot = place.take()?;
        if self.sleepers[slot].is_some() {
            self.asleep.unlink(&mut self.sleepers, slot);
        }
        self.sleepers.remove(slot).into_record()
    }

    /// The wakers of all sleeping tasks. A task that comes back meanwhile sleeps anew.
    #[must_use]
    pub(crate) fn take_all(&mut self) -> Vec<Waker> {
        let next = || {
            let slot = self.asleep.pop_front(&mut self.sleepers)?;
            self.sleepers[slot].take()
        };
        core::iter::from_fn(next).collect()
    }

    /// Whether no task sleeps.
    pub(crate) fn is_empty(&self) -> bool {
        self.asleep.is_empty()
    }

    /// Whether no task has a place, asleep or not.
    #[cfg(feature = "json")]
    pub(crate) fn has_no_tasks(&self) -> bool {
        self.sleepers.len() == 0
    }
}

/// Wakes all of them, also if one of them panics: the tasks of the others would sleep for ever.
pub(crate) fn wake_each(wakers: Vec<Waker>) {
    let mut wakers = Unwoken(wakers.into_iter());
    for waker in wakers.0.by_ref() {
        waker.wake();
    }
}

struct Unwoken(alloc::vec::IntoIter<Waker>);

impl Drop for Unwoken {
    fn drop(&mut self) {
        self.0.by_ref().for_each(Waker::wake);
    }
}

#[cfg(test)]
#[cfg(feature = "std")]
pub(crate) mod tests;
