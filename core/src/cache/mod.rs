//! The cache of an informer: objects by key and by index, for one owner or for many readers.
//!
//! | type | purpose | client-go | kube-rs |
//! |---|---|---|---|
//! | [`IndexerIn`] | objects by key, with indexes, for one owner | `Indexer` | |
#![cfg_attr(
    feature = "alloc",
    doc = "\
| [`Cache`] | the cache that an informer writes: an [`Indexer`], or a [`StoreWriterIn`] | | |
| [`Change`] | what the informer tells a cache to apply | | |
| [`StoreIn`] | reads a cache from any thread or task while the informer writes | `Lister` | `Store` |
| [`StoreWriterIn`] | the only writer of a store, owned by the informer | | `Writer` |
| [`Snapshot`] | a list as it was at one moment, read without a lock | `[]interface{}` | `Vec<Arc<K>>` |"
)]

#[cfg(feature = "alloc")]
mod access;
#[cfg(feature = "alloc")]
mod change;
mod indexer;
#[cfg(feature = "alloc")]
mod snapshot;
#[cfg(feature = "alloc")]
mod store;
#[cfg(feature = "alloc")]
mod store_writer;

#[cfg(feature = "alloc")]
pub use access::Cache;
#[cfg(feature = "alloc")]
pub use change::Change;
#[cfg(feature = "fixed")]
pub use indexer::FixedIndexer;
#[cfg(feature = "alloc")]
pub use indexer::Indexer;
pub use indexer::{IndexId, IndexerIn};
#[cfg(feature = "alloc")]
pub use snapshot::{Snapshot, SnapshotIntoIter, SnapshotIter};
#[cfg(feature = "std")]
pub use store::Store;
#[cfg(feature = "alloc")]
pub use store::StoreIn;
#[cfg(feature = "std")]
pub use store_writer::StoreWriter;
#[cfg(feature = "alloc")]
pub use store_writer::StoreWriterIn;
