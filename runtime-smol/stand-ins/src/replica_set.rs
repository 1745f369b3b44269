//! The stand-in that keeps the pods of ReplicaSets.

use crate::object::{condition, count, left, owned, set_count, time};
use crate::pods::{create, is_active, is_in, is_ready};
use crate::stand_ins::tell;
use core::time::Duration;
use listwatch::controller::{Context, Controller, Outcome, Reconciled, Running};
use listwatch::{Found, InformerHandle, Informers};
use serde_json::{Value, json};

pub(crate) fn controller(informers: &Informers) -> Running<'static> {
    let controller = Controller::new("replicaset-controller", informers);
    let sets = controller.informer_of::<Value>("apps/v1/replicasets").with_kind("ReplicaSet");
    let pods = controller.informer_of::<Value>("v1/pods").with_kind("Pod");
    controller.reconciles(&sets).owns(&pods).on_report(tell).calls(async move |cx, key| match sets.get(&key) {
        Some(set) if !set.is_terminating() => reconcile(&cx, &set, &pods).await,
        _ => Ok(Outcome::Done),
    })
}

async fn reconcile(cx: &Context, set: &Found<Value>, pods: &InformerHandle<Value>) -> Reconciled {
    let mut active: Vec<_> = owned(pods, set).into_iter().filter(is_active).collect();
    let replicas = count(&set["spec"]["replicas"], 1);
    for _ in active.len()..replicas {
        create(cx, pods, set, &json!({})).await?;
    }
    // Stable: of equals, the youngest goes.
    active.sort_by_key(|pod| !worth(pod));
    for pod in active.drain(replicas.min(active.len())..) {
        cx.delete(&pod).await?;
    }
    let waits: Vec<_> = active.iter().filter(|pod| is_ready(pod)).map(|pod| wait(cx, set, pod)).collect();
    let available = waits.iter().filter(|wait| wait.is_none()).count();
    let counts =
        [("fullyLabeledReplicas", active.len()), ("readyReplicas", waits.len()), ("availableReplicas", available)];
    cx.change_status(set, |set| {
        let generation = set["metadata"]["generation"].clone();
        let status = &mut set["status"];
        status["observedGeneration"] = generation;
        status["replicas"] = active.len().into();
        counts.iter().for_each(|(name, count)| set_count(status, name, *count));
    })
    .await?;
    Ok(waits.into_iter().flatten().min().map_or(Outcome::Done, Outcome::RequeueAfter))
}

/// The pods that are kept first have more of it.
fn worth(pod: &Value) -> u8 {
    [pod["spec"]["nodeName"].is_string(), is_in(pod, "Running"), is_ready(pod)].into_iter().map(u8::from).sum()
}

/// How long a ready pod is not available yet.
fn wait(cx: &Context, set: &Value, pod: &Value) -> Option<Duration> {
    let since = condition(pod, "Ready").and_then(|ready| time(&ready["lastTransitionTime"]));
    left(cx.clock().wall(), since, Duration::from_secs(set["spec"]["minReadySeconds"].as_u64().unwrap_or(0)))
}
