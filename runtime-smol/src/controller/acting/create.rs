use super::body::Body;
use super::error::ActError;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use core::borrow::Borrow;
use core::fmt;
use core::pin::Pin;
use listwatch_core::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The creation of an object: [`Context::create`](crate::controller::Context::create). It is sent when it is awaited.
#[must_use = "nothing is created until it is awaited"]
pub struct Create<'a, T>(Body<'a, T>);

impl Context {
    /// Creates an object of an informer's resource, under `key`. Its kind, name and namespace are filled in. As with
    /// [`write`](Self::write), the key that is reconciled waits until the store shows it.
    ///
    /// The object that the server returns is returned. If another object has the name, the error says so
    /// ([`ActError::is_already_exists`]).
    pub fn create<'a, T>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Borrow<Key>,
        object: &(impl Serialize + ?Sized),
    ) -> Create<'a, T> {
        Create(Body::new(self, informer, key.borrow(), object))
    }
}

impl<T> Create<'_, T> {
    /// Makes `owner` the controller of the new object, so that it is deleted after its owner (controller-runtime
    /// `SetControllerReference`). The kind of the owner has to be known: its informer is of a
    /// [`Kind`](crate::Kind), or [has one](InformerHandle::with_kind).
    ///
    /// An owner of another namespace is refused, and so is one with a namespace if the object has none: the garbage
    /// collector would delete the object.
    pub fn owned_by<O>(self, owner: &Found<O>) -> Self {
        Self(self.0.owned_by(owner))
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Create<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let cx = self.0.cx;
        Box::pin(self.0.send(|api, _, body| api.create(body).with_query("fieldManager", cx.field_manager())))
    }
}

impl<T> fmt::Debug for Create<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Create").field("key", &self.0.key).finish_non_exhaustive()
    }
}
