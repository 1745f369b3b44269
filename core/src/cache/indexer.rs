mod capacity;
mod check;
mod posting;
mod postings;
#[cfg(feature = "alloc")]
mod select;
mod shared;
#[cfg(feature = "json")]
mod snapshots;
#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;

use crate::storage::sealed::{Empty, HeapOnly};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};
use crate::storage::{IndexSlab, Keyed, KnownObjects, Mem, Slot, Table};
#[cfg(feature = "alloc")]
use alloc::boxed::Box;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
pub use capacity::Capacity;
use core::borrow::Borrow;
use core::hash::Hash;
use postings::{Emit, Postings};
#[cfg(feature = "json")]
pub(super) use select::is_selected;
use shared::Ranges;

/// An [`IndexerIn`] on the heap, which is never full.
#[cfg(feature = "alloc")]
pub type Indexer<V> = IndexerIn<V, Heap>;

/// An [`IndexerIn`] with room for `N` objects in place; nothing is allocated.
///
/// [`Indexed`](crate::storage::Indexed) has the capacities of its indexes. Without it, `N` is the capacity of each: two
/// indexes of one value for each object then have room for `N / 2` objects.
///
/// It can be a `static` that takes no flash. Indexes are added when the program begins:
///
#[cfg_attr(feature = "critical-section", doc = "```")]
#[cfg_attr(not(feature = "critical-section"), doc = "```ignore")]
/// use listwatch_core::cache::FixedIndexer;
/// use listwatch_core::storage::{Indexed, Keyed};
/// use listwatch_core::sync::{CriticalSectionLock, Shared};
///
/// struct Door { name: &'static str, floor: &'static str }
///
/// impl Keyed for Door {
///     type Key = &'static str;
///     fn key(&self) -> &&'static str {
///         &self.name
///     }
/// }
///
/// type Doors = FixedIndexer<Door, 100, Indexed<1, 100, 8, 16>>;
///
/// static DOORS: Shared<Doors, CriticalSectionLock> =
///     Shared::<_, CriticalSectionLock>::const_new(FixedIndexer::new());
///
/// let by_floor = DOORS.with(|doors| doors.try_add_index(|door, emit| emit(door.floor))).ok().unwrap();
/// DOORS.with(|doors| doors.try_insert(Door { name: "front", floor: "ground" }).is_ok());
/// assert_eq!(DOORS.read(|doors| doors.by_index(by_floor, "ground").count()), 1);
/// ```
#[cfg(feature = "fixed")]
pub type FixedIndexer<V, const N: usize, I = crate::storage::Indexed<N, N>> = IndexerIn<V, crate::storage::Fixed<N, I>>;

/// Objects by key, with any number of indexes (client-go `Indexer`). Use it as [`Indexer`] or [`FixedIndexer`].
///
/// An index function emits the values of an object, any number of them; a value emitted twice counts once. Every
/// operation leaves all indexes exact. The values of a stored object are remembered, not computed again. Orders depend
/// on the operations alone:
///
/// - Objects and index values come in the order of their insertion, but one may take the place of a removed one.
/// - The objects of an index value come in the order in which they got the value. An update that keeps the value keeps
///   the place.
///
/// # Panics
/// An operation panics where an index function does, and the indexer is as before. If [`replace`](IndexerIn::replace)
/// panics, the objects before the faulty one are stored, and none is removed. An index function that fixed memory has is
/// called more than once for an object: this holds for it if it depends on the object alone.
///
/// # Capacity
/// In fixed memory there are capacities for objects, for indexes, for pairs of object and index value, for distinct
/// index values, and for the bytes of one. An object that exceeds one of them comes back, and nothing changes. What it
/// replaces frees its places first. A value that is emitted twice needs two places while it is looked for.
///
/// ```
/// use listwatch_core::storage::Keyed;
/// use listwatch_core::Indexer;
///
/// #[derive(Debug, PartialEq)]
/// struct Pod { name: &'static str, node: &'static str }
///
/// impl Keyed for Pod {
///     type Key = &'static str;
///     fn key(&self) -> &&'static str {
///         &self.name
///     }
/// }
///
/// let mut pods = Indexer::new();
/// pods.insert(Pod { name: "web-1", node: "n1" });
/// let by_node = pods.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| emit(pod.node));
/// pods.insert(Pod { name: "web-2", node: "n1" });
/// assert_eq!(pods.index_keys(by_node, "n1").collect::<Vec<_>>(), [&"web-1", &"web-2"]);
///
/// let old = pods.insert(Pod { name: "web-1", node: "n2" });
/// assert_eq!(old, Some(Pod { name: "web-1", node: "n1" }));
/// assert_eq!(pods.index_values(by_node).collect::<Vec<_>>(), ["n1", "n2"]);
/// ```
pub struct IndexerIn<V: Keyed, M: Mem> {
    objects: Table<Record<V>, M>,
    postings: Postings<V, M>,
    /// What readers share of the objects.
    shared: M::HeapOnly<Ranges<V, M>>,
    seed_chosen: bool,
    indexes: IndexSlab<Index<M::IndexFn<V>>, M>,
    /// The number of the next index; none is used again.
    next_index: u32,
    #[cfg(feature = "alloc")]
    by_namespace: Option<IndexId>,
}

