//! What a controller remembers of objects: what servers made of its writes, and which clean-ups have run.

use crate::informers::{Found, Informers, WorldId};
use crate::mutex::Mutex;
use core::hash::{BuildHasher, BuildHasherDefault, Hash};
use listwatch_core::change::{Shows, View};
use listwatch_core::object::{Meta, Uid, Version};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::DefaultHasher;

/// An object, and its world: a cluster that was restored from another one's backup has the same uids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId {
    pub(super) world: WorldId,
    pub(super) uid: Uid,
}

impl ObjectId {
    /// That of an object; without a uid it has none.
    pub(super) fn of<T>(object: &Found<T>) -> Option<Self> {
        let uid = object.meta().uid()?;
        Some(Self { world: Informers::of(object.informer()).world().id(), uid })
    }
}

/// Whether the store has the object when it is called.
pub(super) fn is_there<T: Send + Sync + 'static>(object: &Found<T>) -> impl Fn() -> bool + Send + use<T> {
    let (store, key, uid) = (object.informer().store().clone(), object.key().clone(), object.meta().uid());
    move || store.read(|objects| objects.get(&key).is_some_and(|object| object.meta().uid() == uid))
}

/// What is remembered, by the object. An informer that is only read tells of no deletion, so the stores are asked.
///
/// What is forgotten may be the last to hold a store, and drop objects of any type, so it is dropped behind the lock. The
/// stores are asked under the lock: no code inside a store asks for it.
#[derive(Default)]
pub(super) struct Memory(Mutex<Objects>);

#[derive(Default)]
struct Objects {
    by_id: HashMap<ObjectId, Remembered>,
    /// How many there were when those that are gone were last forgotten.
    left: usize,
}

struct Remembered {
    /// Of what was wanted that the object does not show, or shows otherwise.
    answers: Vec<Answer>,
    /// The finalizers, and whether the clean-up of each is over. Until the finalizer is removed, or some time after the object
    /// is gone.
    clean_ups: BTreeMap<Box<str>, bool>,
    /// Whether the store has the object.
    is_there: Box<dyn Fn() -> bool + Send>,
}

/// What a reconcile finds that wants to clean up.
pub(super) enum CleanUp<'m> {
    /// The clean-up is the caller's.
    Due(Reserved<'m>),
    /// Another reconcile cleans up now.
    Running,
    /// The clean-up is over.
    Over,
}

/// A clean-up that is one caller's. Dropped before it is over, it is due again.
pub(super) struct Reserved<'m> {
    memory: &'m Memory,
    object: ObjectId,
    finalizer: &'m str,
    is_over: bool,
}

/// Fewer objects are not looked for.
const FEW: usize = 64;
/// As many answers are kept of each object.
const MOST_ANSWERS: usize = 8;

impl Memory {
    /// Whether one of the object's answers is such a one.
    pub(super) fn has_answer(&self, id: &ObjectId, is_answer: impl Fn(&Answer) -> bool) -> bool {
        self.0.lock().by_id.get(id).is_some_and(|known| known.answers.iter().any(is_answer))
    }

    /// Keeps an answer, in place of the one before.
    pub(super) fn add_answer(&self, id: &ObjectId, new: Answer, is_there: impl Fn() -> bool + Send + 'static) {
        self.with(id, is_there, |Remembered { answers, .. }| {
            answers.retain(|answer| answer.act != new.act || (new.act != Act::Apply && answer.wanted != new.wanted));
            if answers.len() == MOST_ANSWERS {
                answers.remove(0);
            }
            // Most objects have one.
            answers.reserve_exact(1);
            answers.push(new);
        });
    }

    /// Begins a clean-up, unless it has begun.
    pub(super) fn begin_clean_up<'m>(
        &'m self,
        object: &ObjectId,
        finalizer: &'m str,
        is_there: impl Fn() -> bool + Send + 'static,
    ) -> CleanUp<'m> {
        self.with(object, is_there, |Remembered { clean_ups, .. }| match clean_ups.get(finalizer) {
            Some(true) => CleanUp::Over,
            Some(false) => CleanUp::Running,
            None => {
                clean_ups.insert(finalizer.into(), false);
                CleanUp::Due(Reserved { memory: self, object: object.clone(), finalizer, is_over: false })
            }
        })
    }

    /// The finalizer is removed.
    pub(super) fn forget_clean_up(&self, object: &ObjectId, finalizer: &str) {
        // Declared before the lock, it is dropped behind it.
        let _forgotten;
        let mut objects = self.0.lock();
        let Some(known) = objects.by_id.get_mut(object) else { return };
        known.clean_ups.remove(finalizer);
        if known.clean_ups.is_empty() && known.answers.is_empty() {
            _forgotten = objects.by_id.remove(object);
        }
    }

    /// What is known of an object, after those that are gone were forgotten.
    fn with<R>(
        &self,
        id: &ObjectId,
        is_there: impl Fn() -> bool + Send + 'static,
        act: impl FnOnce(&mut Remembered) -> R,
    ) -> R {
        // Declared before the lock, they are dropped behind it.
        let _gone;
        let mut objects = self.0.lock();
        _gone = objects.take_gone();
        let new = || Remembered { answers: Vec::new(), clean_ups: BTreeMap::new(), is_there: Box::new(is_there) };
        act(objects.by_id.entry(id.clone()).or_insert_with(new))
    }
}

