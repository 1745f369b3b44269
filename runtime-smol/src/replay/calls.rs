//! The requests of a replay.

use super::Replay;
use super::reconcile::{Replayed, Ticket};
use core::task::Poll;
use listwatch_core::api::{ApiRequest, ApiTransport, Reply};
use listwatch_core::request::RequestId;
use listwatch_core::transport::ReadContext;
use listwatch_transport_file::PlaybackClient;
use std::collections::HashMap;
use std::sync::Arc;

/// Answers the requests of reconciles as the tape did, and all others as a playback does.
pub(crate) struct ReplayedCalls {
    replay: Arc<Replay>,
    others: PlaybackClient,
    open: HashMap<RequestId, (Arc<Replayed>, Ticket)>,
}

impl ReplayedCalls {
    pub(crate) fn new(replay: &Arc<Replay>, others: PlaybackClient) -> Self {
        Self { replay: Arc::clone(replay), others, open: HashMap::new() }
    }
}

impl ApiTransport for ReplayedCalls {
    fn open(&mut self, id: RequestId, request: &ApiRequest) {
        let sender = request.sender.and_then(|number| self.replay.state.lock().reconciles.get(&number).cloned());
        match sender {
            Some(reconcile) => {
                let ticket = reconcile.on_call(request);
                self.open.insert(id, (reconcile, ticket));
            }
            None => self.others.open(id, request),
        }
    }

    fn poll_response(&mut self, id: RequestId, turn: ReadContext<'_, '_>) -> Poll<Reply> {
        let Some((reconcile, ticket)) = self.open.get(&id) else { return self.others.poll_response(id, turn) };
        let reply = match ticket {
            Ticket::Recorded(place) => reconcile.poll_answer(*place, turn.cx.waker()),
            Ticket::Now(reply) => Some(reply.clone()),
            Ticket::Never => None,
        };
        if reply.is_some() {
            self.open.remove(&id);
        }
        // The answer wakes the task. Time passes until then.
        Poll::Ready(reply.unwrap_or(Reply::Idle { until: None }))
    }

    fn abort(&mut self, id: RequestId) {
        match self.open.remove(&id) {
            Some((reconcile, Ticket::Recorded(place))) => reconcile.forget(place),
            Some(_) => {}
            None => self.others.abort(id),
        }
    }
}
