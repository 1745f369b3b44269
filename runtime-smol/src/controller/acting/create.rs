use super::body::{add_owner, body_of};
use super::error::ActError;
use super::owner_reference::owner_reference;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use core::borrow::Borrow;
use core::fmt;
use core::pin::Pin;
use listwatch_core::Key;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The creation of an object: [`Context::create`](crate::controller::Context::create). It is sent when it is awaited.
#[must_use = "nothing is created until it is awaited"]
pub struct Create<'a, T> {
    cx: &'a Context,
    informer: &'a InformerHandle<T>,
    key: Key,
    body: Result<Value, ActError>,
}

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
        let key = key.borrow();
        Create { cx: self, informer, key: key.clone(), body: body_of(informer, key, object) }
    }
}

impl<T> Create<'_, T> {
    /// Makes `owner` the controller of the new object, which is deleted after its owner (controller-runtime
    /// `SetControllerReference`).
    ///
    /// An owner of another namespace is refused, and so is one with a namespace if the object has none: the garbage
    /// collector would delete the object.
    pub fn owned_by<O>(mut self, owner: &Found<O>) -> Self {
        self.body = self.body.and_then(|mut body| {
            let reference = owner_reference(self.informer, &self.key, owner);
            add_owner(&mut body, &self.key, reference.map_err(|why| ActError::refused(&self.key, why))?)?;
            Ok(body)
        });
        self
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Create<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { cx, informer, key, body } = self;
        Box::pin(async move {
            let body = body?;
            let call = informer.api_for::<T>(&key).create(&body).with_query("fieldManager", cx.field_manager());
            Ok(Found::new(cx.write(informer, call.with_meta()).await?.into(), informer))
        })
    }
}

impl<T> fmt::Debug for Create<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Create").field("key", &self.key).finish_non_exhaustive()
    }
}
