//! Collections of JSON objects, and a server's changes to them for the requests of a controller.

use super::place::{Place, is_status};
use super::refusal::Refusal;
use crate::ops::change::apply;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Objects of any content, and every change of them. It has no time of its own, and says no only where an API server does: to
/// names that are there or are not, to old versions, to uids of others, and to finalizers that come too late. An object with
/// finalizers is only marked when it is deleted, and goes with the last of them.
///
/// An object is named by its path, or by its name in the first collection.
#[derive(Debug)]
pub struct Store {
    collections: Vec<Place>,
    revision: u64,
    /// The oldest version from which a watch can go on.
    compacted: u64,
    objects: BTreeMap<Place, Value>,
    changes: Vec<Change>,
    deletions: BTreeMap<Place, u64>,
    has_status: bool,
}

/// A change, as a watch tells it.
#[derive(Clone, Debug)]
pub struct Change {
    /// The version after it.
    pub revision: u64,
    /// When it was made.
    pub at: Instant,
    /// Where.
    pub place: Place,
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub kind: &'static str,
    /// The object after it, or the last one before it was deleted.
    pub object: Value,
}

impl Store {
    /// The collection at this path, empty.
    ///
    /// # Panics
    /// Where no collection can be at this path.
    #[must_use]
    pub fn new(collection: &str) -> Self {
        let mut store = Self {
            collections: Vec::new(),
            revision: 1,
            compacted: 0,
            objects: BTreeMap::new(),
            changes: Vec::new(),
            deletions: BTreeMap::new(),
            has_status: false,
        };
        store.add_collection(collection);
        store
    }

    /// One more collection, empty.
    ///
    /// # Panics
    /// Where no collection can be at this path.
    pub fn add_collection(&mut self, path: &str) {
        let place = Place::parse(path).unwrap_or_else(|| panic!("no collection can be at {path}"));
        self.collections.push(place);
    }

    /// From now on the status of an object is a subresource: a status changes by it alone, and it changes nothing else.
    pub fn keep_status_apart(&mut self) {
        self.has_status = true;
    }

    /// The objects, in the order of their collections, namespaces and names.
    pub fn objects(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.objects.iter().map(|(place, object)| (place.name(), object))
    }

    /// The objects of a collection, in the order of their namespaces and names.
    pub fn objects_of(&self, collection: &Place) -> impl Iterator<Item = (&Place, &Value)> {
        self.objects.iter().filter(|(place, _)| collection.covers(place))
    }

    /// An object, if it is there.
    #[must_use]
    pub fn object(&self, at: &str) -> Option<&Value> {
        self.objects.get(&self.place(at))
    }

    /// What happened after a version.
    #[must_use]
    pub fn since(&self, revision: u64) -> &[Change] {
        &self.changes[self.changes.partition_point(|change| change.revision <= revision)..]
    }

    /// The version of all.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The version that is known where each change is on its way for so long.
    #[must_use]
    pub fn revision_after(&self, now: Instant, lag: Duration) -> u64 {
        let known = self.changes.partition_point(|change| change.at + lag <= now);
        known.checked_sub(1).map_or(1, |last| self.changes[last].revision)
    }

    /// No watch goes on from an older version than this any more.
    pub fn compact(&mut self) {
        self.compacted = self.revision;
    }

    /// Whether a watch can go on from a version.
    #[must_use]
    pub fn remembers(&self, revision: u64) -> bool {
        revision >= self.compacted
    }

    /// The objects of a collection as they were at a version, as a list.
    #[must_use]
    pub fn list(&self, collection: &Place, revision: u64) -> Value {
        let items: Vec<&Value> = match self.since(revision) {
            [] => self.objects_of(collection).map(|(_, object)| object).collect(),
            _ => self.history(collection, revision).into_values().collect(),
        };
        let version = revision.to_string();
        json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": version }, "items": items })
    }

    fn history(&self, collection: &Place, revision: u64) -> BTreeMap<&Place, &Value> {
        let mut objects = BTreeMap::new();
        let known = self.changes.iter().take_while(|change| change.revision <= revision);
        for change in known.filter(|change| collection.covers(&change.place)) {
            match change.kind {
                "DELETED" => objects.remove(&change.place),
                _ => objects.insert(&change.place, &change.object),
            };
        }
        objects
    }

    /// How often an object has been deleted.
    #[must_use]
    pub fn deletions(&self, place: &Place) -> u64 {
        self.deletions.get(place).copied().unwrap_or(0)
    }

    /// Does what is asked.
    pub fn handle(&mut self, now: Instant, request: &ApiRequest) -> ApiResponse {
        let place = Place::parse(&request.path);
        let done = match place.filter(|place| self.collections.iter().any(|collection| collection.covers(place))) {
            None => Err(Refusal::of(404)),
            Some(place) => self.act(now, request, &place),
        };
        match done {
            Ok((status, object)) => ApiResponse::new(status, object.to_string()),
            Err(refusal) => ApiResponse::new(refusal.status, refusal.body).with_retry_after(refusal.retry_after),
        }
    }

