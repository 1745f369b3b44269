//! A simulated cluster for the sample controller.

use listwatch::testing::SimulatedCluster;
use serde_json::json;

pub(crate) const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";

/// A cluster with the Foo `web/a`, which asks for the Deployment `b`.
pub(crate) fn with_foo() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } });
    cluster.create(foo).unwrap();
    cluster
}
