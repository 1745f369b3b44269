//! Creations and deletions.

use super::body::{Body, Name};
use super::patch::{Current, Decoded, is_gone, newest, unless_gone};
use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::informers::{Found, InformerHandle};
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::api::{ApiError, DeleteOptions, PropagationPolicy};
use listwatch_core::object::Uid;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The creation of an object: [`Context::create`](crate::controller::Context::create). It is sent when it is awaited.
#[derive(Debug)]
#[must_use = "nothing is created until it is awaited"]
pub struct Create<'a, T> {
    body: Body<'a, T>,
}

impl Context {
    /// Creates an object of an informer's resource, under `key`. Its kind, name and namespace are filled in. As with
    /// [`write`](Self::write), the key that is reconciled waits until the store shows it.
    ///
    /// It returns the object as the server created it. If another object has the name, the error says so
    /// ([`ActError::is_already_exists`]). An object of that name with the same [controller](Create::owned_by) is
    /// returned as it is: an earlier attempt created it, and its answer was lost. If the informer does not select that
    /// object, or has a field selector, it is the error: the cache may never show the object. If the server does not let
    /// it be read, it is the error as well, and that is [reported](Self::warn) as `ExistingNotRead`. If it cannot be
    /// decoded, that is the error. Without an owner, no object is read.
    pub fn create<'a, T>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Into<Key>,
        object: &(impl Serialize + ?Sized),
    ) -> Create<'a, T> {
        Create { body: Body::new(self, informer, key.into(), object) }
    }
}

impl<T> Create<'_, T> {
    /// Makes `owner` the controller of the new object, so that it is deleted after its owner (controller-runtime
    /// `SetControllerReference`). The kind of the owner has to be known: its informer is of a
    /// [`Kind`](crate::Kind), or [has one](InformerHandle::with_kind).
    ///
    /// An owner of another namespace is refused, and so is one with a namespace if the object has none: the garbage
    /// collector would delete the object. A body that names a controller of another uid is refused, too (client-go
    /// `ControllerRefManager`). `SetControllerReference` compares group, kind and name instead.
    ///
    /// An owner that is being deleted is the error [`ActError::OwnerTerminating`], and no request is sent: the garbage
    /// collector would delete the object. A reconcile that has nothing to do for such an owner asks
    /// [`Found::is_terminating`] first.
    pub fn owned_by<O>(self, owner: &Found<O>) -> Self {
        Self { body: self.body.owned_by(owner) }
    }

    /// Lets the server complete the name: that of the key is its beginning, such as `backup-` (`metadata.generateName`).
    ///
    /// An attempt whose answer was lost may have created an object, and the next one creates another. With an owner,
    /// [`InformerHandle::owned_by`] shows both, and [`Context::prune`] deletes one. A
    /// [name by hash](listwatch_core::object::hashed_name) has no such doubt.
    #[doc(alias = "generateName")]
    pub fn generate_name(self) -> Self {
        Self { body: self.body.generating_name() }
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Create<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { mut body } = self;
            let (cx, informer, key) = (body.cx, body.informer, body.key.clone());
            // Nobody knows the name that an earlier attempt got.
            let has_name = body.name == Name::Whole;
            let owner = body.owner.as_mut().and_then(|owner| owner.uid.take()).filter(|_| has_name);
            match post(body).await {
                Err(error) if error.is_already_exists() => match created_before(cx, informer, &key, owner).await? {
                    Some(known) => Ok(known),
                    None => Err(error),
                },
                sent => Ok(sent?.object),
            }
        })
    }
}

/// Sends the creation.
pub(super) async fn post<T: Decoded>(body: Body<'_, T>) -> Result<Current<T>, ActError> {
    let cx = body.cx;
    body.send(|api, _, body| api.create(body).with_query("fieldManager", cx.field_manager())).await
}

/// The object that an earlier attempt has created for this owner.
async fn created_before<T: Decoded>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
    owner: Option<Uid>,
) -> Result<Option<Found<T>>, ActError> {
    if owner.is_none() {
        return Ok(None);
    }
    let Some(Current { object: live, .. }) = existing(cx, informer, key).await? else { return Ok(None) };
    let controller = live.controller().and_then(|controller| controller.uid);
    if controller != owner || live.is_terminating() {
        return Ok(None);
    }
    Ok(cx.await_state(&live).then_some(live))
}

/// The object that the cache does not show yet. If the server does not let it be read, that is reported.
///
/// # Errors
/// It cannot be decoded: the cache will not show it, so the retries fail by the same.
pub(super) async fn existing<T: Decoded>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
) -> Result<Option<Current<T>>, ActError> {
    let error = match cx.live().read(informer, key).await {
        Ok((object, body)) => return Ok(Some(Current { object, body: Some(body) })),
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => error,
    };
    let message = format!("{key} exists, the cache has no such object, and it cannot be read: {error}");
    cx.warn_of_key("ExistingNotRead", &message);
    match error {
        ApiError::Unreadable(_) => Err(ActError::of_request(key, error)),
        _ => Ok(None),
    }
}

/// The deletion of an object: [`Context::delete`](crate::controller::Context::delete). It is sent when it is awaited.
#[derive(Debug)]
#[must_use = "nothing is deleted until it is awaited"]
pub struct Delete<'a, T> {
    cx: &'a Context,
    object: &'a Found<T>,
    options: DeleteOptions,
}

impl Context {
    /// Deletes this object, and never another one of its name: the request has its uid. An object that is gone already is
    /// no error. As with [`write`](Self::write), the key that is reconciled waits until the store shows it.
    pub fn delete<'a, T>(&'a self, object: &'a Found<T>) -> Delete<'a, T> {
        let mut options = DeleteOptions::default();
        options.uid = object.meta().uid();
        Delete { cx: self, object, options }
    }
}

impl<T> Delete<'_, T> {
    /// Deletes the object only if it has not changed since it was read. Otherwise it is a conflict.
    pub fn if_unchanged(mut self) -> Self {
        self.options = self.options.with_resource_version(self.object.meta().resource_version());
        self
    }

    /// Sets the policy for the object's dependents.
    pub fn with_propagation(mut self, policy: PropagationPolicy) -> Self {
        self.options = self.options.with_propagation(policy);
        self
    }

    /// Gives the object this many seconds to shut down.
    pub fn with_grace_period(mut self, seconds: u32) -> Self {
        self.options = self.options.with_grace_period(seconds);
        self
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Delete<'a, T> {
    type Output = Result<(), ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { cx, object, options } = self;
            let (informer, key) = (object.informer(), object.key());
            if options.uid.is_none() {
                return Err(ActError::refused(
                    key,
                    "the object has no uid, by which the server tells it from another one",
                ));
            }
            let deleted = cx.write(informer, informer.api_for::<T>(key).delete(key.name(), &options)).await;
            match deleted.map_err(|error| ActError::of_request(key, error)) {
                Err(error) if is_gone(&error) => Ok(()),
                // Another object has the name, or this one has changed.
                Err(error) if error.is_conflict() => match unless_gone(newest(cx, object).await) {
                    Ok(None) => Ok(()),
                    _ => Err(error),
                },
                deleted => deleted,
            }
        })
    }
}
