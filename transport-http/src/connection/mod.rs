//! One request after another over a connection of their own, each read by a thread.

mod answer;
mod asked;
mod body;
mod error;
mod exchange;
mod head;
mod line;
mod lines;
mod pipe;
mod proxy;
mod redactor;
mod socks;
mod tcp;
mod tls;
mod tls_connector;
mod trust;

pub(crate) use answer::Answer;
pub(crate) use asked::Asked;
pub(crate) use exchange::Exchange;
pub(crate) use line::Line;
pub(crate) use lines::{Lent, Lines};
pub(crate) use pipe::Piece;
pub(crate) use proxy::{ProxyRule, is_this_machine};
pub(crate) use redactor::Redactor;
pub(crate) use socks::SocksConnector;
pub(crate) use tcp::TcpConnector;
pub(crate) use tls::Tls;
pub(crate) use tls_connector::TlsConnector;
