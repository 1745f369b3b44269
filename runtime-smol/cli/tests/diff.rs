//! `listwatch diff`: what differs between two recordings.

use crate::command::{Run, bundled, command, run};
use crate::inert::{HOSTILE, assert_none, trouble};
use crate::show::recorded::{Capture, deployment};
use listwatch::controller::{Controller, Outcome};
use listwatch::file::Tape;
use listwatch::testing::SimulatedCluster;
use listwatch::{Key, World};
use listwatch_tests::maps::{ConfigMap, config_map};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// `listwatch diff A B`, with options that are separated by blanks.
fn diff(a: impl AsRef<Path>, b: impl AsRef<Path>, options: &str) -> Run {
    let mut command = command(["diff"]);
    command.arg(a.as_ref()).arg(b.as_ref()).args(options.split_whitespace());
    run(command)
}

/// The lines of a run that found differences.
#[track_caller]
fn lines(run: &Run) -> Vec<&str> {
    assert!(run.stderr.ends_with("listwatch: the recordings differ\n") && run.status == Some(3), "{run:?}");
    run.stdout.lines().collect()
}

/// Each line of JSON; the last one is the summary.
#[track_caller]
fn json_of(run: &Run) -> Vec<Value> {
    lines(run).into_iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The tape of a controller that writes these texts into each map, one after the other.
fn tape(texts: &'static [&'static str]) -> Scratch {
    let tape = Scratch::path(".jsonl");
    let cluster = SimulatedCluster::new();
    for name in ["a", "b", "c", "d"] {
        cluster.create(config_map(name, &json!({}))).unwrap();
    }
    let world = World::from(cluster);
    let clock = world.clock().clone();
    let config = world.recorder_config();
    let world = world.recorded(&Tape::create(&tape, config).unwrap());
    let scenario = async move {
        clock.sleep(Duration::from_secs(60)).await;
        Ok(())
    };
    let controller = Controller::new("copies", world.try_until(scenario));
    let maps = controller.informer::<ConfigMap>();
    let reconciled = controller.reconciles(&maps).workers(1).on_report(|_, _| {});
    let run = reconciled.run(async |cx, key: Key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        let written = texts.iter().position(|text| map.data["copy"] == *text);
        if let Some(next) = texts.get(written.map_or(0, |place| place + 1)) {
            cx.change(&map, |map| map.data["copy"] = json!(next)).await?;
        }
        Ok(Outcome::Done)
    });
    run.unwrap();
    tape
}

fn map(name: &str, version: u64, data: &Value) -> Value {
    json!({ "kind": "ConfigMap", "apiVersion": "v1",
        "metadata": { "name": name, "namespace": "web", "uid": format!("u-{name}"), "resourceVersion": version.to_string() },
        "data": data })
}

/// A log of `kubectl get -w`.
fn watched(events: &[(&str, Value)]) -> Scratch {
    let line = |(event, object): &(&str, Value)| format!("{}\n", json!({ "type": event, "object": object }));
    Scratch::new(events.iter().map(line).collect::<String>())
}

/// A line of an audit log: a merge patch of a ConfigMap by a user, and its answer.
fn patched(second: u64, user: &str, name: &str, (body, status): (&Value, u64)) -> String {
    let answer = map(name, 10 + second, &body["data"]);
    let event = json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": second.to_string(),
        "stage": "ResponseComplete", "requestURI": format!("/api/v1/namespaces/web/configmaps/{name}"),
        "verb": "patch", "user": { "username": user }, "userAgent": "controller/v1", "responseStatus": { "code": status },
        "objectRef": { "resource": "configmaps", "namespace": "web", "name": name, "apiVersion": "v1" },
        "requestObject": body, "responseObject": if status < 300 { answer } else { json!({ "kind": "Status", "apiVersion": "v1", "reason": "Conflict", "message": "no" }) },
        "requestReceivedTimestamp": format!("2026-11-22T02:00:{second:02}Z"),
        "stageTimestamp": format!("2026-11-22T02:00:{second:02}Z"),
    });
    format!("{event}\n")
}

#[test]
fn a_recording_does_not_differ_from_itself() {
    for name in ["pods-rollout", "chaos", "gap", "protocol"] {
        let file = bundled(&format!("{name}.jsonl.gz"));
        for options in ["", "changes writes reconciles failures leases", "--all-fields"] {
            let output = diff(&file, &file, options).output();
            assert!(output.starts_with("0 of ") && output.contains(" and 0 of "), "{name} {options}: {output}");
        }
    }
    let output = diff(bundled("pods-rollout.jsonl.gz"), bundled("pods-rollout.jsonl.gz"), "").output();
    assert_eq!(output, "0 of 45 objects and 0 of 796 changes differ\n");
}

