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

pub mod text;
pub mod time;

#[cfg(any(test, feature = "json"))]
mod random;
pub mod storage;

#[cfg(feature = "alloc")]
pub mod object;

#[cfg(feature = "json")]
pub mod decode;
pub mod framing;
#[cfg(feature = "alloc")]
pub mod request;

#[cfg(feature = "json")]
pub mod api;
#[cfg(feature = "alloc")]
pub mod transport;

pub mod cache;
pub mod fifo;
pub mod queue;

#[cfg(feature = "json")]
pub mod informer;
#[cfg(feature = "json")]
pub mod reflector;

pub mod sync;

#[cfg(feature = "alloc")]
pub use cache::Indexer;
#[cfg(feature = "std")]
pub use cache::Store;
#[cfg(feature = "alloc")]
pub use fifo::DeltaFifo;
#[cfg(feature = "json")]
pub use informer::{Driver, Event, Informer, InformerConfig};
#[cfg(feature = "alloc")]
pub use object::{Key, Meta, Object};
#[cfg(feature = "alloc")]
pub use queue::WorkQueue;
#[cfg(feature = "json")]
pub use reflector::Reflector;
#[cfg(feature = "alloc")]
pub use request::Resource;
pub use time::Instant;
#[cfg(feature = "alloc")]
pub use transport::ListerWatcher;
