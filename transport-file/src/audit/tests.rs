use super::{AuditLog, AuditSummary};
use crate::error::CaptureErrorKind;
use crate::{History, HistoryChange, HistoryStep, Playback};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of a test's own.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("listwatch-audit-test-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _is_left = std::fs::remove_dir_all(&self.0);
    }
}

/// What a log becomes.
struct Converted {
    folder: Folder,
    summary: AuditSummary,
}

impl Converted {
    fn of(files: &[impl AsRef<[u8]>]) -> Self {
        let folder = Folder::new();
        let paths: Vec<PathBuf> = (0..files.len()).map(|number| folder.0.join(format!("{number}.log"))).collect();
        paths.iter().zip(files).for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
        let summary = AuditLog::open(&paths).unwrap().write_capture(folder.0.join("capture.jsonl")).unwrap();
        Self { folder, summary }
    }

    fn of_events(events: &[Value]) -> Self {
        Self::of(&[lines(events)])
    }

    fn capture(&self) -> PathBuf {
        self.folder.0.join("capture.jsonl")
    }

    /// The lines of the capture that have this field.
    fn lines(&self, field: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.capture()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &Value| !line[field].is_null()).collect()
    }

    /// The changes, as `+web/a@10`; and the first states as changes of their own.
    fn changes(&self) -> Vec<String> {
        let history = History::from_file(self.capture()).unwrap();
        let told = |step: HistoryStep| match step.change {
            HistoryChange::Added(object) => vec![format!("+{}", name(&object))],
            HistoryChange::Modified(object) => vec![format!("~{}", name(&object))],
            HistoryChange::Deleted(object) => vec![format!("-{}", name(&object))],
            HistoryChange::Relisted { changed, .. } => {
                changed.iter().map(|object| format!("={}", name(object))).collect()
            }
            HistoryChange::Reached(_) => Vec::new(),
        };
        history.flat_map(told).collect()
    }

    fn count(&self, what: &str) -> u64 {
        self.summary.counts.get(what).copied().unwrap_or_default()
    }
}

