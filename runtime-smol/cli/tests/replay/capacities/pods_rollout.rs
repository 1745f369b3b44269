//! An informer in fixed memory for what was recorded of /api/v1/pods in pods-rollout.jsonl.gz.
//!
//! Each capacity is what the recording needed and a quarter more, rounded up to a multiple of 8.
//! The longest object has 10237 bytes, and the longest line of a watch 10266: none has to fit
//! a buffer. The longest label value or owner's name has 17 bytes.

use listwatch_core::cache::{FixedIndexer, IndexId};
use listwatch_core::decode::ProjectedJson;
use listwatch_core::informer::InformerIn;
use listwatch_core::projection;
use listwatch_core::projection::{Projected, Text};
use listwatch_core::storage::{Fixed, Indexed};

/// Objects in the cache. The recording needed 81.
pub const OBJECTS: usize = 104;

/// Bytes of a key. The recording needed 30.
pub const KEY: usize = 40;

/// Pairs of an object and its value in an index. The recording needed 162.
pub const POSTINGS: usize = 208;

/// Distinct values of the indexes. The recording needed 9.
pub const VALUES: usize = 16;

/// Bytes of a value of an index. The recording needed 6.
pub const VALUE: usize = 8;

/// Deltas that wait; a list, of 60 items here, is applied in parts. The recording needed 1.
pub const DELTAS: usize = 8;

/// Bytes that are read at once.
pub const ROOM: usize = 2048;

/// Indexes of the cache.
pub const INDEXES: usize = 2;

projection! {
    /// What is kept of an object.
    pub struct Fields {
        /// The recording needed 6 bytes.
        pub node_name: Text<8> = "spec.nodeName",
        /// The recording needed 4 bytes.
        pub ready_status: Text<8> = "status.conditions[type=Ready].status",
        /// The recording needed 6 bytes.
        pub app: Text<8> = "metadata.labels.app",
    }
}

/// An object of the cache.
pub type Object = Projected<Fields, KEY>;

/// Finds the objects in the answers of the server.
pub type Decoder = ProjectedJson<Fields, KEY, ROOM>;

/// The objects.
pub type Cache = FixedIndexer<Object, OBJECTS, Indexed<INDEXES, POSTINGS, VALUES, VALUE>>;

/// The informer. `&'static mut Decoder` and `&'static mut Cache` take their places where both are statics.
pub type Informer = InformerIn<Decoder, Cache, Fixed<DELTAS>>;

/// Adds the indexes by namespace, by app to an empty cache.
#[must_use]
pub fn add_indexes(cache: &mut Cache) -> Option<[IndexId; INDEXES]> {
    Some([
        cache.try_add_index(|object, emit| object.namespace().into_iter().for_each(emit)).ok()?,
        cache.try_add_index(|object, emit| some(&object.value.app).into_iter().for_each(emit)).ok()?,
    ])
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}
