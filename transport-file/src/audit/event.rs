//! An event of an audit log, in each of the shapes that logs have.

use crate::capture::Target;
use crate::error::{CaptureErrorKind, Fault};
use core::hash::{BuildHasher, BuildHasherDefault, Hash};
use listwatch_core::time::WallTime;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::{BTreeMap, VecDeque};
use std::hash::DefaultHasher;

/// A stage of a request.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) id: String,
    pub(super) has_ended: bool,
    /// The verb of Kubernetes, or the method in lower case.
    pub(super) verb: String,
    /// Path and query.
    pub(super) path: String,
    pub(super) user: String,
    pub(super) from: String,
    pub(super) agent: String,
    pub(super) status: u16,
    pub(super) received: Option<WallTime>,
    pub(super) at: Option<WallTime>,
    pub(super) request: Option<Box<RawValue>>,
    pub(super) response: Option<Box<RawValue>>,
    /// Why bodies are missing, if they are.
    pub(super) bare: &'static str,
}

impl Event {
    /// A mark of the request. Clients may choose the id.
    pub(super) fn request_mark(&self) -> u64 {
        mark_of(&(&self.id, &self.verb, &self.path, &self.user))
    }

    /// A mark of the event.
    pub(super) fn mark(&self) -> u64 {
        let response = self.response.as_ref().map(|response| response.get());
        mark_of(&(self.request_mark(), self.at, self.status, response))
    }

    /// The options of a deletion or an eviction: those of its body, or if it has none, those of its query.
    pub(super) fn options(&self) -> Value {
        let body: Option<Value> = self.request.as_ref().and_then(|body| serde_json::from_str(body.get()).ok());
        match body {
            // An eviction has them inside.
            Some(mut body) if body["deleteOptions"].is_object() => body["deleteOptions"].take(),
            Some(body) if body.is_object() => body,
            _ => {
                let (_, query) = self.path.split_once('?').unwrap_or_default();
                let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                let value = |value: &str| value.parse::<Value>().unwrap_or_else(|_| value.into());
                pairs.map(|(name, text)| (name.to_owned(), value(text))).collect()
            }
        }
    }

