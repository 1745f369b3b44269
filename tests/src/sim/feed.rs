//! Lists and watches of a simulated server, as a transport.

use super::api_server::{ApiServer, Inside};
use super::refusal::Refusal;
use listwatch_core::request::{Query, Request, RequestId, Verb};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead};
use listwatch_core::{Instant, ListerWatcher};
use std::task::Poll;
use std::time::Duration;

/// What an informer hears of an [`ApiServer`]: lists at once, and of what happens to them after a lag.
#[derive(Debug)]
pub struct Feed {
    server: ApiServer,
    open: Option<Open>,
}

/// How long a change is on its way.
const LAG: Duration = Duration::from_millis(3);

/// A request, and how far its answer is.
#[derive(Debug)]
struct Open {
    id: RequestId,
    request: Request,
    /// When it was first looked for.
    began: Option<Instant>,
    has_head: bool,
    /// What was said and not yet read.
    unread: Vec<u8>,
    /// How far a watch has told.
    told: Option<u64>,
}

impl Feed {
    /// A transport for an informer of `server`'s collection.
    #[must_use]
    pub fn new(server: &ApiServer) -> Self {
        Self { server: server.clone(), open: None }
    }
}

impl Open {
    /// Begins to answer, if that was not done.
    fn begin(&mut self, now: Instant, inside: &mut Inside) -> Option<Incoming> {
        if self.has_head {
            return None;
        }
        self.has_head = true;
        self.began = Some(now);
        inside.trace.request(now, self.id, &self.request);
        let (status, body) = match (self.request.query(), &self.request.verb) {
            (Query::List, _) => (200, inside.store.list().to_string()),
            (Query::Watch, Verb::Watch { resource_version, .. }) => {
                self.told =
                    Some(resource_version.as_deref().and_then(|version| version.parse().ok()).unwrap_or_default());
                (200, String::new())
            }
            _ => (422, Refusal::of(422).body),
        };
        self.unread = body.into_bytes();
        let head = ResponseHead { status, content_type: Some("application/json".into()), ..ResponseHead::default() };
        inside.trace.head(now, self.id, &head);
        Some(Incoming::Head { id: self.id, head })
    }

    /// Adds what has arrived, and says when something more does.
    fn follow(&mut self, now: Instant, inside: &Inside) -> Option<Instant> {
        let told = self.told.as_mut()?;
        for change in inside.store.since(*told) {
            if change.at + LAG > now {
                return Some(change.at + LAG);
            }
            *told = change.revision;
            let event = serde_json::json!({ "type": change.kind, "object": change.object });
            self.unread.extend_from_slice(format!("{event}\n").as_bytes());
        }
        None
    }

    /// When the server ends it.
    fn ends_at(&self) -> Option<Instant> {
        match (self.told, &self.request.verb) {
            (None, _) => self.began,
            (Some(_), Verb::Watch { timeout, .. }) => {
                self.began.zip(*timeout).map(|(began, timeout)| began + Duration::from_secs(timeout.as_secs()))
            }
            (Some(_), Verb::List { .. }) => None,
        }
    }
}

impl ListerWatcher for Feed {
    fn open(&mut self, id: RequestId, request: &Request) {
        let request = request.clone();
        self.open = Some(Open { id, request, began: None, has_head: false, unread: Vec::new(), told: None });
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(open) = &mut self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        let (now, id, mut inside) = (turn.now, open.id, self.server.lock());
        if let Some(head) = open.begin(now, &mut inside) {
            return Poll::Ready(head);
        }
        let next = open.follow(now, &inside);
        if !open.unread.is_empty() {
            let len = open.unread.len().min(buf.len());
            buf[..len].copy_from_slice(&open.unread[..len]);
            open.unread.drain(..len);
            inside.trace.data(now, id, &buf[..len]);
            return Poll::Ready(Incoming::Data { id, len });
        }
        let end = open.ends_at();
        if end.is_some_and(|end| end <= now) {
            inside.trace.end(now, id, None);
            self.open = None;
            return Poll::Ready(Incoming::End { id });
        }
        if !inside.feeds.iter().any(|waker| waker.will_wake(turn.cx.waker())) {
            inside.feeds.push(turn.cx.waker().clone());
        }
        Poll::Ready(Incoming::Idle { until: listwatch_core::time::earliest(next, end) })
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|open| open.id == id);
    }
}
