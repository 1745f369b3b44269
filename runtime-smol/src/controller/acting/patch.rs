//! Patches of an object.

use super::current::Current;
use super::error::ActError;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use listwatch_core::Key;
use listwatch_core::api::{ApiCall, ApiError, Patch};
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
        Ok(send_patch(self, object, Part::Object, patch).await?.object)
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
        Ok(send_patch(self, object, Part::Status, patch).await?.object)
    }
}

/// Sends a merge patch under the condition that the object still has its version. Returns what the server has then.
pub(super) async fn merge<T>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    mut patch: Value,
) -> Result<Current<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    condition(&mut patch, object.meta().resource_version()).map_err(|why| ActError::refused(object.key(), why))?;
    send_patch(cx, object, part, &Patch::Merge(&patch)).await
}

/// Lets a merge patch be made to this version alone.
fn condition(patch: &mut Value, version: &str) -> Result<(), String> {
    if version.is_empty() {
        return Err("the object has no resourceVersion, so a patch could undo a change of another client".to_owned());
    }
    let fields = patch.as_object_mut().ok_or("the patch is no JSON object")?;
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or("metadata is no JSON object")?;
    metadata.insert("resourceVersion".to_owned(), version.into());
    Ok(())
}

async fn send_patch<T>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    patch: &Patch<'_, impl Serialize + ?Sized>,
) -> Result<Current<T>, ActError>
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
) -> Result<Current<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let answer = cx.write_with_body(informer, call.with_meta()).await;
    let (object, body) = answer.map_err(|error| ActError::of_request(key, error))?;
    is_about(object.meta.key(), key)?;
    Ok(Current { object: Found::new(object.into(), informer), body: Some(body) })
}

/// Whether an answer is about the object that was asked for.
///
/// # Errors
/// It is about another one. Its name would go into the next request.
pub(super) fn is_about(answered: &Key, asked: &Key) -> Result<(), ActError> {
    if answered == asked {
        return Ok(());
    }
    let why = format!("the answer is about {answered}");
    Err(ActError::of_request(asked, ApiError::Unreadable(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_a_type_writes_as_text_panicked() {
        for (mut patch, is_conditioned) in [
            (json!({ "spec": {} }), true),
            (json!({ "metadata": { "labels": null } }), true),
            (json!({ "metadata": "x" }), false),
        ] {
            assert_eq!(condition(&mut patch, "7").is_ok(), is_conditioned, "{patch}");
            assert_eq!(patch["metadata"]["resourceVersion"] == "7", is_conditioned, "{patch}");
        }
    }
}
