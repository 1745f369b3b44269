//! A list through records: the links are in the records, so joining and leaving cost no memory.

use super::Slot;
use super::sealed::Empty;
use core::marker::PhantomData;
use core::ops::IndexMut;

/// A record that can be in a list of the kind `L`; a record may be in one list of each kind.
pub(crate) trait Linked<L> {
    /// In what form the record keeps slots.
    type Slot: Copy + From<Slot> + Into<Slot>;

    fn links(&mut self) -> &mut Links<Self::Slot>;
    fn next(&self) -> Option<Slot>;
}

/// A record's neighbours in one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Links<S = Slot> {
    pub(crate) prev: Option<S>,
    pub(crate) next: Option<S>,
}

/// A doubly linked list of the kind `L` through the records of a slab or a table.
pub struct List<L> {
    head: Option<Slot>,
    tail: Option<Slot>,
    len: usize,
    kind: PhantomData<fn() -> L>,
}

impl<L> List<L> {
    pub(crate) const EMPTY: Self = Self { head: None, tail: None, len: 0, kind: PhantomData };

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

    #[inline]
    pub(crate) fn push_back(&mut self, records: &mut impl IndexMut<Slot, Output: Linked<L>>, slot: Slot) {
        *records[slot].links() = Links::between(self.tail, None);
        match self.tail.replace(slot) {
            Some(last) => records[last].links().next = Some(slot.into()),
            None => self.head = Some(slot),
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front(&mut self, records: &mut impl IndexMut<Slot, Output: Linked<L>>) -> Option<Slot> {
        let slot = self.head?;
        self.unlink(records, slot);
        Some(slot)
    }

    /// Puts `slot` behind a slot of the list.
    pub(crate) fn insert_behind(
        &mut self,
        records: &mut impl IndexMut<Slot, Output: Linked<L>>,
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
    pub(crate) fn unlink(&mut self, records: &mut impl IndexMut<Slot, Output: Linked<L>>, slot: Slot) {
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
    pub(crate) fn append(&mut self, records: &mut impl IndexMut<Slot, Output: Linked<L>>, other: &mut Self) {
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

impl<L> Default for List<L> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<L> Empty for List<L> {
    const EMPTY: Self = Self::EMPTY;
}

impl<L> core::fmt::Debug for List<L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("List").field("head", &self.head).field("tail", &self.tail).field("len", &self.len).finish()
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests {
    use super::*;
    use crate::storage::{Mem, Slab};
    use alloc::vec::Vec;

    crate::storage::in_both_memories!(order_survives_unlinking_and_appending);

    #[derive(Default)]
    struct Node(u8, Links);

    impl Linked<()> for Node {
        type Slot = Slot;

        fn links(&mut self) -> &mut Links {
            &mut self.1
        }

        fn next(&self) -> Option<Slot> {
            self.1.next
        }
    }

    fn drain<M: Mem>(list: &mut List<()>, slab: &mut Slab<Node, M>) -> Vec<u8> {
        core::iter::from_fn(|| list.pop_front(slab).map(|slot| slab.remove(slot).0)).collect()
    }

    fn order_survives_unlinking_and_appending<M: Mem>() {
        let mut slab = Slab::<Node, M>::default();
        let (mut list, mut other) = (List::default(), List::default());
        let slots: Vec<Slot> = (0..5).map(|n| slab.try_insert(Node(n, Links::default())).ok().unwrap()).collect();
        slots[..3].iter().for_each(|slot| list.push_back(&mut slab, *slot));
        slots[3..].iter().for_each(|slot| other.push_back(&mut slab, *slot));
        list.unlink(&mut slab, slots[1]);
        list.append(&mut slab, &mut other);
        assert_eq!((list.len(), other.len()), (4, 0));
        for (before, n) in [(slots[2], 7), (slots[4], 8)] {
            let slot = slab.try_insert(Node(n, Links::default())).ok().unwrap();
            list.insert_behind(&mut slab, before, slot);
        }
        assert_eq!((list.len(), list.back().is_some()), (6, true));
        assert_eq!(drain(&mut list, &mut slab), [0, 2, 7, 3, 4, 8]);
        list.append(&mut slab, &mut other);
        assert!(list.is_empty());
    }
}
