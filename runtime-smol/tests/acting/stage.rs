//! A server with three kinds, and a controller of one of them.

use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse, Method};
use listwatch::controller::{Context, Controller, Outcome, Reconciled, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::time::Instant;
use listwatch::{Client, Clock, Found, InformerHandle, Key, Resource, World, kind};
use listwatch_tests::sim::{ApiServer, Dice, Feed, FeedTroubles, Refusal, Store, Trace};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

pub(crate) const FOOS: &str = "/apis/example.com/v1/namespaces/web/foos";
pub(crate) const PARTS: &str = "/api/v1/namespaces/web/parts";
pub(crate) const ZONES: &str = "/apis/example.com/v1/zones";

/// Longer than anything takes here.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The next reconcile runs as soon as the writes of this one are shown.
pub(crate) const AGAIN: Outcome = Outcome::RequeueAfter(Duration::from_nanos(1));

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Foo {
    pub(crate) spec: Option<Size>,
    pub(crate) status: Option<Size>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Part {
    pub(crate) spec: PartSpec,
    pub(crate) status: Option<Size>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct PartSpec {
    pub(crate) size: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Image>,
}

/// It knows one field of two.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Image {
    pub(crate) image: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct Size {
    pub(crate) size: Option<u32>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Zone {}

kind!(Foo, "example.com/v1", "foos");
kind!(Part, "v1", "parts");
kind!(cluster Zone, "example.com/v1", "zones");

/// The informers of a controller.
pub(crate) struct Kinds {
    pub(crate) foos: InformerHandle<Foo>,
    pub(crate) parts: InformerHandle<Part>,
    pub(crate) zones: InformerHandle<Zone>,
    /// The foos, of a kind that is not known.
    pub(crate) nameless: InformerHandle<MetadataOnly>,
}

/// What happens before a request is answered, and the answer, if it is another one.
type Twist = Box<dyn FnMut(&mut Store, Instant) -> Option<ApiResponse> + Send>;

/// A server, and what was asked of it.
pub(crate) struct Stage {
    pub(crate) clock: Clock,
    server: ApiServer,
    /// How late the watches are.
    lag: Duration,
    requests: Arc<Mutex<Vec<String>>>,
    twists: Arc<Mutex<Vec<(Method, Twist)>>>,
}

impl Stage {
    /// A server that has the foo `web/foo`.
    pub(crate) fn new() -> Self {
        Self::late(Duration::ZERO)
    }

    /// The same with watches that bring each change so late.
    pub(crate) fn late(lag: Duration) -> Self {
        let server = ApiServer::new("/apis/example.com/v1/foos", Trace::new(false));
        server.with(|inside| {
            inside.store.keep_status_apart();
            ["/api/v1/parts", ZONES].into_iter().for_each(|path| inside.store.add_collection(path));
        });
        let stage = Self { clock: Clock::simulated(), server, lag, requests: Arc::default(), twists: Arc::default() };
        stage.put(&at(FOOS, "foo"), json!({ "size": 1 }));
        stage
    }

    /// Another server, by the same clock.
    pub(crate) fn beside(&self) -> Self {
        self.late_beside(Duration::ZERO)
    }

    /// The same with watches that bring each change so late.
    pub(crate) fn late_beside(&self, lag: Duration) -> Self {
        Self { clock: self.clock.clone(), ..Self::late(lag) }
    }

    /// The world of the server, until the end of `SOON`.
    pub(crate) fn world(&self) -> World {
        self.endless_world().until(self.clock.sleep(SOON))
    }

    pub(crate) fn endless_world(&self) -> World {
        let feeds = self.feeds();
        self.world_of(move |_| feeds())
    }

    /// A world with the server's client, and other lists and watches.
    pub(crate) fn world_of(&self, feeds: impl Fn(&Resource) -> Feed + Send + Sync + 'static) -> World {
        World::from_parts(self.clock.clone(), self.client(), move |resource| Box::new(feeds(resource)))
    }

    /// The lists and watches of the server.
    pub(crate) fn feeds(&self) -> impl Fn() -> Feed + Send + Sync + use<> {
        let (server, troubles) = (self.server.clone(), FeedTroubles { lag: self.lag, ..FeedTroubles::default() });
        move || Feed::troubled(&server, Dice::new(7), troubles)
    }

    fn client(&self) -> Client {
        let (server, requests, twists) = (self.server.clone(), Arc::clone(&self.requests), Arc::clone(&self.twists));
        let now = self.clock.clone();
        let answer = ApiFn::new(move |request: &ApiRequest| {
            let body = String::from_utf8_lossy(&request.body);
            let asked = format!("{} {request} {body}", request.method.name());
            requests.lock().unwrap().push(asked.trim_end().to_owned());
            let mut twists = twists.lock().unwrap();
            let twist = twists.iter().position(|(method, _)| *method == request.method).map(|at| twists.remove(at).1);
            Ok(server.with(|inside| {
                let twisted = twist.and_then(|mut twist| twist(&mut inside.store, now.now()));
                twisted.unwrap_or_else(|| inside.store.handle(now.now(), request))
            }))
        });
        Client::new(answer, self.clock.clone())
    }

    /// Nobody answers lists and watches for so long.
    pub(crate) fn leave_for(&self, time: Duration) {
        let back = self.clock.now() + time;
        self.server.with(|inside| inside.restart(back, false));
    }

    /// Ends all watches. None goes on where it was, so what happened meanwhile is not told.
    pub(crate) fn forget(&self) {
        let now = self.clock.now();
        self.server.with(|inside| inside.restart(now, true));
    }

    /// Runs a controller of the foos until the world ends, with this reconcile for each foo that is there.
    pub(crate) fn reconcile(
        &self,
        reconcile: impl AsyncFn(&Context, &Kinds, &Found<Foo>) -> Reconciled + Send + Sync,
    ) -> Result<(), RunError> {
        self.reconcile_as("sample", reconcile)
    }

    /// The same with a controller of this name.
    pub(crate) fn reconcile_as(
        &self,
        name: &str,
        reconcile: impl AsyncFn(&Context, &Kinds, &Found<Foo>) -> Reconciled + Send + Sync,
    ) -> Result<(), RunError> {
        let controller = Controller::new(name, self.world());
        let kinds = Kinds {
            foos: controller.informer(),
            parts: controller.informer(),
            zones: controller.informer(),
            nameless: controller.informer_of("example.com/v1/foos"),
        };
        let controller = controller.reconciles(&kinds.foos).on_report(|_, _| {});
        controller.run(async |cx, key: Key| match kinds.foos.get(&key) {
            Some(foo) => reconcile(&cx, &kinds, &foo).await,
            None => Ok(Outcome::Done),
        })
    }

    /// Acts once, in the reconcile of the first foo, and returns what came of it.
    pub(crate) fn act<R: Send>(&self, act: impl AsyncFn(&Context, &Kinds, &Found<Foo>) -> R + Send + Sync) -> R {
        let done = Mutex::new(None);
        let ended = self.reconcile(async |cx, kinds, foo| {
            if done.lock().unwrap().is_none() {
                let result = act(cx, kinds, foo).await;
                *done.lock().unwrap() = Some(result);
            }
            Ok(Outcome::Done)
        });
        assert_eq!(ended, Ok(()));
        done.into_inner().unwrap().unwrap()
    }

    /// Acts in the first reconcile of a foo, and looks in the next one. Returns what it saw.
    pub(crate) fn act_then<R: Send>(
        &self,
        act: impl AsyncFn(&Context, &Kinds, &Found<Foo>) + Send + Sync,
        look: impl Fn(&Kinds) -> R + Send + Sync,
    ) -> R {
        let (acted, seen) = (Mutex::new(false), Mutex::new(None));
        let ended = self.reconcile(async |cx, kinds, foo| {
            if !std::mem::replace(&mut *acted.lock().unwrap(), true) {
                act(cx, kinds, foo).await;
                return Ok(AGAIN);
            }
            seen.lock().unwrap().get_or_insert_with(|| look(kinds));
            Ok(Outcome::Done)
        });
        assert_eq!(ended, Ok(()));
        seen.into_inner().unwrap().unwrap()
    }

    /// Twists the next request of this method that has none yet.
    pub(crate) fn twist(
        &self,
        method: Method,
        twist: impl FnMut(&mut Store, Instant) -> Option<ApiResponse> + Send + 'static,
    ) {
        self.twists.lock().unwrap().push((method, Box::new(twist)));
    }

    /// Answers the next requests of this method with a status, each time once.
    pub(crate) fn refuse(&self, method: Method, codes: &[u16]) {
        for code in codes.iter().copied() {
            self.twist(method, move |_, _| Some(ApiResponse::new(code, Refusal::of(code).body)));
        }
    }

    /// Writes an object as another client does.
    pub(crate) fn put(&self, at: &str, spec: Value) {
        let now = self.clock.now();
        self.server.with(|inside| inside.store.put(now, at, spec));
    }

    /// Deletes an object as another client does.
    pub(crate) fn delete(&self, at: &str) {
        let now = self.clock.now();
        self.server.with(|inside| inside.store.delete(now, at));
    }

    /// The same with any content.
    pub(crate) fn create(&self, collection: &str, object: &Value) -> Value {
        let mut create = ApiRequest::new(Method::Post, collection);
        create.body = object.to_string().into_bytes();
        let now = self.clock.now();
        let created = self.server.with(|inside| inside.store.handle(now, &create));
        assert_eq!(created.status, 201, "{}", String::from_utf8_lossy(&created.body));
        serde_json::from_slice(&created.body).unwrap()
    }

    /// The object that the server has.
    pub(crate) fn object(&self, at: &str) -> Value {
        self.server.with(|inside| inside.store.object(at).cloned()).unwrap_or_default()
    }

    /// The single requests since the last look: method, path and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        core::mem::take(&mut *self.requests.lock().unwrap())
    }
}

/// Changes an object, as another client does, with another spec.
pub(crate) fn put(at: &str, spec: Value) -> impl FnMut(&mut Store, Instant) -> Option<ApiResponse> + Send + 'static {
    let at = at.to_owned();
    move |store, now| {
        store.put(now, &at, spec.clone());
        None
    }
}

/// Replaces an object by another one of its name.
pub(crate) fn replace(at: &str) -> impl FnMut(&mut Store, Instant) -> Option<ApiResponse> + Send + 'static {
    let at = at.to_owned();
    move |store, now| {
        store.delete(now, &at);
        store.put(now, &at, json!({}));
        None
    }
}

/// The body of a request.
pub(crate) fn body(request: &str) -> Value {
    serde_json::from_str(request.splitn(3, ' ').nth(2).unwrap()).unwrap()
}

/// Method and path of a request.
pub(crate) fn target(request: &str) -> &str {
    let end = request.match_indices(' ').nth(1).map_or(request.len(), |(at, _)| at);
    &request[..end]
}

pub(crate) fn at(path: &str, name: &str) -> String {
    format!("{path}/{name}")
}
