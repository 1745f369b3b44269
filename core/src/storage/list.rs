//! A list through records: the links are beside each record, so joining and leaving cost no memory.

use super::sealed::Empty;
use super::{Keyed, Slot, Timed};
use core::iter::successors;
use core::ops::{Deref, DerefMut, Index, IndexMut};

/// A record that can be in a list, in one at a time. Its links are slots as `S`.
#[derive(Debug)]
pub struct Linked<R, S = Slot> {
    record: R,
    links: Links<S>,
}

/// A record's neighbours in its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links<S> {
    prev: Option<S>,
    next: Option<S>,
}

/// What a list sees of a record.
pub(crate) trait Chained {
    type Slot: Copy + From<Slot> + Into<Slot>;

    fn links(&mut self) -> &mut Links<Self::Slot>;
    fn prev(&self) -> Option<Slot>;
    fn next(&self) -> Option<Slot>;
}

/// A doubly linked list through the records of a slab or a table.
#[derive(Debug, Default)]
pub struct List {
    head: Option<Slot>,
    tail: Option<Slot>,
    len: usize,
}

impl List {
    pub(crate) const EMPTY: Self = Self { head: None, tail: None, len: 0 };

    pub(crate) fn front(&self) -> Option<Slot> {
        self.head
    }

    pub(crate) fn back(&self) -> Option<Slot> {
        self.tail
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// The slots of the list, the first one first.
    pub(crate) fn iter(&self, records: &impl Index<Slot, Output: Chained>) -> impl Iterator<Item = Slot> {
        successors(self.head, |slot| records[*slot].next())
    }

    #[inline]
    pub(crate) fn push_back(&mut self, records: &mut impl IndexMut<Slot, Output: Chained>, slot: Slot) {
        *records[slot].links() = Links::between(self.tail, None);
        match self.tail.replace(slot) {
            Some(last) => records[last].links().next = Some(slot.into()),
            None => self.head = Some(slot),
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self, records: &mut impl IndexMut<Slot, Output: Chained>) -> Option<Slot> {
        let slot = self.head?;
        self.unlink(records, slot);
        Some(slot)
    }

    /// Puts `slot` behind a slot of the list.
    pub(crate) fn insert_behind(
        &mut self,
        records: &mut impl IndexMut<Slot, Output: Chained>,
        before: Slot,
        slot: Slot,
    ) {
        let Some(next) = records[before].next() else { return self.push_back(records, slot) };
        *records[slot].links() = Links::between(Some(before), Some(next));
        records[before].links().next = Some(slot.into());
        records[next].links().prev = Some(slot.into());
        self.len += 1;
    }

    /// Takes `slot` out of the list, which must hold it.
    #[inline]
    pub(crate) fn unlink(&mut self, records: &mut impl IndexMut<Slot, Output: Chained>, slot: Slot) {
        let links = core::mem::take(records[slot].links());
        match links.prev {
            Some(prev) => records[prev.into()].links().next = links.next,
            None => self.head = links.next.map(Into::into),
        }
        match links.next {
            Some(next) => records[next.into()].links().prev = links.prev,
            None => self.tail = links.prev.map(Into::into),
        }
        self.len -= 1;
    }

    /// Moves all of `other` behind the last of this list, in constant time.
    pub(crate) fn append(&mut self, records: &mut impl IndexMut<Slot, Output: Chained>, other: &mut Self) {
        let (Some(head), tail) = (other.head.take(), other.tail.take()) else { return };
        match self.tail {
            Some(last) => {
                records[last].links().next = Some(head.into());
                records[head].links().prev = Some(last.into());
            }
            None => self.head = Some(head),
        }
        self.tail = tail;
        self.len += core::mem::take(&mut other.len);
    }
}

impl<R, S> Linked<R, S> {
    /// A record that is in no list.
    #[inline]
    pub(crate) fn new(record: R) -> Self {
        Self { record, links: Links::default() }
    }

    #[inline]
    pub(crate) fn into_record(self) -> R {
        self.record
    }
}

impl<R, S: Copy + From<Slot> + Into<Slot>> Chained for Linked<R, S> {
    type Slot = S;

    #[inline]
    fn links(&mut self) -> &mut Links<S> {
        &mut self.links
    }

    #[inline]
    fn prev(&self) -> Option<Slot> {
        self.links.prev.map(Into::into)
    }

    #[inline]
    fn next(&self) -> Option<Slot> {
        self.links.next.map(Into::into)
    }
}

impl<R, S> Deref for Linked<R, S> {
    type Target = R;

    #[inline]
    fn deref(&self) -> &R {
        &self.record
    }
}

impl<R, S> DerefMut for Linked<R, S> {
    #[inline]
    fn deref_mut(&mut self) -> &mut R {
        &mut self.record
    }
}

impl<R: Keyed, S> Keyed for Linked<R, S> {
    type Key = R::Key;

    #[inline]
    fn key(&self) -> &R::Key {
        self.record.key()
    }

    #[inline]
    fn bytes(&self) -> usize {
        self.record.bytes()
    }
}

impl<R: Timed, S> Timed for Linked<R, S> {
    #[inline]
    fn timer(&mut self) -> &mut Option<Slot> {
        self.record.timer()
    }
}

impl<S: From<Slot>> Links<S> {
    #[inline]
    fn between(prev: Option<Slot>, next: Option<Slot>) -> Self {
        Self { prev: prev.map(S::from), next: next.map(S::from) }
    }
}

impl<S> Default for Links<S> {
    #[inline]
    fn default() -> Self {
        Self { prev: None, next: None }
    }
}

impl Empty for List {
    const EMPTY: Self = Self::EMPTY;
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests {
    use super::*;
    use crate::storage::{Mem, Slab};
    use alloc::vec::Vec;

    crate::storage::in_both_memories!(order_survives_unlinking_and_appending);

    fn drain<M: Mem>(list: &mut List, slab: &mut Slab<Linked<u8>, M>) -> Vec<u8> {
        core::iter::from_fn(|| list.pop_front(slab).map(|slot| slab.remove(slot).into_record())).collect()
    }

    fn order_survives_unlinking_and_appending<M: Mem>() {
        let mut slab = Slab::<Linked<u8>, M>::default();
        let (mut list, mut other) = (List::default(), List::default());
        let slots: Vec<Slot> = (0..5).map(|n| slab.try_insert(Linked::new(n)).ok().unwrap()).collect();
        slots[..3].iter().for_each(|slot| list.push_back(&mut slab, *slot));
        slots[3..].iter().for_each(|slot| other.push_back(&mut slab, *slot));
        list.unlink(&mut slab, slots[1]);
        list.append(&mut slab, &mut other);
        assert_eq!((list.len(), other.len()), (4, 0));
        for (before, n) in [(slots[2], 7), (slots[4], 8)] {
            let slot = slab.try_insert(Linked::new(n)).ok().unwrap();
            list.insert_behind(&mut slab, before, slot);
        }
        assert_eq!((list.len(), list.back().is_some()), (6, true));
        assert_eq!(drain(&mut list, &mut slab), [0, 2, 7, 3, 4, 8]);
        list.append(&mut slab, &mut other);
        assert!(list.is_empty());
    }
}
