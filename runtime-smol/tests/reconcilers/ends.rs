//! What is left when a controller ends, or is dropped.

use crate::reconcilers::support::{FOOS, Log, SOON, Stage};
use core::time::Duration;
use listwatch::api::Api;
use listwatch::controller::{Controller, Outcome, RunError, run_all};
use listwatch::decode::MetadataOnly;
use listwatch::time::Instant;
use listwatch::{Clock, Executor, Informers, Key, Resource, run};
use listwatch_tests::sim::Troubles;
use listwatch_tests::wait::wait_until;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Held by a reconcile while it runs.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_drain_ends_at_its_deadline_with_a_request_that_hangs_and_a_reconcile_that_never_resolves() {
    let silent = Troubles { silence: 100, ..Troubles::NONE };
    let stage = Stage::with(Clock::simulated(), silent);
    ["hangs", "rests"].into_iter().for_each(|name| stage.put(name));
    let (running, grace) = (Arc::default(), Duration::from_secs(7));
    let count = Arc::clone(&running);
    let controller = stage.controller().workers(2).drain(grace).on_report(|_, _| {});
    let controller = controller.calls(async move |cx, key: Key| {
        let _running = Running::begin(&count);
        match key.name() {
            "hangs" => {
                let get = Api::<Value>::new(&Resource::new(FOOS)).get("a");
                let _never = cx.call(get.with_timeout(Duration::MAX)).await;
            }
            _ => smol::future::pending().await,
        }
        Ok(Outcome::Done)
    });
    let mut stopped = None;
    let ended = stage.play(controller, async {
        stage.until(|| running.load(Ordering::SeqCst) == 2).await;
        stopped = Some(stage.clock.now());
    });
    let Err(RunError::NotDrained { dropped: left, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(left.len(), 2);
    assert_eq!(running.load(Ordering::SeqCst), 0, "both were dropped");
    assert_eq!(stage.clock.now(), stopped.unwrap() + grace);
}

#[test]
fn a_reconcile_that_ends_in_time_is_waited_for_and_no_other_begins() {
    let (stage, log) = (Stage::new(), Log::default());
    ["a", "b"].into_iter().for_each(|name| stage.put(name));
    let (noted, clock, reports) = (log.clone(), stage.clock.clone(), Log::default());
    let said = reports.clone();
    let controller = stage.controller().on_report(move |_, report| said.note(report)).calls(async move |_cx, key| {
        clock.sleep(SOON).await;
        noted.note(key);
        Ok(Outcome::Done)
    });
    assert_eq!(stage.play(controller, stage.sleep(Duration::from_secs(1))), Ok(()));
    let expected = ["started; its sources have synced", "ended; 1 key is not done: web/b (changed)"];
    assert_eq!((log.take(), reports.take()), (vec!["web/a".to_owned()], expected.map(String::from).to_vec()));
}

#[test]
fn a_key_that_is_only_requeued_is_done_when_the_controller_ends() {
    let (stage, reports) = (Stage::new(), Log::default());
    stage.put("a");
    let said = reports.clone();
    let controller = stage.controller().on_report(move |_, report| said.note(report));
    let controller = controller.calls(async |_cx, _key| Ok(Outcome::RequeueAfter(Duration::from_secs(3600))));
    assert_eq!(stage.play(controller, stage.sleep(SOON)), Ok(()));
    assert_eq!(reports.take()[1..], ["ended; every key is done; 1 key was requeued for later"]);
}

#[test]
fn dropping_the_future_of_a_running_controller_leaves_nothing_behind() {
    for clock in [Clock::simulated(), Clock::real()] {
        let stage = Stage::with(clock.clone(), Troubles::NONE);
        ["a", "b", "c"].into_iter().for_each(|name| stage.put(name));
        let (running, held) = (Arc::<AtomicUsize>::default(), Arc::new(()));
        let (count, captured) = (Arc::clone(&running), Arc::clone(&held));
        let controller = stage.controller().workers(3).threads(2).calls(async move |_cx, _key| {
            let _held = (Running::begin(&count), Arc::clone(&captured));
            smol::future::pending().await
        });
        let (handle, executor) = (controller.handle(), Executor::new());
        let controller = executor.spawn(controller.future());
        run(&clock, &executor, async {
            stage.until(|| running.load(Ordering::SeqCst) == 3).await;
        });
        drop(controller);
        drop(executor);
        // Threads of the system end a little later.
        wait_until(|| (running.load(Ordering::SeqCst), Arc::strong_count(&held)) == (0, 1));
        assert_eq!(handle.lifecycle(), None);
    }
}

#[test]
fn a_controller_that_is_dropped_before_it_runs_leaves_nothing_behind() {
    let stage = Stage::new();
    let held = Arc::new(());
    let captured = Arc::clone(&held);
    let controller = stage.controller().calls(async move |_cx, _key| {
        let _held = Arc::clone(&captured);
        Ok(Outcome::Done)
    });
    let future = controller.future();
    assert_eq!(Arc::strong_count(&held), 2);
    drop(future);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[test]
fn a_world_that_ends_stops_all_its_controllers_after_a_drain() {
    let (stage, log) = (Stage::new(), Log::default());
    stage.put("a");
    let informers = Informers::new(stage.informers.world().clone().until(stage.clock.sleep(SOON)));
    let foos = informers.informer_of::<MetadataOnly>(Resource::new(FOOS));
    let (clock, noted) = (&stage.clock, &log);
    let controller = |name| {
        Controller::new(name, &informers).reconciles(&foos).calls(async move |_cx, _key| {
            // Longer than the world goes on.
            clock.sleep(SOON * 2).await;
            noted.note(name);
            Ok(Outcome::Done)
        })
    };
    run_all([controller("one"), controller("other")]).unwrap();
    let mut ended = log.take();
    ended.sort();
    assert_eq!(ended, ["one", "other"]);
    assert!(stage.clock.now() < Instant::ZERO + SOON * 3, "{:?}", stage.clock.now());
}
