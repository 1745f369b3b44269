//! How a reconcile acts on the objects of its informers.

mod all;
mod apply;
mod body;
mod change;
mod create;
mod ensure;
mod finalizer;
mod patch;

pub use all::Prune;
pub use apply::Apply;
pub use create::{Create, Delete};
pub use ensure::Ensure;
