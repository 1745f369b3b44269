//! Where the keys of a controller come from.

use crate::reconcilers::support::{FOOS, Log, PARTS, SOON, Stage};
use core::time::Duration;
use listwatch::controller::{
    CauseKind, Controller, ControllerHandle, Outcome, Reconciler, Report, RunError, Running, Source, predicate, run_all,
};
use listwatch::queue::Priority;
use listwatch::{Executor, Key, Resource, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

/// Notes each key that is reconciled.
pub(crate) fn noting<T: Send + Sync + 'static>(controller: Reconciler<T>, log: &Log) -> Running<'static> {
    let log = log.clone();
    controller.calls(async move |_cx, key| {
        log.note(key);
        Ok(Outcome::Done)
    })
}

#[test]
fn a_closure_borrows_what_outlives_the_run_and_holds_an_rc_across_an_await() {
    let (stage, reconciled) = (Stage::new(), Log::default());
    stage.put("a");
    let handle = ControllerHandle::default();
    let (foos, sleeps) = (&stage.foos, &stage.clock);
    let ended = stage.controller().keys(&handle).run(async |cx, key| {
        let held = Rc::new(foos.get(&key).ok_or_else(|| std::io::Error::other("it is gone"))?);
        sleeps.sleep(Duration::from_millis(5)).await;
        reconciled.note(held.meta().name());
        assert_eq!(cx.key(), held.key());
        handle.stop();
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(reconciled.take(), ["a"]);
}

#[test]
fn each_object_is_reconciled_when_it_is_listed_and_when_it_changes() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let controller = noting(stage.controller(), &log);
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a", "web/b"]);
        stage.put("b");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/b"]);
        stage.delete("a");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a"]);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn the_owner_of_a_part_is_reconciled_and_another_kind_of_owner_is_not() {
    let (stage, log) = (Stage::new(), Log::default());
    let bars = stage.informers.informer_of::<Value>(Resource::new(FOOS));
    let bars = Controller::new("bars", &stage.informers).reconciles(&bars.with_kind("Bar"));
    let controller = noting(stage.controller().owns(&stage.parts), &log);
    let other = noting(bars.owns(&stage.parts), &log);
    for (controller, expected) in [(controller, &["web/a"][..]), (other, &[])] {
        let ended = stage.play(controller, async {
            stage.sleep(SOON).await;
            log.take();
            stage.create_part(&format!("part-{}", expected.len()), "a");
            stage.sleep(SOON).await;
            assert_eq!(log.take(), expected);
        });
        assert_eq!(ended, Ok(()));
    }
}

#[test]
fn a_mapper_finds_keys_in_another_store() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let foos = stage.foos.clone();
    let all = move |_: &_, keys: &mut listwatch::controller::Keys<'_>| {
        foos.keys().into_iter().for_each(|key: Key| keys.add(key));
    };
    let controller = noting(stage.controller().maps(&stage.parts, all), &log);
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        log.take();
        stage.put(&format!("{PARTS}/x"));
        stage.sleep(SOON).await;
        let mut reconciled = log.take();
        reconciled.sort();
        assert_eq!(reconciled, ["web/a", "web/b"]);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn an_update_that_does_not_count_wakes_nobody() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    let never = Source::from(&stage.foos).when(predicate::labels_changed);
    let controller = noting(Controller::new("test", &stage.informers).reconciles(never), &log);
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a"]);
        stage.put("a");
        stage.sleep(SOON).await;
        assert!(log.take().is_empty());
        stage.delete("a");
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a"]);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn keys_from_outside_wait_for_the_start_and_are_refused_after_the_end() {
    let (stage, log, handle) = (Stage::new(), Log::default(), ControllerHandle::default());
    assert!(handle.add("web/early"));
    let controller = noting(stage.controller().keys(&handle), &log);
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/early"]);
        assert!(handle.add_with_priority("web/late", Priority::High));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/late"]);
    });
    assert_eq!(ended, Ok(()));
    assert!(!handle.add("web/after"));
}