/// Names an index of the indexer that returned it. Client-go names indexes by text; an id cannot be misspelled.
///
/// Another indexer may have given the same id to another index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(u32);

/// How many keys [`IndexerIn::read_ahead`] takes.
pub const AHEAD: usize = 16;

/// The number of objects from which on memory is read ahead: fewer are in the processor's caches.
const FEW_OBJECTS: usize = 1000;

struct Record<V> {
    object: V,
    /// The first posting of the object.
    postings: Option<Slot>,
}

struct Index<F> {
    id: IndexId,
    values: F,
}

/// An index that is being filled. If that ends early, by a panic of its function too, nothing is left of it.
struct Filling<'a, V: Keyed, M: Mem> {
    indexer: &'a mut IndexerIn<V, M>,
    id: IndexId,
}

impl<V: Keyed, M: Mem> Drop for Filling<'_, V, M> {
    fn drop(&mut self) {
        self.indexer.empty(self.id);
    }
}

impl<V: Keyed, M: Mem> IndexerIn<V, M> {
    /// An empty indexer without indexes.
    pub const fn new() -> Self {
        Self::made_with(0, false)
    }

    /// An empty indexer whose hashes depend on `seed`, for keys that an adversary may choose. No order depends on it.
    pub const fn with_seed(seed: u64) -> Self {
        Self::made_with(seed, true)
    }

    const fn made_with(seed: u64, seed_chosen: bool) -> Self {
        Self {
            objects: Table::with_seed(seed),
            postings: Postings::with_seed(seed),
            shared: M::HeapOnly::EMPTY,
            seed_chosen,
            indexes: IndexSlab::<_, M>::EMPTY,
            next_index: 0,
            #[cfg(feature = "alloc")]
            by_namespace: None,
        }
    }

    /// Makes the hashes depend on `seed`, if the indexer is empty and was made without a seed.
    pub fn seed_unless_chosen(&mut self, seed: u64) {
        if !self.seed_chosen && self.is_empty() {
            self.objects.set_seed(seed);
            self.postings.set_seed(seed);
            self.seed_chosen = true;
        }
    }

    /// Stores an object and returns the one that it replaces under its key (client-go `Add` and `Update`).
    ///
    /// # Errors
    /// Returns the object if fixed memory is full; the indexer is as before. [`lacking`](Self::lacking) names the
    /// capacity.
    #[doc(alias = "update")]
    pub fn try_insert(&mut self, object: V) -> Result<Option<V>, M::Full<V>> {
        let hash = self.objects.hash(object.key());
        match self.objects.find_hashed(hash, object.key()) {
            Some(slot) => self.try_update(slot, object).map(Some),
            None => self.try_insert_new(hash, object).map(|_| None),
        }
    }

