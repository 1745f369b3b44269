//! Who owns an object: the own kind of a controller, and the references to it.

#[cfg(feature = "shards")]
use crate::informers::Selection;
use crate::informers::{Collection, Found, HandleSynced, InformerHandle, Informers, WhenDenied, World};
use crate::mutex::Mutex;
use listwatch_core::Key;
use listwatch_core::object::{Meta, OwnerReference, Uid};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// How a program says the kind of an informer's objects.
pub(super) const SAY_KIND: &str = "make its informer with_kind(\"…\"), or of a Kind by informer_where";

/// Why the objects of a resource own nothing.
pub(super) fn unnamed(path: &str) -> String {
    format!("the kind of {path} is not known, so it owns nothing; {SAY_KIND}")
}

/// The own kind of a controller.
pub(super) struct OwnKind {
    path: String,
    world: World,
    /// The API group; empty for the core group.
    group: String,
    /// The name of the kind, such as `Foo`, if it is known.
    name: Option<String>,
    /// Whether its objects have a namespace, once that is known.
    is_namespaced: OnceLock<bool>,
    keys: Box<dyn Fn() -> Vec<Key> + Send + Sync>,
    any_key: Box<dyn Fn() -> Option<Key> + Send + Sync>,
    synced: Box<dyn Fn() -> HandleSynced + Send + Sync>,
    #[cfg(feature = "shards")]
    uid_of: UidOf,
    #[cfg(feature = "shards")]
    select: Box<dyn Fn(&Selection) -> bool + Send + Sync>,
    #[cfg(feature = "shards")]
    selected: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// The uid of the object of a key.
#[cfg(feature = "shards")]
type UidOf = Box<dyn Fn(&Key) -> Option<Uid> + Send + Sync>;

impl OwnKind {
    pub(super) fn of<T: Send + Sync + 'static>(
        objects: &InformerHandle<T>,
        denied: WhenDenied,
        is_namespaced: Option<bool>,
    ) -> Self {
        let names_one = objects.streams().iter().any(|stream| stream.name.namespace().is_some());
        let is_namespaced = is_namespaced.or_else(|| objects.is_namespaced()).or_else(|| names_one.then_some(true));
        let (listed, known, awaited) = (objects.clone(), objects.clone(), objects.clone());
        #[cfg(feature = "shards")]
        let (identified, parted, asked) = (objects.clone(), objects.clone(), objects.clone());
        Self {
            path: objects.resource().path().to_owned(),
            world: Informers::of(objects).world().clone(),
            name: objects.kind().map(str::to_owned),
            group: Collection::of(objects.resource().path()).map_or("", |collection| collection.group).to_owned(),
            is_namespaced: is_namespaced.map_or_else(OnceLock::new, OnceLock::from),
            keys: Box::new(move || listed.keys().into_iter().collect()),
            any_key: Box::new(move || known.read(|objects| objects.keys().next().cloned())),
            synced: Box::new(move || awaited.synced_for_start(denied)),
            #[cfg(feature = "shards")]
            uid_of: Box::new(move |key| identified.read(|it| it.get(key).and_then(|it| it.meta().uid()))),
            #[cfg(feature = "shards")]
            select: Box::new(move |selection| parted.keep_part(selection)),
            #[cfg(feature = "shards")]
            selected: Box::new(move || asked.selected()),
        }
    }

    /// Why the objects of an informer cannot name an owner of this kind: the kind's name is not known, or their owners
    /// are in another world.
    pub(super) fn check_owns<T>(&self, owned: &InformerHandle<T>) -> Result<(), String> {
        let path = &self.path;
        if self.name.is_none() {
            return Err(unnamed(path));
        }
        if !Informers::of(owned).world().is_same(&self.world) {
            let (owned, instead) = (owned.resource().path(), "use maps(…), or one World for one cluster");
            return Err(format!("{owned} is in another world than {path}, so its owners are other objects; {instead}"));
        }
        Ok(())
    }

    /// The keys of all objects.
    pub(super) fn keys(&self) -> Vec<Key> {
        (self.keys)()
    }

