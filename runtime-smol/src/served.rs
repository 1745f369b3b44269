//! HTTP/1.1 on sockets, with limits: what the `listwatch` command, the endpoint for operators and webhooks
//! share. No API.

mod connections;
mod places;

pub use crate::caught::caught_call;
pub use crate::stderr::Folded;
pub use connections::{Arrival, Limits, Opening, Plain, Site, is_for_this_server, serve};
