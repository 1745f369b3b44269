//! An object that is to exist, and to be as its owner wants it.

use super::body::{Body, Owner};
use super::create::{existing, post};
use super::patch::{Current, Decoded, Step, patch_newest, unless_gone};
use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::controller::memory::{Act, Answer, Revision, hash_of};
use crate::informers::{Found, InformerHandle};
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::change::{Desired, Drift, Part, Wish};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// An object that is to exist: [`Context::ensure`](crate::controller::Context::ensure). Requests are sent when it is
/// awaited.
#[derive(Debug)]
#[must_use = "nothing is created or changed until it is awaited"]
pub struct Ensure<'a, T> {
    body: Body<'a, T>,
    /// The places where the object has no more than the body names.
    exact: Vec<&'a str>,
}

impl Context {
    /// Gives the object under `key` what `wanted` says: creates it, or changes what differs (controller-runtime
    /// `CreateOrUpdate`).
    ///
    /// If the object exists, `wanted` is laid over it. Only the fields that it names are changed, by a merge patch with the
    /// object's version. A list that it names has its elements and no others, and each keeps the fields that `wanted` does
    /// not name for it. [`Desired`] has the rules; it leaves out the status, owners and finalizers. A field that is null is
    /// not named.
    ///
    /// What `wanted` does not name any more stays: a key of a map, or the old one of two fields that exclude each
    /// other. [`exactly`](Ensure::exactly) names such places. [`apply`](Self::apply) from the creation on removes them
    /// too. As with [`write`](Self::write), the key waits until the store shows what was written.
    ///
    /// The cache is compared first. If `T` and the metadata show all that `wanted` names, and nothing differs, no request is
    /// sent. What they do not show is compared in the object as the server has it, by one read for each body and each
    /// generation of the object; for each version, where the server keeps no generation, or annotations are named. If `T` has
    /// all fields, it never reads. After a conflict, `wanted` is laid over the newest object.
    ///
    /// If the object exists although the cache has none, it is read and changed. If it was deleted although the cache has
    /// it, it is created.
    ///
    /// Servers store some values in another form, such as `1` for a CPU limit of `1000m`, and drop others. The controller
    /// remembers the answer, by hashes: of each object, for its last eight bodies, until the object is gone or the
    /// controller ends. While body and object are as after that answer, nothing is sent. The first such answer of a kind is
    /// [reported](Self::warn) as `StoredOtherwise`, with the places. A value that is stored in another place, as the
    /// `stringData` of a Secret is, is sent again when the object changes.
    ///
    /// ```
    /// # #[derive(Clone, serde::Deserialize, serde::Serialize)]
    /// # struct Scale { replicas: Option<i32> }
    /// # #[derive(Clone, serde::Deserialize, serde::Serialize)]
    /// # struct Deployment { spec: Scale }
    /// # listwatch::kind!(Deployment, "apps/v1", "deployments");
    /// use listwatch::controller::{ActError, Context};
    /// use listwatch::decode::MetadataOnly;
    /// use listwatch::{Found, InformerHandle};
    /// use serde_json::json;
    ///
    /// async fn keep(
    ///     cx: &Context,
    ///     deployments: &InformerHandle<Deployment>,
    ///     foo: &Found<MetadataOnly>,
    /// ) -> Result<Found<Deployment>, ActError> {
    ///     let wanted = json!({ "spec": { "replicas": 3 } });
    ///     cx.ensure(deployments, foo.key(), &wanted).owned_by(foo).await
    /// }
    /// ```
    ///
    /// A change that depends on the object, such as one more element of a list, is [`change`](Self::change).
    ///
    /// # Errors
    /// [`ActError::NotControlled`] if the object is not that of its [owner](Ensure::owned_by); else those of `create` and
    /// `change`.
    #[doc(alias("CreateOrUpdate", "CreateOrPatch"))]
    pub fn ensure<'a, T>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Into<Key>,
        wanted: &(impl Serialize + ?Sized),
    ) -> Ensure<'a, T> {
        Ensure { body: Body::new(self, informer, key.into(), wanted), exact: Vec::new() }
    }
}

impl<'a, T> Ensure<'a, T> {
    /// Makes `owner` the controller of a new object; see [`Create::owned_by`](super::Create::owned_by). An object that
    /// another one controls, or none, is not changed. That is the [error](ActError::NotControlled) `ErrResourceExists`, as
    /// client-go's sample controller has it. The key is reconciled again when that object is gone or has another
    /// controller. [`Context::adopt`] takes an object that none controls.
    pub fn owned_by<O>(self, owner: &Found<O>) -> Self {
        Self { body: self.body.owned_by(owner), ..self }
    }

    /// Removes what the object has more than the body names at this place (RFC 6901), such as `/data` of a ConfigMap, or
    /// `/spec/strategy` of a Deployment. [`Desired::exactly`] has the rules. It may be called for several places. The
    /// object is read once for each body and each generation, as for what the type does not show.
    pub fn exactly(mut self, place: &'a str) -> Self {
        self.exact.push(place);
        self
    }
}

