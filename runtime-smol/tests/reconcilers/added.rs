//! Sources that are added to a running controller, and removed.

use crate::reconcilers::support::{Log, PARTS, SILENT, SOON, Stage, owner_of};
use core::time::Duration;
use listwatch::Resource;
use listwatch::controller::{ControllerHandle, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch_tests::sim::Troubles;

/// A collection that no informer of the stage follows.
const OTHER: &str = "/api/v1/namespaces/web/others";

/// A stage, a controller that notes its keys and reports, and the collection `OTHER` with one part of the foo `a`.
fn stage() -> (Stage, Log, Log) {
    let stage = Stage::new();
    stage.server.with(|inside| inside.store.add_collection(OTHER));
    stage.create_in(OTHER, "first", &owner_of("a"));
    (stage, Log::default(), Log::default())
}

fn running(stage: &Stage, (log, reports): (&Log, &Log)) -> listwatch::controller::Running<'static> {
    let (log, reports) = (log.clone(), reports.clone());
    stage.controller().on_report(move |_, report| reports.note_report(report)).calls(async move |_cx, key| {
        log.note(key);
        Ok(Outcome::Done)
    })
}

#[test]
fn a_kind_can_be_added_to_a_running_controller() {
    let (stage, log, reports) = stage();
    let controller = running(&stage, (&log, &reports));
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        let informers = stage.informers.status().len();
        let others = stage.informers.informer_of::<MetadataOnly>(Resource::new(OTHER));
        let store = others.store().clone();
        let owned = handle.owns(&others).unwrap();
        let mapped = handle.maps(&others, |part, keys| keys.add(part.meta().name())).unwrap();
        drop(others);
        assert_eq!(owned.path(), OTHER);

        stage.sleep(SOON).await;
        assert_eq!(sorted(&log), ["first", "web/a"], "its objects come first");
        stage.create_in(OTHER, "second", &owner_of("b"));
        stage.sleep(SOON).await;
        assert_eq!(sorted(&log), ["second", "web/b"]);

        drop(mapped);
        stage.create_in(OTHER, "third", &owner_of("c"));
        stage.sleep(SOON).await;
        assert_eq!(sorted(&log), ["web/c"]);
        assert_eq!((stage.informers.status().len(), store.len()), (informers + 1, 3));

        drop(owned);
        stage.create_in(OTHER, "fourth", &owner_of("d"));
        stage.sleep(SOON).await;
        assert!(log.take().is_empty());
        assert_eq!((stage.informers.status().len(), store.len()), (informers, 3), "the watch has ended");
        stage.put("own");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/own"], "the others go on");
    });
    assert_eq!((ended, reports.take()), (Ok(()), vec!["ended; every key is done".to_owned()]));
    assert!(handle.owns(&stage.parts).is_none(), "it has ended");
    assert!(ControllerHandle::default().owns(&stage.parts).is_none(), "there is no controller");
}

#[test]
fn a_kind_that_does_not_sync_is_reported_and_stops_no_running_controller() {
    let (stage, log, reports) = stage();
    let controller = running(&stage, (&log, &reports));
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        let silent = stage.informers.informer_of::<MetadataOnly>(Resource::new(SILENT));
        let _added = handle.owns(&silent).unwrap();
        stage.put("a");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a"], "it goes on meanwhile");
        stage.sleep(Duration::from_secs(150)).await;
        let said = reports.take();
        let is_it = |line: &String| line.starts_with("not synced: silent in namespace web: ");
        assert_eq!(said.iter().filter(|line| is_it(line)).count(), 1, "{said:?}");
        stage.put("b");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/b"]);
    });
    assert_eq!(ended, Ok(()));
}

/// The controller would wait for it, and end without it.
#[test]
fn a_kind_that_is_added_before_the_start_and_does_not_sync_is_left_out() {
    let (stage, log, reports) = stage();
    stage.put("a");
    let controller = running(&stage, (&log, &reports));
    let silent = stage.informers.informer_of::<MetadataOnly>(Resource::new(SILENT));
    let added = controller.handle().owns(&silent).unwrap();
    let parts = controller.handle().owns(&stage.parts).unwrap();
    assert_eq!(parts.path(), PARTS);
    let ended = stage.play(controller, async {
        stage.sleep(SOON * 20).await;
        assert_eq!(log.take(), ["web/a"]);
    });
    assert_eq!(ended, Ok(()));
    drop((added, parts));
}

#[test]
fn a_kind_of_another_world_that_is_added_runs_until_it_is_removed() {
    let (stage, log, reports) = stage();
    let there = Stage::with(stage.clock.clone(), Troubles::NONE);
    let controller = running(&stage, (&log, &reports));
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert!(handle.owns(&there.parts).is_none(), "the owners there are other objects");
        let mapped = handle.maps(&there.parts, |part, keys| keys.add(part.meta().name())).unwrap();
        there.create_part("first", "a");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["first"]);
        drop(mapped);
        there.create_part("second", "a");
        stage.sleep(SOON).await;
        assert!(log.take().is_empty());
    });
    assert_eq!((ended, reports.take()), (Ok(()), vec!["ended; every key is done".to_owned()]));
}

#[test]
fn a_kind_of_a_world_with_another_clock_is_not_added() {
    let (stage, log, reports) = stage();
    let other = Stage::new();
    let controller = running(&stage, (&log, &reports));
    let handle = controller.handle();
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert!(handle.maps(&other.parts, |_, _| {}).is_none());
    });
    assert_eq!(ended, Ok(()));
}

fn sorted(log: &Log) -> Vec<String> {
    let mut keys = log.take();
    keys.sort();
    keys
}
