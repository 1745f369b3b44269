//! A world of two collections, and controllers in it.

use core::task::Poll;
use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::controller::{Controller, ControllerHandle, Reconciler, Report, RunError, Running};
use listwatch::decode::MetadataOnly;
use listwatch::request::{Request, RequestId};
use listwatch::time::Instant;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext};
use listwatch::{Client, Clock, Executor, InformerHandle, Informers, Resource, World, run};
use listwatch_tests::silent::Silent;
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Feed, FeedTroubles, Store, Trace, Troubles};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

pub(crate) const FOOS: &str = "/apis/example.com/v1/namespaces/web/foos";
pub(crate) const PARTS: &str = "/api/v1/namespaces/web/parts";

/// A collection of which the server never says anything.
pub(crate) const SILENT: &str = "/api/v1/namespaces/web/silent";

/// A collection without namespaces. Its first list is late.
pub(crate) const BOSSES: &str = "/apis/example.com/v1/bosses";
const LATE: Instant = Instant::from_nanos(1_000_000_000);

/// Longer than anything takes that is not held up.
pub(crate) const SOON: Duration = Duration::from_secs(10);

/// A server, and the informers of its collections.
pub(crate) struct Stage {
    pub(crate) clock: Clock,
    pub(crate) server: ApiServer,
    pub(crate) informers: Informers,
    pub(crate) foos: InformerHandle<MetadataOnly>,
    pub(crate) parts: InformerHandle<MetadataOnly>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Clock::simulated(), Troubles::NONE)
    }

    /// The same on another clock, or with a line to the server on which things go wrong.
    pub(crate) fn with(clock: Clock, troubles: Troubles) -> Self {
        Self::of(clock, troubles, FeedTroubles::default())
    }

    /// The same with watches that bring each change after up to this time.
    pub(crate) fn late(lag: Duration) -> Self {
        let troubles = FeedTroubles { lag, ..FeedTroubles::default() };
        Self::of(Clock::simulated(), Troubles::NONE, troubles)
    }

    /// The same with a server that answers to clients by this function.
    pub(crate) fn answering(
        lag: Duration,
        answer: impl Fn(&mut Store, Instant, &ApiRequest) -> ApiResponse + Send + Sync + 'static,
    ) -> Self {
        let (clock, server) = (Clock::simulated(), Self::server());
        let (now, inside) = (clock.clone(), server.clone());
        let line = ApiFn::new(move |request: &ApiRequest| {
            Ok(inside.with(|inside| answer(&mut inside.store, now.now(), request)))
        });
        let watches = FeedTroubles { lag, ..FeedTroubles::default() };
        Self::between(server, Client::new(line, clock.clone()), clock, watches)
    }

    fn of(clock: Clock, troubles: Troubles, watches: FeedTroubles) -> Self {
        let (now, server) = (clock.clone(), Self::server());
        let line = ApiLine::new(&server, Dice::new(1), troubles, move || now.now());
        Self::between(server, Client::new(line, clock.clone()), clock, watches)
    }

    fn server() -> ApiServer {
        let server = ApiServer::new(FOOS, Trace::new(false));
        server.with(|inside| {
            inside.store.add_collection(PARTS);
            inside.store.add_collection(BOSSES);
        });
        server
    }

    fn between(server: ApiServer, client: Client, clock: Clock, watches: FeedTroubles) -> Self {
        let answers = server.clone();
        let world = World::from_parts(clock.clone(), client, move |resource| match resource.path() {
            SILENT => Box::new(Silent),
            BOSSES => Box::new(Late(Feed::new(&answers))),
            _ => Box::new(Feed::troubled(&answers, Dice::new(7), watches)),
        });
        let informers = Informers::new(world);
        let foos = informers.informer_of(Resource::new(FOOS)).with_kind("Foo");
        let parts = informers.informer_of(Resource::new(PARTS));
        Self { clock, server, informers, foos, parts }
    }

    pub(crate) fn controller(&self) -> Reconciler<MetadataOnly> {
        Controller::new("test", &self.informers).reconciles(&self.foos)
    }

    pub(crate) fn put(&self, at: &str) {
        let now = self.clock.now();
        self.server.with(|inside| inside.store.put(now, at, json!({ "at": now.as_nanos() })));
    }

    pub(crate) fn delete(&self, at: &str) {
        let now = self.clock.now();
        self.server.with(|inside| inside.store.delete(now, at));
    }

    /// Creates a part whose owner is the foo of this name.
    pub(crate) fn create_part(&self, name: &str, owner: &str) {
        self.create_in(PARTS, name, &owner_of(owner));
    }

    /// The same in another collection.
    pub(crate) fn create_in(&self, collection: &str, name: &str, owner: &Value) {
        let part = json!({ "metadata": { "name": name, "namespace": "web", "ownerReferences": [owner] } });
        let request = listwatch::api::Api::<Value>::new(&Resource::new(collection)).create(&part);
        let now = self.clock.now();
        let response = self.server.with(|inside| inside.store.handle(now, request.request().unwrap()));
        assert_eq!(response.status, 201);
    }

    /// Runs the controller beside `scenario`, and stops it after that.
    pub(crate) fn play(
        &self,
        controller: Running<'static>,
        scenario: impl Future<Output = ()>,
    ) -> Result<(), RunError> {
        let (executor, handle) = (Executor::new(), controller.handle());
        let controller = executor.spawn(controller.future());
        run(&self.clock, &executor, async {
            scenario.await;
            handle.stop();
            controller.await
        })
    }

    pub(crate) async fn sleep(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// Waits for a condition.
    pub(crate) async fn until(&self, condition: impl Fn() -> bool) {
        while !condition() {
            assert!(self.clock.now() < Instant::ZERO + Duration::from_secs(3600), "the condition never holds");
            self.sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Nothing is heard of the server before `LATE`.
struct Late(Feed);

impl ListerWatcher for Late {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.0.open(id, request);
    }

    fn poll_read(&mut self, cx: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        if cx.now < LATE { Poll::Ready(Incoming::Idle { until: Some(LATE) }) } else { self.0.poll_read(cx, buf) }
    }

    fn abort(&mut self, id: RequestId) {
        self.0.abort(id);
    }
}

pub(crate) fn owner_of(name: &str) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": name, "uid": "u-1", "controller": true })
}

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, what: impl ToString) {
        self.0.lock().unwrap().push(what.to_string());
    }

    /// Notes a report, except for that of the start.
    pub(crate) fn note_report(&self, report: &Report<'_>) {
        if !matches!(report, Report::Started { .. }) {
            self.note(report);
        }
    }

    /// What happened since the last look.
    pub(crate) fn take(&self) -> Vec<String> {
        core::mem::take(&mut *self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn has(&self, what: &str) -> bool {
        self.0.lock().unwrap().iter().any(|noted| noted == what)
    }
}

/// Stops its controller when the test is over, also when it fails: a controller on threads would go on.
pub(crate) struct StopOnDrop(pub(crate) ControllerHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}
