//! The bundled captures, and what kubectl saved.

use crate::command::bundled;
use crate::show::recorded::Capture;
use crate::show::show;
use crate::show::summary::{Log, object};
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};

#[test]
fn the_changes_of_a_capture_are_those_of_its_replay() {
    let output = show(bundled("pods-rollout.jsonl.gz"), "changes --format json").output();
    let told: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| told.iter().filter(|entry| entry["event"] == event).count();
    let replayed = crate::command::replay(bundled("pods-rollout.jsonl.gz"), "--print events --format json").output();
    let told_to_handlers = |text: &str| replayed.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count("ADDED"), told_to_handlers(r#""initial":false"#));
    assert_eq!(count("MODIFIED"), told_to_handlers(r#""event":"update""#));
    assert_eq!(count("DELETED"), told_to_handlers(r#""event":"delete""#));
}

#[test]
fn a_gap_is_told_with_what_changed_in_it() {
    let output = show(bundled("gap.jsonl.gz"), "failures").output();
    assert!(output.contains("gap         configmaps  the server answered a watch by a 410"), "{output}");
    assert!(output.contains("gap         configmaps  a list shows what no watch told of: "), "{output}");
    let all = show(bundled("gap.jsonl.gz"), "").output();
    assert!(all.contains("  RELISTED ") || all.contains("  VANISHED "), "{all}");
}

#[test]
fn every_bundled_capture_is_told_to_its_end() {
    for name in ["chaos", "gap", "pods-rollout", "protocol"] {
        let output = show(bundled(&format!("{name}.jsonl.gz")), "").output();
        assert!(output.lines().last().unwrap().starts_with("shown: "), "{name}");
    }
}

#[test]
fn a_log_of_kubectl_is_told_and_so_is_yaml() {
    let pod = |version: u64, phase: &str| json!({ "kind": "Pod", "apiVersion": "v1", "metadata": { "name": "a", "namespace": "web", "resourceVersion": version.to_string(), "creationTimestamp": "2026-11-20T02:00:00Z" }, "status": { "phase": phase } });
    let event = |event: &str, object: Value| format!("{}\n", json!({ "type": event, "object": object }));
    let log = event("ADDED", pod(1, "Pending")) + &event("MODIFIED", pod(2, "Running"));
    let output = show(Scratch::new(log), "").output();
    assert!(output.contains("MODIFIED    pods web/a  status.phase Pending → Running"), "{output}");
    let yaml = "kind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: web, resourceVersion: \"5\"}\n";
    let output = show(Scratch::new(format!("{yaml}---\n{}", yaml.replace("name: a", "name: b"))), "web/a").output();
    assert!(output.contains("LISTED      pods web/a  version 5"), "{output}");
}

#[test]
fn objects_of_a_moment_have_managed_fields_with_all_fields_alone() {
    let print = |options: &str| show(bundled("pods-rollout.jsonl.gz"), &format!("--at end {options}")).output();
    assert!(print("-o json --all-fields").contains("managedFields"));
    assert!(!print("-o json").contains("managedFields"));
    assert_eq!(print(""), print("--all-fields"), "the table is the same");
}

#[test]
fn options_that_do_not_fit_are_refused_with_advice() {
    let file = bundled("gap.jsonl.gz");
    for (options, advice) in [
        ("wirtes", "did you mean `writes`?"),
        ("writes --at 2s", "--at shows objects; leave out changes, reconciles, writes, failures and leases"),
        ("-o yaml", "--at"),
        ("-l a=b=c", "invalid value `a=b=c`"),
    ] {
        let run = show(&file, options);
        assert!(run.error(2).contains(advice), "{options}: {}", run.stderr);
    }
    assert!(show("/no/such/file", "").error(1).contains("cannot be opened"));
}

#[test]
fn a_deletion_has_its_author_also_where_its_answer_is_not_known() {
    let maps = "/api/v1/namespaces/web/configmaps";
    let map = |name: &str, version: u64| object("ConfigMap", "v1", name, version, &json!({}));
    let mut log = Log::default();
    for (version, name) in (10..).zip(["a", "b", "c"]) {
        log.request("admin", "create", maps, &json!({}), (201, map(name, version)));
    }
    log.request("bob", "delete", &format!("{maps}/a"), &Value::Null, (200, Value::Null));
    let list =
        json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": [map("b", 11), map("c", 12)] });
    log.request("eve", "deletecollection", maps, &json!({}), (200, list));
    let told = |user: &str| show(log.file(), &format!("changes --user {user}")).stdout;
    assert!(told("bob").contains("DELETED") && told("bob").contains("web/a"), "{}", told("bob"));
    assert_eq!(told("eve").matches("DELETED").count(), 2, "{}", told("eve"));
}

#[test]
fn a_write_of_a_scale_shows_the_fields_of_the_scale() {
    let path = "/apis/apps/v1/namespaces/web/deployments";
    let spec = json!({ "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "x" } } }, "status": { "readyReplicas": 1 } });
    let mut log = Log::default();
    log.request("admin", "create", path, &json!({}), (201, object("Deployment", "apps/v1", "d", 10, &spec)));
    let scale = object("Scale", "autoscaling/v1", "d", 11, &json!({ "spec": { "replicas": 5 } }));
    let patch = json!({ "spec": { "replicas": 5 } });
    log.request("hpa", "patch", &format!("{path}/d/scale"), &patch, (200, scale));
    let told = show(log.file(), "writes --user hpa").stdout;
    assert!(
        told.contains(r#"+spec {"replicas":5}"#) && !told.contains("selector") && !told.contains("status"),
        "{told}"
    );
}

#[test]
fn the_change_that_takes_the_last_finalizer_away_is_the_author_of_the_deletion() {
    let path = "/api/v1/namespaces/web/configmaps";
    let held = |version: u64, finalizers: Value| {
        let mut map = object("ConfigMap", "v1", "a", version, &json!({}));
        map["metadata"]["finalizers"] = finalizers;
        map["metadata"]["deletionTimestamp"] = if version > 10 { json!("2026-11-22T02:00:00Z") } else { Value::Null };
        map
    };
    let mut log = Log::default();
    log.request("admin", "create", path, &json!({}), (201, held(10, json!(["x/y"]))));
    log.request("bob", "delete", &format!("{path}/a"), &json!({}), (200, held(11, json!(["x/y"]))));
    log.request("eve", "patch", &format!("{path}/a"), &json!({}), (200, held(11, json!([]))));
    let told = show(log.file(), "changes --user eve").stdout;
    assert!(told.contains("DELETED"), "{told}");
}

#[test]
fn a_write_is_compared_with_an_item_of_a_list_that_does_not_say_its_kind() {
    let mut item = object("Deployment", "apps/v1", "d", 5, &json!({ "spec": { "replicas": 1, "paused": true } }));
    let whole = object("Deployment", "apps/v1", "d", 12, &json!({ "spec": { "replicas": 2, "paused": true } }));
    ["kind", "apiVersion"].iter().for_each(|field| _ = item.as_object_mut().unwrap().remove(*field));
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[item]);
    let request =
        json!({ "body": { "spec": { "replicas": 2 } }, "headers": { "Content-Type": "application/apply-patch+yaml" } });
    capture.call("PATCH", "/apis/apps/v1/namespaces/web/deployments/d", &request, (200, &whole));
    let told = show(capture.file(), "writes").stdout;
    assert!(told.contains("spec.replicas 1 → 2") && !told.contains("paused"), "{told}");
}
