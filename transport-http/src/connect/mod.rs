//! The way to a server: proxies, sockets with keep-alive, TLS.

mod algorithm;
mod buffers;
mod certificate;
mod gate;
mod proxy;
mod read_size;
mod resolver;
mod socks;
mod tcp;
mod tls;
mod tls_connector;
mod veil;
mod verifier;
mod wire;

pub(crate) use algorithm::named as named_algorithm;
pub(crate) use gate::{CurrentGate, GateConnector};
pub(crate) use proxy::{ProxyRule, is_loopback};
pub(crate) use read_size::ReadSize;
pub(crate) use resolver::{SystemResolver, Unresolved};
pub(crate) use socks::SocksConnector;
pub(crate) use tcp::TcpConnector;
pub(crate) use tls::Tls;
pub(crate) use tls_connector::{OfProxy, TlsConnector};
pub(crate) use veil::{BUFFER, Veil, VeilConnector, VeiledBody};
pub(crate) use verifier::Distrusted;
pub(crate) use wire::{LastWire, Wire};
