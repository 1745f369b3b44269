//! What a reconcile does to objects, on a real server.

use crate::real_server::plane::{Plane, plane};
use core::fmt::Debug;
use core::time::Duration;
use listwatch::controller::{ActError, Context, Controller, ControllerHandle, Error, Outcome, Report};
use listwatch::http::HttpClient;
use listwatch::{Client, Clock};
use listwatch::{Found, InformerHandle, World};
use listwatch_core::api::{Api, ApiClient, ApiRequest, ApiResponse, DeleteOptions, Patch};
use listwatch_core::decode::MetadataOnly;
use listwatch_core::transport::TransportError;
use listwatch_core::{Key, Resource};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Of a Deployment it knows little.
#[derive(Clone, Deserialize, Serialize)]
struct Deployment {
    spec: Spec,
    status: Option<Status>,
}

#[derive(Clone, Deserialize, Serialize)]
struct Spec {
    replicas: Option<u32>,
    template: Template,
}

#[derive(Clone, Deserialize, Serialize)]
struct Template {
    spec: PodSpec,
}

#[derive(Clone, Deserialize, Serialize)]
struct PodSpec {
    containers: Vec<Container>,
}

#[derive(Clone, Deserialize, Serialize)]
struct Container {
    image: String,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct Status {
    #[serde(rename = "observedGeneration")]
    observed_generation: Option<i64>,
}

/// A custom resource with all sorts of fields.
#[derive(Clone, Deserialize, Serialize)]
struct Wheel {
    spec: WheelSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Value>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct WheelSpec {
    count: Option<i64>,
    ratio: Option<f64>,
    /// The server has a default.
    size: Option<i64>,
    note: Option<String>,
}

/// What is done to one object of a namespace.
struct Scene {
    plane: Plane,
    namespace: String,
}

impl Scene {
    fn new(name: &str) -> Option<Self> {
        let mut plane = plane()?;
        let namespace = plane.namespace(name);
        Some(Self { plane, namespace })
    }

    fn resource(&self, name: &str) -> Resource {
        Resource::named(name).unwrap().in_namespace(&self.namespace)
    }

    fn controller(&self) -> Controller {
        Controller::new("acting", World::from(self.plane.cluster.clone()))
    }

    fn deployments(&self) -> Resource {
        self.resource("apps/v1/deployments")
    }

    /// Acts once on the object of this name, in a reconcile, and returns what came of it.
    fn act<T: DeserializeOwned + Send + Sync + 'static, R: Send>(
        &self,
        controller: Controller,
        informer: &InformerHandle<T>,
        name: &str,
        act: impl AsyncFn(&Context, &Found<T>) -> R + Send + Sync,
    ) -> R {
        let (key, handle, done) =
            (Key::new(Some(&self.namespace), name), ControllerHandle::default(), Mutex::new(None));
        let controller = controller.reconciles(informer).keys(&handle).on_report(|_, _| {});
        let ended = controller.run(async |cx, woken: Key| {
            if woken == key && done.lock().unwrap().is_none() {
                let result = act(&cx, &informer.get(&key).unwrap()).await;
                *done.lock().unwrap() = Some(result);
                handle.stop();
            }
            Ok(Outcome::Done)
        });
        assert_eq!(ended, Ok(()));
        done.into_inner().unwrap().unwrap()
    }

    fn act_on_deployment<R: Send>(&self, act: impl AsyncFn(&Context, &Found<Deployment>) -> R + Send + Sync) -> R {
        let controller = self.controller();
        let deployments = controller.informer_of(self.deployments()).with_kind("Deployment");
        self.act(controller, &deployments, "web", act)
    }

    /// A Deployment with two containers, as the server has it.
    fn create_deployment(&self) -> Value {
        self.plane.create(&self.deployments(), &deployment())
    }

    fn deployment(&self) -> Value {
        self.plane.get(&self.deployments(), "web").unwrap()
    }

    /// A resource with a status, in a group that nothing else has.
    fn install_wheels(&mut self) -> Resource {
        self.install_wheels_with(json!({ "status": {} }))
    }