    /// Removes the object under `key` and returns it (client-go `Delete`).
    #[doc(alias = "delete")]
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        V::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.objects.find(key).map(|slot| self.remove_at(slot))
    }

    /// The object under `key` (client-go `GetByKey`).
    pub fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        V::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.objects.find(key).map(|slot| &self.objects[slot].object)
    }

    /// Reads the memory that [`try_insert`](Self::try_insert) and [`remove`](Self::remove) need for the first [`AHEAD`]
    /// of these keys. It changes nothing.
    ///
    /// A large indexer does not fit into the processor's caches. An update waits for its memory several times, one
    /// after the other. If the memory of several updates is read ahead, they wait at the same time. An informer does
    /// this for the deltas in its queue.
    ///
    /// ```
    /// use listwatch_core::cache::AHEAD;
    /// use listwatch_core::fifo::Order;
    /// use listwatch_core::object::{MetaBuilder, Object, ObjectHandle};
    /// use listwatch_core::{DeltaFifo, Indexer};
    ///
    /// let mut builder = MetaBuilder::default();
    /// let mut pod = |name: &str| {
    ///     builder.set_name(name);
    ///     ObjectHandle::from(Object { meta: builder.build().unwrap(), value: () })
    /// };
    /// let (mut queue, mut pods) = (DeltaFifo::new(Order::Arrival), Indexer::new());
    /// ["web-1", "web-2"].map(|name| queue.update(pod(name)));
    ///
    /// while !queue.is_empty() {
    ///     pods.read_ahead(queue.waiting().map(|delta| delta.object().key()));
    ///     for _ in 0..AHEAD {
    ///         let Some(popped) = queue.pop() else { break };
    ///         pods.insert(popped.delta.into_object());
    ///     }
    /// }
    /// assert_eq!(pods.len(), 2);
    /// ```
    pub fn read_ahead<'a>(&self, keys: impl IntoIterator<Item = &'a V::Key>)
    where
        V::Key: 'a,
    {
        if self.len() < FEW_OBJECTS {
            return;
        }
        let mut keys = keys.into_iter();
        let found = self.objects.read_ahead::<AHEAD>(&core::array::from_fn(|_| keys.next()));
        for slot in found.into_iter().flatten() {
            self.postings.read_ahead(self.objects[slot].postings);
        }
    }

    /// The object under `key`, and its place, which it keeps until it is removed.
    #[cfg(any(feature = "json", feature = "fixed"))]
    pub(crate) fn find(&self, key: &V::Key) -> Option<(u32, &V)> {
        let slot = self.objects.find(key)?;
        Some((u32::try_from(slot.index()).ok()?, &self.objects[slot].object))
    }

    /// The object in a place.
    #[cfg(any(feature = "json", feature = "fixed"))]
    pub(crate) fn at_place(&self, place: u32) -> Option<&V> {
        let place = place as usize;
        self.objects.range(place..place + 1).next().map(|record| &record.object)
    }

    /// All objects and their places, in the order of [`iter`](Self::iter).
    #[cfg(any(feature = "json", feature = "fixed"))]
    pub(crate) fn places(&self) -> impl Iterator<Item = (u32, &V)> {
        self.objects.iter().map(|(slot, record)| (slot.index() as u32, &record.object))
    }

    /// All objects (client-go `List`).
    #[doc(alias = "list")]
    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.objects.iter().map(|(_, record)| &record.object)
    }

    /// Whether there is an object under `key`.
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        V::Key: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.objects.find(key).is_some()
    }

    /// The keys of all objects, in the order of [`iter`](Self::iter) (client-go `ListKeys`).
    pub fn keys(&self) -> impl Iterator<Item = &V::Key> {
        self.iter().map(Keyed::key)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all objects; the indexes stay.
    pub fn clear(&mut self) {
        self.objects.clear();
        self.postings.clear();
        self.shared = M::HeapOnly::EMPTY;
        self.release_if_empty();
    }

    /// Adds an index and fills it with the present objects (client-go `AddIndexers`).
    ///
    /// # Errors
    /// Returns the function if fixed memory has no room for the index or for its values; the indexer is as before.
    pub fn try_add_index(&mut self, values: M::IndexFn<V>) -> Result<IndexId, M::Full<M::IndexFn<V>>> {
        let id = IndexId(self.next_index);
        self.next_index += 1;
        let filling = Filling { indexer: self, id };
        if let Err(full) = filling.indexer.try_fill(id, &values) {
            return Err(M::map_full(full, |()| values));
        }
        let index = filling.indexer.indexes.try_insert(Index { id, values });
        index.map_err(|full| M::map_full(full, |index| index.values))?;
        core::mem::forget(filling);
        Ok(id)
    }

    /// Removes an index. Its id finds nothing from then on, and no other index gets it.
    pub fn remove_index(&mut self, id: IndexId) {
        let found = self.indexes.iter().find(|(_, index)| index.id == id).map(|(slot, _)| slot);
        if let Some(slot) = found {
            self.empty(id);
            self.indexes.remove(slot);
            #[cfg(feature = "alloc")]
            if self.by_namespace == Some(id) {
                self.by_namespace = None;
            }
        }
    }

    /// The objects that have a value in an index (client-go `ByIndex`). An unknown index has none.
    pub fn by_index(&self, id: IndexId, value: &str) -> impl Iterator<Item = &V> {
        self.postings.objects(id.0, value).map(|slot| &self.objects[slot].object)
    }

    /// The keys of the objects that have a value in an index, in the order of [`by_index`](Self::by_index) (client-go
    /// `IndexKeys`, which sorts them).
    pub fn index_keys(&self, id: IndexId, value: &str) -> impl Iterator<Item = &V::Key> {
        self.by_index(id, value).map(Keyed::key)
    }

    /// The values that at least one object has in an index (client-go `ListIndexFuncValues`). Walks the values of all
    /// indexes.
    pub fn index_values(&self, id: IndexId) -> impl Iterator<Item = &str> {
        let values = self.postings.values.iter().map(|(_, value)| &value.key);
        values.filter(move |key| key.index == id.0).map(|key| &*key.text)
    }

    fn try_update(&mut self, slot: Slot, object: V) -> Result<V, M::Full<V>> {
        let head = self.objects[slot].postings;
        if !self.postings.is_unchanged(head, &all_values::<V, M>(&self.indexes, &object)) {
            if let Err(full) = self.try_room_for(Some(slot), &object) {
                return Err(M::map_full(full, |()| object));
            }
            let values = all_values::<V, M>(&self.indexes, &object);
            self.postings.gather(&values);
            self.postings.update(slot, &mut self.objects[slot].postings, &values);
        }
        let record = &mut self.objects[slot];
        let known = core::mem::replace(&mut record.object, object);
        self.postings.note_changed(record.postings);
        self.note_changed(slot);
        Ok(known)
    }

    fn try_insert_new(&mut self, hash: u32, object: V) -> Result<Slot, M::Full<V>> {
        self.postings.gather(&all_values::<V, M>(&self.indexes, &object));
        if let Err(full) = self.try_room_for(None, &object) {
            return Err(M::map_full(full, |()| object));
        }
        let record = Record { object, postings: None };
        let inserted = self.objects.try_insert_hashed(hash, record);
        let slot = inserted.map_err(|full| M::map_full(full, |record| record.object))?;
        let mut postings = None;
        self.postings.update(slot, &mut postings, &all_values::<V, M>(&self.indexes, &self.objects[slot].object));
        self.objects[slot].postings = postings;
        self.note_changed(slot);
        Ok(slot)
    }

    /// Whether there is room for an object, which has a slot already or is new. Looked for in fixed memory alone.
    fn try_room_for(&self, known: Option<Slot>, object: &V) -> Result<(), M::Full<()>> {
        M::try_room(0, || usize::from(self.lacking_at(known, object).is_some()))
    }

    /// Readers have another object in this slot now, or none.
    #[inline]
    fn note_changed(&mut self, slot: Slot) {
        if let Some(shared) = self.shared.get_mut() {
            shared.changed(slot);
        }
    }

    fn remove_at(&mut self, slot: Slot) -> V {
        let mut record = self.objects.remove(slot);
        self.note_changed(slot);
        self.postings.retain(&mut record.postings, |_| false);
        self.release_if_empty();
        record.object
    }

    /// Gives the memory of an indexer back that was large once.
    fn release_if_empty(&mut self) {
        if self.is_empty() {
            self.objects.release();
            self.postings.release();
            self.shared = M::HeapOnly::EMPTY;
        }
    }

    /// Indexes the present objects.
    fn try_fill(&mut self, id: IndexId, values: &M::IndexFn<V>) -> Result<(), M::Full<()>> {
        let mut at = self.objects.next_used(None);
        while let Some(slot) = at {
            let Record { object, postings, .. } = &mut self.objects[slot];
            let emit = |emit: &mut dyn FnMut(u32, &str)| values(object, &mut |value| emit(id.0, value));
            self.postings.try_add(slot, postings, &emit)?;
            at = self.objects.next_used(at);
        }
        Ok(())
    }

    /// Drops the postings of an index.
    fn empty(&mut self, id: IndexId) {
        let mut at = self.objects.next_used(None);
        while let Some(slot) = at {
            self.postings.retain(&mut self.objects[slot].postings, |value| value.key.index != id.0);
            at = self.objects.next_used(at);
        }
    }
}

