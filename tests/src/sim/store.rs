//! One collection of JSON objects, and a server's changes to it for the requests of a controller.

use super::refusal::Refusal;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Objects of any content, by name, and every change of them. It has no time of its own, and says no only where an API server
/// does: to names that are there or are not, to old versions, and to uids of others.
#[derive(Debug)]
pub struct Store {
    collection: String,
    revision: u64,
    objects: BTreeMap<String, Value>,
    changes: Vec<Change>,
}

/// A change, as a watch tells it.
#[derive(Clone, Debug)]
pub struct Change {
    /// The version after it.
    pub revision: u64,
    /// When it was made.
    pub at: Instant,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub kind: &'static str,
    /// The object after it, or the last one before it was deleted.
    pub object: Value,
}

impl Store {
    /// The collection at this path, empty.
    #[must_use]
    pub fn new(collection: &str) -> Self {
        Self { collection: collection.to_owned(), revision: 1, objects: BTreeMap::new(), changes: Vec::new() }
    }

    /// The objects, in the order of their names.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.objects.iter().map(|(name, object)| (name.as_str(), object))
    }

    /// What happened after a version.
    #[must_use]
    pub fn since(&self, revision: u64) -> &[Change] {
        &self.changes[self.changes.partition_point(|change| change.revision <= revision)..]
    }

    /// All objects as a list.
    #[must_use]
    pub fn list(&self) -> Value {
        let items: Vec<&Value> = self.objects.values().collect();
        let version = self.revision.to_string();
        json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": version }, "items": items })
    }

    /// Does what is asked.
    pub fn handle(&mut self, now: Instant, request: &ApiRequest) -> ApiResponse {
        let done = match self.name_in(&request.path) {
            None => Err(Refusal::of(404)),
            Some(name) => self.act(now, request, &name),
        };
        match done {
            Ok((status, object)) => ApiResponse::new(status, object.to_string()),
            Err(refusal) => ApiResponse::new(refusal.status, refusal.body).with_retry_after(refusal.retry_after),
        }
    }

    /// Writes an object as somebody else does, whatever is there.
    pub fn put(&mut self, now: Instant, name: &str, spec: Value) {
        let mut object = self.objects.get(name).cloned().unwrap_or_else(|| json!({ "metadata": { "name": name } }));
        object["spec"] = spec;
        self.enter(now, name, object);
    }

    /// Deletes an object, if it is there.
    pub fn delete(&mut self, now: Instant, name: &str) {
        if let Some(mut object) = self.objects.remove(name) {
            self.note(now, "DELETED", &mut object);
        }
    }

    /// The name of the object at a path, whichever part of it is meant; empty for the collection.
    fn name_in(&self, path: &str) -> Option<String> {
        let rest = path.strip_prefix(&self.collection)?;
        if rest.is_empty() {
            return Some(String::new());
        }
        rest.strip_prefix('/')?.split('/').next().map(str::to_owned)
    }

    fn act(&mut self, now: Instant, request: &ApiRequest, name: &str) -> Result<(u16, Value), Refusal> {
        let body = || serde_json::from_slice::<Value>(&request.body).map_err(|_| Refusal::of(400));
        if request.method == Method::Post {
            let object = body()?;
            let name = object["metadata"]["name"].as_str().ok_or_else(|| Refusal::of(422))?.to_owned();
            if self.objects.contains_key(&name) {
                return Err(Refusal::already_exists());
            }
            return Ok((201, self.enter(now, &name, object)));
        }
        if name.is_empty() {
            return if request.method == Method::Get { Ok((200, self.list())) } else { Err(Refusal::of(422)) };
        }
        let stored = self.objects.get(name).cloned().ok_or_else(|| Refusal::of(404))?;
        match request.method {
            Method::Get | Method::Post => Ok((200, stored)),
            Method::Put => {
                let object = body()?;
                check(&object["metadata"]["resourceVersion"], &stored["metadata"]["resourceVersion"])?;
                Ok((200, self.enter(now, name, object)))
            }
            Method::Patch => {
                let mut object = stored;
                merge(&mut object, body()?);
                Ok((200, self.enter(now, name, object)))
            }
            Method::Delete => {
                check(&body()?["preconditions"]["uid"], &stored["metadata"]["uid"])?;
                self.delete(now, name);
                Ok((200, stored))
            }
        }
    }

    /// Stores an object in its next version.
    fn enter(&mut self, now: Instant, name: &str, mut object: Value) -> Value {
        let before = self.objects.get(name);
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let uid =
            before.map_or_else(|| json!(format!("u{}", self.revision)), |before| before["metadata"]["uid"].clone());
        object["metadata"]["uid"] = uid;
        self.note(now, kind, &mut object);
        self.objects.insert(name.to_owned(), object.clone());
        object
    }

    fn note(&mut self, now: Instant, kind: &'static str, object: &mut Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.changes.push(Change { revision: self.revision, at: now, kind, object: object.clone() });
    }
}

/// A condition, where there is one.
fn check(wanted: &Value, found: &Value) -> Result<(), Refusal> {
    if wanted.is_null() || wanted == found { Ok(()) } else { Err(Refusal::of(409)) }
}

/// A merge patch (RFC 7386).
fn merge(into: &mut Value, patch: Value) {
    let Value::Object(fields) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    for (name, value) in fields {
        match value {
            Value::Null => drop(into.as_object_mut().and_then(|object| object.remove(&name))),
            value => merge(&mut into[name], value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::Resource;
    use listwatch_core::api::{Api, ApiCall, ApiClient, ApiError, DeleteOptions, Patch};
    use listwatch_core::transport::TransportError;
    use std::cell::RefCell;

    const PODS: &str = "/api/v1/namespaces/web/pods";

    struct Asked(RefCell<Store>);

    impl ApiClient for Asked {
        fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
            Ok(self.0.borrow_mut().handle(Instant::ZERO, request))
        }
    }

    #[test]
    fn a_store_says_what_an_api_server_says() {
        let (store, pods) = (Asked(RefCell::new(Store::new(PODS))), Api::<Value>::new(&Resource::new(PODS)));
        let send = |call: ApiCall<Value>| call.send(&store);
        let pod = json!({ "metadata": { "name": "a" }, "spec": { "x": 1 } });
        let created = send(pods.create(&pod)).unwrap_or_default();
        assert_eq!(created["metadata"]["resourceVersion"], "2");
        assert!(send(pods.create(&pod)).is_err_and(|error| error.is_already_exists()));
        assert!(send(pods.get("b")).is_err_and(|error| error.is_not_found()));
        let patch = json!({ "spec": { "x": null, "y": 2 } });
        let patched = send(pods.patch("a", &Patch::Merge(&patch))).unwrap_or_default();
        assert_eq!((&patched["spec"], &patched["metadata"]["uid"]), (&json!({ "y": 2 }), &created["metadata"]["uid"]));
        assert!(send(pods.replace("a", &created)).is_err_and(|error| error.is_conflict()), "an old version");
        assert!(send(pods.status().replace("a", &patched)).is_ok());
        let delete = |uid: &str| pods.delete("a", &DeleteOptions::default().with_uid(uid));
        assert!(delete("another").send(&store).is_err_and(|error: ApiError| error.is_conflict()));
        assert_eq!(delete("u1").send(&store), Ok(()));
        let kinds: Vec<_> = store.0.borrow().since(2).iter().map(|change| change.kind).collect();
        assert_eq!(kinds, ["MODIFIED", "MODIFIED", "DELETED"]);
    }
}
