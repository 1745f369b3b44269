//! Patches of an object.

use super::error::ActError;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use listwatch_core::Key;
use listwatch_core::api::{ApiCall, Patch};
use listwatch_core::change::Part;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Context {
    /// Sends a patch of an object as it is. The object may have changed since it was read: a patch that must not be made
    /// then has `metadata.resourceVersion`. As with [`write`](Self::write), the key waits until the store shows it.
    ///
    /// [`change`](Self::change) makes the patch from a change of the object's type.
    ///
    /// # Errors
    /// [`ActError::Api`].
    pub async fn patch<T>(
        &self,
        object: &Found<T>,
        patch: &Patch<'_, impl Serialize + ?Sized>,
    ) -> Result<Found<T>, ActError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        send_patch(self, object, Part::Object, patch).await
    }

    /// Sends a patch of an object's status, in the subresource `status`. Else it is as [`patch`](Self::patch).
    ///
    /// # Errors
    /// [`ActError::Api`].
    pub async fn patch_status<T>(
        &self,
        object: &Found<T>,
        patch: &Patch<'_, impl Serialize + ?Sized>,
    ) -> Result<Found<T>, ActError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        send_patch(self, object, Part::Status, patch).await
    }
}

/// Sends a merge patch under the condition that the object still has its version.
pub(super) async fn merge<T>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    mut patch: Value,
) -> Result<Found<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    patch["metadata"]["resourceVersion"] = json!(object.meta().resource_version());
    send_patch(cx, object, part, &Patch::Merge(&patch)).await
}

async fn send_patch<T>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    patch: &Patch<'_, impl Serialize + ?Sized>,
) -> Result<Found<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let (informer, key) = (object.informer(), object.key());
    let api = informer.api_for::<T>(key);
    let api = if part == Part::Status { api.status() } else { api };
    let call = api.patch(key.name(), patch);
    let has_manager = matches!(patch, Patch::Apply { .. });
    let call = if has_manager { call } else { call.with_query("fieldManager", cx.field_manager()) };
    send(cx, informer, key, call).await
}

/// Sends a request whose answer is the object.
pub(super) async fn send<T>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
    call: ApiCall<T>,
) -> Result<Found<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let object = cx.write(informer, call.with_meta()).await.map_err(|error| ActError::of_request(key, error))?;
    Ok(Found::new(object.into(), informer))
}