#[test]
fn two_runs_of_a_controller_that_do_the_same_do_not_differ() {
    let output = diff(tape(&["x"]), tape(&["x"]), "").output();
    assert_eq!(output, "0 of 4 objects and 0 of 4 writes differ\n");
}

#[test]
fn a_value_that_a_controller_writes_otherwise_is_told_once_with_all_objects_and_with_its_cause() {
    let (a, b) = (tape(&["x"]), tape(&["y"]));
    let run = diff(&a, &b, "");
    let told = lines(&run);
    assert_eq!(told[0], "objects:");
    assert_eq!(told[1], "  data.copy: x in A, y in B  (4 configmaps: web/a, web/b, web/c, and 1 more)");
    for (line, side) in [(told[2], "A"), (told[3], "B")] {
        assert!(
            line.starts_with(&format!("      {side}: ")) && line.contains("  MODIFIED web/a  by reconcile "),
            "{line}"
        );
        assert!(line.ends_with(" of copies"), "{line}");
    }
    assert_eq!(told[4], "writes:");
    assert_eq!(told[5], "  data.copy: x in A, y in B  (PATCH of 4 configmaps: web/a, web/b, web/c, and 1 more)");
    assert!(told[6].contains("  PATCH web/a  by reconcile "), "{}", told[6]);
    assert_eq!(told[8..], ["4 of 4 objects and 4 of 4 writes differ"]);
}

#[test]
fn a_write_of_one_side_alone_is_told_where_the_ends_are_the_same() {
    let (a, b) = (tape(&["x", "y"]), tape(&["y"]));
    let run = diff(&a, &b, "-o json");
    let told = json_of(&run);
    let [write, summary] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (&write["what"], &write["difference"], &write["event"], &write["field"]),
        (&json!("writes"), &json!("onlyA"), &json!("PATCH"), &json!("data.copy x, (status) 200"))
    );
    assert_eq!((&write["objects"], &write["keys"]), (&json!(4), &json!(["web/a", "web/b", "web/c", "web/d"])));
    assert_eq!((&write["causes"]["a"]["by"]["controller"], &write["causes"]["b"]), (&json!("copies"), &Value::Null));
    let expected = json!({ "same": 4, "different": 4 });
    assert_eq!((&summary["summary"]["steps"], &summary["summary"]["objects"]["different"]), (&expected, &json!(0)));
}

#[test]
fn the_writes_of_two_audit_logs_are_compared_by_their_order_and_not_by_their_times() {
    let (one, two) = (json!({ "data": { "a": "1" } }), json!({ "data": { "a": "2" } }));
    let log = |writes: &[(u64, &str, &str, (&Value, u64))]| {
        Scratch::new(writes.iter().map(|(at, user, name, body)| patched(*at, user, name, *body)).collect::<String>())
    };
    let a = log(&[(1, "go", "x", (&one, 200)), (2, "go", "x", (&two, 200)), (3, "jane", "y", (&one, 200))]);
    let late = log(&[(11, "port", "x", (&one, 200)), (31, "port", "x", (&two, 200)), (33, "jane", "y", (&one, 200))]);
    let run = diff(&a, &late, "");
    assert_eq!((run.status, &*run.stdout), (Some(0), "0 of 2 objects and 0 of 3 writes differ\n"));
    let b = log(&[(1, "port", "x", (&two, 200)), (2, "port", "x", (&one, 409)), (3, "jane", "y", (&two, 200))]);
    let run = diff(&a, &b, "");
    let told = lines(&run);
    assert!(told.contains(&"  data.a: 1 in A, 2 in B  (1 configmaps: web/y)"), "{told:?}");
    assert!(told.contains(&"      A: 2026-11-22T02:00:03.000Z  ADDED web/y  by jane, controller/v1"), "{told:?}");
    assert!(told.contains(&"  data.a 1, (status) 200: only in A  (PATCH of 1 configmaps: web/x)"), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("  data.a 1, (status) 409: only in B  (")), "{told:?}");
    let run = diff(&a, &b, "--user jane");
    assert!(lines(&run).ends_with(&["0 of 0 objects and 1 of 1 writes differ"]), "{run:?}");
    let run = diff(&a, &b, "writes web/x");
    assert!(lines(&run).iter().all(|line| !line.contains("web/y")), "{run:?}");
}

