//! Single requests, and what a kube-apiserver answered to them: `tests/data/answers.jsonl`.
//!
//! In a request, `{ns}` is a namespace, `{group}` the group of custom resources (`wheels` and `cogs`), and `{cms}`, `{deps}`,
//! `{wheels}` and `{cogs}` are collections in that namespace. `{version}` and `{continue}` are those of the last answer, and `{mark}` is
//! the version of the last one to `MARK`. The method can be a kind of patch, or a form in which a GET asks for its answer.
//! The events of a watch are an array.

use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_core::transport::TransportError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request and its answer.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Step {
    /// The method and the target.
    pub request: String,
    /// The body.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What of the answer is compared.
    #[serde(default, skip_serializing_if = "Comparison::is_whole")]
    pub compare: Comparison,
    /// The fields of an object that are compared, as JSON pointers; all for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<String>,
    /// The status of the answer.
    #[serde(default)]
    pub status: u16,
    /// What is compared of the answer.
    #[serde(default)]
    pub answer: Value,
}

/// The lists of steps, by the names of their files.
pub const LISTS: [(&str, &str); 2] = [
    ("answers.jsonl", include_str!("../data/answers.jsonl")),
    // Requests for `cogs`, whose definition has a schema.
    ("schemas.jsonl", include_str!("../data/schemas.jsonl")),
];

/// What of an answer is compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Comparison {
    /// All that is the same on two servers: without times, uids, versions and managed fields.
    #[default]
    Whole,
    /// The reason: the message is the server's own.
    Reason,
    /// What a server that sets defaults has in common with one that does not.
    Common,
}

/// The places of a run, and what the last answer said.
#[derive(Clone, Debug)]
pub struct Run {
    namespace: String,
    group: String,
    version: String,
    token: String,
    mark: String,
}

/// The steps of a list.
///
/// # Panics
/// Where a line is no step.
#[must_use]
pub fn steps(list: &str) -> Vec<Step> {
    let step = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    list.lines().map(step).collect()
}

/// The definitions of the wheels and the cogs.
#[must_use]
pub fn definitions(group: &str) -> [Value; 2] {
    [wheels(group), cogs(group)].map(|mut definition| {
        definition["apiVersion"] = json!("apiextensions.k8s.io/v1");
        definition["kind"] = json!("CustomResourceDefinition");
        definition
    })
}

fn cogs(group: &str) -> Value {
    let text = include_str!("../data/cogs.json").replace("{group}", group);
    serde_json::from_str(&text).unwrap_or_default()
}

fn wheels(group: &str) -> Value {
    let any = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": any, "status": any } } });
    let version =
        json!({ "name": "v1", "served": true, "storage": true, "schema": schema, "subresources": { "status": {} } });
    let names = json!({ "plural": "wheels", "singular": "wheel", "kind": "Wheel" });
    let spec = json!({ "group": group, "scope": "Namespaced", "names": names, "versions": [version] });
    json!({ "metadata": { "name": format!("wheels.{group}") }, "spec": spec })
}

impl Comparison {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_whole(&self) -> bool {
        *self == Self::Whole
    }

    fn of(self, body: &Value) -> Value {
        match self {
            Self::Whole => body.clone(),
            Self::Reason => json!({ "reason": body["reason"], "status": body["status"] }),
            Self::Common => common(body),
        }
    }
}

impl Run {
    /// A run in a namespace that is there, and with wheels of this group.
    #[must_use]
    pub fn new(namespace: &str, group: &str) -> Self {
        let (namespace, group) = (namespace.to_owned(), group.to_owned());
        Self { namespace, group, version: String::new(), token: String::new(), mark: String::new() }
    }

