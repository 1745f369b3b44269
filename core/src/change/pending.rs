use super::elements::sources;
use super::error::{ChangeError, ChangeErrorKind, Place};
use super::merge_patch::{merge_patch, needs_raw, patch_to};
use super::value::{check_levels, fields, find_unknown, is_scalar, names, same, same_but, written};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A change, as far as the value before and after say it.
///
/// A caller acts on every variant. One that skips an unknown variant would lose a change, so the list is complete.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The values are equal.
    Nothing,
    /// The merge patch. The caller adds `metadata.resourceVersion`, so that a conflict is one.
    Patch(Value),
    /// The merge patch would replace a list, or remove a list or an object: the raw object is needed.
    NeedsRaw(PendingChange),
}

/// A change that needs the raw object.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingChange {
    before: Value,
    after: Value,
}

/// Compares a value before and after a change of one part of its object.
///
/// ```
/// use listwatch_core::change::{Change, Part, change};
/// use serde::Serialize;
/// use serde_json::json;
///
/// #[derive(Clone, Serialize)]
/// struct Pod {
///     spec: Spec,
/// }
///
/// #[derive(Clone, Serialize)]
/// struct Spec {
///     containers: Vec<Container>,
/// }
///
/// #[derive(Clone, Serialize)]
/// struct Container {
///     image: String,
/// }
///
/// let before = Pod { spec: Spec { containers: vec![Container { image: "web:1".to_owned() }] } };
/// let mut after = before.clone();
/// after.spec.containers[0].image = "web:2".to_owned();
///
/// let Change::NeedsRaw(change) = change(&before, &after, Part::Object)? else { unreachable!("a list differs") };
/// let raw = json!({ "spec": { "containers": [{ "name": "web", "image": "web:1", "tty": true }] } });
/// let patch = change.lay_over(&raw)?;
/// assert_eq!(patch, Some(json!({ "spec": { "containers": [{ "name": "web", "image": "web:2", "tty": true }] } })));
/// # Ok::<(), listwatch_core::change::ChangeError>(())
/// ```
///
/// # Errors
/// If a value cannot be written as a JSON object, or has more than 128 levels. If the values differ outside of the
/// part, or in a field that the server alone sets.
pub fn change<T: Serialize + ?Sized>(before: &T, after: &T, part: Part) -> Result<Change, ChangeError> {
    let (before, after) = (written(before)?, written(after)?);
    if same(&before, &after) {
        return Ok(Change::Nothing);
    }
    part.check(&before, &after)?;
    if part == Part::Object && same_but("observedGeneration", &before, &after) {
        return Ok(Change::Nothing);
    }
    if needs_raw(&before, &after) {
        return Ok(Change::NeedsRaw(PendingChange { before, after }));
    }
    merge_patch(Place::Root, &before, &after).map(Change::Patch)
}

impl PendingChange {
    /// The merge patch; `None` if the raw object has nothing to change. The caller adds `metadata.resourceVersion`.
    ///
    /// `raw` is the object that the value before was decoded from, in the same version.
    ///
    /// # Errors
    /// If the change is ambiguous or would lose fields that the type does not know.
    pub fn lay_over(&self, raw: &Value) -> Result<Option<Value>, ChangeError> {
        patch_to(&self.laid(raw)?, raw)
    }

    /// The merge patch as by [`lay_over`](Self::lay_over), if `T` can read the object with the change.
    ///
    /// A type that reads a field under an alias cannot read an object that has the field under both names.
    ///
    /// # Errors
    /// As [`lay_over`](Self::lay_over), or if `T` cannot read the object with the change.
    pub fn lay_over_as<T: DeserializeOwned>(&self, raw: &Value) -> Result<Option<Value>, ChangeError> {
        let laid = self.laid(raw)?;
        let unreadable = |error: serde_json::Error| ChangeErrorKind::Unreadable(error.to_string());
        T::deserialize(&laid).map_err(|error| ChangeError::at(Place::Root, unreadable(error)))?;
        patch_to(&laid, raw)
    }

    /// The raw object with the change.
    fn laid(&self, raw: &Value) -> Result<Value, ChangeError> {
        check_levels(raw)?;
        self.check_version(raw)?;
        lay(&self.before, &self.after, raw)
    }

    /// The version of the value before is known if the type has it.
    fn check_version(&self, raw: &Value) -> Result<(), ChangeError> {
        let (metadata, name) = (Place::Root.field("metadata"), "resourceVersion");
        let (known, found) = (&self.before["metadata"][name], &raw["metadata"][name]);
        if known.is_null() || found.is_null() || known == found {
            return Ok(());
        }
        Err(ChangeError::at(metadata.field(name), ChangeErrorKind::OtherVersion))
    }
}

/// `raw` with what `after` has otherwise than `before`. A null stands for an absent value.
pub(super) fn lay(before: &Value, after: &Value, raw: &Value) -> Result<Value, ChangeError> {
    Lay { is_certain: true }.value(Place::Root, before, after, raw)
}

struct Lay {
    /// Whether the raw value is surely the one before. Among elements without a key that change at once, it may not be.
    is_certain: bool,
}

