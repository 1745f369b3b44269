use super::error;
use crate::auth::Redactor;
use crate::cancel::CancelToken;
use crate::connect::{CurrentGate, LastWire, Veil, VeiledBody, Wire};
use crate::lock::Lock;
use crate::server::{Call, Server, Session};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::Arc;
use ureq::Agent;
use ureq::http::{Method, Response, StatusCode};

/// The connection of a transport, or of one request of a client. Any thread may close it.
///
/// Once closed, the request under way fails at once, and no other can start.
#[derive(Debug)]
pub(crate) struct Connection {
    /// An HTTP client of its own: shutting it down ends this request and no other.
    agent: Lock<Option<(Agent, Session)>>,
    /// Cancelled when the connection is closed.
    cancel: CancelToken,
    /// How many idle sockets are kept for the next request.
    kept: usize,
    last: LastWire,
    gate: CurrentGate,
    veil: Veil,
}

/// The HTTP client for a request.
struct Checkout {
    agent: Agent,
    /// It has sent a request before, and the server may have closed its socket.
    is_reused: bool,
}

impl Connection {
    pub(crate) fn new(kept: usize) -> Self {
        let (last, gate, veil) = (LastWire::default(), CurrentGate::default(), Veil::default());
        Self { agent: Lock::default(), cancel: CancelToken::default(), kept, last, gate, veil }
    }

    /// Sends a request, and waits for the head of the response.
    ///
    /// If the server refuses the credential (401), the request is sent once more with a renewed one, if there is any.
    /// The response may echo credentials; the redactor removes them.
    ///
    /// The gate of the request is asked before each piece of it is written.
    pub(crate) fn send(
        &self,
        server: &Server,
        call: &Call<'_>,
    ) -> Result<(Response<VeiledBody>, Redactor), TransportError> {
        self.gate.set(call.gate);
        let sent = self.send_authorized(server, call);
        self.gate.set(None);
        sent
    }

    fn send_authorized(
        &self,
        server: &Server,
        call: &Call<'_>,
    ) -> Result<(Response<VeiledBody>, Redactor), TransportError> {
        let session = server.session(&self.cancel).map_err(|cause| error::of_credentials(&cause))?;
        let (response, redactor) = self.send_with(server, &session, call)?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(renewed) =
                server.renew(&session, &self.cancel).map_err(|cause| error::of_credentials(&cause))?
        {
            return self.send_with(server, &renewed, call);
        }
        Ok((response, redactor))
    }

    /// Closes the socket, and lets no request start any more.
    pub(crate) fn close(&self, server: &Server) {
        self.cancel.cancel();
        if let Some((agent, _)) = self.agent.lock().take() {
            agent.shutdown();
        }
        server.on_cancelled();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// The socket of the last response, if it is open.
    pub(super) fn wire(&self) -> Option<Arc<Wire>> {
        self.last.get()
    }

    fn send_with(
        &self,
        server: &Server,
        session: &Session,
        call: &Call<'_>,
    ) -> Result<(Response<VeiledBody>, Redactor), TransportError> {
        let redactor = server.redactor(session);
        match self.try_send(server, session, call) {
            Ok(response) => Ok((response, redactor)),
            Err(error) => Err(redactor.error(error)),
        }
    }

    /// Sends a request. A read on a reused socket is sent once more if the socket was reset: the server may close an
    /// idle one at any time.
    fn try_send(
        &self,
        server: &Server,
        session: &Session,
        call: &Call<'_>,
    ) -> Result<Response<VeiledBody>, TransportError> {
        let checkout = self.checkout(server, session)?;
        match server.call(&checkout.agent, session, call, &self.veil).map_err(|cause| error::of_call(&cause, server)) {
            Err(error)
                if checkout.is_reused && error.kind == TransportErrorKind::Reset && call.method == Method::GET =>
            {
                *self.agent.lock() = None;
                let checkout = self.checkout(server, session)?;
                server.call(&checkout.agent, session, call, &self.veil).map_err(|cause| error::of_call(&cause, server))
            }
            result => result,
        }
    }

    /// The HTTP client for a request, unless the connection is closed. Other certificates need another socket.
    fn checkout(&self, server: &Server, session: &Session) -> Result<Checkout, TransportError> {
        let mut known = self.agent.lock();
        if self.cancel.is_cancelled() {
            return Err(closed());
        }
        if let Some((agent, connected)) = &*known
            && connected.shares_connection_with(session)
        {
            return Ok(Checkout { agent: agent.clone(), is_reused: true });
        }
        let agent = server.agent(session, self.kept, (&self.last, &self.gate, &self.veil));
        *known = Some((agent.clone(), session.clone()));
        Ok(Checkout { agent, is_reused: false })
    }
}

/// The error of a request on a closed connection.
pub(super) fn closed() -> TransportError {
    TransportError::new(TransportErrorKind::Reset, "closed by this client")
}
