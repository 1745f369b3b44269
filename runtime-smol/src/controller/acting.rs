//! How a reconcile acts on the objects of its informers.

mod adopt;
mod apply;
mod body;
mod changing;
mod create;
mod delete;
mod error;
mod finalizer;
mod owner_reference;

pub use apply::Apply;
pub use create::Create;
pub use delete::Delete;
pub use error::ActError;
