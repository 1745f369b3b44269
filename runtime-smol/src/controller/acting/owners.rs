//! Which object may own which, and the list of an object's owners.

use crate::controller::own_kind::unnamed;
use crate::informers::{Found, InformerHandle, Informers};
use listwatch_core::Key;
use listwatch_core::object::{Meta, OwnerReference};
use serde_json::{Value, json};

/// The entry of `metadata.ownerReferences` that makes `owner` the controller of the object under `key` (controller-runtime
/// `SetControllerReference`).
///
/// # Errors
/// The garbage collector would not find the owner where it looks, and would delete the object.
pub(super) fn reference_to<T, O>(owner: &Found<O>, informer: &InformerHandle<T>, key: &Key) -> Result<Value, String> {
    let (of_owner, name) = (owner.informer(), owner.meta().name());
    let Some(kind) = of_owner.kind() else {
        return Err(unnamed(of_owner.resource().path()));
    };
    let Some(uid) = owner.meta().uid() else {
        return Err(format!("the owner {name} has no uid"));
    };
    if !Informers::of(informer).world().is_same(Informers::of(of_owner).world()) {
        let why = "is in another world, where no garbage collector finds it; one cluster has one World";
        return Err(format!("the owner {name} {why}"));
    }
    match (owner.meta().namespace(), key.namespace()) {
        (Some(namespace), None) => {
            return Err(format!("the owner {name} has the namespace {namespace}, and the object has none"));
        }
        (Some(one), Some(other)) if one != other => {
            return Err(format!("the owner {name} is in the namespace {one}, and the object in {other}"));
        }
        _ => {}
    }
    Ok(json!({
        "apiVersion": of_owner.api_version(),
        "kind": kind,
        "name": name,
        "uid": uid.to_string(),
        "controller": true,
        "blockOwnerDeletion": true,
    }))
}

/// Adds the controller to the owners, each of which is there once.
///
/// # Errors
/// Another one is the controller.
pub(super) fn add_controller(owners: &mut Vec<Value>, controller: Value) -> Result<(), String> {
    owners.retain(|owner| owner["uid"] != controller["uid"]);
    if let Some(other) = owners.iter().find(|owner| owner["controller"] == true) {
        let [kind, name] = ["kind", "name"].map(|field| other[field].as_str().unwrap_or_default());
        return Err(format!("{kind} {name} controls the object, and only one can"));
    }
    owners.push(controller);
    Ok(())
}

/// The owners of an object, as its server writes them.
pub(super) fn owners(meta: &Meta) -> Vec<Value> {
    meta.owner_references().map(|owner| written(&owner)).collect()
}

fn written(owner: &OwnerReference<'_>) -> Value {
    let mut reference = json!({ "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name });
    if let Some(uid) = &owner.uid {
        reference["uid"] = json!(uid.to_string());
    }
    for (name, value) in [("controller", owner.controller), ("blockOwnerDeletion", owner.block_owner_deletion)] {
        if value {
            reference[name] = json!(true);
        }
    }
    reference
}
