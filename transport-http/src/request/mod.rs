//! Requests and their responses, each read by a thread of its own. A watch can go to its task once its head is read.

pub(crate) mod error;

mod connection;
mod outgoing;
mod pending;
mod pipe;
mod polled;
mod pool;
mod response;
mod warnings;

pub(crate) use connection::Connection;
pub(crate) use outgoing::OutgoingRequest;
pub(crate) use pending::{Pending, stream};
pub(crate) use pipe::Piece;
pub(crate) use polled::{PolledBody, UnreadBody};
pub(crate) use pool::{ConnectionPool, PooledConnection};
pub(crate) use response::fetch;
