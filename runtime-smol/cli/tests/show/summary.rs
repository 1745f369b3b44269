//! `listwatch show --summary`: five incidents, by audit logs and tapes, and what is said of them.

use crate::inert::{HOSTILE, assert_none, trouble};
use crate::show::recorded::{Capture, deployment};
use crate::show::show;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const OPERATOR: &str = "system:serviceaccount:ops:operator";

/// The events of an audit log, half a second apart.
#[derive(Default)]
pub(super) struct Log {
    pub(super) lines: String,
    events: u32,
}

impl Log {
    pub(super) fn request(&mut self, user: &str, verb: &str, path: &str, body: &Value, (code, answer): (u16, Value)) {
        self.events += 1;
        let (minute, second, milli) = (self.events / 120, self.events / 2 % 60, self.events % 2 * 500);
        let date = format!("2026-11-22T02:{minute:02}:{second:02}.{milli:03}000Z");
        let event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "stage": "ResponseComplete",
            "auditID": self.events.to_string(), "requestURI": path, "verb": verb, "user": { "username": user },
            "userAgent": "program/v1", "sourceIPs": ["10.0.0.1"], "responseStatus": { "code": code },
            "requestObject": body, "responseObject": answer, "requestReceivedTimestamp": date, "stageTimestamp": date,
        });
        self.lines += &format!("{event}\n");
    }

    pub(super) fn file(&self) -> Scratch {
        Scratch::new(&self.lines)
    }
}

pub(super) fn object(kind: &str, api_version: &str, name: &str, version: u64, fields: &Value) -> Value {
    let mut object = json!({ "kind": kind, "apiVersion": api_version,
        "metadata": { "name": name, "namespace": "web", "uid": name, "resourceVersion": version.to_string() } });
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

fn status(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message });
    (code, status)
}

/// The findings, and the summary.
#[track_caller]
pub(super) fn findings(file: &Scratch, options: &str) -> (Vec<Value>, Value) {
    let run = show(file, &format!("--summary --format json {options}"));
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let mut lines: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap();
    (lines, summary["summary"].clone())
}

/// The lines that the command of a finding prints.
#[track_caller]
fn looked_at(file: &Scratch, finding: &Value) -> String {
    let look = finding["look"].as_str().unwrap();
    let words = shlex::split(look).unwrap();
    let run = show(file, &words[3..].join(" "));
    assert_eq!(run.status, Some(0), "{look}: {}", run.stderr);
    run.stdout
}

pub(super) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

pub(super) fn has(finding: &Value, list: &str, part: &str) -> bool {
    finding[list].as_array().unwrap().iter().any(|text| text.as_str().unwrap().contains(part))
}