/// Memory that grows: the operations that are never full.
#[cfg(feature = "alloc")]
impl<V: Keyed> IndexerIn<V, Heap> {
    /// Stores an object and returns the one that it replaces under its key (client-go `Add` and `Update`).
    #[doc(alias = "update")]
    pub fn insert(&mut self, object: V) -> Option<V> {
        never_full(self.try_insert(object))
    }

    /// Adds an index and fills it with the present objects (client-go `AddIndexers`).
    ///
    /// `values` is called with an object, and calls its second argument with each index value of it.
    pub fn add_index(&mut self, values: impl Fn(&V, &mut dyn FnMut(&str)) + Send + Sync + 'static) -> IndexId {
        never_full(self.try_add_index(Box::new(values)))
    }

    /// Makes `objects` the content of the indexer (client-go `Replace`). Of two under one key the last counts. Objects
    /// that stay keep their place.
    pub fn replace(&mut self, objects: impl IntoIterator<Item = V>) {
        let mut stays = Vec::new();
        for object in objects {
            let slot = self.store(object);
            stays.resize(stays.len().max(slot.index() + 1), false);
            stays[slot.index()] = true;
        }
        let mut at = self.objects.next_used(None);
        while let Some(slot) = at {
            if stays.get(slot.index()) != Some(&true) {
                self.remove_at(slot);
            }
            at = self.objects.next_used(at);
        }
    }

