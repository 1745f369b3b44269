use crate::server::{Server, Session};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use ureq::Agent;

/// The connections that a transport or a client makes its requests over. They can be cut from any thread: then a request
/// under way fails at once, and none begins any more.
#[derive(Debug)]
pub(crate) struct Line {
    state: Mutex<State>,
    /// How many connections are kept for the next request.
    kept: usize,
}

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
    pub(crate) fn new(kept: usize) -> Self {
        Self { state: Mutex::default(), kept }
    }

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
        let agent = server.agent(session, self.kept);
        state.agent = Some((agent.clone(), session.clone()));
        Some(Way { agent, is_old: false })
    }

    /// Forgets the connections there are.
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
