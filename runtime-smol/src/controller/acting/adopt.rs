//! An object that gets an owner after it was created.

use super::error::ActError;
use super::owner_reference::owner_reference;
use crate::controller::context::Context;
use crate::informers::Found;
use listwatch_core::api::Patch;
use listwatch_core::object::OwnerReference;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Context {
    /// Makes `owner` the controller of an object that has none (client-go `ControllerRefManager`). If it is that already,
    /// no request is sent.
    ///
    /// The owner is read from the server first: one that was deleted, or is another object of that name, adopts nothing.
    /// The request has the object's version.
    ///
    /// # Errors
    /// [`ActError::Refused`] if another object controls it, if either is being deleted, or if the owner cannot own it; see
    /// [`Create::owned_by`](super::Create::owned_by).
    pub async fn adopt<T, O>(&self, object: &Found<T>, owner: &Found<O>) -> Result<Found<T>, ActError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
        O: DeserializeOwned + Send + Sync + 'static,
    {
        adopt(self, object, owner).await
    }
}

async fn adopt<T, O>(cx: &Context, object: &Found<T>, owner: &Found<O>) -> Result<Found<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
    O: DeserializeOwned + Send + Sync + 'static,
{
    if object.is_controlled_by(owner) {
        return Ok(object.clone());
    }
    let (key, informer) = (object.key(), object.informer());
    if let Some(other) = object.controller() {
        return Err(ActError::refused(key, format!("{} {} controls the object", other.kind, other.name)));
    }
    if object.is_terminating() {
        return Err(ActError::refused(key, "the object is being deleted"));
    }
    let reference = owner_reference(informer, key, owner).map_err(|why| ActError::refused(key, why))?;
    match cx.live().get(owner.informer(), owner.key()).await? {
        Some(live) if live.meta().uid() != owner.meta().uid() => {
            return Err(ActError::Replaced { key: owner.key().clone() });
        }
        Some(live) if !live.is_terminating() => {}
        _ => return Err(ActError::refused(owner.key(), "the owner is being deleted, so it adopts nothing")),
    }
    let owners: Vec<_> = object.meta().owner_references().map(|known| written(&known)).chain([reference]).collect();
    let patch =
        json!({ "metadata": { "resourceVersion": object.meta().resource_version(), "ownerReferences": owners } });
    let call = informer.api_for::<T>(key).patch(key.name(), &Patch::Merge(&patch));
    let call = call.with_query("fieldManager", cx.field_manager());
    Ok(Found::new(cx.write(informer, call.with_meta()).await?.into(), informer))
}

/// A merge patch replaces the list, so the other owners are in it.
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
