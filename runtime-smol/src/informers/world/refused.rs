//! The world of a cluster in a program that is run for a replay: nothing is sent.

use super::World;
use crate::client::Client;
use crate::clock::Clock;
use crate::replay::REPLAY_WRITES;
use core::task::Poll;
use listwatch_core::ListerWatcher;
use listwatch_core::api::{ApiFn, ApiRequest};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportError, TransportErrorKind};
use std::collections::VecDeque;

/// Fails each request.
struct Refused {
    error: TransportError,
    open: VecDeque<RequestId>,
}

impl World {
    /// A world in which no controller runs, and each request fails.
    pub(super) fn refused() -> Self {
        let why = format!(
            "{REPLAY_WRITES} is set, so the program is run for a replay, and no cluster is asked; \
             let it take the tape, which `{{}}` in its command or its last argument names"
        );
        let error = TransportError::new(TransportErrorKind::Unsendable, why);
        let (clock, refused, failed) = (Clock::real(), error.detail.clone(), error.clone());
        let client = Client::new(ApiFn::new(move |_: &ApiRequest| Err(failed.clone())), clock.clone());
        let world =
            Self::from_parts(clock, client, move |_| Box::new(Refused { error: error.clone(), open: VecDeque::new() }));
        Self { refused: Some(refused), ..world }
    }
}

impl ListerWatcher for Refused {
    fn open(&mut self, id: RequestId, _: &Request) {
        self.open.push_back(id);
    }

    fn poll_read(&mut self, _: ReadContext<'_, '_>, _: &mut [u8]) -> Poll<Incoming> {
        let failed = self.open.pop_front().map(|id| Incoming::Failed { id, error: self.error.clone() });
        Poll::Ready(failed.unwrap_or(Incoming::Idle { until: None }))
    }

    fn abort(&mut self, id: RequestId) {
        self.open.retain(|open| *open != id);
    }
}
