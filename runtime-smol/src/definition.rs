//! CustomResourceDefinitions: of types, applied and awaited.
//!
//! [`Controller::defines`](crate::controller::Controller::defines) applies a definition before the controller lists
//! anything, and [`Client::define`](crate::Client::define) does so for other programs. `println!("{definition}")` prints it, for those who apply
//! it by other means.
//!
//! ```
//! use listwatch::definition::Definition;
//! use listwatch::prelude::*;
//! use listwatch::testing::SimulatedCluster;
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use serde_json::json;
//! use std::time::Duration;
//!
//! #[derive(Clone, Deserialize, Serialize, JsonSchema)]
//! struct Foo {
//!     spec: FooSpec,
//! }
//!
//! #[derive(Clone, Deserialize, Serialize, JsonSchema)]
//! struct FooSpec {
//!     #[schemars(range(min = 0, max = 10))]
//!     replicas: i32,
//! }
//!
//! kind!(Foo, "example.com/v1", "foos");
//!
//! fn sample(world: impl Into<World>) -> Result<(), RunError> {
//!     let definition = Definition::of::<Foo>().column("Replicas", ".spec.replicas");
//!     let controller = Controller::new("sample", world).defines(definition);
//!     let foos = controller.informer::<Foo>();
//!     controller.reconciles(&foos).run(async |_cx, key| {
//!         println!("{key} wants {:?}", foos.get(&key).map(|foo| foo.spec.replicas));
//!         Ok(Outcome::Done)
//!     })
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let cluster = SimulatedCluster::new(); // it obeys definitions, as a server does
//! sample(World::from(cluster.clone()).lasting(Duration::from_secs(10)))?;
//! let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo",
//!     "metadata": { "name": "a", "namespace": "web" }, "spec": { "replicas": 11 } });
//! assert!(cluster.create(foo).unwrap_err().to_string().contains("spec.replicas"));
//! # Ok(())
//! # }
//! ```
//!
//! A program that derives `JsonSchema` names schemars itself: `schemars = "1"`. The user needs the rights to `get` and
//! `patch` the definition, to `create` it if it is new, and to `list` its objects.

pub use crate::client::DefineError;
pub use listwatch_core::definition::{Definition, DefinitionError};
