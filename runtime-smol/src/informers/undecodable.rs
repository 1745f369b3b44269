//! The states of objects that could not be decoded.

use listwatch_core::Key;
use listwatch_core::decode::DecodeError;
use listwatch_core::object::Version;
use std::collections::{HashMap, VecDeque};

/// The last state of each object that could not be decoded, of so many objects as a program may have.
#[derive(Default)]
pub(super) struct Undecodable {
    versions: HashMap<Key, Version>,
    /// The keys, the oldest first.
    order: VecDeque<Key>,
}

/// How many objects are remembered.
const MOST: usize = 10_000;

impl Undecodable {
    /// Remembers a state. If there are too many, the object that was first is forgotten.
    pub(super) fn note(&mut self, error: &DecodeError<Key>) {
        let (Some(key), Some(version)) = (&error.key, &error.version) else { return };
        if self.versions.insert(key.clone(), version.clone()).is_none() {
            self.order.push_back(key.clone());
        }
        if self.order.len() > MOST {
            self.order.pop_front().iter().for_each(|oldest| _ = self.versions.remove(oldest));
        }
    }

    /// The version of the object's last state that could not be decoded.
    pub(super) fn last(&self, key: &Key) -> Option<&Version> {
        self.versions.get(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(key: String, version: &str) -> DecodeError<Key> {
        DecodeError { key: Some(Key::from(key)), version: Some(version.into()), event_type: None, error: "no".into() }
    }

    #[test]
    fn the_memory_of_undecodable_objects_is_bounded_and_has_the_last_state_of_each() {
        let mut known = Undecodable::default();
        for number in 0..2 * MOST {
            known.note(&error(number.to_string(), "1"));
            known.note(&error(number.to_string(), "2"));
        }
        let has = |number: usize, version| known.last(&Key::from(number.to_string())) == Some(&Version::from(version));
        assert!(has(2 * MOST - 1, "2") && has(MOST, "2") && !has(MOST, "1") && !has(MOST - 1, "2"));
        assert_eq!((known.versions.len(), known.order.len()), (MOST, MOST));
    }
}
