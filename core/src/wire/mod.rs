//! What travels: requests out, bytes in, and what the bytes say.

mod request;

pub use request::{Query, Request, RequestId, Resource, Verb};
