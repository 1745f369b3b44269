//! Objects that get an owner after they were created.

use crate::acting::stage::{FOOS, PARTS, SOON, Stage, at, body, put, replace, target};
use listwatch::api::Method;
use listwatch::controller::ActError;
use serde_json::{Value, json};

/// A stage with the part `web/a` that has these owners.
fn stage(owners: Value) -> Stage {
    let stage = Stage::new();
    stage.create(PARTS, &json!({ "metadata": { "name": "a", "ownerReferences": owners }, "spec": {} }));
    stage
}

/// Adopts the part, and returns whether the foo controls it then.
fn adopt(stage: &Stage) -> Result<bool, ActError> {
    stage.act(async |cx, kinds, foo| {
        let part = kinds.parts.get("web/a").unwrap();
        Ok(cx.adopt(&part, foo).await?.is_controlled_by(foo))
    })
}

fn foo(controller: bool) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": "u1", "controller": controller })
}

#[test]
fn an_object_is_adopted_after_a_read_of_its_owner_and_keeps_its_other_owners() {
    let bar = json!({ "apiVersion": "v1", "kind": "Bar", "name": "bar", "uid": "u-bar", "blockOwnerDeletion": true });
    let stage = stage(json!([bar]));
    assert_eq!(adopt(&stage), Ok(true));
    let requests = stage.requests();
    let targets: Vec<_> = requests.iter().map(|request| target(request)).collect();
    assert_eq!(
        targets,
        [
            "GET /apis/example.com/v1/namespaces/web/foos/foo",
            "PATCH /api/v1/namespaces/web/parts/a?fieldManager=sample",
        ]
    );
    let mut owner = foo(true);
    owner["blockOwnerDeletion"] = json!(true);
    let patch = json!({ "metadata": { "resourceVersion": "3", "ownerReferences": [bar, owner] } });
    assert_eq!(body(&requests[1]), patch);
}

#[test]
fn an_owner_that_becomes_the_controller_is_named_once() {
    let stage = stage(json!([foo(false)]));
    assert_eq!(adopt(&stage), Ok(true));
    let owners = stage.object(&at(PARTS, "a"))["metadata"]["ownerReferences"].clone();
    assert_eq!((owners.as_array().map(Vec::len), &owners[0]["controller"]), (Some(1), &json!(true)), "{owners}");
}

#[test]
fn an_object_that_the_owner_controls_is_not_adopted_again() {
    let stage = stage(json!([foo(true)]));
    assert_eq!(adopt(&stage), Ok(true));
    assert_eq!(stage.requests(), [""; 0]);
}

#[test]
fn an_object_that_another_one_controls_is_not_adopted() {
    let stage =
        stage(json!([{ "apiVersion": "v1", "kind": "Bar", "name": "b\u{7}", "uid": "u-bar", "controller": true }]));
    let error = adopt(&stage).unwrap_err().to_string();
    assert_eq!(
        (error.as_str(), stage.requests()),
        (r"web/a: Bar b\u0007 controls the object, and only one can", Vec::new())
    );
}

#[test]
fn an_object_that_is_being_deleted_is_not_adopted() {
    let stage = Stage::new();
    let part = json!({ "metadata": { "name": "a", "finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z" },
        "spec": {} });
    stage.create(PARTS, &part);
    let error = adopt(&stage).unwrap_err().to_string();
    assert_eq!((error.as_str(), stage.requests()), ("web/a: the object is being deleted", Vec::new()));
}

#[test]
fn an_owner_that_is_gone_or_going_adopts_nothing() {
    let foo = || at(FOOS, "foo");
    let gone = stage(json!([]));
    gone.twist(Method::Get, move |store, now| {
        store.delete(now, &foo());
        None
    });
    let error = adopt(&gone).unwrap_err().to_string();
    assert_eq!((error.as_str(), gone.requests().len()), ("web/foo: the owner is gone, so it adopts nothing", 1));

    let going = stage(json!([]));
    going.twist(Method::Get, move |_, _| {
        let metadata = json!({ "name": "foo", "namespace": "web", "uid": "u1", "resourceVersion": "9",
            "deletionTimestamp": "2026-01-01T00:00:00Z" });
        let body = json!({ "metadata": metadata }).to_string();
        Some(listwatch::api::ApiResponse::new(200, body))
    });
    let error = adopt(&going).unwrap_err().to_string();
    assert_eq!(
        (error.as_str(), going.requests().len()),
        ("web/foo: the owner is being deleted, so it adopts nothing", 1)
    );

    let replaced = stage(json!([]));
    replaced.twist(Method::Get, replace(&foo()));
    assert_eq!(adopt(&replaced), Err(ActError::Replaced { key: "web/foo".into() }));
    assert_eq!(replaced.requests().len(), 1);
}

#[test]
fn an_object_that_has_changed_meanwhile_is_not_adopted() {
    let stage = stage(json!([]));
    stage.twist(Method::Patch, put(&at(PARTS, "a"), json!({ "size": 2 })));
    let error = adopt(&stage).unwrap_err();
    assert!(error.is_conflict() && error.to_string().starts_with("web/a: "), "{error}");
}

#[test]
fn the_reconcile_after_an_adoption_sees_it() {
    let stage = Stage::late(SOON / 6);
    stage.create(PARTS, &json!({ "metadata": { "name": "a" }, "spec": {} }));
    let seen = stage.act_then(
        async |cx, kinds, foo| {
            cx.adopt(&kinds.parts.get("web/a").unwrap(), foo).await.unwrap();
        },
        |kinds| kinds.parts.get("web/a").unwrap().is_controlled_by(&kinds.foos.get("web/foo").unwrap()),
    );
    assert!(seen);
}
