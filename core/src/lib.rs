//! The informer machinery of Kubernetes as deterministic state machines: reflector, delta FIFO, indexer, informer and
//! work queue. They have no I/O, clock, executor or randomness of their own.
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
//! A program on an operating system depends on `listwatch`, which brings this crate, transports, a clock
//! and tasks. This crate alone is for devices, for other runtimes, for tests and for fuzzers.
//!
//! # Map
//!
//! | module | contents | start with |
//! |---|---|---|
//! | [`informer`] | bytes in, events out, a current cache; its pump and its status | [`Informer`], [`Driver`], [`Event`] |
//! | [`reflector`] | list, watch, resume, relist; failures, and the delays after them | [`ReflectorConfig`], [`Failure`], [`RETRY_POLICY`] |
//! | [`cache`] | objects by key and by index; the store that readers hold | [`Indexer`] |
//! | [`queue`] | keys to reconcile: deduplication, delays, rate limits, priorities | [`WorkQueue`], [`RateLimiter`] |
//! | [`fanout`] | the changes that an informer tells many subscribers, each at its own pace | [`EventLog`] |
//! | [`controller`] | which key is reconciled when, and why; predicates; read-your-writes | [`SharedReconciler`] |
//! | [`fifo`] | the deltas between reflector and cache | [`DeltaFifo`] |
//! | [`object`] | key, metadata, versions, label selectors; conditions, names by hash | [`Key`], [`Meta`], [`Object`] |
//! | [`request`] | the requests of the list-watch protocol; names of resources | [`Resource`], [`Request`] |
//! | [`framing`], [`decode`] | from bytes to frames, from frames to objects | [`Framer`], [`Decoder`] |
//! | `projection` | fields of objects while their bytes arrive, in fixed memory (feature `fixed`) | `projection!`, `decode::Projector` |
//! | [`transport`] | where bytes come from | [`ListerWatcher`] |
//! | [`saved`] | a cache that outlives its program | [`Writing`](saved::Writing), [`Saved`](saved::Saved), [`Flash`](saved::Flash) |
//! | [`api`] | single requests: get, create, patch, delete, discovery | [`Api`], [`ApiTransport`] |
//! | [`audit`] | a store compared with a fresh list, without disturbing it | [`Audit`](audit::Audit) |
//! | [`change`] | changes by a type that knows a part of an object, as merge patches | [`change()`](change::change) |
//! | `definition` | CustomResourceDefinitions from types (feature `definitions`) | `definition::Definition` |
//! | [`election`] | one leader of many candidates, by a lease | [`LeaderElector`](election::LeaderElector) |
//! | [`recorder`] | Events for operators: series, a spam filter, a bounded queue | [`EventRecorder`](recorder::EventRecorder) |
//! | [`sync`] | locks and wakers around a machine, for tasks and threads | [`SharedWorkQueue`] |
//! | [`storage`] | memory that grows, memory of a fixed size | [`Mem`], [`Keyed`] |
//! | [`time`], [`text`] | instants, dates; text from outside, made printable | [`Instant`], [`WallTime`], [`Printable`] |
//!
//! # The smallest program
//!
//! A work queue, as client-go has it: a key that is added twice is handed out once.
//!
//! ```
//! use listwatch_core::WorkQueue;
//!
//! let mut queue = WorkQueue::<&str>::default();
//! queue.add("web/a");
//! queue.add("web/a");
//! let job = queue.poll_job().expect("a key waits");
//! assert_eq!((*queue.key(&job), queue.len()), ("web/a", 0));
//! queue.done(job);
//! ```
//!
//! [`Informer`] has an example that goes from the bytes of a list to its events.
//!
//! # The contract
//!
//! 1. `now` is an argument: an [`Instant`] since an epoch of the caller's choice. The seed of a jitter is
//!    configuration.
//! 2. After each `handle_…`, and after taking events, the caller drains the `poll_…` methods. Late draining is slower,
//!    not wrong.
//! 3. A poll returns all that can be produced now. The next output needs an input, or the time of `poll_timeout`.
//! 4. A timeout is due when `now` equals `poll_timeout`. Once handled, the next one is later, or there is none.
//! 5. Late, repeated and needless timeouts are legal. If `now` goes back, the machine keeps its latest time.
//! 6. Every request has a [`RequestId`]. The machine drops input under an old one.
//! 7. Every buffer has a limit. At the limit, [`Informer::wants_input`] is false, and nothing is lost.
//! 8. A failure is a state and an event. `Err` is for capacity, with the item in it, and for misuse.
//! 9. The same configuration and inputs give the same outputs. No order depends on hashes.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `std` (default) | `json`; `StdLock`, a reader-writer lock for threads |
//! | `json` | the decoder of any serde type, and what needs it: `Informer`, store, API. Needs an allocator, not `std` |
//! | `lz4` | `Lz4`, a codec of [`Packed`](decode::Packed) objects, which a cache keeps compressed |
//! | `definitions` | CustomResourceDefinitions from types, by schemars |
//! | `shards` | replicas that divide the objects among them |
//! | `alloc` | the machines in memory that grows: [`WorkQueue`], [`DeltaFifo`], [`Indexer`] |
//! | `fixed` | without an allocator, in memory of a fixed size: the machines (`FixedWorkQueue`), the decoder (`ProjectedJson`), the informer |
//! | `stream` | an adapter from a `futures_core::Stream` to a transport |
//! | `embedded-io` | errors of `embedded_io`, as errors of a transport |
//! | `k8s-openapi` | the types of k8s-openapi 0.29 are [kinds](object::Kind); the program chooses the version of these |
//! | `critical-section` | a lock on critical sections, for bare metal |
//! | `spin` | a spin lock |
//! | `defmt` | `defmt::Format` for what firmware prints: failures and their classes, statuses, events, projected objects, keys, versions, times, capacities. Text of a server is logged as it came: it stays inside of defmt's frames, and a host that shows it to a terminal has to escape it |
//!
//! Each feature only adds: none changes the effect of another. With `alloc`, an informer in fixed memory also requests
//! lists in pages, and its failures are shared; with `json`, a status has all of its text. There is one exception: with `k8s-openapi`, a type that
//! is a `k8s_openapi::Resource` leaves out `kind!` ([`Kind`](object::Kind)). Another minor version of k8s-openapi is a
//! breaking version of this crate.
//!
//! [`Api`]: api::Api
//! [`ApiTransport`]: api::ApiTransport
//! [`Decoder`]: decode::Decoder
//! [`EventLog`]: fanout::EventLog
//! [`Failure`]: reflector::Failure
//! [`Framer`]: framing::Framer
//! [`Keyed`]: storage::Keyed
//! [`Mem`]: storage::Mem
//! [`Printable`]: text::Printable
//! [`RateLimiter`]: queue::RateLimiter
//! [`RETRY_POLICY`]: reflector::RETRY_POLICY
//! [`ReflectorConfig`]: reflector::ReflectorConfig
//! [`Request`]: request::Request
//! [`RequestId`]: request::RequestId
//! [`SharedReconciler`]: controller::SharedReconciler
//! [`SharedWorkQueue`]: sync::SharedWorkQueue
//! [`WallTime`]: time::WallTime
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "clippy allows it in `#[test]` functions, not in what they call")
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

