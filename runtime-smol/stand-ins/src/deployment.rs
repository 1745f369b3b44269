//! The stand-in that rolls out Deployments.

use crate::object::{condition, count, left, owned, set_condition, set_count, text, time};
use crate::rollout::{Rollout, Size};
use crate::stand_ins::tell;
use core::time::Duration;
use listwatch::api::Patch;
use listwatch::controller::{Context, Controller, Outcome, Reconciled, Running};
use listwatch::object::hashed_name;
use listwatch::time::WallTime;
use listwatch::{Found, InformerHandle, Informers};
use serde_json::{Value, json};

const HASH: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
/// A rollout makes some progress within so many seconds.
const DEADLINE: u64 = 600;
const COMPLETE: &str = "NewReplicaSetAvailable";

pub(crate) fn controller(informers: &Informers) -> Running<'static> {
    let controller = Controller::new("deployment-controller", informers);
    let deployments = controller.informer_of::<Value>("apps/v1/deployments").with_kind("Deployment");
    let sets = controller.informer_of::<Value>("apps/v1/replicasets").with_kind("ReplicaSet");
    controller.reconciles(&deployments).owns(&sets).on_report(tell).calls(async move |cx, key| {
        match deployments.get(&key) {
            Some(deployment) if !deployment.is_terminating() => reconcile(&cx, &deployment, &sets).await,
            _ => Ok(Outcome::Done),
        }
    })
}

async fn reconcile(cx: &Context, deployment: &Found<Value>, sets: &InformerHandle<Value>) -> Reconciled {
    let (rollout, name) = (Rollout::of(&deployment["spec"]), set_name(deployment)?);
    let (new, old): (Vec<_>, Vec<_>) = owned(sets, deployment).into_iter().partition(|set| set.key().name() == name);
    let new = new.first();
    let before: Vec<Size> = old.iter().map(|set| Size::of(set)).collect();
    let (size, sizes) = rollout.next(new.map(|new| Size::of(new)), &before);
    let revision = revision(new, &old);
    if let Some(size) = size {
        let key = deployment.key().sibling(&name);
        cx.ensure(sets, key, &new_set(deployment, &name, size, revision)).owned_by(deployment).await?;
    }
    for (set, size) in old.iter().zip(&sizes).filter(|(set, size)| Size::of(set).wanted != **size) {
        cx.patch(set, &Patch::Merge(&json!({ "spec": { "replicas": size } }))).await?;
    }
    let counts = Counts::of(new, &old, size.unwrap_or(0) + sizes.iter().sum::<usize>());
    let now = cx.clock().wall();
    let annotation = json!({ "metadata": { "annotations": { REVISION: revision.to_string() } } });
    if deployment["metadata"]["annotations"][REVISION] != revision.to_string() {
        // By the status, which does not count as a change of the Deployment.
        cx.patch_status(deployment, &Patch::Merge(&annotation)).await?;
    }
    let shown = cx.change_status(deployment, |it| show(it, rollout, &counts, &name, now)).await?;
    let late = progress(&shown).filter(|progress| progress["reason"] == "ReplicaSetUpdated");
    let late = late.and_then(|progress| left(now, time(&progress["lastUpdateTime"]), deadline(&shown)));
    Ok(late.map_or(Outcome::Done, Outcome::RequeueAfter))
}

/// The name of the ReplicaSet of the present template, which ends with its hash.
fn set_name(deployment: &Found<Value>) -> Result<String, serde_json::Error> {
    hashed_name(deployment.key().name(), &deployment["spec"]["template"])
}

/// The ReplicaSet of the present template.
fn new_set(deployment: &Value, name: &str, size: usize, revision: u64) -> Value {
    let (spec, hash) = (&deployment["spec"], name.rsplit('-').next());
    let (mut template, mut selector) = (spec["template"].clone(), spec["selector"].clone());
    template["metadata"]["labels"][HASH] = hash.into();
    selector["matchLabels"][HASH] = hash.into();
    let annotations = json!({ REVISION: revision.to_string() });
    json!({ "metadata": { "labels": template["metadata"]["labels"], "annotations": annotations },
        "spec": { "replicas": size, "minReadySeconds": spec["minReadySeconds"], "selector": selector,
            "template": template } })
}