    /// Whether it asks for no change, in its query or in the options of a deletion.
    pub(super) fn is_dry_run(&self) -> bool {
        let has_options = self.verb.starts_with("delete") || self.path.contains("/eviction");
        let is_dry = || self.options()["dryRun"].as_array().is_some_and(|all| all.iter().any(|it| it == "All"));
        self.path.contains("dryRun=All") || (has_options && is_dry())
    }
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

const GROUP: &str = "audit.k8s.io/";

/// How deep an event may lie in values around it.
const MOST_LEVELS: u8 = 5;

/// Adds the events of a value. Returns whether it is one of an audit log.
pub(super) fn events_in(text: &[u8], events: &mut VecDeque<Event>) -> Result<bool, Fault> {
    within(text, MOST_LEVELS, events)
}

fn within(text: &[u8], levels: u8, events: &mut VecDeque<Event>) -> Result<bool, Fault> {
    let bad = |error| Fault::of_json(&error, "an event of an audit log");
    let Some(levels) = levels.checked_sub(1) else { return Ok(false) };
    let values: Vec<&RawValue> = match text.first() {
        None => return Ok(false),
        Some(b'[') => serde_json::from_slice(text).map_err(bad)?,
        // Firehose writes values one behind the other.
        Some(_) => serde_json::Deserializer::from_slice(text).into_iter().collect::<Result<_, _>>().map_err(bad)?,
    };
    let [one] = values[..] else {
        let all = values.into_iter().map(|value| within(value.get().as_bytes(), levels, events)).collect::<Vec<_>>();
        return all.into_iter().try_fold(false, |found, one| Ok(one? || found));
    };
    let fields: Fields<'_> = serde_json::from_str(one.get()).map_err(bad)?;
    let is_audit = text_of(&fields, "apiVersion").starts_with(GROUP);
    let around = ["events", "logEvents", "message", "@message", "log", "properties"];
    let mut inside = around.iter().filter_map(|name| fields.get(*name)).filter(|_| !is_audit);
    let inner = inside.clone().find(|inner| inner.get().contains("audit.k8s.io")).or_else(|| inside.next());
    if let Some(inner) = inner.or_else(|| fields.get("items").filter(|_| is_audit)) {
        // A message is text, of which JSON may be a part.
        let text = serde_json::from_str(inner.get()).unwrap_or_else(|_| inner.get().to_owned());
        let text = text.replace(['\n', '\r'], " ");
        let read = within(&text.as_bytes()[text.find(['{', '[']).unwrap_or(text.len())..], levels, events);
        return if text.contains(GROUP) { read } else { Ok(read.unwrap_or(false)) };
    }
    let event = match fields.contains_key("protoPayload") {
        true => of_cloud(&fields),
        false if is_audit && text_of(&fields, "kind") == "Event" => Some(of_server(&fields)?),
        false => None,
    };
    let is_event = event.is_some();
    events.extend(event);
    Ok(is_event)
}

/// The event of an API server.
fn of_server(fields: &Fields<'_>) -> Result<Event, Fault> {
    let text = |name: &str| text_of(fields, name);
    let user = |name: &str| text_at(&value_of(fields, name), "/username");
    let body = |name: &str| fields.get(name).filter(|raw| raw.get() != "null").map(|raw| (*raw).to_owned());
    let (stage, ips) = (text("stage"), value_of(fields, "sourceIPs"));
    let mut status = Some(value_of(fields, "responseStatus")).filter(Value::is_object).unwrap_or_default();
    let has_failed = stage == "Panic" || status["status"] == "Failure";
    let code = code_of(&status["code"]).unwrap_or(if has_failed { 500 } else { 200 });
    (status["kind"], status["apiVersion"]) = ("Status".into(), "v1".into());
    let event = Event {
        id: text("auditID"),
        has_ended: !matches!(&*stage, "RequestReceived" | "ResponseStarted"),
        verb: text("verb"),
        path: text("requestURI"),
        user: match (user("user"), user("impersonatedUser")) {
            (user, of) if of.is_empty() => user,
            (user, impersonated) => format!("{impersonated} (impersonated by {user})"),
        },
        from: ips.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        agent: text("userAgent"),
        status: code.try_into().unwrap_or(500),
        received: date_of(fields, "requestReceivedTimestamp"),
        at: date_of(fields, "stageTimestamp").or_else(|| date_of(fields, "timestamp")),
        request: body("requestObject"),
        // A refusal is known at each level.
        response: body("responseObject").or_else(|| if code < 400 { None } else { to_raw_value(&status).ok() }),
        bare: match &*text("level") {
            _ if value_of(fields, "annotations").get(TRUNCATED).is_some() => "truncated",
            "Metadata" => "level Metadata",
            "Request" => "level Request",
            _ => "left out by the server",
        },
    };
    let is_whole = !event.id.is_empty() && !event.verb.is_empty() && event.path.starts_with('/') && !stage.is_empty();
    let message = "not an event of an audit log: `auditID`, `stage`, `verb` or `requestURI` is missing";
    if is_whole { Ok(event) } else { Err(Fault::of_line(CaptureErrorKind::Record, message)) }
}

/// The event of an entry of Cloud Logging; `None` if it is of another service.
fn of_cloud(entry: &Fields<'_>) -> Option<Event> {
    let (mut payload, operation) = (value_of(entry, "protoPayload"), value_of(entry, "operation"));
    let text = |pointer: &str| text_at(&payload, pointer);
    let (method, name, date) = (text("/methodName"), text("/resourceName"), date_of(entry, "timestamp"));
    let is_own = text("/serviceName") == "k8s.io" || method.starts_with("io.k8s.");
    let (_, verb) = method.rsplit_once('.').filter(|_| is_own)?;
    let mut path = match name.split_once('/') {
        None => format!("/{name}"),
        Some(("core", rest)) => format!("/api/{rest}"),
        Some(_) => format!("/apis/{name}"),
    };
    // It names the object that a request has made.
    if verb == "create" && Target::parse(&path).is_some_and(|it| it.name.is_some() && it.subresource.is_none()) {
        path.truncate(path.rfind('/').unwrap_or(path.len()));
    }
    let refusal = payload["response"]["code"].as_u64().filter(|_| payload["response"]["kind"] == "Status");
    let status = refusal.unwrap_or_else(|| match payload["status"]["code"].as_u64() {
        None | Some(0) => 200,
        Some(3 | 9 | 11) => 400,
        Some(4) => 504,
        Some(5) => 404,
        Some(6 | 10) => 409,
        Some(7) => 403,
        Some(8) => 429,
        Some(14) => 503,
        Some(16) => 401,
        _ => 500,
    });
    let mut event = Event {
        id: text_of(entry, "insertId"),
        has_ended: operation["first"] != true || operation["last"] == true,
        verb: verb.to_owned(),
        path,
        user: text("/authenticationInfo/principalEmail"),
        from: text("/requestMetadata/callerIp"),
        agent: text("/requestMetadata/callerSuppliedUserAgent"),
        status: status.try_into().unwrap_or(500),
        received: date,
        at: date,
        request: None,
        response: None,
        bare: if value_of(entry, "labels").get(TRUNCATED).is_some() { "truncated" } else { "not in Cloud Logging" },
    };
    for (name, body) in [("request", &mut event.request), ("response", &mut event.response)] {
        let Some(fields) = payload[name].as_object_mut() else { continue };
        fields.remove("@type");
        *body = Some(fields).filter(|fields| !fields.is_empty()).and_then(|fields| to_raw_value(fields).ok());
    }
    Some(event)
}

/// The annotation of an event whose bodies were too long for the log.
const TRUNCATED: &str = "audit.k8s.io/truncated";

fn mark_of(value: &impl Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// A status of HTTP, which some tools write as a text or with a fraction.
fn code_of(code: &Value) -> Option<u64> {
    let text = || code.as_str().and_then(|text| text.parse().ok());
    code.as_u64().or_else(|| code.as_f64().map(|code| code as u64)).or_else(text)
}

/// A field; `null` if it is missing, or too deep.
fn value_of(fields: &Fields<'_>, name: &str) -> Value {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn text_of(fields: &Fields<'_>, name: &str) -> String {
    fields.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// A date that no clock is too wrong for.
fn date_of(fields: &Fields<'_>, name: &str) -> Option<WallTime> {
    text_of(fields, name).parse().ok().filter(|date| *date > WallTime::UNIX_EPOCH)
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