impl Objects {
    /// Forgets the objects that their stores have no more, when their number may have doubled. One that is cleaned up now
    /// stays.
    fn take_gone(&mut self) -> Vec<Remembered> {
        if self.by_id.len() <= FEW.max(2 * self.left) {
            return Vec::new();
        }
        let is_over = |known: &Remembered| known.clean_ups.values().all(|is_over| *is_over);
        let gone = self.by_id.extract_if(|_, known| is_over(known) && !(known.is_there)());
        let gone = gone.map(|(_, known)| known).collect();
        self.left = self.by_id.len();
        gone
    }
}

impl Reserved<'_> {
    /// The clean-up is over.
    pub(super) fn finish(mut self) {
        self.is_over = true;
        let mut objects = self.memory.0.lock();
        let known = objects.by_id.get_mut(&self.object);
        known.and_then(|known| known.clean_ups.get_mut(self.finalizer)).into_iter().for_each(|is_over| *is_over = true);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.memory.forget_clean_up(&self.object, self.finalizer);
        }
    }
}

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
    pub(super) state: Revision,
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
pub(super) struct Revision {
    generation: i64,
    version: Version,
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

impl Revision {
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

/// The hashes of what was told last.
#[derive(Default)]
pub(super) struct Told(Mutex<VecDeque<u64>>);

/// What was told before these may be told again.
const MOST_TOLD: usize = 256;

impl Told {
    /// Whether this was not told before. From now on it was.
    pub(super) fn is_new(&self, what: &impl Hash) -> bool {
        let hash = hash_of(what);
        let mut told = self.0.lock();
        if told.contains(&hash) {
            return false;
        }
        if told.len() == MOST_TOLD {
            told.pop_front();
        }
        told.push_back(hash);
        true
    }
}

#[cfg(test)]
mod tests {
    mod objects {
        use super::super::*;

        #[test]
        fn objects_that_are_gone_are_forgotten() {
            let memory = Memory::default();
            let id = |number: i32| ObjectId { world: WorldId::of_test(1), uid: number.to_string().as_str().into() };
            let mut runs = Vec::new();
            for number in 0..1000 {
                match memory.begin_clean_up(&id(number), "x/a", move || number == 7) {
                    CleanUp::Due(running) if number == 3 => runs.push(running),
                    CleanUp::Due(reserved) => reserved.finish(),
                    CleanUp::Running | CleanUp::Over => panic!("{number} is new"),
                }
            }
            let objects = memory.0.lock();
            assert!(objects.by_id.len() <= FEW + 3);
            assert_eq!([3, 7, 11].map(|number| objects.by_id.contains_key(&id(number))), [true, true, false]);
            drop(objects);
        }
    }

    mod clean_ups {
        use super::super::*;
        use std::sync::Arc;
        use std::sync::atomic::AtomicUsize;
        use std::sync::atomic::Ordering::Relaxed;

        fn id(world: u64, uid: &str) -> ObjectId {
            ObjectId { world: WorldId::of_test(world), uid: uid.into() }
        }

        fn clean(memory: &Memory, object: &ObjectId, finalizer: &str) -> bool {
            match memory.begin_clean_up(object, finalizer, || true) {
                CleanUp::Due(reserved) => {
                    reserved.finish();
                    true
                }
                CleanUp::Running | CleanUp::Over => false,
            }
        }

        #[test]
        fn what_was_cleaned_up_is_known_until_the_finalizer_is_removed() {
            let (memory, [one, other]) = (Memory::default(), [id(1, "1"), id(1, "2")]);
            for (object, name) in [(&one, "x/a"), (&one, "x/b"), (&other, "x/a")] {
                assert!(clean(&memory, object, name) && !clean(&memory, object, name));
            }
            memory.forget_clean_up(&one, "x/a");
            assert!(clean(&memory, &one, "x/a") && !clean(&memory, &one, "x/b"));
            for (object, name) in [(&one, "x/a"), (&one, "x/b"), (&other, "x/a")] {
                memory.forget_clean_up(object, name);
            }
            assert!([&one, &other].iter().all(|object| !memory.0.lock().by_id.contains_key(*object)));
        }