    /// Writes an object as somebody else does, whatever is there.
    pub fn put(&mut self, now: Instant, at: &str, spec: Value) {
        let place = self.place(at);
        let mut object = self.objects.get(&place).cloned().unwrap_or_else(|| json!({}));
        object["spec"] = spec;
        self.enter(now, &place, object);
    }

    /// Deletes an object, if it is there, as somebody else does.
    pub fn delete(&mut self, now: Instant, at: &str) {
        self.end(now, &self.place(at));
    }

    /// The place at a path, or that of a name in the first collection.
    fn place(&self, at: &str) -> Place {
        Place::parse(at).unwrap_or_else(|| self.collections[0].with_name(at))
    }

    fn act(&mut self, now: Instant, request: &ApiRequest, place: &Place) -> Result<(u16, Value), Refusal> {
        let body = || serde_json::from_slice::<Value>(&request.body).map_err(|_| Refusal::of(400));
        if request.method == Method::Post {
            let object = body()?;
            let place = place.with_name(object["metadata"]["name"].as_str().ok_or_else(|| Refusal::of(422))?);
            if self.objects.contains_key(&place) {
                return Err(Refusal::already_exists());
            }
            return Ok((201, self.enter(now, &place, object)));
        }
        if place.name().is_empty() {
            let is_read = request.method == Method::Get;
            return if is_read { Ok((200, self.list(place, self.revision))) } else { Err(Refusal::of(422)) };
        }
        let is_applied = request.content_type == Some("application/apply-patch+yaml");
        if is_applied && !self.objects.contains_key(place) {
            return Ok((201, self.enter(now, place, body()?)));
        }
        let stored = self.objects.get(place).cloned().ok_or_else(|| Refusal::missing(place.name()))?;
        match request.method {
            Method::Get | Method::Post => Ok((200, stored)),
            Method::Put | Method::Patch => {
                let (mut object, wanted) = (stored.clone(), body()?);
                check_preconditions(&wanted["metadata"], &stored)?;
                if request.method == Method::Put {
                    object = wanted;
                } else {
                    apply(&mut object, &wanted);
                }
                if self.has_status {
                    keep(if is_status(&request.path) { "spec" } else { "status" }, &stored, &mut object);
                }
                Ok((200, self.change(now, place, &stored, object)?))
            }
            Method::Delete => {
                check_preconditions(&body()?["preconditions"], &stored)?;
                self.end(now, place);
                Ok((200, stored))
            }
        }
    }

    /// Stores what becomes of an object that is there. One that is being deleted gets no finalizers, and goes with its last.
    fn change(&mut self, now: Instant, place: &Place, stored: &Value, mut object: Value) -> Result<Value, Refusal> {
        let deleted = &stored["metadata"]["deletionTimestamp"];
        if deleted.is_null() {
            return Ok(self.enter(now, place, object));
        }
        object["metadata"]["deletionTimestamp"] = deleted.clone();
        let (before, after) = (finalizers(stored), finalizers(&object));
        if after.iter().any(|finalizer| !before.contains(finalizer)) {
            return Err(Refusal::of(422));
        }
        if !after.is_empty() {
            return Ok(self.enter(now, place, object));
        }
        self.objects.insert(place.clone(), object.clone());
        self.remove(now, place);
        Ok(object)
    }

    /// Deletes an object, if it is there, or marks one that has finalizers.
    fn end(&mut self, now: Instant, place: &Place) {
        let Some(mut object) = self.objects.get(place).cloned() else { return };
        if finalizers(&object).is_empty() {
            self.remove(now, place);
        } else if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            self.enter(now, place, object);
        }
    }

    /// Stores an object in its next version.
    fn enter(&mut self, now: Instant, place: &Place, mut object: Value) -> Value {
        let before = self.objects.get(place);
        let kind = if before.is_some() { "MODIFIED" } else { "ADDED" };
        let known = before.map_or(&Value::Null, |before| &before["metadata"]);
        let uid = if known.is_null() { json!(format!("u{}", self.revision)) } else { known["uid"].clone() };
        let is_same = before.is_some_and(|before| before["spec"] == object["spec"]);
        let generation = known["generation"].as_u64().unwrap_or(0) + u64::from(!is_same);
        let metadata = &mut object["metadata"];
        (metadata["name"], metadata["uid"], metadata["generation"]) = (json!(place.name()), uid, json!(generation));
        if !place.namespace().is_empty() {
            metadata["namespace"] = json!(place.namespace());
        }
        self.note(now, place, kind, &mut object);
        self.objects.insert(place.clone(), object.clone());
        object
    }

    fn remove(&mut self, now: Instant, place: &Place) {
        if let Some(mut object) = self.objects.remove(place) {
            self.note(now, place, "DELETED", &mut object);
            *self.deletions.entry(place.clone()).or_default() += 1;
        }
    }

    fn note(&mut self, now: Instant, place: &Place, kind: &'static str, object: &mut Value) {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        let (place, object) = (place.clone(), object.clone());
        self.changes.push(Change { revision: self.revision, at: now, place, kind, object });
    }
}

