//! A step between the deletion of an object and its end.

use super::patch::{Current, Decoded, Step, newest, patch_newest, unless_gone};
use crate::controller::context::Context;
use crate::controller::error::{ActError, Error};
use crate::controller::memory::{CleanUp, ObjectId, is_there};
use crate::informers::Found;
use listwatch_core::change::Part;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

impl Context {
    /// Keeps a finalizer on an object, and cleans up when it is deleted (kube-rs `finalizer`).
    ///
    /// It returns the object once it has the finalizer, so what is to be cleaned up is made only then. It returns `None`
    /// if the object is being deleted or gone: then there is nothing more to do. An object with the finalizer is read
    /// from the server, `clean_up` is called, and the finalizer removed.
    ///
    /// If the removal fails, it is made again without `clean_up`, as long as the process lives and the cache has the
    /// object. If the process dies between the two, the next one calls `clean_up` again, so it must not fail where
    /// nothing is left to do.
    ///
    /// `name` is a domain and a word, such as `example.com/bucket`.
    ///
    /// ```
    /// use listwatch::Found;
    /// use listwatch::controller::{Context, Outcome, Reconciled};
    /// use listwatch::decode::MetadataOnly;
    ///
    /// async fn reconcile(cx: &Context, foo: &Found<MetadataOnly>) -> Reconciled {
    ///     let clean_up = async |foo: &Found<MetadataOnly>| {
    ///         println!("deleting the bucket of {}", foo.key());
    ///         Ok(())
    ///     };
    ///     let Some(_foo) = cx.finalizer(foo, "example.com/bucket", clean_up).await? else { return Ok(Outcome::Done) };
    ///     // Here the bucket is made.
    ///     Ok(Outcome::Done)
    /// }
    /// ```
    ///
    /// A replay of a tape calls `clean_up` too, so it deletes again what is outside of the cluster.
    ///
    /// # Errors
    /// That of `clean_up`, and [`ActError`].
    pub async fn finalizer<T>(
        &self,
        object: &Found<T>,
        name: &str,
        clean_up: impl AsyncFnOnce(&Found<T>) -> Result<(), Error>,
    ) -> Result<Option<Found<T>>, Error>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        match (object.is_terminating(), has(object, name)) {
            (false, true) => Ok(Some(object.clone())),
            (false, false) => Ok(add(self, object, name).await?),
            (true, false) => Ok(None),
            (true, true) => end(self, object, name, clean_up).await.map(|()| None),
        }
    }
}

/// The object with the finalizer; none if it is gone or being deleted meanwhile.
async fn add<T: Decoded>(cx: &Context, object: &Found<T>, name: &str) -> Result<Option<Found<T>>, ActError> {
    let step = |current: &Current<T>, _: Option<&Value>| {
        let Current { object, .. } = current;
        let is_done = object.is_terminating() || has(object, name);
        Ok(if is_done { Step::Done } else { finalizers(object.meta().finalizers().chain([name])) })
    };
    let current = Current::cached(object.clone());
    let added = unless_gone(patch_newest(cx, current, Part::Object, step).await)?.map(|(added, _)| added.object);
    Ok(added.filter(|object| !object.is_terminating()))
}

/// Cleans up, and removes the finalizer.
async fn end<T: Decoded>(
    cx: &Context,
    object: &Found<T>,
    name: &str,
    clean_up: impl AsyncFnOnce(&Found<T>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(id) = ObjectId::of(object) else {
        return Err(ActError::refused(object.key(), "the object has no uid, by which its clean-up is known").into());
    };
    let due = match cx.state().memory.begin_clean_up(&id, name, is_there(object)) {
        CleanUp::Due(due) => Some(due),
        CleanUp::Over => None,
        CleanUp::Running => {
            return Err(ActError::refused(object.key(), "another reconcile cleans the object up").into());
        }
    };
    // The cache may not show yet that another run has cleaned up.
    let live = unless_gone(newest(cx, object).await)?.map(|live| live.object);
    if let Some(live) = live.filter(|live| has(live, name)) {
        if let Some(due) = due {
            clean_up(&live).await?;
            due.finish();
        }
        remove(cx, &live, name).await?;
    }
    cx.state().memory.forget_clean_up(&id, name);
    Ok(())
}

async fn remove<T: Decoded>(cx: &Context, object: &Found<T>, name: &str) -> Result<(), ActError> {
    let step = |current: &Current<T>, _: Option<&Value>| {
        let Current { object, .. } = current;
        let left = object.meta().finalizers().filter(|known| *known != name);
        Ok(if has(object, name) { finalizers(left) } else { Step::Done })
    };
    unless_gone(patch_newest(cx, Current::cached(object.clone()), Part::Object, step).await).map(drop)
}

/// The step after which an object has these finalizers.
fn finalizers<'n>(names: impl Iterator<Item = &'n str>) -> Step {
    Step::Patch(json!({ "metadata": { "finalizers": names.collect::<Vec<_>>() } }))
}

fn has<T>(object: &Found<T>, name: &str) -> bool {
    object.meta().finalizers().any(|known| known == name)
}