fn name(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    let place = [text("namespace"), text("name")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    format!("{}@{}", place.join("/"), text("resourceVersion"))
}

fn lines(events: &[Value]) -> String {
    events.iter().map(|event| format!("{event}\n")).collect()
}

/// The end of a request, at a second after 02:00:00.
fn event(second: u32, verb: &str, path: &str, response: Value) -> Value {
    json!({
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "RequestResponse", "auditID": format!("{second}-{verb}"),
        "stage": "ResponseComplete", "requestURI": path, "verb": verb, "user": { "username": "jane" },
        "sourceIPs": ["10.0.0.1", "10.0.0.2"], "userAgent": "kubectl/v1", "responseStatus": { "code": 200 },
        "responseObject": response,
        "requestReceivedTimestamp": format!("2026-11-22T02:00:{second:02}.000000Z"),
        "stageTimestamp": format!("2026-11-22T02:00:{second:02}.250000Z"),
    })
}

fn with(mut event: Value, field: &str, value: Value) -> Value {
    event[field] = value;
    event
}

fn map(name: &str, version: u64, metadata: Value) -> Value {
    let mut object = json!({ "kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata });
    let fields = json!({ "name": name, "namespace": "web", "uid": name, "resourceVersion": version.to_string() });
    object["metadata"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    object
}

fn success() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" })
}

const MAPS: &str = "/api/v1/namespaces/web/configmaps";

fn of(name: &str) -> String {
    format!("{MAPS}/{name}")
}

/// Writes of each kind: `a` is made, changed and deleted, `b` is left.
fn writes() -> Vec<Value> {
    vec![
        event(1, "create", MAPS, map("a", 10, json!({}))),
        event(2, "update", &of("a"), map("a", 12, json!({}))),
        event(3, "patch", &of("b"), map("b", 15, json!({}))),
        event(4, "delete", &of("a"), success()),
    ]
}

const CHANGES: [&str; 4] = ["+web/a@10", "~web/a@12", "+web/b@15", "-web/a@13"];

#[test]
fn answers_tell_states_and_a_deletion_lies_behind_the_last_version_of_its_object() {
    let log = Converted::of_events(&writes());
    assert_eq!(log.changes(), CHANGES);
    assert_eq!((log.summary.events, log.summary.writes, log.summary.users), (4, 4, 1));
    let text = log.summary.to_string();
    assert_eq!(text, "4 writes of 1 user and 0 reads from 2026-11-22T02:00:01Z to 2026-11-22T02:00:04Z");
    let history = History::from_file(log.capture()).unwrap();
    assert_eq!(history.started().unwrap().to_string(), "2026-11-22T02:00:01Z");
    let resource = history.resources().next().unwrap();
    assert_eq!((&*resource.collection, resource.kind.as_deref()), ("v1/configmaps", Some("ConfigMap")));
    assert!(Playback::from_file(log.capture()).is_ok());
}

#[test]
fn each_write_is_an_exchange_at_its_time_with_its_user_and_its_bodies() {
    let write = with(writes().remove(0), "requestObject", json!({ "metadata": { "generateName": "a" } }));
    let log = Converted::of_events(&[write.clone(), write]);
    let posts = log.lines("request").into_iter().filter(|line| line["request"]["method"] == "POST");
    let users: Vec<Value> = posts.map(|line| line["request"]["user"].clone()).collect();
    assert_eq!(users, ["jane"]);
    assert_eq!(log.count("left out: events that are there twice"), 1);
    let post = log.lines("request").into_iter().find(|line| line["request"]["method"] == "POST").unwrap();
    assert_eq!((&post["t"], &post["request"]["path"]), (&json!(0), &json!(MAPS)));
    assert_eq!(post["request"]["from"], "10.0.0.1, 10.0.0.2");
    assert_eq!(post["request"]["headers"]["user-agent"], "kubectl/v1");
    assert_eq!(post["request"]["body"]["metadata"]["generateName"], "a");
    let answer = log.lines("response").into_iter().find(|line| line["id"] == post["id"]).unwrap();
    assert_eq!((&answer["t"], &answer["response"]["status"]), (&json!(250), &json!(200)));
}

#[test]
fn an_impersonated_user_counts_and_is_told_with_the_other() {
    let bob = json!({ "username": "bob" });
    let [create, update, ..] = &writes()[..] else { panic!() };
    // A client may choose an id that is there already.
    let update = with(with(update.clone(), "impersonatedUser", bob), "auditID", create["auditID"].clone());
    let log = Converted::of_events(&[create.clone(), update]);
    let put = log.lines("request").into_iter().find(|line| line["request"]["method"] == "PUT").unwrap();
    assert_eq!((&put["request"]["user"], log.summary.users), (&json!("bob (impersonated by jane)"), 2));
}

#[test]
fn what_finalizers_and_grace_periods_hold_stays() {
    let going = |more: Value| {
        let mut metadata = json!({ "deletionTimestamp": "2026-11-22T02:00:05Z" });
        metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        metadata
    };
    let finalizers = json!({ "finalizers": ["x"] });
    let namespace = |version: u64, held: Value| {
        let metadata = json!({ "name": "n", "resourceVersion": version.to_string(), "deletionTimestamp": "x" });
        json!({ "kind": "Namespace", "apiVersion": "v1", "metadata": metadata, "spec": { "finalizers": held } })
    };
    let log = Converted::of_events(&[
        event(1, "create", MAPS, map("a", 10, finalizers.clone())),
        event(2, "create", MAPS, map("b", 11, json!({}))),
        event(3, "delete", &of("a"), map("a", 12, going(finalizers))),
        event(4, "delete", &of("b"), map("b", 13, going(json!({ "deletionGracePeriodSeconds": 30 })))),
        // The server answers the last change of an object without a new version.
        event(5, "patch", &of("a"), map("a", 12, going(json!({})))),
        event(6, "delete", &of("b"), map("b", 17, going(json!({ "deletionGracePeriodSeconds": 0 })))),
        event(7, "delete", "/api/v1/namespaces/n", namespace(20, json!(["kubernetes"]))),
        event(8, "update", "/api/v1/namespaces/n/finalize", namespace(21, json!([]))),
    ]);
    let maps = ["+web/a@10", "+web/b@11", "~web/a@12", "~web/b@13", "-web/a@13", "-web/b@17"];
    assert_eq!(log.changes(), [&maps[..], &["+n@20", "-n@21"]].concat());
}

#[test]
fn failures_and_dry_runs_change_nothing() {
    let refusal = json!({ "code": 409, "status": "Failure", "reason": "Conflict" });
    let options = json!({ "kind": "DeleteOptions", "dryRun": ["All"] });
    let log = Converted::of_events(&[
        event(1, "create", MAPS, map("a", 10, json!({}))),
        event(2, "update", &format!("{}?dryRun=All", of("a")), map("a", 11, json!({}))),
        with(event(3, "delete", &of("a"), success()), "requestObject", options),
        with(event(4, "update", &of("a"), Value::Null), "responseStatus", refusal.clone()),
        with(event(5, "get", &of("x"), Value::Null), "responseStatus", refusal),
        with(event(6, "update", &of("a"), Value::Null), "stage", json!("Panic")),
    ]);
    assert_eq!(log.changes(), ["+web/a@10"]);
    assert_eq!((log.count("dry run"), log.count("failed"), log.summary.reads), (2, 1, 1));
    // A refusal is told by its status. A read that failed is there too.
    let bodies = log.lines("part").into_iter().filter(|line| line["part"]["reason"] == "Conflict");
    assert_eq!(bodies.filter(|line| line["part"]["kind"] == "Status").count(), 2);
}

#[test]
fn a_collection_is_deleted_as_its_answer_tells_or_as_it_is_known() {
    let pod = |name: &str, version: u64, node: Value, finalizers: Value| {
        let metadata = json!({ "name": name, "namespace": "web", "resourceVersion": version.to_string(), "finalizers": finalizers });
        json!({ "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": { "nodeName": node } })
    };
    let pods = "/api/v1/namespaces/web/pods";
    let mut listed = map("c", 5, json!({}));
    listed.as_object_mut().unwrap().remove("kind");
    let list = json!({ "kind": "ConfigMapList", "apiVersion": "v1", "metadata": {}, "items": [map("a", 10, json!({})), listed] });
    let log = Converted::of_events(&[
        event(1, "create", MAPS, map("a", 10, json!({}))),
        event(2, "deletecollection", MAPS, list),
        event(3, "create", MAPS, map("d", 20, json!({ "finalizers": ["x"] }))),
        event(4, "create", MAPS, map("e", 21, json!({}))),
        event(5, "deletecollection", MAPS, success()),
        event(6, "deletecollection", &format!("{MAPS}?labelSelector=a"), success()),
        event(7, "create", pods, pod("p", 30, Value::Null, json!([]))),
        event(8, "create", pods, pod("q", 31, json!("node"), json!([]))),
        event(9, "create", &format!("{pods}/p/eviction"), success()),
        event(10, "create", &format!("{pods}/q/eviction"), success()),
    ]);
    // One that the list alone shows was there before.
    let maps = ["=web/c@5", "+web/a@10", "-web/a@11", "-web/c@6", "+web/d@20", "+web/e@21", "-web/e@22"];
    assert_eq!(log.changes(), [&maps[..], &["+web/p@30", "+web/q@31", "-web/p@31"]].concat());
    assert_eq!(log.count("left out: deletions of objects that the log does not show"), 1);
}

#[test]
fn objects_go_with_their_definition() {
    let object = |kind: &str, api_version: &str, name: &str, version: u64| json!({ "kind": kind, "apiVersion": api_version, "metadata": { "name": name, "resourceVersion": version.to_string() } });
    let (widgets, others) = ("/apis/x.io/v1/widgets", "/apis/other.io/v1/widgets");
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut held = object("CustomResourceDefinition", "apiextensions.k8s.io/v1", "widgets.x.io", 15);
    (held["metadata"]["finalizers"], held["metadata"]["deletionTimestamp"]) =
        (json!(["x"]), "2026-11-22T02:00:05Z".into());
    let events = [
        event(1, "create", widgets, object("Widget", "x.io/v1", "a", 11)),
        event(2, "create", widgets, object("Widget", "x.io/v1", "b", 12)),
        event(3, "create", others, object("Widget", "other.io/v1", "a", 13)),
        event(5, "delete", &format!("{definitions}/widgets.x.io"), held),
        event(6, "delete", &format!("{definitions}/widgets.x.io"), success()),
    ];
    let changes = ["+a@11", "+b@12", "+a@13", "+widgets.x.io@15", "-widgets.x.io@16", "-a@12", "-b@13"];
    assert_eq!(Converted::of_events(&events).changes(), changes);
    assert_eq!(Converted::of_events(&events[..4]).changes(), changes[..4], "a finalizer holds it");
}

#[test]
fn other_answers_are_no_states() {
    let deployments = "/apis/apps/v1/namespaces/web/deployments";
    let scale = json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": { "name": "d", "resourceVersion": "11" } });
    let partial = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": { "name": "a", "namespace": "web",
        "resourceVersion": "13", "deletionTimestamp": "2026-11-22T02:00:05Z" } });
    let binding = "/api/v1/namespaces/web/pods/p/binding";
    let log = Converted::of_events(&[
        event(1, "create", MAPS, map("a", 10, json!({}))),
        event(2, "update", &format!("{deployments}/d/scale"), scale),
        event(3, "create", binding, success()),
        event(4, "create", "/apis/authorization.k8s.io/v1/subjectaccessreviews", json!({ "metadata": {} })),
        event(5, "patch", &of("b"), with(partial.clone(), "metadata", json!({ "name": "b" }))),
        event(6, "patch", &of("a"), partial),
        with(event(7, "patch", &of("c"), Value::Null), "level", json!("Metadata")),
        with(event(8, "patch", &of("c"), Value::Null), "annotations", json!({ "audit.k8s.io/truncated": "true" })),
    ]);
    assert_eq!(log.changes(), ["+web/a@10", "-web/a@11"]);
    assert_eq!((log.summary.reads, log.count("left out: answers without a whole object")), (1, 1));
    assert_eq!((log.count("no body: level Metadata"), log.count("no body: truncated")), (1, 1));
    let paths: Vec<Value> = log.lines("request").into_iter().map(|line| line["request"]["path"].clone()).collect();
    assert!(paths.contains(&json!(binding)) && paths.contains(&json!(of("c"))));
}

