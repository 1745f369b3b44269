//! The kind of the tests, in two versions, and what its webhooks do.

use listwatch_webhooks::Webhooks;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
pub(crate) struct FooV1 {
    spec: SpecV1,
}

#[derive(Serialize, Deserialize)]
struct SpecV1 {
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<u32>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct FooV2 {
    spec: SpecV2,
}

#[derive(Serialize, Deserialize)]
struct SpecV2 {
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

listwatch::kind!(FooV1 as "Foo", "hooks.example.com/v1", "foos");
listwatch::kind!(FooV2 as "Foo", "hooks.example.com/v2", "foos");

impl From<FooV1> for FooV2 {
    fn from(FooV1 { spec }: FooV1) -> Self {
        Self { spec: SpecV2 { size: spec.replicas } }
    }
}

impl TryFrom<FooV2> for FooV1 {
    type Error = &'static str;

    fn try_from(FooV2 { spec }: FooV2) -> Result<Self, &'static str> {
        if spec.size == Some(13) { Err("13 is no size") } else { Ok(Self { spec: SpecV1 { replicas: spec.size } }) }
    }
}

/// A Foo of version 1 has one replica, unless it says another number, and ten at most. Some numbers do more.
#[expect(clippy::disallowed_methods, reason = "a function that hangs")]
pub(crate) fn webhooks() -> Webhooks {
    Webhooks::new("foos")
        .mutates::<FooV1>(|request| {
            request.object.spec.replicas.get_or_insert(1);
            Ok(())
        })
        .validates::<FooV1>(|request| {
            if request.dry_run {
                request.warn("this is a rehearsal");
            }
            match request.object.spec.replicas {
                Some(7) => panic!("seven"),
                Some(8) => std::thread::sleep(Duration::from_secs(3)),
                Some(11..) => return Err("at most ten replicas".into()),
                _ => {}
            }
            Ok(())
        })
        .converts::<FooV1, FooV2>()
}

pub(crate) fn foo(name: &str, spec: &Value) -> Value {
    let metadata = json!({ "name": name, "namespace": "web" });
    json!({ "apiVersion": "hooks.example.com/v1", "kind": "Foo", "metadata": metadata, "spec": spec })
}

/// The definition of both versions; objects are stored in the first.
pub(crate) fn definition() -> Value {
    let version = |name: &str, field: &str, is_stored: bool| {
        let properties = json!({ field: { "type": "integer" }, "other": { "type": "string" } });
        let spec = json!({ "type": "object", "properties": properties });
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
        json!({ "name": name, "served": true, "storage": is_stored, "schema": schema })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "foos.hooks.example.com" },
        "spec": {
            "group": "hooks.example.com",
            "scope": "Namespaced",
            "names": { "plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList" },
            "versions": [version("v1", "replicas", true), version("v2", "size", false)],
        },
    })
}

/// The review of a creation.
pub(crate) fn creation(spec: &Value) -> Value {
    let request = json!({ "uid": "7", "operation": "CREATE", "name": "a", "object": foo("a", spec), "dryRun": false });
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request })
}
