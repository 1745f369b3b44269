use crate::permits::Permits;
use crate::request::{ConnectionPool, Pending, Piece, PooledConnection, fetch};
use crate::server::Server;
use listwatch_core::api::{ApiRequest, ApiResponse};
use listwatch_core::transport::TransportError;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A single request that is polled. If dropped before its end, it closes its connection.
pub(crate) struct PendingResponse {
    server: Arc<Server>,
    /// `None` once the response has come, or if there was no connection.
    connection: Option<PooledConnection>,
    response: Pending<ApiResponse>,
}

impl PendingResponse {
    /// Sends a request.
    pub(crate) fn start(
        server: &Arc<Server>,
        permits: &Arc<Permits>,
        pool: &Arc<ConnectionPool>,
        request: &ApiRequest,
    ) -> Self {
        let pooled = pool.checkout();
        let response = match &pooled {
            Ok(pooled) => {
                let (server, connection, request) = (server.clone(), Arc::clone(pooled), request.clone());
                Pending::start(permits, move |_, _permit| fetch(&connection, &server, &request))
            }
            Err(error) => Pending::failed(error.clone()),
        };
        Self { server: server.clone(), connection: pooled.ok(), response }
    }

    /// Polls for the whole response.
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<Result<ApiResponse, TransportError>> {
        self.response.poll(cx, &mut []).map(|piece| {
            let Piece::End(end) = piece else { unreachable!("its thread delivers the end alone") };
            if end.is_ok() {
                self.connection = None;
            }
            end
        })
    }

    /// What it waits for before it is sent, while it does.
    pub(crate) fn waits_for(&self) -> Option<String> {
        self.response.waits_for(&self.server)
    }
}

impl Drop for PendingResponse {
    fn drop(&mut self) {
        self.connection.iter().for_each(|connection| connection.close(&self.server));
    }
}
