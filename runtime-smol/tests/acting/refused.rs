//! What an operator reads of requests that the server refuses.

use crate::acting::stage::{Foo, Part, SOON, Size, Stage};
use listwatch::api::{ApiResponse, Method};
use listwatch::controller::{Context, Controller, Error, Outcome, Report};
use listwatch::{Found, InformerHandle, Key};
use serde_json::json;
use std::sync::{Arc, Mutex};

/// The first report of a reconcile whose request of this method is refused so.
fn report(
    (method, refusal): (Method, &'static str),
    act: impl AsyncFn(&Context, &InformerHandle<Part>, &Found<Foo>) -> Result<(), Error> + Send + Sync,
) -> String {
    let (stage, lines) = (Stage::new(), Arc::<Mutex<Vec<String>>>::default());
    stage.twist(method, move |_, _| Some(ApiResponse::new(404, refusal.as_bytes())));
    let controller = Controller::new("sample", stage.endless_world().until(stage.clock.sleep(SOON)));
    let (foos, parts) = (controller.informer::<Foo>(), controller.informer::<Part>());
    let said = Arc::clone(&lines);
    let controller = controller.reconciles(&foos).on_report(move |_, report| {
        if matches!(report, Report::Failed { .. }) {
            said.lock().unwrap().push(report.to_string());
        }
    });
    let ended = controller.run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        act(&cx, &parts, &foo).await?;
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let first = lines.lock().unwrap()[0].clone();
    first.strip_prefix("web/foo: failed, next attempt in 5ms: ").unwrap().to_owned()
}

/// As kube-apiserver answers for an object that it does not have, and for a subresource that a CRD does not have.
const NO_FOO: &str = r#"{"kind":"Status","reason":"NotFound","code":404,"message":"foos.example.com \"foo\" not found",
    "details":{"name":"foo","group":"example.com","kind":"foos"}}"#;

/// As it answers for a resource that it does not have.
const NO_RESOURCE: &str = r#"{"kind":"Status","reason":"NotFound","code":404,"details":{},
    "message":"the server could not find the requested resource"}"#;

/// As it answers to a creation in a namespace that it does not have.
const NO_NAMESPACE: &str = r#"{"kind":"Status","reason":"NotFound","code":404,"message":"namespaces \"web\" not found",
    "details":{"name":"web","kind":"namespaces"}}"#;

#[test]
fn a_404_of_a_status_says_that_the_subresource_may_be_missing() {
    let told = report((Method::Patch, NO_FOO), async |cx, _, foo| {
        cx.change_status(foo, |foo| foo.status = Some(Size { size: Some(2) })).await?;
        Ok(())
    });
    let expected = "web/foo: PATCH /apis/example.com/v1/namespaces/web/foos/foo/status: status 404 NotFound: \
                    foos.example.com \"foo\" not found; if the object exists, its kind has no subresource `status`: a CRD \
                    declares it for each version, by `subresources: {status: {}}`";
    assert_eq!(told, expected);
}

#[test]
fn a_resource_that_the_server_does_not_have_is_named() {
    let told = report((Method::Post, NO_RESOURCE), async |cx, parts, _| {
        cx.create(parts, Key::from("web/a"), &json!({ "spec": {} })).await?;
        Ok(())
    });
    let expected = "web/a: POST /api/v1/namespaces/web/parts: status 404 NotFound: the server could not find the \
                    requested resource; is `parts` a plural of v1, and is it namespaced? check with `kubectl api-resources`";
    assert_eq!(told, expected);
}

#[test]
fn a_missing_namespace_is_not_taken_for_a_missing_resource() {
    let told = report((Method::Post, NO_NAMESPACE), async |cx, parts, _| {
        cx.create(parts, Key::from("web/a"), &json!({ "spec": {} })).await?;
        Ok(())
    });
    let expected = "web/a: POST /api/v1/namespaces/web/parts: status 404 NotFound: namespaces \"web\" not found";
    assert_eq!(told, expected);
}

#[test]
fn a_call_that_is_refused_says_which_one_it_is() {
    let expected = "GET /apis/example.com/v1/namespaces/web/foos/foo: status 404 NotFound: the server could not find the \
                    requested resource; is `foos` a plural of example.com/v1, and is it namespaced? check with \
                    `kubectl api-resources --api-group=example.com`";
    let told = report((Method::Get, NO_RESOURCE), async |cx, _, foo| {
        cx.call(foo.informer().api_for::<Foo>(foo.key()).get("foo")).await?;
        Ok(())
    });
    assert_eq!(told, expected);
}

#[test]
fn an_answer_that_cannot_be_read_says_to_which_request_it_is() {
    let stage = Stage::new();
    stage.twist(Method::Get, |_, _| Some(ApiResponse::new(200, *b"{}")));
    let error = stage.act(async |cx, _, foo| {
        let get = foo.informer().api_for::<Part>(foo.key()).get("foo");
        cx.call(get).await.unwrap_err().to_string()
    });
    let expected =
        "the response cannot be decoded: GET /apis/example.com/v1/namespaces/web/foos/foo: missing field `spec`";
    assert!(error.starts_with(expected), "{error}");
}
