//! The functions of webhooks in a simulated cluster.

use crate::foos::{FooV1, FooV2, definition, foo, webhooks};
use listwatch::Resource;
use listwatch::api::{Api, ApiError};
use listwatch::testing::SimulatedCluster;
use serde_json::{Value, json};

fn cluster() -> (SimulatedCluster, Api<Value>, Api<Value>) {
    let cluster = SimulatedCluster::new();
    cluster.create(definition()).unwrap();
    webhooks().admit_in(&cluster);
    let [old, new] = [Resource::of::<FooV1>(), Resource::of::<FooV2>()].map(|it| Api::new(&it.in_namespace("web")));
    (cluster, old, new)
}

fn refusal(refused: Result<Value, ApiError>) -> (u16, String) {
    let error = refused.expect_err("it is refused");
    let status = error.status().expect("a status");
    (status.code, status.message.to_string())
}

#[test]
fn a_simulated_cluster_refuses_and_changes_by_the_functions() {
    let (cluster, foos, _) = cluster();
    let made = foos.create(&foo("a", &json!({ "other": "x" }))).send(&cluster).unwrap();
    assert_eq!(made["spec"], json!({ "other": "x", "replicas": 1 }));
    let (code, message) = refusal(foos.create(&foo("b", &json!({ "replicas": 11 }))).send(&cluster));
    let denied = "admission webhook \"validate.foos.hooks.example.com\" denied the request: at most ten replicas";
    assert_eq!((code, &*message), (403, denied));
    let (code, message) = refusal(foos.create(&foo("b", &json!({ "replicas": 7 }))).send(&cluster));
    assert!(code == 500 && message.contains("panicked: seven"), "{message}");
    assert_eq!(cluster.list("hooks.example.com/v1/foos").unwrap().len(), 1);
    foos.delete("a", &Default::default()).send(&cluster).unwrap();
}

#[test]
fn a_simulated_cluster_converts_by_the_functions() {
    let (cluster, old, new) = cluster();
    old.create(&foo("a", &json!({ "replicas": 3 }))).send(&cluster).unwrap();
    let mut shown = new.get("a").send(&cluster).unwrap();
    assert_eq!((&shown["apiVersion"], &shown["spec"]), (&json!("hooks.example.com/v2"), &json!({ "size": 3 })));
    shown["spec"]["size"] = json!(5);
    new.replace("a", &shown).send(&cluster).unwrap();
    assert_eq!(old.get("a").send(&cluster).unwrap()["spec"], json!({ "replicas": 5 }));
    assert_eq!(new.list().send(&cluster).unwrap().items[0]["spec"], json!({ "size": 5 }));
    let mut shown = new.get("a").send(&cluster).unwrap();
    shown["spec"]["size"] = json!(13);
    let (code, message) = refusal(new.replace("a", &shown).send(&cluster));
    assert!(code == 500 && message.contains("Kind=Foo failed: Foo \"a\" cannot be converted"), "{message}");
    assert!(message.ends_with("13 is no size"), "{message}");
}
