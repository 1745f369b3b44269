use crate::permits::Permits;
use crate::request::error::too_long;
use crate::request::{ConnectionPool, Exchange, OutgoingRequest, Piece, PooledConnection};
use crate::server::Server;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use listwatch_core::transport::{ResponseHead, TransportError};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A single request that is polled. If dropped before its end, it closes its connection.
#[derive(Debug)]
pub(crate) struct PendingResponse {
    server: Arc<Server>,
    connection: PooledConnection,
    exchange: Exchange,
    method: Method,
    head: ResponseHead,
    body: Vec<u8>,
    has_ended: bool,
}

/// The free space of the body's buffer for one read, in bytes.
const ROOM: usize = 8 * 1024;

impl PendingResponse {
    /// Sends a request.
    pub(crate) fn start(
        server: &Arc<Server>,
        permits: &Arc<Permits>,
        pool: &Arc<ConnectionPool>,
        request: &ApiRequest,
    ) -> Result<Self, TransportError> {
        let connection = pool.checkout()?;
        let outgoing = OutgoingRequest::single(request, server.limits());
        let exchange = Exchange::start(server, permits, &connection, outgoing, None);
        let (head, body) = (ResponseHead::default(), Vec::new());
        Ok(Self { server: server.clone(), connection, exchange, method: request.method, head, body, has_ended: false })
    }

    /// Polls for the whole response.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<ApiResponse, TransportError>> {
        let limit = self.server.limits().max_response_to(self.method);
        loop {
            let len = self.body.len();
            if len > limit {
                return Poll::Ready(Err(too_long(self.method, limit)));
            }
            self.body.resize(len + ROOM, 0);
            let piece = self.exchange.poll(cx, &mut self.body[len..]);
            let read = if let Poll::Ready(Piece::Data(read)) = piece { read } else { 0 };
            self.body.truncate(len + read);
            match ready!(piece) {
                Piece::Head(head) => self.head = head,
                Piece::Data(_) => {}
                Piece::End(end) => return Poll::Ready(end.map(|()| self.end())),
            }
        }
    }

    /// What it waits for before it is sent, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        self.exchange.waits_for()
    }

    fn end(&mut self) -> ApiResponse {
        self.has_ended = true;
        let (status, body) = (self.head.status, std::mem::take(&mut self.body));
        let response = ApiResponse::new(status, body).with_retry_after(self.head.retry_after);
        response.with_warnings(self.exchange.take_warnings())
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        if !self.has_ended {
            self.connection.close(&self.server);
        }
    }
}
