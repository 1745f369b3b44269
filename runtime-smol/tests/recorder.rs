//! Events of controllers on a simulated cluster.

use core::time::Duration;
use listwatch::controller::{Context, Controller, Outcome, Reconciled};
use listwatch::decode::MetadataOnly;
use listwatch::election::Election;
use listwatch::file::Playback;
use listwatch::recorder::{EventWriter, ObjectReference, Occurrence, Recorder, RecorderConfig};
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::{Executor, Found, Resource, World, kind, run};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const EVENTS: &str = "events.k8s.io/v1/events";
const POST: &str = "POST /apis/events.k8s.io/v1/namespaces/web/events";

#[derive(Clone, Deserialize, Serialize)]
struct ConfigMap {}

kind!(ConfigMap, "v1", "configmaps");

/// A cluster with one object, a world of it, and the lines for its operators.
struct Stage {
    cluster: SimulatedCluster,
    world: World,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    fn new() -> Self {
        let (cluster, lines) = (SimulatedCluster::new(), Arc::<Mutex<Vec<String>>>::default());
        let metadata = json!({ "name": "a", "namespace": "web" });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
        let told = Arc::clone(&lines);
        let world = World::from(cluster.clone()).on_report_line(move |line| told.lock().unwrap().push(line.to_owned()));
        Self { cluster, world, lines }
    }

    fn lasting(&self, seconds: u64) -> World {
        self.world.clone().lasting(Duration::from_secs(seconds))
    }

    fn events(&self) -> Vec<Value> {
        self.cluster.list(EVENTS).unwrap()
    }

    /// The requests of this beginning.
    fn asked(&self, beginning: &str) -> usize {
        self.requests().iter().filter(|request| request.starts_with(beginning)).count()
    }

    fn requests(&self) -> Vec<String> {
        self.cluster.requests().iter().map(ToString::to_string).collect()
    }

    fn told(&self, text: &str) -> usize {
        self.lines.lock().unwrap().iter().filter(|line| line.contains(text)).count()
    }
}

/// Runs a controller until its world ends.
fn reconcile(world: World, reconcile: impl Fn(&Context, &Found<ConfigMap>) -> Reconciled + Send + Sync) {
    let controller = Controller::new("maps", world);
    let maps = controller.informer::<ConfigMap>();
    let running = controller.reconciles(&maps).run(async |cx, key| match maps.get(&key) {
        Some(map) => reconcile(&cx, &map),
        None => Ok(Outcome::Done),
    });
    running.unwrap();
}

#[test]
fn an_event_says_what_happened_to_which_object_and_who_reports_it() {
    let stage = Stage::new();
    reconcile(stage.lasting(1), |cx, map| {
        cx.event(map, "Synced", "all is well");
        cx.warning_event(map, "Odd", "not all is well");
        let node = ObjectReference::new("v1", "Node", None, "n");
        cx.record(Occurrence::normal(node, "Seen").action("Looking"));
        Ok(Outcome::Done)
    });
    let events = stage.events();
    let [seen, odd, synced] = ["Seen", "Odd", "Synced"].map(|reason| {
        let found: Vec<_> = events.iter().filter(|event| event["reason"] == reason).collect();
        let [event] = found[..] else { panic!("{reason}: {events:#?}") };
        event
    });
    let map = stage.cluster.get("v1/configmaps", "web/a").unwrap();
    assert_eq!(synced["regarding"]["kind"], "ConfigMap");
    assert_eq!(synced["regarding"]["apiVersion"], "v1");
    assert_eq!(synced["regarding"]["name"], "a");
    assert_eq!(synced["regarding"]["uid"], map["metadata"]["uid"]);
    assert_eq!(synced["regarding"]["resourceVersion"], map["metadata"]["resourceVersion"]);
    assert_eq!((&synced["type"], &synced["note"]), (&json!("Normal"), &json!("all is well")));
    assert_eq!(synced["reportingController"], "maps");
    assert_eq!(synced["reportingInstance"], "maps-simulated");
    assert_eq!((&odd["type"], &odd["metadata"]["namespace"]), (&json!("Warning"), &json!("web")));
    assert_eq!((&seen["action"], &seen["metadata"]["namespace"]), (&json!("Looking"), &json!("default")));
    assert_eq!(stage.told("Events"), 0);
}

#[test]
fn ten_thousand_failures_make_one_event_and_few_requests() {
    let stage = Stage::new();
    let count = Mutex::new(0);
    reconcile(stage.lasting(11_000), |cx, map| {
        let mut count = count.lock().unwrap();
        *count += 1;
        cx.warning_event(map, "Failed", &format!("for the {count}th time"));
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    });
    assert!(*count.lock().unwrap() > 10_000);
    let (events, requests) = (stage.events(), stage.asked("POST ") + stage.asked("PATCH "));
    assert_eq!(events.len(), 1, "{events:#?}");
    // The first two occurrences, one each half an hour, and the last count.
    assert!(requests <= 10, "{requests}");
    let counted = events[0]["series"]["count"].as_u64().unwrap();
    assert_eq!(counted, *count.lock().unwrap(), "the last count is written at the end");
}

