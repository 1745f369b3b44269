//! The line between a client and the server: how long each way takes, and what gets lost on it.

use super::cache::Reach;
use super::fault::{Fault, refusal};
use super::network::{LAG, Network, Passage, Sent};
use super::permissions::User;
use super::requests::{ClientOutcome, ClientRequest};
use super::server::Call;
use super::shared::{Answer, Shared, refused};
use super::target::path_and_query;
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::api::Method;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use serde_json::Value;
use std::sync::Arc;

/// How long each way takes.
pub(super) const WAY: Duration = Duration::from_millis(1);

/// A line, by the clock of the client: the server's time less what passed before that clock began.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) shared: Arc<Shared>,
    /// What had passed when the client's clock began.
    pub(super) base: Duration,
    /// The user that sends the requests; `None` for one that may do all.
    pub(super) user: Option<Arc<User>>,
    /// What disturbs the process of the client; none disturbs it.
    pub(super) network: Option<Arc<dyn Network>>,
    /// The numbers of the API servers that it reaches, one after the other; none for the first one.
    pub(super) servers: Arc<[usize]>,
}

/// What comes back over the line.
#[derive(Debug)]
pub(super) enum Returned {
    /// After so long.
    Answer(Duration, Box<Answer>),
    Broken(TransportErrorKind),
    /// Nothing comes back.
    Silence,
}

impl Line {
    /// The server's time.
    pub(super) fn there(&self, here: Instant) -> Instant {
        here + self.base
    }

    /// The client's time.
    pub(super) fn here(&self, there: Instant) -> Instant {
        let base = u64::try_from(self.base.as_nanos()).unwrap_or(u64::MAX);
        Instant::from_nanos(there.as_nanos().saturating_sub(base))
    }

    /// How often all connections were broken.
    pub(super) fn disconnections(&self) -> u64 {
        self.shared.with(|inside| inside.disconnections)
    }

    /// Answers a request of the user, at the server's time. Changes are so long on their way to a watch.
    pub(super) fn answer(&self, now: Instant, call: &Call<'_>, way: Duration) -> Answer {
        self.shared.handle(now, call, self.user.as_deref(), &self.reach(), way)
    }

    /// How long a read waits for the cache that it reads.
    pub(super) fn waits(&self, now: Instant, call: &Call<'_>) -> Option<Duration> {
        let (now, reach) = (self.there(now), self.reach());
        let until = self.shared.look(now, |server| server.waits(now, call, &reach))?;
        Some(until.saturating_since(now))
    }

    /// The caches that it reads: after each break of all connections, those of its next server.
    fn reach(&self) -> Reach {
        let turn = usize::try_from(self.disconnections()).unwrap_or_default();
        let server = turn.checked_rem(self.servers.len()).map_or(0, |turn| self.servers[turn]);
        Reach { server, network: self.network.clone() }
    }

    /// Whether the process of the client is gone.
    pub(super) fn is_dead(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.is_dead())
    }

    /// What becomes of a request that arrives now: the faults of the test come first. Without a method, it is a list or a
    /// watch.
    pub(super) fn passage(&self, now: Instant, method: Option<Method>, call: &Call<'_>) -> Passage {
        let line = format!("{} {}", call.verb(method), call.path());
        let fault = self.shared.with(|inside| inside.faults.take(&line));
        let passage = |network: &Arc<dyn Network>| network.on_request(&self.sent(now, method, call));
        fault.map_or_else(|| self.network.as_ref().map_or(Passage::Open, passage), Passage::Fails)
    }

    fn sent<'a>(&self, now: Instant, method: Option<Method>, call: &Call<'a>) -> Sent<'a> {
        Sent::new(self.there(now), call.verb(method), call.target, call.body)
    }

    /// A list or a watch is answered.
    pub(super) fn read(
        &self,
        now: Instant,
        call: &Call<'_>,
        is_namespaced: Option<bool>,
        fault: Option<Fault>,
    ) -> Returned {
        self.returned(fault, || {
            if let Err(refusal) = self.shared.with(|inside| inside.server.follow(call.target, is_namespaced)) {
                return refused(&refusal);
            }
            self.answer(self.there(now), call, LAG)
        })
    }

    /// A single request is answered, and is noted.
    pub(super) fn send(&self, now: Instant, method: Method, call: &Call<'_>, fault: Option<Fault>) -> Returned {
        let mut outcome = ClientOutcome::Dropped;
        let mut way_back = Passage::Open;
        let returned = self.returned(fault, || {
            let answer = self.answer(self.there(now), call, LAG);
            outcome = ClientOutcome::Lost(answer.head.status);
            if let Some(network) = &self.network {
                way_back = network.on_answer(&self.sent(now, Some(method), call), answer.head.status);
            }
            answer
        });
        let returned = match (way_back, returned) {
            (Passage::Late(time), Returned::Answer(_, answer)) => Returned::Answer(time, answer),
            (Passage::Fails(_), Returned::Answer(..)) => Returned::Broken(TransportErrorKind::Reset),
            (Passage::Never, _) => Returned::Silence,
            (_, returned) => returned,
        };
        if let Returned::Answer(_, answer) = &returned {
            outcome = ClientOutcome::Answered(answer.head.status);
        }
        let (path, query) = path_and_query(call.target);
        let body = serde_json::from_slice(call.body).unwrap_or(Value::Null);
        let request = ClientRequest { method, path: path.to_owned(), query: query.to_owned(), body, outcome };
        self.shared.with(|inside| inside.requests.push(request));
        returned
    }

    fn returned(&self, fault: Option<Fault>, answer: impl FnOnce() -> Answer) -> Returned {
        match fault {
            None => Returned::Answer(WAY, Box::new(answer())),
            Some(Fault::Refused(code)) => Returned::Answer(WAY, Box::new(refused(&refusal(code)))),
            Some(Fault::Lost) => {
                drop(answer());
                Returned::Broken(TransportErrorKind::Reset)
            }
            Some(Fault::Unreachable) => Returned::Broken(TransportErrorKind::Refused),
            Some(Fault::Silent) => Returned::Silence,
        }
    }
}

/// The reason of a failure that a test asked for.
pub(super) const BY_TEST: &str = "by fail_next";

/// The error of a line that broke because a test asked for it.
pub(super) fn broken(kind: TransportErrorKind, why: &str) -> TransportError {
    TransportError::new(kind, why)
}
