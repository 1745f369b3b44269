//! The body of a request that says what an object is to be.

use super::patch::{Current, send, send_for};
use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::controller::owners::{add_controller, reference_to};
use crate::informers::{Found, InformerHandle};
use listwatch_core::Key;
use listwatch_core::api::{Api, ApiCall};
use listwatch_core::change::Desired;
use listwatch_core::object::Uid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// An object as the program wrote it, with its kind, name and namespace, or why it is not sent.
pub(super) struct Body<'a, T> {
    pub(super) cx: &'a Context,
    pub(super) informer: &'a InformerHandle<T>,
    pub(super) key: Key,
    pub(super) name: Name,
    json: Result<Value, String>,
    pub(super) owner: Option<Owner>,
}

/// What the key says of the object's name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Name {
    Whole,
    /// The server completes it.
    Prefix,
}

/// The owner that was named.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) uid: Option<Uid>,
    /// Such as `Foo web/foo`.
    pub(super) title: String,
    pub(super) kind: Option<String>,
    pub(super) name: String,
    is_terminating: bool,
}

impl<O> From<&Found<O>> for Owner {
    fn from(owner: &Found<O>) -> Self {
        Self {
            uid: owner.meta().uid(),
            title: owner.title(),
            kind: owner.informer().kind().map(str::to_owned),
            name: owner.meta().name().to_owned(),
            is_terminating: owner.is_terminating(),
        }
    }
}

impl<'a, T> Body<'a, T> {
    /// It is not sent if it cannot be written as an object, or says another kind, name or namespace.
    pub(super) fn new(
        cx: &'a Context,
        informer: &'a InformerHandle<T>,
        key: Key,
        object: &(impl Serialize + ?Sized),
    ) -> Self {
        let json = check_key(informer, &key).and_then(|()| {
            let mut json =
                serde_json::to_value(object).map_err(|error| format!("the body cannot be written: {error}"))?;
            fill_in(&mut json, informer, &key)?;
            Ok(json)
        });
        Self { cx, informer, key, name: Name::Whole, json, owner: None }
    }

    /// Changes the body, unless it is not sent anyway.
    pub(super) fn edited(mut self, edit: impl FnOnce(&mut Value, &InformerHandle<T>) -> Result<(), String>) -> Self {
        self.json = self.json.and_then(|mut json| edit(&mut json, self.informer).map(|()| json));
        self
    }

    /// The name of the key is the beginning of the object's.
    pub(super) fn generating_name(mut self) -> Self {
        let prefix = self.key.name().to_owned();
        self.name = Name::Prefix;
        self.edited(|json, _| {
            let metadata = json["metadata"].as_object_mut().ok_or("metadata of the body is no JSON object")?;
            metadata.remove("name");
            fill(metadata, "metadata.generateName", &prefix)
        })
    }

    /// The fields that it names.
    ///
    /// # Errors
    /// It is not sent.
    pub(super) fn desired(&self) -> Result<Desired, ActError> {
        let json = self.json.as_ref().map_err(|why| ActError::refused(&self.key, why))?;
        Desired::new(json).map_err(|error| ActError::Change { key: self.key.clone(), error })
    }

    /// Makes `owner` the controller of the object. If the owner is being deleted, the body is not sent.
    pub(super) fn owned_by<O>(mut self, owner: &Found<O>) -> Self {
        let reference = reference_to(owner, self.informer, &self.key);
        self.cx.state().warn_unfollowed(self.cx.key(), self.informer.resource().path());
        self.owner = Some(owner.into());
        self.edited(|json, _| add_controller(owners(json)?, reference?))
    }

    /// Sends the request that `call` makes of the body.
    pub(super) async fn send(
        self,
        call: impl FnOnce(&Api<T>, &Key, &Value) -> ApiCall<T>,
    ) -> Result<Current<T>, ActError>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        let Self { cx, informer, key, .. } = &self;
        let call = call(&informer.api_for(key), key, self.json()?);
        match self.name {
            Name::Whole => send(cx, informer, key, call).await,
            Name::Prefix => send_for(cx, informer, key, call, |created| is_completed(created, key)).await,
        }
    }

    /// What is sent.
    ///
    /// # Errors
    /// It is not sent.
    pub(super) fn json(&self) -> Result<&Value, ActError> {
        let json = self.json.as_ref().map_err(|why| ActError::refused(&self.key, why))?;
        match &self.owner {
            Some(Owner { title, is_terminating: true, .. }) => {
                Err(ActError::OwnerTerminating { key: self.key.clone(), owner: title.clone() })
            }
            _ => Ok(json),
        }
    }
}

// Without what it says: that may be a secret.
listwatch_core::summary!(impl[T] "Body" for Body<'_, T>, |it| { key: it.key });

/// As many bytes of a prefix does a server keep (apiserver `maxGeneratedNameLength`).
const LONGEST_PREFIX: usize = 58;

/// Whether a server may have completed a name so.
fn is_completed(created: &Key, prefix: &Key) -> bool {
    let kept = prefix.name().get(..LONGEST_PREFIX).unwrap_or_else(|| prefix.name());
    created.namespace() == prefix.namespace() && created.name().starts_with(kept)
}

/// Whether an object of the informer can be under the key, as far as is known.
fn check_key<T>(informer: &InformerHandle<T>, key: &Key) -> Result<(), String> {
    let kind = informer.kind().unwrap_or_default();
    match (informer.is_namespaced(), key.namespace()) {
        _ if key.name().is_empty() => Err("the key names no object".to_owned()),
        (Some(true), None) => Err(format!("a {kind} has a namespace, and the key names none")),
        (Some(false), Some(_)) => Err(format!("a {kind} has no namespace, and the key names one")),
        _ => Ok(()),
    }
}

fn fill_in<T>(json: &mut Value, informer: &InformerHandle<T>, key: &Key) -> Result<(), String> {
    let fields = json.as_object_mut().ok_or("the body is no JSON object")?;
    fill(fields, "apiVersion", &informer.api_version())?;
    if let Some(kind) = informer.kind() {
        fill(fields, "kind", kind)?;
    }
    let metadata = metadata(fields)?;
    fill(metadata, "metadata.name", key.name())?;
    fill(metadata, "metadata.namespace", key.namespace().unwrap_or_default())
}

/// Sets a field that is absent, null or empty. Another value is a mistake.
fn fill(fields: &mut Map<String, Value>, place: &str, value: &str) -> Result<(), String> {
    let name = place.rsplit('.').next().unwrap_or(place);
    match fields.get(name).filter(|known| !known.is_null() && *known != "") {
        Some(known) if known == value => {}
        Some(known) => {
            let known = known.as_str().map_or_else(|| known.to_string(), str::to_owned);
            let value =
                if value.is_empty() { "the object has none".to_owned() } else { format!("the object's is {value}") };
            return Err(format!("{place} of the body is {known}, and {value}"));
        }
        None if value.is_empty() => drop(fields.remove(name)),
        None => drop(fields.insert(name.to_owned(), value.into())),
    }
    Ok(())
}

fn metadata(fields: &mut Map<String, Value>) -> Result<&mut Map<String, Value>, String> {
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    Ok(metadata.as_object_mut().ok_or("metadata of the body is no JSON object")?)
}

fn owners(json: &mut Value) -> Result<&mut Vec<Value>, String> {
    let owners = &mut json["metadata"]["ownerReferences"];
    if owners.is_null() {
        *owners = json!([]);
    }
    Ok(owners.as_array_mut().ok_or("metadata.ownerReferences of the body is no list")?)
}
