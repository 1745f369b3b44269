//! Recordings of several resources: which one is played.

use crate::command::{bundled, replay};
use crate::replay::output::subject;
use listwatch::World;
use listwatch::controller::{Controller, Outcome};
use listwatch::testing::SimulatedCluster;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::time::Duration;

/// A capture of one list of each of these resources, of which each has one object.
pub(crate) fn capture(paths: &[&str]) -> Scratch {
    let mut lines = Vec::new();
    for (id, path) in paths.iter().enumerate() {
        let object =
            json!({ "metadata": { "name": format!("o{id}"), "uid": format!("u-{id}"), "resourceVersion": "4" } });
        let list =
            json!({ "kind": "List", "apiVersion": "v1", "metadata": { "resourceVersion": "9" }, "items": [object] });
        let mut record = |what: Value| {
            let mut line = json!({ "t": id, "id": id });
            line.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
            lines.push(line.to_string());
        };
        record(json!({ "request": { "method": "GET", "path": path, "headers": {} } }));
        record(json!({ "response": { "status": 200, "headers": {} } }));
        record(json!({ "data": list.to_string() }));
        record(json!({ "end": "eof" }));
    }
    Scratch::new(lines.join("\n"))
}

pub(crate) const THREE: [&str; 3] =
    ["/api/v1/pods", "/api/v1/nodes", "/apis/apps/v1/namespaces/web/deployments?labelSelector=a%3Db"];

#[test]
fn the_summary_names_the_resources_that_are_not_played() {
    let summary = replay(capture(&THREE), "").output();
    assert_eq!(
        subject(&summary, "resources"),
        ["/api/v1/pods was played", "not played, unless --resource names it (2):", THREE[1], THREE[2],]
    );
    assert!(subject(&replay(bundled("gap.jsonl.gz"), "").output(), "resources").is_empty());
}

#[test]
fn a_resource_is_chosen_by_its_name_or_its_path() {
    let file = capture(&THREE);
    for (number, names) in [
        (0, &["v1/pods", "/api/v1/pods", "pods", "pod", "Pod"][..]),
        (1, &["v1/nodes", "/api/v1/nodes", "nodes"]),
        (2, &[THREE[2], "deployments", "deployment", "deployments.apps"]),
    ] {
        for name in names {
            let run = replay(&file, &format!("--print store --format json --resource {name}")).output();
            assert_eq!(run, format!("{{\"store\":[\"o{number} 4\"]}}\n"), "{name}");
            let summary = replay(&file, &format!("--resource {name}")).output();
            assert_eq!(subject(&summary, "resources")[0], format!("{} was played", THREE[number]));
        }
    }
}

#[test]
fn a_resource_that_is_not_in_the_recording_is_refused_with_the_names_of_those_that_are() {
    let file = capture(&THREE);
    let error = format!(
        "{}: v1/secrets was not recorded; give --resource one of {}",
        file.as_ref().display(),
        THREE.join(", ")
    );
    assert_eq!(replay(&file, "--resource v1/secrets").error(2), error);
    for (name, not) in [("secrets", "pods"), ("deployments.batch", "deployments"), ("po.v1", "pods")] {
        let run = replay(&file, &format!("--resource {name}"));
        assert!(run.error(2).contains(&format!(": {name} was not recorded; give")), "{name} is not {not}: {run:?}");
    }
    let list = Scratch::new(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#);
    let error =
        format!("{}: a list or a watch log is of no resource by name; leave out --resource", list.as_ref().display());
    assert_eq!(replay(&list, "--resource v1/pods").error(2), error);
}

#[test]
fn the_summary_of_the_tape_of_a_controller_says_that_its_program_replays_it() {
    let tape = Scratch::path(".jsonl");
    let world = World::from(SimulatedCluster::new()).lasting(Duration::from_secs(5)).recorded_to(&tape).unwrap();
    let controller = Controller::new("foos", world);
    let maps = controller.informer_of::<Value>("v1/configmaps");
    controller.reconciles(&maps).on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    assert_eq!(
        subject(&replay(&tape, "").output(), "resources"),
        ["/api/v1/configmaps was played", "a controller recorded itself here: its own program replays all of it"]
    );
}
