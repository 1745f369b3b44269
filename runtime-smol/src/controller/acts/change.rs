//! Changes of an object by its type, and of its owners.

use super::patch::{Current, Decoded, Step, merge, newest, patch_newest};
use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::controller::memory::{Act, Answer, Revision, hash_of};
use crate::controller::owners::{add_controller, owners, reference_to};
use crate::informers::Found;
use crate::mutex::Mutex;
use listwatch_core::change::{Change, Part, Wish, change};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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
    /// shows it. If the server has not stored a part of the change, `change` is called with the answer, too. If it wants the
    /// same again, that is told and remembered as by [`ensure`](Self::ensure), and not sent again.
    ///
    /// # Errors
    /// [`ActError`]. A change of the status is refused: [`change_status`](Self::change_status) makes it.
    pub async fn change<T>(&self, object: &Found<T>, change: impl Fn(&mut T)) -> Result<Found<T>, ActError>
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        change_part(self, object, Part::Object, Act::Change, change).await
    }

    /// Changes the status of an object by its type, in the subresource `status`. Else it is as [`change`](Self::change).
    ///
    /// # Errors
    /// [`ActError`]. A change of anything else is refused.
    pub async fn change_status<T>(&self, object: &Found<T>, change: impl Fn(&mut T)) -> Result<Found<T>, ActError>
    where
        T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    {
        change_part(self, object, Part::Status, Act::ChangeStatus, change).await
    }
}

async fn change_part<T: Serialize + Clone + Decoded>(
    cx: &Context,
    object: &Found<T>,
    part: Part,
    act: Act,
    f: impl Fn(&mut T),
) -> Result<Found<T>, ActError> {
    let wished = Mutex::new(None);
    let step = |current: &Current<T>, _: Option<&Value>| {
        let after = changed(&current.object, &f);
        let next = step(current, &after, part)?;
        if matches!(next, Step::Done) {
            return Ok(next);
        }
        let wish = Wish::of(&**current.object.object(), &after).ok().flatten();
        let is_settled =
            wish.as_ref().is_some_and(|wish| cx.is_settled(&current.object, is_answer(&current.object, act, wish)));
        *wished.lock() = wish;
        Ok(if is_settled { Step::Done } else { next })
    };
    let (current, is_sent) = patch_newest(cx, Current::cached(object.clone()), part, step).await?;
    let wished = wished.lock().take();
    if let Some(wished) = wished.filter(|_| is_sent) {
        settle(cx, &current.object, act, &wished, &changed(&current.object, &f));
    }
    Ok(current.object)
}

fn changed<T: Clone>(object: &Found<T>, f: &impl Fn(&mut T)) -> T {
    let mut after = T::clone(object);
    f(&mut after);
    after
}

/// The patch that makes the change on this state.
fn step<T: Serialize + DeserializeOwned + 'static>(
    current: &Current<T>,
    after: &T,
    part: Part,
) -> Result<Step, ActError> {
    let refused = |error| ActError::of_change(&current.object, error);
    let pending = match change(&**current.object.object(), after, part).map_err(refused)? {
        Change::Nothing => return Ok(Step::Done),
        Change::Patch(patch) => return Ok(Step::Patch(patch)),
        Change::NeedsRaw(pending) => pending,
    };
    // What the server has may be newer than the state in the cache.
    let Some(raw) = current.raw()? else { return Ok(Step::Read) };
    Ok(pending.lay_over_as::<T>(&raw).map_err(refused)?.map_or(Step::Done, Step::Patch))
}

/// Remembers what the server has not taken of a change that was sent. A change that follows its answer, such as one more
/// each time, is another one.
fn settle<T: Serialize + Send + Sync + 'static>(cx: &Context, object: &Found<T>, act: Act, sent: &Wish, after: &T) {
    let left = Wish::of(&**object.object(), after).ok().flatten();
    let Some(left) = left.filter(|left| left.is_left_of(sent.patch())) else { return };
    cx.warn_stored_otherwise(object, &left.places());
    let wished = hash_of(&left);
    let (is_lost, state) = (left.is_lost(), Revision::of(object.meta()));
    cx.settle(object, Answer { act, wanted: wished, shown: wished, stored: wished, is_lost, state });
}

/// Whether an answer has left this wish.
fn is_answer<T>(object: &Found<T>, act: Act, wish: &Wish) -> impl Fn(&Answer) -> bool {
    let (meta, wished) = (object.meta(), hash_of(wish));
    move |answer| answer.act == act && answer.wanted == wished && answer.is_stored(wished, meta)
}

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
async fn check_lives<O: Decoded>(cx: &Context, owner: &Found<O>) -> Result<(), ActError> {
    let refused = |how: &str| Err(ActError::refused(owner.key(), format!("the owner is {how}, so it adopts nothing")));
    match newest(cx, owner).await {
        Ok(live) if live.object.is_terminating() => refused("being deleted"),
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => refused("gone"),
        Err(error) => Err(error),
    }
}