    /// The uid of an object that the cache has.
    #[cfg(feature = "shards")]
    pub(super) fn uid_of(&self, key: &Key) -> Option<Uid> {
        (self.uid_of)(key)
    }

    /// Lets the cache keep the objects of some shards alone. False if another controller does, or if it is saved.
    #[cfg(feature = "shards")]
    pub(super) fn select(&self, selection: &Selection) -> bool {
        (self.select)(selection)
    }

    /// The number of the last selection whose objects the cache has.
    #[cfg(feature = "shards")]
    pub(super) fn selected(&self) -> u64 {
        (self.selected)()
    }

    /// Waits until the cache has the first state.
    pub(super) fn synced(&self) -> HandleSynced {
        (self.synced)()
    }

    /// Learns from an object of the kind whether all of them have a namespace.
    pub(super) fn learn(&self, key: &Key) {
        self.is_namespaced.get_or_init(|| key.namespace().is_some());
    }

    /// The same from the cache.
    pub(super) fn learn_from_cache(&self) {
        if self.is_namespaced.get().is_none()
            && let Some(key) = (self.any_key)()
        {
            self.learn(&key);
        }
    }

    /// The key of the owner of this kind that an object's metadata names, if it names one; both that it
    /// [may have](Self::keys_of).
    pub(super) fn owner_keys(&self, meta: &Meta) -> impl Iterator<Item = Key> + use<> {
        self.owner_of(meta).map(|owner| self.keys_of(meta.namespace(), owner.name)).into_iter().flatten()
    }

    /// The uid in the same reference.
    pub(super) fn owner_uid(&self, meta: &Meta) -> Option<Uid> {
        self.owner_of(meta)?.uid
    }

    /// The reference to the owner of this kind.
    fn owner_of<'m>(&self, meta: &'m Meta) -> Option<OwnerReference<'m>> {
        let is_ours = |owner: &OwnerReference<'_>| {
            let group = owner.api_version.split_once('/').map_or("", |(group, _version)| group);
            owner.controller && Some(owner.kind) == self.name.as_deref() && group == self.group
        };
        meta.owner_references().find(is_ours)
    }

    /// The key of the object of this name: in `namespace`, or in none. As long as no object was seen that tells, it is
    /// either, so both are returned.
    fn keys_of(&self, namespace: Option<&str>, name: &str) -> impl Iterator<Item = Key> + use<> {
        let is_namespaced = self.is_namespaced.get();
        let inside = Some(Key::new(namespace, name)).filter(|_| is_namespaced != Some(&false));
        let outside =
            Some(Key::new(None, name)).filter(|key| is_namespaced != Some(&true) && inside.as_ref() != Some(key));
        inside.into_iter().chain(outside)
    }
}

/// The collections of the sources, and those that were missed among them.
#[derive(Default)]
pub(super) struct Followed(Mutex<Paths>);

#[derive(Default)]
struct Paths {
    /// One for each source.
    sources: Vec<Arc<str>>,
    missed: Vec<Box<str>>,
}

impl Followed {
    pub(super) fn of(sources: impl Iterator<Item = Arc<str>>) -> Self {
        Self(Mutex::new(Paths { sources: sources.collect(), missed: Vec::new() }))
    }

    pub(super) fn add(&self, path: &Arc<str>) {
        self.0.lock().sources.push(Arc::clone(path));
    }

    /// One of the sources of this path is removed.
    pub(super) fn remove(&self, path: &str) {
        let sources = &mut self.0.lock().sources;
        if let Some(at) = sources.iter().position(|source| **source == *path) {
            sources.swap_remove(at);
        }
    }

