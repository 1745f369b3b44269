//! The fields that the stand-ins read and write, and the pods that they create.

use core::time::Duration;
use listwatch::api::ApiError;
use listwatch::controller::{Context, Reconciled, Running};
use listwatch::prelude::*;
use listwatch::time::WallTime;
use serde_json::{Value, json};

pub(crate) type Object = Found<Value>;
pub(crate) type Objects = InformerHandle<Value>;

/// A controller of the first kind, which owns objects of the second. `reconcile` gets each object that is not being deleted.
pub(crate) fn controller(
    informers: &Informers,
    kinds: [(&str, &str); 2],
    reconcile: impl AsyncFn(&Context, &Object, &Objects) -> Reconciled + Send + Sync + 'static,
) -> Running<'static> {
    let controller = Controller::new(&format!("{}-controller", kinds[0].1.to_lowercase()), informers);
    let [own, owned] = kinds.map(|(resource, kind)| controller.informer_of::<Value>(resource).with_kind(kind));
    controller.reconciles(&own).owns(&owned).calls(async move |cx, key| match own.get(&key) {
        Some(object) if !object.is_terminating() => reconcile(&cx, &object, &owned).await,
        _ => Ok(Outcome::Done),
    })
}

/// The objects whose controller `owner` is, oldest first.
pub(crate) fn owned(all: &Objects, owner: &Object) -> Vec<Object> {
    let mut owned: Vec<_> =
        all.list_in(owner.key().namespace()).into_iter().filter(|it| it.is_controlled_by(owner)).collect();
    owned.sort_by_cached_key(|object| (object["metadata"]["creationTimestamp"].to_string(), object.key().clone()));
    owned
}

/// Creates a pod by the template of its owner, with a name that the server generates.
pub(crate) async fn create_pod(cx: &Context, pods: &Objects, owner: &Object) -> Result<(), ApiError> {
    let (template, uid) = (&owner["spec"]["template"], &owner["metadata"]["uid"]);
    let mut metadata = template["metadata"].clone();
    metadata["generateName"] = format!("{}-", owner.key().name()).into();
    metadata["ownerReferences"] = json!([{ "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner.key().name(), "uid": uid, "controller": true, "blockOwnerDeletion": true }]);
    if owner["kind"] == "Job" {
        metadata["labels"]["batch.kubernetes.io/job-name"] = owner.key().name().into();
        metadata["labels"]["batch.kubernetes.io/controller-uid"] = uid.clone();
    }
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] });
    cx.write(pods, pods.api_for::<Value>(owner.key()).create(&pod)).await.map(drop)
}

/// Whether a pod does its work, or will.
pub(crate) fn is_active(pod: &Object) -> bool {
    !pod.is_terminating() && !["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase)
}

/// A number; `default` where there is none.
pub(crate) fn count(value: &Value, default: usize) -> usize {
    value.as_u64().map_or(default, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// The numbers that a server shows if they are zero, too.
const SHOWN: [&str; 3] = ["terminatingReplicas", "terminating", "ready"];

/// Sets numbers of a status.
pub(crate) fn set_counts(object: &mut Value, counts: &[(&str, usize)]) {
    for (name, count) in counts {
        object["status"][*name] = (*count).into();
        let status = object["status"].as_object_mut().filter(|_| *count == 0 && !SHOWN.contains(name));
        status.map(|status| status.remove(*name));
    }
}

/// A time, as an object has it.
pub(crate) fn text(time: WallTime) -> String {
    time.truncated_to_seconds().to_string()
}

/// What is left of a time after one that an object has. None if it has passed, or has not begun.
pub(crate) fn left(now: WallTime, since: &Value, delay: Duration) -> Option<Duration> {
    let due = since.as_str()?.parse::<WallTime>().ok()? + delay;
    (due > now).then(|| due.saturating_since(now))
}

/// The condition of this type; null if there is none.
pub(crate) fn condition<'a>(object: &'a Value, name: &str) -> &'a Value {
    let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.find(|condition| condition["type"] == name).unwrap_or(&Value::Null)
}

pub(crate) fn is_true(object: &Value, name: &str) -> bool {
    condition(object, name)["status"] == "True"
}

/// Sets the condition of its type, in the order of types. The time of its last transition stays as long as its status does.
pub(crate) fn set_condition(object: &mut Value, now: WallTime, name: &str, holds: bool, mut more: Value) {
    let (status, known) = (if holds { "True" } else { "False" }, condition(object, name));
    let since = if known["status"] == status { known["lastTransitionTime"].clone() } else { text(now).into() };
    (more["type"], more["status"], more["lastTransitionTime"]) = (name.into(), status.into(), since);
    let conditions = &mut object["status"]["conditions"];
    let others = conditions.as_array().into_iter().flatten().filter(|condition| condition["type"] != name);
    let mut all: Vec<_> = others.cloned().chain([more]).collect();
    all.sort_by_cached_key(|condition| condition["type"].to_string());
    *conditions = all.into();
}
