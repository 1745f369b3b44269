//! Captures of others: requests with users and programs, leases, and patches of each kind.

use crate::show::show;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/web/deployments";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// A capture that is written by hand.
pub(crate) struct Capture {
    lines: Vec<Value>,
    t: u64,
}

impl Capture {
    pub(crate) fn new() -> Self {
        Self { lines: vec![json!({ "capture": 1, "started": "2026-11-20T02:00:00Z" })], t: 0 }
    }

    /// Any line, behind which a second passes.
    pub(crate) fn line(&mut self, line: Value) {
        self.lines.push(line);
        self.t += 1_000;
    }

    /// A list, and a watch behind it that stays open under the id 2.
    pub(crate) fn watched(mut self, path: &str, kind: &str, items: &[Value]) -> Self {
        let list = json!({ "kind": format!("{kind}List"), "apiVersion": "v1", "metadata": { "resourceVersion": "10" }, "items": items });
        self.call("GET", path, &json!({}), (200, &list));
        let path = format!("{path}?watch=1&resourceVersion=10");
        self.lines.push(json!({ "t": self.t, "id": 2, "request": { "method": "GET", "path": path } }));
        self.lines.push(json!({ "t": self.t, "id": 2, "response": { "status": 200 } }));
        self
    }

    pub(crate) fn event(&mut self, event: &str, object: &Value) {
        self.raw_event(&format!("{}\n", json!({ "type": event, "object": object })));
    }

    pub(crate) fn raw_event(&mut self, event: &str) {
        self.line(json!({ "t": self.t, "id": 2, "data": event }));
    }

    /// A request with its answer. The fields are those of the request.
    pub(crate) fn call(&mut self, method: &str, path: &str, fields: &Value, (status, answer): (u16, &Value)) {
        self.slow(method, path, fields, (status, answer), 7);
    }

    /// The same with an answer that ends after so many milliseconds.
    pub(crate) fn slow(
        &mut self,
        method: &str,
        path: &str,
        fields: &Value,
        (status, answer): (u16, &Value),
        millis: u64,
    ) {
        let mut request = json!({ "method": method, "path": path });
        request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.lines.push(json!({ "t": self.t, "id": 1, "request": request }));
        self.t += millis;
        self.lines.push(json!({ "t": self.t - 2, "id": 1, "response": { "status": status } }));
        self.lines.push(json!({ "t": self.t - 2, "id": 1, "data": answer.to_string() }));
        self.line(json!({ "t": self.t, "id": 1, "end": "eof" }));
        self.t -= millis;
    }

    /// Nothing happens for so many milliseconds.
    pub(crate) fn pause(&mut self, millis: u64) {
        self.t += millis;
    }

    pub(crate) fn file(&self) -> Scratch {
        Scratch::new(self.lines.iter().map(|line| format!("{line}\n")).collect::<String>())
    }
}

pub(crate) fn deployment(version: u64, replicas: u64) -> Value {
    let containers = json!([{ "name": "web", "image": format!("w:{replicas}") }]);
    json!({ "kind": "Deployment", "apiVersion": "apps/v1",
        "metadata": { "name": "c500", "namespace": "web", "uid": "u-1", "resourceVersion": version.to_string(), "labels": { "app": "web" } },
        "spec": { "replicas": replicas, "containers": containers } })
}

fn patch(kind: &str, body: &Value) -> Value {
    json!({ "headers": { "Content-Type": kind, "User-Agent": "kubectl/v1.37 (linux/amd64)" }, "user": "jane@example.com", "from": "10.0.0.1", "body": body })
}

#[test]
fn a_change_is_told_with_the_user_the_program_and_the_address_of_its_write() {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let merge = patch("application/merge-patch+json", &json!({ "spec": { "replicas": 5 } }));
    capture.call("PATCH", &format!("{DEPLOYMENTS}/c500"), &merge, (200, &deployment(11, 5)));
    capture.event("MODIFIED", &deployment(11, 5));
    let output = show(capture.file(), "changes writes").output();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], "2026-11-20T02:00:00.007Z  list        deployments.apps  1 object, at version 10");
    let by = "by jane@example.com, kubectl/v1.37 (linux/amd64), from 10.0.0.1";
    assert_eq!(
        lines[1],
        format!(
            "2026-11-20T02:00:01.000Z  PATCH       deployments.apps web/c500  spec.replicas 3 → 5  (the server: spec.containers[web].image w:3 → w:5)  200 in 7 ms  {by}"
        )
    );
    assert_eq!(
        lines[2],
        format!(
            "2026-11-20T02:00:02.000Z  MODIFIED    deployments.apps web/c500  spec.containers[web].image w:3 → w:5, spec.replicas 3 → 5  {by}"
        )
    );
    for (options, count) in [
        ("--user jane*", 2),
        ("--user joe", 0),
        ("--program kubectl", 2),
        ("--program kube-controller-manager", 0),
        ("--version 11", 2),
        ("-l app=web --kind Deployment", 2),
        ("-l app!=web", 0),
        ("-n other", 0),
        ("--since 02:00:02", 1),
        ("--since 0.5s --until 1.5s", 1),
        ("--until 2026-11-20T02:00:01Z writes", 1),
    ] {
        let output = show(capture.file(), options).output();
        let found = output.lines().filter(|line| line.contains("c500")).count();
        assert_eq!(found, count, "{options}: {output}");
    }
}

