//! A body that is laid over an object: the object gets the fields that the body names.

use super::elements::sources;
use super::error::{ChangeError, ChangeErrorKind, Place};
use super::merge_patch::patch_to;
use super::pending::Part;
use super::seen::{Lists, Shows, View, view};
use super::value::{check_levels, fields, same, written};
use crate::object::Meta;
use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The fields that an object is to have, as a body names them. All else about the object stays as it is.
///
/// | in the body | in the object |
/// |---|---|
/// | a scalar | that value |
/// | an object | these fields, beside those that the object has otherwise |
/// | a list | these elements, in this order, and no others |
/// | a null | as it is |
/// | an empty list, where the object has none | as it is |
///
/// An element of a list gets the fields that the body names for it, too. It is the element of the object that has the
/// same key, or the same value, or the same position; see [the rules](super#which-element-is-which). Any other element
/// is as the body has it.
///
/// So a field that the body does not name any more stays, and so does a key of a map. [`exactly`](Self::exactly) names the
/// places where that is wrong, such as the data of a ConfigMap.
///
/// Four things are left out, because requests of their own change them: `status`, `metadata.ownerReferences`,
/// `metadata.finalizers`, and the fields that identify the object.
///
/// ```
/// use listwatch_core::change::Desired;
/// use serde_json::{Value, json};
///
/// let desired = Desired::new(&json!({ "spec": { "replicas": 2, "containers": [{ "name": "web", "image": "web:2" }] } }))?;
/// let raw = json!({ "spec": { "paused": true, "containers": [{ "name": "web", "image": "web:1", "tty": true }] } });
/// let patch = desired.lay_over_as::<Value>(&raw)?;
/// let web = json!({ "name": "web", "image": "web:2", "tty": true });
/// assert_eq!(patch, Some(json!({ "spec": { "replicas": 2, "containers": [web] } })));
/// # Ok::<(), listwatch_core::change::ChangeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Desired {
    body: Value,
    /// The places (RFC 6901) where the object has what the body names, and no more.
    exact: Vec<String>,
}

/// The difference between an object and a [`Desired`] body, as far as a type shows the object.
///
/// A caller acts on every variant. One that skips an unknown variant would lose a change, so the list is complete.
#[derive(Clone, Debug, PartialEq)]
pub enum Drift {
    /// The object has what the body names.
    None,
    /// The type shows no difference, and does not show all that the body names.
    Unshown,
    /// This merge patch ends the differences that the type shows. The caller adds `metadata.resourceVersion`, and lays
    /// the body over the answer.
    Patch(Value),
    /// A list or the metadata differs: the raw object is needed.
    NeedsRaw,
}

/// The fields that a body is not laid over, beside those of the metadata.
const LEFT_OUT: &[&str] = &["apiVersion", "kind", "status"];
const LEFT_OUT_OF_METADATA: &[&str] = &["name", "namespace", "ownerReferences", "finalizers"];

impl Desired {
    /// Takes what a body names.
    ///
    /// # Errors
    /// If the body cannot be written as a JSON object, or has more than 128 levels.
    pub fn new(body: &(impl Serialize + ?Sized)) -> Result<Self, ChangeError> {
        let mut body = written(body)?;
        remove(&mut body, LEFT_OUT);
        if let Some(metadata) = body.get_mut("metadata") {
            remove(metadata, LEFT_OUT_OF_METADATA);
        }
        Ok(Self { body, exact: Vec::new() })
    }

    /// Gives the object at this place (RFC 6901, such as `/data` or `/spec/strategy`) what the body names there, and no
    /// more: other fields and keys are removed. Where a server adds defaults, each comparison finds them again.
    ///
    /// No type shows whether there is more. So [`drift_of`](Self::drift_of) tells no [`Drift::None`] any more.
    ///
    /// ```
    /// use listwatch_core::change::Desired;
    /// use serde_json::{Value, json};
    ///
    /// let desired = Desired::new(&json!({ "data": { "a": "1" } }))?.exactly("/data")?;
    /// let patch = desired.lay_over_as::<Value>(&json!({ "data": { "a": "1", "b": "2" } }))?;
    /// assert_eq!(patch, Some(json!({ "data": { "b": null } })));
    /// # Ok::<(), listwatch_core::change::ChangeError>(())
    /// ```
    ///
    /// # Errors
    /// If the body names nothing there.
    pub fn exactly(mut self, place: &str) -> Result<Self, ChangeError> {
        if place.is_empty() || self.body.pointer(place).is_none() {
            return Err(ChangeError::at(Place::Root.field(place), ChangeErrorKind::Unnamed));
        }
        self.exact.push(place.to_owned());
        Ok(self)
    }

