use super::error;
use super::outgoing::OutgoingRequest;
use crate::auth::Redactor;
use crate::cancel::CancelToken;
use crate::connect::{Veil, VeiledBody};
use crate::lock::Lock;
use crate::server::{Server, Session};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use ureq::http::{Method, Request, Response, StatusCode};
use ureq::{Agent, AsSendBody, Error};

/// The connection of a transport, or of one request of a client. Any thread may close it.
///
/// Once closed, the request under way fails at once, and no other can start.
#[derive(Default)]
pub(crate) struct Connection {
    /// An HTTP client of its own: shutting it down ends this request and no other.
    agent: Lock<Option<(Agent, Session)>>,
    /// Cancelled when the connection is closed.
    cancel: CancelToken,
    veil: Veil,
}

impl Connection {
    /// Sends a request, and waits for the head of the response.
    ///
    /// If the server refuses the credential (401), the request is sent once more with a renewed one, if there is any.
    /// The response may echo credentials; the redactor removes them.
    pub(crate) fn send(
        &self,
        server: &Server,
        request: &OutgoingRequest,
    ) -> Result<(Response<VeiledBody>, Redactor), TransportError> {
        let session = server.session(&self.cancel).map_err(|cause| error::of_credentials(&cause))?;
        let (response, redactor) = self.send_with(server, &session, request)?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(renewed) =
                server.renew(&session, &self.cancel).map_err(|cause| error::of_credentials(&cause))?
        {
            return self.send_with(server, &renewed, request);
        }
        Ok((response, redactor))
    }

    /// Closes the socket, and lets no request start any more. An exec plugin that no other caller waits for is killed.
    pub(crate) fn close(&self, server: &Server) {
        self.cancel.cancel();
        if let Some((agent, _)) = self.agent.lock().take() {
            agent.shutdown();
        }
        server.auth.on_cancelled();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn send_with(
        &self,
        server: &Server,
        session: &Session,
        request: &OutgoingRequest,
    ) -> Result<(Response<VeiledBody>, Redactor), TransportError> {
        let redactor = server.redactor(session);
        match self.try_send(server, session, request) {
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
        request: &OutgoingRequest,
    ) -> Result<Response<VeiledBody>, TransportError> {
        let (agent, is_reused) = self.checkout(server, session)?;
        match self.call(&agent, server, session, request) {
            Err(error) if is_reused && error.kind == TransportErrorKind::Reset && request.method == Method::GET => {
                *self.agent.lock() = None;
                let (agent, _) = self.checkout(server, session)?;
                self.call(&agent, server, session, request)
            }
            result => result,
        }
    }

    /// The HTTP client for a request, unless the connection is closed, and whether it has sent one before. Other
    /// certificates need another socket.
    fn checkout(&self, server: &Server, session: &Session) -> Result<(Agent, bool), TransportError> {
        let mut known = self.agent.lock();
        if self.cancel.is_cancelled() {
            return Err(closed());
        }
        if let Some((agent, connected)) = &*known
            && connected.shares_connection_with(session)
        {
            return Ok((agent.clone(), true));
        }
        let agent = server.agent(session, &self.veil);
        *known = Some((agent.clone(), session.clone()));
        Ok((agent, false))
    }

    fn call(
        &self,
        agent: &Agent,
        server: &Server,
        session: &Session,
        request: &OutgoingRequest,
    ) -> Result<Response<VeiledBody>, TransportError> {
        self.veil.begin(server.auth.headers(&session.credential), request.gate.as_ref());
        let seen = match &*request.body {
            [] => run(agent, server, request, ()),
            body => run(agent, server, request, body),
        };
        self.veil.end(seen, request.idle).map_err(|cause| error::of_call(&cause, server))
    }
}

fn run(
    agent: &Agent,
    server: &Server,
    request: &OutgoingRequest,
    body: impl AsSendBody,
) -> Result<Response<ureq::Body>, Error> {
    let uri = format!("{}{}", server.base, request.target);
    let mut seen = Request::builder().method(request.method.clone()).uri(uri);
    for (name, value) in &request.headers {
        seen = seen.header(*name, &**value);
    }
    let seen = agent.configure_request(seen.body(body)?);
    let idle = request.idle;
    agent.run(seen.timeout_per_read(idle).timeout_per_write(idle).timeout_recv_response(idle).build())
}

/// The error of a request on a closed connection.
pub(super) fn closed() -> TransportError {
    TransportError::new(TransportErrorKind::Reset, "closed by this client")
}
