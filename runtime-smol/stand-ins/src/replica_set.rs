//! The stand-in that keeps the pods of ReplicaSets.

use crate::object::{Object, Objects, condition, count, create_pod, is_active, is_true, left, owned, set_counts};
use core::time::Duration;
use listwatch::controller::{Context, Outcome, Reconciled};

pub(crate) async fn reconcile(cx: &Context, set: &Object, pods: &Objects) -> Reconciled {
    let (mut active, others): (Vec<_>, Vec<_>) = owned(pods, set).into_iter().partition(is_active);
    let replicas = count(&set["spec"]["replicas"], 1);
    for _ in active.len()..replicas {
        create_pod(cx, pods, set).await?;
    }
    // Stable: of those that are equally far, the youngest goes.
    active.sort_by_key(|pod| (!is_true(pod, "Ready"), pod["status"]["phase"] != "Running"));
    for pod in active.drain(replicas.min(active.len())..) {
        cx.delete(&pod).await?;
    }
    let (now, quiet) = (cx.clock().wall(), Duration::from_secs(set["spec"]["minReadySeconds"].as_u64().unwrap_or(0)));
    let ready: Vec<_> = active.iter().map(|pod| condition(pod, "Ready")).filter(|it| it["status"] == "True").collect();
    let waits: Vec<_> = ready.iter().filter_map(|it| left(now, &it["lastTransitionTime"], quiet)).collect();
    let (all, available) = (active.len(), ready.len() - waits.len());
    let counts = [("fullyLabeledReplicas", all), ("readyReplicas", ready.len()), ("availableReplicas", available)];
    cx.change_status(set, |set| {
        set["status"]["observedGeneration"] = set["metadata"]["generation"].clone();
        set["status"]["replicas"] = all.into();
        set_counts(set, &counts);
        set_counts(set, &[("terminatingReplicas", others.iter().filter(|pod| pod.is_terminating()).count())]);
    })
    .await?;
    Ok(waits.into_iter().min().map_or(Outcome::Done, Outcome::RequeueAfter))
}
