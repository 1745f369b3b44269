//! What a request's body says.

use super::super::refusal::Refusal;
use super::super::write::Actor;
use super::Asked;
use listwatch_transport_file::ServedKind;
use serde_json::{Value, json};

/// The body, as JSON.
pub(super) fn body(asked: &Asked<'_>, kind: &ServedKind) -> Result<Value, Refusal> {
    serde_json::from_slice(asked.call.body).map_err(|error| {
        let kind = &kind.kind;
        Refusal::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {error}"))
    })
}

/// The body, as an object of a kind. An object without a type gets it, except a custom resource of a client.
pub(super) fn object(asked: &Asked<'_>, kind: &ServedKind) -> Result<Value, Refusal> {
    let mut object = body(asked, kind)?;
    let unrecognized = |why: String| {
        let kind = &kind.kind;
        Err(Refusal::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why}")))
    };
    if !object.is_object() {
        return unrecognized("it is no object".into());
    }
    let is_lenient = !kind.is_custom() || asked.actor == Actor::Author;
    for (field, expected) in [("kind", &kind.kind), ("apiVersion", &kind.api_version)] {
        match object[field].as_str() {
            Some(given) if given == expected => {}
            None | Some("") if is_lenient => object[field] = json!(expected),
            None | Some("") => return unrecognized(format!("the field `{field}` is missing")),
            Some(_) => {
                let text = |field: &str| object[field].as_str().unwrap_or_default();
                let (given, version, expected) = (text("kind"), text("apiVersion"), &kind.kind);
                return Err(Refusal::bad_request(format!(
                    "{given} in version \"{version}\" cannot be handled as a {expected}"
                )));
            }
        }
    }
    Ok(object)
}
