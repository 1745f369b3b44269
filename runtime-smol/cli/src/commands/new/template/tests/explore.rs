//! The operator in a simulated cluster: killed, with answers that get lost, late caches and two replicas.
//!
//! A few runs are for each day. Before a release, take 1,000, by `cargo test --release`.

use listwatch::Kind;
use listwatch::metrics::Metrics;
use listwatch::testing::SimulatedCluster;
use listwatch_explore::{Exploration, It};
use listwatch_stand_ins::{PodFate, StandIns};
use serde_json::{Value, json};
use std::error::Error;

use widget_operator::definition::Widget as Owner;
use widget_operator::{controller, definition};

const DEPLOYMENTS: &str = "apps/v1/deployments";
const MAPS: &str = "v1/configmaps";

/// Where the objects of the kind are.
fn owners() -> String {
    format!("{}/{}", Owner::API_VERSION, Owner::PLURAL)
}

/// A cluster with the definition, and with an object that wants two pods.
fn fixture() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    let object = json!({
        "apiVersion": Owner::API_VERSION,
        "kind": Owner::KIND,
        "metadata": { "namespace": "shop", "name": "web" },
        "spec": { "image": "nginx", "replicas": 2, "settings": { "color": "blue" } },
    });
    let crd = serde_json::to_value(definition::crd()).expect("it is JSON");
    for object in [crd, object] {
        cluster.create(object).expect("the cluster is empty");
    }
    cluster
}

fn exploration() -> Exploration {
    Exploration::of(|world| controller::run(world, &Metrics::new()))
        .cluster(fixture)
        .stand_ins(|cluster| {
            StandIns::of(cluster)
                .deployments()
                .kubelet(|_pod| PodFate::Ready)
        })
}

#[test]
fn pods_follow_the_object_whatever_happens_meanwhile() -> Result<(), Box<dyn Error>> {
    let explored = exploration()
        .scenario(async |it| {
            it.settled().await;
            it.patch(&owners(), "shop/web", json!({ "spec": { "replicas": 3 } }))?;
            it.settled().await;
            // Somebody else changes what is not theirs. It may not be there yet.
            _ = it.patch(
                DEPLOYMENTS,
                "shop/web",
                json!({ "spec": { "replicas": 9 } }),
            );
            it.settled().await;
            it.patch(
                &owners(),
                "shop/web",
                json!({ "spec": { "settings": null } }),
            )?;
            it.settled().await;
            Ok(())
        })
        .in_the_end(ready)
        .run(30)?;
    println!("{explored}");
    Ok(())
}

/// Three pods are ready, and the ConfigMap has gone with its settings.
fn ready(it: &It) -> Result<(), String> {
    let text = |error: &dyn Error| error.to_string();
    let status = it
        .get(&owners(), "shop/web")
        .map_err(|error| text(&error))?["status"]
        .take();
    let maps = it.list(MAPS).map_err(|error| text(&error))?;
    let condition = &status["conditions"][0];
    let is_so = status["readyReplicas"] == 3 && condition["status"] == "True" && maps.is_empty();
    if is_so {
        Ok(())
    } else {
        Err(format!("{status}, ConfigMaps: {}", Value::from(maps)))
    }
}

#[test]
fn what_was_made_goes_with_the_object() -> Result<(), Box<dyn Error>> {
    let explored = exploration()
        .scenario(async |it| {
            it.settled().await;
            it.delete(&owners(), "shop/web")?;
            it.settled().await;
            Ok(())
        })
        .in_the_end(|it| match (it.list(DEPLOYMENTS), it.list(MAPS)) {
            (Ok(deployments), Ok(maps)) if deployments.is_empty() && maps.is_empty() => Ok(()),
            left => Err(format!("{left:?}")),
        })
        .run(20)?;
    println!("{explored}");
    Ok(())
}
