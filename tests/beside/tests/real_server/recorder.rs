//! Events that a recorder writes, by the rules of a real server.

use crate::real_server::plane::{Plane, plane};
use listwatch::World;
use listwatch::controller::{Controller, ControllerHandle, Outcome, Report};
use listwatch::decode::MetadataOnly;
use listwatch_core::api::{Api, ApiClient, CallAction};
use listwatch_core::recorder::{EventRecorder, ObjectReference, Occurrence, RecorderConfig};
use listwatch_core::time::WallTime;
use listwatch_core::{Instant, Resource};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Sends what the recorder asks for; nothing is refused.
fn settle(plane: &Plane, recorder: &mut EventRecorder) {
    while let Some(action) = recorder.poll_action(Instant::ZERO) {
        let CallAction::Open { id, request } = action else { continue };
        let answer = plane.client.send(&request);
        assert!(answer.as_ref().is_ok_and(|answer| answer.status < 300), "{request:?}: {answer:?}");
        recorder.handle_answer(Instant::ZERO, id, answer);
    }
    assert_eq!(recorder.poll_problem(), None);
}

#[test]
fn a_server_takes_every_event_and_its_series() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("events");
    let wall: WallTime = "2026-11-23T12:00:00.25Z".parse().unwrap();
    let mut recorder = EventRecorder::new(RecorderConfig::new("example.com/foo", "foo-0")).unwrap();
    let pod = |name: &str| ObjectReference::new("v1", "Pod", Some(&namespace), name).uid("u-1").resource_version("7");
    let long = "ö".repeat(2000);
    let occurrences = [
        Occurrence::warning(pod("a"), "NoRoom").action("Scaling").note("no node has room").related(&pod("b")),
        Occurrence::normal(pod("a").field_path("spec.containers{web}"), "Synced"),
        Occurrence::normal(pod("system:node"), ""),
        Occurrence::normal(pod(&"a".repeat(253)), &long).action(&long).note(&long),
    ];
    for occurrence in occurrences {
        for _ in 0..3 {
            recorder.record(Instant::ZERO, wall, occurrence.clone());
            settle(&plane, &mut recorder);
        }
    }
    let events = Resource::named("events.k8s.io/v1/events").unwrap();
    let events = Api::<Value>::new(&events.in_namespace(&namespace)).list().send(&plane.client).unwrap().items;
    assert_eq!(events.len(), 4, "{events:#?}");
    assert!(
        events.iter().all(|event| event["series"]["count"] == 2 && event["series"]["lastObservedTime"].is_string())
    );
    assert!(events.iter().any(|event| event["related"]["name"] == "b" && event["action"] == "Scaling"));
    // The third occurrence of each is counted, and written at the end.
    recorder.stop(Instant::ZERO);
    settle(&plane, &mut recorder);
    assert!(recorder.is_done());
    assert_eq!((recorder.counts().requests, recorder.counts().recorded), (12, 12));
}

#[test]
fn an_event_about_an_object_of_the_cluster_is_in_the_default_namespace() {
    let Some(plane) = plane() else { return };
    let mut recorder = EventRecorder::new(RecorderConfig::new("foo", "foo-0")).unwrap();
    let node = ObjectReference::new("v1", "Node", None, "listwatch-test").uid("u-1");
    recorder.record(Instant::ZERO, WallTime::from_unix_seconds(1_700_000_000), Occurrence::warning(node, "NotReady"));
    settle(&plane, &mut recorder);
    assert_eq!(recorder.counts().requests, 1);
}

#[test]
fn the_events_of_a_controller_are_written_when_it_has_ended() {
    let Some(mut plane) = plane() else { return };
    let namespace = plane.namespace("controller-events");
    let maps = plane.filled(&namespace, 3);
    let (handle, seen) = (ControllerHandle::default(), Mutex::new(BTreeSet::new()));
    let controller = Controller::new("my controller", World::from(plane.cluster.clone()));
    let maps = controller.informer_of::<MetadataOnly>(maps).with_kind("ConfigMap");
    let reconciler = controller.reconciles(&maps).keys(&handle).on_report(|_, report| {
        let is_lost = matches!(report, Report::EventNotWritten { .. } | Report::EventsLost { .. });
        assert!(!is_lost, "{report}");
    });
    let ended = reconciler.run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        cx.event(&map, "Seen", &"ö".repeat(2000));
        cx.warning_event(&map, "Odd", "");
        let mut seen = seen.lock().unwrap();
        seen.insert(key);
        if seen.len() >= 3 {
            handle.stop();
        }
        Ok(Outcome::Done)
    });
    ended.unwrap();
    let events = Resource::named("events.k8s.io/v1/events").unwrap();
    let events = Api::<Value>::new(&events.in_namespace(&namespace)).list().send(&plane.client).unwrap().items;
    let ours: Vec<_> = events.iter().filter(|event| event["reportingController"] == "my-controller").collect();
    assert_eq!(ours.len(), 2 * seen.lock().unwrap().len(), "{events:#?}");
    let is_whole = |event: &&&Value| event["regarding"]["kind"] == "ConfigMap" && event["regarding"]["uid"].is_string();
    assert_eq!(ours.iter().filter(is_whole).count(), ours.len(), "{events:#?}");
}
