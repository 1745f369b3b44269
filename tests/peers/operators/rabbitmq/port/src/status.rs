//! The conditions of a RabbitmqCluster.

use crate::kinds::{Condition, RabbitmqCluster, Status};
use serde_json::Value;

pub const NO_WARNINGS: &str = "NoWarnings";
pub const RECONCILE_SUCCESS: &str = "ReconcileSuccess";

/// What the children show, as the status has it. Times move only with the status of a condition.
pub fn observe(status: &mut Status, stateful_set: Option<&Value>, endpoints: Option<&Value>, now: &str) {
    let initialising = ("Unknown", "Initialising", String::new());
    let conditions = [
        ("AllReplicasReady", Some(all_replicas_ready(stateful_set))),
        ("ClusterAvailable", Some(cluster_available(endpoints))),
        (NO_WARNINGS, Some(no_warnings(stateful_set))),
        (RECONCILE_SUCCESS, None),
    ];
    let conditions = conditions.map(|(type_, observed)| {
        let known = status.conditions.iter().find(|known| known.type_ == type_);
        match (observed, known) {
            (None, Some(known)) => known.clone(),
            (observed, known) => {
                let mut condition =
                    known.cloned().unwrap_or_else(|| Condition { type_: type_.into(), ..<_>::default() });
                let (status, reason, message) = observed.unwrap_or_else(|| initialising.clone());
                update(&mut condition, status, reason, message, now);
                condition
            }
        }
    });
    status.conditions = conditions.into();
}

/// Changes a condition that is there.
pub fn set(cluster: &mut RabbitmqCluster, type_: &str, status: &str, reason: &str, message: &str, now: &str) {
    let conditions = cluster.status.as_mut().map(|status| &mut status.conditions);
    if let Some(condition) = conditions.into_iter().flatten().find(|condition| condition.type_ == type_) {
        update(condition, status, reason, message.to_owned(), now);
    }
}

fn update(condition: &mut Condition, status: &str, reason: &str, message: String, now: &str) {
    if condition.status != status {
        condition.last_transition_time = Some(now.to_owned());
    }
    (condition.status, condition.reason, condition.message) = (status.to_owned(), reason.to_owned(), message);
}

type Observed = (&'static str, &'static str, String);

fn missing_stateful_set() -> Observed {
    ("Unknown", "MissingStatefulSet", "Could not find StatefulSet".to_owned())
}

fn all_replicas_ready(stateful_set: Option<&Value>) -> Observed {
    let Some(set) = stateful_set else { return missing_stateful_set() };
    let (wanted, ready) = (set["spec"]["replicas"].as_i64().unwrap_or(1), ready_replicas(set));
    match wanted == ready {
        true => ("True", "AllPodsAreReady", String::new()),
        false => ("False", "NotAllPodsReady", format!("{ready}/{wanted} Pods ready")),
    }
}

fn cluster_available(endpoints: Option<&Value>) -> Observed {
    let Some(endpoints) = endpoints else {
        let message = "Could not verify available service endpoints".to_owned();
        return ("Unknown", "CouldNotRetrieveEndpoints", message);
    };
    let subsets = endpoints["subsets"].as_array().map_or(&[][..], Vec::as_slice);
    match subsets.iter().any(|subset| subset["addresses"].as_array().is_some_and(|all| !all.is_empty())) {
        true => ("True", "AtLeastOneEndpointAvailable", String::new()),
        false => ("False", "NoEndpointsAvailable", "The service has no endpoints available".to_owned()),
    }
}

fn no_warnings(stateful_set: Option<&Value>) -> Observed {
    let Some(set) = stateful_set else { return missing_stateful_set() };
    let resources = &set["spec"]["template"]["spec"]["containers"][0]["resources"];
    match resources["limits"]["memory"] == resources["requests"]["memory"] {
        true => ("True", "NoWarnings", String::new()),
        false => {
            let message = "RabbitMQ container memory resource request and limit must be equal".to_owned();
            ("False", "MemoryRequestAndLimitDifferent", message)
        }
    }
}

pub fn ready_replicas(stateful_set: &Value) -> i64 {
    stateful_set["status"]["readyReplicas"].as_i64().unwrap_or(0)
}

pub fn is_being_updated(stateful_set: &Value) -> bool {
    stateful_set["status"]["currentRevision"] != stateful_set["status"]["updateRevision"]
}
