//! Reconciles that fail, hang, or panic, and sources that do not sync.

use crate::reconcilers::support::{FOOS, Log, SOON, Stage};
use core::fmt;
use core::task::Poll;
use core::time::Duration;
use listwatch::api::{Api, ApiFn, ApiRequest, ApiResponse};
use listwatch::controller::{Controller, ControllerHandle, Error, KeyState, Outcome, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::request::{Request, RequestId};
use listwatch::testing::SimulatedCluster;
use listwatch::transport::{Incoming, ListerWatcher, ReadContext, ResponseHead};
use listwatch::{Client, Clock, Informers, Key, Resource, World};
use listwatch_tests::bomb::Bomb;
use listwatch_tests::silent::Silent;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn errors_and_panics_are_reported_and_retried() {
    let (stage, log, reports) = (Stage::new(), Log::default(), Log::default());
    stage.put("a");
    let (noted, said) = (log.clone(), reports.clone());
    let controller = stage.controller().on_report(move |name, report| said.note(format!("{name}: {report}")));
    let controller = controller.calls(async move |_cx, key: Key| {
        noted.note(&key);
        match noted.len() {
            1 => Err("no".parse::<u32>().unwrap_err())?,
            2 => panic!("at the disco"),
            _ => Ok(Outcome::Done),
        }
    });
    let ended = stage.play(controller, stage.until(|| log.len() == 3));
    assert_eq!(ended, Ok(()));
    let expected = [
        "test: started; its sources have synced",
        "test: web/a: failed, next attempt in 5ms: invalid digit found in string",
        "test: web/a: the reconcile panicked: at the disco",
        "test: ended; every key is done",
    ];
    assert_eq!(reports.take(), expected);
}

#[test]
fn an_object_that_does_not_fit_is_reported_with_its_field_and_that_the_cache_lacks_it() {
    #[derive(serde::Deserialize)]
    struct Map {
        #[serde(rename = "data")]
        _data: BTreeMap<String, u32>,
    }
    let (cluster, reports) = (SimulatedCluster::new(), Log::default());
    for name in ["a", "b"] {
        let metadata = json!({ "name": name, "namespace": "web" });
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "n": "x" } });
        cluster.create(map).unwrap();
    }
    let controller = Controller::new("maps", World::from(cluster).lasting(SOON));
    let maps = controller.informer_of::<Map>(Resource::named("v1/configmaps").unwrap());
    let said = reports.clone();
    let reconciler = controller.reconciles(&maps).on_report(move |_, report| said.note_report(report));
    reconciler.run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    let told = "configmaps: not in the cache, or as it was before: web/b: `data.n` does not fit: invalid type: \
                string \"x\", expected u32; 2 objects so far";
    assert!(reports.has(told), "{:?}", reports.take());
}

#[test]
fn the_world_of_a_test_gets_the_reports_of_a_program_that_takes_them_too() {
    let (stage, lines, reports) = (Stage::new(), Log::default(), Log::default());
    stage.put("a");
    for has_own in [false, true] {
        let (noted, said) = (lines.clone(), reports.clone());
        let world = stage.informers.world().clone().until(stage.clock.sleep(Duration::from_millis(7)));
        let controller = Controller::new("test", world.on_report_line(move |line| noted.note(line)));
        let foos = controller.informer_of::<MetadataOnly>(Resource::new(FOOS));
        let controller = controller.reconciles(&foos);
        let controller =
            if has_own { controller.on_report(move |_, report| said.note_report(report)) } else { controller };
        let ended = controller.run(async |_cx, _key| Err("no".parse::<u32>().unwrap_err())?);
        assert!(matches!(ended, Ok(())), "{ended:?}");
    }
    let failed = "web/a: failed, next attempt in 5ms: invalid digit found in string";
    let lines = lines.take();
    assert_eq!((&*lines[0], &*lines[1]), ("test: started; its sources have synced", &*format!("test: {failed}")));
    assert_eq!(lines.iter().filter(|line| **line == format!("test: {failed}")).count(), 2, "{lines:?}");
    assert_eq!(reports.take()[0], failed);
}

