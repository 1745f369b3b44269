//! Informers, work queues and workers on smol.
//!
//! This is the crate to depend on: it brings core and the transports with it. It reads the clock, spawns and sleeps;
//! what is done when is decided in core.

mod budget;
mod caught;
mod client;
mod clock;
mod events;
mod run;
mod synced;
mod worker_states;
mod workers;

pub use async_executor::Executor;
pub use client::Client;
pub use clock::{Clock, Outside, Sleep};
pub use events::Events;
pub use run::run;
pub use synced::Synced;
pub use worker_states::Unfinished;
pub use workers::{Workers, WorkersBuilder};

pub use listwatch_core::queue::Outcome;
pub use listwatch_core::sync::NotSynced;
#[doc(no_inline)]
pub use listwatch_core::{
    Driver, Event, Informer, InformerConfig, Instant, Key, ListerWatcher, Object, Resource, WorkQueue, api, cache,
    decode, fifo, framing, informer, object, queue, reflector, request, storage, sync, text, time, transport,
};
#[cfg(feature = "file")]
pub use listwatch_transport_file as file;
#[cfg(feature = "http")]
pub use listwatch_transport_http as http;