    /// Sends the request of a step, and returns the step with this answer.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn send(&mut self, step: &Step, client: &(impl ApiClient + ?Sized)) -> Result<Step, TransportError> {
        let (status, body) = self.ask(step, client)?;
        Ok(self.answered(step, status, body))
    }

    /// Sends the request of a step, and returns status and body as they are.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn ask(&mut self, step: &Step, client: &(impl ApiClient + ?Sized)) -> Result<(u16, Value), TransportError> {
        let response = client.send(&self.request(step))?;
        let body = serde_json::from_slice(&response.body).unwrap_or_else(|_| events(&response.body));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if body["kind"] != "Status" {
            let metadata = &body["metadata"];
            (self.version, self.token) = (text(&metadata["resourceVersion"]), text(&metadata["continue"]));
        }
        if step.request.starts_with("MARK ") {
            self.mark.clone_from(&self.version);
        }
        Ok((response.status, body))
    }

    /// The step with this answer, as far as it is compared.
    #[must_use]
    pub fn answered(&self, step: &Step, status: u16, body: Value) -> Step {
        let mut answer = match &step.at[..] {
            [] => step.compare.of(&body),
            _ if body["kind"] == "Status" => body,
            at => at.iter().map(|at| (at.clone(), body.pointer(at).cloned().unwrap_or_default())).collect(),
        };
        self.normalize(&mut answer);
        sort_causes(&mut answer);
        Step { status, answer, ..step.clone() }
    }

    fn request(&self, step: &Step) -> ApiRequest {
        let (verb, target) = step.request.split_once(' ').unwrap_or(("GET", &step.request));
        let (method, content_type) = match verb {
            "POST" => (Method::Post, Some("application/json")),
            "PUT" => (Method::Put, Some("application/json")),
            "DELETE" => (Method::Delete, Some("application/json").filter(|_| !step.body.is_empty())),
            "MERGE" => (Method::Patch, Some("application/merge-patch+json")),
            "JSON" => (Method::Patch, Some("application/json-patch+json")),
            "STRATEGIC" => (Method::Patch, Some("application/strategic-merge-patch+json")),
            "APPLY" => (Method::Patch, Some("application/apply-patch+yaml")),
            "BARE" => (Method::Patch, Some("application/json")),
            _ => (Method::Get, None),
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        // The parameters go into the path as they are: they are encoded already.
        let query = if query.is_empty() { String::new() } else { format!("?{}", self.filled(query)) };
        let mut request = ApiRequest::new(method, self.filled(path) + &query);
        request.content_type = content_type;
        request.accept = match verb {
            "METADATA" if path.ends_with('}') && !query.contains("watch=1") => METADATA_LIST,
            "METADATAS" => METADATA_LIST,
            "METADATA" => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            "NONSENSE" => "application/json;as=Nonsense;g=meta.k8s.io;v=v1",
            _ => "application/json",
        };
        request.body = self.filled(&step.body).into_bytes();
        request
    }

    fn filled(&self, text: &str) -> String {
        let Self { namespace, group, version, token, mark } = self;
        let text = text
            .replace("{cms}", "/api/v1/namespaces/{ns}/configmaps")
            .replace("{deps}", "/apis/apps/v1/namespaces/{ns}/deployments")
            .replace("{wheels}", "/apis/{group}/v1/namespaces/{ns}/wheels")
            .replace("{cogs}", "/apis/{group}/v1/namespaces/{ns}/cogs")
            .replace("{definitions}", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        let text = text.replace("{ns}", namespace).replace("{group}", group);
        text.replace("{version}", version).replace("{continue}", token).replace("{mark}", mark)
    }

    /// Takes what differs between two servers from an answer.
    fn normalize(&self, value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.normalize(item)),
            Value::Object(fields) => {
                // A list of custom resources has a token even where nothing follows.
                fields.retain(|field, value| field != "managedFields" && (field != "continue" || *value != ""));
                for (field, value) in fields.iter_mut() {
                    let differs = CHANGING.contains(&field.as_str()) && value.is_string();
                    if differs {
                        *value = json!("…");
                    }
                    self.normalize(value);
                    if let (true, Value::String(text)) = (field == "message", value) {
                        *text = without_numbers(text);
                    }
                }
            }
            Value::String(text) => {
                *text = text.replace(&self.namespace, "{ns}").replace(&self.group, "{group}");
            }
            _ => {}
        }
    }
}

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The fields that differ between two servers.
const CHANGING: [&str; 5] = ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "continue"];

/// Sorts the causes of a refusal, in the list and in the message: a server that goes through a map finds them in any order.
fn sort_causes(answer: &mut Value) {
    let Some(Value::Array(causes)) = answer.pointer_mut("/details/causes") else { return };
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    // A message tells each cause once.
    let told = |causes: &[Value]| {
        let mut each: Vec<String> = Vec::new();
        for cause in causes {
            let cause = format!("{}: {}", text(cause, "field"), text(cause, "message"));
            if !each.contains(&cause) {
                each.push(cause);
            }
        }
        each.join(", ")
    };
    let found = told(causes);
    causes.sort_by_key(|cause| (text(cause, "field"), text(cause, "message")));
    let sorted = told(causes);
    if let Some(Value::String(message)) = answer.get_mut("message") {
        *message = message.replace(&found, &sorted);
    }
}

/// The events of a watch.
fn events(body: &[u8]) -> Value {
    let events = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    events.collect::<Result<_, _>>().unwrap_or_default()
}

fn common(body: &Value) -> Value {
    let containers = body["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten();
    let containers = containers.map(|it| json!({ "name": it["name"], "image": it["image"], "tty": it["tty"] }));
    json!({ "kind": body["kind"], "message": body["message"], "details": body["details"],
        "generation": body["metadata"]["generation"], "name": body["metadata"]["name"],
        "replicas": body["spec"]["replicas"], "containers": containers.collect::<Vec<_>>() })
}

/// A text with a sign in place of each number and each uid that stands alone.
fn without_numbers(text: &str) -> String {
    let is_end = |c: char| " (),:]\"".contains(c);
    let words = text.split_inclusive(is_end).map(|word| {
        let bare = word.trim_end_matches(is_end);
        let is_number = bare.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
        if is_number && bare.contains(|c: char| c.is_ascii_digit()) { word.replace(bare, "#") } else { word.to_owned() }
    });
    words.collect()
}
