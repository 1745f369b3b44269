//! How a reconcile acts on the objects of its informers.

mod adopt;
mod apply;
mod body;
mod change;
mod condition;
mod create;
mod current;
mod delete;
mod ensure;
mod error;
mod finalizer;
mod newest;
mod owners;
mod patch;

pub use apply::Apply;
pub use create::Create;
pub use delete::Delete;
pub use ensure::Ensure;
pub use error::ActError;
