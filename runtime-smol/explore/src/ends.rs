//! What a run leaves behind, without what differs from run to run.

use crate::course::{TOUCHED, is_empty};
use crate::place::is_work;
use core::fmt::Write;
use listwatch::testing::SimulatedCluster;
use listwatch::time::WallTime;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The objects of a cluster, and what a test shows beside them.
///
/// Left out are uids, versions, generations, times, managers, Events and Leases. A uid inside of an object is the name of
/// the object that has it. Objects with a generated name are known by its prefix, their owner and their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End(BTreeMap<String, Value>);

/// A field or an object that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    /// The object, and the field in it.
    pub(crate) path: String,
    pub(crate) text: String,
}

const FIELDS: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "managedFields",
    "deletionGracePeriodSeconds",
    "selfLink",
];

impl End {
    pub(crate) fn of(cluster: &SimulatedCluster, shown: Option<Value>) -> Self {
        let kinds = cluster.kinds();
        let names = kinds.iter().map(|kind| kind.name()).filter(|name| is_work(name));
        let names: BTreeSet<String> = names.collect();
        let listed: Vec<(String, Vec<Value>)> =
            names.into_iter().filter_map(|name| cluster.list(&name).ok().map(|objects| (name, objects))).collect();
        let objects = || listed.iter().flat_map(|(name, objects)| objects.iter().map(move |object| (name, object)));
        let uids: BTreeMap<String, String> = objects().filter_map(|(_, object)| known(object)).collect();
        let mut end = BTreeMap::new();
        let mut generated: Vec<(String, Value)> = Vec::new();
        for (name, object) in objects() {
            let (key, value) = (key_of(object), normal(object, &uids));
            match object["metadata"]["generateName"].as_str() {
                Some(prefix) => generated.push((format!("{name} {}", prefixed(object, prefix, &uids)), unnamed(value))),
                None => _ = end.insert(format!("{name} {key}"), value),
            }
        }
        generated.sort_by_cached_key(|(role, value)| (role.clone(), value.to_string()));
        for (role, value) in generated {
            let number = (1..).find(|number| !end.contains_key(&format!("{role} {number}"))).unwrap_or(0);
            end.insert(format!("{role} {number}"), value);
        }
        shown.into_iter().for_each(|shown| _ = end.insert("outside".to_owned(), normal(&shown, &uids)));
        Self(end)
    }

    /// What another end has differently.
    pub(crate) fn differences(&self, other: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        let keys: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        for key in keys {
            match (self.0.get(key), other.0.get(key)) {
                (Some(_), None) => found.push(Difference { path: key.clone(), text: format!("{key} is missing") }),
                (None, Some(object)) => {
                    let text = format!("{key} is {}", other.superfluous(key, object));
                    found.push(Difference { path: key.clone(), text });
                }
                (Some(one), Some(two)) => compare(key, one, two, &mut found),
                (None, None) => {}
            }
        }
        found
    }

    /// In which way an object is one too many.
    fn superfluous(&self, key: &str, object: &Value) -> &'static str {
        let owners = object["metadata"]["ownerReferences"].as_array();
        if owners.is_some_and(|owners| owners.iter().all(|owner| owner["owner"] == NOBODY)) {
            return "an orphan: its owner is gone";
        }
        let resource = key.split(' ').next();
        let is_twin = |(other, twin): (&String, &Value)| {
            other != key
                && other.split(' ').next() == resource
                && twin["metadata"]["ownerReferences"] == object["metadata"]["ownerReferences"]
        };
        if owners.is_some() && self.0.iter().any(is_twin) { "a duplicate of one owner" } else { "left over" }
    }
}

const NOBODY: &str = "nobody";

fn known(object: &Value) -> Option<(String, String)> {
    let uid = object["metadata"]["uid"].as_str()?;
    Some((uid.to_owned(), format!("{} {}", object["kind"].as_str().unwrap_or_default(), key_of(object))))
}

