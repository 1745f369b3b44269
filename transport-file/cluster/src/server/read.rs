//! What a request's body says.

use super::super::decoding::decode;
use super::super::events;
use super::super::refusal::Refusal;
use super::super::write::Actor;
use super::Asked;
use crate::kinds::ServedKind;
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
    for (field, expected) in [("kind", kind.kind.as_str()), ("apiVersion", version(asked, kind))] {
        match object[field].as_str() {
            Some(given) if given == expected => {}
            None | Some("") if is_lenient => object[field] = json!(expected),
            None | Some("") => return unrecognized(format!("the field `{field}` is missing")),
            Some(_) => {
                let text = |field: &str| object[field].as_str().unwrap_or_default();
                return Err(Refusal::bad_request(cannot_be_handled(text("kind"), text("apiVersion"), kind)));
            }
        }
    }
    stored(asked, kind, object).map_err(|why| {
        let refused = cannot_be_handled(&kind.kind, version(asked, kind), kind);
        Refusal::bad_request(format!("{refused}: {why}"))
    })
}

/// An object of a request, as it is stored. `Err` says what no object of the kind can have.
pub(super) fn stored(asked: &Asked<'_>, kind: &ServedKind, mut object: Value) -> Result<Value, String> {
    decode(kind, &mut object)?;
    Ok(if asked.target.is_events { events::stored(&object) } else { object })
}

/// A stored object, as requests for it have it.
pub(super) fn shown(asked: &Asked<'_>, object: &Value) -> Value {
    if asked.target.is_events { events::shown(object) } else { object.clone() }
}

/// The version that an object of a request has.
pub(super) fn version<'k>(asked: &Asked<'_>, kind: &'k ServedKind) -> &'k str {
    if asked.target.is_events { events::VERSION } else { &kind.api_version }
}

fn cannot_be_handled(given: &str, version: &str, kind: &ServedKind) -> String {
    format!("{given} in version \"{version}\" cannot be handled as a {}", kind.kind)
}
