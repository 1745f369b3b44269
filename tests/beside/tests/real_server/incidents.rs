//! Incidents of production, once more: what `listwatch show --summary` tells of a controller's tape and of the server's
//! audit log names the cause and the culprit.

use crate::command::{command, run};
use crate::real_server::audit::AuditLog;
use crate::real_server::audit_captures::define;
use crate::real_server::plane::{Plane, own_plane, user};
use crate::real_server::sample_controller::stage::{until, wait_for};
use listwatch::controller::{Context, Controller, Error, Outcome};
use listwatch::http::{ClusterOptions, HttpClient, HttpTransport};
use listwatch::{Client, Clock, World};
use listwatch_core::api::{Api, ApiError, Patch};
use listwatch_core::{Key, Resource};
use listwatch_transport_http::Cluster;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

const ROLES: &str = "rbac.authorization.k8s.io/v1/clusterroles";
const DEFINITIONS: &str = "apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long an incident goes on.
const WHILE: Duration = Duration::from_secs(4);
/// How far the watches of a server lag.
const LAG: Duration = Duration::from_secs(3);

/// An incident in a namespace of its own, whose writes are logged.
struct Scene {
    plane: Plane,
    _log: AuditLog,
    namespace: String,
    group: String,
}

impl Scene {
    fn begin(name: &str) -> Option<Self> {
        let mut plane = own_plane()?;
        let log = AuditLog::begin(&mut plane);
        let namespace = plane.namespace(name);
        let group = format!("{namespace}.example");
        Some(Self { plane, _log: log, namespace, group })
    }

    /// A kind with a status, and an object of it.
    fn define(&mut self) -> Resource {
        let shares = Resource::named(&define(&mut self.plane, &self.group)).unwrap().in_namespace(&self.namespace);
        let share = json!({ "apiVersion": format!("{}/v1", self.group), "kind": "Share", "metadata": { "name": "a" } });
        self.plane.create(&shares, &share);
        shares
    }

    fn definition(&self) -> String {
        format!("shares.{}", self.group)
    }

    /// A ConfigMap.
    fn map(&self) -> Resource {
        let maps = Resource::named("v1/configmaps").unwrap().in_namespace(&self.namespace);
        self.plane.create(&maps, &json!({ "metadata": { "name": "a" }, "data": { "x": "0" } }));
        maps
    }

    /// The cluster of a user who may do everything.
    fn user(&mut self, name: &str) -> Cluster {
        self.plane.bind(&format!("{}-{name}", self.namespace), "cluster-admin", &user(name));
        self.plane.cluster_of(&ClusterOptions::new().impersonate(name))
    }

    fn tape(&mut self, name: &str) -> PathBuf {
        let tape = self.plane.control().folder().join(format!("incident-{}-{name}.jsonl.zst", self.namespace));
        let _of_an_earlier_run = std::fs::remove_file(&tape);
        tape
    }

    /// What stands out in the audit log, of what concerns this scene.
    fn log_findings(&mut self) -> Vec<Value> {
        self.plane.control().audit(false);
        findings(&self.plane.control().audit_log())
    }
}

/// Runs a controller that acts on each object of a resource, until it is dropped. Its tape is whole then.
struct Running(Option<(smol::channel::Sender<()>, thread::JoinHandle<()>)>);

impl Running {
    fn start<F>(name: &'static str, world: World, tape: &Path, resource: &Resource, act: F) -> Self
    where
        F: AsyncFn(&Context, &str) -> Result<(), ApiError> + Send + Sync + 'static,
    {
        let (end, ended) = smol::channel::bounded::<()>(1);
        let world = world.until(async move { _ = ended.recv().await }).recorded_to(tape).unwrap();
        let resource = resource.clone();
        let controller = move || {
            let controller = Controller::new(name, world);
            let informer = controller.informer_of::<Value>(resource);
            let reconciler = controller.reconciles(&informer).on_report(|_, _| {});
            let ended = reconciler.run(async |cx, key: Key| -> Result<Outcome, Error> {
                act(&cx, key.name()).await?;
                // Nobody waits for the incident to be told more than a thousand times.
                cx.clock().sleep(Duration::from_millis(40)).await;
                Ok(Outcome::Done)
            });
            ended.unwrap();
        };
        Self(Some((end, thread::spawn(controller))))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((end, controller)) = self.0.take() {
            drop(end);
            let _failed_test = controller.join();
        }
    }
}

/// What stands out in a recording.
fn findings(recording: &Path) -> Vec<Value> {
    keep(recording);
    let mut show = command(["show"]);
    show.arg(recording).args(["--summary", "--format", "json"]);
    let told = run(show);
    assert_eq!(told.status, Some(0), "{}", told.stderr);
    let mut lines: Vec<Value> = told.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.pop();
    lines
}

/// Copies a recording to the folder of `INCIDENTS_KEPT`, under the name of its test.
fn keep(recording: &Path) {
    if let Some(folder) = std::env::var_os("INCIDENTS_KEPT") {
        let (thread, file) = (thread::current(), recording.file_name().unwrap());
        let folder = Path::new(&folder).join(thread.name().unwrap().rsplit("::").next().unwrap());
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(recording, folder.join(file)).unwrap();
    }
}

/// The finding of a kind that names a resource, or the object of that name.
#[track_caller]
fn found<'f>(findings: &'f [Value], kind: &str, text: &str) -> &'f Value {
    let found = findings.iter().find(|it| it["kind"] == kind && it.to_string().contains(text));
    found.unwrap_or_else(|| panic!("no `{kind}` about {text}: {findings:#?}"))
}