    /// The source whose path a text begins with; the longest of them.
    #[cfg(feature = "file")]
    pub(super) fn source_of(&self, text: &str) -> Option<Arc<str>> {
        let paths = self.0.lock();
        let begins = |source: &&Arc<str>| {
            text.strip_prefix(&***source).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        paths.sources.iter().filter(begins).max_by_key(|source| source.len()).cloned()
    }

    /// Whether no source has objects of this collection, for the first time that it is missed. Another informer of the
    /// same objects counts: one of their metadata alone, of another version, or of one of their namespaces.
    pub(super) fn misses(&self, path: &str) -> bool {
        let mut paths = self.0.lock();
        if paths.sources.iter().any(|source| overlap(source, path)) || paths.missed.iter().any(|known| **known == *path)
        {
            return false;
        }
        paths.missed.push(path.into());
        true
    }
}

/// Whether two collections may have objects in common. A path that is not of the API is compared as it is.
fn overlap(one: &str, other: &str) -> bool {
    match (Collection::of(one), Collection::of(other)) {
        (Some(one), Some(other)) => one.covers(&other) || other.covers(&one),
        _ => one == other,
    }
}

/// The entry of `metadata.ownerReferences` that makes `owner` the controller of the object under `key` (controller-runtime
/// `SetControllerReference`).
///
/// # Errors
/// The garbage collector would not find the owner where it looks, and would delete the object.
pub(super) fn reference_to<T, O>(owner: &Found<O>, informer: &InformerHandle<T>, key: &Key) -> Result<Value, String> {
    let (of_owner, name) = (owner.informer(), owner.meta().name());
    let Some(kind) = of_owner.kind() else {
        return Err(unnamed(of_owner.resource().path()));
    };
    let Some(uid) = owner.meta().uid() else {
        return Err(format!("the owner {name} has no uid"));
    };
    if !Informers::of(informer).world().is_same(Informers::of(of_owner).world()) {
        let why = "is in another world, where no garbage collector finds it; one cluster has one World";
        return Err(format!("the owner {name} {why}"));
    }
    match (owner.meta().namespace(), key.namespace()) {
        (Some(namespace), None) => {
            return Err(format!("the owner {name} has the namespace {namespace}, and the object has none"));
        }
        (Some(one), Some(other)) if one != other => {
            return Err(format!("the owner {name} is in the namespace {one}, and the object in {other}"));
        }
        _ => {}
    }
    Ok(json!({
        "apiVersion": of_owner.api_version(),
        "kind": kind,
        "name": name,
        "uid": uid.to_string(),
        "controller": true,
        "blockOwnerDeletion": true,
    }))
}

/// Adds the controller to the owners, each of which is there once.
///
/// # Errors
/// Another one is the controller.
pub(super) fn add_controller(owners: &mut Vec<Value>, controller: Value) -> Result<(), String> {
    owners.retain(|owner| owner["uid"] != controller["uid"]);
    if let Some(other) = owners.iter().find(|owner| owner["controller"] == true) {
        let [kind, name] = ["kind", "name"].map(|field| other[field].as_str().unwrap_or_default());
        return Err(format!("{kind} {name} controls the object, and only one can"));
    }
    owners.push(controller);
    Ok(())
}

/// The owners of an object, as its server writes them.
pub(super) fn owners(meta: &Meta) -> Vec<Value> {
    meta.owner_references().map(|owner| written(&owner)).collect()
}

fn written(owner: &OwnerReference<'_>) -> Value {
    let mut reference = json!({ "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name });
    if let Some(uid) = &owner.uid {
        reference["uid"] = json!(uid.to_string());
    }
    for (name, value) in [("controller", owner.controller), ("blockOwnerDeletion", owner.block_owner_deletion)] {
        if value {
            reference[name] = json!(true);
        }
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_missed_once_unless_a_source_has_objects_of_it() {
        let (apps, web) = ("/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/web/deployments");
        let (pods, db) = (Arc::<str>::from("/api/v1/pods"), "/apis/apps/v1/namespaces/db/deployments");
        let followed = Followed::of([Arc::from(web)].into_iter());
        assert_eq!([web, apps, &pods, &pods, db].map(|path| followed.misses(path)), [false, false, true, false, true]);
        let followed = Followed::default();
        [&pods, &pods].into_iter().for_each(|path| followed.add(path));
        followed.remove(&pods);
        assert!(!followed.misses(&pods), "one of two is left");
        followed.remove(&pods);
        assert!(followed.misses(&pods));
    }
}