/// Another object of a name, in the namespace of the maps.
fn another(name: &str, uid: &str, version: u64) -> Value {
    let mut object = map(name, version, json!({}));
    object["metadata"]["uid"] = uid.into();
    object
}

/// What answers a deletion of an object that has this identity.
fn deleted(uid: &str) -> Value {
    with(success(), "details", json!({ "uid": uid }))
}

fn list(items: &[Value]) -> Value {
    json!({ "kind": "ConfigMapList", "apiVersion": "v1", "items": items })
}

#[test]
fn states_are_told_when_an_answer_shows_them_and_reads_of_older_ones_are_the_list() {
    let log = Converted::of_events(&[
        event(1, "update", &of("a"), map("a", 11, json!({}))),
        event(2, "update", &of("b"), map("b", 10, json!({}))),
        event(3, "delete", &of("b"), success()),
        event(4, "update", &of("a"), map("a", 15, json!({}))),
        event(5, "update", &of("c"), map("c", 13, json!({}))),
        event(6, "get", &of("old"), map("old", 2, json!({}))),
        event(7, "list", MAPS, list(&[map("a", 15, json!({})), map("b", 9, json!({})), map("c", 12, json!({}))])),
    ]);
    let listed = ["=web/b@9", "=web/old@2"];
    let told = ["+web/a@11", "~web/b@10", "-web/b@11", "~web/a@15", "+web/c@13"];
    assert_eq!(log.changes(), [&listed[..], &told].concat());
    assert_eq!(log.count("left out: states that came too late for their places"), 0);
}

