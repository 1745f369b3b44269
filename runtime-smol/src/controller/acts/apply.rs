//! Server-side applies.

use super::body::Body;
use super::patch::Current;
use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::controller::memory::{Act, Answer, Revision, hash_of};
use crate::controller::owners::SAY_KIND;
use crate::informers::{Found, InformerHandle};
use core::pin::Pin;
use listwatch_core::Key;
use listwatch_core::api::{Api, Patch};
use listwatch_core::change::{Shows, Wish, without_nulls};
use listwatch_core::object::Meta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A server-side apply: [`Context::apply`](crate::controller::Context::apply). It is sent when it is awaited.
#[derive(Debug)]
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
    /// While body and object are as after the last apply by this controller, no request is sent. The object is compared by
    /// its generation, labels, owners and finalizers. By its version, if it has no generation, or if the body names
    /// annotations or a status. If `T` is a `serde_json::Value`, it is compared by the fields that the body names. What the
    /// server has not stored is told as by [`ensure`](Self::ensure).
    pub fn apply<'a, T>(
        &'a self,
        informer: &'a InformerHandle<T>,
        key: impl Into<Key>,
        wanted: &(impl Serialize + ?Sized),
    ) -> Apply<'a, T> {
        Apply { body: Body::new(self, informer, key.into(), wanted).edited(leave_wanted), force: false }
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
        Box::pin(async move {
            let Self { body, force } = self;
            let (cx, manager, json) = (body.cx, body.cx.field_manager(), body.json()?.clone());
            let wanted = hash_of(&(force, &json));
            let known = body.informer.get(&body.key).map(Current::cached);
            if let Some(known) = known.filter(|known| !cx.is_outdated(&known.object))
                && is_applied(cx, &known, wanted, &json)?
            {
                return Ok(known.object);
            }
            let call = |api: &Api<T>, key: &Key, object: &Value| {
                api.patch(key.name(), &Patch::Apply { manager, force, object })
            };
            let applied = body.send(call).await?;
            settle(cx, &applied, wanted, json)?;
            Ok(applied.object)
        })
    }
}

/// Whether this was the last that was applied, and the object is as it was after it.
fn is_applied<T: 'static>(cx: &Context, known: &Current<T>, wanted: u64, json: &Value) -> Result<bool, ActError> {
    let (meta, shows) = (known.object.meta(), shown_of(json));
    let shown = hash_of_meta(json, meta);
    let stored = known.raw()?.map(|raw| hash_of(&Wish::of_applied(json.clone(), &raw)));
    Ok(cx.is_settled(&known.object, |answer| {
        (answer.act, answer.wanted) == (Act::Apply, wanted)
            && match stored {
                Some(stored) => answer.is_stored(stored, meta),
                None => answer.shown == shown && answer.state.is_that_of(meta, shows),
            }
    }))
}

/// Remembers what the server made of the body.
fn settle<T: Send + Sync + 'static>(
    cx: &Context,
    applied: &Current<T>,
    wanted: u64,
    json: Value,
) -> Result<(), ActError> {
    let Some(raw) = applied.raw()? else { return Ok(()) };
    let (object, meta) = (&applied.object, applied.object.meta());
    let shown = hash_of_meta(&json, meta);
    let wish = Wish::of_applied(json, &raw);
    cx.warn_stored_otherwise(object, &wish.places());
    let (stored, is_lost) = (hash_of(&wish), wish.is_lost());
    cx.settle(object, Answer { act: Act::Apply, wanted, shown, stored, is_lost, state: Revision::of(meta) });
    Ok(())
}

/// What a body names of the metadata that a cache has of each object.
fn hash_of_meta(json: &Value, meta: &Meta) -> u64 {
    let metadata = &json["metadata"];
    let labels = metadata["labels"].as_object().into_iter().flatten().map(|(name, _)| meta.label(name));
    let owners = meta.owner_references().map(|owner| (owner.uid, owner.controller));
    let owners = owners.filter(|_| !metadata["ownerReferences"].is_null());
    let finalizers = meta.finalizers().filter(|_| !metadata["finalizers"].is_null());
    hash_of(&(labels.collect::<Vec<_>>(), owners.collect::<Vec<_>>(), finalizers.collect::<Vec<_>>()))
}

/// What metadata tells of an object to which this is applied.
fn shown_of(json: &Value) -> Shows {
    let is_kept = |name: &str| matches!(name, "name" | "namespace" | "labels" | "ownerReferences" | "finalizers");
    let metadata = json["metadata"].as_object();
    let is_shown =
        json.get("status").is_none() && metadata.is_none_or(|fields| fields.keys().all(|name| is_kept(name)));
    if is_shown { Shows::Metadata } else { Shows::Part }
}

/// The fields of the metadata that the server alone sets.
const OF_SERVER: [&str; 6] = ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"];

/// Leaves the wanted fields alone in a body. A null is none.
fn leave_wanted<T>(body: &mut Value, informer: &InformerHandle<T>) -> Result<(), String> {
    *body = without_nulls(body.take());
    if body.get("kind").is_none() {
        return Err(format!("the kind of {} is not known; {SAY_KIND}", informer.resource().path()));
    }
    match OF_SERVER.iter().find(|field| body["metadata"].get(field).is_some()) {
        Some(field) => Err(format!("metadata.{field} of the body is the server's; apply the wanted fields alone")),
        None => Ok(()),
    }
}
