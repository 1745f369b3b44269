//! A simulated cluster answers single requests as a kube-apiserver did.

use listwatch_simulated_cluster::SimulatedCluster;
use listwatch_tests::answers::{LISTS, Run, definitions, steps};
use serde_json::Value;

fn cluster(group: &str) -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    definitions(group).into_iter().for_each(|it| _ = cluster.create(it).unwrap());
    cluster
}

#[test]
fn a_simulated_cluster_answers_as_a_server_did() {
    for (name, list) in LISTS {
        let (cluster, mut run) = (cluster("wheels.example"), Run::new("simulated", "wheels.example"));
        let steps = steps(list);
        assert!(steps.len() > 50, "{name} {}", steps.len());
        for step in steps {
            let answered = run.send(&step, &cluster).unwrap();
            let lines =
                |status: u16, answer: &Value| format!("{status} {answer:#}").lines().map(str::to_owned).collect();
            let (found, expected): (Vec<String>, Vec<String>) =
                (lines(answered.status, &answered.answer), lines(step.status, &step.answer));
            let place = found.iter().zip(&expected).take_while(|(found, expected)| found == expected).count();
            let rest = |lines: &[String]| lines[place..].iter().take(12).cloned().collect::<Vec<_>>();
            assert_eq!(rest(&found), rest(&expected), "{} {}, line {place}", step.request, step.body);
        }
    }
}
