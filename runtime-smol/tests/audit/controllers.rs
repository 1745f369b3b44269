//! The audits of a controller.

use crate::audit::stage::{MAPS, Stage};
use core::time::Duration;
use listwatch::controller::{Controller, Outcome, Report};
use listwatch::decode::MetadataOnly;
use listwatch::testing::Fault;
use serde_json::Value;
use std::sync::{Arc, Mutex};

const HOUR: Duration = Duration::from_secs(3600);

/// Runs a controller with audits while `scenario` goes on, and returns its lines about them.
fn reports<F: Future<Output = ()> + Send + 'static>(stage: &Stage, scenario: impl FnOnce(Stage) -> F) -> Vec<String> {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let told = Arc::clone(&lines);
    let world = stage.world.clone().until(scenario(stage.clone()));
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let _pods = controller.informer_of::<MetadataOnly>("v1/pods");
    let reconciler = controller.reconciles(&maps).audit_every(HOUR).on_report(move |name, report| {
        if let Report::Audited { audit } = report {
            told.lock().unwrap().push(format!("{name}: {report}"));
            assert!(audit.is_clean(), "a function that panics does not end the audits");
        }
    });
    reconciler.run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    let lines = lines.lock().unwrap();
    lines.clone()
}

#[test]
fn a_controller_reports_a_cache_that_differs_and_one_that_is_clean_again() {
    let stage = Stage::with(&["web/a"]);
    let lines = reports(&stage, |stage| async move {
        stage.pass(3 * 3600).await;
        stage.lose(&["a"]);
        stage.change("web/a");
        stage.pass(3600).await;
        stage.lose(&[]);
        stage.cluster.disconnect();
        // So that the watch is refused, and the cache lists.
        stage.create("web/b");
        stage.cluster.compact();
        stage.pass(3 * 3600).await;
    });
    let [drifted @ .., clean] = &lines[..] else { panic!("{lines:#?}") };
    let is_drift = "maps: configmaps: drift at version 3: 1 stale of 1 object: web/a stale";
    assert!(!drifted.is_empty() && drifted.iter().all(|line| line.starts_with(is_drift)), "{lines:#?}");
    assert!(clean.starts_with("maps: configmaps: no drift at version "), "{clean}");
    assert_eq!(
        [stage.lists_of("/api/v1/configmaps"), stage.lists_of("/api/v1/pods")],
        [7, 7],
        "what it reads is audited too"
    );
}

#[test]
fn a_cache_that_two_sources_share_is_listed_once_in_each_period() {
    let stage = Stage::with(&["web/a"]);
    let (world, end) = (stage.world.clone(), stage.clone());
    let controller = Controller::new("maps", world.until(async move { end.pass(5 * 3600).await }));
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    let pods = controller.informer_of::<MetadataOnly>("v1/pods");
    let reconciler = controller.reconciles(&maps).maps(&pods, |_, _| {}).maps(&pods, |_, _| {});
    reconciler.audit_every(HOUR).run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    assert_eq!([stage.lists_of("/api/v1/configmaps"), stage.lists_of("/api/v1/pods")], [5, 5]);
}

#[test]
fn only_a_cache_that_drifted_is_told_as_clean_again() {
    let stage = Stage::losing_in(|stream| stream == 0, &["web/a"]);
    let (world, lossy) = (stage.world.clone(), stage.clone());
    let scenario = async move {
        lossy.pass(1).await;
        lossy.lose(&["a"]);
        lossy.change("web/a");
        lossy.pass(5 * 3600).await;
    };
    let (lines, controller) = (Arc::<Mutex<Vec<String>>>::default(), Controller::new("maps", world.until(scenario)));
    let told = Arc::clone(&lines);
    let drifted = controller.informer_of::<MetadataOnly>(MAPS);
    let clean = controller.informer_of::<Value>(MAPS);
    let reconciler = controller.reconciles(&drifted).audit_every(HOUR).on_report(move |_, report| {
        if let Report::Audited { .. } = report {
            told.lock().unwrap().push(report.to_string());
        }
    });
    reconciler.run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    assert_eq!((clean.len(), stage.lists_of("/api/v1/configmaps")), (1, 10));
    let lines = lines.lock().unwrap();
    let [drifted, mended] = &lines[..] else { panic!("{lines:#?}") };
    assert!(drifted.starts_with("configmaps: drift at version 3: 1 stale"), "{lines:#?}");
    assert!(mended.starts_with("configmaps: no drift at version 3"), "a list followed: {lines:#?}");
}

#[test]
fn a_controller_reports_an_audit_that_fails_and_goes_on() {
    let stage = Stage::with(&["web/a"]);
    stage.cluster.fail_next("GET /api/v1/configmaps", Fault::Refused(403)).unwrap();
    let lines = reports(&stage, |stage| async move { stage.pass(5 * 3600).await });
    let [denied, clean] = &lines[..] else { panic!("{lines:#?}") };
    assert!(denied.contains("not compared") && denied.contains("kubectl auth can-i list configmaps -A"), "{denied}");
    assert!(clean.contains("no drift"), "{clean}");
}

#[test]
fn a_controller_without_a_schedule_lists_nothing() {
    let stage = Stage::with(&["web/a"]);
    let controller = Controller::new("maps", stage.world.clone().lasting(HOUR * 24));
    let maps = controller.informer_of::<MetadataOnly>(MAPS);
    controller.reconciles(&maps).run(async |_cx, _key| Ok(Outcome::Done)).unwrap();
    assert_eq!(stage.listed(), [""; 0]);
}
