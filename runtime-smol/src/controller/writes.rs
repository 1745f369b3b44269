//! What a reconcile has [written](Written), and what the stores are [expected](Expected) to show of it.

use crate::informers::{Collection, InformerHandle};
use crate::mutex::Mutex;
use core::any::Any;
use core::pin::Pin;
use listwatch_core::api::{ApiRequest, ApiResponse, Method};
use listwatch_core::controller::{Awaited, Write};
use listwatch_core::decode::{DecodeOptions, Decoder, ListMeta, MetadataOnly, Status};
use listwatch_core::object::{LabelSelector, Meta, Uid, Version, compare_versions};
use listwatch_core::{Key, Resource, Store};
use smol::lock::{Semaphore, SemaphoreGuardArc};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

/// A state that the server has, and that a watch will bring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    key: Key,
    uid: Option<Uid>,
    /// The object, unless the answer is the status of a deletion.
    object: Option<Meta>,
    /// Whether the object is gone, or terminates.
    is_deleted: bool,
}

impl From<Meta> for Written {
    fn from(object: Meta) -> Self {
        Self { key: object.key().clone(), uid: object.uid(), object: Some(object), is_deleted: false }
    }
}

impl Written {
    /// Reads the answer to `request`; `None` if it names no state to wait for: the request changes nothing, or the
    /// answer is about something else, such as an eviction.
    pub(super) fn read(request: &ApiRequest, response: &ApiResponse) -> Option<Self> {
        let is_dry_run = request.query.iter().any(|(name, _)| *name == "dryRun");
        if request.method == Method::Get || is_dry_run || !(200..300).contains(&response.status) {
            return None;
        }
        let (is_deleted, object) = (request.method == Method::Delete, object_in(response));
        if is_deleted && object.is_none() {
            let status = Status::read(response.status, &response.body);
            let namespace = Collection::of(&request.path).and_then(|collection| collection.namespace);
            let (key, uid) = (Key::new(namespace, status.name()?), Some(status.uid()?));
            return Some(Self { key, uid, object, is_deleted });
        }
        let written = Self { is_deleted, ..object?.into() };
        let is_known = if is_deleted { written.uid.is_some() } else { written.version().is_some() };
        is_known.then_some(written)
    }

    /// Why no store of this resource shows the write, if the program or the server made a mistake.
    pub(super) fn mistake(&self, request: &ApiRequest, resource: &Resource) -> Option<String> {
        let requested = Collection::of(&request.path)?;
        let (path, key) = (resource.path(), &self.key);
        if !Collection::of(path).is_none_or(|collection| collection.covers(&requested)) {
            return Some(format!("the request is for {}, and the informer has {path}", request.path));
        }
        // A name with special characters is escaped in the path.
        let is_name = requested.name.is_none_or(|name| name == key.name() || name.contains('%'));
        let is_namespace = requested.namespace == key.namespace();
        (!is_name || !is_namespace).then(|| format!("the answer is about {key}, and the request for {}", request.path))
    }

    /// Whether the informer's store can show the write, as far as the object's labels tell. An object that leaves the
    /// selection is shown as a deletion, if it was there before.
    pub(super) fn is_of<T>(&self, kind: &InformerHandle<T>) -> bool {
        let selector = kind.resource().label_selector().and_then(|selector| LabelSelector::parse(selector).ok());
        match (&self.object, selector) {
            (Some(meta), Some(selector)) => selector.matches(|name| meta.label(name)) || kind.contains(&self.key),
            _ => true,
        }
    }

    /// Whether the informer's store will show an object that was only read. Where there are field selectors, that cannot be
    /// told, unless the store has it.
    pub(super) fn is_surely_of<T>(&self, kind: &InformerHandle<T>) -> bool {
        kind.contains(&self.key) || (kind.resource().field_selector().is_none() && self.is_of(kind))
    }

    /// What the informer's store is to show.
    pub(super) fn expected_in<T: Send + Sync + 'static>(self, kind: &InformerHandle<T>) -> Expected {
        let version = self.version();
        let until = match self.is_deleted {
            true => Awaited::Gone(self.uid.clone()),
            false => Awaited::Version(version.clone().unwrap_or_default()),
        };
        let write = Write { source: kind.resource().path().into(), object: self.key, until };
        Expected::new(kind, write, self.uid, version)
    }

    /// The object that was written.
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.object.as_ref().and_then(version_of)
    }
}

