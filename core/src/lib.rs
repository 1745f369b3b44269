//! The informer machinery of Kubernetes as deterministic state machines.
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod fifo;
#[cfg(feature = "json")]
mod reflector;
#[cfg(feature = "json")]
pub use reflector::{
    Action, Backoff, During, Failed, Failure, Input, Phase, Reaction, Reflector, ReflectorConfig, Step,
};
mod indexer;
mod random;
mod storage;
mod time;
pub use fifo::{Delta, DeltaFifoIn, KnownObjects, Order, Popped};
pub use indexer::{IndexId, IndexerIn};
#[cfg(feature = "fixed")]
pub use storage::Fixed;
#[cfg(feature = "alloc")]
pub use storage::Heap;
pub use storage::{Full, Keyed, Mem};
pub use time::{Instant, earliest};

/// [`DeltaFifoIn`] memory that grows.
#[cfg(feature = "alloc")]
pub type DeltaFifo<V> = DeltaFifoIn<V, Heap>;
/// [`DeltaFifoIn`] memory for `N` deltas.
#[cfg(feature = "fixed")]
pub type FixedDeltaFifo<V, const N: usize> = DeltaFifoIn<V, Fixed<N>>;

/// [`IndexerIn`] memory that grows.
#[cfg(feature = "alloc")]
pub type Indexer<V> = IndexerIn<V, Heap>;
/// [`IndexerIn`] memory for `N` objects.
#[cfg(feature = "fixed")]
pub type FixedIndexer<V, const N: usize> = IndexerIn<V, Fixed<N>>;
mod queue;
#[cfg(feature = "fixed")]
pub use queue::FixedWorkQueue;
#[cfg(feature = "alloc")]
pub use queue::WorkQueue;
pub use queue::{Added, ExponentialBackoff, Job, QueueStats, RateLimiter, WorkQueueIn};

mod shared;
#[cfg(feature = "spin")]
pub use shared::SpinLock;
#[cfg(feature = "std")]
pub use shared::StdLock;
pub use shared::{CellLock, Lock, Shared};
#[cfg(feature = "alloc")]
pub use shared::{Due, Get, JobGuard, SharedWorkQueue};

#[cfg(feature = "alloc")]
mod object;
#[cfg(feature = "alloc")]
pub use object::{Key, Meta, MetaBuilder, NotAVersion, Object, OwnerReference, compare_versions};

#[cfg(feature = "alloc")]
mod transport;
#[cfg(feature = "embedded-io")]
pub use transport::{Blocking, BlockingSource};
#[cfg(feature = "alloc")]
pub use transport::{Head, Incoming, ListerWatcher, TransportError, TransportErrorKind, Turn};
#[cfg(feature = "stream")]
pub use transport::{Part, StreamTransport};

mod wire;
pub use wire::{CONCATENATED_JSON, Frame, Framer, Framing};
#[cfg(feature = "json")]
pub use wire::{Change, Decoder, Keep, ListMeta, MetadataOnly, Raw, Status, Undecodable, WatchEvent};
#[cfg(feature = "alloc")]
pub use wire::{Query, Request, RequestId, Resource, Verb};
