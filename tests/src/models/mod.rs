//! Reference models: the slow and obvious way to do what a machine does.

pub mod delta_fifo;
pub mod framer;
pub mod indexer;
pub mod lanes;
pub mod limiters;
pub mod work_queue;
