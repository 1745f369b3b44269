use super::*;
use crate::request::Resource;
use crate::transport::{TransportError, TransportErrorKind};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::time::Duration;
use serde_json::{Value, json};

/// Answers by a function, and notes what it was asked.
struct Server<F> {
    answer: F,
    asked: RefCell<Vec<ApiRequest>>,
}

impl<F: Fn(&ApiRequest) -> ApiResponse> Server<F> {
    fn new(answer: F) -> Self {
        Self { answer, asked: RefCell::default() }
    }
}

impl<F: Fn(&ApiRequest) -> ApiResponse> ApiClient for Server<F> {
    fn send(&self, request: &ApiRequest) -> Result<ApiResponse, TransportError> {
        self.asked.borrow_mut().push(request.clone());
        Ok((self.answer)(request))
    }
}

fn pods() -> Api<Value> {
    Api::new(&Resource::new("/api/v1/namespaces/web/pods"))
}

fn shown(request: &ApiRequest) -> (String, String, String) {
    let line = format!("{} {}", request.method.name(), request);
    let body = String::from_utf8(request.body.clone()).unwrap();
    (line, request.content_type.unwrap_or_default().to_string(), body)
}

fn refused(code: u16, body: &str) -> ApiError {
    pods().get("a").send(&Server::new(|_| ApiResponse::new(code, body))).unwrap_err()
}

#[test]
fn a_list_has_the_selectors_of_its_resource() {
    let resource = Resource::new("/api/v1/pods").with_label_selector("app=a b").with_field_selector("spec.nodeName=n");
    let request = Api::<Value>::new(&resource).list().with_query("limit", "5").request().unwrap().to_string();
    assert_eq!(request, "/api/v1/pods?labelSelector=app%3Da%20b&fieldSelector=spec.nodeName%3Dn&limit=5");
}

#[test]
fn each_request_says_what_it_does() {
    let (object, json) = (json!({ "a": 1 }), "application/json");
    let (pods, body) = (pods(), r#"{"a":1}"#);
    let apply = Patch::Apply { manager: "me & you", force: true, object: &object };
    let base = "/api/v1/namespaces/web/pods";
    for (call, expected) in [
        (pods.get("a"), (format!("GET {base}/a"), "", "")),
        (pods.get("a/../b?"), (format!("GET {base}/a%2F..%2Fb%3F"), "", "")),
        (pods.create(&object).with_dry_run(), (format!("POST {base}?dryRun=All"), json, body)),
        (pods.replace("a", &object), (format!("PUT {base}/a"), json, body)),
        (pods.status().replace("a", &object), (format!("PUT {base}/a/status"), json, body)),
        (pods.patch("a", &Patch::Json(&object)), (format!("PATCH {base}/a"), "application/json-patch+json", body)),
        (pods.patch("a", &Patch::Merge(&object)), (format!("PATCH {base}/a"), "application/merge-patch+json", body)),
        (
            pods.patch("a", &Patch::Strategic(&object)),
            (format!("PATCH {base}/a"), "application/strategic-merge-patch+json", body),
        ),
        (
            pods.patch("a", &apply),
            (format!("PATCH {base}/a?fieldManager=me%20%26%20you&force=true"), "application/apply-patch+yaml", body),
        ),
    ] {
        let (line, content_type, body) = shown(call.request().unwrap());
        assert_eq!((line, &*content_type, &*body), expected);
    }
}

#[test]
fn a_deletion_has_the_conditions_that_it_was_given() {
    let body = |deletion: &DeleteOptions| shown(pods().delete("a", deletion).request().unwrap()).2;
    assert_eq!(body(&DeleteOptions::default()), r#"{"kind":"DeleteOptions","apiVersion":"v1"}"#);
    let strict = DeleteOptions {
        uid: Some("u".into()),
        resource_version: Some("7".to_string()),
        grace_period_seconds: Some(0),
        propagation: Some(PropagationPolicy::Foreground),
    };
    let expected = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0,
        "preconditions": { "uid": "u", "resourceVersion": "7" }, "propagationPolicy": "Foreground" });
    assert_eq!(serde_json::from_str::<Value>(&body(&strict)).unwrap(), expected);
    let any_answer = Server::new(|_| ApiResponse::new(200, *b"anything"));
    assert_eq!(pods().delete("a", &strict).send(&any_answer), Ok(()));
}