#[track_caller]
fn blames(finding: &Value, culprit: &str) {
    assert!(finding["culprits"].to_string().contains(culprit), "{culprit} is not named: {finding:#}");
}

/// A value that no other reconcile has.
fn fresh(cx: &Context) -> String {
    format!("{:?}", cx.clock().now())
}

/// Lets an incident go on for a while.
fn goes_on() {
    wait_for(WHILE, || false);
}

#[test]
fn a_controller_that_writes_its_own_status_for_ever_is_named() {
    let Some(mut scene) = Scene::begin("status-loop") else { return };
    let (shares, cluster, tape) = (scene.define(), scene.user("counter"), scene.tape("counter"));
    let status = shares.clone();
    let running = Running::start("counter", World::from(cluster), &tape, &shares, async move |cx, name| {
        let now = fresh(cx);
        let change = json!({ "status": { "checked": now } });
        cx.call(Api::<Value>::new(&status).status().patch(name, &Patch::Merge(&change))).await.map(drop)
    });
    goes_on();
    drop(running);
    let (told, logged) = (findings(&tape), scene.log_findings());
    let told = found(&told, "loop", &scene.group);
    blames(told, "counter");
    assert!(told["fields"].to_string().contains("status.checked"), "{told:#}");
    blames(found(&logged, "loop", &scene.group), "counter");
}

#[test]
fn the_user_that_deleted_a_definition_is_named_and_its_controller_says_what_is_not_served() {
    let Some(mut scene) = Scene::begin("definition") else { return };
    let (shares, jane, tape) = (scene.define(), scene.user("jane"), scene.tape("follower"));
    let world = World::from(scene.plane.cluster.clone());
    let running = Running::start("follower", world, &tape, &shares, async |_, _| Ok(()));
    goes_on();
    let definitions = Resource::named(DEFINITIONS).unwrap();
    Api::<Value>::new(&definitions)
        .delete(&scene.definition(), &Default::default())
        .send(&jane.client().unwrap())
        .unwrap();
    until(|| !scene.plane.has(&shares));
    goes_on();
    drop(running);
    let (told, logged) = (findings(&tape), scene.log_findings());
    blames(found(&logged, "definition_deleted", &scene.definition()), "jane");
    let told = found(&told, "missing", &scene.group);
    assert!(told["notes"].to_string().contains("its definition may have been deleted"), "{told:#}");
}

#[test]
fn a_refusal_is_told_with_the_rule_that_was_taken_away_and_by_whom() {
    let Some(mut scene) = Scene::begin("permission") else { return };
    let (maps, jane, tape) = (scene.map(), scene.user("jane"), scene.tape("writer"));
    let name = format!("{}-writer", scene.namespace);
    let rule = |verbs: Value| json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": verbs }]);
    let verbs = json!(["list", "watch", "patch"]);
    scene.plane.create_global(ROLES, &json!({ "metadata": { "name": name }, "rules": rule(verbs) }));
    scene.plane.bind(&name, &name, &user("writer"));
    let world = World::from(scene.plane.cluster_of(&ClusterOptions::new().impersonate("writer")));
    let own = maps.clone();
    let running = Running::start("writer", world, &tape, &maps, async move |cx, name| {
        let now = fresh(cx);
        cx.call(Api::<Value>::new(&own).patch(name, &Patch::Merge(&json!({ "data": { "x": now } })))).await.map(drop)
    });
    goes_on();
    let less = rule(json!(["list", "watch"]));
    let roles = Resource::named(ROLES).unwrap();
    let taken = Api::<Value>::new(&roles).patch(&name, &Patch::Merge(&json!({ "rules": less })));
    taken.send(&jane.client().unwrap()).unwrap();
    goes_on();
    drop(running);
    let (told, logged) = (findings(&tape), scene.log_findings());
    blames(found(&told, "refused", "configmaps"), "writer");
    let logged = found(&logged, "refused", "configmaps");
    blames(logged, "writer");
    assert!(logged["notes"].to_string().contains("jane"), "{logged:#}");
}

