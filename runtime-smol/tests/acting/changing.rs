//! Objects and statuses that a reconcile changes.

use crate::acting::stage::{AGAIN, FOOS, PARTS, SOON, Size, Stage, at, body, put, replace, target};
use listwatch::Key;
use listwatch::api::{ApiResponse, Method, Patch};
use listwatch::controller::{ActError, Outcome};
use listwatch::time::Instant;
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn no_request_is_made_if_nothing_changes() {
    let stage = Stage::new();
    let version = stage.act(async |cx, _, foo| {
        let same = cx.change(foo, |_| {}).await.unwrap();
        let size = |size: Option<Size>| size.and_then(|size| size.size);
        assert_eq!((size(same.spec), size(same.status)), (Some(1), None));
        let same = cx.change_status(&same, |foo| foo.status = None).await.unwrap();
        same.meta().resource_version().to_owned()
    });
    assert_eq!(stage.requests(), [""; 0]);
    assert_eq!(version, "2");
}

#[test]
fn a_change_is_one_request_with_what_differs_and_the_version() {
    let stage = Stage::new();
    let changed = stage.act(async |cx, _, foo| {
        let foo = cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await.unwrap();
        cx.change_status(&foo, |foo| foo.status = foo.spec).await.unwrap()
    });
    assert_eq!((changed.spec, changed.status), (Some(Size { size: Some(2) }), Some(Size { size: Some(2) })));
    let requests = stage.requests();
    let targets: Vec<_> = requests.iter().map(|request| target(request)).collect();
    assert_eq!(
        targets,
        [
            "PATCH /apis/example.com/v1/namespaces/web/foos/foo?fieldManager=sample",
            "PATCH /apis/example.com/v1/namespaces/web/foos/foo/status?fieldManager=sample",
        ]
    );
    assert_eq!(body(&requests[0]), json!({ "metadata": { "resourceVersion": "2" }, "spec": { "size": 2 } }));
    assert_eq!(body(&requests[1]), json!({ "metadata": { "resourceVersion": "3" }, "status": { "size": 2 } }));
    assert_eq!(changed.meta().resource_version(), "4");
}

#[test]
fn what_belongs_to_the_other_part_is_refused_before_any_request() {
    let stage = Stage::new();
    let errors = stage.act(async |cx, _, foo| {
        [
            cx.change(foo, |foo| foo.status = Some(Size::default())).await,
            cx.change_status(foo, |foo| foo.spec = None).await,
        ]
        .map(|changed| changed.unwrap_err())
    });
    for (error, place) in errors.iter().zip(["web/foo: status: ", "web/foo: spec: "]) {
        assert!(matches!(error, ActError::Change { .. }), "{error:?}");
        assert!(error.to_string().starts_with(place), "{error}");
    }
    assert_eq!(stage.requests(), [""; 0]);
}

#[test]
fn a_change_that_conflicts_is_made_again_on_the_newest_object() {
    let stage = Stage::new();
    stage.twist(Method::Patch, put(&at(FOOS, "foo"), json!({ "size": 5, "color": "red" })));
    let size = stage.act(async |cx, _, foo| {
        let add = |size: Option<Size>| Some(Size { size: size.and_then(|size| size.size).map(|size| size + 1) });
        cx.change(foo, move |foo| foo.spec = add(foo.spec)).await.unwrap().spec
    });
    assert_eq!(size, Some(Size { size: Some(6) }));
    assert_eq!(stage.object(&at(FOOS, "foo"))["spec"], json!({ "size": 6, "color": "red" }));
    let requests = stage.requests();
    let methods: Vec<_> = requests.iter().map(|request| request.split(' ').next().unwrap()).collect();
    assert_eq!(methods, ["PATCH", "GET", "PATCH"]);
}

#[test]
fn a_change_that_another_client_has_made_is_not_made_again() {
    let stage = Stage::new();
    stage.twist(Method::Patch, put(&at(FOOS, "foo"), json!({ "size": 2 })));
    let version = stage.act(async |cx, _, foo| {
        let changed = cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await.unwrap();
        changed.meta().resource_version().to_owned()
    });
    assert_eq!((version.as_str(), stage.requests().len()), ("3", 2));
}

#[test]
fn conflicts_without_an_end_end_the_change() {
    let stage = Stage::new();
    stage.refuse(Method::Patch, &[409; 20]);
    let error =
        stage.act(async |cx, _, foo| cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await.unwrap_err());
    assert!(error.is_conflict() && error.to_string().starts_with("web/foo: "), "{error}");
    assert_eq!(stage.requests().len(), 5 + 4, "five attempts, and a read between each two of them");
}

#[test]
fn another_object_of_the_name_is_not_changed() {
    let stage = Stage::new();
    stage.twist(Method::Patch, replace(&at(FOOS, "foo")));
    let error =
        stage.act(async |cx, _, foo| cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await.unwrap_err());
    assert_eq!(error, ActError::Replaced { key: Key::from("web/foo") });
    assert_eq!(error.to_string(), "web/foo: the object was deleted, and another one has its name");
    assert_eq!(stage.object(&at(FOOS, "foo"))["spec"], json!({}));
}

