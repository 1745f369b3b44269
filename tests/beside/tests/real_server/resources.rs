//! Resources of all kinds, by watch-list and by list.

use crate::real_server::follower::{Follower, config};
use crate::real_server::plane::{Plane, filled, plane};
use listwatch_core::Resource;
use listwatch_core::decode::{MetadataOnly, Raw};
use serde_json::{Value, json};

pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    let labels = json!({ "app": name });
    let pod = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "none" }] } });
    let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": pod });
    json!({ "metadata": { "name": name }, "spec": spec })
}

/// Wheels, in a group that nothing else has.
pub(crate) fn custom_resource_definition(group: &str) -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let names = json!({ "plural": "wheels", "singular": "wheel", "kind": "Wheel" });
    let spec = json!({ "group": group, "scope": "Namespaced", "names": names, "versions": [version] });
    json!({ "metadata": { "name": format!("wheels.{group}") }, "spec": spec })
}

/// Follows a resource in both ways while `change` is made, and compares.
fn follow_both(plane: &Plane, resource: &Resource, change: impl FnOnce()) {
    let mut followers: Vec<Follower<Value>> =
        [true, false].map(|watch_list| Follower::start(&plane.cluster, resource.clone(), config(watch_list))).into();
    for follower in &mut followers {
        follower.catch_up(plane);
    }
    change();
    for follower in &mut followers {
        follower.catch_up(plane);
        assert!(follower.failures.is_empty(), "{:?}", follower.failures);
    }
}

#[test]
fn pods_of_a_deployment_come_are_rolled_over_and_go() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("rollout");
    let deployments = Resource::named("apps/v1/deployments").unwrap().in_namespace(&namespace);
    let pods = Resource::named("v1/pods").unwrap().in_namespace(&namespace);
    follow_both(&plane, &deployments, || _ = plane.create(&deployments, &deployment("web", 5)));
    while plane.list(&pods).len() != 5 {}
    follow_both(&plane, &pods, || {
        let containers = json!([{ "name": "c", "image": "other" }]);
        let image = json!({ "spec": { "template": { "spec": { "containers": containers } } } });
        plane.change(&deployments, "web", &image);
        plane.change(&deployments, "web", &json!({ "spec": { "replicas": 2 } }));
        plane.create(&deployments, &deployment("db", 3));
    });
    follow_both(&plane, &pods, || plane.delete(&deployments, "web").unwrap());
}

#[test]
fn leases_and_custom_resources_are_followed_as_anything_else() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("kinds");
    let leases = Resource::named("coordination.k8s.io/v1/leases").unwrap().in_namespace(&namespace);
    follow_both(&plane, &leases, || {
        plane.create(&leases, &json!({ "metadata": { "name": "leader" }, "spec": { "holderIdentity": "a" } }));
        plane.change(&leases, "leader", &json!({ "spec": { "holderIdentity": "b" } }));
    });
    let group = plane.name("cars") + ".example";
    let definition = custom_resource_definition(&group);
    plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    let wheels = Resource::named(&format!("{group}/v1/wheels")).unwrap().in_namespace(&namespace);
    while !plane.has(&wheels) {}
    let wheel =
        |name: &str| json!({ "apiVersion": format!("{group}/v1"), "kind": "Wheel", "metadata": { "name": name } });
    follow_both(&plane, &wheels, || {
        plane.create(&wheels, &wheel("left"));
        plane.create(&wheels, &wheel("right"));
        plane.delete(&wheels, "left").unwrap();
        plane.create(&wheels, &wheel("left"));
    });
}

#[test]
fn selectors_choose_and_an_object_that_no_longer_matches_is_deleted() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("chosen");
    let maps = plane.filled(&namespace, 10);
    let with_parity = |parity: &str| json!({ "metadata": { "labels": { "parity": parity } } });
    for watch_list in [true, false] {
        let labelled = maps.clone().with_label_selector("parity=1");
        let mut follower = Follower::<Raw>::start(&plane.cluster, labelled, config(watch_list));
        follower.catch_up(&plane);
        let before = follower.state().len();
        plane.change(&maps, &filled(3), &with_parity("0"));
        follower.catch_up(&plane);
        assert_eq!(follower.state().len(), before - 1);
        plane.change(&maps, &filled(3), &with_parity("1"));

        let named = maps.clone().with_field_selector(&format!("metadata.name={}", filled(7)));
        let mut follower = Follower::<Raw>::start(&plane.cluster, named, config(watch_list));
        follower.catch_up(&plane);
        assert_eq!(follower.state().len(), 1);
    }
}

#[test]
fn metadata_only_is_asked_for_and_is_all_that_comes() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("partial");
    let maps = plane.filled(&namespace, 5).metadata_only();
    for watch_list in [true, false] {
        let mut raw = Follower::<Raw>::start(&plane.cluster, maps.clone(), config(watch_list));
        raw.catch_up(&plane);
        let text = raw.objects().find(|object| object.key().name() == filled(3)).unwrap().as_str();
        assert!(text.contains("PartialObjectMetadata") && !text.contains("\"data\""), "{text}");
        let mut meta = Follower::<MetadataOnly>::start(&plane.cluster, maps.clone(), config(watch_list));
        meta.catch_up(&plane);
        assert!(meta.objects().filter(|object| object.meta().label("parity") == Some("1")).count() >= 2);
    }
}
