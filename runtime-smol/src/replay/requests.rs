//! Which recorded request a request is, and what differs between them, field by field.

use listwatch_core::api::{ApiRequest, Method};
use listwatch_core::request::is_confidential;
use listwatch_transport_file::{HashedBy, SentCall};
use serde_json::Value;
use std::collections::BTreeMap;

/// Stands for a body in a file of writes, if there is no key for hashes. No JSON is this.
pub(super) const WITHHELD: &[u8] = b"withheld";
/// How many characters of a value are told.
const LONGEST: usize = 80;
/// How many fields of a request are told.
const MOST: usize = 20;

/// A body as what it says.
#[derive(PartialEq)]
enum Body<'b> {
    Json(Value),
    Bytes(&'b [u8]),
}

impl<'b> Body<'b> {
    fn of(body: &'b [u8]) -> Self {
        serde_json::from_slice(body).map_or(Self::Bytes(body), Self::Json)
    }
}

/// The parameters of a request, in any order.
#[derive(PartialEq)]
struct Query<'t>(BTreeMap<&'t str, Vec<&'t str>>);

impl<'t> Query<'t> {
    fn of(target: &'t str) -> Self {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let mut parameters = BTreeMap::<_, Vec<_>>::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters.entry(name).or_default().push(value);
        }
        Self(parameters)
    }
}

/// A request whose recorded call is sought.
pub(super) struct Sought<'r> {
    request: &'r SentCall,
    query: Query<'r>,
    body: Body<'r>,
}

impl<'r> Sought<'r> {
    pub(super) fn new(request: &'r SentCall) -> Self {
        Self { request, query: Query::of(&request.target), body: Body::of(&request.body) }
    }

    /// The place of the first unused call that is equal, or else that is alike. Each call comes with whether it is used.
    pub(super) fn place<'c>(&self, calls: impl Iterator<Item = (&'c SentCall, bool)> + Clone) -> Option<usize> {
        self.first(calls.clone(), Self::is_equal).or_else(|| self.first(calls, Self::is_alike))
    }

    /// The place of the first unused call for which this holds.
    pub(super) fn first<'c>(
        &self,
        mut calls: impl Iterator<Item = (&'c SentCall, bool)>,
        holds: fn(&Self, &SentCall) -> bool,
    ) -> Option<usize> {
        calls.position(|(call, is_used)| !is_used && holds(self, call))
    }

    /// Whether the method and the path are the same.
    pub(super) fn is_alike(&self, call: &SentCall) -> bool {
        call.method == self.request.method && path(&call.target) == path(&self.request.target)
    }

    /// Whether the query and the body are the same, too. A body that is left out is the same as any, but not as none.
    pub(super) fn is_equal(&self, call: &SentCall) -> bool {
        self.is_alike(call)
            && Query::of(&call.target) == self.query
            && (is_left_out(call, self.request) || Body::of(&call.body) == self.body)
    }
}

/// A request as a tape has it.
pub(super) fn sent(request: &ApiRequest) -> SentCall {
    SentCall {
        id: 0,
        method: request.method.name().to_owned(),
        target: request.to_string(),
        content_type: request.content_type.map(str::to_owned),
        body: request.body.to_vec(),
        hashed: false,
    }
}

/// Whether it writes.
pub(super) fn is_write(call: &SentCall) -> bool {
    call.method != Method::Get.name()
}

