//! The server: one request in, one answer out.

mod collect;
mod naming;
mod read;
mod recorded;
mod scale;
mod single;

use super::admission::{self, Admission, AdmissionRequest};
use super::apply::FieldOwners;
use super::cache::{Cache, Lag, Reach};
use super::collector::{Collector, NAMESPACES};
use super::conversion::Conversions;
use super::custom::{Version, Versions};
use super::events;
use super::form::Form;
use super::list::{Wanted, list, version};
use super::options::check_write;
use super::patch::{self, PatchType};
use super::place::{Id, Place};
use super::refusal::Refusal;
use super::shard;
use super::store::Store;
use super::target::{Target, path_and_query};
use super::watch::WatchState;
use super::write::{Actor, Moment};
use crate::kinds::{Kinds, ServedKind};
use listwatch_core::Instant;
use listwatch_core::api::Method;
use listwatch_core::time::WallTime;
use serde_json::Value;
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

    /// The method of a single request; without one, `LIST` or `WATCH`.
    pub(super) fn verb(&self, method: Option<Method>) -> &'static str {
        let read = || if Target::parse(self.target).is_some_and(|it| it.flag("watch")) { "WATCH" } else { "LIST" };
        method.map_or_else(read, Method::name)
    }

    /// The path, without the query.
    #[must_use]
    pub fn path(&self) -> &str {
        path_and_query(self.target).0
    }

    /// Whether the answer has the metadata of objects alone: the first form of the header `Accept` that the server has.
    #[must_use]
    pub fn asks_for_metadata(&self) -> bool {
        Form::negotiate(self.accept) == Ok(Form::Metadata)
    }
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
    form: &'a Form,
    actor: Actor,
    /// The version of a custom resource that it names, if a definition has it.
    version: Option<&'a Arc<Version>>,
    /// The patch, unless it is applied.
    patch: Option<&'a Value>,
    /// The caches that it reads.
    reach: &'a Reach,
    caller: &'a Caller<'a>,
}

/// The user that asks. The default may do all.
#[derive(Debug, Default)]
pub(super) struct Caller<'a> {
    pub(super) name: &'a str,
    /// The refusal of a creation, to which a request with another verb may come.
    pub(super) no_creation: Option<Refusal>,
}

impl Asked<'_> {
    /// The functions that are asked of its writes: the author of a test is free.
    fn admission<'s>(&self, functions: &'s Admission) -> &'s Admission {
        if self.actor == Actor::Client { functions } else { &admission::NONE }
    }

    /// The resource of a write, with the subresource.
    fn resource(&self) -> String {
        let Target { collection, subresource, .. } = self.target;
        if subresource.is_empty() { collection.clone() } else { format!("{collection}/{subresource}") }
    }

    /// A write, without its object.
    fn write<'w>(&self, operation: &'w str, resource: &'w str, place: &'w Place) -> AdmissionRequest<'w>
    where
        Self: 'w,
    {
        AdmissionRequest {
            operation,
            resource,
            name: &place.name,
            namespace: &place.namespace,
            object: &Value::Null,
            old_object: &Value::Null,
            user: self.caller.name,
            is_dry_run: self.target.parameter("dryRun").is_some(),
        }
    }

    /// The name of the manager of what it changes.
    fn manager(&self) -> &str {
        self.target.parameter("fieldManager").unwrap_or("listwatch")
    }

    /// Whether the user may create what the request names.
    fn may_create(&self) -> Result<(), Refusal> {
        self.caller.no_creation.clone().map_or(Ok(()), Err)
    }

    /// The answer that is an object.
    fn done(&self, code: u16, object: &Value) -> Reply {
        Reply::Whole { code, body: self.form.write(object).into_bytes() }
    }
}

#[derive(Debug)]
pub(super) struct Server {
    kinds: Kinds,
    versions: Versions,
    store: Store,
    origin: WallTime,
    /// How many uids were given.
    uids: u64,
    /// The field managers of each object.
    owners: BTreeMap<Id, FieldOwners>,
    collector: Collector,
    /// What a test lets change or refuse writes.
    admission: Admission,
    /// How far API servers are behind, by their numbers.
    lags: BTreeMap<usize, Lag>,
    /// Whether lists and watches can select shards.
    pub(super) selects_shards: bool,
}

