//! Answers to writes that the tape does not have: a success, so that the rest of the reconcile can be compared.

use super::requests::path;
use core::cmp::Ordering;
use listwatch_core::api::{ApiRequest, ApiResponse, Method, Reply};
use listwatch_core::change::apply_merge_patch;
use listwatch_core::object::compare_versions;
use listwatch_core::request::is_confidential;
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

    /// The object of a path, or of a part of it that shows the whole object.
    pub(super) fn of(&self, path: &str) -> Option<Value> {
        self.objects.get(object_path(path)?).cloned()
    }
}

/// The subresources that show the whole object. The others have kinds of their own.
const WHOLE: [&str; 5] = ["status", "finalize", "approval", "ephemeralcontainers", "resize"];

/// The path of the object in the answers of a path; `None` for a collection, and for paths of something else.
pub(super) fn object_path(path: &str) -> Option<&str> {
    let path = path.trim_end_matches('/');
    let mut segments = path.split('/').skip_while(|segment| !matches!(*segment, "api" | "apis"));
    // The group and the version.
    let before = if segments.next()? == "apis" { 2 } else { 1 };
    let rest: Vec<&str> = segments.skip(before).collect();
    let part = match rest[..] {
        ["namespaces", _, _, _] | [_, _] => None,
        // Of a namespace, or a collection in it.
        ["namespaces", _, part] if !WHOLE.contains(&part) => return None,
        ["namespaces", _, _, _, part] | [_, _, part] => Some(part),
        _ => return None,
    };
    let object = part.filter(|part| WHOLE.contains(part)).and_then(|part| path.strip_suffix(part));
    Some(object.map_or(path, |object| object.trim_end_matches('/')))
}

/// The path of the object that a request is for; `None` if it does not name one, or may be secret.
pub(super) fn object_of(sent: &SentCall) -> Option<String> {
    path_of(sent, || {
        let body: Value = serde_json::from_slice(&sent.body).ok().filter(|_| !is_confidential(&sent.target))?;
        Some(body["metadata"]["name"].as_str()?.to_owned())
    })
}

/// The object in an answer, and its path.
pub(super) fn known(sent: &SentCall, reply: Option<&Reply>) -> Option<(String, Value)> {
    let Some(Reply::Answered(answer)) = reply else { return None };
    let object: Value = serde_json::from_slice(&answer.body).ok().filter(|_| (200..300).contains(&answer.status))?;
    let name = object["metadata"]["name"].as_str()?;
    let path = path_of(sent, || Some(name.to_owned()))?;
    Some((path, object))
}

/// The path of a request's object. That of a creation is the path of the collection, with the new object's name.
fn path_of(sent: &SentCall, new_name: impl FnOnce() -> Option<String>) -> Option<String> {
    let path = path(&sent.target);
    match object_path(path) {
        Some(object) => Some(object.to_owned()),
        None if sent.method == Method::Post.name() => Some(format!("{}/{}", path.trim_end_matches('/'), new_name()?)),
        None => None,
    }
}

/// The newer state of an object, by its version. If the versions have no order, it is the second one.
pub(super) fn newer(one: Value, other: Value) -> Value {
    let version = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
    if compare_versions(&version(&one), &version(&other)).is_ok_and(Ordering::is_gt) { one } else { other }
}

/// Lays what a request sends over the recorded answer to one with other fields. False if nothing could be laid.
pub(super) fn lay_over(answer: &mut ApiResponse, request: &ApiRequest) -> bool {
    let sent: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let object: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let Some(mut object) = object.filter(Value::is_object) else { return false };
    if !(200..300).contains(&answer.status) || !sent.is_object() || request.method == Method::Delete {
        return false;
    }
    apply_merge_patch(&mut object, &sent);
    answer.body = object.to_string().into();
    true
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
    if !matches!(request.method, Method::Get | Method::Delete) && sent.is_object() {
        apply_merge_patch(&mut object, &sent);
    }
    complete(&mut object, request);
    ApiResponse::new(status, object.to_string())
}