#[test]
fn a_status_loop_is_found_with_its_field_and_its_writer() {
    let mut log = Log::default();
    for version in 10..60 {
        let fields = json!({ "spec": { "size": 1 }, "status": { "seen": version } });
        let widget = object("Widget", "x.io/v1", "w", version, &fields);
        let patch = json!({ "status": { "seen": version } });
        log.request(OPERATOR, "patch", "/apis/x.io/v1/namespaces/web/widgets/w/status", &patch, (200, widget));
    }
    let file = log.file();
    let (found, summary) = findings(&file, "");
    assert_eq!(found.len(), 1, "{found:?}");
    let it = &found[0];
    assert_eq!((text(it, "kind"), text(it, "resource"), text(it, "key")), ("loop", "widgets.x.io", "web/w"));
    assert!(has(it, "fields", "status.seen") && has(it, "culprits", OPERATOR) && it["goes_on"] == true, "{it}");
    assert!(it["count"].as_u64().unwrap() > 40 && text(it, "from").starts_with("2026-11-22T02:00:"), "{it}");
    assert!(looked_at(&file, it).contains("status.seen 20 → 21"), "{it}");
    assert_eq!((&summary["whole"], &summary["failures"]), (&json!(true), &json!(0)));
    let output = show(&file, "--summary").stdout;
    for part in [
        "\n 1  loop: widgets.x.io web/w: is changed again and again",
        "    by         ",
        "up to the end of the recording",
        "    look       listwatch show ",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

#[test]
fn two_writers_that_undo_each_other_are_both_named_and_one_that_was_undone_once_too() {
    let mut log = Log::default();
    let mut put = |user: &str, name: &str, version: u64, replicas: u64| {
        let mut object = deployment(version, replicas);
        (object["metadata"]["name"], object["metadata"]["uid"]) = (name.into(), name.into());
        let path = format!("/apis/apps/v1/namespaces/web/deployments/{name}");
        log.request(user, "update", &path, &object, (200, object.clone()));
    };
    put("jane", "once", 10, 1);
    put("jane", "once", 11, 4);
    put("joe", "once", 12, 1);
    for version in 20..40 {
        put(if version % 2 == 0 { "scaler" } else { "deployer" }, "fought", version, 3 + version % 2);
    }
    let file = log.file();
    let (found, _) = findings(&file, "");
    assert_eq!(found.iter().map(|it| text(it, "kind")).collect::<Vec<_>>(), ["fight", "undone"], "{found:?}");
    let (fight, undone) = (&found[0], &found[1]);
    assert!(has(fight, "culprits", "scaler") && has(fight, "culprits", "deployer"), "{fight}");
    assert!(has(fight, "fields", "spec.replicas") && text(fight, "key") == "web/fought", "{fight}");
    assert_eq!((text(undone, "key"), &undone["count"]), ("web/once", &json!(1)));
    assert!(
        text(undone, "what").starts_with("what jane") && text(undone, "what").contains("taken back by joe"),
        "{undone}"
    );
    assert!(looked_at(&file, undone).contains("spec.replicas 4 → 1"), "{undone}");
}

fn without_namespace(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    object
}

/// The operator reads pods of the namespace `web` until two verbs are taken from its role.
pub(super) fn permission_taken() -> Log {
    let mut log = Log::default();
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/operator";
    for (version, verbs) in [(10, json!(["get", "list", "watch"])), (11, json!(["get"]))] {
        let rules = json!({ "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": verbs }] });
        let role = object("ClusterRole", "rbac.authorization.k8s.io/v1", "operator", version, &rules);
        let role = without_namespace(role);
        log.request("jane", "update", path, &role, (200, role.clone()));
    }
    for _ in 0..5 {
        let message = format!("pods is forbidden: User \"{OPERATOR}\" cannot list resource \"pods\" in API group \"\"");
        let refusal = status(403, "Forbidden", &message);
        log.request(OPERATOR, "delete", "/api/v1/namespaces/web/pods/a", &Value::Null, refusal);
    }
    log
}

#[test]
fn a_permission_that_was_taken_is_told_with_the_rule_and_its_author() {
    let file = permission_taken().file();
    let (found, _) = findings(&file, "");
    let it = &found[0];
    assert_eq!((text(it, "kind"), text(it, "resource"), &it["count"]), ("refused", "pods", &json!(5)), "{found:?}");
    assert!(has(it, "culprits", OPERATOR) && has(it, "notes", "cannot list resource"), "{it}");
    assert!(has(it, "notes", "clusterroles.rbac.authorization.k8s.io operator") && has(it, "notes", "jane"), "{it}");
    assert!(has(it, "notes", "-rules[0].verbs[2] watch  rules[0] is about pods"), "{it}");
    assert!(looked_at(&file, it).contains("Forbidden: pods is forbidden"), "{it}");
}

/// Joe deletes a definition, of which an object was in the namespace `web`.
pub(super) fn definition_deleted() -> Log {
    let mut log = Log::default();
    let definition = object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "widgets.x.io", 10, &json!({}));
    let definition = without_namespace(definition);
    log.request("jane", "create", CRD, &definition, (201, definition.clone()));
    let widget = object("Widget", "x.io/v1", "w", 11, &json!({}));
    log.request("jane", "create", "/apis/x.io/v1/namespaces/web/widgets", &widget, (201, widget.clone()));
    let gone = json!({ "kind": "Status", "apiVersion": "v1", "status": "Success" });
    log.request("joe", "delete", &format!("{CRD}/widgets.x.io"), &Value::Null, (200, gone));
    log
}

#[test]
fn a_definition_that_was_deleted_is_told_with_what_came_of_it() {
    let mut log = definition_deleted();
    for _ in 0..7 {
        let refusal = status(404, "NotFound", "the server could not find the requested resource");
        log.request(OPERATOR, "list", "/apis/x.io/v1/widgets", &Value::Null, refusal);
    }
    let file = log.file();
    let (found, _) = findings(&file, "");
    let it = &found[0];
    assert_eq!((text(it, "kind"), text(it, "key")), ("definition_deleted", "widgets.x.io"), "{found:?}");
    assert!(has(it, "culprits", "joe") && has(it, "notes", "7 requests for its objects were answered by 404"), "{it}");
    assert!(has(it, "notes", "1 object of widgets.x.io went with it"), "{it}");
    assert!(found.iter().all(|it| text(it, "kind") != "missing"), "it is told once: {found:?}");
    assert!(looked_at(&file, it).contains("DELETE"), "{it}");
}

