//! Patches: of the newest state of an object, again after a conflict.

use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::informers::{Found, InformerHandle};
use core::any::Any;
use listwatch_core::Key;
use listwatch_core::api::{ApiCall, ApiError, ConflictRetry, Patch};
use listwatch_core::change::Part;
use listwatch_core::decode::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A type to which the answers of servers are decoded.
pub(super) trait Decoded: DeserializeOwned + Send + Sync + 'static {}

impl<T: DeserializeOwned + Send + Sync + 'static> Decoded for T {}

/// What becomes of an object.
pub(super) enum Step {
    /// It stays as it is.
    Done,
    /// It changes by this merge patch.
    Patch(Value),
    /// It changes by this merge patch, and then by the step that is due after it.
    PatchFirst(Value),
    /// The step depends on all of the object, as the server has it.
    Read,
}

/// Patches an object by the step that is due in its state. After a conflict, that is the step of the newest state. A step
/// gets the patch whose answer the state is, if it is one. Returns the state to which no step is due, and whether a patch was
/// sent: then it is the answer.
pub(super) async fn patch_newest<T: Decoded>(
    cx: &Context,
    mut current: Current<T>,
    part: Part,
    step: impl Fn(&Current<T>, Option<&Value>) -> Result<Step, ActError>,
) -> Result<(Current<T>, bool), ActError> {
    let object = &current.object.clone();
    let mut retry = ConflictRetry::new(cx.conflict_seed(object));
    // Its version would be a conflict.
    if current.body.is_none() && cx.is_outdated(object) {
        current = newest(cx, object).await?;
    }
    let mut sent = None;
    loop {
        let (patch, is_last) = match step(&current, sent.as_ref())? {
            Step::Done => return Ok((current, sent.is_some())),
            Step::Read => {
                (current, sent) = (newest(cx, object).await?, None);
                continue;
            }
            Step::Patch(patch) => (patch, true),
            Step::PatchFirst(patch) => (patch, false),
        };
        (current, sent) = match merge(cx, &current.object, part, patch.clone()).await {
            Ok(current) if is_last => return Ok((current, true)),
            Ok(changed) => (changed, Some(patch)),
            Err(error) => match error.api().and_then(|error| retry.again(error)) {
                Some(wait) => {
                    cx.clock().sleep(wait).await;
                    (newest(cx, object).await?, None)
                }
                None => return Err(error),
            },
        };
    }
}

/// The object as the server has it now.
///
/// # Errors
/// It is gone, or another one has its name.
pub(super) async fn newest<T: Decoded>(cx: &Context, object: &Found<T>) -> Result<Current<T>, ActError> {
    let key = object.key();
    let live = cx.live();
    let (newest, body) = live.read(object.informer(), key).await.map_err(|error| ActError::of_request(key, error))?;
    if newest.key() != key {
        return Err(other_answer(newest.key(), key));
    }
    match (newest.meta().uid(), object.meta().uid()) {
        (newest, known) if newest == known => {}
        (Some(_), Some(_)) => return Err(ActError::Replaced { key: key.clone() }),
        _ => {
            return Err(ActError::of_request(
                key,
                ApiError::Unreadable("the answer has another uid, or none".to_owned()),
            ));
        }
    }
    Ok(Current { object: newest, body: Some(body) })
}

/// The object, unless it is gone.
pub(super) fn unless_gone<R>(result: Result<R, ActError>) -> Result<Option<R>, ActError> {
    match result {
        Err(error) if is_gone(&error) => Ok(None),
        other => other.map(Some),
    }
}

/// Whether the server says that the object is gone. A 404 may also be about its whole resource, or come from a proxy.
pub(super) fn is_gone(error: &ActError) -> bool {
    match error {
        ActError::Replaced { .. } => true,
        ActError::Api { key, error } => {
            error.is_not_found() && error.status().and_then(Status::name) == Some(key.name())
        }
        _ => false,
    }
}

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
pub(super) async fn merge<T: Decoded>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    mut patch: Value,
) -> Result<Current<T>, ActError> {
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

async fn send_patch<T: Decoded>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    patch: &Patch<'_, impl Serialize + ?Sized>,
) -> Result<Current<T>, ActError> {
    let (informer, key) = (object.informer(), object.key());
    let api = informer.api_for::<T>(key);
    let api = if part == Part::Status { api.status() } else { api };
    let call = api.patch(key.name(), patch);
    let has_manager = matches!(patch, Patch::Apply { .. });
    let call = if has_manager { call } else { call.with_query("fieldManager", cx.field_manager()) };
    send(cx, informer, key, call).await
}

/// Sends a request whose answer is the object.
pub(super) async fn send<T: Decoded>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
    call: ApiCall<T>,
) -> Result<Current<T>, ActError> {
    send_for(cx, informer, key, call, |answered| answered == key).await
}

/// The same, whose answer is about an object under such a key.
pub(super) async fn send_for<T: Decoded>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
    call: ApiCall<T>,
    is_it: impl Fn(&Key) -> bool,
) -> Result<Current<T>, ActError> {
    let answer = cx.write_with_body(informer, call.with_meta()).await;
    let (object, body) = answer.map_err(|error| ActError::of_request(key, error))?;
    if !is_it(object.meta.key()) {
        return Err(other_answer(object.meta.key(), key));
    }
    Ok(Current { object: Found::new(object.into(), informer), body: Some(body) })
}

/// The answer is about another object than the one that was asked for. Its name would go into the next request.
fn other_answer(answered: &Key, asked: &Key) -> ActError {
    let why = format!("the answer is about {answered}");
    ActError::of_request(asked, ApiError::Unreadable(why))
}

pub(super) struct Current<T> {
    pub(super) object: Found<T>,
    /// All of it, if the server sent it.
    pub(super) body: Option<Vec<u8>>,
}

impl<T: 'static> Current<T> {
    /// The object as its cache has it.
    pub(super) fn cached(object: Found<T>) -> Self {
        Self { object, body: None }
    }

    /// All of the object as JSON, if the server sent it, or the type is JSON.
    pub(super) fn raw(&self) -> Result<Option<Cow<'_, Value>>, ActError> {
        let Some(body) = &self.body else {
            // A list and watch of metadata shows no more of an object.
            let is_whole = !self.object.informer().resource().is_metadata_only();
            let value: &dyn Any = &**self.object.object();
            return Ok(value.downcast_ref::<Value>().filter(|_| is_whole).map(Cow::Borrowed));
        };
        let unreadable = |error: serde_json::Error| ApiError::Unreadable(error.to_string());
        let raw = serde_json::from_slice(body).map_err(unreadable);
        raw.map(|raw| Some(Cow::Owned(raw))).map_err(|error| ActError::of_request(self.object.key(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_whose_metadata_is_no_object_is_refused() {
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
