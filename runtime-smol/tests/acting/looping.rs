//! Objects that controllers write without an end.

use core::time::Duration;
use listwatch::api::{ApiClient, ApiFn, ApiRequest, ApiResponse, Method};
use listwatch::controller::{Controller, LoopKind, Outcome, Report, WriteLoop, run_all};
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch::{Client, Clock, Informers, World};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const FOOS: &str = "example.com/v1/foos";
const FOO: &str = "web/foo";

/// A cluster with an object, and what its controllers report of loops.
struct Stage {
    cluster: SimulatedCluster,
    clock: Clock,
    reads: Arc<Mutex<usize>>,
    told: Told,
}

/// The controller, the loop, and its text.
type Told = Arc<Mutex<Vec<(String, WriteLoop, String)>>>;

impl Stage {
    fn new() -> Self {
        let cluster = SimulatedCluster::new();
        let metadata = json!({ "name": "foo", "namespace": "web" });
        let foo = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata, "spec": {} });
        cluster.create(foo).unwrap();
        Self { cluster, clock: Clock::simulated(), reads: Arc::default(), told: Arc::default() }
    }

    /// A world whose server tells in each read which manager has set the size.
    fn world(&self) -> World {
        let (cluster, time, reads) = (self.cluster.clone(), self.clock.clone(), Arc::clone(&self.reads));
        let streams = self.cluster.on_clock(move || time.now());
        let answer = ApiFn::new(move |request: &ApiRequest| {
            let response = cluster.send(request)?;
            if request.method != Method::Get || !request.path.ends_with("/foo") {
                return Ok(response);
            }
            *reads.lock().unwrap() += 1;
            Ok(ApiResponse::new(response.status, managed(serde_json::from_slice(&response.body).unwrap())))
        });
        let client = Client::new(answer, self.clock.clone());
        World::from_parts(self.clock.clone(), client, move |_| Box::new(streams.transport()))
    }

    fn on_report(&self) -> impl Fn(&str, &Report<'_>) + Send + Sync + 'static {
        let told = Arc::clone(&self.told);
        move |controller, report| {
            if let Report::WriteLoop { found, .. } = report {
                told.lock().unwrap().push((controller.to_owned(), (*found).clone(), report.to_string()));
            }
        }
    }

    fn told(&self) -> Vec<(String, WriteLoop, String)> {
        self.told.lock().unwrap().clone()
    }
}

/// The object with the owner of its size.
fn managed(mut foo: Value) -> Vec<u8> {
    let manager = if foo["spec"]["size"] == 1 { "one" } else { "two" };
    let entry = |manager, set| json!({ "manager": manager, "time": "2000-01-01T00:00:00Z", "fieldsV1": set });
    let entries = [entry("kubectl", json!({ "f:spec": {} })), entry(manager, json!({ "f:spec": { "f:size": {} } }))];
    foo["metadata"]["managedFields"] = json!(entries);
    foo.to_string().into_bytes()
}

#[test]
fn two_controllers_that_undo_each_others_field_name_the_field_and_each_other_once() {
    let stage = Stage::new();
    let informers = Informers::new(stage.world().lasting(Duration::from_secs(60)));
    let controllers = [("one", 1), ("two", 2)].map(|(name, size)| {
        let controller = Controller::new(name, &informers);
        let foos = controller.informer_of::<Value>(FOOS).with_kind("Foo");
        controller.reconciles(&foos).on_report(stage.on_report()).calls(async move |cx, key| {
            let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
            cx.clock().sleep(Duration::from_millis(100)).await;
            cx.change(&foo, |foo| foo["spec"]["size"] = json!(size)).await?;
            Ok(Outcome::Done)
        })
    });
    run_all(controllers).unwrap();
    let mut told = stage.told();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(told.len(), 2, "{told:?}");
    for ((name, found, text), other) in told.iter().zip(["two", "one"]) {
        assert_eq!((found.kind, &*found.fields), (LoopKind::Undo, &["/spec/size".to_owned()][..]), "{name}");
        assert_eq!(found.other.as_deref(), Some(other), "{name}");
        assert!(text.starts_with("web/foo: Foo web/foo is written without an end: 11 writes in "), "{text}");
        assert!(text.ends_with(&format!(", and each undid what {other} changed: /spec/size")), "{text}");
    }
}

