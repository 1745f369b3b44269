//! Changes of an object by its type, made again while they conflict.

use super::error::ActError;
use crate::controller::context::Context;
use crate::informers::{Found, Informers};
use listwatch_core::api::{ApiError, ConflictRetry, Patch};
use listwatch_core::change::{Change, Part, change};
use listwatch_core::decode::{DecodeOptions, Decoder, ListMeta};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash, Hasher};

/// An object, and all of it as the server has it, once that was read.
struct State<T> {
    object: Found<T>,
    raw: Option<Value>,
}

impl Context {
    /// Changes an object by its type: `change` gets a copy of it. The request has what differs, and is made only if
    /// something does.
    ///
    /// It is a merge patch with the object's version. After a conflict, `change` is called again with the newest object, as
    /// often as [`ConflictRetry`] allows. So it may be called several times. Fields that `T` does not know stay, and so do
    /// those of list elements: for a list that changes, or an object that is removed, the whole object is read first. A
    /// change that `T` cannot say without a loss is an [error](ActError::Change); [`change`](listwatch_core::change) lists
    /// them.
    ///
    /// The returned object is as the server has it then. As with [`write`](Self::write), the key waits until the store
    /// shows it.
    ///
    /// # Errors
    /// [`ActError`]. A change of the status is refused: [`change_status`](Self::change_status) makes it.
    pub async fn change<T>(&self, object: &Found<T>, change: impl Fn(&mut T)) -> Result<Found<T>, ActError>
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        make(self, object, Part::Object, change).await
    }

    /// Changes the status of an object by its type, in the subresource `status`. Else it is as [`change`](Self::change).
    ///
    /// # Errors
    /// [`ActError`]. A change of anything else is refused.
    pub async fn change_status<T>(&self, object: &Found<T>, change: impl Fn(&mut T)) -> Result<Found<T>, ActError>
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        make(self, object, Part::Status, change).await
    }
}

/// Makes the change: one request, or none if nothing changes. A list that changes is read first. After a conflict, the
/// change is made again on the newest object.
async fn make<T>(cx: &Context, object: &Found<T>, part: Part, f: impl Fn(&mut T)) -> Result<Found<T>, ActError>
where
    T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
{
    let mut state = State { object: object.clone(), raw: None };
    let mut retry = ConflictRetry::new(seed(object));
    loop {
        let Some(patch) = patch_of(&mut state, part, &f).await? else { return Ok(state.object) };
        match send(cx, &state.object, part, &patch).await {
            Err(error) => match retry.again(&error) {
                Some(wait) => cx.clock().sleep(wait).await,
                None => return Err(error.into()),
            },
            Ok(changed) => return Ok(changed),
        }
        state = newest(&state.object).await?;
    }
}

/// The patch that makes the change on this state; none if nothing changes.
async fn patch_of<T>(state: &mut State<T>, part: Part, f: &impl Fn(&mut T)) -> Result<Option<Value>, ActError>
where
    T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
{
    loop {
        let key = state.object.key().clone();
        let unsaid = |error| ActError::Change { key: key.clone(), error };
        let before: &T = &state.object;
        let mut after = before.clone();
        f(&mut after);
        let pending = match change(before, &after, part).map_err(unsaid)? {
            Change::Nothing => return Ok(None),
            Change::Patch(patch) => return Ok(Some(patch)),
            Change::NeedsRaw(pending) => pending,
        };
        if let Some(raw) = &state.raw {
            return pending.lay_over(raw).map_err(unsaid);
        }
        // It may be newer than the state in the cache.
        *state = newest(&state.object).await?;
    }
}

async fn send<T>(cx: &Context, object: &Found<T>, part: Part, patch: &Value) -> Result<Found<T>, ApiError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let mut patch = patch.clone();
    patch["metadata"]["resourceVersion"] = json!(object.meta().resource_version());
    let api = object.informer().api_for::<T>(object.key());
    let api = if part == Part::Status { api.status() } else { api };
    let call = api.patch(object.meta().name(), &Patch::Merge(&patch)).with_query("fieldManager", cx.field_manager());
    Ok(Found::new(cx.write(object.informer(), call.with_meta()).await?.into(), object.informer()))
}

/// The object as the server has it now.
async fn newest<T: DeserializeOwned>(object: &Found<T>) -> Result<State<T>, ActError> {
    let informer = object.informer();
    let get = informer.api_for::<Value>(object.key()).get(object.meta().name());
    let response = Informers::of(informer).client().respond(&get).await?;
    let raw = get.read(&response)?;
    let decoded = Decoder::new(DecodeOptions::default()).item(&response.body, &ListMeta::default());
    let newest = Found::new(decoded.map_err(|error| ApiError::Unreadable(error.to_string()))?.into(), informer);
    if newest.meta().uid() != object.meta().uid() {
        return Err(ActError::Replaced { key: object.key().clone() });
    }
    Ok(State { object: newest, raw: Some(raw) })
}

/// The same object in the same version is retried after the same delays.
fn seed<T>(object: &Found<T>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (object.key(), object.meta().resource_version()).hash(&mut hasher);
    hasher.finish()
}