/// An error of a program, of which this part panics.
#[derive(Debug)]
struct Hostile(&'static str);

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "panics in its {}", self.0)
    }
}

impl core::error::Error for Hostile {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        assert_ne!(self.0, "source", "the source");
        None
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        assert_ne!(self.0, "drop", "the drop");
    }
}

#[test]
fn an_error_that_panics_when_read_or_dropped_ends_no_worker() {
    for part in ["source", "drop"] {
        let (stage, log, reports) = (Stage::new(), Log::default(), Log::default());
        ["a", "b"].into_iter().for_each(|name| stage.put(name));
        let (noted, said) = (log.clone(), reports.clone());
        let controller = stage.controller().on_report(move |_, report| said.note_report(report));
        let controller = controller.calls(async move |_cx, key: Key| {
            noted.note(&key);
            if noted.len() == 1 { Err(Hostile(part))? } else { Ok(Outcome::Done) }
        });
        let ended = stage.play(controller, stage.until(|| log.len() == 3));
        assert_eq!((ended, log.take()), (Ok(()), ["web/a", "web/b", "web/a"].map(String::from).to_vec()));
        let reports = reports.take();
        let panicked = format!("web/a: the reconcile panicked: assertion `left != right` failed: the {part}");
        assert!(reports.iter().any(|report| report.starts_with(&panicked)), "{reports:?}");
    }
}

