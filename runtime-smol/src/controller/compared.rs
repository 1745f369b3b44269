//! Which objects have what their bodies name, where their types do not show it.

use super::cleaned::ObjectId;
use listwatch_core::object::Meta;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The states of objects that were compared with a body as the server has them.
#[derive(Default)]
pub(super) struct Compared(Mutex<Objects>);

#[derive(Default)]
struct Objects {
    by_id: HashMap<ObjectId, Object>,
    /// How many there were when those that are gone were last dropped.
    left: usize,
}

struct Object {
    /// Of the body.
    digest: u64,
    state: State,
    /// Whether the store has it.
    is_there: Box<dyn Fn() -> bool + Send>,
}

/// The state of an object, as far as a body names it.
#[derive(PartialEq)]
enum State {
    /// A change of its status leaves it.
    Generation(i64),
    /// Servers keep no generation of some kinds.
    Version(Box<str>),
}

/// Fewer objects are not looked for.
const FEW: usize = 64;

impl Compared {
    /// Whether the object was compared with this body in this state.
    pub(super) fn has(&self, id: &ObjectId, digest: u64, meta: &Meta) -> bool {
        self.lock().by_id.get(id).is_some_and(|known| known.digest == digest && known.state == State::of(meta))
    }

    /// The object has what the body names. Objects that their stores have no more are dropped when their number may have
    /// doubled.
    pub(super) fn insert(&self, id: ObjectId, digest: u64, meta: &Meta, is_there: impl Fn() -> bool + Send + 'static) {
        let object = Object { digest, state: State::of(meta), is_there: Box::new(is_there) };
        let mut objects = self.lock();
        if objects.by_id.len() > FEW.max(2 * objects.left) {
            objects.by_id.retain(|_, object| (object.is_there)());
            objects.left = objects.by_id.len();
        }
        objects.by_id.insert(id, object);
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    use listwatch_core::object::MetaBuilder;

    fn meta(version: &str, generation: i64) -> Meta {
        let mut meta = MetaBuilder::default();
        meta.set_name("a");
        meta.set_resource_version(version);
        meta.set_generation(generation);
        meta.build().unwrap()
    }

    fn id(uid: &str) -> ObjectId {
        ObjectId { world: 1, uid: uid.into() }
    }

    #[test]
    fn a_status_leaves_what_was_compared_and_another_state_or_body_does_not() {
        let compared = Compared::default();
        compared.insert(id("1"), 7, &meta("10", 2), || true);
        assert!(compared.has(&id("1"), 7, &meta("11", 2)));
        assert!(!compared.has(&id("1"), 7, &meta("11", 3)) && !compared.has(&id("1"), 8, &meta("10", 2)));
        compared.insert(id("2"), 7, &meta("10", 0), || true);
        assert!(compared.has(&id("2"), 7, &meta("10", 0)) && !compared.has(&id("2"), 7, &meta("11", 0)));
    }

    #[test]
    fn objects_that_were_gone_were_remembered_for_ever() {
        let compared = Compared::default();
        for number in 0..1000 {
            compared.insert(id(&number.to_string()), 1, &meta("1", 1), move || number == 7);
        }
        assert!(compared.lock().by_id.len() <= FEW + 2 && compared.has(&id("7"), 1, &meta("1", 1)));
    }
}