/// The version of an object in an answer.
pub(super) fn version_in(response: &ApiResponse) -> Option<Version> {
    version_of(&object_in(response)?)
}

fn object_in(response: &ApiResponse) -> Option<Meta> {
    let object = Decoder::new(DecodeOptions::default()).item::<MetadataOnly>(&response.body, &ListMeta::default());
    Some(object.ok()?.meta)
}

/// The version of an object.
pub(super) fn version_of(meta: &Meta) -> Option<Version> {
    Some(meta.resource_version()).filter(|version| !version.is_empty()).map(Version::from)
}

/// The writes of all keys that are awaited at the streams' side.
pub(super) struct Awaiting {
    /// The key of a write that finds no room waits for its longest time.
    room: Arc<Semaphore>,
    /// Of writes that are stale.
    stale_room: Arc<Semaphore>,
    /// The writes that were awaited too often, until their stores show them.
    stale: Mutex<HashMap<Key, Vec<Expected>>>,
}

/// As many writes are followed until their stores show them.
const MOST_FOLLOWED: usize = 16_384;
/// As many writes are followed that their keys do not wait for any more.
const MOST_STALE: usize = 4096;
impl Default for Awaiting {
    fn default() -> Self {
        let [room, stale_room] = [MOST_FOLLOWED, MOST_STALE].map(|most| Arc::new(Semaphore::new(most)));
        Self { room, stale_room, stale: Mutex::default() }
    }
}

impl Awaiting {
    /// The writes of the key's reconciles that were awaited too often, and are not shown yet.
    pub(super) fn stale(&self, key: &Key) -> Vec<Expected> {
        self.stale.lock().get(key).cloned().unwrap_or_default()
    }

    /// Room to follow a write, if there is some.
    pub(super) fn room(&self, is_stale: bool) -> Option<SemaphoreGuardArc> {
        if is_stale { self.stale_room.try_acquire_arc() } else { self.room.try_acquire_arc() }
    }

    /// The key waits no more for these writes.
    pub(super) fn add_stale(&self, key: &Key, writes: &[Expected]) {
        self.stale.lock().entry(key.clone()).or_default().extend_from_slice(writes);
    }

    /// The write is shown, or forgotten.
    pub(super) fn forget(&self, key: &Key, write: &Expected) {
        let mut stale = self.stale.lock();
        let Some(writes) = stale.get_mut(key) else { return };
        writes.retain(|other| !other.is_same(write));
        if writes.is_empty() {
            stale.remove(key);
        }
    }
}

/// What the stores are to show after a reconcile. All of it is by the object.
#[derive(Default)]
pub(super) struct Writes {
    /// What is awaited before the key's next reconcile.
    awaited: BTreeMap<Key, Vec<Expected>>,
    /// What was awaited before, too often.
    stale: BTreeMap<Key, Vec<Expected>>,
    /// What was not shown in time before this reconcile: both of these.
    late: Vec<(Informer, Key)>,
    /// The versions that were read live, each with its informer.
    seen: BTreeMap<Key, Vec<(Informer, Version)>>,
    /// How many are awaited.
    count: usize,
    is_over: bool,
}

type Informer = Weak<dyn Any + Send + Sync>;

/// As many writes one reconcile awaits.
const MOST_OF_ONE: usize = 16_384;

impl Writes {
    /// Those of a reconcile that begins, with those of earlier ones.
    pub(super) fn new(awaited: Vec<Expected>, stale: Vec<Expected>) -> Self {
        let (count, all) = (awaited.len(), awaited.iter().chain(&stale));
        let late = all.map(|write| (Weak::clone(&write.informer), write.write.object.clone())).collect();
        Self { awaited: by_object(awaited), stale: by_object(stale), late, count, ..Self::default() }
    }

    /// Whether a write to this object was not shown in time by the store of this informer. `None` if no late write has its
    /// informer, as in a replay.
    pub(super) fn is_late(&self, informer: &Informer, object: &Key) -> Option<bool> {
        let is_it = |(known, late): &(Informer, Key)| known.ptr_eq(informer) && late == object;
        (!self.late.is_empty()).then(|| self.late.iter().any(is_it))
    }

    /// An object was read live at this version.
    pub(super) fn saw(&mut self, informer: Informer, object: &Key, version: Version) {
        let seen = self.seen.entry(object.clone()).or_default();
        if !seen.iter().any(|(known, last)| known.ptr_eq(&informer) && *last == version) {
            seen.push((informer, version));
        }
    }