    /// Stores an object, and returns its slot.
    fn store(&mut self, object: V) -> Slot {
        let hash = self.objects.hash(object.key());
        match self.objects.find_hashed(hash, object.key()) {
            Some(slot) => {
                never_full(self.try_update(slot, object));
                slot
            }
            None => never_full(self.try_insert_new(hash, object)),
        }
    }
}

/// Emits the values of an object in all indexes.
fn all_values<V, M: Mem>(indexes: &IndexSlab<Index<M::IndexFn<V>>, M>, object: &V) -> impl Emit {
    move |emit: &mut dyn FnMut(u32, &str)| {
        for (_, index) in indexes.iter() {
            (index.values)(object, &mut |value| emit(index.id.0, value));
        }
    }
}

impl<V: Keyed, M: Mem> KnownObjects<V> for IndexerIn<V, M> {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a V>
    where
        V: 'a,
    {
        self.iter()
    }

    fn is_known(&self, key: &V::Key) -> bool {
        self.objects.find(key).is_some()
    }
}

impl<V: Keyed> Keyed for Record<V> {
    type Key = V::Key;

    fn key(&self) -> &V::Key {
        self.object.key()
    }

    fn bytes(&self) -> usize {
        self.object.bytes()
    }
}

impl<V: Keyed, M: Mem> Default for IndexerIn<V, M> {
    fn default() -> Self {
        Self::new()
    }
}

summary!(impl[V: Keyed, M: Mem] "Indexer" for IndexerIn<V, M>, |it| {
    objects: it.len(), indexes: it.indexes.len(), values: it.postings.values.len(),
});
