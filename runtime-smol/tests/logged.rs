//! What a program hears that has the crate `log`, and no subscriber of `tracing`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use core::time::Duration;
use listwatch::World;
use listwatch::controller::{Controller, Error, Outcome};
use listwatch::decode::Raw;
use listwatch::testing::{Fault, SimulatedCluster};
use listwatch::traced::{CONTROLLER, REFLECTOR};
use serde_json::json;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The records: level, target and text.
struct Records(Mutex<Vec<(log::Level, String, String)>>);

static RECORDS: Records = Records(Mutex::new(Vec::new()));

impl log::Log for Records {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let told = (record.level(), record.target().to_owned(), record.args().to_string());
        self.0.lock().unwrap().push(told);
    }

    fn flush(&self) {}
}

/// The texts of a target and a level that have all of these words.
fn told(level: log::Level, target: &str, words: &[&str]) -> usize {
    let records = RECORDS.0.lock().unwrap();
    let has_all = |text: &str| words.iter().all(|word| text.contains(word));
    records.iter().filter(|(at, of, text)| *at == level && of == target && has_all(text)).count()
}

// One test: a process has one logger.
#[test]
fn a_program_with_the_crate_log_alone_hears_of_reconciles_and_informers() {
    log::set_logger(&RECORDS).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    let cluster = SimulatedCluster::new();
    cluster
        .create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "web" } }))
        .unwrap();
    cluster.fail_next("WATCH /api/v1/configmaps", Fault::Refused(503)).unwrap();
    let controller = Controller::new("maps", World::from(cluster).lasting(Duration::from_secs(60)));
    let maps = controller.informer_of::<Raw>("v1/configmaps");
    let (has_failed, id) = (AtomicBool::new(false), Mutex::new(String::new()));
    let reconciler = controller.reconciles(&maps).on_report(|_, _| {});
    reconciler
        .run(async |cx, _key| {
            if has_failed.swap(true, Ordering::Relaxed) {
                return Ok(Outcome::Done);
            }
            *id.lock().unwrap() = cx.id().to_string();
            Err(Error::new("no quota"))
        })
        .unwrap();

    let id = id.into_inner().unwrap();
    assert_eq!(told(log::Level::Info, CONTROLLER, &["reconcile", "controller=maps", "key=web/a", &id]), 1, "its span");
    assert_eq!(told(log::Level::Warn, CONTROLLER, &["no quota", "result=", "failed"]), 1);
    assert!(told(log::Level::Debug, CONTROLLER, &["result=", "done"]) > 0);
    assert_eq!(told(log::Level::Warn, REFLECTOR, &["/api/v1/configmaps", "failing", "503"]), 1);
    assert_eq!(told(log::Level::Info, REFLECTOR, &["/api/v1/configmaps", "synced"]), 1);
}
