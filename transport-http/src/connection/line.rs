use crate::server::{Server, Session};
use std::sync::{Arc, Mutex, PoisonError};
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

impl Line {
    /// What to send a request with; `None` once it is cut. Other certificates mean another connection.
    pub(crate) fn agent(&self, server: &Arc<Server>, session: &Session) -> Option<Agent> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_cut {
            return None;
        }
        match &state.agent {
            Some((agent, connected)) if connected.shows_the_same_as(session) => Some(agent.clone()),
            _ => {
                let agent = server.agent(session);
                state.agent = Some((agent.clone(), session.clone()));
                Some(agent)
            }
        }
    }

    pub(crate) fn cut(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_cut = true;
        if let Some((agent, _)) = state.agent.take() {
            agent.shutdown();
        }
    }
}
