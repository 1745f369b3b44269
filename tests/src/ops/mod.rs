//! Operations on a machine and on its model, whose answers must be equal.

pub mod work_queue;
