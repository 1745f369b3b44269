//! The names that most programs of a controller use.
//!
//! ```no_run
//! use listwatch::prelude::*;
//!
//! #[derive(Clone, serde::Deserialize, serde::Serialize)]
//! struct ConfigMap {}
//!
//! kind!(ConfigMap, "v1", "configmaps");
//!
//! fn main() -> Result<(), RunError> {
//!     let controller = Controller::new("printer", Cluster::infer()?);
//!     let maps = controller.informer::<ConfigMap>();
//!     controller.reconciles(&maps).run(async |_cx, key| {
//!         println!("{key}: {}", if maps.get(&key).is_some() { "there" } else { "gone" });
//!         Ok(Outcome::Done)
//!     })
//! }
//! ```

pub use crate::controller::{ActError, Controller, Outcome, RunError};
#[cfg(feature = "definitions")]
pub use crate::definition::Definition;
#[cfg(feature = "file")]
pub use crate::file::Playback;
#[cfg(feature = "http")]
pub use crate::http::Cluster;
pub use crate::{Client, Clock, Found, InformerHandle, Informers, Key, Kind, Resource, World, kind};
