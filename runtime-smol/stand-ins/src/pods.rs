//! The pods of an owner.

use crate::object::is_true;
use listwatch::api::ApiError;
use listwatch::controller::Context;
use listwatch::{Found, InformerHandle};
use serde_json::{Value, json};

/// Creates a pod by the template of its owner, with these labels, too. The server generates its name.
pub(crate) async fn create(
    cx: &Context,
    pods: &InformerHandle<Value>,
    owner: &Found<Value>,
    labels: &Value,
) -> Result<(), ApiError> {
    let template = &owner["spec"]["template"];
    let mut metadata = template["metadata"].clone();
    metadata["generateName"] = format!("{}-", owner.key().name()).into();
    metadata["ownerReferences"] = json!([{ "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner.key().name(), "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true }]);
    for (label, value) in labels.as_object().into_iter().flatten() {
        metadata["labels"][label] = value.clone();
    }
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] });
    cx.write(pods, pods.api_for::<Value>(owner.key()).create(&pod)).await.map(drop)
}

pub(crate) fn is_in(pod: &Value, phase: &str) -> bool {
    pod["status"]["phase"] == phase
}

pub(crate) fn is_finished(pod: &Value) -> bool {
    is_in(pod, "Succeeded") || is_in(pod, "Failed")
}

/// Whether a pod does its work, or will.
pub(crate) fn is_active(pod: &Found<Value>) -> bool {
    !pod.is_terminating() && !is_finished(pod)
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    is_true(pod, "Ready")
}
