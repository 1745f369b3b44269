//! Fields that a reconcile applies.

use crate::acting::stage::{PARTS, SOON, Stage, at, body, target};
use listwatch::Key;
use listwatch::api::Method;
use serde_json::json;

#[test]
fn the_wanted_fields_alone_are_applied_under_the_name_of_the_controller() {
    let stage = Stage::new();
    stage.put(&at(PARTS, "a"), json!({ "size": 1 }));
    let size = stage.act(async |cx, kinds, foo| {
        let wanted = json!({ "metadata": { "labels": { "app": "a" }, "creationTimestamp": null }, "status": null,
            "spec": { "size": 2, "images": [{ "image": "web:1", "tty": null }], "more": [null], "color": null } });
        let key = Key::from("web/a");
        cx.apply(&kinds.parts, &key, &wanted).owned_by(foo).await.unwrap();
        cx.apply(&kinds.parts, &key, &json!({ "spec": { "size": 3 } })).force().await.unwrap().spec.size
    });
    assert_eq!(size, Some(3));
    let requests = stage.requests();
    assert_eq!(target(&requests[0]), "PATCH /api/v1/namespaces/web/parts/a?fieldManager=sample");
    assert_eq!(target(&requests[1]), "PATCH /api/v1/namespaces/web/parts/a?fieldManager=sample&force=true");
    let owner = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": "u1",
        "controller": true, "blockOwnerDeletion": true });
    let metadata = json!({ "name": "a", "namespace": "web", "labels": { "app": "a" }, "ownerReferences": [owner] });
    let spec = json!({ "size": 2, "images": [{ "image": "web:1" }], "more": [null] });
    assert_eq!(body(&requests[0]), json!({ "apiVersion": "v1", "kind": "Part", "metadata": metadata, "spec": spec }));
}

#[test]
fn what_the_server_alone_sets_is_not_applied() {
    for field in ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"] {
        let stage = Stage::new();
        let error = stage.act(async |cx, kinds, _| {
            let wanted = json!({ "metadata": { field: "x" } });
            cx.apply(&kinds.parts, Key::from("web/a"), &wanted).await.unwrap_err().to_string()
        });
        assert_eq!(
            error,
            format!("web/a: metadata.{field} of the body is the server's; apply the wanted fields alone")
        );
        assert_eq!(stage.requests(), [""; 0]);
    }
}

#[test]
fn an_object_whose_kind_is_not_known_is_applied_if_its_body_says_the_kind() {
    let stage = Stage::new();
    let error = stage.act(async |cx, kinds, foo| {
        let key = foo.key().sibling("foo");
        cx.apply(&kinds.nameless, &key, &json!({ "kind": "Foo" })).await.unwrap();
        cx.apply(&kinds.nameless, &key, &json!({})).await.unwrap_err().to_string()
    });
    let expected = "web/foo: the kind of /apis/example.com/v1/foos is not known; make its informer with_kind(\"…\"), \
                    or of a Kind by informer_where";
    assert_eq!(error, expected);
}

#[test]
fn a_field_of_another_manager_is_a_conflict_that_is_not_tried_again() {
    let stage = Stage::new();
    stage.put(&at(PARTS, "a"), json!({ "size": 1 }));
    stage.refuse(Method::Patch, &[409]);
    let error = stage.act(async |cx, kinds, _| {
        cx.apply(&kinds.parts, Key::from("web/a"), &json!({ "spec": { "size": 2 } })).await.unwrap_err()
    });
    assert!(error.is_conflict() && error.to_string().starts_with("web/a: "), "{error}");
    assert_eq!(stage.requests().len(), 1);
}

#[test]
fn the_reconcile_after_an_apply_sees_it() {
    let stage = Stage::late(SOON / 6);
    stage.put(&at(PARTS, "a"), json!({ "size": 1 }));
    let seen = stage.act_then(
        async |cx, kinds, _| {
            cx.apply(&kinds.parts, Key::from("web/a"), &json!({ "spec": { "size": 2 } })).await.unwrap();
        },
        |kinds| kinds.parts.get("web/a").unwrap().spec.size,
    );
    assert_eq!(seen, Some(2));
}
