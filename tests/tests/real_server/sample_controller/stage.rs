//! A sample controller that runs in a cluster, and everything that it writes.

use super::program::sample;
use super::requests::{Recorded, Requests};
use crate::audit::{AuditLog, Write};
use crate::plane::{Plane, own_plane};
use listwatch_core::Resource;
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_runtime_smol::controller::RunError;
use listwatch_runtime_smol::{Client, Clock, World};
use listwatch_transport_http::{ClusterOptions, HttpClient, HttpTransport};
use serde_json::{Value, json};
use smol::channel::Sender;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The user of the controller, who may do what this test allows. The log names a user whom another one impersonates only
/// once the write is answered.
const USER: &str = "reader";
const GROUP: &str = "samplecontroller.k8s.io";
/// How long anything may take before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Stage {
    pub(crate) plane: Plane,
    pub(crate) foos: Resource,
    pub(crate) deployments: Resource,
    pub(crate) requests: Requests,
    namespace: String,
    log: AuditLog,
    reports: Arc<Mutex<Vec<String>>>,
    controller: Option<(Sender<()>, JoinHandle<Result<(), RunError>>)>,
}

impl Stage {
    /// A controller in a cluster without a controller manager.
    pub(crate) fn begin(name: &str) -> Option<Self> {
        let mut plane = own_plane()?;
        plane.control().kill_controller_manager();
        let log = AuditLog::begin(&mut plane);
        let namespace = plane.namespace(name);
        let of = |resource| Resource::named(resource).unwrap().in_namespace(&namespace);
        let (foos, deployments) = (of("samplecontroller.k8s.io/v1alpha1/foos"), of("apps/v1/deployments"));
        let (requests, reports) = (Requests::default(), Arc::default());
        let mut stage = Self { plane, foos, deployments, requests, namespace, log, reports, controller: None };
        stage.install(name);
        stage.start();
        Some(stage)
    }

    /// Installs the kind, and lets the controller act on it.
    fn install(&mut self, name: &str) {
        let definitions = Resource::named("apiextensions.k8s.io/v1/customresourcedefinitions").unwrap();
        if self.plane.get(&definitions, &format!("foos.{GROUP}")).is_none() {
            self.plane.create(&definitions, &definition());
        }
        let name = self.plane.name(name);
        let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({ "apiGroups": [group], "resources": resources, "verbs": verbs });
        let rules = [
            rule(GROUP, &["foos"], &["list", "watch", "get"]),
            rule(GROUP, &["foos/status"], &["patch"]),
            rule("apps", &["deployments"], &["list", "watch", "get", "create", "patch"]),
        ];
        let roles = "rbac.authorization.k8s.io/v1";
        self.plane
            .create_global(&format!("{roles}/clusterroles"), &json!({ "metadata": { "name": name }, "rules": rules }));
        let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name });
        let user = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER });
        let binding = json!({ "metadata": { "name": name }, "roleRef": role, "subjects": [user] });
        self.plane.create_global(&format!("{roles}/clusterrolebindings"), &binding);
        let controllers = self.controllers_client();
        let may_list =
            |path: &str| controllers.send(&ApiRequest::new(Method::Get, path)).is_ok_and(|answer| answer.status == 200);
        until(|| [&self.foos, &self.deployments].into_iter().all(|resource| may_list(resource.path())));
    }

    fn controllers_client(&self) -> HttpClient {
        self.plane.cluster_of(&ClusterOptions::new().context(USER)).client().unwrap()
    }

    /// Runs what the example's `main` runs, in a thread.
    fn start(&mut self) {
        let cluster = self.plane.cluster_of(&ClusterOptions::new().context(USER));
        let clock = Clock::real();
        let client = Client::new(Recorded::new(HttpClient::from(&cluster), &self.requests), clock.clone());
        let world = World::from_parts(clock, client, move |_| Box::new(HttpTransport::from(&cluster)));
        let (end, ended) = smol::channel::bounded::<()>(1);
        let reports = Arc::clone(&self.reports);
        let world = world.on_report_line(move |line| reports.lock().unwrap().push(line.to_owned()));
        let world = world.until(async move { _ = ended.recv().await });
        self.controller = Some((end, thread::spawn(|| sample(world))));
    }

    pub(crate) fn create_foo(&self, name: &str, deployment: &str, replicas: u32) -> Value {
        self.plane.create(&self.foos, &foo(name, deployment, replicas))
    }

    pub(crate) fn foo(&self, name: &str) -> Option<Value> {
        self.plane.get(&self.foos, name)
    }

    pub(crate) fn deployment(&self, name: &str) -> Option<Value> {
        self.plane.get(&self.deployments, name)
    }

    pub(crate) fn scale(&self, resource: &Resource, name: &str, replicas: u32) {
        self.plane.change(resource, name, &json!({ "spec": { "replicas": replicas } }));
    }

    /// Waits until the Deployment has so many replicas.
    #[track_caller]
    pub(crate) fn until_replicas(&self, deployment: &str, replicas: u32) {
        until(|| self.deployment(deployment).is_some_and(|it| it["spec"]["replicas"] == replicas));
    }

    pub(crate) fn pods(&self) -> Resource {
        Resource::named("v1/pods").unwrap().in_namespace(&self.namespace)
    }

    /// Whether the controller has reported something that contains this text.
    pub(crate) fn has_reported(&self, text: &str) -> bool {
        self.reports.lock().unwrap().iter().any(|report| report.contains(text))
    }

    /// What the controller has reported.
    pub(crate) fn reports(&self) -> Vec<String> {
        self.reports.lock().unwrap().clone()
    }

    /// Ends the controller, and waits for its end.
    fn stop(&mut self) -> Option<thread::Result<Result<(), RunError>>> {
        let (end, controller) = self.controller.take()?;
        drop(end);
        Some(controller.join())
    }

    /// Ends the controller, and returns the writes of everybody to Foos and Deployments.
    pub(crate) fn end(&mut self) -> Vec<Write> {
        self.stop().unwrap().unwrap().unwrap();
        self.log.read().into_iter().filter(|write| write.namespace == self.namespace).collect()
    }
}

