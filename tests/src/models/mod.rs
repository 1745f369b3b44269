//! Reference models: the slow and obvious way to do what a machine does.

pub mod work_queue;
