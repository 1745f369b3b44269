//! Controllers on a simulated cluster.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use listwatch_runtime_smol::World;
use listwatch_runtime_smol::file::{Fault, SimulatedCluster};
use sample_controller::sample;
use serde_json::{Value, json};
use std::time::Duration;

#[path = "../examples/sample-controller.rs"]
#[expect(dead_code, reason = "the program's own start")]
mod sample_controller;

const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";
const DEPLOYMENTS: &str = "apps/v1/deployments";

/// A cluster with a Foo.
fn with_foo() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } });
    cluster.create(foo).unwrap();
    cluster
}

#[test]
fn a_foo_gets_a_deployment() {
    let cluster = with_foo();
    sample(World::from(cluster.clone()).lasting(Duration::from_secs(60))).unwrap();
    assert_eq!(cluster.requests(), ["POST /apis/apps/v1/namespaces/web/deployments 201"]);
    assert_eq!(cluster.get(DEPLOYMENTS, "web/b").unwrap()["spec"]["replicas"], 2);
}

#[test]
fn a_scenario_changes_the_cluster_while_the_controller_runs() {
    let run = || {
        let cluster = with_foo();
        let world = World::from(cluster.clone());
        let (clock, it) = (world.clock().clone(), cluster.clone());
        let replicas =
            |cluster: &SimulatedCluster| cluster.get(DEPLOYMENTS, "web/b").unwrap()["spec"]["replicas"].clone();
        let scenario = async move {
            clock.sleep(Duration::from_secs(1)).await;
            it.patch(FOOS, "web/a", json!({ "spec": { "replicas": 3 } })).unwrap();
            it.fail_next("PATCH /apis/apps/v1/namespaces/web/deployments/b", Fault::Refused(409));
            clock.sleep(Duration::from_secs(1)).await;
            assert_eq!(replicas(&it), 3);
            it.patch(DEPLOYMENTS, "web/b", json!({ "spec": { "replicas": 9 }, "status": { "availableReplicas": 3 } }))
                .unwrap();
            clock.sleep(Duration::from_secs(1)).await;
            assert_eq!(replicas(&it), 3);
            assert_eq!(it.get(FOOS, "web/a").unwrap()["status"]["availableReplicas"], 3);
            it.delete(FOOS, "web/a").unwrap();
            clock.sleep(Duration::from_secs(1)).await;
        };
        sample(world.until(scenario)).unwrap();
        assert_eq!(cluster.faults_left(), [""; 0]);
        assert_eq!(cluster.list(DEPLOYMENTS).unwrap(), Vec::<Value>::new());
        cluster.requests().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let requests = run();
    assert_eq!(
        requests,
        [
            "POST /apis/apps/v1/namespaces/web/deployments 201",
            "PATCH /apis/apps/v1/namespaces/web/deployments/b 409",
            "GET /apis/apps/v1/namespaces/web/deployments/b 200",
            "PATCH /apis/apps/v1/namespaces/web/deployments/b 200",
            "PATCH /apis/apps/v1/namespaces/web/deployments/b 200",
            "PATCH /apis/samplecontroller.k8s.io/v1alpha1/namespaces/web/foos/a/status 200",
        ]
    );
    assert_eq!(run(), requests);
}
