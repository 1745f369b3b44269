//! The last states that a recording tells of.

use listwatch::file::{ObjectPacker, ObjectText};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The memory of states as they came; the others are packed.
const MOST_PLAIN: u64 = 16 << 20;

/// The memory of all states. Beyond that, the states go that are known for longest.
const MOST_HELD: u64 = 96 << 20;

/// The last state of each object.
#[derive(Default)]
pub(super) struct Known {
    objects: HashMap<Place, State>,
    /// The states in the order in which they were told, with their numbers. Newer ones make some of them stale.
    order: VecDeque<(Place, u64)>,
    packers: HashMap<Arc<str>, ObjectPacker>,
    held: u64,
    told: u64,
    /// How many states were dropped.
    pub(super) dropped: u64,
}

/// A collection and a key.
type Place = (Arc<str>, Arc<str>);

struct State {
    object: ObjectText,
    number: u64,
}

impl Known {
    /// The last state of an object.
    pub(super) fn get(&self, collection: &str, key: &str) -> Option<ObjectText> {
        self.objects.get(&(collection.into(), key.into())).map(|state| state.object.clone())
    }

    /// The last states of all objects under a key.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &ObjectText> {
        self.objects.iter().filter(move |((_, own), _)| **own == *key).map(|(_, state)| &state.object)
    }

    /// Notes a state, unless a newer one is known. Returns the one before.
    pub(super) fn set(&mut self, collection: &str, key: &str, mut object: ObjectText) -> Option<ObjectText> {
        let place: Place = (collection.into(), key.into());
        let before = self.objects.get(&place).map(|before| &before.object);
        if let Some(before) = before.filter(|before| object.version() > 0 && before.version() > object.version()) {
            return Some(before.clone());
        }
        if self.held > MOST_PLAIN {
            let packer = self.packers.entry(Arc::clone(&place.0)).or_default();
            let before = packer.held();
            object = object.packed(packer);
            self.held += (packer.held() - before) as u64;
        }
        self.told += 1;
        self.held += object.weight();
        self.order.push_back((place.clone(), self.told));
        let before = self.objects.insert(place, State { object, number: self.told }).map(|before| before.object);
        self.held -= before.as_ref().map_or(0, ObjectText::weight);
        self.make_room();
        before
    }

    /// Forgets an object that is gone.
    pub(super) fn remove(&mut self, collection: &str, key: &str) -> Option<ObjectText> {
        let removed = self.objects.remove(&(collection.into(), key.into()))?;
        self.held -= removed.object.weight();
        Some(removed.object)
    }

    fn make_room(&mut self) {
        let is_stale = |objects: &HashMap<Place, State>, (place, number): &(Place, u64)| {
            objects.get(place).is_none_or(|state| state.number != *number)
        };
        while let Some(oldest) = self.order.front() {
            let is_stale = is_stale(&self.objects, oldest);
            if !is_stale && self.held <= MOST_HELD {
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
    use std::fmt::Write as _;

    #[test]
    fn the_states_that_are_known_for_longest_go_first() {
        let mut known = Known::default();
        let state = |name: &str, version: u64, bytes: u64| {
            let noise = (0..bytes / 16).fold(String::new(), |mut text, at| {
                let random = (at ^ version).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
                _ = write!(text, "{:016x}", random.wrapping_mul(0xbf58_476d_1ce4_e5b9));
                text
            });
            let metadata = format!(r#"{{"name":"{name}","resourceVersion":"{version}"}}"#);
            ObjectText::of(&format!(r#"{{"metadata":{metadata},"noise":"{noise}"}}"#)).unwrap()
        };
        for version in 1..4 {
            known.set("v1/pods", "a", state("a", version, 0));
        }
        // Such digits are as long when they are packed.
        for (name, version) in ["b", "c", "d", "e"].into_iter().zip(1..) {
            known.set("v1/pods", name, state(name, version, MOST_HELD / 4));
        }
        assert!(known.held <= MOST_HELD && known.dropped == 2, "{}", known.dropped);
        assert!(known.get("v1/pods", "a").is_none() && known.get("v1/pods", "c").is_some());
        known.set("v1/pods", "c", state("c", 5, 0));
        known.set("v1/pods", "f", state("f", 6, MOST_HELD / 4));
        known.set("v1/pods", "g", state("g", 7, MOST_HELD / 4));
        assert!(known.get("v1/pods", "d").is_none() && known.get("v1/pods", "c").is_some(), "c is newer");
        let newest = known.set("v1/pods", "c", state("c", 2, 16));
        assert_eq!(newest.map(|object| object.version()), Some(5), "an older answer comes late");
        assert_eq!(known.get("v1/pods", "c").map(|object| object.version()), Some(5));
    }
}