/// The path of a request target, without the query.
pub(super) fn path(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

/// Whether two bodies cannot be compared, because one is not there: without a key, a file of writes has none where a tape
/// has hashes. A call that had no body differs from one that had.
fn is_left_out(one: &SentCall, other: &SentCall) -> bool {
    let both = [one, other];
    both.iter().any(|call| call.hashed && call.body == WITHHELD) && both.iter().all(|call| !call.body.is_empty())
}

/// What differs between two requests.
pub(super) struct Compared {
    /// The fields: `spec.replicas 2 → 3`.
    pub(super) fields: Vec<String>,
    /// Whether all of them could be compared.
    pub(super) is_whole: bool,
}

/// The fields in which a request differs from the recorded one.
pub(super) fn differences(recorded: &SentCall, replayed: &SentCall) -> Vec<String> {
    Compared::of(recorded, replayed, true).fields
}

impl Compared {
    /// Compares two requests, of which the old one may be of a tape. No value is equal to the hash that a tape has of it.
    pub(super) fn of(old: &SentCall, new: &SentCall, is_of_tape: bool) -> Self {
        let is_secret = is_confidential(&new.target);
        let mut fields = Fields { told: Vec::new(), left: 0, is_secret, is_of_tape, is_whole: true };
        fields.compare_calls(old, new);
        let is_whole = fields.is_whole;
        Self { fields: fields.end(), is_whole }
    }
}

/// Whether the old value is a hash of the tape's key and the new one a hash of another key, so that nobody knows.
fn is_unknown(old: &Value, new: &Value) -> bool {
    let by = |value: &Value| value.as_str().and_then(HashedBy::of);
    (old.is_number() || by(old) == Some(HashedBy::Tape)) && by(new) == Some(HashedBy::Replay)
}

/// The fields that a request sends: `spec.replicas 3`. Those of a Secret are none.
pub(super) fn fields(sent: &SentCall) -> Vec<String> {
    if is_confidential(&sent.target) || sent.body.is_empty() {
        return Vec::new();
    }
    let mut fields = Fields { told: Vec::new(), left: 0, is_secret: false, is_of_tape: false, is_whole: true };
    match Body::of(&sent.body) {
        Body::Json(body) => fields.tell_all("", &body),
        Body::Bytes(bytes) => fields.tell(format!("a body of {} bytes", bytes.len())),
    }
    fields.end()
}

struct Fields {
    told: Vec<String>,
    left: usize,
    /// Whether the values are never told.
    is_secret: bool,
    /// Whether the old request is of a tape.
    is_of_tape: bool,
    /// Whether all fields could be compared.
    is_whole: bool,
}

impl Fields {
    fn compare_calls(&mut self, old: &SentCall, new: &SentCall) {
        let (Query(before), Query(after)) = (Query::of(&old.target), Query::of(&new.target));
        let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
        let join = |values: Option<&Vec<&str>>| values.map(|values| Value::from(values.join(",")));
        for name in names {
            self.compare(&format!("?{name}"), join(before.get(name)).as_ref(), join(after.get(name)).as_ref());
        }
        if let (Some(before), after) = (&old.content_type, &new.content_type) {
            let after = after.as_deref().map(Value::from);
            self.compare("content-type", Some(&Value::from(&**before)), after.as_ref());
        }
        if is_left_out(old, new) {
            self.is_whole = false;
            return;
        }
        let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes));
        match (Body::of(&old.body), Body::of(&new.body)) {
            (Body::Json(before), Body::Json(after)) => self.compare("", Some(&before), Some(&after)),
            (Body::Bytes(before), Body::Bytes(after)) if self.is_of_tape && is_unknown(&text(before), &text(after)) => {
                self.is_whole = false;
            }
            (before, after) if before != after => self.tell("the body changed".to_owned()),
            _ => {}
        }
    }

    fn compare(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (before, after) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
                for name in names {
                    self.compare(&join(path, name), before.get(name), after.get(name));
                }
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for place in 0..before.len().max(after.len()) {
                    self.compare(&format!("{path}[{place}]"), before.get(place), after.get(place));
                }
            }
            (Some(before), Some(after)) if self.is_of_tape && is_unknown(before, after) => self.is_whole = false,
            _ if self.is_secret => self.tell(format!("{path} changed")),
            (Some(before), Some(after)) => self.tell(format!("{path} {} → {}", shown(before), shown(after))),
            (Some(before), None) => self.tell(format!("{path} {} → absent", shown(before))),
            (None, Some(after)) => self.tell(format!("{path} absent → {}", shown(after))),
            (None, None) => {}
        }
    }

    fn tell_all(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(name, value)| self.tell_all(&join(path, name), value));
            }
            Value::Array(elements) if !elements.is_empty() => {
                elements.iter().enumerate().for_each(|(place, it)| self.tell_all(&format!("{path}[{place}]"), it));
            }
            value => self.tell(format!("{path} {}", shown(value))),
        }
    }

    fn end(mut self) -> Vec<String> {
        if self.left > 0 {
            self.told.push(format!("and {} more", self.left));
        }
        self.told
    }

    fn tell(&mut self, field: String) {
        if self.told.len() < MOST { self.told.push(field) } else { self.left += 1 }
    }
}

