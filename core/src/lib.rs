//! The informer machinery of Kubernetes as deterministic state machines: reflector, delta FIFO, indexer, informer and
//! work queue, without I/O, clock, executor or randomness of their own.
//!
//! ```text
//!  socket / file / flash        this crate, all of it deterministic                       your code
//!  ─────────────────────   ──────────────────────────────────────────────────────────   ─────────────
//!  ListerWatcher ─bytes─▶ Framer ─frame─▶ Decoder ─event─▶ Reflector ─step─▶ DeltaFifo
//!        ▲                                                    │                 │ pop
//!        └────────── Action::{Open, Abort} ◀──────────────────┘                 ▼
//!                                                  Indexer (cache + indexes) ──▶ Event ──▶ handler
//!                                                        ▲                                   │ key
//!                                                        └── read ── worker ◀── WorkQueue ◀──┘
//! ```
//!
//! [`Informer`] is all but the two ends of it, [`Driver`] connects it to a transport. Each machine can be used alone.
//!
//! # The contract
//!
//! 1. `now` is an argument: an [`Instant`] since an epoch of the caller's choice. The seed of a jitter is configuration.
//! 2. Mutate, then drain: after a `handle`, or after events were taken, call the `poll_…`s until they have nothing. Late draining is slower, not
//!    wrong.
//! 3. What can be produced now, a poll returns now. Nothing else changes before an input or `poll_timeout`.
//! 4. `now == poll_timeout` is due. After it was handled, the next deadline is later, or there is none.
//! 5. Late, repeated and needless timeouts are legal; a `now` that goes back is clamped.
//! 6. Every request has a [`RequestId`]; input under an old one is dropped.
//! 7. Every buffer has a limit; at the limit [`Informer::wants_input`] is false, and nothing is lost.
//! 8. A failure is a state and an event. `Err` is for capacity, where the item comes back, and for misuse.
//! 9. The same configuration and inputs give the same outputs: no order comes from hashing.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | `json`; a lock of the standard library's |
//! | `json` | the decoder, and what stands on it: reflector, informer, driver. Needs an allocator, not `std` |
//! | `alloc` | the machines in memory that grows: [`WorkQueue`], [`DeltaFifo`], [`Indexer`] |
//! | `fixed` | the machines in memory of a fixed size, without an allocator: `FixedWorkQueue` and so on |
//! | `stream`, `embedded-io` | adapters from a `futures_core::Stream`, or a blocking `embedded_io::Read`, to a transport |
//! | `critical-section` | a lock on critical sections, for bare metal |
//! | `spin` | a spin lock |
//!
//! Features only add: none changes what another one does.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "clippy allows it in `#[test]` functions, not in what they call")
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod time;
pub use time::{Instant, earliest};

mod text;
pub use text::{Printable, is_printable};

#[cfg(any(test, feature = "json"))]
mod random;

mod storage;
#[cfg(feature = "fixed")]
pub use storage::Fixed;
#[cfg(feature = "alloc")]
pub use storage::Heap;
pub use storage::{Full, Keyed, KnownObjects, Mem};

#[cfg(feature = "alloc")]
mod object;
#[cfg(feature = "alloc")]
pub use object::{
    Key, LabelSelector, Meta, MetaBuilder, ParseVersionError, Object, OwnerReference, SelectorError, compare_versions,
};

mod wire;
pub use wire::{CONCATENATED_JSON, Frame, Framer, Framing};
#[cfg(feature = "json")]
pub use wire::{Change, Decoder, DecodeOptions, ListMeta, MetadataOnly, Raw, Status, DecodeError, WatchEvent};
#[cfg(feature = "alloc")]
pub use wire::{ParseResourceError, Query, Request, RequestId, Resource, Verb};

#[cfg(feature = "alloc")]
mod transport;
#[cfg(feature = "embedded-io")]
pub use transport::{Blocking, BlockingSource};
#[cfg(feature = "alloc")]
pub use transport::{ResponseHead, Incoming, ListerWatcher, TransportError, TransportErrorKind, ReadContext};
#[cfg(feature = "stream")]
pub use transport::{StreamPart, StreamTransport};

#[cfg(feature = "json")]
mod client;
#[cfg(feature = "json")]
pub use client::{
    Api, ApiCall, ApiClient, ApiError, ApiFn, ApiResource, ApiRequest, ApiResponse, ApiTransport, Calls, ConflictRetry,
    DeleteOptions, Discovery, Method, ObjectList, Patch, PropagationPolicy, Reply, Scale, ScaleSpec, ScaleStatus,
};

mod fifo;
#[cfg(feature = "alloc")]
pub use fifo::DeltaFifo;
#[cfg(feature = "fixed")]
pub use fifo::FixedDeltaFifo;
pub use fifo::{Delta, DeltaFifoIn, Order, Popped};

mod indexer;
#[cfg(feature = "fixed")]
pub use indexer::FixedIndexer;
#[cfg(feature = "alloc")]
pub use indexer::{Cache, Indexer};
pub use indexer::{IndexId, IndexerIn};

mod queue;
#[cfg(feature = "fixed")]
pub use queue::FixedWorkQueue;
#[cfg(feature = "alloc")]
pub use queue::WorkQueue;
pub use queue::{
    Added, DefaultControllerRateLimiter, Discipline, Drained, Durations, ExponentialBackoff, FastSlow, Fifo, Job,
    Lanes, MaxOf, MaxWait, Priority, QueueMetrics, QueueStats, RateLimiter, TokenBucket, WhileDelayed, WorkQueueIn,
};

#[cfg(feature = "json")]
mod reflector;
#[cfg(feature = "json")]
pub use reflector::{
    Action, Answer, Backoff, Consistency, During, Failure, FailureClass, FailureReport, Input, Pace, Phase, REACTIONS,
    Reaction, ReactionRow, Reflector, ReflectorConfig, RetryDelays, Step,
};

#[cfg(feature = "json")]
mod informer;
#[cfg(feature = "json")]
pub use informer::{Event, Informer, InformerConfig, InformerStatus};

#[cfg(feature = "json")]
mod driver;
#[cfg(feature = "json")]
pub use driver::{Driver, Pumped};

mod shared;
#[cfg(feature = "critical-section")]
pub use shared::CriticalSectionLock;
#[cfg(feature = "spin")]
pub use shared::SpinLock;
#[cfg(feature = "std")]
pub use shared::StdLock;
pub use shared::{CellLock, Lock, Shared};
#[cfg(feature = "alloc")]
pub use shared::{Delays, Due, Get, JobGuard, SharedWorkQueue};