impl Write {
    /// Whether the sample controller wrote it.
    pub(crate) fn is_ours(&self) -> bool {
        self.user == USER
    }
}

impl Drop for Stage {
    /// The next test finds the cluster as it was, also when this one fails.
    fn drop(&mut self) {
        let _reported = self.stop();
        let control = self.plane.control();
        control.audit(false);
        control.kill_api_server();
        control.start_api_server();
        for resource in [&self.foos, &self.deployments] {
            if let Err(error) = self.plane.client.send(&ApiRequest::new(Method::Delete, resource.path())) {
                eprintln!("{} stay: {error}", resource.path());
            }
        }
        let control = self.plane.control();
        control.kill_controller_manager();
        control.start_controller_manager();
    }
}

/// Waits until it holds.
#[track_caller]
pub(crate) fn until(holds: impl FnMut() -> bool) {
    assert!(wait_for(PATIENCE, holds), "it does not happen");
}

/// Waits until it holds, or so long. Tells whether it does.
#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
pub(crate) fn wait_for(longest: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = std::time::Instant::now();
    while begun.elapsed() < longest {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

pub(crate) fn foo(name: &str, deployment: &str, replicas: u32) -> Value {
    let spec = json!({ "deploymentName": deployment, "replicas": replicas });
    json!({ "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Foo", "metadata": { "name": name }, "spec": spec })
}

/// The kind of Kubernetes' own sample controller.
fn definition() -> Value {
    let integer = json!({ "type": "integer" });
    let spec = json!({ "deploymentName": { "type": "string" }, "replicas": integer });
    let schema = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": spec },
        "status": { "type": "object", "properties": { "availableReplicas": integer } },
    } });
    let version = json!({ "name": "v1alpha1", "served": true, "storage": true,
        "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} } });
    let names = json!({ "kind": "Foo", "plural": "foos" });
    let spec = json!({ "group": GROUP, "scope": "Namespaced", "names": names, "versions": [version] });
    let annotations = json!({ "api-approved.kubernetes.io": "unapproved, for tests" });
    json!({ "metadata": { "name": format!("foos.{GROUP}"), "annotations": annotations }, "spec": spec })
}