#[test]
fn an_object_that_is_gone_is_not_found() {
    let stage = Stage::new();
    stage.twist(Method::Patch, |store, now| {
        store.delete(now, &at(FOOS, "foo"));
        None
    });
    let error = stage.act(async |cx, _, foo| {
        cx.change_status(foo, |foo| foo.status = Some(Size { size: Some(2) })).await.unwrap_err()
    });
    assert!(error.is_not_found() && error.to_string().starts_with("web/foo: "), "{error}");
}

/// The part `web/a`, whose images have names that the type does not know.
fn with_images(stage: &Stage) {
    let images = json!([{ "name": "one", "image": "web:1" }, { "name": "other", "image": "db:1" }]);
    stage.put(&at(PARTS, "a"), json!({ "size": 1, "images": images }));
}

#[test]
fn a_list_that_changes_is_read_first_and_keeps_what_the_type_does_not_know() {
    let stage = Stage::new();
    with_images(&stage);
    let images = stage.act(async |cx, kinds, _| {
        let part = kinds.parts.get("web/a").unwrap();
        cx.change(&part, |part| part.spec.images[0].image = "web:2".to_owned()).await.unwrap().spec.images.len()
    });
    assert_eq!(images, 2);
    let expected = json!([{ "name": "one", "image": "web:2" }, { "name": "other", "image": "db:1" }]);
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 1, "images": expected }));
    let requests = stage.requests();
    assert_eq!((requests.len(), target(&requests[0])), (2, "GET /api/v1/namespaces/web/parts/a"));
    let patch = json!({ "metadata": { "resourceVersion": "3" }, "spec": { "images": expected } });
    assert_eq!(body(&requests[1]), patch);
}

#[test]
fn a_list_that_has_changed_meanwhile_is_changed_as_it_is_now() {
    let stage = Stage::new();
    with_images(&stage);
    let images =
        |first: &str| json!([{ "name": "one", "image": first }, { "name": "new", "image": "x:1", "tty": true }]);
    stage.twist(Method::Get, put(&at(PARTS, "a"), json!({ "images": images("web:1") })));
    stage.twist(Method::Patch, put(&at(PARTS, "a"), json!({ "images": images("web:7") })));
    stage.act(async |cx, kinds, _| {
        let part = kinds.parts.get("web/a").unwrap();
        cx.change(&part, |part| part.spec.images[0].image.push('0')).await.unwrap();
    });
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "images": images("web:70") }));
}

#[test]
fn a_change_that_the_type_cannot_say_without_a_loss_is_refused() {
    let stage = Stage::new();
    with_images(&stage);
    let error = stage.act(async |cx, kinds, _| {
        let part = kinds.parts.get("web/a").unwrap();
        let new = || [crate::acting::stage::Image { image: "new:1".to_owned() }].to_vec();
        cx.change(&part, move |part| part.spec.images = new()).await.unwrap_err()
    });
    assert!(error.to_string().starts_with("web/a: spec.images"), "{error}");
    assert_eq!(stage.requests().len(), 1, "it was read");
}

#[test]
fn the_reconcile_after_a_change_sees_it() {
    let stage = Stage::late(SOON / 6);
    let seen = stage.act_then(
        async |cx, _, foo| {
            let foo = cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await.unwrap();
            cx.change_status(&foo, |foo| foo.status = Some(Size { size: Some(3) })).await.unwrap();
        },
        |kinds| {
            let foo = kinds.foos.get("web/foo").unwrap();
            (foo.spec, foo.status)
        },
    );
    assert_eq!(seen, (Some(Size { size: Some(2) }), Some(Size { size: Some(3) })));
}

#[test]
fn the_text_of_a_server_is_printed_without_control_characters() {
    let stage = Stage::new();
    stage.twist(Method::Patch, |_, _| {
        let status = json!({ "kind": "Status", "message": "no\u{1b}[31m\nred", "reason": "Invalid", "code": 422 });
        Some(ApiResponse::new(422, status.to_string()))
    });
    let error =
        stage.act(async |cx, _, foo| cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await.unwrap_err());
    let text = error.to_string();
    assert!(!text.contains(char::is_control) && text.contains("red"), "{text:?}");
}

/// The next request would go to the object that the answer names.
#[test]
fn an_answer_about_another_object_is_refused() {
    let stage = Stage::new();
    stage.twist(Method::Patch, |_, _| {
        let other = r#"{"metadata":{"name":"victim","namespace":"kube-system","uid":"u1","resourceVersion":"9"}}"#;
        Some(ApiResponse::new(200, other))
    });
    let changed = stage.act(async |cx, _, foo| cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await);
    let error = changed.unwrap_err().to_string();
    assert!(error.starts_with("web/foo: ") && error.contains("the answer is about kube-system/victim"), "{error}");
}

