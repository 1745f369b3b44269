//! What a request's body says.

use super::super::decoding::{decode, decode_applied};
use super::super::definition::{self, is_definition};
use super::super::events;
use super::super::place::Place;
use super::super::refusal::Refusal;
use super::super::schema::embedded;
use super::super::typed::mismatch;
use super::super::write::Actor;
use super::Asked;
use crate::kinds::ServedKind;
use serde_json::{Value, json};

/// The body, as JSON.
pub(super) fn body(asked: &Asked<'_>, kind: &ServedKind) -> Result<Value, Refusal> {
    serde_json::from_slice(asked.call.body).map_err(|error| {
        let why = if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() };
        unrecognized(asked, kind, &format!("couldn't get version/kind; json parse error: {why}"))
    })
}

/// The refusal of a body that is no object of a kind, with the beginning of the body.
fn unrecognized(asked: &Asked<'_>, kind: &ServedKind, why: &str) -> Refusal {
    const SHOWN: usize = 30;
    let (body, kind) = (asked.call.body, &kind.kind);
    let shown = &body[..body.len().min(SHOWN)];
    let shown = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(shown).into_owned(),
        Some(_) => shown.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    let more = if body.len() > SHOWN { " ..." } else { "" };
    Refusal::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown}{more})"))
}

/// The body, as an object of a kind. An object without a type gets it, except a custom resource of a client.
pub(super) fn object(asked: &Asked<'_>, place: &Place) -> Result<Value, Refusal> {
    let kind = &*place.kind;
    let mut object = body(asked, kind)?;
    let untyped =
        |why: String| Err(unrecognized(asked, kind, &format!("couldn't get version/kind; json parse error: {why}")));
    if !object.is_object() {
        return untyped(mismatch(&object, "value", TYPE));
    }
    let is_lenient = !kind.is_custom() || asked.actor == Actor::Author;
    for (field, expected) in [("kind", kind.kind.as_str()), ("apiVersion", version(asked, kind))] {
        if let Some(other) = object.get(field).filter(|given| !given.is_string() && !given.is_null()) {
            return untyped(mismatch(other, &format!("struct field .{field}"), "string"));
        }
        match object[field].as_str() {
            // That of a custom resource is checked with the rest of it.
            Some(given) if given == expected || (field == "kind" && kind.is_custom() && !given.is_empty()) => {}
            None | Some("") if is_lenient => object[field] = json!(expected),
            None | Some("") if field == "kind" => return Err(kindless(asked, kind, &object)),
            _ => {
                if kind.is_custom() && field == "apiVersion" {
                    read_other_version(asked, kind, &mut object)?;
                }
                let text = |field: &str| object[field].as_str().unwrap_or_default();
                return Err(Refusal::bad_request(other_type(asked, kind, text("kind"), text("apiVersion"))));
            }
        }
    }
    stored(asked, place, object).map_err(|why| {
        let refused = cannot_be_handled(&kind.kind, version(asked, kind), kind);
        Refusal::bad_request(format!("{refused}: {why}"))
    })
}

/// The refusal of a custom resource without a kind. A server that ignores unknown fields takes the kind from the path first.
fn kindless(asked: &Asked<'_>, kind: &ServedKind, object: &Value) -> Refusal {
    let why = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(asked.call.body));
    if asked.target.parameter("fieldValidation") != Some("Ignore") {
        return unrecognized(asked, kind, &why);
    }
    let given = object["apiVersion"].as_str().filter(|given| !given.is_empty());
    let refused = cannot_be_handled(&kind.kind, given.unwrap_or_else(|| version(asked, kind)), kind);
    Refusal::bad_request(format!("{refused}: {why}"))
}

/// Reads the metadata of a custom resource of another version, which are the same in each one.
fn read_other_version(asked: &Asked<'_>, kind: &ServedKind, object: &mut Value) -> Result<(), Refusal> {
    let text = |object: &Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let refused = cannot_be_handled(&text(object, "kind"), &text(object, "apiVersion"), kind);
    let refusal = |why: String| Refusal::bad_request(format!("{refused}: {why}"));
    decode(kind, object).map_err(refusal)?;
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let unknown = metadata.map_or_else(Vec::new, |metadata| embedded::prune_metadata(metadata, ""));
    check_strictly(asked, &unknown).map_err(refusal)
}

/// Checks that an object has no unknown fields, if that is asked for.
fn check_strictly(asked: &Asked<'_>, unknown: &[String]) -> Result<(), String> {
    if unknown.is_empty() || asked.target.parameter("fieldValidation") != Some("Strict") {
        return Ok(());
    }
    let unknown: Vec<String> = unknown.iter().map(|field| format!("unknown field \"{field}\"")).collect();
    Err(format!("strict decoding error: {}", unknown.join(", ")))
}

/// The type that a server reads of any object first.
const TYPE: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// An object of a request, as it is stored, but for its version. `Err` says what no object of the kind can have.
pub(super) fn stored(asked: &Asked<'_>, place: &Place, mut object: Value) -> Result<Value, String> {
    decode(&place.kind, &mut object)?;
    if is_definition(&place.kind) {
        definition::decode(&object)?;
    }
    let unknown = match &place.version {
        Some(version) => version.conform(&mut object)?,
        None => prune(&place.kind, &mut object),
    };
    check_strictly(asked, &unknown)?;
    Ok(if asked.target.is_events { events::stored(&object) } else { object })
}

/// Removes the fields that no object of a kind has, as far as they are known, and returns their paths in order.
fn prune(kind: &ServedKind, object: &mut Value) -> Vec<String> {
    let Some(fields) = object.as_object_mut() else { return Vec::new() };
    let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
    let mut unknown = metadata.map_or_else(Vec::new, |metadata| embedded::prune_metadata(metadata, ""));
    if !kind.is_custom() && !kind.has_status && fields.remove("status").is_some() {
        unknown.push("status".to_owned());
    }
    unknown
}

/// The fields that an apply has.
pub(super) fn decoded(asked: &Asked<'_>, place: &Place, mut applied: Value) -> Result<Value, String> {
    decode_applied(&place.kind, &mut applied)?;
    let metadata = applied.get_mut("metadata").and_then(Value::as_object_mut);
    let _unknown = metadata.map(|metadata| embedded::prune_metadata(metadata, ""));
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

/// What is said of an object of another type.
fn other_type(asked: &Asked<'_>, kind: &ServedKind, given: &str, api_version: &str) -> String {
    let expected = version(asked, kind);
    if kind.is_custom() && api_version != expected {
        return format!(
            "the API version in the data ({api_version}) does not match the expected API version ({expected})"
        );
    }
    let api_version = if api_version.is_empty() { expected } else { api_version };
    let refused = cannot_be_handled(given, api_version, kind);
    // The line of the server's own source.
    let scheme = "pkg/runtime/scheme.go:110";
    format!("{refused}: no kind {given:?} is registered for version {api_version:?} in scheme {scheme:?}")
}

fn cannot_be_handled(given: &str, version: &str, kind: &ServedKind) -> String {
    let version = version.rsplit_once('/').map_or(version, |(_, version)| version);
    format!("{given} in version \"{version}\" cannot be handled as a {}", kind.kind)
}
