//! A world whose transports are counted.

use core::task::Poll;
use core::time::Duration;
use listwatch_runtime_smol::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch_runtime_smol::request::{Request, RequestId};
use listwatch_runtime_smol::time::Instant;
use listwatch_runtime_smol::transport::{Incoming, ListerWatcher, ReadContext};
use listwatch_runtime_smol::{Client, Clock, Executor, Informers, Resource, World, run};
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
