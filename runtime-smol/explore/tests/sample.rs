//! The sample controller of the examples.

use crate::sample_controller::sample;
use listwatch::testing::SimulatedCluster;
use listwatch_explore::{Exploration, Fault, Plan};
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";
const DEPLOYMENTS: &str = "apps/v1/deployments";

pub(crate) fn fixture() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } });
    cluster.create(foo).unwrap();
    cluster
}

fn exploration() -> Exploration {
    Exploration::of(sample).cluster(fixture).scenario(async |it| {
        it.settled().await;
        it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 3 } }))?;
        it.settled().await;
        // Another client may have deleted it while the program was away.
        _ = it.patch(DEPLOYMENTS, "web/b", json!({ "spec": { "replicas": 9 } }));
        it.settled().await;
        Ok(())
    })
}

#[test]
fn the_sample_controller_is_clean() {
    let explored = exploration()
        .always("at most one Deployment", |it| match it.list(DEPLOYMENTS) {
            Ok(deployments) if deployments.len() > 1 => Err(format!("there are {}", deployments.len())),
            _ => Ok(()),
        })
        .run(600)
        .unwrap();
    println!("{explored}");
    assert_eq!(explored.runs, 600);
    let met = &explored.met["POST apps/v1/deployments web/b"];
    assert!(
        ["killed before", "killed stored", "lost", "refused 500", "paused"].iter().all(|it| met.contains_key(*it)),
        "{met:?}"
    );
}

#[test]
fn the_same_seed_finds_the_same() {
    let text = || exploration().seed(7).run(200).unwrap().to_string();
    assert_eq!(text(), text());
}

#[test]
fn a_plan_is_replayed() {
    let plan = Plan::parse("POST apps/v1/deployments web/b 1: killed stored, back behind 1").unwrap();
    exploration().replay(&plan).unwrap();
}

#[test]
fn a_plan_whose_place_is_not_reached_is_a_failure() {
    let plan = Plan::parse("POST apps/v1/deployments web/none 1: lost; CALL 1: lost").unwrap();
    let failure = exploration().replay(&plan).expect_err("it is not reached");
    assert!(matches!(failure.fault, Fault::NotReached(_)), "{failure}");
    assert!(Plan::parse("STEP 1: refused 200").is_err());
}

#[test]
fn a_requirement_that_panics_is_a_failure_with_a_plan() {
    let failure = exploration().in_the_end(|_| panic!("no such Foo")).run(10).expect_err("it panics");
    assert_eq!(failure.fault, Fault::Required("it panicked: no such Foo".to_owned()));
    let failure = exploration().always("a Foo", |_| panic!("no such Foo")).run(10).expect_err("it panics");
    assert!(matches!(failure.fault, Fault::Invariant(..)), "{failure}");
}

/// `cargo test -p listwatch-explore --release -- --ignored --nocapture how_fast`
#[test]
#[ignore = "it measures"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn how_fast() {
    let began = Instant::now();
    let explored = exploration().run(3_000).unwrap();
    let took = began.elapsed();
    let minute = Duration::from_secs(60).as_secs_f64() / took.as_secs_f64();
    println!("{explored}{:.0} runs a minute", explored.runs as f64 * minute);
}
