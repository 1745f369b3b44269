//! Patches that are made again on the newest object while they conflict.

use super::current::Current;
use super::error::ActError;
use super::patch::{is_about, merge};
use crate::controller::context::Context;
use crate::informers::Found;
use listwatch_core::api::{ApiError, ConflictRetry};
use listwatch_core::change::Part;
use listwatch_core::decode::Status;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

/// An object to which no step is due any more.
pub(super) struct Patched<T> {
    pub(super) current: Current<T>,
    /// Whether a patch was sent. Then it is the answer.
    pub(super) is_sent: bool,
}

/// Patches an object by the step that is due in its state. After a conflict, that is the step of the newest state. A step
/// gets the patch whose answer the state is, if it is one.
pub(super) async fn patch_newest<T>(
    cx: &Context,
    mut current: Current<T>,
    part: Part,
    step: impl Fn(&Current<T>, Option<&Value>) -> Result<Step, ActError>,
) -> Result<Patched<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let object = &current.object.clone();
    let mut retry = ConflictRetry::new(cx.conflict_seed(object));
    // Its version would be a conflict.
    if current.body.is_none() && cx.is_outdated(object) {
        current = newest(cx, object).await?;
    }
    let mut sent = None;
    loop {
        let (patch, is_last) = match step(&current, sent.as_ref())? {
            Step::Done => return Ok(Patched { current, is_sent: sent.is_some() }),
            Step::Read => {
                (current, sent) = (newest(cx, object).await?, None);
                continue;
            }
            Step::Patch(patch) => (patch, true),
            Step::PatchFirst(patch) => (patch, false),
        };
        (current, sent) = match merge(cx, &current.object, part, patch.clone()).await {
            Ok(current) if is_last => return Ok(Patched { current, is_sent: true }),
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
pub(super) async fn newest<T>(cx: &Context, object: &Found<T>) -> Result<Current<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let key = object.key();
    let live = cx.live();
    let (newest, body) = live.read(object.informer(), key).await.map_err(|error| ActError::of_request(key, error))?;
    is_about(newest.key(), key)?;
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
