//! The answers with which the simulated cluster is compared are those of this server.

use crate::real_server::plane::{Plane, plane};
use core::fmt::Write;
use listwatch_core::api::{Api, ApiClient, DeleteOptions, PropagationPolicy};
use listwatch_core::{Instant, Resource};
use listwatch_simulated_cluster::SimulatedCluster;
use listwatch_tests::answers::{LISTS, Run, Step, definitions, steps};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A namespace, and the group of the wheels and the cogs, which the server has.
fn places(plane: &mut Plane, name: &str) -> (String, String) {
    let (namespace, group) = (plane.namespace(name), plane.name("wheels") + ".example");
    for definition in definitions(&group) {
        let plural = definition["spec"]["names"]["plural"].as_str().unwrap();
        plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
        let objects = Resource::named(&format!("{group}/v1/{plural}")).unwrap().in_namespace(&namespace);
        while !plane.has(&objects) {}
    }
    (namespace, group)
}

/// With `RECORD_ANSWERS=FOLDER`, writes the lists of answers into it instead, as they are in `tests/data`.
#[test]
fn a_server_answers_as_it_was_recorded() {
    let Some(mut plane) = plane() else { return };
    let (namespace, group) = places(&mut plane, "answers");
    let mut differences = String::new();
    for (name, list) in LISTS {
        let (mut run, steps) = (Run::new(&namespace, &group), steps(list));
        let answered: Vec<Step> = steps.iter().map(|step| run.send(step, &plane.client).unwrap()).collect();
        if let Some(folder) = std::env::var_os("RECORD_ANSWERS") {
            let lines = answered.iter().map(|step| serde_json::to_string(step).unwrap() + "\n");
            std::fs::write(std::path::Path::new(&folder).join(name), lines.collect::<String>()).unwrap();
            continue;
        }
        for (step, answered) in steps.iter().zip(&answered) {
            if (answered.status, &answered.answer) != (step.status, &step.answer) {
                writeln!(differences, "\n{step:?}\n{answered:?}").unwrap();
            }
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn a_server_has_the_kinds_of_the_simulated_cluster() {
    let Some(plane) = plane() else { return };
    for kind in SimulatedCluster::new().kinds() {
        assert!(plane.has(&Resource::named(&kind.name()).unwrap()), "{}", kind.name());
    }
}

/// ConfigMaps with their owners, and how each is deleted, if it is.
const FAMILY: [(&str, &[&str], Option<PropagationPolicy>); 9] = [
    ("back", &[], Some(PropagationPolicy::Background)),
    ("back-1", &["back"], None),
    ("back-2", &["back-1"], None),
    ("both", &["back", "stays"], None),
    ("front", &[], Some(PropagationPolicy::Foreground)),
    ("front-1", &["front"], None),
    ("orphan", &[], Some(PropagationPolicy::Orphan)),
    ("orphan-1", &["orphan"], None),
    ("stays", &[], None),
];

/// Creates the family, those without owners first, and deletes what is to be deleted.
fn raise(configmaps: &Api<Value>, client: &impl ApiClient) {
    let mut uids = BTreeMap::new();
    for is_owned in [false, true] {
        for (name, owners, _) in FAMILY.iter().filter(|(_, owners, _)| owners.is_empty() != is_owned) {
            let reference = |owner: &&str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uids[owner], "blockOwnerDeletion": true });
            let references: Vec<Value> = owners.iter().map(reference).collect();
            let metadata = json!({ "name": name, "ownerReferences": references, "labels": { "family": "1" } });
            let created = configmaps.create(&json!({ "metadata": metadata })).send(client).unwrap();
            uids.insert(*name, created["metadata"]["uid"].clone());
        }
    }
    for (name, _, policy) in &FAMILY {
        if let Some(policy) = policy {
            configmaps.delete(name, &DeleteOptions::default().with_propagation(*policy)).send(client).unwrap();
        }
    }
}

/// What is left of the family, each with its owners.
fn left(configmaps: &Api<Value>, client: &impl ApiClient) -> Vec<(String, Vec<String>)> {
    let listed = configmaps.list().send(client).unwrap().items;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let family = listed.iter().filter(|item| item["metadata"]["labels"]["family"] == "1");
    let owners = |item: &Value| {
        let references = item["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        references.map(|reference| text(&reference["name"])).collect()
    };
    family.map(|item| (text(&item["metadata"]["name"]), owners(item))).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn the_garbage_collector_of_a_server_leaves_the_same_objects() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("garbage");
    let configmaps = Api::<Value>::new(&Resource::named("v1/configmaps").unwrap().in_namespace(&namespace));
    let time = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&time);
    let cluster = SimulatedCluster::new().on_clock(move || Instant::from_nanos(clock.load(Ordering::Relaxed)));
    raise(&configmaps, &cluster);
    time.store(10_000_000_000, Ordering::Relaxed);
    let simulated = left(&configmaps, &cluster);
    let names: Vec<&str> = simulated.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["both", "orphan-1", "stays"]);
    raise(&configmaps, &plane.client);
    let mut found = left(&configmaps, &plane.client);
    for _ in 0..3_000 {
        if found == simulated {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
        found = left(&configmaps, &plane.client);
    }
    panic!("after five minutes the server has {found:?}, and not {simulated:?}");
}
