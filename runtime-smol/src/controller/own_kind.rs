//! The kind that a controller reconciles, whatever its type.

use super::source::Source;
use crate::informers::{Collection, HandleSynced, InformerHandle, Informers, World};
use listwatch_core::Key;
use std::sync::OnceLock;

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
    pub(super) group: String,
    /// The name of the kind, such as `Foo`, if it is known.
    pub(super) name: Option<String>,
    /// Whether its objects have a namespace, once that is known.
    is_namespaced: OnceLock<bool>,
    keys: Box<dyn Fn() -> Vec<Key> + Send + Sync>,
    any_key: Box<dyn Fn() -> Option<Key> + Send + Sync>,
    synced: Box<dyn Fn() -> HandleSynced + Send + Sync>,
}

impl OwnKind {
    pub(super) fn of<T: Send + Sync + 'static>(source: &Source<T>) -> Self {
        let (objects, denied) = (&source.handle, source.denied);
        let names_one = objects.streams().iter().any(|stream| stream.name.namespace().is_some());
        let is_namespaced =
            source.is_namespaced.or_else(|| objects.is_namespaced()).or_else(|| names_one.then_some(true));
        let (listed, known, awaited) = (objects.clone(), objects.clone(), objects.clone());
        Self {
            path: objects.resource().path().to_owned(),
            world: Informers::of(objects).world().clone(),
            name: objects.kind().map(str::to_owned),
            group: Collection::of(objects.resource().path()).map_or("", |collection| collection.group).to_owned(),
            is_namespaced: is_namespaced.map_or_else(OnceLock::new, OnceLock::from),
            keys: Box::new(move || listed.keys().into_iter().collect()),
            any_key: Box::new(move || known.read(|objects| objects.keys().next().cloned())),
            synced: Box::new(move || awaited.synced_for_start(denied)),
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

    /// The key of the object of this name: in `namespace`, or in none. As long as no object was seen that tells, it is
    /// either, so both are returned.
    pub(super) fn keys_of(&self, namespace: Option<&str>, name: &str) -> impl Iterator<Item = Key> + use<> {
        let is_namespaced = self.is_namespaced.get();
        let inside = Some(Key::new(namespace, name)).filter(|_| is_namespaced != Some(&false));
        let outside =
            Some(Key::new(None, name)).filter(|key| is_namespaced != Some(&true) && inside.as_ref() != Some(key));
        inside.into_iter().chain(outside)
    }
}
