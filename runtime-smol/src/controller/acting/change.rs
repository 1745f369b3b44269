//! Changes of an object by its type.

use super::current::Current;
use super::error::ActError;
use super::newest::{Step, patch_newest};
use crate::controller::context::Context;
use crate::informers::Found;
use listwatch_core::change::{Change, Part, change};
use serde::Serialize;
use serde::de::DeserializeOwned;

impl Context {
    /// Changes an object by its type: `change` gets a copy of it. The request has what differs, and is made only if
    /// something does.
    ///
    /// It is a merge patch with the object's version. After a conflict, `change` is called again with the newest object, as
    /// often as [`ConflictRetry`](crate::api::ConflictRetry) allows. So it may be called several times. Fields that `T` does
    /// not know stay, and so do those of list elements: for a list that changes, or an object that is removed, the whole
    /// object is read first. A change that `T` cannot say without a loss is an [error](ActError::Change);
    /// [`change`](listwatch_core::change) lists them.
    ///
    /// What differs is told by the type. A field that the object lacks and `T` reads as a default, such as a zero, does not
    /// differ from that default, and is not written. Give such a field an `Option`.
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
        patch_newest(self, object, Part::Object, |current| step(current, Part::Object, &change)).await
    }

    /// Changes the status of an object by its type, in the subresource `status`. Else it is as [`change`](Self::change).
    ///
    /// # Errors
    /// [`ActError`]. A change of anything else is refused.
    pub async fn change_status<T>(&self, object: &Found<T>, change: impl Fn(&mut T)) -> Result<Found<T>, ActError>
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        patch_newest(self, object, Part::Status, |current| step(current, Part::Status, &change)).await
    }
}

/// The patch that makes the change on this state.
fn step<T: Serialize + DeserializeOwned + Clone>(
    current: &Current<T>,
    part: Part,
    f: &impl Fn(&mut T),
) -> Result<Step, ActError> {
    let key = current.object.key();
    let refused = |error| ActError::Change { key: key.clone(), error };
    let before: &T = &current.object;
    let mut after = before.clone();
    f(&mut after);
    let pending = match change(before, &after, part).map_err(refused)? {
        Change::Nothing => return Ok(Step::Done),
        Change::Patch(patch) => return Ok(Step::Patch(patch)),
        Change::NeedsRaw(pending) => pending,
    };
    // What the server has may be newer than the state in the cache.
    let Some(raw) = current.raw()? else { return Ok(Step::Read) };
    Ok(pending.lay_over_as::<T>(&raw).map_err(refused)?.map_or(Step::Done, Step::Patch))
}
