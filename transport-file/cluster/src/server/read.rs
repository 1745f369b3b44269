//! What a request's body says.

use super::super::decoding::decode;
use super::super::definition::{self, is_definition};
use super::super::events;
use super::super::place::Place;
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
pub(super) fn object(asked: &Asked<'_>, place: &Place) -> Result<Value, Refusal> {
    let kind = &*place.kind;
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
        if object.get(field).is_some_and(|given| !given.is_string() && !given.is_null()) {
            return unrecognized(format!("the field `{field}` is no text"));
        }
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
    stored(asked, place, object).map_err(|why| {
        let refused = cannot_be_handled(&kind.kind, version(asked, kind), kind);
        Refusal::bad_request(format!("{refused}: {why}"))
    })
}

/// An object of a request, as it is stored, but for its version. `Err` says what no object of the kind can have.
pub(super) fn stored(asked: &Asked<'_>, place: &Place, mut object: Value) -> Result<Value, String> {
    decode(&place.kind, &mut object)?;
    if is_definition(&place.kind) {
        definition::decode(&object)?;
    }
    if let Some(version) = &place.version {
        let unknown = version.conform(&mut object)?;
        if !unknown.is_empty() && asked.target.parameter("fieldValidation") == Some("Strict") {
            let unknown: Vec<String> = unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
            return Err(format!("strict decoding error: {}", unknown.join(", ")));
        }
        return Ok(object);
    }
    Ok(if asked.target.is_events { events::stored(&object) } else { object })
}

/// The fields that an apply has.
pub(super) fn decoded(asked: &Asked<'_>, place: &Place, mut applied: Value) -> Result<Value, String> {
    decode(&place.kind, &mut applied)?;
    Ok(if asked.target.is_events { events::stored(&applied) } else { applied })
}

/// A stored object, as requests for it have it.
pub(super) fn shown(asked: &Asked<'_>, object: &Value) -> Value {
    match asked.version.filter(|version| version.differs_from_stored()) {
        Some(version) => version.shown(object),
        None if asked.target.is_events => events::shown(object),
        None => object.clone(),
    }
}

/// The version that an object of a request has.
pub(super) fn version<'k>(asked: &Asked<'k>, kind: &'k ServedKind) -> &'k str {
    match asked.version {
        Some(version) => &version.api_version,
        None if asked.target.is_events => events::VERSION,
        None => &kind.api_version,
    }
}

fn cannot_be_handled(given: &str, version: &str, kind: &ServedKind) -> String {
    let version = version.rsplit_once('/').map_or(version, |(_, version)| version);
    format!("{given} in version \"{version}\" cannot be handled as a {}", kind.kind)
}