        #[test]
        fn clean_ups_are_remembered_for_each_world_apart() {
            let memory = Memory::default();
            assert!(clean(&memory, &id(1, "1"), "x/a") && clean(&memory, &id(2, "1"), "x/a"));
        }

        /// Tries to take the lock when it is dropped.
        struct Asks(Arc<Memory>, Arc<AtomicUsize>);

        impl Drop for Asks {
            fn drop(&mut self) {
                self.1.fetch_add(usize::from(!self.0.0.is_locked()), Relaxed);
            }
        }

        /// With a store, the objects go, whose type may do anything when it is dropped.
        #[test]
        fn the_store_of_a_forgotten_object_is_dropped_outside_of_the_lock() {
            const MANY: usize = 100;
            let (memory, free) = (Arc::new(Memory::default()), Arc::new(AtomicUsize::new(0)));
            let begin = |number: usize| {
                let (asks, id) = (Asks(memory.clone(), free.clone()), id(1, &number.to_string()));
                let is_there = move || {
                    let _store = &asks;
                    false
                };
                if let CleanUp::Due(reserved) = memory.begin_clean_up(&id, "x/a", is_there) {
                    reserved.finish();
                }
            };
            (0..MANY).for_each(begin);
            let known = MANY - free.load(Relaxed);
            assert!(known < MANY, "those that are gone are forgotten, and the lock is free");
            (0..MANY).for_each(|number| memory.forget_clean_up(&id(1, &number.to_string()), "x/a"));
            assert_eq!(free.load(Relaxed), MANY, "and where the finalizer is removed");
        }

        #[test]
        fn two_reconciles_never_clean_up_at_once() {
            let (memory, one) = (Memory::default(), id(1, "1"));
            let CleanUp::Due(first) = memory.begin_clean_up(&one, "x/a", || true) else { panic!("it is due") };
            assert!(matches!(memory.begin_clean_up(&one, "x/a", || true), CleanUp::Running));
            drop(first);
            assert!(clean(&memory, &one, "x/a"), "the first one failed");
        }
    }

    mod answers {
        use super::super::*;
        use listwatch_core::object::MetaBuilder;

        fn meta(version: &str, generation: i64) -> Meta {
            let mut meta = MetaBuilder::default();
            meta.set_name("a");
            meta.set_resource_version(version);
            meta.set_generation(generation);
            meta.build().unwrap()
        }

        fn answer(act: Act, wanted: u64) -> Answer {
            Answer { act, wanted, shown: 0, stored: 0, is_lost: false, state: Revision::of(&meta("9", 1)) }
        }

        #[test]
        fn a_status_leaves_the_state_and_a_change_does_not() {
            let state = Revision::of(&meta("10", 2));
            assert!(
                state.is_that_of(&meta("11", 2), Shows::Metadata) && !state.is_that_of(&meta("11", 3), Shows::Metadata)
            );
            assert!(!state.is_that_of(&meta("11", 2), Shows::Part), "an annotation leaves the generation");
            let state = Revision::of(&meta("10", 0));
            assert!(state.is_that_of(&meta("10", 0), Shows::All) && !state.is_that_of(&meta("11", 0), Shows::All));
        }

        #[test]
        fn an_object_keeps_few_answers_and_the_last_apply_alone() {
            let (memory, id) = (Memory::default(), ObjectId { world: WorldId::of_test(1), uid: "1".into() });
            let has = |act, wanted| memory.has_answer(&id, |answer| (answer.act, answer.wanted) == (act, wanted));
            for wanted in 0..100 {
                memory.add_answer(&id, answer(Act::Apply, wanted), || true);
                memory.add_answer(&id, answer(Act::Ensure, wanted), || true);
                memory.add_answer(&id, answer(Act::Ensure, wanted), || true);
            }
            assert!(has(Act::Apply, 99) && !has(Act::Apply, 98));
            assert!(has(Act::Ensure, 99) && has(Act::Ensure, 93) && !has(Act::Ensure, 92));
            assert_eq!(memory.0.lock().by_id[&id].answers.len(), MOST_ANSWERS);
        }
    }

    mod told {
        use super::super::*;

        #[test]
        fn a_text_is_told_once_and_few_are_kept() {
            let told = Told::default();
            assert!(told.is_new(&"a") && !told.is_new(&"a"));
            assert!((0..10 * MOST_TOLD).all(|number| told.is_new(&number)));
            assert_eq!(told.0.lock().len(), MOST_TOLD);
        }
    }
}