#[test]
fn two_controllers_that_undo_each_other_are_both_named() {
    let Some(mut scene) = Scene::begin("fight") else { return };
    let maps = scene.map();
    let names = ["reds", "blues"];
    let [reds, blues] = names.map(|name| (name, scene.user(name), scene.tape(name)));
    let tape = reds.2.clone();
    let running = [reds, blues].map(|(colour, cluster, tape)| {
        let own = maps.clone();
        Running::start(colour, World::from(cluster), &tape, &maps, async move |cx, name| {
            let change = json!({ "data": { "x": colour } });
            cx.call(Api::<Value>::new(&own).patch(name, &Patch::Merge(&change))).await.map(drop)
        })
    });
    goes_on();
    drop(running);
    let (told, logged) = (findings(&tape), scene.log_findings());
    let logged = found(&logged, "fight", "configmaps");
    names.iter().for_each(|name| blames(logged, name));
    // A tape has the requests of one of them, and the field manager of the other.
    blames(found(&told, "fight", "configmaps"), "reds");
}

#[test]
fn watches_that_lag_are_told_with_how_far() {
    let Some(mut scene) = Scene::begin("lag") else { return };
    let (maps, tape) = (scene.map(), scene.tape("lagging"));
    let folder = scene.plane.control().folder().to_owned();
    let late = Delayed::before(scene.plane.kubeconfig(), &folder);
    let (clock, cluster) = (Clock::real(), ClusterOptions::new().kubeconfig(&late.kubeconfig).unwrap());
    let client = Client::new(HttpClient::from(&scene.plane.cluster), clock.clone());
    let world = World::from_parts(clock, client, move |_| Box::new(HttpTransport::from(&cluster)));
    let own = maps.clone();
    let running = Running::start("lagging", world, &tape, &maps, async move |cx, name| {
        let now = fresh(cx);
        cx.call(Api::<Value>::new(&own).patch(name, &Patch::Merge(&json!({ "data": { "x": now } })))).await.map(drop)
    });
    // The list and the watch take two, and each round one more.
    wait_for(8 * LAG, || false);
    drop(running);
    let told = findings(&tape);
    let told = found(&told, "lag", "configmaps");
    blames(told, "the API server, or the way from it");
    assert!(told["what"].as_str().unwrap().contains("3."), "{told:#}");
}

/// A way to the server on which each byte from it is late.
struct Delayed {
    kubeconfig: PathBuf,
}

impl Delayed {
    /// In front of the server of a kubeconfig. Its threads end with the process.
    fn before(kubeconfig: &Path, folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let server = text.lines().find_map(|line| line.trim().strip_prefix("server: https://")).unwrap();
        let delayed = text.replace(server, &listener.local_addr().unwrap().to_string());
        let (server, kubeconfig) = (server.to_owned(), folder.join("delayed-kubeconfig"));
        std::fs::write(&kubeconfig, delayed).unwrap();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&server).unwrap();
                let [from_client, to_server] = [&client, &server].map(|stream| stream.try_clone().unwrap());
                thread::spawn(move || copy(from_client, to_server, Duration::ZERO));
                thread::spawn(move || copy(server, client, LAG));
            }
        });
        Self { kubeconfig }
    }
}

/// Passes bytes on after a time, up to their end.
#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn copy(mut from: TcpStream, mut to: TcpStream, lag: Duration) {
    let (late, bytes) = std::sync::mpsc::channel::<(std::time::Instant, Vec<u8>)>();
    let writer = thread::spawn(move || {
        for (read, bytes) in bytes {
            thread::sleep(lag.saturating_sub(read.elapsed()));
            if to.write_all(&bytes).is_err() {
                return;
            }
        }
        let _gone = to.shutdown(std::net::Shutdown::Write);
    });
    let mut buf = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buf) {
        if late.send((std::time::Instant::now(), buf[..read].to_vec())).is_err() {
            break;
        }
    }
    drop(late);
    let _ended = writer.join();
}
