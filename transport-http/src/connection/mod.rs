//! One request after another over a connection of their own, each read by a thread.

pub(crate) mod body;
pub(crate) mod error;
mod exchange;
pub(crate) mod head;
mod line;
mod pipe;
mod proxy;
mod tls;
mod tls_connector;
mod trust;

pub(crate) use exchange::Exchange;
pub(crate) use line::Line;
pub(crate) use pipe::Piece;
pub(crate) use proxy::ProxyRule;
pub(crate) use tls::Tls;
pub(crate) use tls_connector::TlsConnector;
