use super::error;
use crate::auth::Redactor;
use crate::cancel::CancelToken;
use crate::server::{Call, Server, Session};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use ureq::http::{Method, Response, StatusCode};
use ureq::{Agent, Body};

/// The connections that a transport, or one request of a client, is made over. They can be cut from any thread: then a request
/// under way fails at once, and none begins any more.
#[derive(Debug)]
pub(crate) struct Connection {
    /// A client of its own, so that shutting it down ends one request and no other.
    agent: Mutex<Option<(Agent, Session)>>,
    /// Hangs up when it is cut.
    caller: CancelToken,
    /// How many connections are kept for the next request.
    kept: usize,
}

/// What to send a request with.
struct Way {
    agent: Agent,
    /// It was there before, and its connection may be gone.
    is_old: bool,
}

impl Connection {
    pub(crate) fn new(kept: usize) -> Self {
        Self { agent: Mutex::default(), caller: CancelToken::default(), kept }
    }

    /// Asks, and waits for the head of the answer; once more if the credentials were not accepted, and there are better
    /// ones. What comes back may hold the credentials that it was asked with.
    pub(crate) fn ask(&self, server: &Server, call: &Call<'_>) -> Result<(Response<Body>, Redactor), TransportError> {
        let session = server.session(&self.caller).map_err(|cause| error::unusable(&cause))?;
        let (response, redactor) = self.send(server, &session, call)?;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(renewed) = server.renew(&session, &self.caller).map_err(|cause| error::unusable(&cause))?
        {
            return self.send(server, &renewed, call);
        }
        Ok((response, redactor))
    }

    pub(crate) fn cut(&self, server: &Server) {
        self.caller.hang_up();
        if let Some((agent, _)) = self.lock().take() {
            agent.shutdown();
        }
        server.on_cancelled();
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.caller.is_cancelled()
    }

    fn send(
        &self,
        server: &Server,
        session: &Session,
        call: &Call<'_>,
    ) -> Result<(Response<Body>, Redactor), TransportError> {
        let redactor = server.redactor(session);
        match self.try_send(server, session, call) {
            Ok(response) => Ok((response, redactor)),
            Err(error) => Err(redactor.error(error)),
        }
    }

    /// Asks; what only reads, once more if the connection was an old one, which the server may have closed by the time
    /// it was used.
    fn try_send(&self, server: &Server, session: &Session, call: &Call<'_>) -> Result<Response<Body>, TransportError> {
        let way = self.way(server, session)?;
        match server.call(&way.agent, session, call).map_err(|cause| error::of_call(&cause, server)) {
            Err(error) if way.is_old && error.kind == TransportErrorKind::Reset && call.method == Method::GET => {
                *self.lock() = None;
                let way = self.way(server, session)?;
                server.call(&way.agent, session, call).map_err(|cause| error::of_call(&cause, server))
            }
            result => result,
        }
    }

    /// The way for a request, unless the line is cut. Other certificates mean another connection.
    fn way(&self, server: &Server, session: &Session) -> Result<Way, TransportError> {
        let mut known = self.lock();
        if self.caller.is_cancelled() {
            return Err(closed());
        }
        if let Some((agent, connected)) = &*known
            && connected.shows_the_same_as(session)
        {
            return Ok(Way { agent: agent.clone(), is_old: true });
        }
        let agent = server.agent(session, self.kept);
        *known = Some((agent.clone(), session.clone()));
        Ok(Way { agent, is_old: false })
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Agent, Session)>> {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nobody waits for an answer any more.
pub(super) fn closed() -> TransportError {
    TransportError::new(TransportErrorKind::Reset, "given up")
}
