//! A world whose transports are counted.

use core::task::Poll;
use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::request::{Query, Request, RequestId};
use listwatch::time::Instant;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext, ResponseHead};
use listwatch::{Client, Clock, Executor, Informers, Resource, World, run};
use listwatch_tests::sim::{ApiServer, Feed, Trace};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/web/widgets";

/// Longer than anything takes where nothing fails.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Transports that were made, and those that are left.
#[derive(Clone, Default)]
pub(crate) struct Counts {
    pub(crate) made: Arc<AtomicUsize>,
    pub(crate) open: Arc<AtomicUsize>,
}

impl Counts {
    pub(crate) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts a transport until it is dropped.
    pub(crate) fn count<L: ListerWatcher>(&self, transport: L) -> Counted<L> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        Counted { transport, counts: self.clone() }
    }
}

pub(crate) struct Counted<L> {
    transport: L,
    counts: Counts,
}

impl<L: ListerWatcher> ListerWatcher for Counted<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.transport.open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        self.transport.poll_read(context, buf)
    }

    fn abort(&mut self, id: RequestId) {
        self.transport.abort(id);
    }
}

impl<L> Drop for Counted<L> {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A client that nobody uses.
pub(crate) fn no_client(clock: &Clock) -> Client {
    Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(404, *b"{}"))), clock.clone())
}

/// Widgets `a` and `b`, and the transports to them.
pub(crate) fn widgets(clock: &Clock) -> (World, ApiServer, Counts) {
    let server = ApiServer::new(WIDGETS, Trace::new(false));
    for name in ["a", "b"] {
        server.with(|inside| inside.store.put(Instant::ZERO, name, json!({ "wanted": 1 })));
    }
    let counts = Counts::default();
    let (counted, answers) = (counts.clone(), server.clone());
    let world =
        World::from_parts(clock.clone(), no_client(clock), move |_| Box::new(counted.count(Feed::new(&answers))));
    (world, server, counts)
}

pub(crate) fn resource() -> Resource {
    Resource::new(WIDGETS)
}

/// Runs `main` with the informers beside it, and drops them.
pub(crate) fn with_informers<F: Future>(informers: &Informers, main: F) -> F::Output {
    let (clock, executor) = (informers.clock().clone(), Executor::new());
    let _running = executor.spawn(informers.run());
    run(&clock, &executor, main)
}

/// A transport that gets the same answer to each request, and never more than that.
pub(crate) struct Answers {
    status: u16,
    body: String,
    open: Option<RequestId>,
    /// How many parts of the answer were read.
    read: usize,
}

impl Answers {
    pub(crate) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, body: body.into(), open: None, read: 0 }
    }

    /// The refusal of a server whose RBAC rules do not allow this.
    pub(crate) fn denied(namespace: &str) -> Self {
        let message = format!("widgets is forbidden: User \"me\" cannot list resource \"widgets\" in \"{namespace}\"");
        let status = json!({ "kind": "Status", "reason": "Forbidden", "code": 403, "message": message });
        Self::new(403, status.to_string())
    }

    /// A list of these objects.
    pub(crate) fn list(names: &[&str]) -> Self {
        let items: Vec<_> =
            names.iter().map(|name| json!({ "metadata": { "name": name, "resourceVersion": "1" } })).collect();
        Self::new(200, json!({ "metadata": { "resourceVersion": "1" }, "items": items }).to_string())
    }
}

impl ListerWatcher for Answers {
    fn open(&mut self, id: RequestId, request: &Request) {
        let is_watch = request.query() == Query::Watch;
        // Where it lists, it watches too, and nothing changes.
        (self.open, self.read) = (Some(id).filter(|_| !is_watch || self.status != 200), 0);
        if request.query() == Query::WatchList && self.status == 200 {
            self.read = 3;
        }
    }

    fn poll_read(&mut self, _: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let Some(id) = self.open else { return Poll::Ready(Incoming::Idle { until: None }) };
        self.read += 1;
        Poll::Ready(match self.read {
            1 => Incoming::Head { id, head: ResponseHead { status: self.status, ..ResponseHead::default() } },
            2 => {
                buf[..self.body.len()].copy_from_slice(self.body.as_bytes());
                Incoming::Data { id, len: self.body.len() }
            }
            4 => Incoming::Head { id, head: ResponseHead { status: 422, ..ResponseHead::default() } },
            _ => {
                self.open = None;
                Incoming::End { id }
            }
        })
    }

    fn abort(&mut self, id: RequestId) {
        self.open.take_if(|open| *open == id);
    }
}

/// A world of transports by the resource.
pub(crate) fn world<L: ListerWatcher + Send + 'static>(
    clock: &Clock,
    transports: impl Fn(&Resource) -> L + Send + Sync + 'static,
) -> World {
    World::from_parts(clock.clone(), no_client(clock), move |resource| Box::new(transports(resource)))
}
