//! Leader election on a `Lease`: of many candidates, one works at a time.
//!
//! | type | purpose |
//! |---|---|
//! | [`LeaderElector`] | acquires, renews and releases a lease, as client-go `tools/leaderelection` does |
//! | [`ElectionConfig`] | who the candidate is, and its periods |
//! | [`ElectionEvent`] | when work starts, when it has to stop, and who leads |
//! | [`FencingToken`] | which term a write belongs to |

mod config;
mod elector;
mod event;
pub(crate) mod lease;
#[cfg(test)]
mod tests;

pub use config::{ElectionConfig, ElectionConfigError};
pub use elector::LeaderElector;
pub use event::{ElectionEvent, FencingToken, StopReason};
