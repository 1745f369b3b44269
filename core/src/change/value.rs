//! Values in which a field with a null is one that is absent.

use super::error::{ChangeError, ChangeErrorKind, Place};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::Serialize;
use serde_json::{Number, Value};

/// The levels that the decoder reads, by serde_json's limit.
const MAX_LEVELS: usize = 128;

/// The fields that are not null; none if the value is no object.
pub(super) fn fields(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let all = value.as_object().into_iter().flatten();
    all.map(|(name, value)| (name.as_str(), value)).filter(|(_, value)| !value.is_null())
}

/// The names of the fields that are not null in one of two values.
pub(super) fn names<'a>(one: &'a Value, other: &'a Value) -> Vec<&'a str> {
    let more = fields(other).filter(|(name, _)| one[*name].is_null());
    fields(one).chain(more).map(|(name, _)| name).collect()
}

/// Whether two values are equal. Numbers are equal by value: `1` and `1.0`.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    same_but("", one, other)
}

/// Whether two values are equal but for the fields of this name, on every level.
pub(super) fn same_but(ignored: &str, one: &Value, other: &Value) -> bool {
    let fields = |value| fields(value).filter(|(name, _)| ignored.is_empty() || *name != ignored);
    match (one, other) {
        (Value::Object(_), Value::Object(_)) => {
            fields(one).count() == fields(other).count()
                && fields(one).all(|(name, value)| same_but(ignored, value, &other[name]))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_but(ignored, one, other))
        }
        (Value::Number(one), Value::Number(other)) => is_same_number(one, other),
        _ => one == other,
    }
}

/// A float is compared with an integer exactly, not by rounding the integer.
fn is_same_number(one: &Number, other: &Number) -> bool {
    match (integer(one), integer(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one == other,
        _ => false,
    }
}

fn integer(number: &Number) -> Option<i128> {
    let float = || {
        let float = number.as_f64()?;
        let integer = float as i128;
        (integer as f64 == float).then_some(integer)
    };
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)).or_else(float)
}

/// Whether the value is neither an object nor a list, and is not null.
pub(super) fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Object(_) | Value::Array(_))
}

/// The value without the fields that are null, on every level. In a list, a null is an element.
///
/// ```
/// use listwatch_core::change::without_nulls;
/// use serde_json::json;
///
/// let value = without_nulls(json!({ "a": null, "b": [null, { "c": null }] }));
/// assert_eq!(value, json!({ "b": [null, {}] }));
/// ```
#[must_use]
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let present = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(name, value)| (name, without_nulls(value))).collect())
        }
        Value::Array(elements) => Value::Array(elements.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

/// The path of the first field with an explicit null.
pub(super) fn find_null(place: Place<'_>, value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let place = place.field(name);
            if value.is_null() { Some(place.path()) } else { find_null(place, value) }
        }),
        Value::Array(elements) => {
            elements.iter().enumerate().find_map(|(index, value)| find_null(place.element(index), value))
        }
        _ => None,
    }
}

/// Whether the value has a number that is no integer by its form.
pub(super) fn has_float(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().any(has_float),
        Value::Array(elements) => elements.iter().any(has_float),
        scalar => scalar.is_f64(),
    }
}

/// Whether the value has more than so many levels.
pub(super) fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Object(fields) => fields.values().any(|value| is_deeper(value, below)),
        Value::Array(elements) => elements.iter().any(|value| is_deeper(value, below)),
        _ => false,
    }
}

/// The path of the first value in `raw` that `shown`, which a type makes of it, does not show. An object or a list is such
/// a value also if it is empty.
pub(super) fn find_unknown(place: Place<'_>, shown: &Value, raw: &Value) -> Option<String> {
    match (shown, raw) {
        (_, Value::Null) => None,
        (_, Value::Object(_)) if fields(raw).next().is_some() => {
            fields(raw).find_map(|(name, raw)| find_unknown(place.field(name), &shown[name], raw))
        }
        (Value::Array(shown), Value::Array(raw)) if shown.len() == raw.len() => {
            let mut pairs = shown.iter().zip(raw).enumerate();
            pairs.find_map(|(index, (shown, raw))| find_unknown(place.element(index), shown, raw))
        }
        (_, Value::Array(raw)) if !raw.is_empty() => Some(place.path()),
        _ => shown.is_null().then(|| place.path()),
    }
}

/// The value as JSON, without nulls.
pub(super) fn written<T: Serialize + ?Sized>(object: &T) -> Result<Value, ChangeError> {
    let unwritable = |why| ChangeError::at(Place::Root, ChangeErrorKind::Unwritable(why));
    let failed = |error: serde_json::Error| unwritable(error.to_string());
    let mut value = serde_json::to_value(object).map_err(failed)?;
    check_levels(&value)?;
    // An `f32` of 0.1 is 0.1 in text only: a `Value` makes an `f64` of it, 0.10000000149011612.
    if has_float(&value) {
        value = serde_json::to_string(object).and_then(|text| serde_json::from_str(&text)).map_err(failed)?;
    }
    if value.is_object() { Ok(without_nulls(value)) } else { Err(unwritable("it is another value".into())) }
}

pub(super) fn check_levels(value: &Value) -> Result<(), ChangeError> {
    if is_deeper(value, MAX_LEVELS) {
        return Err(ChangeError::at(Place::Root, ChangeErrorKind::TooDeep));
    }
    Ok(())
}
