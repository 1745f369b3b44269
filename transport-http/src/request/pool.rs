use super::connection::{Connection, closed};
use crate::server::Server;
use listwatch_core::transport::TransportError;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The lines of a client: one for each request that is open, so that each can be cut by itself, and some that wait for the
/// next request with their connection.
#[derive(Debug, Default)]
pub(crate) struct ConnectionPool(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    idle: Vec<Arc<Connection>>,
    busy: Vec<Arc<Connection>>,
    is_cut: bool,
}

/// How many lines wait for the next request.
const KEPT: usize = 8;

impl ConnectionPool {
    /// A line for one request: the one that was used last, because its connection is the likeliest to be alive.
    pub(crate) fn lend(self: &Arc<Self>) -> Result<PooledConnection, TransportError> {
        let mut state = self.lock();
        if state.is_cut {
            return Err(closed());
        }
        let line = state.idle.pop().unwrap_or_else(|| Arc::new(Connection::new(1)));
        state.busy.push(line.clone());
        Ok(PooledConnection { line, lines: self.clone() })
    }

    /// Ends what is open, and lets nothing begin any more.
    pub(crate) fn cut(&self, server: &Server) {
        let mut state = self.lock();
        state.is_cut = true;
        let mut lines = std::mem::take(&mut state.idle);
        lines.extend(state.busy.iter().cloned());
        drop(state);
        lines.iter().for_each(|line| line.cut(server));
    }

    fn give_back(&self, line: &Arc<Connection>) {
        let mut state = self.lock();
        state.busy.retain(|busy| !Arc::ptr_eq(busy, line));
        if !line.is_cut() && state.idle.len() < KEPT {
            state.idle.push(line.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line for one request. Dropped, it is there for the next one, unless it was cut.
#[derive(Debug)]
pub(crate) struct PooledConnection {
    line: Arc<Connection>,
    lines: Arc<ConnectionPool>,
}

impl Deref for PooledConnection {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        &self.line
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        self.lines.give_back(&self.line);
    }
}
