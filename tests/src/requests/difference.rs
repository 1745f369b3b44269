//! Where two answers differ.

use super::side::Answered;
use super::specimen::Specimen;
use serde_json::Value;
use std::fmt;

/// A place at which two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The path, with the places of elements.
    pub path: String,
    /// What the server has there.
    pub server: Option<Value>,
    /// What the simulated cluster has there.
    pub simulated: Option<Value>,
}

impl Difference {
    /// The path within an object, with `[]` for each element.
    #[must_use]
    pub fn field(&self) -> String {
        field_of(&self.path)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string);
        write!(f, "{}: server {}, simulated {}", self.path, text(&self.server), text(&self.simulated))
    }
}

/// The places at which two answers about a kind differ. What the server adds to objects of the kind is none.
#[must_use]
pub fn differences(specimen: &Specimen, server: &Answered, simulated: &Answered) -> Vec<Difference> {
    let mut found = Vec::new();
    if server.code != simulated.code {
        let (server, simulated) = (Some(server.code.into()), Some(simulated.code.into()));
        found.push(Difference { path: "code".to_owned(), server, simulated });
    }
    compare("", Some(&server.body), Some(&simulated.body), &mut found);
    found.retain(|it| it.simulated.is_some() || !specimen.has_default(&it.field()));
    let places: std::collections::BTreeSet<&String> =
        server.identities.keys().chain(simulated.identities.keys()).collect();
    for place in places {
        let [server, simulated] = [server, simulated].map(|it| it.identities.get(place).cloned().map(Value::String));
        if server != simulated {
            found.push(Difference { path: format!("identity of {place}"), server, simulated });
        }
    }
    found
}

fn compare(path: &str, server: Option<&Value>, simulated: Option<&Value>, found: &mut Vec<Difference>) {
    match (server, simulated) {
        (Some(Value::Object(server)), Some(Value::Object(simulated))) => {
            let dot = if path.is_empty() { "" } else { "." };
            for field in server.keys().chain(simulated.keys().filter(|field| !server.contains_key(*field))) {
                compare(&format!("{path}{dot}{field}"), server.get(field), simulated.get(field), found);
            }
        }
        (Some(Value::Array(server)), Some(Value::Array(simulated))) if are_comparable(server, simulated) => {
            for (place, (server, simulated)) in server.iter().zip(simulated).enumerate() {
                compare(&format!("{path}[{place}]"), Some(server), Some(simulated), found);
            }
        }
        // What is added inside of an object that is absent, is told field by field.
        (Some(Value::Object(server)), None) if !server.is_empty() && !path.is_empty() => {
            server.iter().for_each(|(field, value)| compare(&format!("{path}.{field}"), Some(value), None, found));
        }
        _ if server == simulated => {}
        _ => {
            let path = path.to_owned();
            found.push(Difference { path, server: server.cloned(), simulated: simulated.cloned() });
        }
    }
}

/// Whether two lists have as many elements, and those have the same names.
fn are_comparable(one: &[Value], other: &[Value]) -> bool {
    let name = |element: &Value| (element["metadata"]["name"].clone(), element["type"].clone());
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| name(one) == name(other))
}

/// A path without the list or the event that the object is in, and without the places of elements.
fn field_of(path: &str) -> String {
    let mut field = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('[') {
        field = field + before + "[]";
        rest = after.split_once(']').map_or("", |(_, after)| after);
    }
    field += rest;
    for list in ["items[].", "[].object."] {
        if let Some(inside) = field.strip_prefix(list) {
            return inside.to_owned();
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::specimen::SPECIMENS;
    use serde_json::json;

    fn paths(server: &Value, simulated: &Value) -> Vec<String> {
        let pods = SPECIMENS.iter().find(|it| it.collection == "v1/pods").unwrap();
        let answered = |body: &Value| Answered { code: 200, body: body.clone(), ..Answered::default() };
        differences(pods, &answered(server), &answered(simulated)).into_iter().map(|it| it.path).collect()
    }

    #[test]
    fn what_a_server_adds_is_no_difference_and_any_other_value_is() {
        let server =
            json!({ "spec": { "dnsPolicy": "ClusterFirst", "containers": [{ "name": "a", "resources": {} }] } });
        assert!(paths(&server, &json!({ "spec": { "containers": [{ "name": "a" }] } })).is_empty());
        let list = |object: &Value| json!({ "items": [object] });
        assert!(paths(&list(&server), &list(&json!({ "spec": { "containers": [{ "name": "a" }] } }))).is_empty());
        let other = json!({ "spec": { "dnsPolicy": "None", "containers": [{ "name": "b", "tty": true }] } });
        let expected = ["spec.containers[0].name", "spec.containers[0].tty", "spec.dnsPolicy"];
        assert_eq!(paths(&server, &other), expected);
    }

    #[test]
    fn lists_of_different_objects_differ_as_a_whole() {
        let list = |names: &[&str]| {
            let items: Vec<Value> = names.iter().map(|name| json!({ "metadata": { "name": name } })).collect();
            json!({ "items": items })
        };
        assert_eq!(paths(&list(&["a"]), &list(&["a", "b"])), ["items"]);
        assert_eq!(paths(&list(&["a"]), &list(&["b"])), ["items"]);
    }
}
