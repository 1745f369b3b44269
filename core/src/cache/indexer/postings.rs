//! Which objects have which index values.
//!
//! A posting says that one object has one value. It is in the list of its value and in the chain of its object. So a
//! query walks the objects of a value, and an update the values of an object.

use crate::storage::sealed::{Empty, Gathered, InRun, Runs, Text};
use crate::storage::{Keyed, Linked, Links, List, Mem, PostingSlab, Slot, ValueTable, is_same};
use core::hash::{Hash, Hasher};
use core::hint::black_box;

/// The postings of all indexes, which are distinguished by number.
pub(super) struct Postings<V, M: Mem> {
    pub(super) values: ValueTable<Value<V, M>, M>,
    pub(super) postings: PostingSlab<Posting<M::Slot, Run<V, M>>, M>,
    /// What readers share of the objects of the values.
    pub(super) runs: M::Runs<V>,
    /// The values of the object that is about to be stored.
    gathered: M::Gathered,
    /// Numbers the updates, for the marks.
    update: u64,
}

type Run<V, M> = <<M as Mem>::Runs<V> as Runs>::Run;

pub(super) struct Value<V, M: Mem> {
    pub(super) key: ValueKey<M>,
    /// In the order in which the objects came to have the value.
    pub(super) postings: List<OfValue>,
    pub(super) runs: <M::Runs<V> as Runs>::List,
    mark: Mark,
}

/// A value in one index.
pub(super) struct ValueKey<M: Mem> {
    pub(super) index: u32,
    pub(super) text: M::Text,
}

/// Keeps slots as `S`.
pub(super) struct Posting<S, R> {
    object: S,
    value: S,
    links: Links<S>,
    /// The run of the value's list.
    run: R,
    /// The next posting of the object.
    chain: Option<S>,
}

pub(super) enum OfValue {}

/// An object with more values than this has them looked up, not compared one by one.
const FEW: usize = 8;

/// The finding of the last update that looked at a value: its number, twice. One more says that the object has a posting
/// for the value that stays, and no more that it had the value before.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark(u64);

/// Calls its argument with each value of an object, and the index it is in.
pub(super) trait Emit: Fn(&mut dyn FnMut(u32, &str)) {}

impl<F: Fn(&mut dyn FnMut(u32, &str))> Emit for F {}

impl Mark {
    const UNTOUCHED: Self = Self(0);

    const fn old(update: u64) -> Self {
        Self(update << 1)
    }

    const fn kept(update: u64) -> Self {
        Self(update << 1 | 1)
    }
}

impl<V, M: Mem> Postings<V, M> {
    pub(super) const fn with_seed(seed: u64) -> Self {
        Self {
            values: ValueTable::<_, M>::with_seed(seed),
            postings: PostingSlab::<_, M>::EMPTY,
            runs: M::Runs::EMPTY,
            gathered: M::Gathered::EMPTY,
            update: 0,
        }
    }

    /// Makes the hashes depend on `seed`, where no object has a value.
    pub(super) fn set_seed(&mut self, seed: u64) {
        self.values.set_seed(seed);
    }

    /// Gives an object, whose chain begins at `head`, exactly the values that are emitted. For a value that it had
    /// already, it keeps its place among the objects.
    pub(super) fn try_update(
        &mut self,
        object: Slot,
        head: &mut Option<Slot>,
        emit: impl Emit,
    ) -> Result<(), M::Full<()>> {
        if self.is_unchanged(*head, &emit) {
            self.forget_shared(*head);
            return Ok(());
        }
        self.gather(&emit);
        self.update += 1;
        let (mut stale, mut at) = (0, *head);
        while let Some(slot) = at {
            let posting = &self.postings[slot];
            at = posting.chain();
            self.values[posting.value()].mark = Mark::old(self.update);
            stale += 1;
        }
        self.try_reconcile(object, head, stale, emit)?;
        self.forget_shared(*head);
        Ok(())
    }

    /// Calls the index functions for an object that is to be [added](Self::try_add): they may panic, so this comes
    /// before anything changes.
    pub(super) fn gather(&mut self, emit: &impl Emit) {
        self.gathered.gather(emit);
    }

    /// Gives an object the values that were [gathered](Self::gather) besides those it has, which are of other indexes.
    pub(super) fn try_add(
        &mut self,
        object: Slot,
        head: &mut Option<Slot>,
        emit: impl Emit,
    ) -> Result<(), M::Full<()>> {
        self.update += 1;
        self.try_reconcile(object, head, 0, emit)
    }

