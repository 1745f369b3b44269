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
fn all_resources_are_played_unless_one_is_named_and_the_summary_names_them() {
    let file = capture(&THREE);
    let summary = replay(&file, "--verbose").output();
    assert_eq!(subject(&summary, "resources"), THREE.map(|path| format!("{path} was played")));
    assert_eq!(subject(&summary, "cache"), ["3 objects"]);
    assert_eq!(subject(&summary, "requests")[0], "3 answered (3 list)");
    let named = replay(&file, "--resource nodes").output();
    assert_eq!(
        subject(&named, "resources"),
        ["/api/v1/nodes was played", "not played, unless --resource names it (2):", THREE[0], THREE[2]]
    );
    assert!(subject(&replay(bundled("gap.jsonl.gz"), "").output(), "resources").is_empty());
}

#[test]
fn the_resources_of_a_recording_play_in_one_time_line() {
    let [pods, maps] = ["/api/v1/pods", "/api/v1/configmaps"];
    let exchange = |id: u64, path: &str, body: &str, times: [u64; 2]| {
        let request = json!({ "t": times[0], "id": id, "request": { "method": "GET", "path": path, "headers": {} } });
        let response = json!({ "t": times[0], "id": id, "response": { "status": 200, "headers": {} } });
        let data = json!({ "t": times[1], "id": id, "data": body });
        let end = json!({ "t": times[1], "id": id, "end": "eof" });
        [(times[0], request), (times[0], response), (times[1], data), (times[1], end)]
    };
    let list = |kind: &str| {
        format!(r#"{{"kind":"{kind}List","apiVersion":"v1","metadata":{{"resourceVersion":"1"}},"items":[]}}"#)
    };
    let told = |kind: &str, name: &str| {
        let metadata =
            format!(r#"{{"name":"{name}","resourceVersion":"{name}","creationTimestamp":"2026-11-20T10:00:00Z"}}"#);
        format!(r#"{{"type":"ADDED","object":{{"kind":"{kind}","apiVersion":"v1","metadata":{metadata}}}}}"#) + "\n"
    };
    let mut lines = vec![(0, json!({ "capture": 1, "started": "2026-11-20T10:00:00Z" }))];
    lines.extend(exchange(1, pods, &list("Pod"), [0, 0]));
    lines.extend(exchange(2, maps, &list("ConfigMap"), [0, 0]));
    lines.extend(exchange(3, "/api/v1/pods?watch=1&resourceVersion=1", &told("Pod", "2"), [1, 5_000]));
    lines.extend(exchange(4, "/api/v1/configmaps?watch=1&resourceVersion=1", &told("ConfigMap", "3"), [1, 2_000]));
    lines.extend(exchange(5, "/api/v1/configmaps?watch=1&resourceVersion=3", &told("ConfigMap", "4"), [2_001, 65_000]));
    lines.sort_by_key(|(time, _)| *time);
    let file = Scratch::new(lines.iter().map(|(_, line)| line.to_string()).collect::<Vec<_>>().join("\n"));
    for options in ["", "--speed 1000"] {
        let table = replay(&file, &format!("-o table {options}")).output();
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        let row = |date: &'static str, name: &'static str, age: &'static str| vec![date, "added", name, age];
        let expected = [
            row("2026-11-20T10:00:02Z", "configmap/3", "2s"),
            row("2026-11-20T10:00:05Z", "pod/2", "5s"),
            row("2026-11-20T10:01:05Z", "configmap/4", "65s"),
        ];
        assert!(expected.iter().all(|row| rows.contains(row)) || !options.is_empty(), "{table}");
        let mut order: Vec<&str> =
            rows.iter().filter_map(|row| row.get(2).copied()).filter(|name| name.contains('/')).collect();
        // Streams that fall due at once by a fast clock come in any order.
        if !options.is_empty() {
            order[..2].sort_unstable();
        }
        assert_eq!(order, ["configmap/3", "pod/2", "configmap/4"], "{table}");
    }
    let times: Vec<Value> =
        replay(&file, "-o json").output().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(times[2]["time"], "2026-11-20T10:01:05Z");
    let events = replay(&file, "--print events --format json").output();
    let first: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!((&first["resource"], &first["key"]), (&"v1/configmaps".into(), &"3".into()));
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
    let error = format!("{}: v1/secrets was not recorded; choose one of {}", file.as_ref().display(), THREE.join(", "));
    assert_eq!(replay(&file, "--resource v1/secrets").error(2), error);
    for (name, not) in [("secrets", "pods"), ("deployments.batch", "deployments"), ("po.v1", "pods")] {
        let run = replay(&file, &format!("--resource {name}"));
        assert!(run.error(2).contains(&format!(": {name} was not recorded; choose")), "{name} is not {not}: {run:?}");
    }
    let list = Scratch::new(r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#);
    let error = format!(
        "{}: no resource is recorded by its name, as in a list, a watch log, or an audit log without bodies; name none",
        list.as_ref().display()
    );
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
