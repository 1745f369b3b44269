//! Random objects, and what matters of them.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

/// The fields of all objects; two of them are keys of elements.
pub(super) const NAMES: [&str; 8] = ["name", "port", "image", "list", "more", "x", "y", ALIAS];

/// The name under which a type may read the image.
pub(super) const ALIAS: &str = "img";

/// An object with some of these fields.
pub(super) fn object(data: &mut Unstructured<'_>, depth: u8, names: &[&str]) -> Result<Value> {
    let present: u8 = data.arbitrary()?;
    let mut fields = Map::new();
    for (_, name) in names.iter().enumerate().filter(|(bit, _)| present >> bit & 1 == 1) {
        let value = match (*name, depth) {
            ("list", 1..) => list(data, depth - 1, names)?,
            ("more", 1..) => object(data, depth - 1, names)?,
            ("name" | "image" | ALIAS, _) => json!(*data.choose(&["a", "b", "c", "d"])?),
            _ => value(data, depth.min(1), names)?,
        };
        fields.insert((*name).to_owned(), value);
    }
    Ok(Value::Object(fields))
}

/// A list of objects, or of anything.
pub(super) fn list(data: &mut Unstructured<'_>, depth: u8, names: &[&str]) -> Result<Value> {
    let header: u8 = data.arbitrary()?;
    let element = |data: &mut Unstructured<'_>| match header >> 3 {
        0..3 => value(data, depth, names),
        3..5 if depth > 0 => list(data, depth - 1, names),
        _ => object(data, depth, names),
    };
    (0..header & 7).map(|_| element(data)).collect::<Result<Vec<_>>>().map(Value::Array)
}

pub(super) fn value(data: &mut Unstructured<'_>, depth: u8, names: &[&str]) -> Result<Value> {
    let byte: u8 = data.arbitrary()?;
    Ok(match byte {
        0..32 if depth > 0 => object(data, depth - 1, names)?,
        32..48 if depth > 0 => list(data, depth - 1, names)?,
        48..56 if names.len() == NAMES.len() => Value::Null,
        56..64 => json!(byte < 60),
        64..80 => json!(f64::from(byte) / 4.0),
        80..88 => json!(u64::MAX - u64::from(byte % 2)),
        88..96 => json!(""),
        96..104 => json!({}),
        104..112 => json!([]),
        112..128 => json!(f64::from(byte % 4)),
        _ => json!(byte % 16),
    })
}

/// The value without nulls in its objects; numbers of one value are alike.
pub(super) fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let present = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(present.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Value::Array(elements) => elements.iter().map(plain).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.abs() < 1e6 && float.trunc() == float => json!(float as i64),
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// The paths of the fields that are null.
pub(super) fn nulls(value: &Value) -> Vec<String> {
    let below = |step: String, value: &Value| {
        nulls(value).into_iter().map(move |path| format!("{step}.{path}")).collect::<Vec<_>>()
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| if value.is_null() { vec![name.clone()] } else { below(name.clone(), value) })
            .collect(),
        Value::Array(elements) => {
            elements.iter().enumerate().flat_map(|(at, value)| below(at.to_string(), value)).collect()
        }
        _ => Vec::new(),
    }
}
