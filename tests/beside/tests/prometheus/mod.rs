//! A real Prometheus scrapes a program that works, fails, parks keys, panics and relists, and is asked what it has.
//!
//! It takes a minute, or `PROMETHEUS_SECONDS`.
#![expect(clippy::disallowed_methods, reason = "another process is waited for")]

mod http;
mod program;
mod server;

use listwatch_tests::skipped::skip;
use program::Program;
use serde_json::Value;
use server::{JOBS, Prometheus};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// The series that a program of one controller may have: those of the bounds, states, results, classes and statuses.
const MOST_SERIES: f64 = 300.0;
/// The reasons and statuses that may be new in the second half.
const MOST_REASONS: f64 = 8.0;

#[test]
fn what_a_prometheus_scrapes_is_what_the_program_did() {
    if let Err(error) = Command::new("prometheus").arg("--version").output() {
        skip("what Prometheus scrapes", format_args!("Debian's package `prometheus` is not installed: {error}"));
        return;
    }
    let seconds = std::env::var("PROMETHEUS_SECONDS").map_or(60, |it| it.parse().unwrap());
    assert!(seconds >= 20, "a rate needs some scrapes");
    let program = Program::start(Duration::from_secs(seconds));
    let prometheus = Prometheus::start(program.address);
    let half = Duration::from_secs(seconds / 2);
    std::thread::sleep(half);
    let series = JOBS.map(|job| prometheus.number(&format!("scrape_samples_scraped{{job=\"{job}\"}}")));
    let counted = program.settle();
    // Each of two scrapes, and what the endpoint remembers for a second.
    std::thread::sleep(Duration::from_secs(6));

    every_scrape_succeeded(&prometheus, seconds);
    every_series_has_type_and_help(&prometheus);
    values_are_those_counted(&prometheus, &counted);
    bounds_are_those_of_controller_runtime(&prometheus);
    every_query_of_the_dashboard_has_series(&prometheus);
    series_did_not_grow_with_keys(&prometheus, series, program.keys(), half);
    println!("{seconds} s: {series:?} series, {} keys, {counted:?}", program.keys());
    program.end();
    assert_eq!(prometheus.end(), Vec::<String>::new(), "Prometheus warns of nothing");
}

fn every_scrape_succeeded(prometheus: &Prometheus, seconds: u64) {
    for job in JOBS {
        let over = format!("_over_time(up{{job=\"{job}\"}}[{seconds}s])");
        let scrapes = prometheus.number(&format!("count{over}"));
        let failed = scrapes - prometheus.number(&format!("sum{over}"));
        let slowest =
            prometheus.number(&format!("max_over_time(scrape_duration_seconds{{job=\"{job}\"}}[{seconds}s])"));
        assert_eq!(failed, 0.0, "{job}: of {scrapes} scrapes; the slowest took {slowest} s");
        assert!(scrapes >= seconds as f64 / 2.0 * 0.9, "{job}: {scrapes} scrapes");
    }
    let troubles = prometheus.own_counters("prometheus_target_scrapes_");
    assert!(troubles.keys().any(|name| name.contains("duplicate")), "{troubles:?}");
    for (name, value) in troubles {
        assert_eq!(value, 0.0, "{name}");
    }
}

fn every_series_has_type_and_help(prometheus: &Prometheus) {
    for job in JOBS {
        let metadata = prometheus.metadata(job);
        let names = prometheus.names(job);
        assert!(names.len() > 40, "{names:?}");
        for name in names {
            let ends = ["", "_total", "_bucket", "_sum", "_count"];
            let family = ends.iter().find_map(|end| metadata.get(name.strip_suffix(end)?));
            let (kind, help) = family.unwrap_or_else(|| panic!("{name} is of no family in {job}"));
            assert!(matches!(kind.as_str(), "counter" | "gauge" | "histogram"), "{name}: {kind}");
            assert!(help.len() > 5, "{name}: {help}");
        }
    }
}

fn values_are_those_counted(prometheus: &Prometheus, counted: &BTreeMap<String, f64>) {
    assert!(counted.len() > 8);
    for job in JOBS {
        for (series, value) in counted {
            let query = format!("sum({}job=\"{job}\"}})", series.replace('}', ",").replace("{,", "{"));
            assert_eq!(prometheus.number(&query), *value, "{query}");
        }
    }
}

/// In both formats, a query that names a bucket of theirs finds ours.
fn bounds_are_those_of_controller_runtime(prometheus: &Prometheus) {
    let theirs = include_str!("../../../peers/controller-runtime/families.txt");
    let mut histograms = 0;
    for family in theirs.split("\n\n") {
        let line = |what: &str| family.lines().find_map(|line| line.strip_prefix(what));
        let Some(name) = line("family ").filter(|_| family.contains("type histogram")) else { continue };
        histograms += 1;
        for (job, what) in JOBS.into_iter().zip(["bounds ", "classic "]) {
            let bounds = line(what).unwrap().split(' ').map(str::to_owned).collect();
            assert_eq!(prometheus.bounds(job, name), bounds, "{name} in {job}");
        }
    }
    assert_eq!(histograms, 3);
}

fn every_query_of_the_dashboard_has_series(prometheus: &Prometheus) {
    let dashboard: Value = serde_json::from_str(listwatch::metrics::DASHBOARD).unwrap();
    let mut queries = 0;
    for target in dashboard["panels"].as_array().unwrap().iter().flat_map(|it| it["targets"].as_array().unwrap()) {
        let query = target["expr"].as_str().unwrap();
        let found = prometheus.query(query);
        assert!(!found.is_empty(), "{query}");
        queries += 1;
    }
    assert!(queries > 10);
}

fn series_did_not_grow_with_keys(prometheus: &Prometheus, at_half: [f64; 2], keys: u64, half: Duration) {
    assert!(keys > half.as_secs(), "new keys, all the time");
    for (job, series) in JOBS.into_iter().zip(at_half) {
        assert!(series < MOST_SERIES, "{job}: {series}");
        let now = prometheus.number(&format!("scrape_samples_scraped{{job=\"{job}\"}}"));
        assert!(now - series <= MOST_REASONS, "{job}: {series}, then {now}");
        let window = half.as_secs().saturating_sub(5);
        let added = format!("sum_over_time(scrape_series_added{{job=\"{job}\"}}[{window}s])");
        let added = prometheus.number(&added);
        assert!(added <= MOST_REASONS, "{job}: {added} series of {keys} keys");
    }
}
