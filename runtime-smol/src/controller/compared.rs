//! Which objects have what their bodies name, where their types do not show it.

use super::by_object::{ByObject, ObjectId};
use core::hash::{BuildHasher, BuildHasherDefault};
use listwatch_core::change::Desired;
use listwatch_core::object::Meta;
use std::hash::DefaultHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The objects that were compared with a body as the server has them.
#[derive(Default)]
pub(super) struct Compared(Mutex<ByObject<Comparison>>);

/// The body and the state of the object.
#[derive(PartialEq)]
struct Comparison {
    body: u64,
    state: State,
}

/// The state of an object, as far as a body names it.
#[derive(PartialEq)]
enum State {
    /// A change of its status leaves it.
    Generation(i64),
    /// Servers keep no generation of some kinds.
    Version(Box<str>),
}

impl Compared {
    /// Whether the object was compared with this body in this state.
    pub(super) fn has(&self, id: &ObjectId, body: &Desired, meta: &Meta) -> bool {
        self.lock().get(id).is_some_and(|known| *known == Comparison::of(body, meta))
    }

    /// The object has what the body names.
    pub(super) fn insert(
        &self,
        id: &ObjectId,
        body: &Desired,
        meta: &Meta,
        is_there: impl Fn() -> bool + Send + 'static,
    ) {
        // Declared before the lock, these are dropped behind it.
        let (_gone, _replaced);
        let mut objects = self.lock();
        _gone = objects.take_gone(|_| false);
        _replaced = objects.take(id);
        objects.get_or_insert(id, Comparison::of(body, meta), is_there);
    }

    fn lock(&self) -> MutexGuard<'_, ByObject<Comparison>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Comparison {
    fn of(body: &Desired, meta: &Meta) -> Self {
        Self { body: BuildHasherDefault::<DefaultHasher>::new().hash_one(body), state: State::of(meta) }
    }
}

impl State {
    fn of(meta: &Meta) -> Self {
        match meta.generation() {
            0 => Self::Version(meta.resource_version().into()),
            generation => Self::Generation(generation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::informers::WorldId;
    use listwatch_core::object::MetaBuilder;
    use serde_json::json;

    fn meta(version: &str, generation: i64) -> Meta {
        let mut meta = MetaBuilder::default();
        meta.set_name("a");
        meta.set_resource_version(version);
        meta.set_generation(generation);
        meta.build().unwrap()
    }

    fn id(uid: &str) -> ObjectId {
        ObjectId { world: WorldId::of_test(1), uid: uid.into() }
    }

    fn body(replicas: u8) -> Desired {
        Desired::new(&json!({ "spec": { "replicas": replicas } })).unwrap()
    }

    #[test]
    fn a_status_leaves_what_was_compared_and_another_state_or_body_does_not() {
        let (compared, there) = (Compared::default(), || true);
        compared.insert(&id("1"), &body(1), &meta("9", 1), there);
        compared.insert(&id("1"), &body(7), &meta("10", 2), there);
        assert!(compared.has(&id("1"), &body(7), &meta("11", 2)));
        assert!(!compared.has(&id("1"), &body(7), &meta("11", 3)) && !compared.has(&id("1"), &body(8), &meta("10", 2)));
        compared.insert(&id("2"), &body(7), &meta("10", 0), there);
        assert!(compared.has(&id("2"), &body(7), &meta("10", 0)) && !compared.has(&id("2"), &body(7), &meta("11", 0)));
    }
}
