//! A simulated cluster, in which an example runs beside its test.

use core::time::Duration;
use listwatch::api::{ApiRequest, Method};
use listwatch::time::Instant;
use listwatch::{Client, Clock, World};
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Feed, Inside, Trace, Troubles};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// A server of some collections, and the clock by which it lives. It has no watch-lists, so that quiet watches are
/// followed by a list.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) clock: Clock,
    pub(crate) server: ApiServer,
    shown: Arc<Mutex<Vec<String>>>,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) body: Value,
}

impl Stage {
    pub(crate) fn new(collections: &[&str]) -> Self {
        let server = ApiServer::new(collections[0], Trace::new(true));
        server.with(|inside| collections[1..].iter().for_each(|path| inside.store.add_collection(path)));
        Self { clock: Clock::simulated(), server, shown: Arc::default() }
    }

    pub(crate) fn world(&self) -> World {
        let now = self.clock.clone();
        let line = ApiLine::new(&self.server, Dice::new(1), Troubles::NONE, move || now.now());
        let (client, stage) = (Client::new(line, self.clock.clone()), self.clone());
        World::from_parts(self.clock.clone(), client, move |_| Box::new(stage.transport()))
    }

    pub(crate) fn transport(&self) -> Feed {
        Feed::new(&self.server)
    }

    /// Changes the object at this path as somebody else does, either its status or the rest of it; or creates it.
    pub(crate) fn apply(&self, at: &str, fields: Value) {
        let is_there = self.with(|inside| inside.store.object(at).is_some());
        let (collection, name) = at.rsplit_once('/').unwrap();
        let status = if is_there {
            let part = if fields["status"].is_null() { "" } else { "/status" };
            self.send(Method::Patch, &format!("{at}{part}"), &fields)
        } else {
            let mut object = fields;
            object["metadata"]["name"] = json!(name);
            self.send(Method::Post, collection, &object)
        };
        assert!(status < 300, "{at}: {status}");
    }

    pub(crate) fn delete(&self, at: &str) {
        assert_eq!(self.send(Method::Delete, at, &json!({})), 200, "{at}");
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> u16 {
        let mut request = ApiRequest::new(method, path);
        request.body = body.to_string().into_bytes();
        let now = self.clock.now();
        self.with(|inside| inside.store.handle(now, &request).status)
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Inside) -> T) -> T {
        self.server.with(act)
    }

    pub(crate) fn object(&self, at: &str) -> Option<Value> {
        self.with(|inside| inside.store.object(at).cloned())
    }

    /// Waits until a field of an object has this value.
    pub(crate) async fn until_field(&self, at: &str, pointer: &str, value: impl Into<Value>) {
        let value = value.into();
        self.until(|| self.object(at).is_some_and(|object| object.pointer(pointer) == Some(&value))).await;
    }

    /// The requests of the example.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        let lines = self.with(|inside| inside.trace.capture().unwrap().to_owned());
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let requests = lines.filter_map(|line| line.get("request").cloned());
        let asked = requests.map(|request| Asked {
            method: text(&request["method"]),
            target: text(&request["path"]),
            body: serde_json::from_str(&text(&request["body"])).unwrap_or_default(),
        });
        asked.collect()
    }

    /// Waits for a condition, and fails where it does not hold within an hour of the clock.
    pub(crate) async fn until(&self, condition: impl Fn() -> bool) {
        let limit = Instant::ZERO + Duration::from_secs(3600);
        while !condition() {
            assert!(self.clock.now() < limit, "the condition never holds");
            self.clock.sleep(Duration::from_millis(1)).await;
        }
    }

    /// The example shows something.
    pub(crate) fn show(&self, what: String) {
        self.shown.lock().unwrap().push(what);
    }

    /// What the example has shown.
    pub(crate) fn shown(&self) -> Vec<String> {
        self.shown.lock().unwrap().clone()
    }

    /// Waits until the example has shown so much.
    pub(crate) async fn until_shown(&self, count: usize) {
        self.until(|| self.shown().len() == count).await;
    }
}
