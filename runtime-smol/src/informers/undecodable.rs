//! The states of objects that could not be decoded.

use listwatch_core::Key;
use listwatch_core::decode::DecodeError;
use listwatch_core::object::{Version, compare_versions};
use std::cmp::Ordering;
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

    /// Whether this state, or a later one up to `applied`, could not be decoded. A list that is compared may be older than
    /// the last state. A state after `applied` is of a server that went back to a backup.
    pub(super) fn has(&self, key: &Key, version: &str, applied: Option<&Version>) -> bool {
        let Some(known) = self.versions.get(key) else { return false };
        let is_applied = || applied.is_some_and(|applied| is_ordered(known, applied));
        **known == *version || is_ordered(version, known) && is_applied()
    }
}

fn is_ordered(first: &str, second: &str) -> bool {
    compare_versions(first, second).is_ok_and(Ordering::is_le)
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
        let has = |number: usize, version| known.has(&Key::from(number.to_string()), version, None);
        assert!(has(2 * MOST - 1, "2") && has(MOST, "2") && !has(MOST, "1") && !has(MOST - 1, "2"));
        assert_eq!((known.versions.len(), known.order.len()), (MOST, MOST));
    }

    #[test]
    fn an_object_that_became_undecodable_again_after_a_list_was_taken_for_drift_of_that_list() {
        let mut known = Undecodable::default();
        known.note(&error("a".into(), "296"));
        known.note(&error("a".into(), "317"));
        let has = |version, applied: &str| known.has(&Key::from("a"), version, Some(&applied.into()));
        assert!(has("99", "317") && has("296", "400") && has("317", "300") && !has("318", "400"));
        assert!(!has("296", "300"), "317 is of a server that went back");
    }
}
