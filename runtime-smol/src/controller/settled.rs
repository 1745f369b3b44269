//! What servers made of what was wanted of objects.

use super::by_object::{ByObject, ObjectId};
use core::hash::{BuildHasher, BuildHasherDefault, Hash};
use listwatch_core::change::{Shows, View};
use listwatch_core::object::{Meta, Version};
use std::hash::DefaultHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The objects of which something was wanted that they do not show, or show otherwise.
#[derive(Default)]
pub(super) struct Settled(Mutex<ByObject<Vec<Answer>>>);

/// What an object had when nothing more of what was wanted was to be sent. Values are kept as hashes.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) act: Act,
    pub(super) wanted: u64,
    /// The places that were named, as the type shows them.
    pub(super) shown: u64,
    /// The same as the server has them.
    pub(super) stored: u64,
    /// Whether these places do not tell what became of a value.
    pub(super) is_lost: bool,
    pub(super) state: State,
}

/// How it was wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Ensure,
    Change,
    ChangeStatus,
    /// The last one alone: the server gives up the fields of those before.
    Apply,
}

/// The state of an object.
#[derive(Clone, Debug)]
pub(super) struct State {
    generation: i64,
    version: Version,
}

/// Of each object, so many answers are kept.
const MOST: usize = 8;

impl Settled {
    /// Whether one of the object's answers is such a one.
    pub(super) fn has(&self, id: &ObjectId, is_answer: impl Fn(&Answer) -> bool) -> bool {
        self.lock().get(id).is_some_and(|answers| answers.iter().any(is_answer))
    }

    /// Keeps an answer, in place of the one before.
    pub(super) fn insert(&self, id: &ObjectId, new: Answer, is_there: impl Fn() -> bool + Send + 'static) {
        // Declared before the lock, it is dropped behind it.
        let _gone;
        let mut objects = self.lock();
        _gone = objects.take_gone(|_| false);
        let answers = objects.get_or_insert(id, Vec::new(), is_there);
        answers.retain(|answer| answer.act != new.act || (new.act != Act::Apply && answer.wanted != new.wanted));
        if answers.len() == MOST {
            answers.remove(0);
        }
        // Most objects have one.
        answers.reserve_exact(1);
        answers.push(new);
    }

    fn lock(&self) -> MutexGuard<'_, ByObject<Vec<Answer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer {
    /// Whether an object that its type shows so is as after the answer.
    pub(super) fn is_shown(&self, view: &View, meta: &Meta) -> bool {
        let tells = view.shows() == Shows::All && !self.is_lost;
        self.shown == hash_of(view.seen()) && (tells || self.state.is_that_of(meta, view.shows()))
    }

    /// Whether an object with these values is as after the answer.
    pub(super) fn is_stored(&self, stored: u64, meta: &Meta) -> bool {
        // The generation does not count changes of the status.
        let shows = if self.act == Act::ChangeStatus { Shows::Part } else { Shows::Metadata };
        self.stored == stored && (!self.is_lost || self.state.is_that_of(meta, shows))
    }
}

impl State {
    pub(super) fn of(meta: &Meta) -> Self {
        Self { generation: meta.generation(), version: meta.resource_version().into() }
    }

    /// Whether the object is in this state, as far as a type does not show it. Servers keep no generation of some kinds,
    /// and a change of the metadata leaves it.
    pub(super) fn is_that_of(&self, meta: &Meta, shows: Shows) -> bool {
        match shows {
            Shows::All | Shows::Metadata if self.generation > 0 => self.generation == meta.generation(),
            _ => *self.version == *meta.resource_version(),
        }
    }
}

/// The hash of a value that is kept.
pub(super) fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    BuildHasherDefault::<DefaultHasher>::new().hash_one(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::informers::WorldId;
    use listwatch_core::object::MetaBuilder;

    fn meta(version: &str, generation: i64) -> Meta {
        let mut meta = MetaBuilder::default();
        meta.set_name("a");
        meta.set_resource_version(version);
        meta.set_generation(generation);
        meta.build().unwrap()
    }

    fn answer(act: Act, wanted: u64) -> Answer {
        Answer { act, wanted, shown: 0, stored: 0, is_lost: false, state: State::of(&meta("9", 1)) }
    }

    #[test]
    fn a_status_leaves_the_state_and_a_change_does_not() {
        let state = State::of(&meta("10", 2));
        assert!(
            state.is_that_of(&meta("11", 2), Shows::Metadata) && !state.is_that_of(&meta("11", 3), Shows::Metadata)
        );
        assert!(!state.is_that_of(&meta("11", 2), Shows::Part), "an annotation leaves the generation");
        let state = State::of(&meta("10", 0));
        assert!(state.is_that_of(&meta("10", 0), Shows::All) && !state.is_that_of(&meta("11", 0), Shows::All));
    }

    #[test]
    fn an_object_keeps_few_answers_and_the_last_apply_alone() {
        let (settled, id) = (Settled::default(), ObjectId { world: WorldId::of_test(1), uid: "1".into() });
        let has = |act, wanted| settled.has(&id, |answer| (answer.act, answer.wanted) == (act, wanted));
        for wanted in 0..100 {
            settled.insert(&id, answer(Act::Apply, wanted), || true);
            settled.insert(&id, answer(Act::Ensure, wanted), || true);
            settled.insert(&id, answer(Act::Ensure, wanted), || true);
        }
        assert!(has(Act::Apply, 99) && !has(Act::Apply, 98));
        assert!(has(Act::Ensure, 99) && has(Act::Ensure, 93) && !has(Act::Ensure, 92));
        assert_eq!(settled.lock().get(&id).map(Vec::len), Some(MOST));
    }
}