    /// Drops those postings of an object whose value does not pass.
    pub(super) fn retain(&mut self, head: &mut Option<Slot>, keep: impl Fn(&Value<V, M>) -> bool) {
        let mut at = head.take();
        while let Some(slot) = at {
            let posting = &self.postings[slot];
            let (value, run, next) = (posting.value(), posting.run, posting.next());
            at = posting.chain();
            if keep(&self.values[value]) {
                self.postings[slot].chain = head.replace(slot).map(Into::into);
            } else {
                let Value { postings, runs, .. } = &mut self.values[value];
                postings.unlink(&mut self.postings, slot);
                self.postings.remove(slot);
                self.runs.unlinked(runs, &mut self.postings, run, slot, next);
                self.forget_if_unused(value);
            }
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
    pub(super) fn chain(&self, head: Option<Slot>) -> impl Iterator<Item = &Posting<M::Slot, Run<V, M>>> {
        core::iter::successors(head.map(|slot| &self.postings[slot]), |posting| Some(&self.postings[posting.chain()?]))
    }

    /// Reads the posting that the chain of an object begins at; the next one is mostly beside it.
    pub(super) fn read_ahead(&self, head: Option<Slot>) {
        black_box(head.and_then(|slot| self.postings.get(slot)).is_some());
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.postings.clear();
        self.runs.clear();
    }

    /// Gives back the memory where no object has a value and many had once.
    pub(super) fn release(&mut self) {
        self.values.release();
        self.postings.release();
        self.runs.release();
    }

    /// Whether an object of few values is emitted with exactly those, which is the usual update. It compares them in
    /// place, without a hash and without writing.
    fn is_unchanged(&self, head: Option<Slot>, emit: &impl Emit) -> bool {
        // A chain begins with the value that was emitted last.
        let (mut own, mut first) = ([None; FEW], FEW);
        for posting in self.chain(head) {
            let Some(place) = first.checked_sub(1) else { return false };
            (own[place], first) = (Some(posting.value()), place);
        }
        let (mut next, mut met, mut known) = (first, 0_u32, true);
        emit(&mut |index, text| {
            let is_it = |value: &Option<Slot>| value.is_some_and(|value| self.is_of(value, index, text));
            let place = if own.get(next).is_some_and(is_it) { Some(next) } else { own.iter().position(is_it) };
            met |= place.map_or(0, |place| 1 << place);
            known &= place.is_some();
            next += 1;
        });
        known && met.count_ones() as usize == FEW - first
    }

    #[inline]
    fn is_of(&self, value: Slot, index: u32, text: &str) -> bool {
        self.values[value].key.is(index, text)
    }

    /// Notes that readers of the object's values have another state of it now.
    fn forget_shared(&mut self, head: Option<Slot>) {
        let mut at = head.filter(|_| self.runs.is_shared());
        while let Some(slot) = at {
            let posting = &self.postings[slot];
            self.runs.changed(&mut self.values[posting.value()].runs, posting.run);
            at = posting.chain();
        }
    }

    /// Gives an object the values that were [gathered](Self::gather).
    fn try_reconcile(
        &mut self,
        object: Slot,
        head: &mut Option<Slot>,
        stale: usize,
        emit: impl Emit,
    ) -> Result<(), M::Full<()>> {
        let gathered = core::mem::replace(&mut self.gathered, M::Gathered::EMPTY);
        let reconciled =
            self.try_emitted(object, head, stale, |to: &mut dyn FnMut(u32, &str)| gathered.emit(&emit, to));
        self.gathered = gathered;
        reconciled
    }

    /// Looks first: a value that stays costs nothing more, and values that do not fit change nothing.
    fn try_emitted(
        &mut self,
        object: Slot,
        head: &mut Option<Slot>,
        mut stale: usize,
        emit: impl Emit,
    ) -> Result<(), M::Full<()>> {
        let (old, kept) = (Mark::old(self.update), Mark::kept(self.update));
        let (mut missing, mut new, mut fits) = (0, 0, true);
        emit(&mut |index, text| match self.find(index, text).map(|value| &mut self.values[value].mark) {
            Some(mark) if *mark == kept => {}
            Some(mark) if *mark == old => {
                *mark = kept;
                stale -= 1;
            }
            Some(_) => missing += 1,
            None => {
                (missing, new) = (missing + 1, new + 1);
                fits &= M::Text::fits(text);
            }
        });
        self.postings.try_room(|| if fits { self.postings.len() - stale + missing } else { usize::MAX })?;
        if new > 0 {
            self.values.try_room(|| self.values.len() - self.unshared(*head, old) + new)?;
        }
        if stale > 0 {
            self.retain(head, |value| value.mark == kept);
        }
        if missing > 0 {
            emit(&mut |index, text| self.add(object, head, index, text));
        }
        Ok(())
    }

    /// How many values with that mark only this object has.
    fn unshared(&self, head: Option<Slot>, mark: Mark) -> usize {
        let values = self.chain(head).map(|posting| &self.values[posting.value()]);
        values.filter(|value| value.mark == mark && value.postings.len() == 1).count()
    }

    /// There is room, unless an index function emits more than it did a moment ago: then the surplus is dropped.
    fn add(&mut self, object: Slot, head: &mut Option<Slot>, index: u32, text: &str) {
        let Some(value) = self.find(index, text).or_else(|| self.new_value(index, text)) else { return };
        let kept = Mark::kept(self.update);
        if core::mem::replace(&mut self.values[value].mark, kept) == kept {
            return;
        }
        let posting = Posting {
            object: object.into(),
            value: value.into(),
            links: Links::default(),
            run: Run::<V, M>::default(),
            chain: head.map(Into::into),
        };
        match self.postings.try_insert(posting) {
            Ok(slot) => {
                let Value { postings, runs, .. } = &mut self.values[value];
                postings.push_back(&mut self.postings, slot);
                self.runs.push(runs, &mut self.postings, slot);
                *head = Some(slot);
            }
            Err(_) => self.forget_if_unused(value),
        }
    }

    pub(super) fn find(&self, index: u32, text: &str) -> Option<Slot> {
        self.values.find_by(&(index, text), |key| key.is(index, text))
    }

    fn new_value(&mut self, index: u32, text: &str) -> Option<Slot> {
        let key = ValueKey { index, text: M::Text::try_copy(text)? };
        let runs = <M::Runs<V> as Runs>::List::EMPTY;
        self.values.try_insert(Value { key, postings: List::EMPTY, runs, mark: Mark::UNTOUCHED }).ok()
    }

    fn forget_if_unused(&mut self, value: Slot) {
        if self.values[value].postings.is_empty() {
            self.values.remove(value);
        }
    }
}

impl<S: Copy + Into<Slot>, R> Posting<S, R> {
    #[inline]
    pub(super) fn object(&self) -> Slot {
        self.object.into()
    }

    #[inline]
    pub(super) fn value(&self) -> Slot {
        self.value.into()
    }

    /// The next posting of the object.
    #[inline]
    pub(super) fn chain(&self) -> Option<Slot> {
        self.chain.map(Into::into)
    }
}

impl<S: Copy + From<Slot> + Into<Slot>, R: Copy> InRun<R> for Posting<S, R> {
    fn run(&self) -> R {
        self.run
    }

    fn run_mut(&mut self) -> &mut R {
        &mut self.run
    }

    fn next_item(&self) -> Option<Slot> {
        self.next()
    }
}

impl<S: Copy + From<Slot> + Into<Slot>, R> Linked<OfValue> for Posting<S, R> {
    type Slot = S;

    fn links(&mut self) -> &mut Links<S> {
        &mut self.links
    }

    fn next(&self) -> Option<Slot> {
        self.links.next.map(Into::into)
    }
}

impl<V, M: Mem> Keyed for Value<V, M> {
    type Key = ValueKey<M>;

    fn key(&self) -> &ValueKey<M> {
        &self.key
    }
}

/// As the pair of number and text, by which a value is looked up.
impl<M: Mem> Hash for ValueKey<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.index, &*self.text).hash(state);
    }
}

impl<M: Mem> ValueKey<M> {
    #[inline]
    fn is(&self, index: u32, text: &str) -> bool {
        self.index == index && is_same(&self.text, text)
    }
}

impl<M: Mem> PartialEq for ValueKey<M> {
    fn eq(&self, other: &Self) -> bool {
        self.is(other.index, &other.text)
    }
}

impl<M: Mem> Eq for ValueKey<M> {}
