//! What an audit log tells of the objects, beside what watches of the same minutes were told.

use crate::real_server::audit::AuditLog;
use crate::real_server::plane::{Plane, own_plane, user as named_user};
use crate::real_server::sample_controller::stage::wait_for;
use listwatch::World;
use listwatch::controller::{Controller, Outcome};
use listwatch::file::{AuditLog as Log, History, HistoryChange};
use listwatch_core::Resource;
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_transport_http::{ClusterOptions, HttpClient};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(120);
const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";

/// The changes of each object, by its collection and its key: how it changed, and to which version.
type Changes = BTreeMap<(String, String), Vec<(Kind, u64)>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Added,
    Modified,
    Deleted,
}

/// The changes of the objects in a namespace.
fn changes(recording: &Path, namespace: &str) -> Changes {
    let mut history = History::from_file(recording).unwrap();
    let mut changes = Changes::new();
    for step in &mut history {
        let (kind, objects) = match step.change {
            HistoryChange::Added(object) => (Kind::Added, vec![object]),
            HistoryChange::Modified(object) => (Kind::Modified, vec![object]),
            HistoryChange::Deleted(object) => (Kind::Deleted, vec![object]),
            HistoryChange::Relisted { changed, .. } => (Kind::Added, changed),
            HistoryChange::Reached(_) => continue,
        };
        for object in objects.iter().filter(|object| object["metadata"]["namespace"] == namespace) {
            let text = |field: &str| object["metadata"][field].as_str().unwrap().to_owned();
            let of = changes.entry((step.resource.collection.clone(), text("name"))).or_default();
            of.push((kind, text("resourceVersion").parse().unwrap()));
        }
    }
    assert!(history.error().is_none(), "{:?}", history.error());
    changes
}

/// A client of a namespace.
struct Writer<'a> {
    client: &'a HttpClient,
    namespace: &'a str,
}

impl Writer<'_> {
    /// Sends a request for a path such as `v1/configmaps/a`, and returns the answer.
    fn send(&self, method: Method, path: &str, content_type: &'static str, body: &Value) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (collection, name) = match path.split('/').collect::<Vec<_>>()[..] {
            ["v1", plural, ref name @ ..] => (format!("v1/{plural}"), name.join("/")),
            [group, version, plural, ref name @ ..] => (format!("{group}/{version}/{plural}"), name.join("/")),
            _ => panic!("{path}"),
        };
        let collection = Resource::named(&collection).unwrap().in_namespace(self.namespace);
        let slash = if name.is_empty() { "" } else { "/" };
        let mut request = ApiRequest::new(method, format!("{}{slash}{name}", collection.path()));
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            request.query.push((if name == "dryRun" { "dryRun" } else { "labelSelector" }, value.to_owned()));
        }
        request.content_type = Some(content_type);
        request.body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = self.client.send(&request).unwrap();
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    /// The same, of a request that succeeds.
    #[track_caller]
    fn json(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, answer) = self.send(method, path, "application/json", body);
        assert!(status < 300, "{method:?} {path}: {answer}");
        answer
    }

    #[track_caller]
    fn merge(&self, path: &str, body: &Value) {
        let (status, answer) = self.send(Method::Patch, path, "application/merge-patch+json", body);
        assert!(status < 300, "{path}: {answer}");
    }
}

fn map(name: &str, more: &Value) -> Value {
    let mut metadata = json!({ "name": name, "labels": { "a": "b" } });
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "x": "1" } })
}

