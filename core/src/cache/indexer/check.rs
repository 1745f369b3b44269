//! The invariants between any two operations; for tests.

use super::postings::Value;
use super::{IndexerIn, all_values};
use crate::storage::sealed::HeapOnly;
use crate::storage::{Keyed, Mem, Slot};

impl<V: Keyed, M: Mem> IndexerIn<V, M> {
    /// Panics if the indexes differ from the values that the index functions emit for the stored objects.
    #[doc(hidden)]
    pub fn check(&self) {
        let postings: usize = self.objects.iter().map(|(slot, _)| self.check_object(slot)).sum();
        assert_eq!(postings, self.postings.postings.len(), "every posting is of an object");
        let listed: usize = self.postings.values.iter().map(|(slot, _)| self.check_value(slot)).sum();
        assert_eq!(postings, listed, "every posting is of a value");
    }

    /// Compares the values of an object with the emitted ones; returns how many there are.
    fn check_object(&self, slot: Slot) -> usize {
        let record = &self.objects[slot];
        let chain = || core::iter::successors(record.postings, |slot| self.postings.postings[*slot].chain());
        let values = all_values::<V, M>(&self.indexes, &record.object);
        for posting in chain() {
            let posting = &self.postings.postings[posting];
            assert_eq!(posting.object(), slot, "in the chain of its object");
            let key = &self.postings.values[posting.value()].key;
            let mut emitted = false;
            values(&mut |index, text| emitted |= key.index == index && *key.text == *text);
            assert!(emitted, "{:?} is not a value of the object", &*key.text);
            let same = chain().filter(|other| self.postings.postings[*other].value() == posting.value());
            assert_eq!(same.count(), 1, "{:?} is there once", &*key.text);
        }
        values(&mut |index, text| {
            assert!(self.postings.objects(index, text).any(|found| found == slot), "{text:?} finds the object");
        });
        chain().count()
    }

    /// Checks the list of a value; returns its length.
    fn check_value(&self, slot: Slot) -> usize {
        let Value { postings: list, runs, .. } = &self.postings.values[slot];
        if let (Some(all), Some(runs)) = (self.postings.runs.get(), runs.get()) {
            all.check(runs, &self.postings.postings, list.front());
        }
        assert!(!list.is_empty(), "a value without objects is removed");
        let postings = list.iter(&self.postings.postings);
        let own = postings.filter(|posting| self.postings.postings[*posting].value() == slot);
        assert_eq!(own.count(), list.len(), "in the list of its value");
        list.len()
    }
}
