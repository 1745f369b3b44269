//! What the suites and the fuzz targets share: reference models, and operations that are run against them.
//!
//! Depends on core alone unless the features `capture` and `kubeconfig` ask for a transport, so that fuzz builds stay small.

pub mod control_plane;
pub mod models;
pub mod ops;
pub mod pods;
pub mod recovery;
pub mod sim;
pub mod told;
pub mod unpark;
