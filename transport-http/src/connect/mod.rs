//! The way to a server: proxies, sockets with keep-alive, TLS.

mod algorithm;
mod certificate;
mod dialer;
mod input;
mod proxy;
mod resolver;
mod socks;
mod tls;
mod tunnel;
mod veil;
mod verifier;
mod wire;

pub(crate) use algorithm::named as named_algorithm;
pub(crate) use dialer::{Dialer, OfProxy};
pub(crate) use input::ReadSize;
pub(crate) use proxy::{ProxyRule, is_loopback};
pub(crate) use resolver::{SystemResolver, Unresolved};
pub(crate) use tls::Tls;
pub(crate) use tunnel::credentials as proxy_credentials;
pub(crate) use veil::{USER_AGENT, Veil, VeiledBody};
pub(crate) use verifier::Distrusted;
