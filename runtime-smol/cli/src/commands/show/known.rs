//! The last states that a recording tells of.

use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The bytes of texts that are kept at the most. Beyond that, the states go that are known for longest.
const MOST_BYTES: usize = 96 * 1024 * 1024;

/// The last state of each object, as text.
#[derive(Default)]
pub(super) struct Known {
    objects: HashMap<Place, State>,
    /// The states in the order in which they were told, with their numbers. Newer ones make some of them stale.
    order: VecDeque<(Place, u64)>,
    bytes: usize,
    told: u64,
    /// How many states were dropped.
    pub(super) dropped: u64,
}

/// A collection and a key.
type Place = (Arc<str>, Arc<str>);

struct State {
    text: Arc<str>,
    number: u64,
    version: u64,
}

impl Known {
    /// The version and the text of the last state of an object.
    pub(super) fn get(&self, collection: &str, key: &str) -> Option<(u64, Arc<str>)> {
        self.objects.get(&(collection.into(), key.into())).map(|state| (state.version, Arc::clone(&state.text)))
    }

    /// The last states of all objects under a key.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.objects.iter().filter(move |((_, own), _)| **own == *key).map(|(_, state)| &*state.text)
    }

    /// Notes a state, unless a newer one is known. Returns the one before.
    pub(super) fn set(&mut self, collection: &str, key: &str, version: u64, text: &str) -> Option<Arc<str>> {
        let place: Place = (collection.into(), key.into());
        let before = self.objects.get(&place);
        if before.is_some_and(|before| version > 0 && before.version > version) {
            return before.map(|before| Arc::clone(&before.text));
        }
        self.told += 1;
        let state = State { text: text.into(), number: self.told, version };
        self.bytes += text.len();
        self.order.push_back((place.clone(), self.told));
        let before = self.objects.insert(place, state).map(|before| before.text);
        self.bytes -= before.as_ref().map_or(0, |text| text.len());
        self.make_room();
        before
    }

    /// Forgets an object that is gone.
    pub(super) fn remove(&mut self, collection: &str, key: &str) -> Option<Arc<str>> {
        let removed = self.objects.remove(&(collection.into(), key.into()))?;
        self.bytes -= removed.text.len();
        Some(removed.text)
    }

    fn make_room(&mut self) {
        let is_stale = |objects: &HashMap<Place, State>, (place, number): &(Place, u64)| {
            objects.get(place).is_none_or(|state| state.number != *number)
        };
        while let Some(oldest) = self.order.front() {
            let is_stale = is_stale(&self.objects, oldest);
            if !is_stale && self.bytes <= MOST_BYTES {
                break;
            }
            let Some(((collection, key), _)) = self.order.pop_front() else { break };
            if !is_stale {
                self.remove(&collection, &key);
                self.dropped += 1;
            }
        }
        // Of objects that change often, most entries are stale.
        if self.order.len() > 1024 + 2 * self.objects.len() {
            let objects = &self.objects;
            self.order.retain(|entry| !is_stale(objects, entry));
        }
    }
}

/// The value of a text; an empty object for one that is none.
pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::Object(serde_json::Map::new()))
}

/// The value of a text, with the type of another state of the same object: an item of a list does not say it.
pub(super) fn typed(text: &str, other: &Value) -> Value {
    let mut value = value(text);
    if let (Some(fields), Some(other)) = (value.as_object_mut(), other.as_object()) {
        for name in ["kind", "apiVersion"] {
            if let Some(text) = other.get(name).filter(|_| !fields.contains_key(name)) {
                fields.insert(name.to_owned(), text.clone());
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_states_that_are_known_for_longest_go_first() {
        let mut known = Known::default();
        let text = "x".repeat(MOST_BYTES / 4);
        for round in 0..3 {
            known.set("v1/pods", "a", round, "{}");
        }
        for name in ["b", "c", "d", "e"] {
            known.set("v1/pods", name, 1, &text);
        }
        assert!(known.bytes <= MOST_BYTES && known.dropped == 1, "{}", known.dropped);
        assert!(known.get("v1/pods", "a").is_none() && known.get("v1/pods", "b").is_some());
        known.set("v1/pods", "b", 2, "{}");
        known.set("v1/pods", "f", 1, &text);
        known.set("v1/pods", "g", 1, &text);
        assert!(known.get("v1/pods", "c").is_none() && known.get("v1/pods", "b").is_some(), "b is newer");
        assert_eq!(known.set("v1/pods", "b", 1, "old").as_deref(), Some("{}"));
        assert_eq!(known.get("v1/pods", "b").map(|(version, _)| version), Some(2), "an older answer comes late");
    }
}