/// Events that come late, then answers that do, and at the end writes that no watch tells.
pub(super) fn lagging() -> Scratch {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let request = |replicas: u64| json!({ "headers": { "Content-Type": "application/merge-patch+json" }, "body": { "spec": { "replicas": replicas } } });
    let path = "/apis/apps/v1/namespaces/web/deployments/c500";
    for version in 12..16 {
        capture.call("PATCH", path, &request(version), (200, &deployment(version, version)));
        capture.pause(2_500);
        capture.event("MODIFIED", &deployment(version, version));
    }
    capture.slow("PATCH", path, &request(20), (200, &deployment(20, 20)), 4_000);
    capture.slow("PATCH", path, &request(21), (200, &deployment(21, 21)), 4_000);
    capture.slow("PATCH", path, &request(22), (200, &deployment(22, 22)), 5_000);
    capture.pause(60_000);
    capture.call("GET", "/api/v1/nodes", &json!({}), (200, &json!({ "kind": "NodeList", "items": [] })));
    capture.file()
}

#[test]
fn a_server_that_lags_is_found_by_its_slow_answers_its_late_events_and_what_no_watch_told() {
    let (found, _) = findings(&lagging(), "");
    let kinds: Vec<&str> = found.iter().map(|it| text(it, "kind")).collect();
    assert_eq!(kinds, ["stopped", "lag", "slow"], "{found:?}");
    assert!(text(&found[0], "what").contains("no watch told of it up to the end"), "{found:?}");
    assert!(text(&found[1], "what").starts_with("events came up to 3.") && found[1]["count"] == 4, "{found:?}");
    assert!(
        text(&found[2], "what").starts_with("3 of 7 writes took a second or longer, the longest 5.0 s"),
        "{found:?}"
    );
}

#[test]
fn objects_that_are_alike_are_one_finding_and_what_is_left_out_is_counted() {
    let mut log = Log::default();
    let mut version = 10;
    for _ in 0..25 {
        for name in ["a", "b", "c"] {
            version += 1;
            let map = object("ConfigMap", "v1", name, version, &json!({ "data": { "t": version.to_string() } }));
            log.request(
                "clock",
                "update",
                &format!("/api/v1/namespaces/web/configmaps/{name}"),
                &map,
                (200, map.clone()),
            );
        }
    }
    for kind in 0..12 {
        let path = format!("/apis/g{kind}.io/v1/namespaces/web/things/x");
        log.request("jane", "delete", &path, &Value::Null, status(403, "Forbidden", "no"));
    }
    let file = log.file();
    let (found, summary) = findings(&file, "");
    let loops: Vec<&Value> = found.iter().filter(|it| text(it, "kind") == "loop").collect();
    assert_eq!((loops.len(), &loops[0]["objects"]), (1, &json!(3)), "{found:?}");
    assert_eq!(found.iter().filter(|it| text(it, "kind") == "refused").count(), 8);
    assert_eq!(summary["left_out"], json!(["4 more of the kind: not permitted"]));
    let (of_key, _) = findings(&file, "--key web/b");
    assert_eq!((of_key.len(), text(&of_key[0], "key"), &of_key[0]["objects"]), (1, "web/b", &json!(1)), "{of_key:?}");
}

#[test]
fn a_recording_in_which_nothing_stands_out_says_so() {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    capture.event("MODIFIED", &deployment(11, 4));
    let output = show(capture.file(), "--summary").output();
    assert!(output.ends_with("nothing stands out: no loop, no refusal, nothing undone, nothing late\n"), "{output}");
    assert!(output.contains(" 2026-11-20T02:00:00Z to 2026-11-20T02:00:01Z: 2 changes; 0 failed"), "{output}");
    let relative = show(capture.file(), "--summary --relative").output();
    assert!(relative.contains(": 1.0 s: 2 changes; 0 failed"), "{relative}");
}

