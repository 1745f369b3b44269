//! An object that is to exist, and to be as its owner wants it.

use super::body::Body;
use super::create::{existing, post};
use super::error::ActError;
use super::newest::unless_gone;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use core::borrow::Borrow;
use core::fmt;
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::object::Uid;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An object that is to exist: [`Context::ensure`](crate::controller::Context::ensure). Requests are sent when it is
/// awaited.
#[must_use = "nothing is created or changed until it is awaited"]
pub struct Ensure<'a, T, F> {
    body: Body<'a, T>,
    change: F,
    owner: Option<Owner>,
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
    /// Creates the object under `key` as `object` says, unless there is one. If there is one, `change` changes it
    /// (controller-runtime `CreateOrUpdate`).
    ///
    /// It looks into the cache, and is a [`create`](Self::create) or a [`change`](Self::change), with their rules: no
    /// request is sent if nothing differs, and the key waits until the store shows what was written. If the object exists
    /// although the cache has none, it is read and changed. If it was deleted although the cache has it, it is created.
    ///
    /// ```
    /// # #[derive(Clone, serde::Deserialize, serde::Serialize)]
    /// # struct Scale { replicas: Option<i32> }
    /// # #[derive(Clone, serde::Deserialize, serde::Serialize)]
    /// # struct Deployment { spec: Scale }
    /// # listwatch_runtime_smol::kind!(Deployment, "apps/v1", "deployments");
    /// use listwatch_runtime_smol::controller::{ActError, Context};
    /// use listwatch_runtime_smol::decode::MetadataOnly;
    /// use listwatch_runtime_smol::{Found, InformerHandle};
    /// use serde_json::Value;
    ///
    /// async fn keep(
    ///     cx: &Context,
    ///     deployments: &InformerHandle<Deployment>,
    ///     foo: &Found<MetadataOnly>,
    ///     wanted: &Value,
    /// ) -> Result<Found<Deployment>, ActError> {
    ///     cx.ensure(deployments, foo.key(), wanted, |it| it.spec.replicas = Some(3)).owned_by(foo).await
    /// }
    /// ```
    ///
    /// # Errors
    /// [`ActError::NotControlled`] if the object is not that of its [owner](Ensure::owned_by); else those of `create` and
    /// `change`.
    #[doc(alias("CreateOrUpdate", "CreateOrPatch"))]
    pub fn ensure<'a, T, F: Fn(&mut T)>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Borrow<Key>,
        object: &(impl Serialize + ?Sized),
        change: F,
    ) -> Ensure<'a, T, F> {
        Ensure { body: Body::new(self, informer, key.borrow(), object), change, owner: None }
    }
}

impl<T, F> Ensure<'_, T, F> {
    /// Makes `owner` the controller of a new object; see [`Create::owned_by`](super::Create::owned_by). An object that
    /// another one controls, or none, is not changed. That is an error, and a [warning](Context::warn) about the owner:
    /// `ErrResourceExists`, as client-go's sample controller has it. [`Context::adopt`] takes an object that none controls.
    pub fn owned_by<O>(self, owner: &Found<O>) -> Self {
        let named = Owner {
            uid: owner.meta().uid(),
            title: owner.title(),
            kind: owner.informer().kind().map(str::to_owned),
            name: owner.meta().name().to_owned(),
        };
        Self { body: self.body.owned_by(owner), owner: Some(named), ..self }
    }
}

impl<'a, T, F> IntoFuture for Ensure<'a, T, F>
where
    T: Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    F: Fn(&mut T) + Send + Sync + 'a,
{
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { body, change, owner } = self;
            let (cx, informer, key) = (body.cx, body.informer, body.key.clone());
            // A mistake is one whether or not there is an object.
            body.check()?;
            if let Some(known) = informer.get(&key) {
                check_owner(cx, &known, owner.as_ref())?;
                if let Some(changed) = unless_gone(cx.change(&known, &change).await)? {
                    return Ok(changed);
                }
            }
            let exists = match post(body).await {
                Err(error) if error.is_already_exists() => error,
                created => return created,
            };
            let Some(live) = existing(cx, informer, &key).await else { return Err(exists) };
            check_owner(cx, &live, owner.as_ref())?;
            // One that the cache may never show would be read again and again.
            if live.is_terminating() || !cx.await_state(&live) {
                return Err(exists);
            }
            cx.change(&live, &change).await
        })
    }
}

/// Whether the object is that of its owner, if one was named.
fn check_owner<T>(cx: &Context, object: &Found<T>, owner: Option<&Owner>) -> Result<(), ActError> {
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
    let error = ActError::NotControlled { key, kind, owner: owner.title.clone(), controller };
    cx.warn_about(&owner.title, "ErrResourceExists", &error.to_string());
    Err(error)
}

impl<T, F> fmt::Debug for Ensure<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ensure").field("key", &self.body.key).finish_non_exhaustive()
    }
}
