use super::{IndexerIn, all_values};
use crate::storage::{Keyed, Mem, Slot};
use core::fmt;

/// A capacity of an indexer in fixed memory, for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Capacity {
    /// For objects.
    Objects,
    /// For pairs of an object and an index value.
    Postings,
    /// For distinct index values.
    Values,
    /// For the bytes of an index value.
    Text,
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Objects => "objects",
            Self::Postings => "pairs of object and index value",
            Self::Values => "index values",
            Self::Text => "bytes of an index value",
        })
    }
}

impl<V: Keyed, M: Mem> IndexerIn<V, M> {
    /// The capacity for which [`try_insert`](Self::try_insert) gives an object back; `None` if the object has room. On the
    /// heap it always has.
    ///
    #[cfg_attr(feature = "fixed", doc = "```")]
    #[cfg_attr(not(feature = "fixed"), doc = "```ignore")]
    /// use listwatch_core::cache::{Capacity, FixedIndexer};
    /// use listwatch_core::storage::{Indexed, Keyed};
    ///
    /// struct Pod(u32, &'static str);
    ///
    /// impl Keyed for Pod {
    ///     type Key = u32;
    ///     fn key(&self) -> &u32 {
    ///         &self.0
    ///     }
    /// }
    ///
    /// let mut pods = FixedIndexer::<Pod, 8, Indexed<1, 8, 1, 4>>::new();
    /// pods.try_add_index(|pod, emit| emit(pod.1)).ok().unwrap();
    /// assert!(pods.try_insert(Pod(1, "n-1")).is_ok() && pods.try_insert(Pod(2, "n-1")).is_ok());
    /// assert_eq!(pods.lacking(&Pod(3, "n-2")), Some(Capacity::Values));
    /// assert_eq!(pods.lacking(&Pod(4, "node-2")), Some(Capacity::Text));
    /// ```
    pub fn lacking(&self, object: &V) -> Option<Capacity> {
        self.lacking_at(self.objects.find(object.key()), object)
    }

    /// As [`lacking`](Self::lacking), of an object whose slot is known, or that is new.
    pub(super) fn lacking_at(&self, known: Option<Slot>, object: &V) -> Option<Capacity> {
        if known.is_none() && self.objects.try_room(|| self.objects.len() + 1).is_err() {
            return Some(Capacity::Objects);
        }
        let (mut missing, mut new, mut fits) = (0, 0, true);
        all_values::<V, M>(&self.indexes, object)(&mut |index, text| match self.postings.find(index, text) {
            Some(value) if self.has_value(known, value) => {}
            Some(_) => missing += 1,
            None => {
                (missing, new) = (missing + 1, new + 1);
                fits &= M::Text::try_from(text).is_ok();
            }
        });
        if !fits {
            return Some(Capacity::Text);
        }
        let (stale, unshared) = self.stale(known, object);
        let postings = &self.postings.postings;
        if postings.try_room(|| postings.len() - stale + missing).is_err() {
            return Some(Capacity::Postings);
        }
        let values = &self.postings.values;
        values.try_room(|| values.len() - unshared + new).is_err().then_some(Capacity::Values)
    }

    fn has_value(&self, known: Option<Slot>, value: Slot) -> bool {
        self.values_of(known).any(|own| own == value)
    }

    /// How many values an object has now and would not have any more, and how many of them no other object has.
    fn stale(&self, known: Option<Slot>, object: &V) -> (usize, usize) {
        let is_stale = |value: &Slot| {
            let (mut stale, value) = (true, &self.postings.values[*value].key);
            all_values::<V, M>(&self.indexes, object)(&mut |index, text| {
                stale &= value.index != index || *value.text != *text;
            });
            stale
        };
        let is_unshared = |value: Slot| usize::from(self.postings.values[value].postings.len() == 1);
        self.values_of(known)
            .filter(is_stale)
            .fold((0, 0), |(stale, unshared), value| (stale + 1, unshared + is_unshared(value)))
    }

    fn values_of(&self, known: Option<Slot>) -> impl Iterator<Item = Slot> {
        let head = known.and_then(|slot| self.objects[slot].postings);
        self.postings.chain(head).map(|posting| posting.value())
    }
}
