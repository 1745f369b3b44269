//! The stand-in that rolls out Deployments.

use crate::object::{Object, Objects, condition, count, left, owned, set_condition, set_counts, text};
use crate::rollout::{Rollout, size_of};
use listwatch::api::Patch;
use listwatch::controller::{Context, Outcome, Reconciled};
use listwatch::object::hashed_name;
use listwatch::time::WallTime;
use serde_json::{Value, json};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const COMPLETE: &str = "NewReplicaSetAvailable";

pub(crate) async fn reconcile(cx: &Context, deployment: &Object, sets: &Objects) -> Reconciled {
    let (rollout, now) = (Rollout::of(&deployment["spec"]), cx.clock().wall());
    let name = hashed_name(deployment.key().name(), &deployment["spec"]["template"])?;
    let (new, old): (Vec<_>, Vec<_>) = owned(sets, deployment).into_iter().partition(|set| set.key().name() == name);
    let before: Vec<_> = old.iter().map(|set| size_of(set)).collect();
    let (size, sizes) = rollout.next(new.first().map(|set| size_of(set)), &before);
    let revision = revision(new.first(), &old);
    if let Some(size) = size {
        let set = new_set(deployment, &name, size, &revision);
        cx.ensure(sets, deployment.key().sibling(&name), &set).owned_by(deployment).await?;
    }
    for (set, size) in old.iter().zip(&sizes).filter(|(set, size)| size_of(set)[0] != **size) {
        cx.patch(set, &Patch::Merge(&json!({ "spec": { "replicas": size } }))).await?;
    }
    if deployment["metadata"]["annotations"][REVISION] != revision {
        // By the status, so that the generation stays.
        let annotation = json!({ "metadata": { "annotations": { REVISION: revision } } });
        cx.patch_status(deployment, &Patch::Merge(&annotation)).await?;
    }
    let counts = counts(&new, &old, size.unwrap_or(0) + sizes.iter().sum::<usize>());
    let it = cx.change_status(deployment, |it| show(it, &rollout, &counts, &name, now)).await?;
    let is_going = condition(&it, "Progressing")["reason"] == "ReplicaSetUpdated";
    Ok(if is_going { Outcome::RequeueAfter(rollout.deadline) } else { Outcome::Done })
}

/// The ReplicaSet of the present template.
fn new_set(deployment: &Value, name: &str, size: usize, revision: &str) -> Value {
    let (mut spec, hash) = (deployment["spec"].clone(), name.rsplit('-').next());
    spec["template"]["metadata"]["labels"][HASH] = hash.into();
    spec["selector"]["matchLabels"][HASH] = hash.into();
    let metadata = json!({ "labels": spec["template"]["metadata"]["labels"], "annotations": { REVISION: revision } });
    json!({ "metadata": metadata, "spec": { "replicas": size, "minReadySeconds": spec["minReadySeconds"],
        "selector": spec["selector"], "template": spec["template"] } })
}

/// The number of the present template among those of the Deployment.
fn revision(new: Option<&Object>, old: &[Object]) -> String {
    let of = |set: &Object| set["metadata"]["annotations"][REVISION].as_str()?.parse::<u64>().ok();
    let newest = old.iter().filter_map(of).max().unwrap_or(0);
    new.and_then(of).filter(|own| *own > newest).unwrap_or(newest + 1).to_string()
}

/// The replicas of a Deployment.
fn counts(new: &[Object], old: &[Object], wanted: usize) -> [(&'static str, usize); 6] {
    let sum = |sets: &[Object], name: &str| sets.iter().map(|set| count(&set["status"][name], 0)).sum::<usize>();
    let all = |name| (name, sum(new, name) + sum(old, name));
    let (updated, available) = (("updatedReplicas", sum(new, "replicas")), all("availableReplicas"));
    let unavailable = ("unavailableReplicas", wanted.saturating_sub(available.1));
    [all("replicas"), updated, all("readyReplicas"), available, unavailable, all("terminatingReplicas")]
}

/// Shows how far a Deployment has come.
fn show(deployment: &mut Value, rollout: &Rollout, counts: &[(&str, usize); 6], name: &str, now: WallTime) {
    let before = deployment["status"].clone();
    deployment["status"]["observedGeneration"] = deployment["metadata"]["generation"].clone();
    set_counts(deployment, counts);
    let [(_, all), (_, updated), _, (_, available), ..] = *counts;
    let more = |why: &str, message: &str| json!({ "lastUpdateTime": text(now), "reason": why, "message": message });
    let (has_minimum, reason, message) = match available >= rollout.min_available() {
        true => (true, "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => (false, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    if condition(deployment, "Available")["reason"] != reason {
        set_condition(deployment, now, "Available", has_minimum, more(reason, message));
    }
    let (is_same, known) = (before == deployment["status"], condition(deployment, "Progressing"));
    let is_late = is_same && left(now, &known["lastUpdateTime"], rollout.deadline).is_none();
    let (holds, reason, message) = match known["reason"].as_str() {
        // A Deployment that is only scaled stays complete.
        Some(COMPLETE) if updated == all => return,
        _ if [all, updated, available] == [rollout.replicas; 3] => (true, COMPLETE, "has successfully progressed."),
        Some(_) if is_late => (false, "ProgressDeadlineExceeded", "has timed out progressing."),
        Some(_) if is_same => return,
        _ => (true, "ReplicaSetUpdated", "is progressing."),
    };
    set_condition(deployment, now, "Progressing", holds, more(reason, &format!("ReplicaSet \"{name}\" {message}")));
}