/// The number of the present template among those of the Deployment.
fn revision(new: Option<&Found<Value>>, old: &[Found<Value>]) -> u64 {
    let of = |set: &Found<Value>| set["metadata"]["annotations"][REVISION].as_str()?.parse::<u64>().ok();
    let newest = old.iter().filter_map(of).max().unwrap_or(0);
    new.and_then(of).filter(|own| *own > newest).unwrap_or(newest + 1)
}

/// The replicas of a Deployment.
struct Counts {
    all: usize,
    updated: usize,
    ready: usize,
    available: usize,
    unavailable: usize,
}

impl Counts {
    fn of(new: Option<&Found<Value>>, old: &[Found<Value>], wanted: usize) -> Self {
        let sum = |name: &str| new.into_iter().chain(old).map(|set| count(&set["status"][name], 0)).sum();
        let available = sum("availableReplicas");
        let updated = new.map_or(0, |new| count(&new["status"]["replicas"], 0));
        let unavailable = wanted.saturating_sub(available);
        Self { all: sum("replicas"), updated, ready: sum("readyReplicas"), available, unavailable }
    }

    fn named(&self) -> [(&'static str, usize); 5] {
        [
            ("replicas", self.all),
            ("updatedReplicas", self.updated),
            ("readyReplicas", self.ready),
            ("availableReplicas", self.available),
            ("unavailableReplicas", self.unavailable),
        ]
    }
}

fn progress(deployment: &Value) -> Option<&Value> {
    condition(deployment, "Progressing")
}

fn deadline(deployment: &Value) -> Duration {
    Duration::from_secs(deployment["spec"]["progressDeadlineSeconds"].as_u64().unwrap_or(DEADLINE))
}

/// Shows how far a Deployment has come.
fn show(deployment: &mut Value, rollout: Rollout, counts: &Counts, name: &str, now: WallTime) {
    let (generation, before) = (deployment["metadata"]["generation"].clone(), deployment["status"].clone());
    deployment["status"]["observedGeneration"] = generation;
    counts.named().iter().for_each(|(name, count)| set_count(&mut deployment["status"], name, *count));
    show_available(deployment, counts.available >= rollout.min_available(), now);
    show_progress(deployment, rollout, counts, &before, name, now);
}

fn show_available(deployment: &mut Value, is_available: bool, now: WallTime) {
    let (reason, message) = match is_available {
        true => ("MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => ("MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    if condition(deployment, "Available").is_none_or(|known| known["reason"] != reason) {
        let more = json!({ "lastUpdateTime": text(now), "reason": reason, "message": message });
        set_condition(deployment, now, "Available", is_available, more);
    }
}

fn show_progress(deployment: &mut Value, rollout: Rollout, counts: &Counts, before: &Value, name: &str, now: WallTime) {
    let known = progress(deployment);
    let was_complete = known.is_some_and(|known| known["reason"] == COMPLETE);
    let is_updated = counts.updated == counts.all;
    let is_complete = is_updated && counts.updated == rollout.replicas && counts.available == rollout.replicas;
    let since = known.and_then(|known| time(&known["lastUpdateTime"]));
    let (holds, reason, message) = match known {
        // A Deployment that is only scaled stays complete.
        _ if was_complete && is_updated => return,
        _ if is_complete => (true, COMPLETE, "has successfully progressed."),
        None => (true, "ReplicaSetUpdated", "is progressing."),
        _ if *before != deployment["status"] => (true, "ReplicaSetUpdated", "is progressing."),
        Some(known) if known["status"] == "False" || left(now, since, deadline(deployment)).is_some() => return,
        Some(_) => (false, "ProgressDeadlineExceeded", "has timed out progressing."),
    };
    let message = format!("ReplicaSet \"{name}\" {message}");
    let more = json!({ "lastUpdateTime": text(now), "reason": reason, "message": message });
    set_condition(deployment, now, "Progressing", holds, more);
}
