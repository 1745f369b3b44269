//! What a request changes, field by field.

use super::entry::{By, Entry, Sort};
use super::known;
use super::resource::resource_of;
use crate::output::changes::{Changes, Look};
use listwatch::Key;
use listwatch::file::{Call, CallEnd, Target};
use listwatch::request::{Query, is_confidential};
use serde_json::{Map, Value};
use std::time::Duration;

/// What each answer of a server has, whatever was asked for.
const SET_BY_SERVER: &[&str] =
    &["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "kind", "apiVersion"];
/// The characters of a refusal that is no status.
const REFUSAL: usize = 200;

/// A write, or another request that failed, before it is put into its place.
pub(super) struct Written {
    pub(super) entry: Entry,
    /// The object that the server answered with.
    pub(super) answer: Option<Value>,
    /// The uid of the object.
    pub(super) uid: Option<String>,
}

/// The entry of a request that ended, in which the object was last known so.
pub(super) fn written(
    call: &Call,
    target: Option<&Target>,
    ended: Duration,
    known: Option<&str>,
    look: Look,
) -> Written {
    let request = &call.request;
    let is_secret = request.hashed || is_confidential(&request.target);
    let body = serde_json::from_slice::<Value>(&request.body).ok();
    let reply = call.answer.as_ref().and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
    let is_status = |value: &Value| value["kind"] == "Status" && value["apiVersion"] == "v1";
    let is_taken = call.end == CallEnd::Answered && call.status().is_some_and(|status| status < 300);
    let answer = reply.as_ref().filter(|reply| is_taken && !is_status(reply) && reply["metadata"].is_object()).cloned();
    let is_write = is_write(&request.method);
    let mut entry = Entry {
        what: if is_write { Sort::Write } else { Sort::Failure },
        // Of a watch, the end is what failed.
        at: if is_write { call.at } else { ended },
        event: event_of(call).to_owned(),
        resource: target.map_or_else(|| Some(path(&request.target).to_owned()), |it| Some(named(it))),
        collection: target.map(|target| target.collection().to_owned()),
        key: key(target, [&body, &answer]),
        version: answer.as_ref().and_then(|answer| text(answer, "resourceVersion")),
        status: call.status(),
        millis: u64::try_from(ended.saturating_sub(call.at).as_millis()).ok(),
        failed: !is_taken,
        message: message(call, reply.as_ref(), is_secret && !look.secrets),
        by: by(call),
        ..Entry::default()
    };
    if is_write {
        let (asked, answered) = compared(call, known, body.as_ref(), answer.as_ref(), is_secret, look);
        entry.set_changes(asked);
        (entry.answered, entry.more_answered) = (answered.listed, answered.more);
    }
    let details = || reply.as_ref().and_then(|reply| Some(reply["details"]["uid"].as_str()?.to_owned()));
    let uid = answer.as_ref().and_then(|answer| text(answer, "uid")).or_else(details);
    Written { entry, answer, uid }
}

/// The method, or what a list or a watch is called.
fn event_of(call: &Call) -> &str {
    match call.query {
        None => &call.request.method,
        Some(Query::List) => "LIST",
        Some(_) => "WATCH",
    }
}

pub(super) fn is_write(method: &str) -> bool {
    !matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// The changes that were asked for, against the last known state, and how the answer differs from that.
fn compared(
    call: &Call,
    known: Option<&str>,
    body: Option<&Value>,
    answer: Option<&Value>,
    secret: bool,
    look: Look,
) -> (Changes, Changes) {
    let other = answer.or(body).unwrap_or(&Value::Null);
    // A `Scale` is a view of an object, of which it has few fields.
    let is_view = |before: &Value| other["kind"].is_string() && before["kind"] != other["kind"];
    let known = known.map(|text| known::typed(text, other)).filter(|before| !is_view(before));
    let is_known = known.is_some();
    let before = known.unwrap_or_else(|| Value::Object(Map::new()));
    let between = |old: &Value, new: &Value, look| Changes::between(old, new, secret, look);
    let expected = body.and_then(|body| match (&*call.request.method, call.request.content_type.as_deref()) {
        ("POST" | "PUT", _) => Some(body.clone()),
        ("PATCH", Some(kind)) if kind.starts_with("application/merge-patch+json") => Some(merged(before.clone(), body)),
        _ => None,
    });
    let of_server = if look.left_out.is_empty() { look } else { Look { left_out: SET_BY_SERVER, ..look } };
    match (&*call.request.method, expected, body, answer) {
        ("POST", Some(expected), ..) => {
            let asked = between(&Value::Object(Map::new()), &unnamed(expected.clone()), look);
            (asked, answer.map(|answer| between(&expected, answer, of_server)).unwrap_or_default())
        }
        (_, Some(expected), ..) => {
            let answered = answer.map(|answer| between(&expected, answer, of_server)).unwrap_or_default();
            (between(&before, &expected, look), answered)
        }
        // The server alone knows how it merges.
        (_, None, Some(_), Some(answer)) if is_known => (between(&before, answer, look), Changes::default()),
        ("DELETE", ..) => <_>::default(),
        (_, None, Some(body), _) => {
            (between(&Value::Object(Map::new()), &operations(body.clone()), look), Changes::default())
        }
        _ => <_>::default(),
    }
}

/// A JSON merge patch (RFC 7396), applied.
fn merged(object: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut fields = if let Value::Object(fields) = object { fields } else { Map::new() };
    for (name, value) in patch {
        match value {
            Value::Null => _ = fields.remove(name),
            value => {
                let before = fields.remove(name).unwrap_or_default();
                fields.insert(name.clone(), merged(before, value));
            }
        }
    }
    Value::Object(fields)
}

/// The operations of a JSON patch by their paths; another body as it is.
fn operations(body: Value) -> Value {
    let Value::Array(operations) = body else { return unnamed(body) };
    let of = |operation: &Value| {
        let text = |name: &str| operation[name].as_str().unwrap_or_default().to_owned();
        let value = operation.get("value").or_else(|| operation.get("from")).cloned().unwrap_or_default();
        (format!("{} {}", text("op"), text("path")), value)
    };
    Value::Object(operations.iter().map(of).collect())
}

/// An object without its type and its name, which stand beside it.
fn unnamed(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
        let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
        let is_empty = metadata.is_some_and(|metadata| {
            ["name", "namespace", "resourceVersion"].iter().for_each(|name| _ = metadata.remove(*name));
            metadata.is_empty()
        });
        if is_empty {
            fields.remove("metadata");
        }
    }
    object
}

/// What the server or the transport says of a request that was not taken.
fn message(call: &Call, reply: Option<&Value>, hides: bool) -> Option<String> {
    match (&call.end, call.status()) {
        (CallEnd::Failed(how), None) => Some(format!("no answer: {how}")),
        (CallEnd::Failed(how), _) => Some(format!("the answer broke off: {how}")),
        (CallEnd::GivenUp, _) => Some("given up by its client".to_owned()),
        (CallEnd::Unknown, None) => Some("the recording ends before its answer".to_owned()),
        (CallEnd::Unknown, _) => Some("the recording ends within its answer".to_owned()),
        (_, Some(400..)) => Some(refusal(call, reply, hides)),
        _ => None,
    }
}

fn refusal(call: &Call, reply: Option<&Value>, hides: bool) -> String {
    let said = |name: &str| reply.and_then(|reply| reply[name].as_str()).unwrap_or_default();
    match (said("reason"), said("message")) {
        // A refusal may quote a value.
        (reason, _) if hides => reason.to_owned(),
        ("", "") => {
            let body = call.answer.as_ref().map(|answer| String::from_utf8_lossy(&answer.body)).unwrap_or_default();
            body.chars().take(REFUSAL).collect()
        }
        ("", message) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

pub(super) fn by(call: &Call) -> By {
    let (user, from, program) = (call.user.clone(), call.from.clone(), call.program.clone());
    By { reconcile: call.reconcile, user, from, program, ..By::default() }
}

/// The resource of a request, with its subresource.
fn named(target: &Target) -> String {
    let resource = resource_of(target.collection());
    target.subresource().map_or_else(|| resource.clone(), |part| format!("{resource}/{part}"))
}

fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

/// The key of the object: that of the path or, of a new object, that of the body or the answer.
fn key(target: Option<&Target>, objects: [&Option<Value>; 2]) -> Option<String> {
    let target = target?;
    let name = || objects.into_iter().flatten().find_map(|object| text(object, "name"));
    let key = target.key().or_else(|| Some(Key::new(target.namespace(), &name()?)))?;
    Some(key.as_str().to_owned())
}

fn text(object: &Value, field: &str) -> Option<String> {
    object["metadata"][field].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_merge_patch_replaces_fields_and_removes_those_that_are_null() {
        let object = json!({ "a": { "b": 1, "c": [1, 2] }, "d": "x" });
        assert_eq!(
            merged(object, &json!({ "a": { "b": null, "c": [3], "e": { "f": null } } })),
            json!({ "a": { "c": [3], "e": {} }, "d": "x" })
        );
    }
}
