//! Objects that a reconcile deletes.

use crate::acting::stage::{PARTS, SOON, Stage, at, body, put, replace};
use listwatch::api::{Method, PropagationPolicy};
use serde_json::json;

/// A stage with the part `web/a`.
fn stage() -> Stage {
    let stage = Stage::new();
    stage.put(&at(PARTS, "a"), json!({ "size": 1 }));
    stage
}

#[test]
fn a_deletion_names_the_uid_and_what_else_was_set() {
    let stage = stage();
    stage.act(async |cx, kinds, _| {
        let part = kinds.parts.get("web/a").unwrap();
        let delete = cx.delete(&part).if_unchanged().with_propagation(PropagationPolicy::Foreground);
        delete.with_grace_period(5).await.unwrap();
    });
    let options = json!({ "kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 5,
        "preconditions": { "uid": "u2", "resourceVersion": "3" }, "propagationPolicy": "Foreground" });
    assert_eq!(body(&stage.requests()[0]), options);
    assert_eq!(stage.object(&at(PARTS, "a")), json!(null));
}

#[test]
fn an_object_that_is_gone_need_not_be_deleted() {
    let stage = stage();
    stage.twist(Method::Delete, |store, now| {
        store.delete(now, &at(PARTS, "a"));
        None
    });
    stage.act(async |cx, kinds, _| cx.delete(&kinds.parts.get("web/a").unwrap()).await.unwrap());
}

#[test]
fn a_deletion_is_over_where_another_object_has_the_name() {
    let stage = stage();
    stage.twist(Method::Delete, replace(&at(PARTS, "a")));
    let deleted = stage.act(async |cx, kinds, _| cx.delete(&kinds.parts.get("web/a").unwrap()).await);
    assert_eq!(deleted, Ok(()), "it is gone");
    assert_ne!(stage.object(&at(PARTS, "a")), json!(null), "the other one stays");
}

#[test]
fn an_object_that_has_changed_is_not_deleted_if_it_was_to_be_unchanged() {
    for is_strict in [true, false] {
        let stage = stage();
        stage.twist(Method::Delete, put(&at(PARTS, "a"), json!({ "size": 2 })));
        let deleted = stage.act(async |cx, kinds, _| {
            let part = kinds.parts.get("web/a").unwrap();
            let delete = cx.delete(&part);
            if is_strict { delete.if_unchanged().await } else { delete.await }
        });
        assert_eq!(deleted.as_ref().err().is_some_and(|error| error.is_conflict()), is_strict, "{deleted:?}");
        assert_eq!(stage.object(&at(PARTS, "a"))["spec"]["size"].is_number(), is_strict);
        assert!(deleted.err().is_none_or(|error| error.to_string().starts_with("web/a: ")));
    }
}

#[test]
fn a_conflict_stays_one_where_the_object_may_not_be_read() {
    let stage = stage();
    stage.refuse(Method::Delete, &[409]);
    stage.refuse(Method::Get, &[403]);
    let deleted = stage.act(async |cx, kinds, _| cx.delete(&kinds.parts.get("web/a").unwrap()).await);
    assert!(deleted.as_ref().is_err_and(|error| error.is_conflict()), "{deleted:?}");
}

#[test]
fn the_reconcile_after_a_deletion_does_not_see_the_object() {
    let stage = Stage::late(SOON / 6);
    stage.put(&at(PARTS, "a"), json!({ "size": 1 }));
    let seen = stage.act_then(
        async |cx, kinds, _| {
            cx.delete(&kinds.parts.get("web/a").unwrap()).await.unwrap();
            assert!(kinds.parts.get("web/a").is_some(), "the watch is late");
        },
        |kinds| kinds.parts.get("web/a").is_some(),
    );
    assert!(!seen);
}
