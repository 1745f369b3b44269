//! Operations on a machine, whose answers must be its model's, or keep to its rules.

#[cfg(feature = "capture")]
pub mod capture;
pub mod decoder;
pub mod delta_fifo;
pub mod framer;
pub mod indexer;
pub mod informer;
pub mod limiters;
pub mod work_queue;
