//! The kinds of objects, where they are, and what is wanted of them.

use listwatch_tests::sim::{ApiServer, Inside, Place};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The controller's own kind: it wants an owned object like itself.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Foo {
    pub(super) spec: FooSpec,
    #[serde(default)]
    pub(super) status: FooStatus,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct FooSpec {
    pub(super) replicas: u64,
    /// The name of the setting that it uses.
    pub(super) setting: String,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
pub(super) struct FooStatus {
    /// The generation that was reconciled last.
    pub(super) seen: Option<i64>,
}

/// The owned kind.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Deployment {
    pub(super) spec: Value,
}

/// The mapped kind: it is what all the foos need that name it.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Setting {
    pub(super) spec: SettingSpec,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct SettingSpec {
    pub(super) text: String,
}

/// The collections of all namespaces.
pub(super) const FOOS: &str = "/apis/example.com/v1/foos";
pub(super) const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";
pub(super) const SETTINGS: &str = "/apis/example.com/v1/settings";
pub(super) const NAMESPACES: [&str; 2] = ["db", "web"];

/// The path of the collection of a namespace, or of an object in it.
pub(super) fn path(collection: &str, namespace: &str, name: &str) -> String {
    let (root, plural) = collection.rsplit_once('/').unwrap_or_default();
    let slash = if name.is_empty() { "" } else { "/" };
    format!("{root}/namespaces/{namespace}/{plural}{slash}{name}")
}

/// The spec that an owned object should have.
pub(super) fn wanted(replicas: u64, setting: Option<&str>) -> Value {
    json!({ "replicas": replicas, "text": setting.unwrap_or("none") })
}

/// Everything that is not as it should be on the server.
pub(super) fn drifts(server: &ApiServer) -> Vec<String> {
    server.with(|inside| {
        let (foos, mut deployments) = (all(inside, FOOS), all(inside, DEPLOYMENTS));
        let settings = all(inside, SETTINGS);
        let mut drifts = Vec::new();
        for (at, foo) in &foos {
            let (spec, uid) = (&foo["spec"], &foo["metadata"]["uid"]);
            let setting = settings.get(&(at.0.clone(), spec["setting"].as_str().unwrap_or_default().to_owned()));
            let wanted = wanted(
                spec["replicas"].as_u64().unwrap_or_default(),
                setting.and_then(|setting| setting["spec"]["text"].as_str()),
            );
            match deployments.remove(at) {
                Some(found) if found["spec"] != wanted => drifts.push(format!("{at:?} is {found}, not {wanted}")),
                Some(found) if found["metadata"]["ownerReferences"][0]["uid"] != *uid => {
                    drifts.push(format!("{at:?} belongs to another: {found}"));
                }
                Some(_) => {}
                None => drifts.push(format!("{at:?} has no deployment")),
            }
            if foo["status"]["seen"] != foo["metadata"]["generation"] {
                drifts.push(format!("{at:?} has an old status: {foo}"));
            }
        }
        drifts.extend(deployments.keys().map(|at| format!("{at:?} is left")));
        drifts
    })
}

/// The objects of a collection, by namespace and name.
fn all(inside: &Inside, collection: &str) -> BTreeMap<(String, String), Value> {
    let place = Place::parse(collection).unwrap_or_default();
    let objects = inside.store.objects_of(&place);
    objects.map(|(at, object)| ((at.namespace().to_owned(), at.name().to_owned()), object.clone())).collect()
}
