//! The client that controllers act with.

use crate::real_server::plane::{Plane, plane};
use listwatch_core::Resource;
use listwatch_core::api::PropagationPolicy;
use listwatch_core::api::{
    Api, ApiClient, ApiError, ApiRequest, ApiResponse, ConflictRetry, DeleteOptions, Discovery, Patch,
};
use listwatch_core::transport::TransportError;
use serde_json::{Value, json};

fn deployment(name: &str) -> Value {
    let labels = json!({ "app": name });
    let pod = json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "none" }] } });
    let spec = json!({ "paused": true, "selector": { "matchLabels": labels }, "template": pod });
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name }, "spec": spec })
}

/// Deployments of a new namespace, of which there is one: `web`, and as it was created.
fn web(plane: &mut Plane, namespace: &str) -> (Api<Value>, Value) {
    let namespace = plane.namespace(namespace);
    let api = Api::new(&Resource::named("apps/v1/deployments").unwrap().in_namespace(&namespace));
    let created = api.create(&deployment("web")).send(&plane.client).unwrap();
    (api, created)
}

fn replicas(deployment: &Value) -> Option<u64> {
    deployment["spec"]["replicas"].as_u64()
}

#[test]
fn what_is_created_can_be_read_and_no_name_is_given_twice() {
    let Some(mut plane) = plane() else { return };
    let (api, created) = web(&mut plane, "created");
    let client = &plane.client;
    assert!(api.create(&deployment("web")).send(client).is_err_and(|error| error.is_already_exists()));
    api.create(&deployment("db")).with_dry_run().send(client).unwrap();
    assert!(api.get("db").send(client).is_err_and(|error| error.is_not_found()));
    assert_eq!(api.get("web").send(client).unwrap()["metadata"]["uid"], created["metadata"]["uid"]);
    assert_eq!(api.list().send(client).unwrap().items.len(), 1);
}

#[test]
fn objects_are_patched_in_four_ways() {
    let Some(mut plane) = plane() else { return };
    let (api, _) = web(&mut plane, "patched");
    let client = &plane.client;
    let invalid = json!({ "spec": { "replicas": -1 } });
    assert!(api.patch("web", &Patch::Merge(&invalid)).send(client).is_err_and(|error| error.is_invalid()));
    let merged = api.patch("web", &Patch::Merge(&json!({ "spec": { "replicas": 2 } }))).send(client).unwrap();
    assert_eq!(replicas(&merged), Some(2));
    let operations = json!([{ "op": "replace", "path": "/spec/replicas", "value": 3 }]);
    assert_eq!(replicas(&api.patch("web", &Patch::Json(&operations)).send(client).unwrap()), Some(3));
    let sidecar = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "s", "image": "none" }] } } } });
    let with_both = api.patch("web", &Patch::Strategic(&sidecar)).send(client).unwrap();
    assert_eq!(with_both["spec"]["template"]["spec"]["containers"].as_array().unwrap().len(), 2);
    let mut applied = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" } });
    applied["spec"] = json!({ "replicas": 4 });
    let apply = |force| Patch::Apply { manager: "tests", force, object: &applied };
    assert!(api.patch("web", &apply(false)).send(client).is_err_and(|error| error.is_conflict()), "another's field");
    assert_eq!(replicas(&api.patch("web", &apply(true)).send(client).unwrap()), Some(4));
}

/// Tries again for as long as others, such as the controller, change the object in between.
#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn persist<T>(mut attempt: impl FnMut() -> Result<T, ApiError>) -> T {
    let mut retry = ConflictRetry::new(1);
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) => std::thread::sleep(retry.again(&error).unwrap()),
        }
    }
}

#[test]
fn who_has_read_an_older_version_does_not_replace_a_newer_one() {
    let Some(mut plane) = plane() else { return };
    let (api, mut old) = web(&mut plane, "replaced");
    let client = &plane.client;
    api.patch("web", &Patch::Merge(&json!({ "spec": { "replicas": 2 } }))).send(client).unwrap();
    old["metadata"]["labels"] = json!({ "old": "yes" });
    assert!(api.replace("web", &old).send(client).is_err_and(|error| error.is_conflict()));
    let replaced = persist(|| {
        let mut current = api.get("web").send(client)?;
        current["metadata"]["labels"] = json!({ "new": "yes" });
        api.replace("web", &current).send(client)
    });
    assert_eq!((replicas(&replaced), &replaced["metadata"]["labels"]), (Some(2), &json!({ "new": "yes" })));
}

#[test]
fn scale_and_status_are_changed_apart_from_the_rest() {
    let Some(mut plane) = plane() else { return };
    let (api, _) = web(&mut plane, "scaled");
    let client = &plane.client;
    let scaled = persist(|| {
        let mut scale = api.scale().get("web").send(client)?;
        scale.spec.replicas = 4;
        api.scale().replace("web", &scale).send(client)
    });
    assert_eq!(scaled.spec.replicas, 4);
    let status = json!({ "spec": { "replicas": 9 }, "status": { "observedGeneration": 99 } });
    let reported = api.status().patch("web", &Patch::Merge(&status)).send(client).unwrap();
    assert_eq!((replicas(&reported), &reported["status"]["observedGeneration"]), (Some(4), &json!(99)));
}

#[test]
fn a_deletion_is_of_the_object_that_is_meant_or_of_none() {
    let Some(mut plane) = plane() else { return };
    let (api, created) = web(&mut plane, "deleted");
    let client = &plane.client;
    let another = DeleteOptions::default().with_uid("another");
    assert!(api.delete("web", &another).send(client).is_err_and(|error| error.is_conflict()));
    let older = DeleteOptions::default().with_resource_version("1");
    assert!(api.delete("web", &older).send(client).is_err_and(|error| error.is_conflict()));
    let uid = created["metadata"]["uid"].as_str().unwrap();
    let this = DeleteOptions::default().with_uid(uid).with_propagation(PropagationPolicy::Background);
    api.delete("web", &this).send(client).unwrap();
    assert!(api.delete("web", &this).send(client).is_err_and(|error| error.is_not_found()));
}

/// A server from before discovery in two answers.
struct Older<'a, C>(&'a C);

impl<C: ApiClient> ApiClient for Older<'_, C> {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        let mut request = request.clone();
        request.accept = "application/json";
        self.0.send(&request)
    }
}

#[test]
fn kinds_are_found_by_any_of_their_names_on_new_servers_and_on_old() {
    let Some(plane) = plane() else { return };
    let discovered: [Result<Discovery, ApiError>; 2] =
        [Discovery::run(&plane.client), Discovery::run(&Older(&plane.client))];
    for discovery in discovered {
        let discovery = discovery.unwrap();
        // A cluster in use may have an aggregated server that is down.
        assert!(!plane.is_own || discovery.unavailable().is_empty(), "{:?}", discovery.unavailable());
        for (name, path) in [
            ("deploy", "/apis/apps/v1/deployments"),
            ("Deployment", "/apis/apps/v1/deployments"),
            ("cm", "/api/v1/configmaps"),
            ("lease", "/apis/coordination.k8s.io/v1/leases"),
            ("crd", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
            ("events", "/api/v1/events"),
            ("events.events.k8s.io", "/apis/events.k8s.io/v1/events"),
        ] {
            assert_eq!(discovery.find(name).map(|kind| kind.resource().path().to_owned()).as_deref(), Some(path));
        }
    }
}
