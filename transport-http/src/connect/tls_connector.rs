use super::buffers::ElasticBuffers;
use super::tcp::left;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, NextTimeout, Transport, TransportAdapter,
};

/// Adds TLS to a connection for an `https` URL.
///
/// Unlike ureq's own, this connector shares a configuration between agents, and takes another server name than the host
/// of the URL. Its keys were checked against their certificates before.
#[derive(Debug)]
pub(crate) struct TlsConnector {
    config: Option<Arc<ClientConfig>>,
    server_name: Option<ServerName<'static>>,
    /// The configuration for a proxy over TLS.
    proxy: Option<Arc<ClientConfig>>,
}

/// An error of TLS with the proxy.
#[derive(Debug)]
pub(crate) struct OfProxy(pub(crate) io::Error);

impl TlsConnector {
    pub(crate) fn new(
        config: Option<Arc<ClientConfig>>,
        server_name: Option<ServerName<'static>>,
        proxy: Option<Arc<ClientConfig>>,
    ) -> Self {
        Self { config, server_name, proxy }
    }

    /// The configuration, and the name to expect. A proxy gets neither the certificate nor the name for the server.
    fn parts(&self, details: &ConnectionDetails<'_>) -> Result<(Arc<ClientConfig>, ServerName<'static>), Error> {
        let (config, name) = match self.proxy_config(details) {
            Some(proxy) => (Some(proxy), None),
            None => (self.config.as_ref(), self.server_name.clone()),
        };
        let of_host = || {
            let host = details.uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
            ServerName::try_from(host).map_err(|_| Error::Tls("the host is neither a name nor an address"))
        };
        Ok((config.cloned().ok_or(Error::TlsRequired)?, name.map_or_else(of_host, Ok)?))
    }

    /// The configuration for a proxy, if this connection leads to one: ureq makes that by the same connectors, and without
    /// a proxy.
    fn proxy_config(&self, details: &ConnectionDetails<'_>) -> Option<&Arc<ClientConfig>> {
        self.proxy.as_ref().filter(|_| details.config.proxy().is_none())
    }
}

impl fmt::Display for OfProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy: {}", self.0)
    }
}

impl std::error::Error for OfProxy {}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, below: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(below) = below else { return Ok(None) };
        if !details.needs_tls() || below.is_tls() {
            return Ok(Some(Either::A(below)));
        }
        let (config, name) = self.parts(details)?;
        let mut connection = ClientConnection::new(config, name).map_err(io::Error::other)?;
        connection.set_buffer_limit(Some(details.config.output_buffer_size()));
        let mut socket = TransportAdapter::new(below.boxed(), details.current_time.clone());
        socket.set_timeout(NextTimeout { after: left(details), ..details.timeout });
        connection.complete_io(&mut socket).map_err(|error| match self.proxy_config(details) {
            Some(_) if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) => {
                io::Error::new(error.kind(), OfProxy(error))
            }
            _ => error,
        })?;
        let buffers = ElasticBuffers::new(details.config.output_buffer_size());
        Ok(Some(Either::B(TlsTransport { buffers, stream: StreamOwned::new(connection, socket) })))
    }
}

/// Changes the kind of an error of a connection that ended without TLS's `close_notify`.
///
/// ureq would take the usual kinds for the end of a body without a length.
fn broken(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => {
            io::Error::new(ErrorKind::BrokenPipe, "TLS was broken off")
        }
        _ => error,
    }
}

pub(crate) struct TlsTransport {
    buffers: ElasticBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsTransport").finish_non_exhaustive()
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.sock.set_timeout(timeout);
        self.stream.write_all(&self.buffers.output()[..amount])?;
        self.stream.flush()?;
        self.buffers.free_output();
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.sock.set_timeout(timeout);
        let len = self.stream.read(self.buffers.input_append_buf()).map_err(broken)?;
        self.buffers.input_appended(len);
        Ok(len > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
