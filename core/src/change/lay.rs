//! Lays a change over the raw object: the raw object with the differences between `before` and `after`, and no others.

use super::elements::sources;
use super::error::{ChangeError, ChangeErrorKind};
use super::place::Place;
use super::value::{fields, find_unknown, is_scalar, names, same};
use alloc::string::String;
use alloc::vec::Vec;
use serde_json::{Map, Value};

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