#[test]
fn a_server_that_answers_no_event_holds_no_reconcile_up_and_the_end_for_five_seconds() {
    let stage = Stage::new();
    (0..100).for_each(|_| stage.cluster.fail_next(POST, Fault::Silent).unwrap());
    let (times, clock) = (Mutex::new(Vec::new()), stage.world.clock().clone());
    reconcile(stage.lasting(60), |cx, map| {
        times.lock().unwrap().push(clock.now());
        cx.event(map, "Synced", "all is well");
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    });
    let times = times.into_inner().unwrap();
    assert!(times.len() >= 59, "{}", times.len());
    assert_eq!(stage.events(), [json!(null); 0]);
    assert_eq!(stage.told("; the last ones were not written in time"), 1, "{:#?}", stage.lines);
    let took = stage.world.clock().now().saturating_since(times[0]);
    assert!(took < Duration::from_secs(66), "{took:?}");
}

#[test]
fn a_refused_event_is_told_once_with_its_object() {
    let stage = Stage::new();
    (0..100).for_each(|_| stage.cluster.fail_next(POST, Fault::Refused(403)).unwrap());
    reconcile(stage.lasting(60), |cx, map| {
        cx.event(map, "Synced", "all is well");
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    });
    assert_eq!(stage.told("maps: an Event about ConfigMap web/a was not written: "), 1, "{:#?}", stage.lines);
    assert_eq!(stage.told("not all of "), 1, "{:#?}", stage.lines);
    assert_eq!(stage.asked(POST), 1);
}

#[test]
fn the_last_events_are_written_before_the_lease_is_released() {
    let stage = Stage::new();
    let controller = Controller::new("maps", stage.lasting(60));
    let maps = controller.informer::<ConfigMap>();
    let election = Election::new("it").namespace("web").identity("a");
    let count = Mutex::new(0);
    let run = controller.reconciles(&maps).lead_by(election).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        *count.lock().unwrap() += 1;
        cx.event(&map, "Synced", "all is well");
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    });
    run.unwrap();
    let requests = stage.requests();
    let last = |text: &str| requests.iter().rposition(|request| request.contains(text)).unwrap();
    assert!(last("/events") < last("leases/it"), "{requests:#?}");
    assert_eq!(stage.events()[0]["series"]["count"], *count.lock().unwrap(), "the last count was written");
    let lease = stage.cluster.get("coordination.k8s.io/v1/leases", "web/it").unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

#[test]
fn an_object_whose_kind_has_no_name_has_no_event_and_the_operator_is_told_what_to_add() {
    let stage = Stage::new();
    let controller = Controller::new("maps", stage.lasting(1));
    let maps = controller.informer_of::<MetadataOnly>(Resource::new("/api/v1/configmaps"));
    let run = controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        cx.event(&map, "Synced", "all is well");
        Ok(Outcome::Done)
    });
    run.unwrap();
    assert_eq!(stage.told("EventWithoutKind: the kind of /api/v1/configmaps is not known"), 1, "{:#?}", stage.lines);
    assert_eq!(stage.asked(POST), 0);
}

#[test]
fn the_replay_of_a_tape_records_no_event_and_finds_the_same_writes() {
    let tape = std::env::temp_dir().join(format!("recorder-{}.jsonl.gz", std::process::id()));
    let stage = Stage::new();
    let work = |cx: &Context, map: &Found<ConfigMap>| {
        cx.event(map, "Synced", "all is well");
        Ok(Outcome::Done)
    };
    reconcile(stage.lasting(10).recorded_to(&tape).unwrap(), work);
    assert_eq!(stage.events().len(), 1);
    let world = World::from(Playback::from_file(&tape).unwrap()).on_report_line(|_| {});
    reconcile(world, work);
    std::fs::remove_file(tape).unwrap();
}

#[test]
fn a_problem_function_that_panics_and_a_writer_that_is_dropped_lose_no_other_event() {
    let cluster = SimulatedCluster::new();
    let world = World::from(cluster.clone());
    let clock = world.clock().clone();
    let recorder = Recorder::new(RecorderConfig::new("backup", "backup-0"), &clock).unwrap();
    let volume = |name: &str| ObjectReference::new("v1", "PersistentVolumeClaim", Some("web"), name);
    cluster.fail_next(POST, Fault::Refused(403)).unwrap();
    recorder.record(Occurrence::normal(volume("a"), "BackedUp"));
    drop(EventWriter::new(&recorder, world.client()));
    let writer = EventWriter::new(&recorder, world.client()).on_problem(|problem| panic!("{problem}"));
    run(&clock, &Executor::new(), async {
        let executor = Executor::new();
        let task = executor.spawn(writer);
        executor.run(clock.sleep(Duration::from_secs(1))).await;
        recorder.record(Occurrence::normal(volume("b"), "BackedUp"));
        recorder.stop();
        executor.run(task).await;
    });
    assert_eq!(cluster.list(EVENTS).unwrap().len(), 1);
    let counts = recorder.counts();
    assert_eq!((counts.recorded, counts.requests, counts.refused), (2, 1, 1), "{counts:?}");
    recorder.record(Occurrence::normal(volume("c"), "BackedUp"));
    assert_eq!(recorder.counts().dropped, 1, "after the stop");
}
