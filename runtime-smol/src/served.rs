//! HTTP/1.1 on sockets, with limits: what the `listwatch` command and the endpoint for operators share. No API.

mod connections;
mod places;

pub use connections::{Limits, Site, is_for_this_server, serve};