fn finalizers(object: &Value) -> &[Value] {
    object["metadata"]["finalizers"].as_array().map_or(&[], Vec::as_slice)
}

/// The uid and the version that the object is to have, where they are named.
fn check_preconditions(wanted: &Value, found: &Value) -> Result<(), Refusal> {
    let found = &found["metadata"];
    check(&wanted["uid"], &found["uid"])?;
    check(&wanted["resourceVersion"], &found["resourceVersion"])
}

/// Leaves a field as it is stored.
fn keep(field: &str, stored: &Value, object: &mut Value) {
    match &stored[field] {
        Value::Null => drop(object.as_object_mut().and_then(|object| object.remove(field))),
        kept => object[field] = kept.clone(),
    }
}

/// A condition, where there is one.
fn check(wanted: &Value, found: &Value) -> Result<(), Refusal> {
    if wanted.is_null() || wanted == found { Ok(()) } else { Err(Refusal::of(409)) }
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

    #[test]
    fn what_is_applied_is_created_if_it_is_not_there() {
        let (store, pods) = (Asked(RefCell::new(Store::new(PODS))), Api::<Value>::new(&Resource::new(PODS)));
        let pod = json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "x": 1 } });
        let apply = || pods.patch("a", &Patch::Apply { manager: "me", force: false, object: &pod }).send(&store);
        assert!(pods.patch("a", &Patch::Merge(&pod)).send(&store).is_err_and(|error| error.is_not_found()));
        let (created, again) = (apply().unwrap_or_default(), apply().unwrap_or_default());
        assert_eq!((&created["metadata"]["name"], &created["spec"]), (&json!("a"), &json!({ "x": 1 })));
        assert_eq!(again["metadata"]["uid"], created["metadata"]["uid"]);
    }

    #[test]
    fn a_status_changes_by_its_subresource_alone() {
        let (store, pods) = (Asked(RefCell::new(Store::new(PODS))), Api::<Value>::new(&Resource::new(PODS)));
        store.0.borrow_mut().keep_status_apart();
        let pod = json!({ "metadata": { "name": "a" }, "spec": { "x": 1 } });
        assert!(pods.create(&pod).send(&store).is_ok());
        let both = json!({ "spec": { "x": 2 }, "status": { "y": 3 } });
        let parts = |call: ApiCall<Value>| {
            let object = call.send(&store).unwrap_or_default();
            (object["spec"]["x"].clone(), object["status"]["y"].clone())
        };
        assert_eq!(parts(pods.patch("a", &Patch::Merge(&both))), (json!(2), Value::Null));
        let other = json!({ "spec": { "x": 4 }, "status": { "y": 3 } });
        assert_eq!(parts(pods.status().patch("a", &Patch::Merge(&other))), (json!(2), json!(3)));
        assert_eq!(parts(pods.replace("a", &pod)), (json!(1), json!(3)));
        let older = DeleteOptions::default().with_resource_version("2");
        assert!(pods.delete("a", &older).send(&store).is_err_and(|error| error.is_conflict()));
    }

    #[test]
    fn an_object_with_finalizers_goes_with_the_last_of_them() {
        let (store, pods) = (Asked(RefCell::new(Store::new(PODS))), Api::<Value>::new(&Resource::new(PODS)));
        let finalizers = |finalizers: Value| json!({ "metadata": { "name": "a", "finalizers": finalizers } });
        assert!(pods.create(&finalizers(json!(["x/one", "x/two"]))).send(&store).is_ok());
        assert_eq!(pods.delete("a", &DeleteOptions::default()).send(&store), Ok(()));
        let patch = |patch: Value| pods.patch("a", &Patch::Merge(&patch)).send(&store);
        let marked = patch(json!({ "metadata": { "deletionTimestamp": null } })).unwrap_or_default();
        assert!(marked["metadata"]["deletionTimestamp"].is_string(), "{marked}");
        assert!(patch(finalizers(json!(["x/two", "x/three"]))).is_err(), "a new one");
        assert!(patch(finalizers(json!(["x/two"]))).is_ok() && pods.get("a").send(&store).is_ok());
        assert!(patch(finalizers(json!([]))).is_ok());
        assert!(pods.get("a").send(&store).is_err_and(|error| error.is_not_found()));
        let kinds: Vec<_> = store.0.borrow().since(1).iter().map(|change| change.kind).collect();
        assert_eq!(kinds, ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]);
    }
}
