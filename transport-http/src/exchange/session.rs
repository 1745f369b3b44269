use super::buffered::{Exchange, Received};
use super::endpoint::Endpoint;
use super::error::{ExchangeError, ProtocolError, UNWRITTEN};
use super::get::Get;
use embedded_io::Error;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::text::SharedText;
use listwatch_core::transport::{Incoming, TransportError, TransportErrorKind};

/// The request of a source, and what is known of its connection. Blocking code and tasks share it.
#[derive(Debug)]
pub(super) struct Session<'a, const N: usize> {
    pub(super) endpoint: Endpoint<'a>,
    pub(super) exchange: Exchange<N>,
    pub(super) open: Option<Open<'a>>,
    pub(super) link: Link,
}

/// The request that is open.
#[derive(Debug)]
pub(super) struct Open<'a> {
    id: RequestId,
    /// With the endpoint that was set when it was opened: a request that is sent in pieces must not change.
    pub(super) get: Get<'a, Request>,
    pub(super) is_sent: bool,
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Closed,
    New,
    /// It has carried an answer to its end. The server may have closed it since.
    Kept,
}

impl<'a, const N: usize> Session<'a, N> {
    pub(super) const fn new(endpoint: Endpoint<'a>) -> Self {
        Self { endpoint, exchange: Exchange::new(), open: None, link: Link::Closed }
    }

    /// Makes this the open request. No other one is open.
    pub(super) fn open(&mut self, id: RequestId, request: &Request) {
        let get = self.endpoint.get(request.clone(), request.accept());
        self.open = Some(Open { id, get, is_sent: false });
        self.exchange.begin();
    }

    /// Gives the open request up, whichever it is. A connection that has carried a byte of it is of no more use.
    pub(super) fn give_up(&mut self) {
        if self.open.take().is_some() && self.exchange.has_begun() {
            self.link = Link::Closed;
        }
    }

    pub(super) fn is_open(&self, id: RequestId) -> bool {
        self.open.as_ref().is_some_and(|open| open.id == id)
    }

    /// What a step over the connection means to the reflector; `None` if it takes another step.
    ///
    /// If the server has closed a connection that it had kept, the request is sent once more over a new one.
    pub(super) fn handle<E: Error>(
        &mut self,
        stepped: Result<Option<Received>, ExchangeError<E>>,
        explain: fn(&E) -> TransportError,
    ) -> Option<Incoming> {
        let id = self.open.as_ref()?.id;
        match stepped {
            Ok(received) => received.map(|received| self.brought(id, received)),
            Err(error) if self.link == Link::Kept && is_stale(&error, explain) => {
                self.open.iter_mut().for_each(|open| open.is_sent = false);
                self.exchange.begin();
                self.link = Link::Closed;
                None
            }
            Err(ExchangeError::Connection(error)) => Some(self.failed(id, explain(&error))),
            Err(ExchangeError::Protocol(error)) => Some(self.failed(id, error.into())),
            Err(ExchangeError::Unwritten) => {
                let text = SharedText::constant(UNWRITTEN);
                Some(self.failed(id, TransportError::new(TransportErrorKind::Reset, text)))
            }
        }
    }

    fn brought(&mut self, id: RequestId, received: Received) -> Incoming {
        match received {
            Received::Head(head) => {
                // From here on, the request cannot be repeated.
                self.link = Link::New;
                Incoming::Head { id, head: head.into() }
            }
            Received::Data(len) => Incoming::Data { id, len },
            Received::End => {
                self.open = None;
                self.link = if self.exchange.is_reusable() { Link::Kept } else { Link::Closed };
                Incoming::End { id }
            }
        }
    }

    fn failed(&mut self, id: RequestId, error: TransportError) -> Incoming {
        (self.open, self.link) = (None, Link::Closed);
        Incoming::Failed { id, error }
    }
}

/// Whether the server closed a connection that it had kept, instead of an answer.
fn is_stale<E: Error>(error: &ExchangeError<E>, explain: fn(&E) -> TransportError) -> bool {
    match error {
        ExchangeError::Protocol(error) => *error == ProtocolError::ClosedBeforeAnswer,
        ExchangeError::Connection(error) => explain(error).kind == TransportErrorKind::Reset,
        ExchangeError::Unwritten => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use embedded_io::ErrorKind;

    #[test]
    fn a_connection_that_was_closed_was_not_known_by_what_the_firmware_says_of_its_errors() {
        let closed = ExchangeError::Connection(ErrorKind::Other);
        assert!(is_stale(&closed, |_| TransportError::new(TransportErrorKind::Reset, "close_notify")));
        assert!(!is_stale(&closed, TransportError::of_connection));
    }
}
