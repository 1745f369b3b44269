//! Resources of all kinds, by watch-list and by list.

use crate::follower::{Follower, config};
use crate::plane::{Plane, admin, namespace, plane};
use listwatch_core::{MetadataOnly, Raw, Resource};
use serde_json::{Value, json};

fn deployment(name: &str, replicas: u32) -> String {
    let labels = json!({ "app": name });
    let pod = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "none" }] } });
    let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": pod });
    json!({ "metadata": { "name": name }, "spec": spec }).to_string()
}

fn custom_resource_definition() -> String {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let names = json!({ "plural": "wheels", "singular": "wheel", "kind": "Wheel" });
    let spec = json!({ "group": "cars.example", "scope": "Namespaced", "names": names, "versions": [version] });
    json!({ "metadata": { "name": "wheels.cars.example" }, "spec": spec }).to_string()
}

/// Follows a resource in both ways while `change` is made, and compares.
fn follow_both(plane: &mut Plane, resource: &Resource, change: impl FnOnce(&mut Plane)) {
    let cluster = admin(plane);
    let mut followers: Vec<Follower<Value>> =
        [true, false].map(|watch_list| Follower::start(&cluster, resource.clone(), config(watch_list))).into();
    for follower in &mut followers {
        follower.catch_up(plane, resource.path());
    }
    change(plane);
    for follower in &mut followers {
        follower.catch_up(plane, resource.path());
        assert!(follower.failures.is_empty(), "{:?}", follower.failures);
    }
}

#[test]
fn pods_of_a_deployment_come_are_rolled_over_and_go() {
    let Some(mut plane) = plane() else { return };
    namespace(&mut plane, "rollout");
    let deployments = "/apis/apps/v1/namespaces/rollout/deployments";
    let pods = Resource::named("v1/pods").unwrap().in_namespace("rollout");
    follow_both(&mut plane, &Resource::new(deployments), |plane| _ = plane.create(deployments, &deployment("web", 5)));
    let settled = |plane: &mut Plane, count: usize| {
        while plane.list("/api/v1/namespaces/rollout/pods").len() != count {}
    };
    settled(&mut plane, 5);
    follow_both(&mut plane, &pods, |plane| {
        let image = r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}"#;
        assert_eq!(plane.request("PATCH", &format!("{deployments}/web"), image).0, 200);
        assert_eq!(plane.request("PATCH", &format!("{deployments}/web"), r#"{"spec":{"replicas":2}}"#).0, 200);
        plane.create(deployments, &deployment("db", 3));
    });
    follow_both(&mut plane, &pods, |plane| _ = plane.request("DELETE", &format!("{deployments}/web"), ""));
}

#[test]
fn leases_and_custom_resources_are_followed_as_anything_else() {
    let Some(mut plane) = plane() else { return };
    namespace(&mut plane, "kinds");
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kinds/leases";
    follow_both(&mut plane, &Resource::new(leases), |plane| {
        plane.create(leases, r#"{"metadata":{"name":"leader"},"spec":{"holderIdentity":"a"}}"#);
        let renewed = r#"{"spec":{"holderIdentity":"b"}}"#;
        assert_eq!(plane.request("PATCH", &format!("{leases}/leader"), renewed).0, 200);
    });
    plane.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &custom_resource_definition());
    let wheels = "/apis/cars.example/v1/namespaces/kinds/wheels";
    while plane.request("GET", wheels, "").0 != 200 {}
    let wheel = |name| format!(r#"{{"apiVersion":"cars.example/v1","kind":"Wheel","metadata":{{"name":"{name}"}}}}"#);
    follow_both(&mut plane, &Resource::new(wheels), |plane| {
        plane.create(wheels, &wheel("left"));
        plane.create(wheels, &wheel("right"));
        assert_eq!(plane.request("DELETE", &format!("{wheels}/left"), "").0, 200);
        plane.create(wheels, &wheel("left"));
    });
}

#[test]
fn selectors_choose_and_an_object_that_no_longer_matches_is_deleted() {
    let Some(mut plane) = plane() else { return };
    namespace(&mut plane, "chosen");
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace("chosen");
    plane.fill("chosen", 10);
    let cluster = admin(&plane);
    for watch_list in [true, false] {
        let labelled = maps.clone().with_labels("parity=1");
        let mut follower = Follower::<Raw>::start(&cluster, labelled, config(watch_list));
        follower.catch_up(&mut plane, &format!("{}?labelSelector=parity%3D1", maps.path()));
        let before = follower.cached().len();
        let path = format!("{}/filled-00003", maps.path());
        assert_eq!(plane.request("PATCH", &path, r#"{"metadata":{"labels":{"parity":"0"}}}"#).0, 200);
        follower.catch_up(&mut plane, &format!("{}?labelSelector=parity%3D1", maps.path()));
        assert_eq!(follower.cached().len(), before - 1);
        assert_eq!(plane.request("PATCH", &path, r#"{"metadata":{"labels":{"parity":"1"}}}"#).0, 200);

        let named = maps.clone().with_fields("metadata.name=filled-00007");
        let mut follower = Follower::<Raw>::start(&cluster, named, config(watch_list));
        follower.catch_up(&mut plane, &format!("{}?fieldSelector=metadata.name%3Dfilled-00007", maps.path()));
        assert_eq!(follower.cached().len(), 1);
    }
}

#[test]
fn metadata_only_is_asked_for_and_is_all_that_comes() {
    let Some(mut plane) = plane() else { return };
    namespace(&mut plane, "partial");
    plane.fill("partial", 5);
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace("partial");
    let cluster = admin(&plane);
    for watch_list in [true, false] {
        let mut raw = Follower::<Raw>::start(&cluster, maps.clone().metadata_only(), config(watch_list));
        raw.catch_up(&mut plane, maps.path());
        let text = raw.objects().find(|object| object.meta.key().name() == "filled-00003").unwrap().value.as_str();
        assert!(text.contains("PartialObjectMetadata") && !text.contains("\"data\""), "{text}");
        let mut meta = Follower::<MetadataOnly>::start(&cluster, maps.clone().metadata_only(), config(watch_list));
        meta.catch_up(&mut plane, maps.path());
        assert!(meta.objects().filter(|object| object.meta.label("parity") == Some("1")).count() >= 2);
    }
}
