//! A list through records: the links are in the records, so joining and leaving cost no memory.

use super::Slot;
use core::marker::PhantomData;
use core::ops::IndexMut;

/// A record that can be in a list of the kind `L`; a record may be in one list of each kind.
pub(crate) trait Linked<L> {
    fn links(&mut self) -> &mut Links;
    fn next(&self) -> Option<Slot>;
}

/// A record's neighbours in one list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Links {
    pub(crate) prev: Option<Slot>,
    pub(crate) next: Option<Slot>,
}

/// A doubly linked list of the kind `L` through the records of a slab or a table.
pub struct List<L> {
    head: Option<Slot>,
    tail: Option<Slot>,
    len: usize,
    kind: PhantomData<fn() -> L>,
}

impl<L> List<L> {
    pub(crate) fn front(&self) -> Option<Slot> {
        self.head
    }

    pub(crate) fn back(&self) -> Option<Slot> {
        self.tail
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    #[inline]
    pub(crate) fn push_back<S>(&mut self, records: &mut S, slot: Slot)
    where
        S: IndexMut<Slot, Output: Linked<L>>,
    {
        *records[slot].links() = Links { prev: self.tail, next: None };
        match self.tail.replace(slot) {
            Some(last) => records[last].links().next = Some(slot),
            None => self.head = Some(slot),
        }
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop_front<S>(&mut self, records: &mut S) -> Option<Slot>
    where
        S: IndexMut<Slot, Output: Linked<L>>,
    {
        let slot = self.head?;
        self.unlink(records, slot);
        Some(slot)
    }

    /// Puts `slot` behind a slot of the list.
    pub(crate) fn insert_behind<S>(&mut self, records: &mut S, before: Slot, slot: Slot)
    where
        S: IndexMut<Slot, Output: Linked<L>>,
    {
        let Some(next) = records[before].next() else { return self.push_back(records, slot) };
        *records[slot].links() = Links { prev: Some(before), next: Some(next) };
        records[before].links().next = Some(slot);
        records[next].links().prev = Some(slot);
        self.len += 1;
    }

    /// Takes `slot` out of the list, which must hold it.
    #[inline]
    pub(crate) fn unlink<S>(&mut self, records: &mut S, slot: Slot)
    where
        S: IndexMut<Slot, Output: Linked<L>>,
    {
        let links = core::mem::take(records[slot].links());
        match links.prev {
            Some(prev) => records[prev].links().next = links.next,
            None => self.head = links.next,
        }
        match links.next {
            Some(next) => records[next].links().prev = links.prev,
            None => self.tail = links.prev,
        }
        self.len -= 1;
    }

    /// Moves all of `other` behind the last of this list, in constant time.
    pub(crate) fn append<S>(&mut self, records: &mut S, other: &mut Self)
    where
        S: IndexMut<Slot, Output: Linked<L>>,
    {
        let (Some(head), tail) = (other.head.take(), other.tail.take()) else { return };
        match self.tail {
            Some(last) => {
                records[last].links().next = Some(head);
                records[head].links().prev = Some(last);
            }
            None => self.head = Some(head),
        }
        self.tail = tail;
        self.len += core::mem::take(&mut other.len);
    }
}

impl<L> Default for List<L> {
    fn default() -> Self {
        Self { head: None, tail: None, len: 0, kind: PhantomData }
    }
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