    /// Compares the body with an object as its type shows it. Labels and annotations are those of `meta`, too, as far as
    /// it keeps them.
    ///
    /// # Errors
    /// If the type cannot be written as a JSON object.
    pub fn drift_of<T: Serialize + DeserializeOwned>(&self, object: &T, meta: &Meta) -> Result<Drift, ChangeError> {
        if !self.has_metadata_of(meta) {
            return Ok(Drift::NeedsRaw);
        }
        let before = written(object)?;
        let mut laid = before.clone();
        self.lay_over(&mut laid)?;
        // What the type does not know of the body is lost here.
        let Ok(after) = T::deserialize(&laid) else { return Ok(Drift::NeedsRaw) };
        let after = written(&after)?;
        if self.exact.iter().any(|place| before.pointer(place) != after.pointer(place)) {
            return Ok(Drift::NeedsRaw);
        }
        Ok(match patch_of(&self.body, &before, &after) {
            None => Drift::NeedsRaw,
            Some(patch) if patch.is_empty() && self.exact.is_empty() && self.is_shown_in(&after, meta) => Drift::None,
            Some(patch) if patch.is_empty() => Drift::Unshown,
            Some(patch) if patch.contains_key("metadata") => Drift::NeedsRaw,
            Some(patch) => Drift::Patch(Value::Object(patch)),
        })
    }

    /// The merge patch after which the raw object has what the body names; `None` if it has that. The caller adds
    /// `metadata.resourceVersion`.
    ///
    /// # Errors
    /// If the body names another value of a field that the server alone sets. If `T` cannot read the object with the
    /// change.
    pub fn lay_over_as<T: DeserializeOwned>(&self, raw: &Value) -> Result<Option<Value>, ChangeError> {
        check_levels(raw)?;
        let mut laid = raw.clone();
        self.lay_over(&mut laid)?;
        Part::Object.check(raw, &laid)?;
        let patch = patch_to(&laid, raw)?;
        if patch.is_some() {
            let unreadable = |error: serde_json::Error| ChangeErrorKind::Unreadable(error.to_string());
            T::deserialize(&laid).map_err(|error| ChangeError::at(Place::Root, unreadable(error)))?;
        }
        Ok(patch)
    }

    /// What the body names of an object, as its type shows it. Labels are those of `meta`, too.
    ///
    /// # Errors
    /// As [`drift_of`](Self::drift_of).
    pub fn view_of<T: Serialize + DeserializeOwned>(&self, object: &T, meta: &Meta) -> Result<View, ChangeError> {
        let before = written(object)?;
        let labels: Vec<_> = fields(&self.body["metadata"]["labels"]).map(|(name, _)| meta.label(name)).collect();
        let seen = Value::from_iter([self.view_of_raw(&before), Value::from_iter(labels)]);
        let mut laid = before;
        self.lay_over(&mut laid)?;
        // A type that cannot read it shows nothing of it.
        let after = T::deserialize(&laid).map_or(Ok(Value::Null), |after| written(&after))?;
        let shows = match () {
            () if self.exact.is_empty() && self.is_shown_in(&after, meta) => Shows::All,
            () if !self.is_exact_in_metadata() && self.is_metadata_shown_in(&after, meta) => Shows::Metadata,
            () => Shows::Part,
        };
        Ok(View { seen, shows })
    }

    /// What the body names of a raw object: values that are equal as long as these are.
    pub fn view_of_raw(&self, raw: &Value) -> Value {
        let exact = self.exact.iter().map(|place| raw.pointer(place).cloned().unwrap_or_default());
        Value::from_iter([view(Place::Root, &self.body, raw, Lists::Whole)].into_iter().chain(exact))
    }

    /// Gives `target` what the body names.
    fn lay_over(&self, target: &mut Value) -> Result<(), ChangeError> {
        let absent: Vec<bool> = self.exact.iter().map(|place| target.pointer(place).is_none()).collect();
        lay(Place::Root, &self.body, target)?;
        for (place, is_absent) in self.exact.iter().zip(absent) {
            let (Some(laid), Some(body)) = (target.pointer_mut(place), self.body.pointer(place)) else { continue };
            // A server leaves out a map that is empty.
            let is_empty = body.as_object().is_some_and(Map::is_empty);
            *laid = if is_absent && is_empty { Value::Null } else { body.clone() };
        }
        Ok(())
    }