#[test]
fn what_cannot_be_written_is_not_sent() {
    let server = Server::new(|_| ApiResponse::new(200, *b"{}"));
    for name in ["", ".", ".."] {
        assert!(matches!(pods().get(name).send(&server), Err(ApiError::Unwritable(_))), "{name}");
    }
    let no_json = alloc::collections::BTreeMap::from([([1, 2], 3)]);
    assert!(matches!(pods().create(&no_json).with_dry_run().send(&server), Err(ApiError::Unwritable(_))));
    assert!(server.asked.borrow().is_empty());
}

/// An error of serde quotes the value that it refuses, and errors are logged.
#[test]
fn the_reason_for_a_secret_that_cannot_be_read_quotes_nothing_of_it() {
    let server = Server::new(|_| ApiResponse::new(200, r#"{"metadata":{"name":"a"},"data":"aHVudGVyMg=="}"#));
    #[derive(Debug, serde::Deserialize)]
    struct Numbers {
        #[serde(rename = "data")]
        _data: u32,
    }
    for (name, is_quoted) in [("v1/secrets", false), ("v1/configmaps", true)] {
        let resource = Resource::named(name).unwrap().in_namespace("n");
        let error = Api::<Numbers>::new(&resource).get("a").send(&server).unwrap_err().to_string();
        assert_eq!((error.contains("aHVudGVyMg"), error.contains("never shown")), (is_quoted, !is_quoted), "{error}");
    }
}

#[test]
fn a_list_has_its_items_and_what_it_says_of_itself() {
    let list = |body: &'static str| pods().list().send(&Server::new(|_| ApiResponse::new(200, body)));
    let page = list(r#"{"kind":"PodList","metadata":{"resourceVersion":"9","continue":"t"},"items":[1,2]}"#).unwrap();
    assert_eq!((page.meta.resource_version(), page.meta.continue_token()), ("9", "t"));
    assert_eq!(page.items, [1, 2]);
    assert_eq!(list(r#"{"items":null}"#).unwrap().items, [Value::Null; 0]);
    for body in ["<html>", r#"{"kind":"Status"}"#, ""] {
        assert!(matches!(list(body), Err(ApiError::Unreadable(_))), "{body}");
    }
}

#[test]
fn a_scale_is_read_and_written() {
    let scale =
        r#"{"kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"x=y"}}"#;
    let server = Server::new(|_| ApiResponse::new(200, scale));
    let scales = Api::<Value>::new(&Resource::new("/apis/apps/v1/namespaces/web/deployments")).scale();
    let mut found = scales.get("a").send(&server).unwrap();
    assert_eq!((found.spec.replicas, found.status.replicas, &*found.status.selector), (3, 2, "x=y"));
    found.spec.replicas = 4;
    scales.replace("a", &found).send(&server).unwrap();
    let (line, _, body) = shown(&server.asked.borrow()[1]);
    assert_eq!(line, "PUT /apis/apps/v1/namespaces/web/deployments/a/scale");
    assert!(body.contains(r#""spec":{"replicas":4}"#), "{body}");
}

#[test]
fn errors_are_told_apart_by_their_reason_and_else_by_their_code() {
    assert!(refused(409, r#"{"reason":"Conflict","code":409}"#).is_conflict());
    assert!(refused(409, "").is_conflict());
    let exists = refused(409, r#"{"reason":"AlreadyExists","code":409}"#);
    assert!(exists.is_already_exists() && !exists.is_conflict());
    assert!(refused(404, "404 page not found").is_not_found());
    assert!(refused(403, r#"{"reason":"Forbidden"}"#).is_forbidden());
    assert!(refused(401, "").is_unauthorized());
    assert!(refused(422, r#"{"reason":"Invalid"}"#).is_invalid());
    assert!(refused(410, r#"{"reason":"Expired"}"#).is_expired());
    assert!(refused(429, "").is_too_many_requests());
    let broken = ApiError::Transport(TransportError::new(TransportErrorKind::Reset, ""));
    assert!(!broken.is_conflict() && broken.status().is_none());
}

#[test]
fn only_what_does_not_lie_in_the_request_is_transient() {
    use crate::queue::Outcome;
    let transport = |kind| ApiError::from(TransportError::new(kind, ""));
    let reason = |reason: &str| refused(409, &format!(r#"{{"reason":"{reason}","code":409}}"#));
    let managers =
        || refused(409, r#"{"reason":"Conflict","code":409,"details":{"causes":[{"reason":"FieldManagerConflict"}]}}"#);
    for (error, is_transient) in [
        (refused(429, ""), true),
        (refused(499, ""), false),
        (refused(500, ""), true),
        (refused(503, ""), true),
        (reason("Conflict"), true),
        (reason("AlreadyExists"), false),
        (managers(), false),
        (refused(403, ""), false),
        (refused(422, ""), false),
        (transport(TransportErrorKind::Refused), true),
        (transport(TransportErrorKind::Credentials), true),
        (transport(TransportErrorKind::Unsendable), false),
        (ApiError::Unreadable(String::new()), false),
        (ApiError::Unwritable(String::new()), false),
    ] {
        assert_eq!(error.is_transient(), is_transient, "{error:?}");
        let expected = if is_transient { Outcome::Transient(Duration::ZERO) } else { Outcome::Retry };
        assert_eq!(Outcome::from(&error), expected, "{error:?}");
    }
    let asked = |code| match refused(code, "") {
        ApiError::Status { status, request, .. } => {
            ApiError::Status { status, request, retry_after: Some(Duration::from_secs(7)) }
        }
        other => other,
    };
    assert_eq!(Outcome::from(&asked(503)), Outcome::Transient(Duration::from_secs(7)));
    assert_eq!(Outcome::from(&asked(403)), Outcome::RetryAfter(Duration::from_secs(7)));
}

#[test]
fn a_header_alone_delays_the_retry_of_a_refusal_and_a_time_in_its_body_lets_it_pass_too() {
    use crate::queue::Outcome;
    let wait = Duration::from_secs(3);
    let server = Server::new(|_| ApiResponse::new(425, *b"").with_retry_after(Some(Duration::from_secs(3))));
    let by_header = pods().get("a").send(&server).unwrap_err();
    assert!(!by_header.is_transient());
    assert_eq!(Outcome::from(&by_header), Outcome::RetryAfter(wait));
    let by_body = refused(425, r#"{"details":{"retryAfterSeconds":3}}"#);
    assert_eq!(Outcome::from(&by_body), Outcome::Transient(wait));
}

#[test]
fn a_request_that_was_not_answered_is_named() {
    struct Nobody;
    impl ApiClient for Nobody {
        fn send(&self, _: &ApiRequest) -> Result<ApiResponse, TransportError> {
            Err(TransportError::new(TransportErrorKind::Refused, "127.0.0.1:1"))
        }
    }
    let error = Api::<Value>::new(&Resource::new("/api/v1/pods")).get("a").send(&Nobody).unwrap_err();
    assert_eq!(error.to_string(), "GET /api/v1/pods/a: connection refused: 127.0.0.1:1");
    let ApiError::Transport(error) = error else { panic!("{error}") };
    assert_eq!(error.request(), Some("GET /api/v1/pods/a"));
    assert_eq!(error.clone().of_request("another"), error);
}

#[test]
fn a_wait_comes_from_the_header_or_else_from_the_status() {
    let wait = Some(Duration::from_secs(3));
    let server = Server::new(|_| ApiResponse::new(429, *b"").with_retry_after(Some(Duration::from_secs(3))));
    assert_eq!(pods().get("a").send(&server).unwrap_err().retry_after(), wait);
    assert_eq!(refused(429, r#"{"details":{"retryAfterSeconds":3}}"#).retry_after(), wait);
}

#[test]
fn a_server_that_asks_for_a_century_gets_an_hour() {
    let century = Duration::from_secs(100 * 365 * 86_400);
    let server = Server::new(|_| ApiResponse::new(429, *b"").with_retry_after(Some(century)));
    let hour = Some(Duration::from_secs(3600));
    assert_eq!(pods().get("a").send(&server).unwrap_err().retry_after(), hour);
    assert_eq!(refused(429, r#"{"details":{"retryAfterSeconds":3153600000}}"#).retry_after(), hour);
}

#[test]
fn a_conflict_is_tried_again_four_times_and_nothing_else_is() {
    let (conflict, other) = (refused(409, ""), refused(500, ""));
    let mut retry = ConflictRetry::new(1);
    assert_eq!(retry.again(&other), None);
    for _ in 0..4 {
        let wait = retry.again(&conflict).unwrap();
        assert!((10..12).contains(&wait.as_millis()), "{wait:?}");
    }
    assert_eq!(retry.again(&conflict), None);
    assert_eq!(ConflictRetry::with(0, Duration::from_secs(1), 1).again(&conflict), None);
}

/// What a newer server says of two groups.
fn aggregated(request: &ApiRequest) -> ApiResponse {
    let resource = |plural: &str, kind: &str, short: &[&str]| {
        json!({ "resource": plural, "responseKind": { "kind": kind }, "scope": "Namespaced",
            "singularResource": kind.to_lowercase(), "shortNames": short, "verbs": ["list", "watch"] })
    };
    let items = match request.path.as_str() {
        "/api" => json!([{ "metadata": {}, "versions": [{ "version": "v1", "resources": [
            resource("pods", "Pod", &["po"]), resource("events", "Event", &["ev"])] }] }]),
        "/apis" => json!([
            { "metadata": { "name": "apps" }, "versions": [{ "version": "v1", "resources": [
                resource("deployments", "Deployment", &["deploy"])] }] },
            { "metadata": { "name": "events.k8s.io" }, "versions": [{ "version": "v1", "resources": [
                resource("events", "Event", &["ev"])] }] }]),
        _ => return ApiResponse::new(404, *b""),
    };
    ApiResponse::new(200, json!({ "kind": "APIGroupDiscoveryList", "items": items }).to_string())
}

/// The same, of an older one, of which a group is down.
fn one_by_one(request: &ApiRequest) -> ApiResponse {
    let resource = |plural: &str, kind: &str, short: &[&str]| {
        json!({ "name": plural, "kind": kind, "namespaced": true, "singularName": kind.to_lowercase(),
            "shortNames": short, "verbs": ["list", "watch"] })
    };
    let group = |versions: &[&str]| {
        let all: Vec<Value> = versions.iter().map(|version| json!({ "groupVersion": version })).collect();
        json!({ "versions": all, "preferredVersion": { "groupVersion": versions.last() } })
    };
    let answer = match request.path.as_str() {
        "/api" => json!({ "kind": "APIVersions", "versions": ["v1"] }),
        "/apis" => json!({ "kind": "APIGroupList", "groups": [
            group(&["apps/v1beta1", "apps/v1"]), group(&["events.k8s.io/v1"]), group(&["metrics.k8s.io/v1"])] }),
        "/api/v1" => json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": [
            resource("pods", "Pod", &["po"]), resource("pods/status", "Pod", &[]), resource("events", "Event", &["ev"])] }),
        "/apis/apps/v1" => json!({ "kind": "APIResourceList", "groupVersion": "apps/v1", "resources": [
            resource("deployments", "Deployment", &["deploy"])] }),
        "/apis/apps/v1beta1" => json!({ "kind": "APIResourceList", "groupVersion": "apps/v1beta1", "resources": [] }),
        "/apis/events.k8s.io/v1" => json!({ "kind": "APIResourceList", "groupVersion": "events.k8s.io/v1",
            "resources": [resource("events", "Event", &["ev"])] }),
        _ => return ApiResponse::new(503, *b"the server is down"),
    };
    ApiResponse::new(200, answer.to_string())
}

#[test]
fn a_newer_and_an_older_server_tell_the_same() {
    let new = Discovery::run(&Server::new(aggregated)).unwrap();
    let old = Discovery::run(&Server::new(one_by_one)).unwrap();
    assert_eq!(new.resources(), old.resources());
    assert_eq!(new.resources().len(), 4);
    assert!(new.unavailable().is_empty());
    let (path, error) = &old.unavailable()[0];
    assert_eq!((&**path, error.status().unwrap().code), ("/apis/metrics.k8s.io/v1", 503));
}

#[test]
fn a_kind_is_found_by_each_of_its_names() {
    let discovery = Discovery::run(&Server::new(aggregated)).unwrap();
    let found = |name: &str| discovery.find(name).map(|kind| kind.resource().path().to_string());
    for name in ["deploy", "deployments", "deployment", "Deployment", "DEPLOY", "deployments.apps", "deploy.v1.apps"] {
        assert_eq!(found(name).as_deref(), Some("/apis/apps/v1/deployments"), "{name}");
    }
    for (name, expected) in [
        ("po", "/api/v1/pods"),
        ("pods.v1", "/api/v1/pods"),
        ("v1/Pod", "/api/v1/pods"),
        ("ev", "/api/v1/events"),
        ("events.events.k8s.io", "/apis/events.k8s.io/v1/events"),
        ("events.v1.events.k8s.io", "/apis/events.k8s.io/v1/events"),
        ("events.k8s.io/v1/ev", "/apis/events.k8s.io/v1/events"),
    ] {
        assert_eq!(found(name).as_deref(), Some(expected), "{name}");
    }
    for name in ["", "nothing", "pods.apps", "pods.v2", "apps/v1/pods", "a/b/c/d"] {
        assert_eq!(found(name), None, "{name}");
    }
}

#[test]
fn a_server_that_does_not_know_itself_is_an_error() {
    assert!(Discovery::run(&Server::new(|_| ApiResponse::new(403, *b""))).unwrap_err().is_forbidden());
    for body in ["<html>", r#"{"kind":"PodList"}"#, "{}"] {
        let error = Discovery::run(&Server::new(|_| ApiResponse::new(200, body))).unwrap_err();
        assert!(matches!(error, ApiError::Unreadable(_)), "{error}");
    }
}

/// What is found where `/apis` is answered with this.
fn discovered(apis: &str) -> Result<Discovery, ApiError> {
    Discovery::run(&Server::new(|request| match request.path.as_str() {
        "/api" => ApiResponse::new(200, r#"{"kind":"APIVersions","versions":[]}"#),
        "/apis" => ApiResponse::new(200, apis),
        path => ApiResponse::new(404, path),
    }))
}

#[test]
fn a_list_of_more_than_50000_nameless_kinds_is_an_error() {
    let list = |resources: &str| {
        format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{{"versions":[{{"resources":[{resources}{{}}]}}]}}]}}"#)
    };
    assert_eq!(discovered(&list("{},")).unwrap().resources(), []);
    let error = discovered(&list(&"{},".repeat(50_000))).unwrap_err().to_string();
    assert!(error.contains("a list has more than 50000 entries"), "{error}");
}

#[test]
fn more_than_50000_kinds_of_all_versions_together_are_an_error() {
    let resources = r#"{"resource":"a"},"#.repeat(999);
    let versions = format!(r#"{{"resources":[{resources}{{"resource":"b"}}]}},"#).repeat(50);
    let list = |more: &str| {
        format!(r#"{{"kind":"APIGroupDiscoveryList","items":[{{"versions":[{versions}{{"resources":[{more}]}}]}}]}}"#)
    };
    assert_eq!(discovered(&list("")).unwrap().resources().len(), 50_000);
    let error = discovered(&list(r#"{"resource":"c"}"#)).unwrap_err().to_string();
    assert!(error.contains("the server names more than 50000 kinds"), "{error}");
}

#[test]
fn a_group_name_of_more_than_512_bytes_is_an_error() {
    let name = "g".repeat(600);
    let list = format!(
        r#"{{"kind":"APIGroupDiscoveryList","items":[{{"metadata":{{"name":"{name}"}},"versions":[{{"resources":[]}}]}}]}}"#
    );
    let error = discovered(&list).unwrap_err().to_string();
    assert!(error.contains("600 bytes; 512 are the most"), "{error}");
}

/// What an older server says of its groups.
fn group_list<'a>(versions: impl Iterator<Item = &'a str>) -> String {
    let groups: Vec<Value> =
        versions.map(|version| json!({ "preferredVersion": { "groupVersion": version } })).collect();
    json!({ "kind": "APIGroupList", "groups": groups }).to_string()
}

#[test]
fn a_version_that_is_named_twice_is_asked_for_once() {
    let discovery = discovered(&group_list(["a/v1", "b/v1", "a/v1"].into_iter())).unwrap();
    assert_eq!(
        discovery.unavailable().iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(),
        ["/apis/a/v1", "/apis/b/v1"]
    );
}

#[test]
fn a_server_that_names_more_than_4096_versions_is_an_error() {
    let versions: Vec<String> = (0..4_097).map(|number| format!("g{number}/v1")).collect();
    let list = |most: usize| group_list(versions[..most].iter().map(String::as_str));
    assert_eq!(discovered(&list(4_096)).unwrap().unavailable().len(), 4_096);
    let error = discovered(&list(4_097)).unwrap_err().to_string();
    assert!(error.contains("the server names more than 4096 versions"), "{error}");
}

#[test]
fn discovery_keeps_a_short_error_of_each_version_that_is_down() {
    let answers = [
        (
            503,
            json!({ "kind": "Status", "message": "m".repeat(9_000), "reason": "r".repeat(9_000),
            "details": { "retryAfterSeconds": 3, "causes": [{ "message": "c".repeat(9_000) }] } }),
        ),
        (200, json!({ "kind": "k".repeat(9_000) })),
    ];
    for (code, answer) in answers {
        let list = group_list(["a/v1"].into_iter());
        let discovery = Discovery::run(&Server::new(|request| match request.path.as_str() {
            "/api" => ApiResponse::new(200, r#"{"kind":"APIVersions","versions":[]}"#),
            "/apis" => ApiResponse::new(200, list.as_str()),
            _ => ApiResponse::new(code, answer.to_string()),
        }))
        .unwrap();
        let (_, error) = &discovery.unavailable()[0];
        let kept = format!("{error:?}").len();
        assert!(kept < 3_000, "{kept} bytes");
        assert_eq!(error.retry_after(), (code == 503).then_some(Duration::from_secs(3)));
    }
}