/// ConfigMaps that are written in each way.
fn write_maps(writer: &Writer<'_>) {
    let maps = "v1/configmaps";
    let mut written = writer.json(Method::Post, maps, &map("a", &json!({})));
    written["data"]["x"] = json!("2");
    writer.json(Method::Put, "v1/configmaps/a", &written);
    assert_eq!(writer.send(Method::Put, "v1/configmaps/a", "application/json", &written).0, 409);
    assert_eq!(writer.send(Method::Post, maps, "application/json", &map("a", &json!({}))).0, 409);
    for _ in 0..2 {
        // The second one changes nothing.
        writer.merge("v1/configmaps/a", &json!({ "data": { "x": "3" } }));
    }
    writer.merge("v1/configmaps/a?dryRun=All", &json!({ "data": { "x": "4" } }));
    writer.json(
        Method::Delete,
        "v1/configmaps/a",
        &json!({ "kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"] }),
    );
    let applied =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "applied" }, "data": { "x": "1" } });
    let target = "v1/configmaps/applied";
    let apply = writer.client;
    let path = Resource::named(maps).unwrap().in_namespace(writer.namespace);
    let mut request = ApiRequest::new(Method::Patch, format!("{}/applied", path.path()));
    request.query.push(("fieldManager", "test".to_owned()));
    request.content_type = Some("application/apply-patch+yaml");
    request.body = applied.to_string().into_bytes();
    assert_eq!(apply.send(&request).unwrap().status, 201);
    writer.json(Method::Delete, target, &Value::Null);
    let mut generated = map("x", &json!({ "generateName": "generated-" }));
    generated["metadata"].as_object_mut().unwrap().remove("name");
    writer.json(Method::Post, maps, &generated);
    writer.json(Method::Post, maps, &map("held", &json!({ "finalizers": ["example.com/x"] })));
    writer.json(Method::Delete, "v1/configmaps/held", &Value::Null);
    writer.merge("v1/configmaps/held", &json!({ "metadata": { "finalizers": null } }));
    for number in 0..20 {
        writer.json(Method::Post, maps, &map(&format!("many-{number}"), &json!({ "labels": { "many": "1" } })));
    }
    writer.json(Method::Delete, "v1/configmaps?labelSelector=many=1", &Value::Null);
}

/// A pod of a node that is not there: nobody ends it, and two deletions do.
fn write_pods(writer: &Writer<'_>) {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "graceful" },
        "spec": { "containers": [{ "name": "a", "image": "a" }], "nodeName": "none" } });
    writer.json(Method::Post, "v1/pods", &pod);
    writer.json(Method::Delete, "v1/pods/graceful", &Value::Null);
    let now = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0 });
    writer.json(Method::Delete, "v1/pods/graceful", &now);
}

/// A Deployment whose pods are drained, and which is scaled and deleted.
fn write_deployment(writer: &Writer<'_>, plane: &Plane) {
    let labels = json!({ "app": "web" });
    let template =
        json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "a", "image": "a" }] } });
    let spec = json!({ "replicas": 3, "selector": { "matchLabels": labels }, "template": template });
    let deployment =
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": spec });
    writer.json(Method::Post, "apps/v1/deployments", &deployment);
    let resource = |name: &str| Resource::named(name).unwrap().in_namespace(writer.namespace);
    // Another pod comes and goes beside them.
    let (pods, sets) = (resource("v1/pods").with_label_selector("app=web"), resource("apps/v1/replicasets"));
    assert!(wait_for(LONG, || plane.list(&pods).len() == 3));
    for pod in plane.list(&pods).keys() {
        let name = pod.rsplit('/').next().unwrap();
        let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": name } });
        writer.json(Method::Post, &format!("v1/pods/{name}/eviction"), &eviction);
    }
    assert!(wait_for(LONG, || plane.list(&pods).len() == 3));
    writer.merge("apps/v1/deployments/web/scale", &json!({ "spec": { "replicas": 1 } }));
    assert!(wait_for(LONG, || plane.list(&pods).len() == 1));
    writer.json(Method::Delete, "apps/v1/deployments/web", &Value::Null);
    assert!(wait_for(LONG, || plane.list(&pods).is_empty() && plane.list(&sets).is_empty()));
}

/// A kind of the test's own, `Share`, in this group. Returns its collection.
pub(crate) fn define(plane: &mut Plane, group: &str) -> String {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
        "subresources": { "status": {} } });
    let names = json!({ "plural": "shares", "singular": "share", "kind": "Share" });
    let spec = json!({ "group": group, "scope": "Namespaced", "names": names, "versions": [version] });
    plane.create_global(DEFINITIONS, &json!({ "metadata": { "name": format!("shares.{group}") }, "spec": spec }));
    let collection = format!("{group}/v1/shares");
    assert!(wait_for(LONG, || plane.has(&Resource::named(&collection).unwrap())));
    collection
}

fn write_shares(writer: &Writer<'_>, shares: &str) {
    let group = shares.rsplit_once('/').unwrap().0;
    let share = |name: &str| json!({ "apiVersion": group, "kind": "Share", "metadata": { "name": name }, "spec": { "x": 1.5 } });
    for name in ["a", "b"] {
        writer.json(Method::Post, shares, &share(name));
    }
    writer.merge(&format!("{shares}/a"), &json!({ "spec": { "x": 2 } }));
    writer.merge(&format!("{shares}/a/status"), &json!({ "status": { "ready": true } }));
    writer.json(Method::Delete, &format!("{shares}/b"), &Value::Null);
}

