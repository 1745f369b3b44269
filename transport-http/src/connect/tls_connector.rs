use super::buffers::ElasticBuffers;
use super::tcp::left;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use ureq::Error;
use ureq::http::uri::Authority;
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
    /// The host and port to which `server_name` applies. A proxy has its own name.
    server: Authority,
    server_name: Option<ServerName<'static>>,
}

impl TlsConnector {
    pub(crate) fn new(
        config: Option<Arc<ClientConfig>>,
        server: Authority,
        server_name: Option<ServerName<'static>>,
    ) -> Self {
        Self { config, server, server_name }
    }

    fn name(&self, details: &ConnectionDetails<'_>) -> Result<ServerName<'static>, Error> {
        match &self.server_name {
            Some(name) if details.uri.authority() == Some(&self.server) => Ok(name.clone()),
            _ => {
                let host = details.uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
                ServerName::try_from(host).map_err(|_| Error::Tls("the host is neither a name nor an address"))
            }
        }
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(&self, details: &ConnectionDetails<'_>, below: Option<In>) -> Result<Option<Self::Out>, Error> {
        let Some(below) = below else { return Ok(None) };
        if !details.needs_tls() || below.is_tls() {
            return Ok(Some(Either::A(below)));
        }
        let config = self.config.clone().ok_or(Error::TlsRequired)?;
        let mut connection = ClientConnection::new(config, self.name(details)?).map_err(io::Error::other)?;
        connection.set_buffer_limit(Some(details.config.output_buffer_size()));
        let mut socket = TransportAdapter::new(below.boxed(), details.current_time.clone());
        socket.set_timeout(NextTimeout { after: left(details), ..details.timeout });
        connection.complete_io(&mut socket)?;
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