impl Server {
    pub(super) fn new(origin: WallTime) -> Self {
        Self {
            kinds: Kinds::new(),
            versions: Versions::default(),
            store: Store::new(),
            origin,
            uids: 0,
            owners: BTreeMap::new(),
            collector: Collector::default(),
            admission: Admission::default(),
            lags: BTreeMap::new(),
            selects_shards: false,
        }
    }

    pub(super) fn kinds(&mut self) -> &mut Kinds {
        &mut self.kinds
    }

    /// The functions that convert versions.
    pub(super) fn conversions(&self) -> &Conversions {
        &self.versions.conversions
    }

    pub(super) fn admission(&mut self) -> &mut Admission {
        &mut self.admission
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

    pub(super) fn lags(&mut self) -> &mut BTreeMap<usize, Lag> {
        &mut self.lags
    }

    /// The cache of a collection, as a client reads it.
    pub(super) fn cache<'s>(&'s self, now: Instant, collection: &'s str, reach: &'s Reach) -> Cache<'s> {
        Cache::new(now, &self.store, collection, self.lags.get(&reach.server).copied(), reach)
    }

    /// When a read is answered that waits for its cache; `None` for one that does not.
    pub(super) fn waits(&self, now: Instant, call: &Call<'_>, reach: &Reach) -> Option<Instant> {
        let target = Target::parse(call.target).filter(|it| call.method == "GET" && !it.flag("watch"))?;
        let name = match self.versions.of(&target.collection) {
            Some(version) => version.kind.name(),
            None if self.has_events_of(&target.collection) => events::STORED.to_owned(),
            None => target.collection.clone(),
        };
        let cache = self.cache(now, &name, reach);
        let least = if target.name.is_empty() {
            Wanted::of(&target).ok()?.0.least().unwrap_or(cache.newest)
        } else {
            version(&target).ok()??
        };
        (!cache.has(least)).then(|| cache.answers(least, now))
    }

    /// Answers a request of a client, which reads these caches.
    pub(super) fn handle(&mut self, now: Instant, call: &Call<'_>, reach: &Reach, caller: &Caller<'_>) -> Reply {
        let target = Target::parse(call.target).ok_or_else(Refusal::no_page);
        let reply = target.and_then(|target| self.ask(now, call, target, Actor::Client, reach, caller));
        reply.unwrap_or_else(Reply::Refused)
    }

    /// Answers the author of a test.
    pub(super) fn act(&mut self, now: Instant, method: &str, place: &Place, body: &[u8]) -> Reply {
        let Place { kind, namespace, name, .. } = place;
        let target = Target::of(kind.name(), namespace.clone(), name.clone());
        let content_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let call = Call { method, target: "", accept: "", content_type, body };
        let reply = self.ask(now, &call, target, Actor::Author, &Reach::default(), &Caller::default());
        reply.unwrap_or_else(Reply::Refused)
    }

    fn ask(
        &mut self,
        now: Instant,
        call: &Call<'_>,
        mut target: Target,
        actor: Actor,
        reach: &Reach,
        caller: &Caller<'_>,
    ) -> Result<Reply, Refusal> {
        target.is_events = self.has_events_of(&target.collection);
        if !self.selects_shards {
            target.ignore(shard::PARAMETER);
        }
        let (target, version) = (&target, self.versions.of(&target.collection));
        let form = &Form::negotiate(call.accept)?.of(target.is_events, version.as_ref());
        let (moment, version) = (Moment { now, wall: self.wall(now) }, version.as_ref());
        let asked = Asked { moment, call, target, form, actor, version, patch: None, reach, caller };
        let reply = self.answer(&asked);
        self.settle(now);
        reply.map_err(|refusal| if target.is_events { events::refused(refusal) } else { refusal })
    }

    /// Whether a collection is that of the Events in their other version. What was recorded of it is a collection of its own.
    fn has_events_of(&self, collection: &str) -> bool {
        collection == events::COLLECTION && !self.store.is_recorded(collection)
    }

    /// The objects of a kind.
    pub(super) fn list(&self, kind: &ServedKind) -> Vec<Value> {
        if let Some(version) = self.versions.of(&kind.name()) {
            return self.store.list(&version.kind).iter().map(|object| version.shown(object)).collect();
        }
        let stored = self.kinds.known(events::STORED).filter(|_| self.has_events_of(&kind.name()));
        match stored {
            Some(stored) => self.store.list(&stored).iter().map(events::shown).collect(),
            None => self.store.list(kind),
        }
    }

    /// Adds the kind that an informer follows, so that a test finds it under the same name. A guess gives way to an informer
    /// that knows whether the objects have a namespace, unless there are some already.
    pub(super) fn follow(&mut self, target: &str, is_namespaced: Option<bool>) -> Result<(), Refusal> {
        let target = Target::parse(target).filter(|target| !self.versions.are_without(&target.collection));
        let kind = target.and_then(|target| self.kinds.of_collection(&target.collection, true));
        let Some(kind) = kind else { return Ok(()) };
        let other = is_namespaced.filter(|is_namespaced| kind.is_guessed && *is_namespaced != kind.namespaced);
        match other {
            Some(_) if !self.store.collection(&kind.name()).objects().is_empty() => {
                return Err(Refusal::guessed_scope(&kind));
            }
            Some(is_namespaced) => {
                let mut kind = (*kind).clone();
                kind.namespaced = is_namespaced;
                self.kinds.add(kind);
            }
            None => self.kinds.keep(&kind),
        }
        Ok(())
    }

    fn answer(&mut self, asked: &Asked<'_>) -> Result<Reply, Refusal> {
        let Asked { call, target, form, .. } = *asked;
        let namespaced = target.name.is_empty() || !target.namespace.is_empty();
        let collection = if target.is_events { events::STORED } else { target.collection.as_str() };
        if self.versions.are_without(collection) {
            return Err(Refusal::no_page());
        }
        let kind = match asked.version {
            Some(version) => Arc::clone(&version.kind),
            None => self.kinds.of_collection(collection, namespaced).ok_or_else(|| self.no_resource(collection))?,
        };
        if !kind.namespaced && !target.namespace.is_empty() {
            return Err(Refusal::no_resource());
        }
        let is_of_object = !target.name.is_empty() || asked.call.method == "POST";
        if kind.is_guessed && kind.namespaced && target.namespace.is_empty() && is_of_object {
            return Err(Refusal::guessed_namespaced(&kind));
        }
        let has_options = call.method == "DELETE" && !call.body.is_empty();
        self.store.set_dry_run(target.parameter("dryRun").is_some() && !has_options);
        let place = Place {
            kind,
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            version: asked.version.cloned(),
        };
        let kind = &place.kind;
        if ["PUT", "PATCH"].contains(&call.method) {
            place.check_subresource(&target.subresource)?;
        }
        let is_patch = call.method == "PATCH" && is_of_object;
        let patch_type = is_patch.then(|| PatchType::of(kind, call.content_type)).transpose()?;
        let options = [("POST", "CreateOptions"), ("PUT", "UpdateOptions"), ("PATCH", "PatchOptions")];
        if let Some((_, options)) = options.iter().find(|(method, _)| *method == call.method) {
            check_write(target, options)?;
        }
        let patch = patch_type.filter(|it| *it != PatchType::Apply).map(|_| patch::parse(call.body)).transpose()?;
        let asked = &Asked { patch: patch.as_ref(), ..*asked };
        if call.method == "GET" && target.name.is_empty() && target.flag("watch") {
            let (now, name) = (asked.moment.now, place.kind.name());
            let cache = self.cache(now, &name, asked.reach);
            return WatchState::begin(now, &cache, &place.kind, target, form)
                .map(|watch| Reply::Watch(Box::new(watch)));
        }
        match (call.method, target.name.is_empty()) {
            ("GET", true) => {
                let name = place.kind.name();
                let cache = self.cache(asked.moment.now, &name, asked.reach);
                list(&cache, &place.kind, target, form).map(|body| Reply::Whole { code: 200, body })
            }
            ("GET", false) => self.read(asked, &place),
            ("POST", true) => self.create(asked, place),
            ("PUT" | "PATCH", false) => self.change(asked, &place),
            ("DELETE", false) if target.subresource.is_empty() => self.delete(asked, &place),
            ("DELETE", true) if place.kind.name() != NAMESPACES => self.delete_collection(asked, &place.kind),
            _ => Err(Refusal::no_method()),
        }
    }

    /// The refusal of a collection that is not there: that of its group, if there is one.
    fn no_resource(&self, collection: &str) -> Refusal {
        let (version, _) = collection.rsplit_once('/').unwrap_or_default();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        if self.kinds.has_group(group) { Refusal::no_resource() } else { Refusal::no_page() }
    }
}