#[test]
fn a_state_waits_for_the_answer_to_an_earlier_write_of_its_object() {
    let written = [
        event(1, "update", &of("a"), map("a", 10, json!({}))),
        event(2, "update", &of("a"), map("a", 13, json!({}))),
        event(3, "update", &of("b"), map("b", 14, json!({}))),
        event(4, "patch", &of("a"), map("a", 12, json!({}))),
        event(5, "get", &of("a"), map("a", 11, json!({}))),
    ];
    let log = Converted::of_events(&written);
    assert_eq!(log.changes(), ["+web/a@10", "+web/b@14", "~web/a@12", "~web/a@13"]);
    let text = std::fs::read_to_string(log.capture()).unwrap();
    let place = |words: &str| text.lines().position(|line| line.contains(words)).unwrap();
    let told = text.lines().position(|line| line.contains("MODIFIED") && line.contains(r#""12""#)).unwrap();
    assert!(place("PATCH") < told, "{text}");

    let mut broken_off = written[..3].to_vec();
    broken_off.push(event(3, "delete", &of("a"), success()));
    broken_off.push(written[3].clone());
    let log = Converted::of_events(&broken_off);
    assert_eq!(log.changes(), ["+web/a@10", "~web/a@13", "+web/b@14", "-web/a@14"]);
    assert_eq!(log.count("left out: states that came too late for their places"), 1);
}

#[test]
fn an_answer_behind_the_deletion_of_its_object_does_not_bring_it_back() {
    let first = [event(1, "create", MAPS, map("a", 10, json!({}))), event(2, "create", MAPS, map("b", 11, json!({})))];
    for late in [
        event(4, "update", &of("a"), map("a", 15, json!({}))),
        event(4, "list", MAPS, list(&[map("a", 10, json!({})), map("b", 11, json!({}))])),
        event(4, "get", &of("a"), map("a", 14, json!({}))),
    ] {
        let log = Converted::of_events(&[&first[..], &[event(3, "delete", &of("a"), deleted("a")), late]].concat());
        assert_eq!(log.changes(), ["+web/a@10", "+web/b@11", "-web/a@11"]);
    }
    let unseen = [event(3, "delete", &of("c"), deleted("c")), event(4, "create", MAPS, map("c", 20, json!({})))];
    let log = Converted::of_events(&[&first[..], &unseen].concat());
    assert_eq!(log.changes(), ["+web/a@10", "+web/b@11"]);
    assert_eq!(log.count("left out: deletions of objects that the log does not show"), 1);
}

#[test]
fn a_deletion_leaves_another_object_of_the_name() {
    let going = json!({ "deletionTimestamp": "2026-11-22T02:00:05Z", "deletionGracePeriodSeconds": 0 });
    for deletion in [
        event(3, "delete", &of("a"), deleted("a")),
        event(3, "delete", &of("a"), map("a", 12, going)),
        event(3, "deletecollection", MAPS, list(&[map("a", 10, json!({}))])),
    ] {
        let log = Converted::of_events(&[
            event(1, "create", MAPS, map("a", 10, json!({}))),
            event(2, "create", MAPS, another("a", "new", 14)),
            deletion,
        ]);
        assert_eq!(log.changes(), ["+web/a@10", "~web/a@14"]);
    }
}

#[test]
fn a_deletion_takes_no_version_of_another_object() {
    let log = Converted::of_events(&[
        event(1, "create", MAPS, map("c", 9, json!({}))),
        event(2, "create", MAPS, map("x", 10, json!({}))),
        event(3, "delete", &of("c"), success()),
        event(4, "create", MAPS, map("d", 11, json!({}))),
        event(5, "create", MAPS, map("e", 12, json!({}))),
    ]);
    assert_eq!(log.changes(), ["+web/c@9", "+web/x@10", "-web/c@10", "+web/d@11", "+web/e@12"]);
}

#[test]
fn the_options_of_a_deletion_are_in_its_body_or_in_its_query() {
    let created = event(1, "create", MAPS, map("a", 10, json!({})));
    let dry = json!({ "kind": "DeleteOptions", "dryRun": ["All"] });
    let spaced = with(event(2, "delete", &of("a"), success()), "requestObject", dry).to_string();
    let log = Converted::of(&[format!("{created}\n{}\n", spaced.replace("\"dryRun\":", "\"dryRun\" : "))]);
    assert_eq!((log.changes(), log.count("dry run")), (vec!["+web/a@10".to_owned()], 1));
    for (query, stays) in [("propagationPolicy=Foreground", true), ("orphanDependents=true", true), ("x=1", false)] {
        let deletion = event(2, "delete", &format!("{}?{query}", of("a")), Value::Null);
        assert_eq!(Converted::of_events(&[created.clone(), deletion]).changes().len() == 1, stays, "{query}");
    }
}

#[test]
fn a_request_that_took_long_began_when_it_arrived() {
    let slow = with(
        event(9, "update", &of("b"), map("b", 12, json!({}))),
        "requestReceivedTimestamp",
        json!("2026-11-22T02:00:02.5Z"),
    );
    let log = Converted::of_events(&[writes()[0].clone(), event(8, "update", &of("a"), map("a", 11, json!({}))), slow]);
    let put = |path: String| {
        let calls =
            crate::Timeline::from_file(log.capture()).unwrap().filter_map(|moment| match moment.unwrap().kind {
                crate::MomentKind::Ended(call) => Some(call),
                _ => None,
            });
        calls.into_iter().find(|call| call.request.target == path).unwrap().at.as_millis()
    };
    assert_eq!((put(of("a")), put(of("b"))), (7000, 1500));
}

#[test]
fn a_refusal_is_told_by_any_form_of_its_status() {
    for status in
        [json!({ "code": 403.0 }), json!({ "code": "403" }), json!({ "status": "Failure", "reason": "Forbidden" })]
    {
        let refused = with(event(2, "delete", &of("a"), Value::Null), "responseStatus", status);
        let log = Converted::of_events(&[event(1, "create", MAPS, map("a", 10, json!({}))), refused]);
        assert_eq!((log.changes(), log.count("failed")), (vec!["+web/a@10".to_owned()], 1));
    }
}

#[test]
fn a_log_whose_newest_event_comes_first_is_sorted_if_it_is_one_value_and_refused_otherwise() {
    let mut events = writes();
    events.reverse();
    assert_eq!(Converted::of(&[pretty(&json!(events))]).changes(), CHANGES);
    let folder = Folder::new();
    let path = folder.0.join("x.log");
    std::fs::write(&path, lines(&events)).unwrap();
    let error = AuditLog::open([&path]).map(drop).unwrap_err().to_string();
    assert!(error.contains("`tac`"), "{error}");
}

#[test]
fn events_of_files_that_overlap_count_once() {
    let [one, two, three, four] = &writes()[..] else { panic!() };
    let overlapping =
        [lines(&[one.clone(), three.clone(), two.clone()]), lines(&[three.clone(), two.clone(), four.clone()])];
    let log = Converted::of(&overlapping);
    assert_eq!((log.summary.writes, log.count("left out: events that are there twice")), (4, 2));
}

#[test]
fn the_last_stage_counts_and_a_write_without_one_has_no_answer() {
    let received = |event: Value| with(with(event, "stage", json!("RequestReceived")), "responseObject", Value::Null);
    let [create, update, ..] = &writes()[..] else { panic!() };
    let exec = "/api/v1/namespaces/web/pods/p/exec?command=sh";
    let log = Converted::of_events(&[
        received(create.clone()),
        create.clone(),
        received(update.clone()),
        received(event(3, "get", &of("a"), Value::Null)),
        with(event(4, "get", exec, Value::Null), "stage", json!("ResponseStarted")),
    ]);
    assert_eq!(log.changes(), ["+web/a@10"]);
    assert_eq!((log.summary.writes, log.count("no answer")), (3, 2));
    let ends = log.lines("end").into_iter().filter(|line| line["end"] == "the log has no answer");
    assert_eq!(ends.map(|line| line["t"].clone()).collect::<Vec<_>>(), [json!(1000), json!(3000)]);
}

#[test]
fn files_are_read_by_their_dates() {
    let [one, two, three, four] = &writes()[..] else { panic!() };
    let rotated = [lines(&[three.clone(), four.clone()]), lines(&[one.clone(), two.clone()])];
    assert_eq!(Converted::of(&rotated).changes(), CHANGES);
    let of_servers = [lines(&[one.clone(), three.clone()]), lines(&[two.clone(), four.clone()])];
    assert_eq!(Converted::of(&of_servers).changes(), CHANGES);
    let times =
        Converted::of(&of_servers).lines("request").into_iter().map(|line| line["t"].clone()).collect::<Vec<_>>();
    assert_eq!(times, [0, 0, 0, 1000, 2000, 3000]);
}

/// The lines of a log in a layout, as a tool prints it.
fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

#[test]
fn each_shape_of_a_log_tells_the_same() {
    let events = writes();
    let message = |event: &Value| json!({ "timestamp": 1, "message": event.to_string() });
    let messages: Vec<Value> = events.iter().map(message).collect();
    let list = json!({ "kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": events });
    let page = json!({ "events": messages, "nextToken": "x" });
    let firehose: String = messages
        .chunks(2)
        .map(|some| json!({ "messageType": "DATA_MESSAGE", "logEvents": some }).to_string())
        .collect();
    let dated = events.iter().map(|event| format!("2026-11-22T02:00:01.000Z {event}\n")).collect::<String>();
    let azure =
        events.iter().map(|event| json!({ "category": "kube-audit", "properties": { "log": event.to_string() } }));
    let klog = format!("I1122 02:00:00 started [::1]:443 {{x}}\n{}", lines(&events));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(lines(&events).as_bytes()).unwrap();
    let shapes = [
        ("lines", lines(&events).into_bytes()),
        ("gzip", gzip.finish().unwrap()),
        ("zstd", zstd::stream::encode_all(lines(&events).as_bytes(), 1).unwrap()),
        ("pretty", events.iter().map(pretty).collect::<String>().into_bytes()),
        ("an array", pretty(&json!(events)).into_bytes()),
        ("EventList", list.to_string().into_bytes()),
        ("a pretty EventList", pretty(&list).into_bytes()),
        ("messages", lines(&messages).into_bytes()),
        (
            "pretty messages",
            json!({ "events": events.iter().map(|event| json!({ "message": pretty(event) })).collect::<Vec<_>>() })
                .to_string()
                .into_bytes(),
        ),
        ("a page", page.to_string().into_bytes()),
        ("a pretty page", pretty(&page).into_bytes()),
        ("Firehose", firehose.into_bytes()),
        ("dates", dated.into_bytes()),
        ("Azure", lines(&azure.collect::<Vec<_>>()).into_bytes()),
        ("other lines", klog.into_bytes()),
    ];
    for (shape, bytes) in shapes {
        let log = Converted::of(&[bytes]);
        assert_eq!(log.changes(), CHANGES, "{shape}");
        assert_eq!((log.summary.writes, log.summary.unreadable.is_none()), (4, true), "{shape}");
        assert_eq!(log.count("left out: values of other kinds"), u64::from(shape == "other lines"), "{shape}");
    }
}

#[test]
fn entries_of_cloud_logging_tell_the_same() {
    let entry = |second: u32, verb: &str, name: &str, code: u64, response: Value| {
        let mut response = response;
        response["@type"] = "core.k8s.io/v1.ConfigMap".into();
        json!({
            "insertId": format!("{second}"),
            "protoPayload": {
                "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
                "authenticationInfo": { "principalEmail": "jane@example.com" },
                "methodName": format!("io.k8s.core.v1.configmaps.{verb}"),
                "requestMetadata": { "callerIp": "10.0.0.1", "callerSuppliedUserAgent": "kubectl/v1" },
                "request": { "@type": "core.k8s.io/v1.ConfigMap" },
                "resourceName": format!("core/v1/namespaces/web/configmaps/{name}"),
                "response": response, "serviceName": "k8s.io", "status": { "code": code },
            },
            "operation": { "first": true, "last": true, "id": format!("{second}"), "producer": "k8s.io" },
            "timestamp": format!("2026-11-22T02:00:{second:02}.5Z"),
        })
    };
    let refusal = json!({ "kind": "Status", "apiVersion": "v1", "code": 409, "status": "Failure" });
    let entries = [
        entry(1, "create", "a", 0, map("a", 10, json!({}))),
        entry(2, "update", "a", 0, map("a", 12, json!({}))),
        entry(3, "patch", "b", 0, map("b", 15, json!({}))),
        entry(4, "delete", "a", 0, success()),
        entry(5, "create", "b", 6, refusal),
        entry(6, "delete", "b", 7, Value::Null),
        json!({ "protoPayload": { "@type": "type.googleapis.com/google.cloud.audit.AuditLog", "serviceName": "compute.googleapis.com",
            "methodName": "v1.compute.instances.list" } }),
    ];
    for text in [lines(&entries), pretty(&json!(entries))] {
        let log = Converted::of(&[text]);
        assert_eq!(log.changes(), CHANGES);
        assert_eq!((log.summary.writes, log.count("failed"), log.summary.users), (6, 2, 1));
        let calls = log.lines("request").into_iter().filter(|line| line["request"]["user"] == "jane@example.com");
        let paths: Vec<String> = calls.map(|line| line["request"]["path"].as_str().unwrap().to_owned()).collect();
        assert_eq!(paths, [MAPS, &of("a"), &of("b"), &of("a"), MAPS, &of("b")]);
        let statuses: Vec<Value> =
            log.lines("response").into_iter().map(|line| line["response"]["status"].clone()).collect();
        assert_eq!(&statuses[statuses.len() - 2..], [409, 403]);
        assert!(log.lines("part").iter().all(|line| line["part"]["@type"].is_null()));
    }
}

#[test]
fn a_log_of_an_attacker_is_read_as_far_as_it_is_one() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let with_body = |body: &str| event(9, "patch", &of("x"), json!("body")).to_string().replace("\"body\"", body);
    let huge = |version: &str| map("h", 1, json!({ "resourceVersion": version }));
    let mut odd = huge("x");
    odd["metadata"]["resourceVersion"] = json!("18446744073709551615");
    let bad = [
        with_body(&deep),
        deep.clone(),
        "{".repeat(1000),
        format!(
            "{{\"message\":{}}}",
            json!(json!({ "message": json!({ "message": "{\"log\":\"{}\"}" }).to_string() }).to_string())
        ),
        with(event(9, "patch", &of("x"), odd), "sourceIPs", json!(7)).to_string(),
        with(event(9, "patch", &of("x"), json!(7)), "responseStatus", json!("x")).to_string(),
        with(event(9, "patch", &of("x"), json!([])), "verb", json!(7)).to_string(),
        with(event(9, "", &of("x"), json!([])), "stage", Value::Null).to_string(),
        with(event(9, "get", &of("x"), map("x", 3, json!({}))), "stageTimestamp", json!("-0001-01-01T00:00:00Z"))
            .to_string(),
        with(event(9, "patch", "no path", json!({})), "auditID", json!("\u{1b}]0;x\u{7}")).to_string(),
        event(9, "patch", "/api/v1/namespaces/../\u{1b}/%00", map("\u{1b}", 4, json!({}))).to_string(),
        event(9, "patch", &of("x"), json!({ "items": [7, {}, null], "kind": 7 })).to_string(),
        event(9, "delete", &of("a"), json!({ "kind": 7, "metadata": [] })).to_string(),
        r#"{"protoPayload":7}"#.to_owned(),
        r#"{"protoPayload":{"methodName":"io.k8s.x","resourceName":"//","serviceName":"k8s.io","request":7}}"#
            .to_owned(),
        r#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":7}"#.to_owned(),
        "\u{feff}\0".to_owned(),
        writes()[0].to_string()[..200].to_owned() + &event(9, "patch", &of("z"), Value::Null).to_string(),
    ];
    let log = [lines(&writes()), bad.join("\n")].concat();
    let converted = Converted::of(&[log]);
    let changes = converted.changes();
    assert!(CHANGES.iter().all(|change| changes.contains(&(*change).to_owned())), "{changes:?}");
    assert!(converted.count("left out: lines that cannot be read") > 4, "{}", converted.summary);
    assert_eq!(converted.summary.unreadable.as_ref().unwrap().line(), Some(6));
    assert!(!converted.summary.to_string().contains('\u{1b}'));
}

#[test]
fn a_line_that_is_too_long_is_left_out_and_dates_a_hundred_years_apart_are_a_fault() {
    let long = format!("{{\"message\":\"{}\"}}\n", "x".repeat(100 << 20));
    let log = Converted::of(&[lines(&writes()[..2]) + &long + &lines(&writes()[2..])]);
    assert_eq!(log.changes(), CHANGES);
    let error = log.summary.unreadable.unwrap();
    assert_eq!((error.kind(), error.line()), (CaptureErrorKind::TooLong, Some(3)));

    let folder = Folder::new();
    let path = folder.0.join("audit.log");
    let late = with(event(9, "get", "/readyz", Value::Null), "stageTimestamp", json!("9999-11-22T02:00:00Z"));
    std::fs::write(&path, lines(&writes()) + &late.to_string()).unwrap();
    let error = AuditLog::open([&path]).unwrap().write_capture(folder.0.join("x.jsonl")).unwrap_err();
    assert_eq!((error.path(), error.line()), (&*path, Some(5)));
}

#[test]
fn a_file_that_is_no_audit_log_is_refused() {
    let folder = Folder::new();
    let path = folder.0.join("x");
    for content in [
        "",
        "{}\n",
        "audit.k8s.io/v1",
        r#"{"kind":"Event","apiVersion":"v1"}"#,
        "{\"t\":0,\"id\":1,\"end\":\"audit.k8s.io/\"}",
    ] {
        std::fs::write(&path, content).unwrap();
        let error = AuditLog::open([&path]).map(drop).unwrap_err();
        assert_eq!(error.kind(), CaptureErrorKind::Unrecognized, "{content}");
    }
    std::fs::write(&path, r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1","auditID":"1"}"#).unwrap();
    let error = AuditLog::open([&path]).map(drop).unwrap_err();
    assert_eq!((error.kind(), error.line()), (CaptureErrorKind::Record, Some(1)), "it is one that cannot be read");
    let error = AuditLog::open([Path::new("/no/such/file")]).map(drop).unwrap_err();
    assert_eq!(error.kind(), CaptureErrorKind::Io);
}