#[test]
fn all_keys_of_the_own_kind_are_reconciled_after_each_period() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let controller = noting(stage.controller().every(Duration::from_secs(600)), &log);
    let ended = stage.play(controller, async {
        stage.sleep(Duration::from_secs(300)).await;
        log.take();
        for _ in 0..3 {
            stage.sleep(Duration::from_secs(600)).await;
            assert_eq!(log.take().len(), 2);
        }
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_period_adds_more_keys_than_one_turn_of_the_streams_takes() {
    let (stage, log) = (Stage::new(), Log::default());
    (0..2500).for_each(|n| stage.put(&n.to_string()));
    let controller = noting(stage.controller().every(Duration::from_secs(600)), &log);
    let ended = stage.play(controller, async {
        stage.sleep(Duration::from_secs(300)).await;
        log.take();
        stage.sleep(Duration::from_secs(600)).await;
        let keys: BTreeSet<String> = log.take().into_iter().collect();
        assert_eq!(keys.len(), 2500);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_reconcile_is_told_its_causes_with_their_versions_and_waiting_times() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    let noted = log.clone();
    let controller = stage.controller().debounce(Duration::from_secs(1), SOON).calls(async move |cx, _key| {
        for (cause, waited) in cx.causes() {
            noted.note(format!("{cause}, {waited:?}"));
        }
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        assert_eq!(log.take(), [format!("Initial {FOOS}/web/a at version 2, 1s")]);
        stage.put("a");
        stage.sleep(Duration::from_millis(500)).await;
        stage.put("a");
        stage.sleep(SOON).await;
        let updated = [(3, "1.5s"), (4, "1s")];
        let lines = updated.map(|(version, waited)| format!("Updated {FOOS}/web/a at version {version}, {waited}"));
        assert_eq!(log.take(), lines);
    });
    assert_eq!(ended, Ok(()));
    assert_ne!(CauseKind::Initial, CauseKind::Added);
}

#[test]
fn a_mapper_that_panics_does_not_end_the_stream_of_its_source() {
    let (stage, log, reports) = (Stage::new(), Log::default(), Log::default());
    let noted = reports.clone();
    let controller = stage
        .controller()
        .maps(&stage.parts, |part, keys| {
            assert_ne!(part.meta().name(), "bad", "no such part");
            keys.add(format!("web/of-{}", part.meta().name()).as_str());
        })
        .on_report(move |_, report| noted.note_report(report));
    let controller = noting(controller, &log);
    let ended = stage.play(controller, async {
        ["bad", "good"].into_iter().for_each(|name| stage.put(&format!("{PARTS}/{name}")));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/of-good"]);
        let said = reports.take();
        assert!(
            said.len() == 1 && said[0].starts_with("the mapper of parts in namespace web panicked over web/bad: "),
            "{said:?}"
        );
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn keys_of_a_mapper_that_panics_are_not_reconciled() {
    let (stage, log) = (Stage::new(), Log::default());
    let controller = stage.controller().on_report(|_, _| {}).maps(&stage.parts, |part, keys| {
        keys.add(part.meta().name());
        assert_ne!(part.meta().name(), "bad", "no such part");
    });
    let ended = stage.play(noting(controller, &log), async {
        ["bad", "good"].into_iter().for_each(|name| stage.put(&format!("{PARTS}/{name}")));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["good"]);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn keys_that_a_mapper_lost_by_a_panic_are_reconciled_by_a_resync() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let panics = |part: &str| assert_ne!(part, "bad", "no such part");
    let controller = stage.controller().on_report(|_, _| {}).maps(&stage.parts, move |part, keys| {
        panics(part.meta().name());
        keys.add("web/a");
    });
    let noted = log.clone();
    let controller = controller.calls(async move |cx, key| {
        let causes: Vec<_> = cx.causes().iter().map(|(cause, _)| cause.kind).collect();
        noted.note(format!("{key}: {causes:?}"));
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        log.take();
        stage.put(&format!("{PARTS}/bad"));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a: [Resync]", "web/b: [Resync]"]);
        stage.put(&format!("{PARTS}/good"));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a: [Added]"]);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_mapper_that_always_panics_causes_a_resync_a_minute_at_most() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    let controller = stage.controller().on_report(|_, _| {}).maps(&stage.parts, |_, _| panic!("no such part"));
    let ended = stage.play(noting(controller, &log), async {
        for _ in 0..600 {
            stage.put(&format!("{PARTS}/x"));
            stage.sleep(Duration::from_secs(1)).await;
        }
        let reconciles = log.take().len();
        assert!((10..=16).contains(&reconciles), "{reconciles} reconciles in ten minutes");
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn an_update_is_one_cause_with_the_new_version() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put(&format!("{PARTS}/x"));
    let noted = log.clone();
    let controller = stage.controller().maps(&stage.parts, |part, keys| {
        // The same key twice, and one for each state.
        (0..2).for_each(|_| keys.add("web/same"));
        keys.add(format!("web/of-{}", part.meta().resource_version()).as_str());
    });
    let controller = controller.calls(async move |cx, key| {
        let causes: Vec<_> = cx.causes().iter().map(|(cause, _)| cause.to_string()).collect();
        noted.note(format!("{key}: {}", causes.join(", ")));
        Ok(Outcome::Done)
    });
    let ended = stage.play(controller, async {
        stage.sleep(SOON).await;
        log.take();
        stage.put(&format!("{PARTS}/x"));
        stage.sleep(SOON).await;
        let cause = format!("Updated {PARTS}/web/x at version 3");
        let expected = ["web/same", "web/of-2", "web/of-3"].map(|key| format!("{key}: {cause}"));
        assert_eq!(log.take(), expected);
    });
    assert_eq!(ended, Ok(()));
}

#[test]
fn a_handle_of_one_controller_is_refused_by_a_second() {
    let (stage, log, handle) = (Stage::new(), Log::default(), ControllerHandle::default());
    let one = noting(stage.controller().keys(&handle), &log);
    let other = Controller::new("other", &stage.informers).reconciles(&stage.parts).keys(&handle);
    let other = noting(other, &Log::default());
    let executor = Executor::new();
    let (one, other) = (executor.spawn(one.future()), executor.spawn(other.future()));
    run(&stage.clock, &executor, async {
        stage.sleep(SOON).await;
        assert!(handle.add("web/a"));
        stage.sleep(SOON).await;
        assert_eq!(log.take(), ["web/a"]);
        handle.stop();
        stage.sleep(SOON).await;
        assert!(one.is_finished(), "it has not heard of the stop");
        assert_eq!(one.await, Ok(()));
        let Err(RunError::Config(why)) = other.await else { panic!("a second controller has the handle") };
        assert!(why.contains("\"other\"") && why.contains("\"test\""), "{why}");
    });
}

#[test]
fn several_controllers_share_informers_and_a_thread() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    let handles = [ControllerHandle::default(), ControllerHandle::default()];
    let controllers: Vec<_> = handles
        .iter()
        .map(|handle| {
            let log = &log;
            stage.controller().keys(handle).calls(async move |_cx, key| {
                log.note(key);
                handle.stop();
                Ok(Outcome::Done)
            })
        })
        .collect();
    assert_eq!(run_all(controllers), Ok(()));
    assert_eq!(log.take(), ["web/a", "web/a"]);
    assert_eq!(stage.informers.status().len(), 2, "of foos and of parts");
}

/// Both are needed by a program that starts controllers wherever it likes.
#[test]
fn a_controller_and_its_handles_go_to_other_threads() {
    fn is_send<T: Send>(_: &T) {}
    let stage = Stage::new();
    let controller = stage.controller().calls(async |_cx, _key| Ok(Outcome::Done));
    is_send(&controller.handle());
    is_send(&controller);
    is_send(&controller.future());
    let _report: fn(&Report<'_>) -> String = |report| report.to_string();
    let _shared = Arc::new(ControllerHandle::default());
}

#[test]
fn keys_that_are_repeated_with_jitter_come_apart_and_each_run_is_the_same() {
    const PERIOD: Duration = Duration::from_secs(100);
    let run = || {
        let (stage, log) = (Stage::new(), Log::default());
        ["a", "b", "c", "d"].into_iter().for_each(|name| stage.put(name));
        let noted = log.clone();
        let controller = stage.controller().calls(async move |cx, key| {
            noted.note(format!("{} {key}", cx.clock().now().as_nanos() / 1_000_000));
            Ok(cx.requeue_about(PERIOD))
        });
        let ended = stage.play(controller, async {
            stage.sleep(SOON).await;
            assert_eq!(log.take().len(), 4);
            stage.sleep(PERIOD * 11 / 10).await;
        });
        assert_eq!(ended, Ok(()));
        log.take()
    };
    let reconciled = run();
    let time = |line: &String| line.split_once(' ').unwrap().0.parse::<u64>().unwrap();
    let times: BTreeSet<u64> = reconciled.iter().map(time).collect();
    assert_eq!((reconciled.len(), times.len()), (4, 4), "{reconciled:?}");
    assert!(times.iter().all(|time| (100_000..110_000 + SOON.as_millis() as u64).contains(time)), "{reconciled:?}");
    assert_eq!(reconciled, run());
}