    fn install_wheels_with(&mut self, subresources: Value) -> Resource {
        let group = self.plane.name("wheels") + &self.namespace + ".example";
        let definition = definition(&group, subresources);
        self.plane.create_global("apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
        let wheels = self.resource(&format!("{group}/v1/wheels"));
        while !self.plane.has(&wheels) {}
        wheels
    }

    fn create_wheel(&self, wheels: &Resource, spec: &Value) {
        let api_version = wheels.path().split('/').skip(2).take(2).collect::<Vec<_>>().join("/");
        let wheel = json!({ "apiVersion": api_version, "kind": "Wheel", "metadata": { "name": "w" }, "spec": spec });
        self.plane.create(wheels, &wheel);
    }
}

fn deployment() -> Value {
    let labels = json!({ "app": "web" });
    let env = json!([{ "name": "A", "value": "1" }]);
    let containers = json!([
        { "name": "web", "image": "web:1", "env": env, "ports": [{ "containerPort": 80 }], "args": ["--one"] },
        { "name": "side", "image": "side:1", "resources": { "limits": { "cpu": "1" } } },
    ]);
    let template = json!({ "metadata": { "labels": labels }, "spec": { "containers": containers } });
    let spec = json!({ "paused": true, "replicas": 1, "selector": { "matchLabels": labels }, "template": template });
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": spec })
}

fn definition(group: &str, subresources: Value) -> Value {
    let nullable = |kind: &str| json!({ "type": kind, "nullable": true });
    let size = json!({ "type": "integer", "default": 3 });
    let spec = json!({ "type": "object", "properties": { "count": nullable("integer"), "ratio": nullable("number"),
        "size": size, "note": nullable("string"), "more": { "type": "array", "items": { "type": "integer" } } } });
    let status =
        json!({ "type": "object", "properties": { "seen": { "type": "integer" }, "left": { "type": "string" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": status } } });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": subresources });
    let names = json!({ "plural": "wheels", "singular": "wheel", "kind": "Wheel" });
    let spec = json!({ "group": group, "scope": "Namespaced", "names": names, "versions": [version] });
    json!({ "metadata": { "name": format!("wheels.{group}") }, "spec": spec })
}

/// The objects with their differences alone: without what each write changes.
fn stripped(mut object: Value) -> Value {
    for field in ["managedFields", "resourceVersion", "generation"] {
        object["metadata"].as_object_mut().unwrap().remove(field);
    }
    object.as_object_mut().unwrap().remove("status");
    object
}

fn text<R: Debug>(result: Result<R, ActError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn a_type_that_knows_only_the_images_of_a_deployment_changes_nothing_else() {
    let Some(scene) = Scene::new("images") else { return };
    let mut expected = stripped(scene.create_deployment());
    scene.act_on_deployment(async |cx, web| {
        let web = cx.change(web, |web| web.spec.template.spec.containers[1].image = "side:2".to_owned()).await.unwrap();
        assert_eq!(web.spec.template.spec.containers[1].image, "side:2");
        let none = cx.change(&web, |web| web.spec.replicas = Some(1)).await.unwrap();
        assert_eq!(none.meta().resource_version(), web.meta().resource_version());
        cx.change(&web, |web| web.spec.replicas = Some(2)).await.unwrap();
    });
    expected["spec"]["template"]["spec"]["containers"][1]["image"] = json!("side:2");
    expected["spec"]["replicas"] = json!(2);
    let got = scene.deployment();
    let managers = got["metadata"]["managedFields"].as_array().unwrap();
    let ours = managers.iter().find(|manager| manager["manager"] == "acting").unwrap();
    let image = json!({ "k:{\"name\":\"side\"}": { "f:image": {} } });
    let template = json!({ "f:spec": { "f:containers": image } });
    assert_eq!(ours["fieldsV1"], json!({ "f:spec": { "f:replicas": {}, "f:template": template } }));
    assert_eq!(stripped(got), expected);
}

#[test]
fn an_element_goes_with_all_that_it_has_and_a_new_one_comes() {
    let Some(scene) = Scene::new("elements") else { return };
    let mut expected = stripped(scene.create_deployment());
    scene.act_on_deployment(async |cx, web| {
        let web = cx.change(web, |web| _ = web.spec.template.spec.containers.remove(0)).await.unwrap();
        assert_eq!(web.spec.template.spec.containers.len(), 1);
        // The server has a default.
        let web = cx.change(&web, |web| web.spec.replicas = None).await.unwrap();
        assert_eq!(web.spec.replicas, Some(1));
        let renamed = cx.change(&web, |web| {
            web.spec.template.spec.containers = [Container { image: "new:1".to_owned() }].to_vec();
        });
        renamed.await.unwrap();
        let nameless = cx.change(&web, |web| {
            web.spec.template.spec.containers.insert(0, Container { image: "new:2".to_owned() });
        });
        let refused = nameless.await.unwrap_err();
        assert!(refused.api().is_some_and(|error| error.is_invalid()), "a container has a name: {refused}");
    });
    expected["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().remove(0);
    expected["spec"]["template"]["spec"]["containers"][0]["image"] = json!("new:1");
    assert_eq!(stripped(scene.deployment()), expected);
}

#[test]
fn the_status_of_a_deployment_is_changed_by_its_subresource() {
    let Some(scene) = Scene::new("status") else { return };
    scene.create_deployment();
    let generation = scene.act_on_deployment(async |cx, web| {
        let observed = || Some(Status { observed_generation: Some(77) });
        let refused = text(cx.change(web, |web| web.status = observed()).await);
        assert!(refused.contains("/web: status: "), "{refused}");
        cx.change_status(web, |web| web.status = observed()).await.unwrap().status.clone()
    });
    assert_eq!(generation, Some(Status { observed_generation: Some(77) }));
}

#[test]
fn numbers_nulls_and_defaults_of_a_custom_resource_stay_what_they_are() {
    let Some(mut scene) = Scene::new("custom") else { return };
    let wheels = scene.install_wheels();
    let big = 9_007_199_254_740_993_i64;
    let spec = json!({ "count": big, "ratio": 0.1, "note": null, "more": [1, 2] });
    scene.create_wheel(&wheels, &spec);
    let controller = scene.controller();
    let informer = controller.informer_of::<Wheel>(wheels.clone());
    let spec = scene.act(controller, &informer, "w", async |cx, wheel| {
        assert_eq!((wheel.spec.count, wheel.spec.size), (Some(big), Some(3)));
        let wheel = cx.change(wheel, |wheel| wheel.spec.count = wheel.spec.count.map(|count| count - 2)).await.unwrap();
        let wheel = cx.change(&wheel, |wheel| wheel.spec.note = Some(String::new())).await.unwrap();
        let wheel = cx.change(&wheel, |wheel| (wheel.spec.ratio, wheel.spec.size) = (None, None)).await.unwrap();
        let wheel =
            cx.change_status(&wheel, |wheel| wheel.status = Some(json!({ "seen": 1, "left": "x" }))).await.unwrap();
        let wheel = cx.change_status(&wheel, |wheel| wheel.status = Some(json!({ "seen": 2 }))).await.unwrap();
        let refused = text(cx.change(&wheel, |wheel| wheel.status = None).await);
        assert!(refused.contains("/w: status: "), "{refused}");
        wheel.spec.clone()
    });
    let expected = WheelSpec { count: Some(big - 2), ratio: None, size: Some(3), note: Some(String::new()) };
    assert_eq!(spec, expected);
    let wheel = scene.plane.get(&wheels, "w").unwrap();
    assert_eq!(wheel["spec"], json!({ "count": big - 2, "size": 3, "note": "", "more": [1, 2] }));
    assert_eq!(wheel["status"], json!({ "seen": 2 }));
}

/// What the report of a failed reconcile says of a 404 depends on the name in it.
#[test]
fn the_answer_about_a_missing_resource_names_nothing_and_one_about_a_missing_subresource_names_the_object() {
    let Some(mut scene) = Scene::new("missing") else { return };
    let wheels = scene.install_wheels_with(json!({}));
    scene.create_wheel(&wheels, &json!({ "count": 1 }));
    let controller = scene.controller();
    let informer = controller.informer_of::<Wheel>(wheels);
    let (namespace, map) = (scene.namespace.clone(), json!({ "metadata": { "name": "m" } }));
    let named = scene.act(controller, &informer, "w", async |cx, wheel| {
        let status = cx.change_status(wheel, |wheel| wheel.status = Some(json!({ "seen": 1 }))).await.unwrap_err();
        let resource = |name: &str, namespace: &str| Resource::named(name).unwrap().in_namespace(namespace);
        let create = async |at: Resource| cx.call(Api::<Value>::new(&at).create(&map)).await.unwrap_err();
        let errors = [
            status.api().unwrap().clone(),
            create(resource("v1/configmap", &namespace)).await,
            create(resource("example.invalid/v1/foos", &namespace)).await,
            create(resource("v1/configmaps", "not-there")).await,
        ];
        errors.map(|error| {
            assert!(error.is_not_found(), "{error}");
            error.status().and_then(|status| status.name()).map(str::to_owned)
        })
    });
    assert_eq!(named, [Some("w".to_owned()), None, None, Some("not-there".to_owned())]);
}

#[test]
fn a_change_that_conflicts_with_another_client_keeps_both() {
    let Some(scene) = Scene::new("conflicts") else { return };
    scene.create_deployment();
    let (api, client) = (Api::<Value>::new(&scene.deployments()), &scene.plane.client);
    let changed = scene.act_on_deployment(async |cx, web| {
        let others = json!({ "spec": { "replicas": 4, "minReadySeconds": 5 } });
        api.patch("web", &Patch::Merge(&others)).send(client).unwrap();
        let stale = json!({ "metadata": { "resourceVersion": web.meta().resource_version() } });
        assert!(cx.patch(web, &Patch::Merge(&stale)).await.is_err_and(|error| error.is_conflict()));
        let web = cx.change(web, |web| web.spec.replicas = web.spec.replicas.map(|replicas| replicas + 1)).await;
        web.unwrap().spec.replicas
    });
    assert_eq!(changed, Some(5));
    assert_eq!(scene.deployment()["spec"]["minReadySeconds"], 5);
}

#[test]
fn an_applied_field_of_another_manager_is_taken_by_force_alone() {
    let Some(scene) = Scene::new("applied") else { return };
    scene.create_deployment();
    let deployments = scene.deployments();
    scene.act_on_deployment(async |cx, web| {
        let wanted = json!({ "metadata": { "labels": { "tier": "front" } }, "spec": { "replicas": 3 } });
        let refused = cx.apply(web.informer(), web.key(), &wanted).await.unwrap_err();
        assert!(refused.is_conflict() && refused.to_string().contains("spec.replicas"), "{refused}");
        let applied = cx.apply(web.informer(), web.key(), &wanted).force().await.unwrap();
        assert_eq!((applied.spec.replicas, applied.meta().label("tier")), (Some(3), Some("front")));
        // What is not wanted any more goes.
        let less = cx.apply(web.informer(), web.key(), &json!({ "spec": { "replicas": 3 } })).await.unwrap();
        assert_eq!((less.spec.replicas, less.meta().label("tier")), (Some(3), None));
        let mut new = deployment();
        new["metadata"] = json!({});
        let new = cx.apply(web.informer(), web.key().sibling("new"), &new).owned_by(&less).await.unwrap();
        assert!(new.is_controlled_by(&less));
    });
    assert_eq!(scene.plane.get(&deployments, "new").unwrap()["spec"]["replicas"], 1);
}

/// A ConfigMap, and its owner.
fn map(name: &str, owner: Option<&Value>) -> Value {
    let reference = |owner: &Value| {
        let uid = &owner["metadata"]["uid"];
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid })
    };
    let owners: Vec<_> = owner.into_iter().map(reference).collect();
    json!({ "metadata": { "name": name, "ownerReferences": owners } })
}

#[test]
fn an_object_is_owned_and_deleted_as_the_one_that_was_meant() {
    let Some(mut scene) = Scene::new("owned") else { return };
    let elsewhere = scene.plane.namespace("elsewhere");
    let resource = scene.resource("v1/configmaps");
    scene.create_deployment();
    let other = scene.plane.create(&resource, &map("other", None));
    scene.plane.create(&resource, &map("owned", Some(&other)));
    scene.plane.create(&resource, &map("stale", None));
    let controller = scene.controller();
    let deployments = controller.informer_of::<Deployment>(scene.deployments()).with_kind("Deployment");
    let maps = controller.informer_of::<MetadataOnly>(resource.clone()).with_kind("ConfigMap");
    let (api, client, namespace) = (Api::<Value>::new(&resource), &scene.plane.client, &scene.namespace);
    scene.act(controller, &deployments, "web", async |cx, web| {
        let refused = text(cx.create(&maps, Key::new(Some(&elsewhere), "m"), &json!({})).owned_by(web).await);
        assert!(refused.contains(&format!("is in the namespace {namespace}")), "{refused}");

        let key = |name: &str| web.key().sibling(name);
        assert!(cx.create(&maps, key("new"), &json!({})).owned_by(web).await.unwrap().is_controlled_by(web));
        let again = cx.create(&maps, key("new"), &json!({})).await.unwrap_err();
        assert!(again.is_already_exists(), "{again}");

        let adopted = cx.adopt(&maps.get(&key("owned")).unwrap(), web).await.unwrap();
        let owners: Vec<_> = adopted.meta().owner_references().map(|owner| (owner.name, owner.controller)).collect();
        assert_eq!(owners, [("other", false), ("web", true)]);

        let stale = maps.get(&key("stale")).unwrap();
        api.delete("stale", &DeleteOptions::default()).send(client).unwrap();
        api.create(&map("stale", None)).send(client).unwrap();
        cx.delete(&stale).await.unwrap();
        assert!(api.get("stale").send(client).is_ok(), "another one has the name");
        let old = maps.get(&key("owned")).unwrap();
        api.patch("owned", &Patch::Merge(&json!({ "data": { "a": "b" } }))).send(client).unwrap();
        assert!(cx.delete(&old).if_unchanged().await.is_err_and(|error| error.is_conflict()));
        cx.delete(&old).await.unwrap();
        cx.delete(&old).await.unwrap();
    });
    assert_eq!(scene.plane.get(&resource, "owned"), None);
    let created = scene.plane.get(&resource, "new").unwrap();
    let owner = &created["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["kind"], &owner["blockOwnerDeletion"]), (&json!("Deployment"), &json!(true)));
}

#[test]
fn a_finalizer_is_added_and_removed_after_one_clean_up() {
    let Some(scene) = Scene::new("finalized") else { return };
    scene.create_deployment();
    let deployments = scene.deployments();
    let cleaned = AtomicU32::new(0);
    for is_deleted in [false, true] {
        scene.act_on_deployment(async |cx, web| {
            let clean_up = async |_: &Found<Deployment>| {
                cleaned.fetch_add(1, Ordering::Relaxed);
                Ok::<(), Error>(())
            };
            let name = "example.com/bucket";
            let has = cx.finalizer(web, name, clean_up).await.unwrap();
            let finalizers = has.map(|web| web.meta().finalizers().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(finalizers, (!is_deleted).then(|| [name.to_owned()].to_vec()));
        });
        if !is_deleted {
            scene.plane.delete(&deployments, "web").unwrap();
        }
    }
    assert_eq!((cleaned.into_inner(), scene.plane.get(&deployments, "web")), (1, None));
}

/// Counts the single requests.
struct Counting(HttpClient, Arc<AtomicU32>);

impl ApiClient for Counting {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.send(request)
    }
}

/// Bodies of which the server stores something in another form, and drops or adds something.
fn other_forms() -> Vec<(&'static str, &'static str, Value)> {
    let labels = json!({ "app": "web" });
    let limits = json!({ "limits": { "cpu": "1000m", "memory": "2048Mi" } });
    let env = json!([{ "name": "A", "value": "" }]);
    let container =
        json!({ "name": "web", "image": "web:1", "resources": limits, "env": env, "tty": false, "args": [] });
    let pod = json!({ "containers": [container], "hostNetwork": false, "nodeSelector": {}, "securityContext": {} });
    let template = json!({ "metadata": { "labels": labels }, "spec": pod });
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("Never");
    let selector = json!({ "matchLabels": labels });
    let job = json!({ "backoffLimit": 0, "template": once });
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"], "resourceNames": [] }]);
    let paths = json!([{ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": "s", "port": { "number": 80 } } } }]);
    let claim = json!({ "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1024Mi" } }, "storageClassName": "" });
    let spec = |spec: Value| json!({ "spec": spec });
    vec![
        (
            "apps/v1/deployments",
            "Deployment",
            spec(json!({ "replicas": 0, "selector": selector, "template": template })),
        ),
        (
            "apps/v1/statefulsets",
            "StatefulSet",
            spec(json!({ "replicas": 0, "serviceName": "", "selector": selector, "template": template })),
        ),
        ("apps/v1/daemonsets", "DaemonSet", spec(json!({ "selector": selector, "template": template }))),
        ("batch/v1/jobs", "Job", spec(json!({ "suspend": true, "backoffLimit": 0, "template": once }))),
        (
            "batch/v1/cronjobs",
            "CronJob",
            spec(json!({ "schedule": "0 0 1 1 *", "suspend": false, "jobTemplate": { "spec": job } })),
        ),
        (
            "v1/services",
            "Service",
            spec(
                json!({ "type": "NodePort", "clusterIP": "", "selector": labels, "ports": [{ "port": 443, "name": "tls" }, { "port": 80, "name": "web", "targetPort": 80 }] }),
            ),
        ),
        (
            "networking.k8s.io/v1/ingresses",
            "Ingress",
            spec(json!({ "rules": [{ "host": "a.example", "http": { "paths": paths } }] })),
        ),
        (
            "networking.k8s.io/v1/networkpolicies",
            "NetworkPolicy",
            spec(json!({ "podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{ "ports": [{ "port": 80 }] }] })),
        ),
        ("rbac.authorization.k8s.io/v1/roles", "Role", json!({ "rules": rules })),
        ("v1/persistentvolumeclaims", "PersistentVolumeClaim", spec(claim)),
        (
            "v1/configmaps",
            "ConfigMap",
            json!({ "metadata": { "annotations": { "a": "" } }, "data": { "k": "" }, "immutable": false }),
        ),
        ("v1/secrets", "Secret", json!({ "stringData": { "a": "b" } })),
    ]
}

#[test]
fn the_reconciles_after_the_first_of_a_workload_send_nothing() {
    let Some(scene) = Scene::new("settled") else { return };
    for (resource, kind, body) in other_forms() {
        for applied in [false, true] {
            let sent = Arc::new(AtomicU32::new(0));
            let (clock, cluster) = (Clock::real(), scene.plane.cluster.clone());
            let client = Client::from_blocking(Counting(cluster.client().unwrap(), Arc::clone(&sent)), clock.clone());
            let world = World::from_parts(clock.clone(), client, move |_| Box::new(cluster.transport().unwrap()));
            let controller = Controller::new("acting", world);
            let informer = controller.informer_of::<Value>(scene.resource(resource)).with_kind(kind);
            let key = Key::new(Some(&scene.namespace), if applied { "applied" } else { "ensured" });
            let (handle, rounds) = (ControllerHandle::default(), Mutex::new(Vec::new()));
            assert!(handle.add(key.clone()));
            let refused = Arc::new(Mutex::new(None));
            let (reported, stopped) = (Arc::clone(&refused), handle.clone());
            let controller = controller.reconciles(&informer).keys(&handle).on_report(move |_, report| {
                if let Report::Failed { error, .. } = report {
                    *reported.lock().unwrap() = Some(error.to_string());
                    stopped.stop();
                }
            });
            let ended = controller.run(async |cx, woken: Key| {
                if woken != key {
                    return Ok(Outcome::Done);
                }
                if applied {
                    cx.apply(&informer, &key, &body).await?;
                } else {
                    cx.ensure(&informer, &key, &body).await?;
                }
                // The controllers of the plane write the status meanwhile.
                clock.sleep(Duration::from_millis(500)).await;
                rounds.lock().unwrap().push(sent.swap(0, Ordering::Relaxed));
                if rounds.lock().unwrap().len() == 4 {
                    handle.stop();
                }
                Ok(Outcome::RequeueAfter(Duration::from_millis(1)))
            });
            assert_eq!((ended, refused.lock().unwrap().take()), (Ok(()), None), "{kind}, {applied}");
            let rounds = rounds.into_inner().unwrap();
            assert!(rounds[0] == 1 && rounds[2..].iter().all(|sent| *sent == 0), "{kind}, {applied}: {rounds:?}");
        }
    }
}