#[test]
fn a_change_that_comes_before_the_answer_of_its_write_is_told_with_its_author() {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let put = patch("application/json", &deployment(9, 4));
    capture.call("PUT", &format!("{DEPLOYMENTS}/c500"), &put, (200, &deployment(11, 4)));
    let end = capture.lines.len() - 3;
    let event = format!("{}\n", json!({ "type": "MODIFIED", "object": deployment(11, 4) }));
    capture.lines.insert(end, json!({ "t": 1_004, "id": 2, "data": event }));
    let output = show(capture.file(), "web/c500").output();
    let told: Vec<&str> = output.lines().filter(|line| line.contains("replicas 3 → 4")).collect();
    assert!(told.len() == 2 && told.iter().all(|line| line.ends_with("from 10.0.0.1")), "{output}");
}

#[test]
fn patches_of_each_kind_are_told_field_by_field_whether_they_are_taken_or_not() {
    let strategic = json!({ "spec": { "containers": [{ "name": "web", "image": "w:4" }] } });
    let operations = json!([{ "op": "replace", "path": "/spec/replicas", "value": 4 }]);
    let refused = json!({ "kind": "Status", "apiVersion": "v1", "reason": "Conflict", "message": "try again" });
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let c500 = format!("{DEPLOYMENTS}/c500");
    capture.call(
        "PATCH",
        &c500,
        &patch("application/strategic-merge-patch+json", &strategic),
        (200, &deployment(11, 4)),
    );
    capture.call("PATCH", &c500, &patch("application/json-patch+json", &operations), (409, &refused));
    capture.call("POST", DEPLOYMENTS, &patch("application/json", &deployment(0, 1)), (201, &deployment(12, 1)));
    capture.call(
        "DELETE",
        &c500,
        &patch("application/json", &json!({})),
        (200, &json!({ "kind": "Status", "apiVersion": "v1", "details": { "uid": "u-1" } })),
    );
    capture.event("DELETED", &deployment(13, 1));
    let output = show(capture.file(), "web/c500").output();
    let details: Vec<&str> =
        output.lines().filter_map(|line| line.split_once(" web/c500  ").map(|(_, details)| details)).collect();
    assert!(details[1].starts_with("spec.containers[web].image w:3 → w:4, spec.replicas 3 → 4  200 in"), "{output}");
    assert!(
        details[2].starts_with("+[replace /spec/replicas] 4  409 in 7 ms  Conflict: try again  by jane"),
        "{output}"
    );
    assert!(details[3].starts_with("+spec {"), "{output}");
    assert!(details[5].starts_with("version 13  by jane@example.com"), "the deletion has its author: {output}");
}

#[test]
fn leases_are_told_by_the_terms_of_their_holders() {
    let lease = |version: u64, holder: &str| {
        json!({ "kind": "Lease", "apiVersion": "coordination.k8s.io/v1",
            "metadata": { "name": "x", "namespace": "kube-system", "uid": "u-2", "resourceVersion": version.to_string() },
            "spec": { "holderIdentity": holder } })
    };
    let mut capture = Capture::new();
    capture.call("POST", LEASES, &json!({ "body": lease(0, "a") }), (201, &lease(1, "a")));
    for version in 2..40 {
        capture.call(
            "PUT",
            &format!("{LEASES}/x"),
            &json!({ "body": lease(version - 1, "a") }),
            (200, &lease(version, "a")),
        );
    }
    capture.call("GET", &format!("{LEASES}/x"), &json!({}), (200, &lease(40, "b")));
    capture.call("PUT", &format!("{LEASES}/x"), &json!({ "body": lease(40, "") }), (200, &lease(41, "")));
    for options in ["leases", ""] {
        let output = show(capture.file(), options).output();
        let told: Vec<&str> = output.lines().filter_map(|line| line.get(26..)).take(4).collect();
        let name = "leases.coordination.k8s.io kube-system/x";
        assert_eq!(
            told,
            [
                format!("took        {name}  a"),
                format!("renewed     {name}  a, 38 times in 38s"),
                format!("took over   {name}  b, from a, which lost it: its last renewal was 1s before"),
                format!("released    {name}  b"),
            ]
        );
    }
    let named = show(capture.file(), "writes --kind leases").output();
    assert_eq!(named.matches("  PUT ").count(), 39, "{named}");
}

#[test]
fn watches_that_break_and_requests_that_are_refused_are_failures() {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let error = json!({ "kind": "Status", "apiVersion": "v1", "code": 500, "message": "etcd is gone" });
    capture.event("ERROR", &error);
    capture.line(json!({ "t": 2_000, "id": 2, "end": "connection reset" }));
    let refused = json!({ "kind": "Status", "apiVersion": "v1", "reason": "Forbidden", "message": "no" });
    capture.call("GET", "/api/v1/pods?limit=500", &json!({}), (403, &refused));
    let output = show(capture.file(), "failures").output();
    let told: Vec<&str> = output.lines().filter_map(|line| line.get(26..)).collect();
    assert!(told[0].starts_with("ERROR       deployments.apps  etcd is gone"), "{output}");
    assert!(
        told[1].starts_with("WATCH       deployments.apps  200 in 1000 ms  the answer broke off: connection reset"),
        "{output}"
    );
    assert!(told[2].starts_with("LIST        pods  403 in 7 ms  Forbidden: no"), "{output}");
}