impl<'a, T: Serialize + DeserializeOwned + Send + Sync + 'static> IntoFuture for Ensure<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { body, exact } = self;
            let (cx, informer, key) = (body.cx, body.informer, body.key.clone());
            // A mistake is one whether or not there is an object.
            let desired = exact.into_iter().try_fold(body.desired()?, Desired::exactly);
            let desired = desired.map_err(|error| ActError::Change { key: key.clone(), error })?;
            if let Some(known) = informer.get(&key) {
                check_owner(cx, &known, body.owner.as_ref())?;
                if let Some(changed) = unless_gone(lay_over(cx, Current::cached(known), &desired).await)? {
                    return Ok(changed);
                }
            }
            let owner = body.owner.clone();
            let exists = match post(body).await {
                Err(error) if error.is_already_exists() => error,
                Err(error) => return Err(error),
                Ok(created) => {
                    settle(cx, &created, &desired, true);
                    return Ok(created.object);
                }
            };
            let Some(current) = existing(cx, informer, &key).await? else { return Err(exists) };
            let live = &current.object;
            check_owner(cx, live, owner.as_ref())?;
            // One that the cache may never show would be read again and again.
            if live.is_terminating() || !cx.await_state(live) {
                return Err(exists);
            }
            lay_over(cx, current, &desired).await
        })
    }
}

/// Gives an object that exists what the body names.
async fn lay_over<T: Serialize + Decoded>(
    cx: &Context,
    current: Current<T>,
    desired: &Desired,
) -> Result<Found<T>, ActError> {
    let step = |current: &Current<T>, sent: Option<&Value>| step(cx, current, desired, sent);
    let (current, is_sent) = patch_newest(cx, current, Part::Object, step).await?;
    // What the cache has was looked up.
    if current.body.is_some() {
        settle(cx, &current, desired, is_sent);
    }
    Ok(current.object)
}

/// The patch that is due in this state, which may be the answer to a patch.
fn step<T: Serialize + DeserializeOwned + 'static>(
    cx: &Context,
    current: &Current<T>,
    desired: &Desired,
    sent: Option<&Value>,
) -> Result<Step, ActError> {
    let (object, wanted) = (&current.object, hash_of(desired));
    let refused = |error| ActError::of_change(object, error);
    let is_ours = |answer: &Answer| (answer.act, answer.wanted) == (Act::Ensure, wanted);
    if let Some(raw) = current.raw()? {
        let Some(patch) = desired.lay_over_as::<T>(&raw).map_err(refused)? else { return Ok(Step::Done) };
        let stored = hash_of(&desired.view_of_raw(&raw));
        let is_answer = |answer: &Answer| is_ours(answer) && answer.is_stored(stored, object.meta());
        let was_sent = sent.is_some_and(|sent| Wish::of_patch(patch.clone(), &raw).is_left_of(sent));
        return Ok(if was_sent || cx.is_settled(object, is_answer) { Step::Done } else { Step::Patch(patch) });
    }
    let drift = desired.drift_of::<T>(object, object.meta()).map_err(refused)?;
    if drift == Drift::None {
        return Ok(Step::Done);
    }
    let view = desired.view_of::<T>(object, object.meta()).map_err(refused)?;
    Ok(match drift {
        _ if cx.is_settled(object, |answer| is_ours(answer) && answer.is_shown(&view, object.meta())) => Step::Done,
        Drift::Patch(patch) => Step::PatchFirst(patch),
        _ => Step::Read,
    })
}

/// Remembers what the server made of the body, unless the type shows that it is what the body names.
fn settle<T: Serialize + Decoded>(cx: &Context, current: &Current<T>, desired: &Desired, is_sent: bool) {
    let (object, meta) = (&current.object, current.object.meta());
    let (Ok(Some(raw)), Ok(drift)) = (current.raw(), desired.drift_of::<T>(object, meta)) else { return };
    let Ok(view) = desired.view_of::<T>(object, meta) else { return };
    if drift == Drift::None {
        return;
    }
    let left = desired.lay_over_as::<Value>(&raw).ok().flatten().map(|patch| Wish::of_patch(patch, &raw));
    if is_sent && let Some(left) = &left {
        cx.warn_stored_otherwise(object, &left.places());
    }
    let answer = Answer {
        act: Act::Ensure,
        wanted: hash_of(desired),
        shown: hash_of(view.seen()),
        stored: hash_of(&desired.view_of_raw(&raw)),
        is_lost: left.is_some_and(|left| left.is_lost()),
        state: Revision::of(meta),
    };
    cx.settle(object, answer);
}

/// Whether the object is that of its owner, if one was named. One that is not is awaited.
fn check_owner<T: Send + Sync + 'static>(
    cx: &Context,
    object: &Found<T>,
    owner: Option<&Owner>,
) -> Result<(), ActError> {
    let Some(owner) = owner else { return Ok(()) };
    let controller = object.controller();
    if owner.uid.is_some() && owner.uid == controller.as_ref().and_then(|controller| controller.uid.clone()) {
        return Ok(());
    }
    let controller = controller.map(|other| {
        let is_namesake = owner.name == other.name && owner.kind.as_deref() == Some(other.kind);
        format!("{} {}{}", other.kind, other.name, if is_namesake { " of another uid" } else { "" })
    });
    let (key, kind) = (object.key().clone(), object.informer().title().to_owned());
    cx.wake_after(object);
    Err(ActError::NotControlled { key, kind, owner: owner.title.clone(), controller })
}
