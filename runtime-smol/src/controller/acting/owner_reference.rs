//! Which object may own which.

use crate::informers::{Found, InformerHandle, Informers};
use listwatch_core::Key;
use serde_json::{Value, json};

/// The entry of `metadata.ownerReferences` that makes `owner` the controller of the object under `key` (controller-runtime
/// `SetControllerReference`).
///
/// # Errors
/// The garbage collector would not find the owner where it looks, and would delete the object.
pub(super) fn owner_reference<T, O>(
    informer: &InformerHandle<T>,
    key: &Key,
    owner: &Found<O>,
) -> Result<Value, String> {
    let of_owner = owner.informer();
    let Some(kind) = of_owner.kind() else {
        let path = of_owner.resource().path();
        return Err(format!("the kind of {path} is not known, so it owns nothing; say it by with_kind(\"…\")"));
    };
    let Some(uid) = owner.meta().uid() else {
        return Err(format!("the owner {} has no uid", owner.key()));
    };
    if !Informers::of(informer).world().is_same(Informers::of(of_owner).world()) {
        return Err(format!("the owner {} is of another world, where no garbage collector finds it", owner.key()));
    }
    match (owner.meta().namespace(), key.namespace()) {
        (Some(namespace), None) => {
            let owner = owner.meta().name();
            return Err(format!("the owner {owner} has the namespace {namespace}, and the object has none"));
        }
        (Some(one), Some(other)) if one != other => {
            let owner = owner.meta().name();
            return Err(format!("the owner {owner} is in the namespace {one}, and the object in {other}"));
        }
        _ => {}
    }
    Ok(json!({
        "apiVersion": of_owner.api_version(),
        "kind": kind,
        "name": owner.meta().name(),
        "uid": uid.to_string(),
        "controller": true,
        "blockOwnerDeletion": true,
    }))
}
