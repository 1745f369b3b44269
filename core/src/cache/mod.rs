//! The cache of an informer: objects by key and by index, for one owner or for many readers.
//!
//! | type | purpose | client-go | kube-rs |
//! |---|---|---|---|
//! | [`IndexerIn`] | objects by key, with indexes, for one owner | `Indexer` | |
#![cfg_attr(
    feature = "json",
    doc = "\
| [`Cache`] | the cache that an informer writes: an [`Indexer`], or a [`StoreWriterIn`] | | |
| [`Change`] | what the informer tells a cache to apply | | |
| [`Note`] | what the informer tells a cache besides changes | | |
| [`Observer`] | hears of the reads of a store | | |
| [`StoreIn`] | reads a cache from any thread or task while the informer writes | `Lister` | `Store` |
| [`StreamProgress`] | the progress of one informer of a store | | |
| [`StoreWriterIn`] | the only writer of a store, owned by the informer | | `Writer` |
| [`Snapshot`] | a list as it was at one moment, read without a lock | `[]interface{}` | `Vec<Arc<K>>` |"
)]

#[cfg(any(feature = "json", feature = "fixed"))]
mod access;
#[cfg(any(feature = "json", feature = "fixed"))]
mod change;
mod indexer;
#[cfg(feature = "alloc")]
mod snapshot;
#[cfg(feature = "json")]
mod store;

#[cfg(any(feature = "json", feature = "fixed"))]
pub use access::Cache;
#[cfg(any(feature = "json", feature = "fixed"))]
pub(crate) use change::transition;
#[cfg(any(feature = "json", feature = "fixed"))]
pub use change::{Change, Note};
#[cfg(feature = "fixed")]
pub use indexer::FixedIndexer;
#[cfg(feature = "alloc")]
pub use indexer::Indexer;
pub use indexer::{AHEAD, Capacity, IndexId, IndexerIn};
#[cfg(feature = "alloc")]
pub use snapshot::{Snapshot, SnapshotIntoIter, SnapshotIter};
#[cfg(feature = "json")]
pub(crate) use store::Contents;
#[cfg(feature = "json")]
pub use store::{AwaitError, Observer, StoreIn, StoreWriterIn, StreamProgress};
#[cfg(feature = "std")]
pub use store::{Store, StoreWriter};