    /// Whether an object as its type writes it has all that the body names, or its metadata has.
    fn is_shown_in(&self, written: &Value, meta: &Meta) -> bool {
        let mut others = fields(&self.body).filter(|(name, _)| *name != "metadata");
        self.is_metadata_shown_in(written, meta) && others.all(|(name, value)| has(&written[name], value))
    }

    /// Whether others may add to metadata that the body has alone.
    fn is_exact_in_metadata(&self) -> bool {
        self.exact.iter().any(|place| place.starts_with("/metadata"))
    }

    fn is_metadata_shown_in(&self, written: &Value, meta: &Meta) -> bool {
        let is_kept = |name| name == "labels" || (name == "annotations" && meta.annotations().is_some());
        let mut others = fields(&self.body["metadata"]).filter(|(name, _)| !is_kept(*name));
        others.all(|(name, value)| has(&written["metadata"][name], value))
    }

    /// Whether the labels and annotations are those that the body names.
    fn has_metadata_of(&self, meta: &Meta) -> bool {
        let metadata = &self.body["metadata"];
        let has_label = |(name, value): (&str, &Value)| meta.label(name).is_some_and(|known| *value == *known);
        let has_annotation = |(name, value): (&str, &Value)| {
            let known = meta.annotations();
            known.is_none_or(|mut known| known.any(|(known, text)| known == name && *value == *text))
        };
        fields(&metadata["labels"]).all(has_label) && fields(&metadata["annotations"]).all(has_annotation)
    }
}

/// Whether a value has all that a body names. A list that is empty may be left out.
fn has(written: &Value, body: &Value) -> bool {
    match (written, body) {
        (written, Value::Object(_)) if written.is_object() => {
            fields(body).all(|(name, value)| has(&written[name], value))
        }
        (Value::Array(written), Value::Array(body)) => {
            written.len() == body.len() && written.iter().zip(body).all(|(written, body)| has(written, body))
        }
        (Value::Null, Value::Array(body)) => body.is_empty(),
        (written, body) => same(written, body),
    }
}

fn remove(fields: &mut Value, names: &[&str]) {
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Gives `target` what the body names.
fn lay(place: Place<'_>, body: &Value, target: &mut Value) -> Result<(), ChangeError> {
    match (body, target) {
        (Value::Object(body), Value::Object(target)) => {
            for (name, value) in body {
                lay_field(place.field(name), name, value, target)?;
            }
        }
        (Value::Array(body), Value::Array(target)) => lay_elements(place, body, target)?,
        (body, target) if same(body, target) => {}
        (body, target) => *target = body.clone(),
    }
    Ok(())
}

fn lay_field(place: Place<'_>, name: &str, value: &Value, target: &mut Map<String, Value>) -> Result<(), ChangeError> {
    match target.get_mut(name).filter(|known| !known.is_null()) {
        Some(known) => lay(place, value, known),
        // Servers leave out a list that is empty.
        None if value.as_array().is_some_and(Vec::is_empty) => Ok(()),
        None => {
            target.insert(name.into(), value.clone());
            Ok(())
        }
    }
}

fn lay_elements(place: Place<'_>, body: &[Value], target: &mut Vec<Value>) -> Result<(), ChangeError> {
    let sources = sources(place, target, body, target)?.of;
    let laid = body.iter().zip(sources).enumerate().map(|(at, (value, source))| {
        let mut element = source.map_or(Value::Null, |source| target[source].take());
        lay(place.element(at), value, &mut element)?;
        Ok(element)
    });
    *target = laid.collect::<Result<_, ChangeError>>()?;
    Ok(())
}

/// The values of the body where `after` is not `before`; none if a list is among them.
fn patch_of(body: &Value, before: &Value, after: &Value) -> Option<Map<String, Value>> {
    let differing = fields(body).filter(|(name, _)| !same(&before[*name], &after[*name]));
    let patch = differing.map(|(name, value)| {
        let (before, after) = (&before[name], &after[name]);
        let value = match value {
            Value::Object(_) if before.is_object() => Value::Object(patch_of(value, before, after)?),
            value if before.is_array() || has_list(value) => return None,
            value => value.clone(),
        };
        Some((name.into(), value))
    });
    patch.collect()
}

fn has_list(value: &Value) -> bool {
    value.is_array() || fields(value).any(|(_, value)| has_list(value))
}

#[cfg(test)]
mod tests;
