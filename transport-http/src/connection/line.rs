use crate::server::{Server, Session};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use ureq::Agent;

/// The connection that a transport makes its requests over, one after the other. It can be cut from any thread: then a
/// request under way fails at once, and none begins any more.
#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// A client of its own, so that shutting it down ends one request and no other.
    agent: Option<(Agent, Session)>,
    is_cut: bool,
}

/// What to send a request with.
pub(crate) struct Way {
    pub(crate) agent: Agent,
    /// It was there before, and its connection may be gone.
    pub(crate) is_old: bool,
}

impl Line {
    /// The way for a request; `None` once the line is cut. Other certificates mean another connection.
    pub(crate) fn way(&self, server: &Arc<Server>, session: &Session) -> Option<Way> {
        let mut state = self.lock();
        if state.is_cut {
            return None;
        }
        if let Some((agent, connected)) = &state.agent
            && connected.shows_the_same_as(session)
        {
            return Some(Way { agent: agent.clone(), is_old: true });
        }
        let agent = server.agent(session);
        state.agent = Some((agent.clone(), session.clone()));
        Some(Way { agent, is_old: false })
    }

    /// Makes a connection of its own for the next request.
    pub(crate) fn renew(&self) {
        self.lock().agent = None;
    }

    pub(crate) fn cut(&self) {
        let mut state = self.lock();
        state.is_cut = true;
        if let Some((agent, _)) = state.agent.take() {
            agent.shutdown();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