    /// Waits for a write. One wait serves all writes of an object.
    ///
    /// # Errors
    /// The reconcile is over, or awaits too many.
    pub(super) fn expect(&mut self, mut new: Expected) -> Result<(), &'static str> {
        if self.is_over {
            return Err("came after the end of its reconcile");
        }
        let object = new.write.object.clone();
        for (informer, version) in self.seen.get(&object).into_iter().flatten() {
            if new.is_of(informer, &object) {
                new.reach(version);
            }
        }
        let awaited = self.awaited.entry(object.clone()).or_default();
        while let Some((at, both)) = awaited.iter().enumerate().find_map(|(at, known)| Some((at, known.with(&new)?))) {
            awaited.remove(at);
            self.count -= 1;
            new = both;
        }
        if self.stale.get(&object).into_iter().flatten().any(|stale| stale.is_same(&new)) {
            return Ok(());
        }
        if self.count == MOST_OF_ONE {
            return Err("is one of too many in one reconcile");
        }
        self.count += 1;
        awaited.push(new);
        Ok(())
    }

    /// Ends the reconcile: what is awaited now.
    pub(super) fn end(&mut self) -> Vec<Expected> {
        self.is_over = true;
        core::mem::take(&mut self.awaited).into_values().flatten().collect()
    }
}

fn by_object(writes: Vec<Expected>) -> BTreeMap<Key, Vec<Expected>> {
    let mut objects = BTreeMap::<_, Vec<_>>::new();
    writes.into_iter().for_each(|write| objects.entry(write.write.object.clone()).or_default().push(write));
    objects
}

/// A write, and the store that is to show it. The wait can begin again.
#[derive(Clone)]
pub(super) struct Expected {
    pub(super) write: Write,
    /// The uid of the object.
    uid: Option<Uid>,
    /// The store has a deletion if it has reached this version, and then has no such object: an object that it never had
    /// may be on its way.
    version: Option<Version>,
    /// How many times its key has waited for it.
    pub(super) waits: u32,
    /// The shard of its key, if there are shards.
    pub(super) shard: Option<u16>,
    /// The informer of the store.
    informer: Weak<dyn Any + Send + Sync>,
    show: Arc<dyn Fn(&Self) -> Shown + Send + Sync>,
}

/// Completes when a store shows a write, or can show it no more. False if the store has no object, although it was not
/// deleted by this write: another client may have deleted it before the watch told of it. If the store never had it, no
/// event tells of that.
pub(super) type Shown = Pin<Box<dyn Future<Output = bool> + Send>>;

impl Expected {
    fn new<T: Send + Sync + 'static>(
        kind: &InformerHandle<T>,
        write: Write,
        uid: Option<Uid>,
        version: Option<Version>,
    ) -> Self {
        let store = kind.store().clone();
        // An object that no field selector of the informer selects is never in the store: nobody has deleted it.
        let is_whole = kind.resource().field_selector().is_none();
        let show = Arc::new(move |expected: &Self| {
            let shown = shown(store.clone(), expected.write.clone(), expected.version.clone());
            Box::pin(async move { shown.await || !is_whole }) as Shown
        });
        Self { write, uid, version, waits: 0, shard: None, informer: kind.identity(), show }
    }

    /// Waits until the store shows it.
    pub(super) fn shown(&self) -> Shown {
        (self.show)(self)
    }

    /// Lets a deletion wait for this version too.
    fn reach(&mut self, version: &Version) {
        if self.is_deletion()
            && let Some(Some(later)) = later(self.version.as_ref(), Some(version))
        {
            self.version = Some(later.clone());
        }
    }

    /// What shows both, if one wait can. Of two versions, the store is to show the later one, whichever answer came last.
    fn with(&self, other: &Self) -> Option<Self> {
        let is_of_one = self.is_of(&other.informer, &other.write.object);
        let of_uid = |uid: &Option<Uid>| self.uid.is_none() || uid.is_none() || *uid == self.uid;
        let (mine, others) = (self.is_deletion(), other.is_deletion());
        if !is_of_one || ((mine || others) && !of_uid(&other.uid)) {
            return None;
        }
        let version = later(self.version.as_ref(), other.version.as_ref())?.cloned();
        // A deletion shows what was written before. Otherwise it is the later version.
        let takes_other = if mine == others { version != self.version } else { others };
        let both = if takes_other { other } else { self };
        let waits = if version == both.version { both.waits } else { 0 };
        Some(Self { version, waits, ..both.clone() })
    }

    /// Whether it is a write to this object, which the store of this informer is to show.
    fn is_of(&self, informer: &Weak<dyn Any + Send + Sync>, object: &Key) -> bool {
        self.informer.ptr_eq(informer) && self.write.object == *object
    }

    /// Whether the two wait for the same.
    fn is_same(&self, other: &Self) -> bool {
        self.informer.ptr_eq(&other.informer) && self.write == other.write && self.version == other.version
    }

    fn is_deletion(&self) -> bool {
        matches!(self.write.until, Awaited::Gone(_))
    }
}