fn join(path: &str, name: &str) -> String {
    match (path, name.contains(['.', '/'])) {
        ("", _) => name.to_owned(),
        (path, false) => format!("{path}.{name}"),
        (path, true) => format!("{path}[\"{name}\"]"),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differ(path: &str, before: &Value, after: &Value) -> Vec<String> {
        let sent = |query: &str, body: &Value| SentCall {
            id: 1,
            method: "PATCH".into(),
            target: format!("{path}?{query}"),
            content_type: Some("application/merge-patch+json".into()),
            body: body.to_string().into(),
            hashed: false,
        };
        differences(&sent("a=1&b=2", before), &sent("b=2&a=1", after))
    }

    #[test]
    fn each_field_is_told_with_its_value_before_and_after() {
        let before = json!({ "spec": { "replicas": 2, "old": "x", "list": [1, 2] }, "same": { "a.b": 1 } });
        let after = json!({ "same": { "a.b": 1 }, "spec": { "new": true, "list": [1, 3, 4], "replicas": 3 } });
        let expected = [
            "spec.list[1] 2 → 3",
            "spec.list[2] absent → 4",
            "spec.old \"x\" → absent",
            "spec.replicas 2 → 3",
            "spec.new absent → true",
        ];
        assert_eq!(differ("/api/v1/nodes/a", &before, &after), expected);
        assert_eq!(differ("/api/v1/nodes/a", &before, &before), [""; 0]);
    }

    #[test]
    fn an_additional_write_is_told_with_the_fields_that_it_writes() {
        let sent = |target: &str, body: &Value| {
            let (method, content_type, body) = ("POST".into(), None, body.to_string().into());
            fields(&SentCall { id: 1, method, target: target.into(), content_type, body, hashed: false })
        };
        let body = json!({ "spec": { "replicas": 3, "list": [{ "a.b": null }], "none": {} } });
        let expected = ["spec.list[0][\"a.b\"] null", "spec.none {}", "spec.replicas 3"];
        let mut told = sent("/apis/apps/v1/namespaces/web/deployments", &body);
        told.sort();
        assert_eq!(told, expected);
        assert_eq!(sent("/api/v1/namespaces/web/secret%73", &body), [""; 0]);
        let many = sent("/api/v1/nodes", &Value::from(vec![0; 100]));
        assert_eq!((many.len(), &*many[MOST]), (MOST + 1, "and 80 more"));
    }

    #[test]
    fn the_values_of_a_secret_are_not_told() {
        let (before, after) = (json!({ "data": { "key": "aGVsbG8=" } }), json!({ "data": { "key": "d29ybGQ=" } }));
        assert_eq!(differ("/api/v1/namespaces/web/secrets/a", &before, &after), ["data.key changed"]);
    }

    #[test]
    fn the_values_of_a_secret_with_an_escaped_path_are_not_told() {
        let (before, after) = (json!({ "data": { "key": "aGVsbG8=" } }), json!({ "data": { "key": "d29ybGQ=" } }));
        assert_eq!(differ("/api/v1/namespaces/web/secret%73/a", &before, &after), ["data.key changed"]);
    }

    #[test]
    fn the_values_of_an_object_in_a_namespace_named_secrets_are_told() {
        let (before, after) = (json!({ "spec": { "replicas": 2 } }), json!({ "spec": { "replicas": 3 } }));
        let path = "/apis/apps/v1/namespaces/secrets/deployments/a";
        assert_eq!(differ(path, &before, &after), ["spec.replicas 2 → 3"]);
    }
}
