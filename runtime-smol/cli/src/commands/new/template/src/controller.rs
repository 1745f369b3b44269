//! Keeps a Deployment for each object, and a ConfigMap if it has settings. Its status tells how many pods are ready.

use crate::definition::Widget;
use listwatch::controller::Context;
use listwatch::election::Election;
use listwatch::metrics::Metrics;
use listwatch::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The controller, its lease, and the label of what it makes. `deploy/operator.yaml` names them, too.
pub const NAME: &str = "widget-operator";

/// What is kept of a Deployment. A write leaves the rest of it as it is.
#[derive(Clone, Deserialize, Serialize)]
struct Deployment {
    #[serde(default)]
    status: DeploymentStatus,
}

#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeploymentStatus {
    observed_generation: Option<i64>,
    updated_replicas: Option<i32>,
    ready_replicas: Option<i32>,
}

#[derive(Clone, Deserialize, Serialize)]
struct ConfigMap {
    data: Option<BTreeMap<String, String>>,
}

kind!(Deployment, "apps/v1", "deployments");
kind!(ConfigMap, "v1", "configmaps");

/// Runs until the world ends; a cluster ends at SIGTERM or Ctrl-C. Of several replicas, one works at a time.
pub fn run(world: impl Into<World>, metrics: &Metrics) -> Result<(), RunError> {
    let controller = Controller::new(NAME, world);
    let owners = controller.informer::<Widget>();
    // The caches have what operators of this name have made, and nothing else of the cluster.
    let ours = format!("app.kubernetes.io/managed-by={NAME}");
    let maps = controller.informer_where::<ConfigMap>(|all| all.with_label_selector(&ours));
    let deployments = controller.informer_where::<Deployment>(|all| all.with_label_selector(&ours));
    let reconciler = controller
        .reconciles(&owners)
        .owns(&maps)
        .owns(&deployments);
    let running = reconciler
        .lead_by(Election::new(NAME))
        .calls(async |cx, key| {
            let Some(owner) = owners.get(&key).filter(|owner| !owner.is_terminating()) else {
                return Ok(Outcome::Done);
            };
            let made = make(&cx, &owner, &maps, &deployments).await;
            let (is_ready, reason, message) = match &made {
                Ok(deployment) => progress(deployment, owner.spec.replicas),
                Err(error @ ActError::NotControlled { .. }) => {
                    (false, "NameTaken", error.to_string())
                }
                Err(_) => return made.map(|_| Outcome::Done).map_err(Into::into),
            };
            let ready = cx
                .condition(&owner, "Ready", is_ready, reason)
                .with_message(message);
            let ready_replicas = made
                .as_ref()
                .ok()
                .map(|made| made.status.ready_replicas.unwrap_or(0));
            cx.change_status(&owner, |it| {
                it.status.ready_replicas = ready_replicas;
                it.status.conditions.set(ready.clone());
            })
            .await?;
            made?;
            Ok(Outcome::Done)
        });
    metrics.add(&running);
    running.run()
}

/// Writes what differs from what the object wants, and deletes what it wants no more.
async fn make(
    cx: &Context,
    owner: &Found<Widget>,
    maps: &InformerHandle<ConfigMap>,
    deployments: &InformerHandle<Deployment>,
) -> Result<Found<Deployment>, ActError> {
    let (key, settings) = (owner.key(), &owner.spec.settings);
    let wanted = (!settings.is_empty()).then_some(key);
    if let Some(key) = wanted {
        let map =
            json!({ "metadata": { "labels": labels(owner.meta().name()) }, "data": settings });
        cx.ensure(maps, key, &map)
            .exactly("/data")
            .owned_by(owner)
            .await?;
    }
    let made = cx
        .ensure(deployments, key, &deployment(owner))
        .owned_by(owner)
        .await?;
    cx.prune(maps, owner, wanted).await?;
    Ok(made)
}

/// Whether all pods are ready and of the newest state, with a reason for programs and one for people.
fn progress(made: &Found<Deployment>, wanted: i32) -> (bool, &'static str, String) {
    let status = &made.status;
    let is_seen = status.observed_generation >= Some(made.meta().generation());
    let updated = status.updated_replicas.unwrap_or(0);
    let ready = status.ready_replicas.unwrap_or(0);
    let is_ready = is_seen && updated >= wanted && ready >= wanted;
    let reason = if is_ready { "Available" } else { "Progressing" };
    (
        is_ready,
        reason,
        format!("{ready} of {wanted} pods are ready"),
    )
}

fn deployment(of: &Found<Widget>) -> Value {
    let name = of.meta().name();
    let labels = labels(name);
    json!({
        "metadata": { "labels": labels },
        "spec": {
            "replicas": of.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": {
                    "automountServiceAccountToken": false,
                    "containers": [{
                        "name": "main",
                        "image": of.spec.image,
                        "volumeMounts": [{ "name": "settings", "mountPath": "/etc/settings" }],
                    }],
                    "volumes": [{
                        "name": "settings",
                        "configMap": { "name": name, "optional": true },
                    }],
                },
            },
        },
    })
}

fn labels(instance: &str) -> Value {
    json!({ "app.kubernetes.io/managed-by": NAME, "app.kubernetes.io/instance": instance })
}
