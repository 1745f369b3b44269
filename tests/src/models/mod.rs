//! Reference models: each does a machine's work in the slow and obvious way.

pub mod controller;
pub mod delta_fifo;
pub mod event_log;
#[cfg(feature = "exchange")]
pub mod exchange;
pub mod framer;
pub mod indexer;
pub mod lanes;
pub mod limiters;
pub mod work_queue;
