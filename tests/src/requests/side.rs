//! One of two servers, and what it has said of its objects so far.

use super::Request;
use super::specimen::Specimen;
use crate::answers::{Run, Step};
use listwatch_core::api::ApiClient;
use listwatch_core::transport::TransportError;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A server, which names versions and uids as it likes.
#[derive(Debug)]
pub struct Side<'c, C: ?Sized> {
    client: &'c C,
    run: Run,
    namespace: String,
    seen: BTreeMap<String, Seen>,
    /// The objects that were taken away, whose histories count no more.
    wiped: BTreeSet<String>,
    /// Those of them that stay.
    lost: BTreeSet<String>,
}

impl<C: ?Sized> Clone for Side<'_, C> {
    fn clone(&self) -> Self {
        Self {
            client: self.client,
            run: self.run.clone(),
            namespace: self.namespace.clone(),
            seen: self.seen.clone(),
            wiped: self.wiped.clone(),
            lost: self.lost.clone(),
        }
    }
}

/// What was seen of an object, or of a collection, in this order.
#[derive(Clone, Debug, Default)]
struct Seen {
    uids: Vec<String>,
    versions: Vec<String>,
}

/// An answer, as it is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answered {
    /// The HTTP status.
    pub code: u16,
    /// The body, without what differs between two servers.
    pub body: Value,
    /// Which of the versions and uids of an object it has: their numbers, by their places.
    pub identities: BTreeMap<String, String>,
    /// The name of the object, as it is.
    pub name: String,
}

impl<'c, C: ApiClient + ?Sized> Side<'c, C> {
    /// A server that has the namespace, and the group of the custom resources.
    #[must_use]
    pub fn new(client: &'c C, namespace: &str, group: &str) -> Self {
        let namespace = namespace.to_owned();
        let run = Run::new(&namespace, group);
        Self { client, run, namespace, seen: BTreeMap::new(), wiped: BTreeSet::new(), lost: BTreeSet::new() }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn send(&mut self, request: &Request) -> Result<Answered, TransportError> {
        let filled = self.filled(&request.step);
        let (code, mut body) = self.run.ask(&filled, self.client)?;
        if request.has("watch") && body["object"].is_object() {
            body = json!([body]);
        }
        self.drop_wiped(request.specimen, &mut body);
        let mut identities = BTreeMap::new();
        // The simulated cluster alone has a list of a collection that is none.
        if !(request.has("stray") && body["items"].is_array()) {
            self.look(request.specimen, "", &body, &mut identities);
        }
        for (place, item) in body["items"].as_array().into_iter().flatten().enumerate() {
            self.look(request.specimen, &format!("items[{place}]."), item, &mut identities);
        }
        for (place, event) in body.as_array().into_iter().flatten().enumerate() {
            self.look(request.specimen, &format!("[{place}].object."), &event["object"], &mut identities);
        }
        let about = if body["kind"] == "Status" { &body["details"] } else { &body["metadata"] };
        let name = about["name"].as_str().unwrap_or_default().to_owned();
        let mut body = self.run.answered(&request.step, code, body).answer;
        if request.has(GENERATED) && !name.is_empty() {
            // The last characters are the server's own.
            let made = name.replace(&self.namespace, "{ns}");
            rename(&mut body, &made);
            identities.values_mut().for_each(|text| *text = text.replace(&made, GENERATED));
        }
        Ok(Answered { code, body, identities, name })
    }

    /// Whether an object could not be taken away.
    #[must_use]
    pub fn has_lost(&self, key: &str) -> bool {
        self.lost.contains(key)
    }

    /// Takes an object away, if it is there, and forgets it.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn wipe(&mut self, specimen: &Specimen, name: &str) -> Result<(), TransportError> {
        let path = format!("{}/{name}", specimen.path());
        let step = |request: String, body: Value| {
            let body = if body.is_null() { String::new() } else { body.to_string() };
            Step { request, body, ..Step::default() }
        };
        let release = step(format!("MERGE {path}"), json!({ "metadata": { "finalizers": null } }));
        let delete = json!({ "gracePeriodSeconds": 0, "propagationPolicy": "Background" });
        self.run.ask(&release, self.client)?;
        self.run.ask(&step(format!("DELETE {path}"), delete), self.client)?;
        self.run.ask(&release, self.client)?;
        let (code, _) = self.run.ask(&step(format!("GET {path}"), Value::Null), self.client)?;
        let key = specimen.key(&name.replace(&self.namespace, "{ns}"));
        self.seen.remove(&key);
        if code != 404 {
            self.lost.insert(key.clone());
        }
        self.wiped.insert(key);
        Ok(())
    }

