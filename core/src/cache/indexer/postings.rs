//! The values of objects in all indexes.

use super::posting::Posting;
use super::shared::{RunList, Runs};
use crate::storage::sealed::{Empty, HeapOnly};
use crate::storage::{Chained, Keyed, Linked, List, Mem, PostingSlab, Slot, ValueTable, is_same};
use core::hint::black_box;

/// The postings of all indexes, which are distinguished by number.
pub(super) struct Postings<V, M: Mem> {
    pub(super) values: ValueTable<Value<V, M>, M>,
    pub(super) postings: PostingSlab<Linked<Posting<M>, M::Slot>, M>,
    /// What readers share of the objects of the values.
    pub(super) runs: M::HeapOnly<Runs<V, M>>,
    /// The values of the object that is stored next.
    gathered: M::HeapOnly<Gathered>,
    /// The last mark.
    mark: u64,
}

/// Index values, one behind the other. On the heap a function is called once, so that it can neither panic nor emit other
/// values when an object is stored.
pub(super) struct Gathered {
    #[cfg(feature = "alloc")]
    text: alloc::string::String,
    /// The index of each value, and where the value ends.
    #[cfg(feature = "alloc")]
    ends: alloc::vec::Vec<(u32, usize)>,
}

pub(super) struct Value<V, M: Mem> {
    pub(super) key: ValueKey<M::Text>,
    /// In the order in which the objects came to have the value.
    pub(super) postings: List,
    pub(super) runs: M::HeapOnly<RunList<V>>,
    /// What was last found out about the value for the object that was stored last.
    mark: u64,
}

/// A value in one index. It is looked up by the pair of number and text, so it is hashed as that.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct ValueKey<T> {
    pub(super) index: u32,
    pub(super) text: T,
}

/// An object with more values than this has them looked up, not compared one by one.
const FEW: usize = 8;

/// The most memory that is kept from one object to the next.
#[cfg(feature = "alloc")]
const KEPT: usize = 4096;

/// Calls its argument with each value of an object, and the index it is in.
pub(super) trait Emit: Fn(&mut dyn FnMut(u32, &str)) {}

impl<F: Fn(&mut dyn FnMut(u32, &str))> Emit for F {}

#[cfg(feature = "alloc")]
impl Gathered {
    fn gather(&mut self, emit: &impl Emit) {
        self.text.clear();
        self.text.shrink_to(KEPT);
        self.ends.clear();
        self.ends.shrink_to(KEPT);
        emit(&mut |index, text| {
            self.text.push_str(text);
            self.ends.push((index, self.text.len()));
        });
    }

    fn each(&self, to: &mut dyn FnMut(u32, &str)) {
        let mut start = 0;
        for (index, end) in &self.ends {
            to(*index, &self.text[start..*end]);
            start = *end;
        }
    }
}

/// Fixed memory has none.
#[cfg(not(feature = "alloc"))]
impl Gathered {
    fn gather(&mut self, _: &impl Emit) {}

    fn each(&self, _: &mut dyn FnMut(u32, &str)) {}
}

impl Empty for Gathered {
    const EMPTY: Self = Self {
        #[cfg(feature = "alloc")]
        text: alloc::string::String::new(),
        #[cfg(feature = "alloc")]
        ends: alloc::vec::Vec::new(),
    };
}

impl<V, M: Mem> Postings<V, M> {
    pub(super) const fn with_seed(seed: u64) -> Self {
        Self {
            values: ValueTable::<_, M>::with_seed(seed),
            postings: PostingSlab::<_, M>::EMPTY,
            runs: M::HeapOnly::EMPTY,
            gathered: M::HeapOnly::EMPTY,
            mark: 0,
        }
    }

