//! The server: one request in, one answer out.

mod collect;
mod naming;
mod read;
mod scale;
mod single;

use super::apply::FieldOwners;
use super::collector::Collector;
use super::form::Form;
use super::kinds::{Kinds, ServedKind};
use super::list::list;
use super::place::{Id, Place};
use super::refusal::Refusal;
use super::store::{self, Recorded, RecordedGap, Store};
use super::target::Target;
use super::watch::WatchState;
use super::write::{Actor, Moment};
use listwatch_core::time::WallTime;
use listwatch_core::{Instant, Key};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One request, as it comes over a wire.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The method, such as `GET`.
    pub method: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// The header `Accept`; empty for any media type.
    pub accept: &'a str,
    /// The header `Content-Type`; empty for none.
    pub content_type: &'a str,
    /// The body; empty for none.
    pub body: &'a [u8],
}

impl Call<'_> {
    /// The name of the collection that the target names, or that has the object it names, such as `v1/pods`. Escaped
    /// characters of the path are decoded first. `None` if the target is not the path of a resource.
    #[must_use]
    pub fn collection(&self) -> Option<String> {
        Target::parse(self.target).map(|target| target.collection)
    }
}

/// A change that was recorded elsewhere.
#[derive(Clone, Debug)]
pub struct RecordedChange {
    /// The name of the collection, such as `apps/v1/deployments`.
    pub collection: String,
    /// The change.
    pub kind: RecordedKind,
    /// The version after it.
    pub version: u64,
    /// The object after it or, if it was deleted, its last state. Of a bookmark, it is not read.
    pub object: Value,
}

/// The kind of a recorded change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedKind {
    /// The object is there, new or changed.
    Present,
    /// The object was deleted.
    Deleted,
    /// All changes up to the version are known.
    Bookmark,
}

/// A state that was recorded elsewhere, behind a gap: the changes that led to it are unknown.
#[derive(Clone, Debug)]
pub struct RecordedState {
    /// The name of the collection, such as `apps/v1/deployments`.
    pub collection: String,
    /// The objects that are new or changed.
    pub changed: Vec<Value>,
    /// The keys of the objects that are gone.
    pub gone: Vec<Key>,
    /// The version of the state.
    pub version: u64,
}

/// The answer to a request.
#[derive(Debug)]
pub(super) enum Reply {
    /// A body that is complete.
    Whole {
        code: u16,
        body: Vec<u8>,
    },
    Watch(Box<WatchState>),
    Refused(Refusal),
}

/// A request that was read, and its time.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    moment: Moment,
    call: &'a Call<'a>,
    target: &'a Target,
    form: Form,
    actor: Actor,
}

impl Asked<'_> {
    /// The answer that is an object.
    fn done(&self, code: u16, object: &Value) -> Reply {
        Reply::Whole { code, body: self.form.write(object).into_bytes() }
    }
}

#[derive(Debug)]
pub(super) struct Server {
    kinds: Kinds,
    store: Store,
    origin: WallTime,
    /// How many uids were given.
    uids: u64,
    /// The field managers of each object.
    owners: BTreeMap<Id, FieldOwners>,
    collector: Collector,
}

impl Server {
    pub(super) fn new(origin: WallTime) -> Self {
        Self {
            kinds: Kinds::new(),
            store: Store::new(),
            origin,
            uids: 0,
            owners: BTreeMap::new(),
            collector: Collector::default(),
        }
    }

    pub(super) fn kinds(&mut self) -> &mut Kinds {
        &mut self.kinds
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }

    /// The date at a time of its clock.
    pub(super) fn wall(&self, now: Instant) -> WallTime {
        self.origin + now.saturating_since(Instant::ZERO)
    }

    /// Answers a request.
    pub(super) fn handle(&mut self, now: Instant, call: &Call<'_>, actor: Actor) -> Reply {
        let moment = Moment { now, wall: self.wall(now) };
        let reply = Target::parse(call.target).ok_or_else(Refusal::no_page).and_then(|target| {
            let form = Form::negotiate(call.accept)?;
            self.answer(&Asked { moment, call, target: &target, form, actor })
        });
        self.settle(now);
        reply.unwrap_or_else(Reply::Refused)
    }

    /// Answers the author of a test.
    pub(super) fn act(&mut self, now: Instant, method: &str, place: &Place, body: &[u8]) -> Reply {
        let Place { kind, namespace, name } = place;
        let target = Target::of(kind.name(), namespace.clone(), name.clone());
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let call = Call { method, target: "", accept: "", content_type, body };
        let moment = Moment { now, wall: self.wall(now) };
        let asked = Asked { moment, call: &call, target: &target, form: Form::Whole, actor: Actor::Author };
        let reply = self.answer(&asked);
        self.settle(now);
        reply.unwrap_or_else(Reply::Refused)
    }

