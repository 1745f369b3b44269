//! HTTP/1.1 on sockets, with limits: what the `listwatch` command and the endpoint for operators share. No API.

mod connections;
mod held;
mod limits;
mod own_name;
mod patient;
mod places;

pub use connections::{Site, serve};
pub use limits::Limits;
pub use own_name::is_for_this_server;