#[test]
fn writes_in_another_order_and_repeated_ones_are_told_as_such() {
    let (one, two) = (json!({ "data": { "a": "1" } }), json!({ "data": { "a": "2" } }));
    let log = |bodies: &[&Value]| {
        let lines = (1..).zip(bodies).map(|(at, body)| patched(at, "go", "x", (*body, 200)));
        Scratch::new(lines.collect::<String>())
    };
    let run = diff(log(&[&one, &two]), log(&[&two, &one]), "writes");
    let told = lines(&run);
    assert!(told[1].contains("in another order  (PATCH of 1 configmaps: web/x)"), "{told:?}");
    let run = diff(log(&[&one, &one, &one, &two]), log(&[&one, &two]), "writes");
    let told = lines(&run);
    assert!(told.iter().any(|line| line.contains("only in A  (2 times, PATCH of 1 configmaps: web/x)")), "{told:?}");
}

#[test]
fn logs_of_watches_are_compared_by_their_changes() {
    let (a1, a2, b2) = (map("a", 1, &json!({})), map("a", 5, &json!({ "x": 1 })), map("a", 7, &json!({ "x": 2 })));
    let other = map("b", 3, &json!({}));
    let a = watched(&[("ADDED", a1.clone()), ("MODIFIED", a2)]);
    let b = watched(&[("ADDED", a1), ("MODIFIED", b2), ("ADDED", other)]);
    let run = diff(&a, &b, "");
    let told = lines(&run);
    for line in [
        "  data.x: 1 in A, 2 in B  (1 configmaps: web/a)",
        "  only in B  (1 configmaps: web/b)",
        "  data.x: 1 in A, 2 in B  (MODIFIED of 1 configmaps: web/a)",
        "  only in B  (ADDED of 1 configmaps: web/b)",
    ] {
        assert!(told.contains(&line), "{line}: {told:?}");
    }
    let run = diff(&a, &b, "--key web/c -l app=web");
    assert_eq!((run.status, &*run.stdout), (Some(0), "0 of 0 objects and 0 of 0 changes differ\n"));
}

#[test]
fn versions_dates_and_uids_count_as_the_same_unless_all_fields_are_asked_for() {
    let map = |version: u64, uid: &str, date: &str| {
        let mut map = map("a", version, &json!({ "date": date, "owner": uid, "n": 1 }));
        map["metadata"]["uid"] = json!(uid);
        map["metadata"]["generation"] = json!(version);
        map["metadata"]["creationTimestamp"] = json!(date);
        map
    };
    let a = watched(&[("ADDED", map(5, "6c84fb90-12c4-41e1-840d-c3b4a5f6e7d8", "2026-11-20T02:00:00Z"))]);
    let b = watched(&[("ADDED", map(9, "7d95fb90-12c4-41e1-840d-c3b4a5f6e7d8", "2026-11-21T02:00:00.5Z"))]);
    assert_eq!(diff(&a, &b, "").output(), "0 of 1 object and 0 of 1 changes differ\n");
    let run = diff(&a, &b, "--all-fields");
    let told = lines(&run);
    for field in ["resourceVersion", "uid", "generation", "creationTimestamp"] {
        assert!(told.iter().any(|line| line.starts_with(&format!("  metadata.{field}: "))), "{field}: {told:?}");
    }
}

#[test]
fn objects_with_generated_names_are_compared_by_their_owner_and_their_prefix() {
    let pod = |name: &str, version: u64, node: &str| {
        json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "name": name, "namespace": "web", "uid": name,
            "resourceVersion": version.to_string(), "generateName": "job-", "ownerReferences":
            [{ "kind": "Job", "apiVersion": "batch/v1", "name": "job", "uid": "j", "controller": true }] },
            "spec": { "nodeName": node, "hostname": name } })
    };
    let log = |names: [&str; 2], last: &str| {
        let [first, second] = names;
        watched(&[("ADDED", pod(first, 3, "n1")), ("ADDED", pod(second, 4, "n2")), ("MODIFIED", pod(first, 5, last))])
    };
    let run = diff(log(["job-x1", "job-x2"], "n3"), log(["job-b8", "job-a9"], "n3"), "");
    assert_eq!(run.output(), "0 of 2 objects and 0 of 2 changes differ\n");
    let run = diff(log(["job-x1", "job-x2"], "n3"), log(["job-b8", "job-a9"], "n4"), "");
    let told = lines(&run);
    assert_eq!(told[1], "  spec.nodeName: n3 in A, n4 in B  (1 pods: web/job-x1)");
    assert!(told[3].contains("MODIFIED web/job-b8"), "{told:?}");
    assert!(told.ends_with(&["1 of 2 objects and 1 of 2 changes differ"]), "{told:?}");
}