    /// Enters a change that was recorded elsewhere. A change of a collection that no kind can have is left out.
    pub(super) fn apply_recorded(&mut self, now: Instant, change: RecordedChange) {
        let RecordedChange { collection, kind: change, version: revision, object } = change;
        let Some(kind) = self.kind_of_recorded(&collection, &object, is_namespaced(&object)) else { return };
        if change == RecordedKind::Bookmark {
            return self.store.advance(&kind, revision);
        }
        let key = recorded_key(&object);
        let object = typed(object, &kind);
        let is_deletion = change == RecordedKind::Deleted;
        self.store.record(now, &kind, &key, object, Recorded { revision, is_deletion });
        self.settle_recorded(now);
    }

    /// Enters a state that was recorded elsewhere. A watch that comes to it gets a 410, and so does one from before it.
    pub(super) fn apply_relisted(&mut self, now: Instant, state: RecordedState) {
        let RecordedState { collection, changed, gone, version: revision } = state;
        let sample = changed.first().unwrap_or(&Value::Null);
        let Some(kind) = self.kind_of_recorded(&collection, sample, is_namespaced(sample)) else { return };
        let changed = changed.into_iter().map(|object| (recorded_key(&object), typed(object, &kind))).collect();
        let gone = gone.iter().map(|key| store::key(key.namespace().unwrap_or_default(), key.name())).collect();
        self.store.record_gap(now, &kind, RecordedGap { revision, changed, gone });
        self.settle_recorded(now);
    }

    fn kind_of_recorded(&mut self, collection: &str, object: &Value, namespaced: bool) -> Option<Arc<ServedKind>> {
        let (api_version, plural) = collection.rsplit_once('/')?;
        let known = self.kinds.of_collection(collection, namespaced);
        let kind = object["kind"].as_str().filter(|_| object["apiVersion"] == api_version);
        match (known, kind) {
            (Some(known), Some(kind)) if known.kind != kind => {
                Some(self.kinds.add(ServedKind { kind: kind.to_owned(), ..(*known).clone() }))
            }
            (None, kind) => Some(self.kinds.add(ServedKind::custom(api_version, kind?, plural, namespaced))),
            (known, _) => known,
        }
    }

    /// Adds the kind that an informer follows, so that a test finds it under the same name.
    pub(super) fn follow(&mut self, target: &str) {
        let kind = Target::parse(target).and_then(|target| self.kinds.of_collection(&target.collection, true));
        kind.iter().for_each(|kind| self.kinds.keep(kind));
    }

    fn answer(&mut self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let Asked { call, target, form, .. } = *asked;
        let namespaced = target.name.is_empty() || !target.namespace.is_empty();
        let kind = self.kinds.of_collection(&target.collection, namespaced).ok_or_else(Refusal::no_resource)?;
        if !kind.namespaced && !target.namespace.is_empty() {
            return Err(Refusal::no_resource());
        }
        let is_of_object = !target.name.is_empty() || asked.call.method == "POST";
        if kind.is_guessed && kind.namespaced && target.namespace.is_empty() && is_of_object {
            return Err(Refusal::guessed_namespaced(&kind));
        }
        self.store.set_dry_run(target.parameter("dryRun").is_some());
        if call.method == "GET" && target.name.is_empty() && target.flag("watch") {
            return WatchState::begin(asked.moment.now, &self.store, &kind, target, form)
                .map(|watch| Reply::Watch(Box::new(watch)));
        }
        let place = Place { kind, namespace: target.namespace.clone(), name: target.name.clone() };
        match (call.method, target.name.is_empty()) {
            ("GET", true) => list(&self.store, &place.kind, target, form).map(|body| Reply::Whole { code: 200, body }),
            ("GET", false) => self.read(asked, &place),
            ("POST", true) => self.create(asked, place),
            ("PUT" | "PATCH", false) => self.change(asked, &place),
            ("DELETE", false) => self.delete(asked, &place),
            ("DELETE", true) => self.delete_collection(asked, &place.kind),
            _ => Err(Refusal::no_method()),
        }
    }
}

fn is_namespaced(object: &Value) -> bool {
    object["metadata"]["namespace"].is_string()
}

/// A recorded object with its type. What is no object has no other field.
fn typed(mut object: Value, kind: &ServedKind) -> Value {
    if !object.is_object() {
        object = json!({});
    }
    (object["kind"], object["apiVersion"]) = (json!(kind.kind), json!(kind.api_version));
    object
}

fn recorded_key(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    store::key(text("namespace"), text("name"))
}
