//! A cluster as a world.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use core::task::Poll;
use listwatch_core::ListerWatcher;
use listwatch_core::api::{ApiRequest, ApiTransport, Reply};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportError, TransportErrorKind};
use listwatch_transport_http::{Cluster, ConfigError};

/// The cluster, by the machine's clock. While certificates or credentials cannot be read, each request fails by an error
/// that says so, and the next request reads them again.
impl From<Cluster> for World {
    fn from(cluster: Cluster) -> Self {
        let clock = Clock::real();
        let opened = cluster.clone();
        let client = Client::new(Readable::new(move || opened.client()), clock.clone());
        Self::from_parts(clock, client, move |_| {
            let cluster = cluster.clone();
            Box::new(Readable::new(move || cluster.transport()))
        })
    }
}

/// A transport that needs its cluster's files, as soon as they can be read.
struct Readable<L, F> {
    transport: Option<L>,
    open: F,
    /// The requests that could not be sent, and why.
    failed: Vec<(RequestId, TransportError)>,
}

impl<L, F: FnMut() -> Result<L, ConfigError>> Readable<L, F> {
    fn new(open: F) -> Self {
        Self { transport: None, open, failed: Vec::new() }
    }

    /// The transport for a new request; `None` notes why the request fails.
    fn for_request(&mut self, id: RequestId) -> Option<&mut L> {
        if self.transport.is_none() {
            match (self.open)() {
                Ok(transport) => self.transport = Some(transport),
                Err(error) => {
                    let error = TransportError::new(TransportErrorKind::Credentials, error.to_string());
                    self.failed.push((id, error));
                }
            }
        }
        self.transport.as_mut()
    }

    fn failure(&mut self, id: RequestId) -> Option<TransportError> {
        let place = self.failed.iter().position(|(failed, _)| *failed == id)?;
        Some(self.failed.swap_remove(place).1)
    }
}

impl<L: ListerWatcher, F: FnMut() -> Result<L, ConfigError>> ListerWatcher for Readable<L, F> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.failed.clear();
        if let Some(transport) = self.for_request(id) {
            transport.open(id, request);
        }
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        if let Some((id, error)) = self.failed.pop() {
            return Poll::Ready(Incoming::Failed { id, error });
        }
        match &mut self.transport {
            Some(transport) => transport.poll_read(context, buf),
            None => Poll::Ready(Incoming::Idle { until: None }),
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.failure(id);
        if let Some(transport) = &mut self.transport {
            transport.abort(id);
        }
    }
}

impl<L: ApiTransport, F: FnMut() -> Result<L, ConfigError>> ApiTransport for Readable<L, F> {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        if let Some(transport) = self.for_request(id) {
            transport.open(id, request);
        }
    }

    fn poll_response(&mut self, id: RequestId, context: ReadContext<'_, '_>) -> Poll<Reply> {
        if let Some(error) = self.failure(id) {
            return Poll::Ready(Reply::Failed(error));
        }
        match &mut self.transport {
            Some(transport) => transport.poll_response(id, context),
            None => Poll::Ready(Reply::Idle { until: None }),
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.failure(id);
        if let Some(transport) = &mut self.transport {
            transport.abort(id);
        }
    }
}