    /// Makes the hashes depend on `seed`, where no object has a value.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.values.set_seed(seed);
    }

    /// Whether an object of few values is emitted with exactly those, which is the usual update. It compares them in
    /// place, without a hash and without writing.
    pub(super) fn is_unchanged(&self, head: Option<Slot>, emit: &impl Emit) -> bool {
        // A chain begins with the value that was emitted last.
        let (mut own, mut first) = ([None; FEW], FEW);
        for posting in self.chain(head) {
            let Some(place) = first.checked_sub(1) else { return false };
            (own[place], first) = (Some(posting.value()), place);
        }
        let (mut next, mut met, mut known) = (first, 0_u32, true);
        emit(&mut |index, text| {
            let is_it = |value: &Option<Slot>| value.is_some_and(|value| self.values[value].key.is(index, text));
            let place = if own.get(next).is_some_and(is_it) { Some(next) } else { own.iter().position(is_it) };
            met |= place.map_or(0, |place| 1 << place);
            known &= place.is_some();
            next += 1;
        });
        known && met.count_ones() as usize == FEW - first
    }

    /// Calls the functions of an object before anything changes, because they may panic.
    pub(super) fn gather(&mut self, emit: &impl Emit) {
        match self.gathered.get_mut() {
            Some(gathered) => gathered.gather(emit),
            None => emit(&mut |_, _| {}),
        }
    }

    /// Gives an object, whose chain begins at `head`, exactly the values that were [gathered](Self::gather). For a value
    /// that it had already, it keeps its place among the objects. There must be room. Fixed memory has them emitted again.
    pub(super) fn update(&mut self, object: Slot, head: &mut Option<Slot>, emit: &impl Emit) {
        let gathered = core::mem::replace(&mut self.gathered, M::HeapOnly::EMPTY);
        let emit = |to: &mut dyn FnMut(u32, &str)| match gathered.get() {
            Some(gathered) => gathered.each(to),
            None => emit(to),
        };
        self.set_values(object, head, &emit);
        self.gathered = gathered;
    }

    fn set_values(&mut self, object: Slot, head: &mut Option<Slot>, emit: &impl Emit) {
        self.mark += 1;
        let emitted = self.mark;
        emit(&mut |index, text| {
            if let Some(value) = self.find(index, text) {
                self.values[value].mark = emitted;
            }
        });
        self.retain(head, |value| value.mark == emitted);
        // A function that emits more than it did a moment ago may find no room. The surplus is left out.
        let _ = self.try_add(object, head, emit);
    }

    /// Gives an object the values that are emitted and that it does not have yet, as far as there is room.
    pub(super) fn try_add(
        &mut self,
        object: Slot,
        head: &mut Option<Slot>,
        emit: &impl Emit,
    ) -> Result<(), M::Full<()>> {
        self.mark += 1;
        let mut at = *head;
        while let Some(slot) = at {
            let posting = &self.postings[slot];
            at = posting.chain();
            self.values[posting.value()].mark = self.mark;
        }
        let mut added = Ok(());
        emit(&mut |index, text| {
            if added.is_ok() {
                added = self.try_add_value(object, head, index, text);
            }
        });
        added
    }

    /// Drops those postings of an object whose value does not pass.
    pub(super) fn retain(&mut self, head: &mut Option<Slot>, keep: impl Fn(&Value<V, M>) -> bool) {
        let mut at = head.take();
        while let Some(slot) = at {
            let posting = &mut self.postings[slot];
            let (value, run, next) = (posting.value(), posting.run(), posting.next());
            at = posting.chain();
            if keep(&self.values[value]) {
                posting.set_chain(head.replace(slot));
            } else {
                let Value { postings, runs, .. } = &mut self.values[value];
                postings.unlink(&mut self.postings, slot);
                self.postings.remove(slot);
                if let (Some(all), Some(runs)) = (self.runs.get_mut(), runs.get_mut()) {
                    all.unlinked(runs, &mut self.postings, run, (slot, next));
                }
                self.forget_if_unused(value);
            }
        }
    }

    /// Notes that readers of the object's values have another state of it now.
    pub(super) fn note_changed(&mut self, head: Option<Slot>) {
        let Some(runs) = self.runs.get_mut() else { return };
        let mut at = head.filter(|_| runs.is_shared());
        while let Some(slot) = at {
            let posting = &self.postings[slot];
            if let Some(list) = self.values[posting.value()].runs.get_mut() {
                runs.changed(list, posting.run());
            }
            at = posting.chain();
        }
    }

    /// The objects that have a value.
    pub(super) fn objects(&self, index: u32, text: &str) -> impl Iterator<Item = Slot> {
        self.objects_from(self.find(index, text).and_then(|value| self.values[value].postings.front()))
    }

    /// The objects of a value, from one of its postings on.
    pub(super) fn objects_from(&self, first: Option<Slot>) -> impl Iterator<Item = Slot> {
        let postings = core::iter::successors(first, |slot| self.postings[*slot].next());
        postings.map(|slot| self.postings[slot].object())
    }

    /// The postings of an object.
    pub(super) fn chain(&self, head: Option<Slot>) -> impl Iterator<Item = &Posting<M>> {
        core::iter::successors(head.map(|slot| &*self.postings[slot]), |posting| {
            Some(&*self.postings[posting.chain()?])
        })
    }

    /// Reads the posting that the chain of an object begins at; the next one is mostly beside it.
    pub(super) fn read_ahead(&self, head: Option<Slot>) {
        black_box(head.and_then(|slot| self.postings.get(slot)).is_some());
    }

    pub(super) fn find(&self, index: u32, text: &str) -> Option<Slot> {
        self.values.find_by(&(index, text), |key| key.is(index, text))
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.postings.clear();
        if let Some(runs) = self.runs.get_mut() {
            runs.clear();
        }
    }

    /// Gives back the memory where no object has a value and many had once.
    pub(super) fn release(&mut self) {
        self.values.release();
        self.postings.release();
        if let Some(runs) = self.runs.get_mut() {
            runs.release();
        }
    }

    fn try_add_value(
        &mut self,
        object: Slot,
        head: &mut Option<Slot>,
        index: u32,
        text: &str,
    ) -> Result<(), M::Full<()>> {
        let value = match self.find(index, text) {
            Some(value) => value,
            None => self.try_new_value(index, text)?,
        };
        if core::mem::replace(&mut self.values[value].mark, self.mark) == self.mark {
            return Ok(());
        }
        match self.postings.try_insert(Linked::new(Posting::new(object, value, *head))) {
            Ok(slot) => {
                let Value { postings, runs, .. } = &mut self.values[value];
                postings.push_back(&mut self.postings, slot);
                if let (Some(all), Some(runs)) = (self.runs.get_mut(), runs.get_mut()) {
                    all.push(runs, &mut self.postings, slot);
                }
                *head = Some(slot);
                Ok(())
            }
            Err(full) => {
                self.forget_if_unused(value);
                Err(M::map_full(full, drop))
            }
        }
    }

    fn try_new_value(&mut self, index: u32, text: &str) -> Result<Slot, M::Full<()>> {
        let Ok(text) = M::Text::try_from(text) else {
            M::try_room(0, || 1)?;
            unreachable!("the heap has room for every text")
        };
        let value = Value { key: ValueKey { index, text }, postings: List::EMPTY, runs: M::HeapOnly::EMPTY, mark: 0 };
        self.values.try_insert(value).map_err(|full| M::map_full(full, drop))
    }

    fn forget_if_unused(&mut self, value: Slot) {
        if self.values[value].postings.is_empty() {
            self.values.remove(value);
        }
    }
}

impl<V, M: Mem> Keyed for Value<V, M> {
    type Key = ValueKey<M::Text>;

    fn key(&self) -> &ValueKey<M::Text> {
        &self.key
    }
}

impl<T: core::ops::Deref<Target = str>> ValueKey<T> {
    #[inline]
    pub(super) fn is(&self, index: u32, text: &str) -> bool {
        self.index == index && is_same(&self.text, text)
    }
}