#[test]
fn a_status_with_the_time_of_its_reconcile_is_told_and_counted() {
    let (stage, metrics) = (Stage::new(), Metrics::new());
    let (clock, measured, scrape) = (stage.clock.clone(), metrics.clone(), Arc::<Mutex<String>>::default());
    let scraped = Arc::clone(&scrape);
    let world = stage.world().until(async move {
        clock.sleep(Duration::from_secs(60)).await;
        *scraped.lock().unwrap() = measured.encode();
    });
    let controller = Controller::new("sample", world);
    let foos = controller.informer_of::<Value>(FOOS).with_kind("Foo");
    let running = controller.reconciles(&foos).on_report(stage.on_report()).calls(async move |cx, key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        cx.clock().sleep(Duration::from_secs(1)).await;
        let seen = cx.clock().wall().to_string();
        cx.change_status(&foo, |foo| foo["status"] = json!({ "phase": "Ready", "seen": seen })).await?;
        Ok(Outcome::Done)
    });
    metrics.add(&running);
    running.run().unwrap();
    let told = stage.told();
    assert_eq!(told.len(), 1, "{told:?}");
    let (_, found, text) = &told[0];
    assert_eq!((found.kind, found.writes), (LoopKind::Echo, 11));
    assert!(text.starts_with("web/foo: Foo web/foo is written without an end: 11 writes in 10."), "{text}");
    assert!(text.ends_with(" s, and each led to the next one; it changed /status/seen"), "{text}");
    let line = "listwatch_write_loops_total{controller=\"sample\"} 1";
    assert!(scrape.lock().unwrap().lines().any(|known| known == line), "{}", scrape.lock().unwrap());
    assert_eq!(*stage.reads.lock().unwrap(), 0, "an echo is seen in the answers");
}

#[test]
fn a_status_that_follows_changes_of_others_or_a_timer_is_no_loop() {
    let stage = Stage::new();
    let (clock, cluster) = (stage.clock.clone(), stage.cluster.clone());
    let world = stage.world().until(async move {
        for step in 0..100 {
            clock.sleep(Duration::from_secs(1)).await;
            cluster.patch(FOOS, FOO, json!({ "metadata": { "annotations": { "step": step.to_string() } } })).unwrap();
        }
        clock.sleep(Duration::from_secs(60)).await;
    });
    let controller = Controller::new("sample", world);
    let foos = controller.informer_of::<Value>(FOOS).with_kind("Foo");
    let running = controller.reconciles(&foos).on_report(stage.on_report()).calls(async move |cx, key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        let step = foo["metadata"]["annotations"]["step"].clone();
        let is_beat = cx.causes().is_empty();
        let now = cx.clock().wall().to_string();
        cx.change_status(&foo, |foo| {
            foo["status"]["message"] = json!(format!("step {step}"));
            if is_beat {
                foo["status"]["heartbeat"] = json!(now);
            }
        })
        .await?;
        Ok(Outcome::RequeueAfter(Duration::from_secs(3)))
    });
    running.run().unwrap();
    assert_eq!(stage.told(), []);
    let status = &stage.cluster.get(FOOS, FOO).unwrap()["status"];
    assert_eq!(status["message"], "step \"99\"", "{status}");
    assert!(status["heartbeat"].is_string(), "{status}");
}

#[test]
fn the_values_of_a_secret_are_in_no_report() {
    let stage = Stage::new();
    let metadata = json!({ "name": "token", "namespace": "web" });
    stage.cluster.create(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata })).unwrap();
    let controller = Controller::new("sample", stage.world().lasting(Duration::from_secs(60)));
    let secrets = controller.informer_of::<Value>("v1/secrets").with_kind("Secret");
    let number = Mutex::new(0);
    let running = controller.reconciles(&secrets).on_report(stage.on_report()).calls(async move |cx, key| {
        let Some(secret) = secrets.get(&key) else { return Ok(Outcome::Done) };
        cx.clock().sleep(Duration::from_secs(1)).await;
        let value = {
            let mut number = number.lock().unwrap();
            *number += 1;
            ["aHVudGVyMg==", "aHVudGVyMw=="][*number % 2]
        };
        cx.change(&secret, |secret| secret["data"]["password"] = json!(value)).await?;
        Ok(Outcome::Done)
    });
    running.run().unwrap();
    let told = format!("{:?}", stage.told());
    assert!(told.contains("/data/password") && !told.contains("aHVudGVy"), "{told}");
}
