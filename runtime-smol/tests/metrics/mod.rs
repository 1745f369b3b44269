//! Metrics of a controller that a recording drives, as a scrape has them.

mod drops;
mod families;
mod stage;
mod troubles;

use core::time::Duration;
use listwatch::api::{ApiFn, ApiRequest, ApiResponse};
use listwatch::controller::{Controller, Outcome};
use listwatch::decode::MetadataOnly;
use listwatch::file::Playback;
use listwatch::metrics::{DASHBOARD, Metrics};
use listwatch::{Client, Clock, Informers, World};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a run showed: two scrapes within it, one after it, and the reconciles that the test counted.
struct Ran {
    scrapes: [String; 2],
    after: String,
    counted: [u64; 2],
}

fn run(name: &str) -> Ran {
    let recording =
        Playback::from_file("../tests/data/captures/pods-rollout.jsonl.gz").expect("the recording is there");
    let (clock, metrics, scrapes) = (Clock::simulated(), Metrics::new(), Arc::<Mutex<Vec<String>>>::default());
    let client = Client::new(ApiFn::new(|_: &ApiRequest| Ok(ApiResponse::new(200, *b"{}"))), clock.clone());
    let world = World::from_parts(clock.clone(), client, move |_| Box::new(recording.transport()));
    let (scraped, sleeps, measured) = (Arc::clone(&scrapes), clock, metrics.clone());
    let informers = Informers::new(world.until(async move {
        sleeps.sleep(Duration::from_secs(1)).await;
        scraped.lock().expect("not poisoned").extend([measured.encode(), measured.encode()]);
    }));
    let controller = Controller::new(name, &informers);
    let pods = controller.informer_of::<MetadataOnly>("v1/pods");
    let counted = Arc::<[AtomicU64; 2]>::default();
    let counts = Arc::clone(&counted);
    let reconciler = controller.reconciles(&pods).workers(3).on_report(|_, _| {});
    let running = reconciler.calls(async move |_cx, key| {
        let fails = key.name().ends_with('5') || key.name().ends_with('b');
        counts[usize::from(fails)].fetch_add(1, Ordering::Relaxed);
        if fails { Err(std::io::Error::other("it fails").into()) } else { Ok(Outcome::Done) }
    });
    let handle = running.handle();
    for _ in 0..2 {
        metrics.add_controller(&handle);
        metrics.add_informers(&informers);
    }
    running.run().expect("the controller runs");
    let scrapes = scrapes.lock().expect("not poisoned").clone().try_into().expect("two scrapes");
    Ran { scrapes, after: metrics.encode(), counted: [0, 1].map(|at| counted[at].load(Ordering::Relaxed)) }
}

/// The series of this name and these labels.
fn value(scrape: &str, series: &str) -> f64 {
    let found: Vec<_> = scrape.lines().filter_map(|line| line.strip_prefix(series)?.trim().parse().ok()).collect();
    let [value] = *found else { panic!("{series}: {found:?} in {scrape}") };
    value
}

#[test]
fn values_are_those_that_the_test_counted() {
    let ran = run("pods");
    let [scrape, again] = &ran.scrapes;
    let [done, failed] = ran.counted;
    assert!(done > 0 && failed > 0);
    let result = |result| {
        value(scrape, &format!("controller_runtime_reconcile_total{{controller=\"pods\",result=\"{result}\"}}")) as u64
    };
    assert_eq!([result("success"), result("error")], [done, failed]);
    assert_eq!(value(scrape, "controller_runtime_reconcile_errors_total{controller=\"pods\"}") as u64, failed);
    assert_eq!(
        value(scrape, "controller_runtime_reconcile_time_seconds_count{controller=\"pods\"}") as u64,
        done + failed
    );
    assert_eq!(
        value(scrape, "workqueue_work_duration_seconds_count{name=\"pods\",controller=\"pods\"}") as u64,
        done + failed
    );
    assert_eq!(value(scrape, "controller_runtime_max_concurrent_reconciles{controller=\"pods\"}"), 3.0);
    assert_eq!(value(scrape, "controller_runtime_active_workers{controller=\"pods\"}"), 0.0);
    assert_eq!(scrape, again, "a scrape changes nothing");
}

#[test]
fn every_series_is_once_there_and_of_a_family_with_help_and_type() {
    let ran = run("pods");
    let (mut families, mut series) = (BTreeSet::new(), BTreeSet::new());
    for line in ran.scrapes[0].lines().filter(|line| *line != "# EOF") {
        if let Some(help) = line.strip_prefix("# HELP ") {
            assert!(help.split_once(' ').is_some_and(|(_, help)| help.len() > 5), "{line}");
        } else if let Some(family) = line.strip_prefix("# TYPE ") {
            assert!(families.insert(family.split(' ').next().unwrap()), "{line}");
        } else {
            let (name, _) = line.rsplit_once(' ').unwrap();
            assert!(series.insert(name), "twice: {line}");
            let name = name.split('{').next().unwrap();
            let ends = ["", "_total", "_bucket", "_sum", "_count"];
            assert!(ends.iter().any(|end| name.strip_suffix(end).is_some_and(|it| families.contains(it))), "{line}");
        }
    }
    assert!(!ran.scrapes[0].contains("kube-system/"), "no key is a label");
}

#[test]
fn series_end_with_their_controller() {
    let ran = run("pods");
    assert!(ran.scrapes[0].contains("controller=\"pods\""));
    assert!(!ran.after.contains("controller=\"pods\""), "{}", ran.after);
}

#[test]
fn a_hostile_name_is_escaped() {
    let ran = run("a\"} 1\nb\\");
    assert_eq!(value(&ran.scrapes[0], r#"controller_runtime_active_workers{controller="a\"} 1\nb\\"}"#), 0.0);
}

#[test]
fn each_name_in_the_dashboard_is_in_a_scrape() {
    let ran = run("pods");
    let dashboard: serde_json::Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 10);
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap().iter();
        let query: String = targets.map(|target| target["expr"].as_str().unwrap()).collect();
        let is_ours = |word: &&str| {
            ["workqueue_", "controller_runtime_", "listwatch_", "rest_client_"].iter().any(|it| word.starts_with(it))
        };
        let names: Vec<_> = query.split(|c: char| !c.is_alphanumeric() && c != '_').filter(is_ours).collect();
        assert!(!names.is_empty(), "{query}");
        for name in names {
            // A family whose labels have no values yet has no series.
            let family = ["_total", "_bucket"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(ran.scrapes[0].contains(&format!("# TYPE {family} ")), "{name} in {query}");
        }
    }
}
