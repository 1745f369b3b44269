//! An object that gets an owner after it was created.

use super::error::ActError;
use super::newest::newest;
use super::owners::{add_controller, owners, reference_to};
use super::patch::merge;
use crate::controller::context::Context;
use crate::informers::Found;
use listwatch_core::change::Part;
use serde::de::DeserializeOwned;
use serde_json::json;

impl Context {
    /// Makes `owner` the controller of an object that has none (client-go `ControllerRefManager`). If it is that already,
    /// no request is sent.
    ///
    /// The owner is read from the server first: one that was deleted, or is another object of that name, adopts nothing.
    /// The request has the object's version. The other owners stay.
    ///
    /// # Errors
    /// [`ActError::Refused`] if another object controls it, if either is being deleted, or if the owner cannot own it; see
    /// [`Create::owned_by`](super::Create::owned_by). [`ActError::Replaced`] if another object has the owner's name.
    pub async fn adopt<T, O>(&self, object: &Found<T>, owner: &Found<O>) -> Result<Found<T>, ActError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
        O: DeserializeOwned + Send + Sync + 'static,
    {
        if object.is_controlled_by(owner) {
            return Ok(object.clone());
        }
        let (key, mut owners) = (object.key(), owners(object.meta()));
        if object.is_terminating() {
            return Err(ActError::refused(key, "the object is being deleted"));
        }
        let reference = reference_to(owner, object.informer(), key);
        let added = reference.and_then(|reference| add_controller(&mut owners, reference));
        added.map_err(|why| ActError::refused(key, why))?;
        check_lives(self, owner).await?;
        let patch = json!({ "metadata": { "ownerReferences": owners } });
        Ok(merge(self, object, Part::Object, patch).await?.object)
    }
}

/// Asks the server whether the owner is there, and is not being deleted.
async fn check_lives<O>(cx: &Context, owner: &Found<O>) -> Result<(), ActError>
where
    O: DeserializeOwned + Send + Sync + 'static,
{
    let refused = |how: &str| Err(ActError::refused(owner.key(), format!("the owner is {how}, so it adopts nothing")));
    match newest(cx, owner).await {
        Ok(live) if live.object.is_terminating() => refused("being deleted"),
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => refused("gone"),
        Err(error) => Err(error),
    }
}
