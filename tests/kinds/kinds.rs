//! Types from anywhere are kinds: those of k8s-openapi as they are, a program's own and those of kube's derive in one line.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use core::time::Duration;
use flate2::read::GzDecoder;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use listwatch::file::Playback;
use listwatch::object::Kind;
use listwatch::{Executor, Informers, Resource, kind, run};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// A type of the program's own, which has the fields that it needs.
#[derive(Deserialize)]
struct Foo {
    spec: FooSpec,
}

#[derive(Deserialize)]
struct FooSpec {
    replicas: i32,
}

kind!(Foo, "samplecontroller.k8s.io/v1alpha1", "foos");

/// The derive makes a type `Document` with this specification.
#[derive(kube::CustomResource, Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", namespaced)]
struct DocumentSpec {
    title: String,
}

kind!(Document, "example.com/v1", "documents");

/// A list of the items under each path, and nothing after that.
fn capture(lists: &[(&str, Value)]) -> String {
    let mut lines = Vec::new();
    for (id, (path, items)) in lists.iter().enumerate() {
        let list = json!({ "metadata": { "resourceVersion": "9" }, "items": items });
        lines.push(json!({ "t": 0, "id": id, "request": { "method": "GET", "path": path } }));
        lines.push(json!({ "t": 1, "id": id, "response": { "status": 200 } }));
        lines.push(json!({ "t": 1, "id": id, "data": list.to_string() }));
        lines.push(json!({ "t": 1, "id": id, "end": "eof" }));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The Deployments that a real server listed.
fn real_deployments() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/captures/protocol.jsonl.gz");
    let lines = BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut lines = lines.skip_while(|line| !line["request"]["path"].to_string().contains("/apis/apps/v1/deployments"));
    let id = lines.next().unwrap()["id"].clone();
    let data: String =
        lines.filter(|line| line["id"] == id).filter_map(|line| Some(line["data"].as_str()?.to_owned())).collect();
    serde_json::from_str::<Value>(&data).unwrap()["items"].take()
}

#[test]
fn informers_of_types_from_anywhere_stand_side_by_side() {
    let deployments = real_deployments();
    let own = |spec: Value| json!([{ "metadata": { "name": "one", "namespace": "web", "resourceVersion": "7" }, "spec": spec }]);
    let lists = [
        ("/apis/apps/v1/deployments", deployments.clone()),
        ("/apis/samplecontroller.k8s.io/v1alpha1/foos", own(json!({ "replicas": 3 }))),
        ("/apis/example.com/v1/documents", own(json!({ "title": "On kinds" }))),
    ];
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kinds.jsonl");
    std::fs::write(&path, capture(&lists)).unwrap();
    let informers = Informers::new(Playback::from_file(&path).unwrap());

    let (apps, foos, documents) =
        (informers.informer::<Deployment>(), informers.informer::<Foo>(), informers.informer::<Document>());
    let (clock, executor) = (informers.clock().clone(), Executor::new());
    let _running = executor.spawn(informers.run());
    run(&clock, &executor, async {
        let soon = Duration::from_secs(10);
        apps.synced().within(soon).await.unwrap();
        foos.synced().within(soon).await.unwrap();
        documents.synced().within(soon).await.unwrap();
    });

    let found = apps.get("team-0/svc-00").unwrap();
    let mut expected: Deployment = serde_json::from_value(deployments[0].clone()).unwrap();
    // Nobody asked for them.
    assert!(expected.metadata.managed_fields.take().is_some());
    assert_eq!(*found, expected);
    assert_eq!(apps.len(), deployments.as_array().unwrap().len());
    assert_eq!(foos.get("web/one").unwrap().spec.replicas, 3);
    assert_eq!(documents.get("web/one").unwrap().spec.title, "On kinds");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_types_of_k8s_openapi_say_version_kind_plural_and_scope() {
    fn of<T: Kind>() -> (&'static str, &'static str, &'static str, bool) {
        (T::API_VERSION, T::KIND, T::PLURAL, T::NAMESPACED)
    }
    assert_eq!(of::<Deployment>(), ("apps/v1", "Deployment", "deployments", true));
    assert_eq!(of::<Pod>(), ("v1", "Pod", "pods", true));
    assert_eq!(of::<ConfigMap>(), ("v1", "ConfigMap", "configmaps", true));
    assert_eq!(of::<Node>(), ("v1", "Node", "nodes", false));
    assert_eq!(Resource::of::<Node>().path(), "/api/v1/nodes");
    assert_eq!(Resource::of::<Deployment>().path(), "/apis/apps/v1/deployments");
}

#[test]
fn the_kind_of_a_derived_type_is_what_kube_says() {
    use kube::Resource as _;
    assert_eq!(Document::API_VERSION, Document::api_version(&()));
    assert_eq!(Document::KIND, Document::kind(&()));
    assert_eq!(Document::PLURAL, Document::plural(&()));
}
