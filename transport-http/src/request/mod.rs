//! Requests and their responses, each read by a thread of its own. A watch can go to its task once its head is read.

pub(crate) mod error;

mod answer;
mod body;
mod connection;
mod exchange;
mod head;
mod outgoing;
mod pipe;
mod polled;
mod pool;
mod warnings;

pub(crate) use answer::Answer;
pub(crate) use connection::Connection;
pub(crate) use exchange::Exchange;
pub(crate) use outgoing::OutgoingRequest;
pub(crate) use pipe::Piece;
pub(crate) use pool::{ConnectionPool, PooledConnection};
