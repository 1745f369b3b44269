//! The state that events add up to.

use listwatch_core::object::{ObjectHandle, Uid};
use listwatch_core::{Event, Indexer};
use std::collections::BTreeMap;

/// Uid and version of each key.
pub type State = BTreeMap<String, (Option<Uid>, String)>;

/// What an informer has told, and the rules that it keeps in telling: for each key, (Added (Updated | Recreated)* Deleted)*.
#[derive(Debug, Default)]
pub struct Told {
    /// What is there, by what was told.
    pub state: State,
    /// Whether the first state was complete.
    pub synced: bool,
}

impl Told {
    /// One more event.
    ///
    /// # Panics
    /// Where it cannot follow those before it.
    pub fn note<T>(&mut self, event: &Event<T>) {
        match event {
            Event::Added { object, initial } => {
                assert!(!(*initial && self.synced), "an object of the first list after all of them");
                assert_eq!(self.tell(object), None, "{} is added twice", object.key());
            }
            Event::Updated { old, new } => {
                assert_eq!(old.meta().uid(), new.meta().uid(), "updated, but another one");
                assert_eq!(self.tell(new), Some(entry(old).1), "what is said to be old was not told");
            }
            Event::Recreated { old, new } => {
                assert_ne!(old.meta().uid(), new.meta().uid(), "recreated, but the same");
                assert_eq!(self.tell(new), Some(entry(old).1), "what is said to be old was not told");
            }
            Event::Deleted { object, .. } => {
                assert!(self.state.remove(&entry(object).0).is_some(), "{} was not there", object.key());
            }
            Event::Synced => assert!(!std::mem::replace(&mut self.synced, true), "synced twice"),
            _ => {}
        }
    }

    /// The cache is what was told.
    ///
    /// # Panics
    /// Where it is not.
    pub fn check<T>(&self, cache: &Indexer<ObjectHandle<T>>) {
        assert_eq!(state_of(cache.iter()), self.state);
    }

    fn tell<T>(&mut self, object: &ObjectHandle<T>) -> Option<(Option<Uid>, String)> {
        let (key, state) = entry(object);
        self.state.insert(key, state)
    }
}

/// Uid and version of each object.
pub fn state_of<'o, T: 'o>(objects: impl IntoIterator<Item = &'o ObjectHandle<T>>) -> State {
    objects.into_iter().map(entry).collect()
}

fn entry<T>(object: &ObjectHandle<T>) -> (String, (Option<Uid>, String)) {
    let meta = object.meta();
    (meta.key().to_string(), (meta.uid(), meta.resource_version().to_owned()))
}
