use super::body::Body;
use super::current::Current;
use super::error::ActError;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use core::fmt;
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::api::ApiError;
use listwatch_core::object::Uid;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The creation of an object: [`Context::create`](crate::controller::Context::create). It is sent when it is awaited.
#[must_use = "nothing is created until it is awaited"]
pub struct Create<'a, T> {
    body: Body<'a, T>,
    /// The owner that was named.
    owner: Option<Uid>,
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
        Create { body: Body::new(self, informer, key.into(), object), owner: None }
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
        Self { body: self.body.owned_by(owner), owner: owner.meta().uid() }
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Create<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { body, owner } = self;
        let (cx, informer, key) = (body.cx, body.informer, body.key.clone());
        Box::pin(async move {
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
pub(super) async fn post<T>(body: Body<'_, T>) -> Result<Current<T>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    let cx = body.cx;
    body.send(|api, _, body| api.create(body).with_query("fieldManager", cx.field_manager())).await
}

/// The object that an earlier attempt has created for this owner.
async fn created_before<T>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
    owner: Option<Uid>,
) -> Result<Option<Found<T>>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
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
pub(super) async fn existing<T>(
    cx: &Context,
    informer: &InformerHandle<T>,
    key: &Key,
) -> Result<Option<Current<T>>, ActError>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
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

impl<T> fmt::Debug for Create<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Create").field("key", &self.body.key).finish_non_exhaustive()
    }
}