#[test]
fn an_audit_log_tells_the_changes_and_the_ends_that_watches_tell_but_those_that_a_server_makes_by_itself() {
    let Some(mut plane) = own_plane() else { return };
    let _log = AuditLog::begin(&mut plane);
    let namespace = plane.namespace("audit-captures");
    let group = plane.name("audited") + ".example";
    let shares = define(&mut plane, &group);
    let user = plane.name("second");
    plane.bind(&user, "cluster-admin", &named_user(&user));
    let second = plane.cluster_of(&ClusterOptions::new().impersonate(&user)).client().unwrap();
    let folder = plane.control().folder().to_owned();
    let [tape, capture] = ["tape", "capture"].map(|name| folder.join(format!("audit-captures-{name}.jsonl.zst")));
    [&tape, &capture].iter().for_each(|path| drop(std::fs::remove_file(path)));

    let (end, ended) = smol::channel::bounded::<()>(1);
    let world = World::from(plane.cluster.clone()).until(async move { _ = ended.recv().await });
    let world = world.recorded_to(&tape).unwrap();
    let (recorded, place) =
        ([&*shares, "v1/configmaps", "v1/pods", "apps/v1/deployments", "apps/v1/replicasets"], &namespace);
    std::thread::scope(|scope| {
        // A test that fails here ends the recorder, too.
        let end = end;
        scope.spawn(move || {
            let controller = Controller::new("recorder", world);
            let informers = recorded
                .map(|name| controller.informer_of::<Value>(Resource::named(name).unwrap().in_namespace(place)));
            // The world ends it.
            let _ended = controller.reconciles(&informers[0]).run(async |_, _| Ok(Outcome::Done));
        });
        let writers = [&plane.client, &second].map(|client| Writer { client, namespace: place });
        write_shares(&writers[0], &shares);
        std::thread::scope(|scope| {
            scope.spawn(|| write_maps(&writers[0]));
            scope.spawn(|| write_pods(&writers[1]));
            write_deployment(&writers[1], &plane);
        });
        // The watches are told a little later.
        wait_for(Duration::from_secs(3), || false);
        end.close();
    });
    plane.control().audit(false);

    let summary = Log::open([plane.control().audit_log()]).unwrap().write_capture(&capture).unwrap();
    println!("{summary}");
    let (recorded, told) = (changes(&tape, &namespace), changes(&capture, &namespace));
    let (mut within_deletions, mut by_scale, mut chosen) = (0, 0, 0);
    for (key, recorded) in &recorded {
        let told = told.get(key).unwrap_or_else(|| panic!("{key:?} is not told: {recorded:?}"));
        let version_of = |changes: &[(Kind, u64)]| changes.last().copied().filter(|(kind, _)| *kind != Kind::Deleted);
        assert_eq!(version_of(told), version_of(recorded), "{key:?}: {told:?} {recorded:?}");
        let mut rest = told.iter().peekable();
        for change in recorded {
            match (rest.peek(), change) {
                (Some(told), recorded) if *told == recorded => drop(rest.next()),
                // A `Status` has no version.
                (Some((Kind::Deleted, _)), (Kind::Deleted, _)) => {
                    chosen += 1;
                    rest.next();
                }
                // An eviction notes itself in the status, and each deletion of a pod ends the grace period.
                (Some((Kind::Deleted, _)), (Kind::Modified, _)) if key.0 == "v1/pods" => within_deletions += 1,
                (_, (Kind::Modified, _)) if key.0 == "apps/v1/deployments" => by_scale += 1,
                _ => panic!("{key:?}: {change:?} is not told: {told:?} {recorded:?}"),
            }
        }
        assert_eq!(rest.next(), None, "{key:?}: {told:?} {recorded:?}");
    }
    println!(
        "{} objects; not told: {within_deletions} within deletions, {by_scale} by scale; {chosen} versions",
        recorded.len()
    );
    assert!(within_deletions > 0 && by_scale == 1 && chosen > 0, "{within_deletions} {by_scale} {chosen}");
    assert!(recorded.len() > 30 && summary.users >= 2 && summary.counts["dry run"] == 2, "{summary}");
    let own = |(collection, _): &&(String, String)| recorded.keys().any(|(own, _)| own == collection);
    assert_eq!(told.keys().filter(own).collect::<Vec<_>>(), recorded.keys().collect::<Vec<_>>());
}
