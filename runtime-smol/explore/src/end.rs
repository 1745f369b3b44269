//! What a run leaves behind, without what differs from run to run.

use crate::place::is_work;
use core::fmt::Write;
use listwatch::testing::SimulatedCluster;
use listwatch::time::WallTime;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The objects of a cluster, and what a test shows beside them.
///
/// Left out are Events and Leases, and of the metadata, what a server sets. A uid inside of an object is the name of the
/// object that has it, and a time is one as any other. Objects with a generated name are known by its prefix, their owner
/// and their contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End(pub(crate) BTreeMap<String, Value>);

/// The annotation that another client leaves.
pub(crate) const TOUCHED: &str = "explore.listwatch.dev/touched";
/// What a server sets in the metadata.
pub(crate) const METADATA: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "deletionGracePeriodSeconds",
    "selfLink",
];
/// What a reference tells of the object that has its name.
const REFERENCE: [&str; 2] = ["uid", "resourceVersion"];
/// What a status tells of the metadata.
const STATUS: [&str; 1] = ["observedGeneration"];

/// Where a map is, which decides which of its fields count.
#[derive(Clone, Copy)]
enum Part {
    /// In the metadata of an object.
    Metadata,
    /// In its status.
    Status,
    /// Elsewhere: all count.
    Plain,
}

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
            let (key, value) = (key_of(object), normal(object, Part::Plain, &uids));
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
        shown.into_iter().for_each(|shown| _ = end.insert(OUTSIDE.to_owned(), normal(&shown, Part::Plain, &uids)));
        Self(end)
    }

    /// In which way an object is one too many.
    pub(crate) fn superfluous(&self, key: &str, object: &Value) -> &'static str {
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
/// The name of what a test shows beside the objects.
const OUTSIDE: &str = "outside";

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
fn normal(value: &Value, part: Part, uids: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Object(fields) => Value::Object(normal_fields(fields, part, uids)),
        Value::Array(items) => items.iter().map(|item| normal(item, part, uids)).collect(),
        Value::String(text) => match uids.get(text) {
            Some(object) => json!(format!("the uid of {object}")),
            None if text.len() >= 20 && text.parse::<WallTime>().is_ok() => json!("a time"),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

fn normal_fields(fields: &Map<String, Value>, part: Part, uids: &BTreeMap<String, String>) -> Map<String, Value> {
    let has = |names: &[&str]| names.iter().all(|name| fields.contains_key(*name));
    let (is_object, is_reference) = (has(&["apiVersion", "kind", "metadata"]), has(&["uid", "kind", "name"]));
    let counts = |name: &str| match part {
        _ if is_reference && REFERENCE.contains(&name) => false,
        Part::Metadata => !METADATA.contains(&name) && name != TOUCHED,
        Part::Status => !STATUS.contains(&name),
        Part::Plain => true,
    };
    let inside = |name: &str| match name {
        "metadata" if is_object => Part::Metadata,
        "status" if is_object => Part::Status,
        _ => part,
    };
    let kept = fields.iter().filter(|(name, _)| counts(name));
    let kept = kept.map(|(name, value)| (name.clone(), normal(value, inside(name), uids)));
    // What is empty counts as absent.
    let mut kept: Map<String, Value> = kept.filter(|(_, value)| !is_empty(value)).collect();
    if is_reference {
        let owner = fields["uid"].as_str().and_then(|uid| uids.get(uid)).map_or(NOBODY, String::as_str);
        kept.insert("owner".to_owned(), json!(owner));
    }
    kept
}

/// Whether a value is an object with nothing in it.
fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
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
        assert_eq!(of("one"), of("another"));
    }

    #[test]
    fn a_field_counts_unless_it_is_metadata() {
        let foo = |generation: u32| {
            let reference = json!({ "kind": "Foo", "name": "o", "uid": format!("u{generation}") });
            let status = json!({ "generation": generation, "observedGeneration": generation, "of": reference });
            let metadata = json!({ "name": "a", "namespace": "web" });
            json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata, "status": status })
        };
        let end = End::of(&cluster(&[foo(7)]), None);
        let status = &end.0["example.com/v1/foos web/a"]["status"];
        assert_eq!(*status, json!({ "generation": 7, "of": { "kind": "Foo", "name": "o", "owner": "nobody" } }));
        assert_eq!(end.0["example.com/v1/foos web/a"]["metadata"], json!({ "name": "a", "namespace": "web" }));
    }
}