#[test]
fn texts_of_a_recording_steer_neither_a_terminal_nor_a_shell() {
    let hostile = format!("x'; touch /tmp/y; '{HOSTILE}");
    let mut capture = Capture::new().watched("/api/v1/configmaps", "ConfigMap", &[]);
    let request = json!({ "user": hostile, "headers": { "User-Agent": hostile }, "body": object("ConfigMap", "v1", &hostile, 1, &json!({})) });
    let (_, answer) = status(403, &hostile, &hostile);
    for _ in 0..3 {
        capture.call("POST", "/api/v1/namespaces/web/configmaps", &request, (403, &answer));
    }
    let run = show(capture.file(), "--summary");
    assert_none(trouble(&run, "the findings"));
    let output = run.output();
    assert!(output.contains("not permitted: configmaps"), "{output}");
    let look = output.lines().find(|line| line.contains("look ")).unwrap();
    let words = shlex::split(look).unwrap();
    assert!(words.len() == 13 && words[8].starts_with("web/x'; touch /tmp/y; 'a"), "{words:?}");
}

#[test]
fn warnings_of_exported_events_are_findings_by_their_reasons() {
    let event = |pod: &str, number: u32| {
        json!({ "kind": "Event", "apiVersion": "v1", "type": "Warning", "reason": "BackOff", "message": "restarting", "count": 9,
            "metadata": { "name": format!("{pod}.{number}"), "namespace": "web", "resourceVersion": (10 + number).to_string() },
            "involvedObject": { "kind": "Pod", "namespace": "web", "name": pod }, "lastTimestamp": format!("2026-11-22T02:0{number}:00Z") })
    };
    let list = json!({ "kind": "List", "apiVersion": "v1", "items": [event("b", 4), event("a", 2), event("b", 3)] });
    let file = Scratch::new(list.to_string());
    let run = show(&file, "--summary");
    assert!(
        run.stderr.contains("Events at their own times: 3 Events (3 warnings) that occurred 27 times"),
        "{}",
        run.stderr
    );
    assert!(
        run.stdout.contains("BackOff of Pod web/b")
            && run.stdout.contains("3 times, from 2026-11-22T02:02:00Z to 2026-11-22T02:04:00Z"),
        "{}",
        run.stdout
    );
    let told = show(&file, "changes").stdout;
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("Warning")).collect();
    assert!(
        lines[0].starts_with("2026-11-22T02:02:00.000Z  ADDED") && lines[2].starts_with("2026-11-22T02:04:00"),
        "{told}"
    );
    assert!(lines[0].contains("Warning BackOff of Pod web/a: restarting (9 times)"), "{told}");
}

#[test]
fn a_refusal_is_not_laid_to_a_binding_of_other_users() {
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/web/rolebindings";
    let binding = |user: &str, version: u64| {
        let subjects = json!([{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }]);
        object(
            "RoleBinding",
            "rbac.authorization.k8s.io/v1",
            &format!("of-{user}"),
            version,
            &json!({ "subjects": subjects }),
        )
    };
    let causes = |users: &[(&str, &str)]| {
        let mut log = Log::default();
        for (place, (user, _)) in users.iter().enumerate() {
            log.request("admin", "create", bindings, &json!({}), (201, binding(user, 10 + place as u64)));
        }
        for (user, author) in users {
            let gone = json!({ "kind": "Status", "apiVersion": "v1", "status": "Success", "details": { "uid": format!("of-{user}") } });
            log.request(author, "delete", &format!("{bindings}/of-{user}"), &json!({}), (200, gone));
        }
        let refusal =
            "configmaps is forbidden: User \"bob\" cannot list resource \"configmaps\" in the namespace \"web\"";
        (0..3).for_each(|_| {
            log.request(
                "bob",
                "list",
                "/api/v1/namespaces/web/configmaps",
                &Value::Null,
                status(403, "Forbidden", refusal),
            );
        });
        let (found, _) = findings(&log.file(), "");
        let refused = found.into_iter().find(|it| it["kind"] == "refused").unwrap();
        let notes: Vec<String> = refused["notes"].as_array().unwrap().iter().map(ToString::to_string).collect();
        notes.into_iter().filter(|note| note.contains("before it")).collect::<Vec<_>>()
    };
    let named = causes(&[("bob", "mallory"), ("carol", "alice")]);
    assert!(matches!(&named[..], [note] if note.contains("of-bob") && note.contains("mallory")), "{named:?}");
    assert!(causes(&[("carol", "alice")]).is_empty());
}
