//! A simulated cluster answers single requests as a kube-apiserver did.

use listwatch_tests::answers::{Run, definition, recorded};
use listwatch_transport_file::SimulatedCluster;
use serde_json::{Value, json};

fn cluster(group: &str) -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    let mut wheels = definition(group);
    (wheels["apiVersion"], wheels["kind"]) = (json!("apiextensions.k8s.io/v1"), json!("CustomResourceDefinition"));
    cluster.create(wheels).unwrap();
    cluster
}

#[test]
fn a_simulated_cluster_answers_as_a_server_did() {
    let (cluster, mut run) = (cluster("wheels.example"), Run::new("simulated", "wheels.example"));
    let steps = recorded();
    assert!(steps.len() > 100, "{}", steps.len());
    for step in steps {
        let answered = run.send(&step, &cluster).unwrap();
        let written = |status: u16, answer: &Value| format!("{status} {answer:#}");
        let expected = written(step.status, &step.answer);
        assert_eq!(written(answered.status, &answered.answer), expected, "{} {}", step.request, step.body);
    }
}
