//! Operations on a machine and on its model, whose answers must be equal.

pub mod delta_fifo;
pub mod indexer;
pub mod work_queue;
