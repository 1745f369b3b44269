//! The code that suites and fuzz targets share: reference models, and operations that run against them.
//!
//! Without its default features the library depends on core alone, so fuzz builds stay small. The features `capture`,
//! `exchange` and `kubeconfig` bring in the transports.

pub mod alone;
pub mod answers;
pub mod balancer;
pub mod bomb;
pub mod captures;
pub mod cargo;
pub mod control_plane;
pub mod go;
pub mod maps;
pub mod models;
pub mod ops;
pub mod pods;
pub mod readme;
pub mod recovery;
pub mod requests;
pub mod scratch;
pub mod silent;
pub mod sim;
pub mod skipped;
pub mod tapes;
pub mod told;
pub mod unpark;
pub mod wait;
