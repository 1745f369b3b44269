//! The sample controller of the examples.

use crate::sample_controller::sample;
use listwatch::World;
use listwatch::testing::SimulatedCluster;
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::json;
use std::time::Duration;

const FOOS: &str = "samplecontroller.k8s.io/v1alpha1/foos";

#[test]
fn the_status_of_a_foo_follows_its_pods() {
    let cluster = SimulatedCluster::new();
    let foo = json!({ "apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
        "metadata": { "name": "a", "namespace": "web" }, "spec": { "deploymentName": "b", "replicas": 2 } });
    cluster.create(foo).unwrap();
    let world = StandIns::of(&cluster).deployments().kubelet(|_| PodFate::Ready).beside(World::from(cluster.clone()));
    let (clock, it) = (world.clock().clone(), cluster.clone());
    let scenario = async move {
        for replicas in [2, 3, 1] {
            it.patch(FOOS, "web/a", json!({ "spec": { "replicas": replicas } }))?;
            clock.sleep(Duration::from_secs(10)).await;
            assert_eq!(it.get(FOOS, "web/a")?["status"]["availableReplicas"], replicas);
        }
        it.delete(FOOS, "web/a")?;
        clock.sleep(Duration::from_secs(10)).await;
        Ok(())
    };
    sample(world.try_until(scenario)).unwrap();
    assert!(cluster.list("v1/pods").unwrap().is_empty(), "the garbage collector deletes them");
}
