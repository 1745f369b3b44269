//! Objects whose names a server or a controller made up: which one of A is which one of B.

use listwatch::Key;
use listwatch::file::RecordedChange;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The resource and the key of an object.
pub(super) type Place = (String, String);

/// The objects that were seen, and the families of those with made-up names.
#[derive(Default)]
pub(super) struct Generated {
    seen: HashSet<Place>,
    /// The family of each key.
    families: HashMap<String, u64>,
    /// In the order in which they were seen.
    members: Vec<Place>,
}

/// What the objects of B are called in A.
#[derive(Default)]
pub(super) struct Renamed {
    places: HashMap<Place, Place>,
    pub(super) names: HashMap<String, String>,
}

impl Generated {
    /// Notes the objects of a change.
    pub(super) fn change(&mut self, resource: &str, change: &RecordedChange) {
        let objects = match change {
            RecordedChange::Added(object) | RecordedChange::Modified(object) => std::slice::from_ref(object),
            RecordedChange::Relisted { changed, .. } => changed,
            RecordedChange::Deleted(_) | RecordedChange::Reached(_) => &[],
        };
        for object in objects {
            self.note(resource, object.key(), || object.value().ok());
        }
    }

    /// Notes an object.
    pub(super) fn note(&mut self, resource: &str, key: &Key, object: impl FnOnce() -> Option<Value>) {
        let place = (resource.to_owned(), key.as_str().to_owned());
        if self.seen.contains(&place) {
            return;
        }
        if let Some(family) = object().and_then(|object| self.family(resource, key, &object)) {
            self.families.insert(place.1.clone(), family);
            self.members.push(place.clone());
        }
        self.seen.insert(place);
    }

    /// The resource, the owner and the beginning of the name. An owner with a made-up name stands for its own family.
    fn family(&self, resource: &str, key: &Key, object: &Value) -> Option<u64> {
        let meta = &object["metadata"];
        let owners = meta["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
        let owner = owners.iter().find(|owner| owner["controller"] == true).or_else(|| owners.first());
        let owner = owner.and_then(|owner| owner["name"].as_str()).unwrap_or_default();
        let of_owner = || !owner.is_empty() && key.name().strip_prefix(owner).is_some_and(|rest| rest.starts_with('-'));
        let namespace = key.namespace().unwrap_or_default();
        let (prefix, more) = match (meta["generateName"].as_str(), object["involvedObject"]["name"].as_str()) {
            (Some(prefix), _) if !prefix.is_empty() => (prefix, ""),
            (_, Some(name)) => (name, object["reason"].as_str().unwrap_or_default()),
            _ if of_owner() => (owner, ""),
            _ => return None,
        };
        let of_family = self.families.get(Key::new(key.namespace(), owner).as_str());
        let own = of_family.and_then(|_| prefix.strip_prefix(owner)).unwrap_or(prefix);
        // A hash takes no more memory in a long chain of owners.
        Some(hash_of(&(resource, namespace, of_family.ok_or(owner), own, more)))
    }

    /// Those that the other recording has not seen, by their families.
    fn strangers(&self, other: &Self) -> BTreeMap<u64, Vec<&Place>> {
        let mut strangers = BTreeMap::<u64, Vec<&Place>>::new();
        for place in self.members.iter().filter(|place| !other.seen.contains(*place)) {
            let family = self.families.get(&place.1).copied().unwrap_or_default();
            strangers.entry(family).or_default().push(place);
        }
        strangers
    }
}

impl Renamed {
    /// Pairs the objects of each family: first those that are alike at the end, then the others as they came.
    pub(super) fn between([(a, objects), (b, others)]: [(&Generated, &BTreeMap<Place, u64>); 2]) -> Self {
        let mut renamed = Self::default();
        let mut of_a = a.strangers(b);
        for (family, mut theirs) in b.strangers(a) {
            let mut ours = of_a.remove(&family).unwrap_or_default();
            let mut alike = HashMap::<u64, Vec<&Place>>::new();
            for place in ours.iter().rev() {
                objects.get(*place).into_iter().for_each(|hash| alike.entry(*hash).or_default().push(place));
            }
            let mut taken = HashSet::new();
            theirs.retain(|their| {
                let own = others.get(*their).and_then(|hash| alike.get_mut(hash)?.pop());
                own.into_iter().for_each(|own| {
                    taken.insert(own);
                    renamed.add(their, own);
                });
                own.is_none()
            });
            ours.retain(|own| !taken.contains(own));
            theirs.into_iter().zip(ours).for_each(|(their, own)| renamed.add(their, own));
        }
        renamed
    }

    fn add(&mut self, their: &Place, own: &Place) {
        let name = |place: &Place| Key::from(place.1.as_str()).name().to_owned();
        self.names.insert(name(their), name(own));
        self.places.insert(their.clone(), own.clone());
    }

    /// The place in A. A subresource stands behind the resource.
    pub(super) fn of(&self, place: &Place) -> Place {
        let resource = place.0.split('/').next().unwrap_or_default();
        let own = self.places.get(&(resource.to_owned(), place.1.clone()));
        (place.0.clone(), own.unwrap_or(place).1.clone())
    }
}

pub(super) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(owner: &str) -> Value {
        json!({ "metadata": { "generateName": format!("{owner}-"), "ownerReferences": [{ "name": owner }] } })
    }

    #[test]
    fn members_of_a_family_are_paired_by_their_states_and_then_in_their_order() {
        let seen = |set: &str, pods: [&str; 3]| {
            let mut seen = Generated::default();
            let owned = json!({ "metadata": { "ownerReferences": [{ "name": "web" }] } });
            seen.note("replicasets.apps", &format!("d/{set}").as_str().into(), || Some(owned));
            pods.iter().for_each(|name| seen.note("pods", &format!("d/{name}").as_str().into(), || Some(pod(set))));
            seen
        };
        let (a, b) = (seen("web-x", ["web-x-1", "web-x-2", "same"]), seen("web-y", ["web-y-8", "same", "web-y-9"]));
        let place = |resource: &str, key: &str| (resource.to_owned(), key.to_owned());
        let objects =
            [BTreeMap::from([(place("pods", "d/web-x-1"), 1)]), BTreeMap::from([(place("pods", "d/web-y-9"), 1)])];
        let renamed = Renamed::between([(&a, &objects[0]), (&b, &objects[1])]);
        for (their, own) in [("web-y-9", "web-x-1"), ("web-y-8", "web-x-2"), ("same", "same")] {
            assert_eq!(renamed.of(&place("pods", &format!("d/{their}"))).1, format!("d/{own}"));
        }
        assert_eq!(renamed.names["web-y"], "web-x");
    }
}