#[test]
fn names_values_and_messages_cannot_steer_a_terminal() {
    let capture = |value: &str| {
        let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[map(HOSTILE, 1, &json!({}))]);
        capture.event("MODIFIED", &map(HOSTILE, 11, &json!({ HOSTILE: format!("{HOSTILE}{value}") })));
        let body = map(HOSTILE, 0, &json!({ HOSTILE: format!("{HOSTILE}{value}") }));
        let request = json!({ "user": HOSTILE, "from": HOSTILE, "headers": { "User-Agent": HOSTILE }, "body": body });
        let status = json!({ "kind": "Status", "apiVersion": "v1", "reason": HOSTILE, "message": HOSTILE });
        capture.call("POST", "/api/v1/namespaces/web/configmaps", &request, (422, &status));
        capture.file()
    };
    let (a, b) = (capture("1"), capture("2"));
    let cases = ["", "-o json", "changes", "failures", "failures -o json"];
    assert_none(cases.iter().filter_map(|case| trouble(&diff(&a, &b, case), case)));
}

#[test]
fn no_value_of_a_secret_is_printed_unless_it_is_asked_for() {
    let secret = |value: &str| {
        let mut secret = map("s", 11, &json!({ "password": value }));
        secret["kind"] = json!("Secret");
        secret["metadata"]["annotations"] = json!({ "applied": value });
        let mut capture = Capture::new().watched("/api/v1/secrets", "Secret", &[]);
        capture.call("POST", "/api/v1/namespaces/web/secrets", &json!({ "body": secret }), (201, &secret));
        capture.event("ADDED", &secret);
        capture.file()
    };
    let (a, b) = (secret("aHVudGVyMQ=="), secret("aHVudGVyMg=="));
    for options in ["", "-o json", "changes", "--all-fields"] {
        let run = diff(&a, &b, options);
        assert!(!run.stdout.contains("aHVudGVyM"), "{options}: {run:?}");
    }
    let run = diff(&a, &b, "");
    assert!(lines(&run).contains(&"  data.password: differs  (1 secrets: web/s)"), "{run:?}");
    let run = diff(&a, &b, "--show-secrets");
    assert!(
        lines(&run).contains(&"  data.password: aHVudGVyMQ== in A, aHVudGVyMg== in B  (1 secrets: web/s)"),
        "{run:?}"
    );
}

#[test]
fn ten_thousand_differences_are_groups_of_bounded_length() {
    let capture = |replicas: u64| {
        let named = |name: usize| {
            let mut deployment = deployment(9, replicas);
            deployment["metadata"]["name"] = json!(format!("c{name:05}"));
            deployment
        };
        let items: Vec<Value> = (0..10_000).map(named).collect();
        Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &items).file()
    };
    let run = diff(capture(3), capture(5), "");
    let told = lines(&run);
    let keys = "web/c00000, web/c00001, web/c00002, and 9997 more";
    assert_eq!(told[2], format!("  spec.replicas: 3 in A, 5 in B  (10000 deployments.apps: {keys})"));
    assert!(told.len() < 10 && run.stdout.len() < 2_000, "{run:?}");
}

#[test]
fn a_file_that_is_missing_broken_or_cut_is_no_difference() {
    let whole = tape(&["x"]);
    let missing = diff(&whole, "no-such-file", "");
    assert!(missing.error(1).contains("no-such-file"), "{missing:?}");
    let missing = diff("no-such-file", &whole, "");
    assert!(missing.error(1).contains("no-such-file") && missing.stdout.is_empty(), "{missing:?}");
    let text = std::fs::read_to_string(&whole).unwrap();
    let cut = Scratch::new(&text[..text.len() - 30]);
    let run = diff(&whole, &cut, "");
    assert!(run.status == Some(1) && run.stderr.contains("the line breaks off at column"), "{run:?}");
    let skipped = diff(&whole, &cut, "--skip-bad-lines");
    assert_eq!((skipped.status, &*skipped.stdout), (Some(0), "0 of 4 objects and 0 of 4 writes differ\n"));
    assert!(skipped.stderr.contains("B: 1 broken line was skipped"), "{skipped:?}");
    let wrong = diff(&whole, &whole, "chnges");
    assert!(wrong.error(2).contains("did you mean `changes`?"), "{wrong:?}");
}
