//! Operations on a machine. Its answers must equal those of its model, or keep its rules.

pub mod audit;
#[cfg(feature = "capture")]
pub mod audit_log;
#[cfg(feature = "capture")]
pub mod capture;
pub mod change;
#[cfg(feature = "capture")]
pub mod cluster;
pub mod controller;
pub mod decoder;
pub mod delta_fifo;
pub mod election;
pub mod event_log;
#[cfg(feature = "exchange")]
pub mod exchange;
pub mod framer;
pub mod indexer;
pub mod informer;
#[cfg(feature = "kubeconfig")]
pub mod kubeconfig;
pub mod limiters;
pub mod packed;
pub mod projection;
pub mod reader;
pub mod recorder;
pub mod work_queue;

use arbitrary::{Arbitrary, Unstructured};

/// The operations that what is left of the bytes stands for.
fn rest<'a, Op: Arbitrary<'a>>(data: &mut Unstructured<'a>) -> Vec<Op> {
    core::iter::from_fn(|| if data.is_empty() { None } else { data.arbitrary().ok() }).collect()
}