#[macro_use]
pub mod text;
pub mod time;

mod random;
pub mod storage;

pub mod object;

#[cfg(any(feature = "json", feature = "fixed"))]
pub mod decode;
pub mod framing;
#[cfg(feature = "fixed")]
pub mod projection;
pub mod request;

#[cfg(feature = "json")]
pub mod api;
#[cfg(feature = "json")]
pub mod audit;
#[cfg(feature = "json")]
pub mod change;
#[cfg(feature = "definitions")]
#[cfg_attr(docsrs, doc(cfg(feature = "definitions")))]
pub mod definition;
#[cfg(feature = "json")]
pub mod election;
#[cfg(feature = "json")]
pub mod recorder;
#[cfg(feature = "shards")]
#[cfg_attr(docsrs, doc(cfg(feature = "shards")))]
pub mod shards;
pub mod transport;

pub mod cache;
pub mod fanout;
pub mod fifo;
pub mod queue;

pub mod sync;

pub mod controller;

#[cfg(any(feature = "json", feature = "fixed"))]
pub mod informer;
#[cfg(any(feature = "json", feature = "fixed"))]
pub mod reflector;
#[cfg(feature = "json")]
pub mod saved;

#[cfg(feature = "alloc")]
pub use cache::Indexer;
#[cfg(feature = "std")]
pub use cache::Store;
#[cfg(feature = "alloc")]
pub use fifo::DeltaFifo;
#[cfg(any(feature = "json", feature = "fixed"))]
pub use informer::InformerConfig;
#[cfg(feature = "json")]
pub use informer::{Driver, Event, Informer};
#[cfg(feature = "alloc")]
pub use object::{Key, Meta, Object};
#[cfg(feature = "alloc")]
pub use queue::WorkQueue;
#[cfg(any(feature = "json", feature = "fixed"))]
pub use reflector::Reflector;
pub use request::Resource;
pub use time::Instant;
pub use transport::ListerWatcher;