/// Adds the metadata that every object has.
fn complete(object: &mut Value, request: &ApiRequest) {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
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

    fn sent(method: &str, target: &str) -> SentCall {
        SentCall {
            id: 1,
            method: method.into(),
            target: target.into(),
            content_type: None,
            body: Vec::new(),
            hashed: false,
        }
    }

    /// The path under which the answer to a request, an object of this name, is known.
    fn path_of(method: &str, target: &str, name: &str) -> Option<String> {
        let object = json!({ "metadata": { "name": name } });
        let reply = Reply::Answered(ApiResponse::new(200, object.to_string()));
        known(&sent(method, target), Some(&reply)).map(|(path, _)| path)
    }

    #[test]
    fn an_object_named_as_its_namespace_has_its_own_path() {
        for (method, target, path) in [
            ("POST", "/api/v1/namespaces/web/configmaps", "/api/v1/namespaces/web/configmaps/web"),
            ("GET", "/api/v1/namespaces/web/configmaps/web?x=1", "/api/v1/namespaces/web/configmaps/web"),
            ("PUT", "/apis/a/v1/namespaces/web/webs/web/status", "/apis/a/v1/namespaces/web/webs/web"),
            ("POST", "/api/v1/namespaces", "/api/v1/namespaces/web"),
            ("PUT", "/x/api/v1/namespaces/web/finalize", "/x/api/v1/namespaces/web"),
            ("PATCH", "/api/v1/nodes/web/status", "/api/v1/nodes/web"),
            (
                "GET",
                "/apis/apps/v1/namespaces/web/deployments/web/scale",
                "/apis/apps/v1/namespaces/web/deployments/web/scale",
            ),
        ] {
            assert_eq!(path_of(method, target, "web").as_deref(), Some(path), "{method} {target}");
        }
    }

    #[test]
    fn a_list_without_a_record_is_not_answered_by_its_namespace() {
        let mut all = Known::default();
        all.add("/api/v1/namespaces/web".to_owned(), json!({ "kind": "Namespace" }));
        for path in ["/api/v1/namespaces/web/pods", "/api/v1/namespaces/web/pods/web", "/api/v1/namespaces", "/version"]
        {
            assert_eq!(all.of(path), None, "{path}");
        }
        assert!(all.of("/api/v1/namespaces/web").is_some() && all.of("/api/v1/namespaces/web/status").is_some());
    }

    #[test]
    fn metadata_that_are_no_object_are_answered_as_an_object() {
        for metadata in [json!("x"), json!(1), json!(["x"]), json!(true)] {
            let mut post = ApiRequest::new(Method::Post, "/api/v1/namespaces/web/configmaps");
            post.body = json!({ "metadata": metadata }).to_string().into();
            let object: Value = serde_json::from_slice(&answer(&post, None).body).unwrap();
            assert_eq!(object["metadata"]["namespace"], "web", "{metadata}");
        }
    }

    #[test]
    fn an_additional_write_is_answered_by_what_it_sent_over_what_was_known() {
        let path = "/apis/apps/v1/namespaces/web/deployments/a";
        let sent = sent("POST", "/apis/apps/v1/namespaces/web/deployments?fieldManager=x");
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

    #[test]
    fn a_different_write_is_answered_with_its_difference() {
        let path = "/apis/apps/v1/namespaces/web/deployments/a";
        let recorded = json!({ "spec": { "replicas": 2 }, "status": { "replicas": 1 } });
        let over = |method: Method, status: u16| {
            let mut request = ApiRequest::new(method, path);
            request.body = json!({ "spec": { "replicas": 3 } }).to_string().into();
            let mut answer = ApiResponse::new(status, recorded.to_string());
            lay_over(&mut answer, &request);
            serde_json::from_slice::<Value>(&answer.body).unwrap()
        };
        let laid = json!({ "spec": { "replicas": 3 }, "status": { "replicas": 1 } });
        assert_eq!(over(Method::Patch, 200), laid);
        assert_eq!(over(Method::Put, 201), laid);
        assert_eq!([over(Method::Patch, 409), over(Method::Delete, 200)], [recorded.clone(), recorded.clone()]);
    }

    #[test]
    fn the_options_of_a_delete_are_not_laid_over_its_object() {
        let mut delete = ApiRequest::new(Method::Delete, "/api/v1/nodes/a");
        delete.body = json!({ "kind": "DeleteOptions", "gracePeriodSeconds": 1 }).to_string().into();
        let answered = answer(&delete, Some(&json!({ "kind": "Node" })));
        let object: Value = serde_json::from_slice(&answered.body).unwrap();
        assert_eq!((&object["kind"], &object["gracePeriodSeconds"]), (&json!("Node"), &Value::Null));
    }

    #[test]
    fn the_newer_state_of_an_object_is_told_by_its_version() {
        let of = |version: &str| json!({ "metadata": { "resourceVersion": version } });
        assert_eq!(newer(of("10"), of("9")), of("10"));
        assert_eq!(newer(of("9"), of("10")), of("10"));
        assert_eq!(newer(of("x"), of("9")), of("9"));
    }
}