fn key_of(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    object["metadata"]["namespace"].as_str().map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// A generated name by its role.
fn prefixed(object: &Value, prefix: &str, uids: &BTreeMap<String, String>) -> String {
    let owner = object["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap_or_default();
    let mut role = object["metadata"]["namespace"].as_str().map(|it| format!("{it}/")).unwrap_or_default();
    _ = write!(role, "{prefix}*");
    if let Some(owner) = uids.get(owner) {
        _ = write!(role, " of {owner}");
    }
    role
}

fn unnamed(mut object: Value) -> Value {
    object["metadata"].as_object_mut().into_iter().for_each(|metadata| _ = metadata.remove("name"));
    object
}

/// A value without what differs from run to run.
fn normal(value: &Value, uids: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Object(fields) => Value::Object(normal_fields(fields, uids)),
        Value::Array(items) => items.iter().map(|item| normal(item, uids)).collect(),
        Value::String(text) => match uids.get(text) {
            Some(object) => json!(format!("the uid of {object}")),
            None if text.len() >= 20 && text.parse::<WallTime>().is_ok() => json!("a time"),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

fn normal_fields(fields: &Map<String, Value>, uids: &BTreeMap<String, String>) -> Map<String, Value> {
    let is_reference = fields.contains_key("uid") && fields.contains_key("kind") && fields.contains_key("name");
    let kept = fields.iter().filter(|(name, _)| !FIELDS.contains(&name.as_str()) && *name != TOUCHED);
    let kept = kept.map(|(name, value)| (name.clone(), normal(value, uids)));
    // What is empty counts as absent.
    let mut kept: Map<String, Value> = kept.filter(|(_, value)| !is_empty(value)).collect();
    if is_reference {
        let owner = fields["uid"].as_str().and_then(|uid| uids.get(uid)).map_or(NOBODY, String::as_str);
        kept.insert("owner".to_owned(), json!(owner));
    }
    kept
}

fn compare(path: &str, one: &Value, two: &Value, found: &mut Vec<Difference>) {
    match (one, two) {
        (Value::Object(one), Value::Object(two)) => {
            let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for name in names {
                let field = |object: &Map<String, Value>| object.get(name).cloned().unwrap_or_default();
                compare(&format!("{path} {name}"), &field(one), &field(two), found);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (index, (one, two)) in one.iter().zip(two).enumerate() {
                compare(&format!("{path} {index}"), one, two, found);
            }
        }
        _ if one == two => {}
        _ => found.push(Difference { path: path.to_owned(), text: format!("{path} is {two} instead of {one}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(objects: &[Value]) -> SimulatedCluster {
        let cluster = SimulatedCluster::new();
        for object in objects {
            cluster.create(object.clone()).expect("the cluster takes it");
        }
        cluster
    }

    fn map(metadata: Value, data: &Value) -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data })
    }

    #[test]
    fn generated_names_times_and_uids_are_no_difference() {
        let of = |first: &str| {
            let owner = map(json!({ "name": "owner" }), &json!({ "at": "2026-01-01T00:00:00Z" }));
            let filler = map(json!({ "name": first }), &json!({}));
            let cluster = cluster(&[filler, owner]);
            cluster.delete("v1/configmaps", first).expect("it is there");
            let uid = cluster.get("v1/configmaps", "owner").expect("it is there")["metadata"]["uid"].clone();
            let owners = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid }]);
            cluster
                .create(map(json!({ "generateName": "a-", "ownerReferences": owners }), &json!({ "x": "1" })))
                .expect("new");
            End::of(&cluster, None)
        };
        assert_eq!(of("one").differences(&of("another")), []);
    }

    #[test]
    fn a_missing_object_an_orphan_and_a_field_are_differences() {
        let before = End::of(
            &cluster(&[map(json!({ "name": "a" }), &json!({ "x": "1" })), map(json!({ "name": "b" }), &json!({}))]),
            None,
        );
        let owners = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "gone" }]);
        let orphan = map(json!({ "name": "c", "ownerReferences": owners }), &json!({}));
        let after = End::of(&cluster(&[map(json!({ "name": "a" }), &json!({ "x": "2" })), orphan]), None);
        let told: Vec<String> = before.differences(&after).into_iter().map(|it| it.text).collect();
        assert_eq!(
            told,
            [
                "v1/configmaps default/a data x is \"2\" instead of \"1\"",
                "v1/configmaps default/b is missing",
                "v1/configmaps default/c is an orphan: its owner is gone",
            ]
        );
    }
}
