//! Requests and their responses, each read by a thread of its own.

pub(crate) mod error;

mod answer;
mod body;
mod connection;
mod exchange;
mod head;
mod outgoing;
mod pipe;
mod pool;

pub(crate) use answer::Answer;
pub(crate) use connection::Connection;
pub(crate) use exchange::Exchange;
pub(crate) use outgoing::OutgoingRequest;
pub(crate) use pipe::Piece;
pub(crate) use pool::{ConnectionPool, PooledConnection};
