//! The memories in which a client of the world can follow its server: on the heap, and of a fixed capacity.

use super::object::{KeyNumber, key_of};
use super::pod::Pod;
use super::restored::{Restored, restore};
use listwatch_core::cache::{Cache, FixedIndexer};
use listwatch_core::decode::{Decode, Json, ProjectedJson};
use listwatch_core::informer::InformerIn;
use listwatch_core::object::ObjectHandle;
use listwatch_core::projection::Projected;
use listwatch_core::storage::{Fixed, Heap, Keyed, Mem};
use listwatch_core::{Indexer, Informer, InformerConfig, Resource, projection};
use std::fmt::Debug;

projection! {
    /// What a client in fixed memory keeps of a pod; of metadata alone, nothing is left.
    pub struct Kept { value: Option<i64> = "spec.value" }
}

/// The informer of a client, by its decoder and its memory.
pub trait Tier: Debug + Sized + 'static {
    /// What decodes the answers.
    type Decoder: Decode<Object: Seen>;
    /// What holds the objects.
    type Cache: Cache<ObjectOf<Self>> + Default;
    /// The memory of the queue.
    type Queue: Mem;
    /// How many objects the cache has room for, if it cannot grow.
    const ROOM: Option<usize> = None;

    /// An informer that has not begun.
    fn informer(resource: Resource, config: InformerConfig) -> InformerOf<Self>;

    /// Gives a new informer a state that was saved. Returns false if this one begins with nothing.
    fn restore(_: &mut InformerOf<Self>, _: Restored<'_, ObjectOf<Self>>) -> bool {
        false
    }
}

/// The informer of a tier.
pub type InformerOf<T> = InformerIn<<T as Tier>::Decoder, <T as Tier>::Cache, <T as Tier>::Queue>;

/// The objects of a tier.
pub type ObjectOf<T> = <<T as Tier>::Decoder as Decode>::Object;

/// An object as the observer sees it.
pub trait Seen: Keyed<Key: Debug> + Clone + Debug + PartialEq {
    /// The name, without the namespace.
    fn name(&self) -> &str;
    /// Which of those that had this name.
    fn uid(&self) -> u64;
    /// When it was last changed.
    fn revision(&self) -> u64;
    /// What follows from its last change; none of metadata alone.
    fn value(&self) -> Option<u64>;

    /// The place of the object among all that there can be.
    ///
    /// # Panics
    /// Where no server has an object of this name.
    fn place(&self) -> KeyNumber {
        key_of(self.name()).unwrap_or_else(|| panic!("an object that no server has: {self:?}"))
    }
}

/// On the heap.
#[derive(Debug)]
pub struct OnHeap;

impl Tier for OnHeap {
    type Decoder = Json<Pod>;
    type Cache = Indexer<ObjectHandle<Pod>>;
    type Queue = Heap;

    fn informer(resource: Resource, config: InformerConfig) -> InformerOf<Self> {
        Informer::new(resource, config)
    }

    fn restore(informer: &mut InformerOf<Self>, state: Restored<'_, ObjectHandle<Pod>>) -> bool {
        restore(informer, &state);
        true
    }
}

/// In memory for so many objects, and a queue of so many deltas.
#[derive(Debug)]
pub struct InFixed<const OBJECTS: usize, const QUEUE: usize>;

/// Everything fits, lists too.
pub type Roomy = InFixed<32, 64>;
/// Everything fits, but lists pass in parts.
pub type InParts = InFixed<32, 3>;
/// Everything fits, and each object of a list is a part.
pub type OneByOne = InFixed<32, 1>;
/// Hardly ever does everything fit.
pub type AlwaysFull = InFixed<2, 3>;

impl<const OBJECTS: usize, const QUEUE: usize> Tier for InFixed<OBJECTS, QUEUE> {
    type Decoder = ProjectedJson<Kept, 32, 512>;
    type Cache = FixedIndexer<Projected<Kept, 32>, OBJECTS>;
    type Queue = Fixed<QUEUE>;
    const ROOM: Option<usize> = Some(OBJECTS);

    fn informer(resource: Resource, config: InformerConfig) -> InformerOf<Self> {
        InformerIn::with_decoder(resource, config, ProjectedJson::new(), Self::Cache::default())
    }
}

impl Seen for ObjectHandle<Pod> {
    fn name(&self) -> &str {
        self.meta().name()
    }

    fn uid(&self) -> u64 {
        self.meta().uid().map_or_else(|| panic!("without a uid: {self:?}"), |uid| number(&uid.to_string()))
    }

    fn revision(&self) -> u64 {
        number(self.meta().resource_version())
    }

    fn value(&self) -> Option<u64> {
        Pod::value(self)
    }
}

impl Seen for Projected<Kept, 32> {
    fn name(&self) -> &str {
        self.name()
    }

    fn uid(&self) -> u64 {
        number(self.uid())
    }

    fn revision(&self) -> u64 {
        number(self.resource_version())
    }

    fn value(&self) -> Option<u64> {
        self.value.value.map(|value| value.try_into().unwrap_or_else(|error| panic!("{value}: {error}")))
    }
}

pub(super) fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}
