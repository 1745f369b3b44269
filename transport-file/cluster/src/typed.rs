//! Values that have another type than they should, in the words of a server, which are those of Go.

use serde_json::{Value, json};

/// What a server says of a value of another type.
pub(super) fn mismatch(value: &Value, place: &str, wanted: &str) -> String {
    let given = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {given} into Go {place} of type {wanted}")
}

/// Takes a null for an empty text, of this type.
pub(super) fn decode_texts(value: &mut Value, place: &str, of: &str) -> Result<(), String> {
    let texts = match value {
        Value::Object(texts) => texts,
        other => return Err(mismatch(other, place, &format!("map[string]{of}"))),
    };
    texts.values_mut().filter(|text| text.is_null()).for_each(|text| *text = json!(""));
    texts.values().find(|text| !text.is_string()).map_or(Ok(()), |other| Err(mismatch(other, place, of)))
}

/// A value as Go writes it.
pub(super) fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", go_text(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        value => value.to_string(),
    }
}