#[test]
fn an_object_that_panics_in_its_drop_ends_no_stream() {
    let (stage, log, reports) = (Stage::new(), Log::default(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let (noted, said) = (log.clone(), reports.clone());
    let bombs = stage.informers.informer_of::<Bomb>(Resource::new(FOOS));
    let controller = Controller::new("test", &stage.informers).reconciles(&bombs);
    let controller = controller.on_report(move |_, report| said.note_report(report)).calls(async move |_cx, key| {
        noted.note(key);
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.until(|| log.len() == 2).await;
        Bomb::arm(true);
        stage.put("a");
        stage.until(|| log.len() == 3).await;
        Bomb::arm(false);
        stage.put("b");
        stage.until(|| log.len() == 4).await;
    });
    assert_eq!(ended, Ok(()));
    // The stream, or the controller, has the last handle of the object.
    let by_controller = reports.take().iter().any(|report| report.ends_with("panicked: in drop"));
    assert!(by_controller || bombs.streams()[0].panics == 1, "{:?}", bombs.streams());
}

#[test]
fn a_terminal_error_is_not_retried_before_the_key_changes() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    let noted = log.clone();
    let controller = stage.controller().on_report(|_, _| {}).calls(async move |_cx, key| {
        noted.note(key);
        Err(Error::terminal("spec.replicas is negative"))
    });
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.sleep(Duration::from_secs(3000)).await;
        assert_eq!((log.take().len(), handle.parked()), (1, [Key::from("web/a")].to_vec()));
        assert_eq!(handle.report()[0].state, KeyState::Parked);
        stage.put("a");
        stage.sleep(SOON).await;
        assert_eq!(log.take().len(), 1);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn only_failures_that_lie_in_the_key_park_it() {
    for (status, parks) in [(422, true), (503, false), (429, false), (409, false)] {
        let (stage, log) = (Stage::new(), Log::default());
        stage.put("a");
        let noted = log.clone();
        let controller = stage.controller().park_after(3).on_report(|_, _| {});
        let controller = controller.calls(async move |_cx, key: Key| {
            noted.note(&key);
            let call = Api::<Value>::new(&Resource::new(FOOS)).get(key.name());
            call.read(&ApiResponse::new(status, *b"no"))?;
            Ok(Outcome::Done)
        });
        let handle = controller.handle();
        let ended = stage.play(controller, stage.sleep(SOON));
        assert_eq!(ended, Ok(()));
        assert_eq!(log.len() == 3, parks, "status {status}: {} reconciles", log.len());
        assert!(handle.parked().is_empty(), "the controller has ended");
    }
}

#[test]
fn a_reconcile_is_dropped_at_its_deadline_and_its_key_retried() {
    let (stage, log, reports) = (Stage::new(), Log::default(), Log::default());
    stage.put("a");
    let (noted, said) = (log.clone(), reports.clone());
    let controller = stage.controller().deadline(Duration::from_secs(5));
    let controller = controller.on_report(move |_, report| said.note_report(report)).calls(async move |_cx, key| {
        noted.note(key);
        if noted.len() == 1 {
            smol::future::pending::<()>().await;
        }
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, stage.until(|| log.len() == 2));
    assert_eq!(ended, Ok(()));
    assert_eq!(reports.take()[0], "web/a: the reconcile was dropped after 5s");
}

#[test]
fn a_reconcile_that_never_resolves_costs_the_others_nothing() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b", "c"].into_iter().for_each(|name| stage.put(name));
    let noted = log.clone();
    let controller = stage.controller().workers(2).drain(Duration::from_secs(3)).on_report(|_, _| {});
    let controller = controller.calls(async move |_cx, key: Key| {
        if key.name() == "a" {
            smol::future::pending::<()>().await;
        }
        noted.note(key);
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        stage.put("c");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/b", "web/c", "web/c"]);
    });
    let (grace, dropped) = (Duration::from_secs(3), ["web/a".into()].to_vec());
    assert_eq!(ended, Err(RunError::NotDrained { grace, dropped, blocked: Vec::new() }));
}

/// Refuses every list.
struct Denied(Option<(RequestId, u32)>);

impl ListerWatcher for Denied {
    fn open(&mut self, id: RequestId, _: &Request) {
        self.0 = Some((id, 0));
    }

    fn poll_read(&mut self, _: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        const BODY: &[u8] =
            br#"{"kind":"Status","reason":"Forbidden","code":403,"message":"foos is forbidden: cannot list"}"#;
        let Some((id, reads)) = &mut self.0 else { return Poll::Ready(Incoming::Idle { until: None }) };
        *reads += 1;
        Poll::Ready(match reads {
            1 => Incoming::Head { id: *id, head: ResponseHead { status: 403, ..ResponseHead::default() } },
            2 => {
                buf[..BODY.len()].copy_from_slice(BODY);
                Incoming::Data { id: *id, len: BODY.len() }
            }
            _ => Incoming::End { id: self.0.take().unwrap().0 },
        })
    }

    fn abort(&mut self, _: RequestId) {
        self.0 = None;
    }
}

#[test]
fn a_start_that_is_denied_names_the_resource_the_servers_sentence_and_the_command_that_checks_it() {
    let clock = Clock::simulated();
    let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
    let informers = Informers::new(World::from_parts(clock, client, |_| Box::new(Denied(None))));
    let foos = informers.informer_of::<MetadataOnly>(Resource::new(FOOS));
    let ended = Controller::new("test", &informers)
        .reconciles(&foos)
        .on_report(|_, _| {})
        .run(async |_cx, key| panic!("{key} is reconciled"));
    let error = ended.unwrap_err();
    let RunError::NotSynced { streams } = &error else { panic!("{error}") };
    assert_eq!(streams[0].name.resource().path(), FOOS);
    let text = "foos.example.com in namespace web did not sync: status 403 Forbidden: foos is forbidden: cannot list\n\
                help: check with `kubectl auth can-i watch foos.example.com -n web`";
    assert_eq!(format!("{error:?}"), text);
}

#[test]
fn a_start_has_a_deadline_and_can_be_stopped_before() {
    let clock = Clock::simulated();
    let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
    let informers = Informers::new(World::from_parts(clock.clone(), client, |_| Box::new(Silent)));
    let foos = informers.informer_of::<MetadataOnly>(Resource::new(FOOS));
    let controller = || Controller::new("test", &informers).reconciles(&foos).on_report(|_, _| {});
    let begun = clock.now();
    let ended = controller().sync_within(SOON).run(async |_cx, _key| Ok(Outcome::Done));
    assert!(matches!(ended, Err(RunError::NotSynced { .. })), "{ended:?}");
    assert_eq!(clock.now(), begun + SOON);
    let handle = ControllerHandle::default();
    handle.stop();
    let ended = controller().keys(&handle).run(async |_cx, _key| Ok(Outcome::Done));
    assert_eq!((ended, clock.now()), (Ok(()), begun + SOON));
}
