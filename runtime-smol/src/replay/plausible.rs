//! Answers to writes that the tape does not have: a success, so that the rest of the reconcile can be compared.

use listwatch_core::api::{ApiRequest, ApiResponse, Method, Reply};
use listwatch_core::change::apply_merge_patch;
use listwatch_transport_file::SentCall;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};

/// How many objects are known at once.
const MOST: usize = 4096;

/// The newest states of objects in answers, by their paths.
#[derive(Default)]
pub(super) struct Known {
    objects: HashMap<String, Value>,
    /// In the order in which they became known.
    paths: VecDeque<String>,
}

impl Known {
    pub(super) fn add(&mut self, path: String, object: Value) {
        if self.objects.insert(path.clone(), object).is_none() {
            self.paths.push_back(path);
        }
        if self.paths.len() > MOST
            && let Some(oldest) = self.paths.pop_front()
        {
            self.objects.remove(&oldest);
        }
    }

    /// The object of a path, or of a part of it.
    pub(super) fn of(&self, path: &str) -> Option<Value> {
        let object = path.rsplit_once('/').map_or(path, |(object, _)| object);
        self.objects.get(path).or_else(|| self.objects.get(object)).cloned()
    }
}

/// The object in an answer, and its path.
pub(super) fn known(sent: &SentCall, reply: Option<&Reply>) -> Option<(String, Value)> {
    let Some(Reply::Answered(answer)) = reply else { return None };
    let object: Value = serde_json::from_slice(&answer.body).ok().filter(|_| (200..300).contains(&answer.status))?;
    let name = object["metadata"]["name"].as_str()?;
    let path = sent.target.split_once('?').map_or(&*sent.target, |(path, _)| path);
    let path = match path.rsplit_once(&format!("/{name}")) {
        Some((collection, part)) if part.is_empty() || part.starts_with('/') => format!("{collection}/{name}"),
        _ => format!("{path}/{name}"),
    };
    Some((path, object))
}

/// A success, with what was sent laid over the object as it was last known.
pub(super) fn answer(request: &ApiRequest, known: Option<&Value>) -> ApiResponse {
    let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let status = if request.method == Method::Post { 201 } else { 200 };
    if request.method == Method::Delete && known.is_none() {
        let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" });
        return ApiResponse::new(200, status.to_string());
    }
    let mut object = known.cloned().filter(|_| request.method != Method::Post).unwrap_or_else(|| json!({}));
    if request.method != Method::Get && sent.is_object() {
        apply_merge_patch(&mut object, &sent);
    }
    complete(&mut object, request);
    ApiResponse::new(status, object.to_string())
}

/// Adds the metadata that every object has.
fn complete(object: &mut Value, request: &ApiRequest) {
    let metadata = &mut object["metadata"];
    let mut segments = request.path.split('/').skip_while(|segment| *segment != "namespaces").skip(1);
    let (namespace, name) = (segments.next(), segments.nth(1));
    let generated = metadata["generateName"].as_str().map(|prefix| format!("{prefix}replay"));
    let last = request.path.rsplit('/').next().filter(|_| request.method != Method::Post);
    let name = name.or(last).map(str::to_owned).or(generated);
    let defaults = [
        ("name", name),
        ("namespace", namespace.map(str::to_owned)),
        ("uid", Some("replay".to_owned())),
        ("resourceVersion", Some("1".to_owned())),
    ];
    for (field, value) in defaults {
        if let Some(value) = value
            && metadata[field].is_null()
        {
            metadata[field] = value.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_additional_write_is_answered_by_what_it_sent_over_what_was_known() {
        let path = "/apis/apps/v1/namespaces/web/deployments/a";
        let sent = SentCall {
            id: 1,
            method: "POST".into(),
            target: "/apis/apps/v1/namespaces/web/deployments?fieldManager=x".into(),
            content_type: None,
            body: Vec::new(),
            withheld: false,
        };
        let created = json!({ "metadata": { "name": "a", "uid": "u-1" }, "spec": { "replicas": 1, "text": "x" } });
        let reply = Reply::Answered(ApiResponse::new(201, created.to_string()));
        let mut all = Known::default();
        let (known_path, object) = known(&sent, Some(&reply)).unwrap();
        assert_eq!(known_path, path);
        all.add(known_path, object);

        let mut patch = ApiRequest::new(Method::Patch, format!("{path}/status"));
        patch.body = json!({ "spec": { "replicas": 2, "text": null } }).to_string().into();
        let answered = answer(&patch, all.of(&patch.path).as_ref());
        let object: Value = serde_json::from_slice(&answered.body).unwrap();
        assert_eq!(object["spec"], json!({ "replicas": 2 }));
        assert_eq!((&object["metadata"]["uid"], &object["metadata"]["namespace"]), (&json!("u-1"), &json!("web")));
    }
}