/// A server takes an empty version for none, so the patch would undo what others have changed.
#[test]
fn an_object_without_a_version_is_not_patched() {
    let stage = Stage::new();
    let body = r#"{"metadata":{"name":"foo","namespace":"web","uid":"u1"},"spec":{"size":1}}"#;
    stage.twist(Method::Get, move |_, _| Some(ApiResponse::new(200, body)));
    let changed = stage.act(async |cx, kinds, foo| {
        let live = cx.live().get(&kinds.foos, foo.key()).await.unwrap().unwrap();
        cx.change(&live, |foo| foo.spec = Some(Size { size: Some(2) })).await
    });
    assert!(matches!(changed, Err(ActError::Refused { .. })), "{changed:?}");
    assert_eq!(stage.requests().len(), 1, "the read");
}

#[test]
fn a_patch_is_sent_as_it_is() {
    let stage = Stage::new();
    let changed = stage.act(async |cx, _, foo| {
        let foo =
            cx.patch(foo, &Patch::Merge(&json!({ "spec": { "size": 7 }, "status": { "size": 7 } }))).await.unwrap();
        let foo = cx.patch_status(&foo, &Patch::Merge(&json!({ "status": { "size": 8 } }))).await.unwrap();
        let apply = Patch::Apply { manager: "other", force: false, object: &json!({ "status": { "size": 9 } }) };
        cx.patch_status(&foo, &apply).await.unwrap();
        let old = json!({ "metadata": { "resourceVersion": "1" } });
        let error = cx.patch(&foo, &Patch::Merge(&old)).await.unwrap_err();
        assert!(error.is_conflict() && error.to_string().starts_with("web/foo: "), "{error}");
        (foo.spec, foo.status)
    });
    assert_eq!(changed, (Some(Size { size: Some(7) }), Some(Size { size: Some(8) })));
    let requests = stage.requests();
    let path = "PATCH /apis/example.com/v1/namespaces/web/foos/foo";
    assert_eq!(
        requests.iter().map(|request| target(request)).collect::<Vec<_>>(),
        [
            format!("{path}?fieldManager=sample"),
            format!("{path}/status?fieldManager=sample"),
            format!("{path}/status?fieldManager=other"),
            format!("{path}?fieldManager=sample"),
        ]
    );
}

/// The key is told of the write that the cache lacks, so the version in the cache is known to be old.
#[test]
fn a_change_reads_an_object_whose_version_is_known_to_be_old() {
    let stage = Stage::late(SOON * 10);
    let told = Mutex::new(Vec::new());
    let ended = stage.reconcile(async |cx, _, foo| {
        told.lock().unwrap().push(cx.timed_out_writes().len());
        cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await?;
        Ok(if told.lock().unwrap().len() < 2 { AGAIN } else { Outcome::Done })
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(told.lock().unwrap()[..2], [0, 1]);
    let requests = stage.requests();
    let methods: Vec<_> = requests.iter().map(|request| request.split_once(' ').unwrap().0).collect();
    assert_eq!(methods[..2], ["PATCH", "GET"], "{requests:?}");
    assert_eq!(methods.iter().filter(|method| **method == "PATCH").count(), 1, "{requests:?}");
}

/// When a controller of this name tries a change again that conflicts four times.
fn attempts(name: &str) -> Vec<Instant> {
    let stage = Stage::new();
    let times = Arc::new(Mutex::new(Vec::new()));
    for size in 10..14 {
        let times = Arc::clone(&times);
        stage.twist(Method::Patch, move |store, now| {
            times.lock().unwrap().push(now);
            store.put(now, &at(FOOS, "foo"), json!({ "size": size }));
            None
        });
    }
    let is_first = AtomicBool::new(true);
    let ended = stage.reconcile_as(name, async |cx, _, foo| {
        if is_first.swap(false, Ordering::Relaxed) {
            cx.change(foo, |foo| foo.spec = Some(Size { size: Some(2) })).await?;
        }
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let times = times.lock().unwrap().clone();
    assert_eq!(times.len(), 4);
    times
}

/// The one that comes second conflicts each time.
#[test]
fn two_controllers_that_collide_try_again_at_different_times() {
    assert_ne!(attempts("one"), attempts("other"));
    assert_eq!(attempts("one"), attempts("one"), "each run is the same");
}

/// The event of a reconcile's own write is one as any other, so none has to be told apart.
#[test]
fn a_patch_without_effect_hides_no_change_of_another_client() {
    for is_before in [true, false] {
        let (stage, seen) = (Stage::new(), Mutex::new(Vec::new()));
        let mut other = put(&at(FOOS, "foo"), json!({ "size": 9 }));
        stage.twist(Method::Patch, move |store, now| if is_before { other(store, now) } else { None });
        let ended = stage.reconcile(async |cx, _, foo| {
            let size = foo.spec.and_then(|spec| spec.size);
            seen.lock().unwrap().push(size);
            if size == Some(1) {
                cx.patch(foo, &Patch::Merge(&json!({ "metadata": { "labels": null } }))).await?;
                if !is_before {
                    stage.put(&at(FOOS, "foo"), json!({ "size": 9 }));
                }
            }
            Ok(Outcome::Done)
        });
        assert_eq!((ended, seen.into_inner().unwrap()), (Ok(()), vec![Some(1), Some(9)]));
    }
}
