use super::body::Body;
use super::error::ActError;
use crate::controller::context::Context;
use crate::controller::own_kind::SAY_KIND;
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
    body: Body<'a, T>,
    force: bool,
}

impl Context {
    /// Applies the wanted fields to the object under `key`, and creates it if there is none (server-side apply). The
    /// field manager has the controller's name.
    ///
    /// The body has the wanted fields alone: the server gives up those that were applied before and are missing now. A
    /// field that is null is left out. As with [`write`](Self::write), the key that is reconciled waits until the store
    /// shows the object.
    ///
    /// Each call sends a request, whether or not the fields differ; [`change`](Self::change) sends none if nothing does.
    pub fn apply<'a, T>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Borrow<Key>,
        wanted: &(impl Serialize + ?Sized),
    ) -> Apply<'a, T> {
        Apply { body: Body::new(self, informer, key.borrow(), wanted).edited(leave_wanted), force: false }
    }
}

impl<T> Apply<'_, T> {
    /// Makes `owner` the controller of the object; see [`Create::owned_by`](super::Create::owned_by).
    ///
    /// An object of that name without a controller gets this owner too, and is deleted after it. If that must not be,
    /// create the object, or look at [`Found::controller`] first.
    pub fn owned_by<O>(self, owner: &Found<O>) -> Self {
        Self { body: self.body.owned_by(owner), ..self }
    }

    /// Takes the fields that other field managers own. Without it, such a field is a conflict.
    pub fn force(self) -> Self {
        Self { force: true, ..self }
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Apply<'a, T> {
    type Output = Result<Found<T>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { body, force } = self;
        let manager = body.cx.field_manager();
        Box::pin(body.send(move |api, key, object| api.patch(key.name(), &Patch::Apply { manager, force, object })))
    }
}

/// The fields of the metadata that the server alone sets.
const OF_SERVER: [&str; 6] = ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"];

/// Leaves the wanted fields alone in a body. A null is none.
fn leave_wanted<T>(body: &mut Value, informer: &InformerHandle<T>) -> Result<(), String> {
    drop_nulls(body);
    if body.get("kind").is_none() {
        return Err(format!("the kind of {} is not known; {SAY_KIND}", informer.resource().path()));
    }
    match OF_SERVER.iter().find(|field| body["metadata"].get(field).is_some()) {
        Some(field) => Err(format!("metadata.{field} of the body is the server's; apply the wanted fields alone")),
        None => Ok(()),
    }
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
        f.debug_struct("Apply").field("key", &self.body.key).field("force", &self.force).finish_non_exhaustive()
    }
}
