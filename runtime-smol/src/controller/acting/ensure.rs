//! An object that is to exist, and to be as its owner wants it.

use super::body::Body;
use super::create::{existing, post};
use super::current::Current;
use super::error::ActError;
use super::newest::{Step, patch_current, unless_gone};
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use core::borrow::Borrow;
use core::fmt;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use listwatch_core::Key;
use listwatch_core::change::{Desired, Drift, Part};
use listwatch_core::object::Uid;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An object that is to exist: [`Context::ensure`](crate::controller::Context::ensure). Requests are sent when it is
/// awaited.
#[must_use = "nothing is created or changed until it is awaited"]
pub struct Ensure<'a, T> {
    body: Body<'a, T>,
    owner: Option<Owner>,
    /// The places where the object has no more than the body names.
    exact: Vec<&'a str>,
}

/// The owner that was named.
struct Owner {
    uid: Option<Uid>,
    /// Such as `Foo web/foo`.
    title: String,
    kind: Option<String>,
    name: String,
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
    /// generation of the object; for each version, where the server keeps no generation. The controller remembers until
    /// its end what it compared. If `T` has all fields, it never reads. After a conflict, `wanted` is laid over the newest
    /// object.
    ///
    /// If the object exists although the cache has none, it is read and changed. If it was deleted although the cache has
    /// it, it is created.
    ///
    /// Servers store some values in another form, such as `1` for a CPU limit of `1000m`. Such a value differs each time,
    /// if `T` shows it; write it in the form of the server.
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
        key: impl Borrow<Key>,
        wanted: &(impl Serialize + ?Sized),
    ) -> Ensure<'a, T> {
        Ensure { body: Body::new(self, informer, key.borrow(), wanted), owner: None, exact: Vec::new() }
    }
}

impl<'a, T> Ensure<'a, T> {
    /// Makes `owner` the controller of a new object; see [`Create::owned_by`](super::Create::owned_by). An object that
    /// another one controls, or none, is not changed. That is the [error](ActError::NotControlled) `ErrResourceExists`, as
    /// client-go's sample controller has it. The key is reconciled again when that object is gone or has another
    /// controller. [`Context::adopt`] takes an object that none controls.
    pub fn owned_by<O>(self, owner: &Found<O>) -> Self {
        let named = Owner {
            uid: owner.meta().uid(),
            title: owner.title(),
            kind: owner.informer().kind().map(str::to_owned),
            name: owner.meta().name().to_owned(),
        };
        Self { body: self.body.owned_by(owner), owner: Some(named), ..self }
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
            let Self { body, owner, exact } = self;
            let (cx, informer, key) = (body.cx, body.informer, body.key.clone());
            // A mistake is one whether or not there is an object.
            let desired = exact.into_iter().try_fold(body.desired()?, Desired::exactly);
            let desired = desired.map_err(|error| ActError::Change { key: key.clone(), error })?;
            if let Some(known) = informer.get(&key) {
                check_owner(cx, &known, owner.as_ref())?;
                if let Some(changed) = unless_gone(lay_over(cx, Current { object: known, body: None }, &desired).await)?
                {
                    return Ok(changed);
                }
            }
            let exists = match post(body).await {
                Err(error) if error.is_already_exists() => error,
                Err(error) => return Err(error),
                Ok(created) => {
                    if matches!(desired.drift_of::<T>(&created, created.meta()), Ok(Drift::Unshown)) {
                        cx.add_compared(&created, &desired);
                    }
                    return Ok(created);
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
async fn lay_over<T>(cx: &Context, current: Current<T>, desired: &Desired) -> Result<Found<T>, ActError>
where
    T: Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let is_read = AtomicBool::new(false);
    let step = |current: &Current<T>| {
        is_read.fetch_or(current.body.is_some(), Relaxed);
        step(current, desired, || cx.was_compared(&current.object, desired))
    };
    let changed = patch_current(cx, current, Part::Object, step).await?;
    if is_read.into_inner() {
        cx.add_compared(&changed, desired);
    }
    Ok(changed)
}

/// The patch that is due in this state. `was_compared` tells whether all of the object was.
fn step<T: Serialize + DeserializeOwned>(
    current: &Current<T>,
    desired: &Desired,
    was_compared: impl Fn() -> bool,
) -> Result<Step, ActError> {
    let refused = |error| ActError::Change { key: current.object.key().clone(), error };
    if let Some(raw) = current.raw()? {
        return Ok(desired.lay_over_as::<T>(&raw).map_err(refused)?.map_or(Step::Done, Step::Patch));
    }
    let drift = desired.drift_of::<T>(&current.object, current.object.meta()).map_err(refused)?;
    Ok(match drift {
        Drift::None => Step::Done,
        Drift::Unshown if was_compared() => Step::Done,
        Drift::Patch(patch) => Step::PatchFirst(patch),
        Drift::Unshown | Drift::NeedsRaw => Step::Read,
    })
}

/// Whether the object is that of its owner, if one was named. One that is not is awaited.
fn check_owner<T>(cx: &Context, object: &Found<T>, owner: Option<&Owner>) -> Result<(), ActError>
where
    T: Send + Sync + 'static,
{
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

impl<T> fmt::Debug for Ensure<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ensure").field("key", &self.body.key).finish_non_exhaustive()
    }
}
