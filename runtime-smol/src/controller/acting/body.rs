//! The body of a request that says what an object is to be.

use super::error::ActError;
use crate::informers::InformerHandle;
use listwatch_core::Key;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The object as a body: as the program wrote it, with its kind, name and namespace.
///
/// # Errors
/// It cannot be written as an object, or says another kind, name or namespace.
pub(super) fn body_of<T>(
    informer: &InformerHandle<T>,
    key: &Key,
    object: &(impl Serialize + ?Sized),
) -> Result<Value, ActError> {
    let written = serde_json::to_value(object);
    let mut body = written.map_err(|error| ActError::refused(key, format!("the body cannot be written: {error}")))?;
    let Some(fields) = body.as_object_mut() else {
        return Err(ActError::refused(key, "the body is no JSON object"));
    };
    fill(fields, "apiVersion", Some(&informer.api_version()), key)?;
    fill(fields, "kind", informer.kind(), key)?;
    let metadata = metadata(fields, key)?;
    fill(metadata, "name", Some(key.name()), key)?;
    fill(metadata, "namespace", key.namespace(), key)?;
    Ok(body)
}

/// Adds an owner to a body.
///
/// # Errors
/// Another object controls it already.
pub(super) fn add_owner(body: &mut Value, key: &Key, owner: Value) -> Result<(), ActError> {
    let Some(fields) = body.as_object_mut() else { return Ok(()) };
    let owners = metadata(fields, key)?.entry("ownerReferences").or_insert_with(|| json!([]));
    let Some(owners) = owners.as_array_mut() else {
        return Err(ActError::refused(key, "metadata.ownerReferences of the body is no list"));
    };
    if owners.iter().any(|owner| owner["controller"] == true) {
        return Err(ActError::refused(key, "metadata.ownerReferences of the body has a controller already"));
    }
    owners.push(owner);
    Ok(())
}

fn metadata<'b>(fields: &'b mut Map<String, Value>, key: &Key) -> Result<&'b mut Map<String, Value>, ActError> {
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    metadata.as_object_mut().ok_or_else(|| ActError::refused(key, "metadata of the body is no JSON object"))
}

/// Sets a field that is absent, null or empty; another value is a mistake.
fn fill(fields: &mut Map<String, Value>, name: &str, value: Option<&str>, key: &Key) -> Result<(), ActError> {
    let known = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (known, value) {
        (Some(known), value) if Some(known) != value && (value.is_some() || name == "namespace") => {
            let value = value.unwrap_or("no namespace");
            Err(ActError::refused(key, format!("{name} of the body is {known}, and the object's is {value}")))
        }
        (None, Some(value)) => {
            fields.insert(name.to_owned(), value.into());
            Ok(())
        }
        (None, None) => {
            fields.remove(name);
            Ok(())
        }
        _ => Ok(()),
    }
}
