//! A sample controller that runs in a cluster, and everything that it writes.

use super::program::sample;
use super::requests::{Recorded, Requests};
use crate::real_server::access::with_token_file;
use crate::real_server::audit::{AuditLog, Write};
use crate::real_server::plane::{Plane, own_plane};
use listwatch::controller::{Findings, RunError};
use listwatch::file::Playback;
use listwatch::{Client, Clock, World};
use listwatch_core::Resource;
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_transport_http::{Cluster, HttpClient, HttpTransport};
use serde_json::{Value, json};
use smol::channel::Sender;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The controller's name, and that of its namespace.
const NAME: &str = "sample-controller";
/// The user of the controller, who may do what its manifest allows.
const USER: &str = "system:serviceaccount:sample-controller:sample-controller";
/// What a user of the example applies.
pub(crate) const MANIFESTS: [&str; 2] = [
    include_str!("../../../../../runtime-smol/examples/deploy/crd.yaml"),
    include_str!("../../../../../runtime-smol/examples/deploy/controller.yaml"),
];
/// How long anything may take before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(300);

/// The thread of a controller, and how it ended.
type Controller = JoinHandle<Result<(), RunError>>;

pub(crate) struct Stage {
    pub(crate) plane: Plane,
    pub(crate) foos: Resource,
    pub(crate) deployments: Resource,
    pub(crate) requests: Requests,
    namespace: String,
    /// What the controller records.
    tape: PathBuf,
    log: AuditLog,
    reports: Arc<Mutex<Vec<String>>>,
    controller: Option<(Sender<()>, Controller)>,
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
        let tape = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sample-controller-{name}.jsonl.gz"));
        let mut stage = Self { tape, plane, foos, deployments, requests, namespace, log, reports, controller: None };
        stage.install();
        stage.start();
        Some(stage)
    }

    /// Applies the manifests of the example, and waits until the controller may do what they allow.
    fn install(&mut self) {
        MANIFESTS.iter().flat_map(|manifest| manifest.split("\n---\n")).for_each(|object| self.apply(object));
        let client = self.cluster().client().unwrap();
        let may_list =
            |path: &str| client.send(&ApiRequest::new(Method::Get, path)).is_ok_and(|answer| answer.status == 200);
        until(|| [&self.foos, &self.deployments].into_iter().all(|resource| may_list(resource.path())));
    }

    /// Creates an object, unless an earlier test did. There is no image, so the controller's Deployment is only checked.
    fn apply(&self, object: &str) {
        let kind = object.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap();
        let resource = |name: &str| Resource::named(name).unwrap();
        let resource = match kind {
            "CustomResourceDefinition" => resource("apiextensions.k8s.io/v1/customresourcedefinitions"),
            "Namespace" => resource("v1/namespaces"),
            "ServiceAccount" => resource("v1/serviceaccounts").in_namespace(NAME),
            "ClusterRole" => resource("rbac.authorization.k8s.io/v1/clusterroles"),
            "ClusterRoleBinding" => resource("rbac.authorization.k8s.io/v1/clusterrolebindings"),
            "Deployment" => resource("apps/v1/deployments").in_namespace(NAME),
            _ => panic!("a {kind} in a manifest"),
        };
        let mut create = ApiRequest::new(Method::Post, resource.path());
        create.content_type = Some("application/yaml");
        create.body = object.into();
        create.query.push(("fieldValidation", "Strict".to_owned()));
        if kind == "Deployment" {
            create.query.push(("dryRun", "All".to_owned()));
        }
        let answer = self.plane.client.send(&create).unwrap();
        assert!([201, 409].contains(&answer.status), "{kind}: {}", String::from_utf8_lossy(&answer.body));
    }

    /// The cluster, as the controller's service account reaches it.
    fn cluster(&mut self) -> Cluster {
        let accounts = Resource::named("v1/serviceaccounts").unwrap().in_namespace(NAME);
        let account = self.plane.get(&accounts, NAME).unwrap();
        let uid = account["metadata"]["uid"].as_str().unwrap();
        let file = self.plane.control().folder().join("sample-controller-token");
        std::fs::write(&file, self.plane.control().token(NAME, NAME, uid, 3600)).unwrap();
        with_token_file(self.plane.control(), &file)
    }

    /// Runs what the example's `main` runs, in a thread.
    fn start(&mut self) {
        let cluster = self.cluster();
        let clock = Clock::real();
        let client = Client::new(Recorded::new(HttpClient::from(&cluster), &self.requests), clock.clone());
        let world = World::from_parts(clock, client, move |_| Box::new(HttpTransport::from(&cluster)));
        let (end, ended) = smol::channel::bounded::<()>(1);
        let reports = Arc::clone(&self.reports);
        let world = world.on_report_line(move |line| reports.lock().unwrap().push(line.to_owned()));
        let world = world.until(async move { _ = ended.recv().await });
        let _of_an_earlier_run = std::fs::remove_file(&self.tape);
        let world = world.recorded_to(&self.tape).unwrap();
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

    /// The Events about a Foo: type, reason and note of each series, sorted.
    pub(crate) fn events_about(&self, foo: &str) -> Vec<[String; 3]> {
        let events = Resource::named("events.k8s.io/v1/events").unwrap().in_namespace(&self.namespace);
        let mut events = self.plane.objects(&events).unwrap();
        events.retain(|event| event["regarding"]["kind"] == "Foo" && event["regarding"]["name"] == foo);
        assert!(events.iter().all(|event| event["reportingController"] == NAME), "{events:#?}");
        let text = |event: &Value, field: &str| event[field].as_str().unwrap().to_owned();
        let mut told: Vec<_> =
            events.iter().map(|it| ["type", "reason", "note"].map(|field| text(it, field))).collect();
        told.sort();
        told
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

    /// Whether the controller manager has acted on each change of the Deployments and of their ReplicaSets.
    pub(crate) fn has_settled(&self) -> bool {
        let replica_sets = Resource::named("apps/v1/replicasets").unwrap().in_namespace(&self.namespace);
        let is_observed = |object: &Value| object["status"]["observedGeneration"] == object["metadata"]["generation"];
        [&self.deployments, &replica_sets]
            .into_iter()
            .all(|kind| self.plane.objects(kind).unwrap().iter().all(is_observed))
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

    /// Ends the controller, and returns the writes of everybody to Foos and Deployments. The tape of the controller drives
    /// the same program, and its writes are those on the tape.
    pub(crate) fn end(&mut self) -> Vec<Write> {
        self.stop().unwrap().unwrap().unwrap();
        let findings = self.replayed();
        assert!((0..2).all(|_| self.replayed() == findings), "{findings}");
        let is_event = |write: &Write| write.resource == "events";
        self.log.read().into_iter().filter(|it| it.namespace == self.namespace && !is_event(it)).collect()
    }
}

impl Stage {
    /// What the replay of the tape finds.
    fn replayed(&self) -> Findings {
        let world = World::from(Playback::from_file(&self.tape).unwrap());
        let begun = self.reports().len();
        let lines = Arc::clone(&self.reports);
        let ended = sample(world.clone().on_report_line(move |line| lines.lock().unwrap().push(line.to_owned())));
        let findings = world.findings(NAME).unwrap();
        println!("{}: {findings}", self.tape.display());
        self.reports.lock().unwrap().truncate(begun);
        assert_eq!(ended, Ok(()), "{findings}");
        assert!(findings.same > 0 && findings.not_compared == 0, "{findings}");
        findings
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

/// Sets a flag when it is dropped: a test that fails in a scope of threads ends those that go by the flag, too.
pub(crate) struct SetAtEnd<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
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
    json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo", "metadata": { "name": name }, "spec": spec })
}
