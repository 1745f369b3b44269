//! What a queue keeps of a delta that does not wait alone.

use super::Delta;
use crate::storage::{Keyed, Mem, Slot};
use core::num::NonZeroU32;

pub(super) struct Node<V: Keyed, M: Mem> {
    pub(super) content: Content<V, M>,
    /// Of the key.
    pub(super) hash: u32,
    /// While queued: with which arrival it came.
    pub(super) arrival: Option<Arrival>,
    /// While queued: the next newer delta of the key; of two that are coalesced the newer one names the older one too.
    /// While staged: the item that was staged under the key before.
    pub(super) chain: Option<Slot>,
    /// Of the newest queued delta of a key: the item that was staged last under it.
    pub(super) staged: Option<Slot>,
}

pub(super) enum Content<V: Keyed, M: Mem> {
    Delta(Delta<V>),
    /// A staged item that only says that its key is in the list.
    Present(M::Rare<V::Key>),
    /// Items that are as the cache has them. No key finds them.
    Folded(Folded),
}

/// So many places of the cache, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Folded {
    pub(super) first: u32,
    pub(super) len: u32,
}

/// The delta of the first place of a run, which has its turn.
#[derive(Debug)]
pub(super) struct Unfolded<V> {
    pub(super) delta: Delta<V>,
    pub(super) arrival: u64,
}

/// The number of an arrival in half of its memory: its lowest bits, and a one, so that `None` takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival(NonZeroU32);

impl Arrival {
    pub(super) const fn new(number: u64) -> Self {
        Self(NonZeroU32::MIN.saturating_add((number as u32) << 1))
    }

    /// The whole number, where `newest` is that of the newest arrival. Fewer than 2^31 have come since this one.
    pub(super) fn number(self, newest: u64) -> u64 {
        let later = (newest as u32).wrapping_sub(self.0.get() >> 1) & (u32::MAX >> 1);
        newest.saturating_sub(u64::from(later))
    }
}

impl<V: Keyed, M: Mem> Node<V, M> {
    pub(super) fn new(content: Content<V, M>, hash: u32) -> Self {
        Self { content, hash, arrival: None, chain: None, staged: None }
    }

    pub(super) fn is_queued(&self) -> bool {
        self.arrival.is_some()
    }

    pub(super) fn delta(&self) -> Option<&Delta<V>> {
        match &self.content {
            Content::Delta(delta) => Some(delta),
            Content::Present(_) | Content::Folded(_) => None,
        }
    }

    pub(super) fn folded(&self) -> Option<Folded> {
        match self.content {
            Content::Folded(run) => Some(run),
            Content::Delta(_) | Content::Present(_) => None,
        }
    }

    pub(super) fn into_object(self) -> V {
        match self.content {
            Content::Delta(delta) => delta.into_object(),
            Content::Present(_) | Content::Folded(_) => unreachable!("an object was to be inserted"),
        }
    }
}

impl<V: Keyed, M: Mem> Keyed for Node<V, M> {
    type Key = V::Key;

    fn key(&self) -> &V::Key {
        match &self.content {
            Content::Delta(delta) => delta.object().key(),
            Content::Present(key) => key,
            Content::Folded(_) => unreachable!("no key finds what is folded"),
        }
    }

    fn bytes(&self) -> usize {
        self.delta().map_or(0, |delta| delta.object().bytes())
    }
}

impl Folded {
    pub(super) fn len(self) -> usize {
        self.len as usize
    }

    /// What is before a place, and what is behind it.
    pub(super) fn without(self, place: u32) -> [Self; 2] {
        let before = place - self.first;
        [Self { first: self.first, len: before }, Self { first: place + 1, len: self.len - before - 1 }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_arrival_is_known_while_it_waits() {
        const HALF: u64 = 1 << 31;
        for newest in [0, 1, HALF - 1, HALF, HALF + 1, 5 * HALF + 7, u64::MAX] {
            for later in [0, 1, 1_000, HALF - 1] {
                if let Some(number) = newest.checked_sub(later) {
                    assert_eq!(Arrival::new(number).number(newest), number, "{later} before {newest}");
                }
            }
        }
    }
}