impl Lay {
    fn value(&self, place: Place<'_>, before: &Value, after: &Value, raw: &Value) -> Result<Value, ChangeError> {
        match (before, after, raw) {
            _ if same(before, after) => Ok(raw.clone()),
            // The type leaves out what it takes for a default: the change alone says what the value is.
            (Value::Null, _, raw) if is_scalar(raw) => Ok(after.clone()),
            (Value::Null | Value::Object(_), Value::Object(_), Value::Null | Value::Object(_)) => {
                self.fields(place, before, after, raw)
            }
            (Value::Null | Value::Array(_), Value::Array(after), Value::Null | Value::Array(_)) => {
                self.elements(place, elements(before), after, elements(raw)).map(Value::Array)
            }
            // No element is left. A type often leaves out a list that is empty.
            (Value::Array(before), Value::Null, Value::Array(raw)) => {
                self.elements(place, before, &[], raw).map(|_| Value::Null)
            }
            (Value::Object(_), Value::Object(_), _) | (Value::Array(_), Value::Array(_), _) => {
                Err(ChangeError::at(place, ChangeErrorKind::Converted))
            }
            _ => replace(place, before, after, raw),
        }
    }

    fn fields(&self, place: Place<'_>, before: &Value, after: &Value, raw: &Value) -> Result<Value, ChangeError> {
        let mut laid = raw.as_object().cloned().unwrap_or_default();
        for name in names(before, after) {
            let (old, new) = (&before[name], &after[name]);
            if !same(old, new) {
                check_name(place, name, before, after, raw)?;
                lay_field(&mut laid, name, self.value(place.field(name), old, new, &raw[name])?);
            }
        }
        Ok(Value::Object(laid))
    }

    fn elements(
        &self,
        place: Place<'_>,
        before: &[Value],
        after: &[Value],
        raw: &[Value],
    ) -> Result<Vec<Value>, ChangeError> {
        let sources = sources(place, before, after, raw)?;
        if !self.is_certain && sources.loses {
            return Err(ChangeError::at(place, ChangeErrorKind::Moved));
        }
        let inner = Self { is_certain: self.is_certain && sources.is_certain };
        let laid = after.iter().zip(sources.of).map(|(after, source)| match source {
            Some(index) => inner.value(place.element(index), &before[index], after, &raw[index]),
            None => Ok(after.clone()),
        });
        laid.collect()
    }
}

fn lay_field(fields: &mut Map<String, Value>, name: &str, value: Value) {
    if !value.is_null() {
        fields.insert(name.into(), value);
    } else if fields.get(name).is_some_and(|value| !value.is_null()) {
        fields.remove(name);
    }
}

/// Refuses a change of a field that the raw object does not have under this name, but under another one.
fn check_name(place: Place<'_>, name: &str, before: &Value, after: &Value, raw: &Value) -> Result<(), ChangeError> {
    if before[name].is_null() || !raw[name].is_null() {
        return Ok(());
    }
    let is_alias = |(other, value): &(&str, &Value)| {
        before[*other].is_null() && after[*other].is_null() && is_shown(&before[name], value)
    };
    fields(raw).find(is_alias).map_or(Ok(()), |(other, _)| {
        Err(ChangeError::at(place.field(name), ChangeErrorKind::Alias(place.field(other).path())))
    })
}

/// Whether a type may have made `shown` of this value: they have a scalar in common.
fn is_shown(shown: &Value, raw: &Value) -> bool {
    match (shown, raw) {
        (Value::Object(_), Value::Object(_)) => fields(shown).any(|(name, shown)| is_shown(shown, &raw[name])),
        (Value::Array(shown), Value::Array(raw)) => shown.iter().zip(raw).any(|(shown, raw)| is_shown(shown, raw)),
        _ => !shown.is_null() && same(shown, raw),
    }
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A removal, or a value of another form.
fn replace(place: Place<'_>, before: &Value, after: &Value, raw: &Value) -> Result<Value, ChangeError> {
    match find_unknown(place, before, raw) {
        Some(field) => Err(ChangeError::at(place, ChangeErrorKind::Unknown(field))),
        None => Ok(after.clone()),
    }
}

/// The fields of the metadata that a server refuses to change, or sets itself.
const READ_ONLY: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The part of an object that one request changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Everything but the status. The server ignores differences in the status of a kind that has the subresource.
    Object,
    /// The status, by its subresource. The server ignores differences elsewhere.
    Status,
}

impl Part {
    /// Refuses differences that the request would not make.
    pub(super) fn check(self, before: &Value, after: &Value) -> Result<(), ChangeError> {
        let changed = names(before, after).into_iter().filter(|name| !same(&before[*name], &after[*name]));
        for name in changed {
            let place = Place::Root.field(name);
            match (self, name) {
                (Self::Status, "status") => {}
                (Self::Status, _) => return Err(ChangeError::at(place, ChangeErrorKind::NotStatus)),
                (Self::Object, "status") => return Err(ChangeError::at(place, ChangeErrorKind::Status)),
                (Self::Object, "apiVersion" | "kind") => {
                    return Err(ChangeError::at(place, ChangeErrorKind::ReadOnly));
                }
                (Self::Object, "metadata") => check_metadata(place, &before[name], &after[name])?,
                (Self::Object, _) => {}
            }
        }
        Ok(())
    }
}

fn check_metadata(place: Place<'_>, before: &Value, after: &Value) -> Result<(), ChangeError> {
    match READ_ONLY.iter().find(|name| !same(&before[**name], &after[**name])) {
        Some(name) => Err(ChangeError::at(place.field(name), ChangeErrorKind::ReadOnly)),
        None => Ok(()),
    }
}
