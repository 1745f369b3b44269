use super::connection::{Connection, closed};
use crate::lock::Lock;
use crate::server::Server;
use listwatch_core::transport::TransportError;
use std::ops::Deref;
use std::sync::Arc;

/// The connections of a client: one for each open request, so that each can be closed alone, and some idle ones.
#[derive(Default)]
pub(crate) struct ConnectionPool(Lock<State>);

#[derive(Default)]
struct State {
    idle: Vec<Arc<Connection>>,
    busy: Vec<Arc<Connection>>,
    is_closed: bool,
}

/// How many idle connections are kept.
const MAX_IDLE: usize = 8;

impl ConnectionPool {
    /// Takes a connection for one request: the one used last, whose socket is the likeliest to be open.
    pub(crate) fn checkout(self: &Arc<Self>) -> Result<PooledConnection, TransportError> {
        let mut state = self.0.lock();
        if state.is_closed {
            return Err(closed());
        }
        let connection = state.idle.pop().unwrap_or_default();
        state.busy.push(connection.clone());
        Ok(PooledConnection { connection, pool: self.clone() })
    }

    /// Closes all connections, and lets no request start any more.
    pub(crate) fn close(&self, server: &Server) {
        let mut state = self.0.lock();
        state.is_closed = true;
        let mut connections = std::mem::take(&mut state.idle);
        connections.extend(state.busy.iter().cloned());
        drop(state);
        connections.iter().for_each(|connection| connection.close(server));
    }

    fn give_back(&self, connection: &Arc<Connection>) {
        let mut state = self.0.lock();
        state.busy.retain(|busy| !Arc::ptr_eq(busy, connection));
        if !connection.is_closed() && state.idle.len() < MAX_IDLE {
            state.idle.push(connection.clone());
        }
    }
}

/// A connection for one request. When dropped, it returns to the pool, unless it is closed.
pub(crate) struct PooledConnection {
    connection: Arc<Connection>,
    pool: Arc<ConnectionPool>,
}

impl Deref for PooledConnection {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        self.pool.give_back(&self.connection);
    }
}
