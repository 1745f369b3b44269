use super::body::{add_owner, body_of};
use super::error::ActError;
use super::owner_reference::owner_reference;
use crate::controller::context::Context;
use crate::informers::{Found, InformerHandle};
use core::borrow::Borrow;
use core::fmt;
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::api::Patch;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A server-side apply: [`Context::apply`](crate::controller::Context::apply). It is sent when it is awaited.
#[must_use = "nothing is applied until it is awaited"]
pub struct Apply<'a, T> {
    cx: &'a Context,
    informer: &'a InformerHandle<T>,
    key: Key,
    body: Result<Value, ActError>,
    force: bool,
}

impl Context {
    /// Applies the wanted fields to the object under `key`, and creates it if there is none (server-side apply). The
    /// field manager has the controller's name.
    ///
    /// The body has the wanted fields alone: the server gives up those that were applied before and are missing now. A
    /// field that is null is left out. As with [`write`](Self::write), the key that is reconciled waits until the store
    /// shows the object.
    pub fn apply<'a, T>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Borrow<Key>,
        wanted: &(impl Serialize + ?Sized),
    ) -> Apply<'a, T> {
        let key = key.borrow();
        Apply { cx: self, informer, key: key.clone(), body: wanted_of(informer, key, wanted), force: false }
    }
}

impl<T> Apply<'_, T> {
    /// Makes `owner` the controller of the object; see [`Create::owned_by`](super::Create::owned_by).
    pub fn owned_by<O>(mut self, owner: &Found<O>) -> Self {
        self.body = self.body.and_then(|mut body| {
            let reference = owner_reference(self.informer, &self.key, owner);
            add_owner(&mut body, &self.key, reference.map_err(|why| ActError::refused(&self.key, why))?)?;
            Ok(body)
        });
        self
    }

    /// Takes the fields that other field managers own. Without it, such a field is a conflict.
    pub fn force(mut self) -> Self {
        self.force = true;
        self
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Apply<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { cx, informer, key, body, force } = self;
        Box::pin(async move {
            let body = body?;
            let patch = Patch::Apply { manager: cx.field_manager(), force, object: &body };
            let call = informer.api_for::<T>(&key).patch(key.name(), &patch);
            Ok(Found::new(cx.write(informer, call.with_meta()).await?.into(), informer))
        })
    }
}

/// The body: the wanted fields alone. A null is none.
fn wanted_of<T>(
    informer: &InformerHandle<T>,
    key: &Key,
    wanted: &(impl Serialize + ?Sized),
) -> Result<Value, ActError> {
    let mut body = body_of(informer, key, wanted)?;
    if body.get("kind").is_none() {
        let path = informer.resource().path();
        return Err(ActError::refused(key, format!("the kind of {path} is not known; say it by with_kind(\"…\")")));
    }
    drop_nulls(&mut body);
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"] {
        if body["metadata"].get(field).is_some() {
            let why = format!("metadata.{field} is the server's; apply the wanted fields only");
            return Err(ActError::refused(key, why));
        }
    }
    Ok(body)
}

/// Removes the fields that are null. In a list, a null is an element.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

impl<T> fmt::Debug for Apply<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Apply").field("key", &self.key).field("force", &self.force).finish_non_exhaustive()
    }
}