/// The later version; none if they have no order.
fn later<'v>(one: Option<&'v Version>, other: Option<&'v Version>) -> Option<Option<&'v Version>> {
    match (one, other) {
        (Some(one), Some(other)) if one == other => Some(Some(one)),
        (Some(one), Some(other)) => {
            compare_versions(one, other).ok().map(|order| Some(if order.is_lt() { other } else { one }))
        }
        (one, other) => Some(one.or(other)),
    }
}

/// Waits until the store shows the write, or cannot: its informer was stopped, its versions have no order, or it does
/// not cover the object's namespace.
async fn shown<T>(store: Store<T>, write: Write, version: Option<Version>) -> bool {
    let reached = match &version {
        Some(version) => store.await_version(&write.object, version).await,
        None => Ok(()),
    };
    match write.until {
        Awaited::Gone(Some(uid)) => _ = store.await_gone(&write.object, uid).await,
        Awaited::Version(_) if reached.is_ok() && !store.contains(&write.object) => return false,
        _ => {}
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_core::Resource;
    use listwatch_core::api::{Api, ApiCall, DeleteOptions};
    use serde_json::{Value, json};

    const POD: &[u8] = br#"{"metadata":{"namespace":"web","name":"a","uid":"u-1","resourceVersion":"7"}}"#;

    fn pods() -> Api<Value> {
        Api::new(&Resource::new("/api/v1/namespaces/web/pods"))
    }

    fn read<T>(call: &ApiCall<T>, status: u16, body: &[u8]) -> Option<Written> {
        Written::read(call.request().unwrap(), &ApiResponse::new(status, body))
    }

    #[test]
    fn a_write_is_at_the_version_of_its_answer() {
        for call in
            [pods().create(&json!({})), pods().replace("a", &json!({})), pods().status().replace("a", &json!({}))]
        {
            let written = read(&call, 201, POD).unwrap();
            assert_eq!((written.key().as_str(), written.version()), ("web/a", Some("7".into())));
        }
    }

    #[test]
    fn a_deletion_is_of_the_uid_of_its_answer_whether_that_is_the_object_or_a_status() {
        let deleted = |written: Option<Written>| {
            let written = written.filter(|written| written.is_deleted).unwrap();
            let version = written.version();
            (written.key, written.uid.unwrap(), version)
        };
        let (key, uid) = (Key::from("web/a"), Uid::from("u-1"));
        let delete = pods().delete("a", &DeleteOptions::default());
        assert_eq!(deleted(read(&delete, 200, POD)), (key.clone(), uid.clone(), Some("7".into())));
        let status = br#"{"kind":"Status","metadata":{},"status":"Success","details":{"name":"a","uid":"u-1"}}"#;
        assert_eq!(deleted(read(&delete, 200, status)), (key, uid, None));
        let node = Api::<Value>::new(&Resource::new("/api/v1/namespaces")).delete("a", &DeleteOptions::default());
        assert_eq!(read(&node, 200, status).map(|written| written.key().clone()), Some("a".into()));
    }

    #[test]
    fn what_changes_nothing_or_is_refused_or_is_about_something_else_is_not_waited_for() {
        assert_eq!(read(&pods().get("a"), 200, POD), None);
        assert_eq!(read(&pods().create(&json!({})).with_dry_run(), 201, POD), None);
        assert_eq!(read(&pods().create(&json!({})), 409, POD), None);
        let eviction = pods().subresource::<Value>("eviction");
        assert_eq!(read(&eviction.create(&json!({})), 201, br#"{"kind":"Status","status":"Success"}"#), None);
        assert_eq!(read(&pods().delete("a", &DeleteOptions::default()), 200, b"gone"), None);
    }
}