    /// Takes from the events of a watch those of objects that were wiped, and from a list those that stay nevertheless.
    fn drop_wiped(&self, specimen: &Specimen, body: &mut Value) {
        let key = |object: &Value| {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            specimen.key(&name.replace(&self.namespace, "{ns}"))
        };
        if let Some(events) = body.as_array_mut() {
            events.retain(|event| !self.wiped.contains(&key(&event["object"])) && !is_progress(event));
            events.iter_mut().filter(|event| event["type"] == "BOOKMARK").for_each(|event| {
                // The rest of the object is empty.
                event["object"] = json!({ "metadata": event["object"]["metadata"] });
            });
        }
        if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
            items.retain(|item| !self.lost.contains(&key(item)));
        }
    }

    /// Notes the version and the uid of an object, and the uids of its owners.
    fn look(&mut self, specimen: &Specimen, at: &str, object: &Value, identities: &mut BTreeMap<String, String>) {
        let is_status = object["kind"] == "Status";
        let metadata = if is_status { &object["details"] } else { &object["metadata"] };
        let name = metadata["name"].as_str().unwrap_or_default().replace(&self.namespace, "{ns}");
        let seen = self.seen.entry(specimen.key(&name)).or_default();
        if let Some(uid) = metadata["uid"].as_str() {
            identities.insert(format!("{at}uid"), format!("uid {} of {name}", number(&mut seen.uids, uid)));
        }
        if let Some(version) = metadata["resourceVersion"].as_str() {
            let number = number(&mut seen.versions, version);
            if !name.is_empty() {
                identities.insert(format!("{at}version"), format!("version {number} of {name}"));
            }
        }
        for (place, owner) in metadata["ownerReferences"].as_array().into_iter().flatten().enumerate() {
            let uid = owner["uid"].as_str().unwrap_or_default();
            let known = self.seen.iter().find(|(_, seen)| seen.uids.iter().any(|known| known == uid));
            let known = known.map_or_else(|| "unknown".to_owned(), |(key, _)| key.clone());
            identities.insert(format!("{at}owners[{place}]"), known);
        }
    }

    fn filled(&self, step: &Step) -> Step {
        Step { request: self.fill(&step.request), body: self.fill(&step.body), ..step.clone() }
    }

    /// A text with versions and uids in place of `<version KEY>` and the like.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('<') {
            filled.push_str(before);
            let known = after.split_once('>').and_then(|(token, after)| Some((self.value(token)?, after)));
            match known {
                Some((value, after)) => (filled, rest) = (filled + &value, after),
                None => (filled, rest) = (filled + "<", after),
            }
        }
        filled + rest
    }

    fn value(&self, token: &str) -> Option<String> {
        let (what, key) = token.split_once(' ')?;
        let seen = self.seen.get(key).cloned().unwrap_or_default();
        let (value, other) = match what {
            "uid" => (seen.uids.last(), "00000000-0000-0000-0000-000000000000"),
            "version" => (seen.versions.last(), "1"),
            "older" => (seen.versions.iter().rev().nth(1), "1"),
            "first" => (seen.versions.first(), "1"),
            _ => return None,
        };
        Some(value.map_or_else(|| other.to_owned(), Clone::clone))
    }
}

/// The oddity of a request whose object gets its name of the server.
pub const GENERATED: &str = "generateName";

/// Whether an event tells nothing but the version.
fn is_progress(event: &Value) -> bool {
    event["type"] == "BOOKMARK" && event["object"]["metadata"]["annotations"].is_null()
}

/// Replaces a name that a server made.
fn rename(value: &mut Value, made: &str) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| rename(element, made)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, made)),
        Value::String(text) => *text = text.replace(made, GENERATED),
        _ => {}
    }
}

/// The number of a value among those that were seen, which it joins.
fn number(seen: &mut Vec<String>, value: &str) -> usize {
    seen.iter().position(|known| known == value).unwrap_or_else(|| {
        seen.push(value.to_owned());
        seen.len() - 1
    })
}
