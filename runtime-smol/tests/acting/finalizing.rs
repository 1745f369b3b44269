//! Steps between the deletion of an object and its end.

use crate::acting::stage::{AGAIN, FOOS, Foo, SOON, Stage, at, body, put, replace};
use listwatch::Found;
use listwatch::api::{ApiRequest, ApiResponse, Method};
use listwatch::controller::{Context, Error, Outcome};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};

const NAME: &str = "example.com/bucket";

/// A stage whose foo has these finalizers, and is being deleted.
fn deleted(finalizers: &[&str]) -> Stage {
    let stage = Stage::new();
    let metadata = json!({ "name": "bar", "finalizers": finalizers, "deletionTimestamp": "2026-01-01T00:00:00Z" });
    stage.delete(&at(FOOS, "foo"));
    stage.create(FOOS, &json!({ "metadata": metadata, "spec": {} }));
    stage
}

/// Finalizes each foo, until it is gone. Returns how often it was cleaned up, and what the reconciles returned.
fn finalize(stage: &Stage, failures: u32) -> (u32, Vec<String>) {
    let (cleaned, results) = (AtomicU32::new(0), std::sync::Mutex::new(Vec::new()));
    let ended = stage.reconcile(async |cx, _, foo| {
        let clean_up = async |_: &Found<Foo>| match cleaned.fetch_add(1, Ordering::Relaxed) {
            count if count < failures => Err(Error::new("the bucket is not empty")),
            _ => Ok(()),
        };
        let finalized = cx.finalizer(foo, NAME, clean_up).await;
        let result = match &finalized {
            Ok(Some(foo)) => format!("has {}", foo.meta().finalizers().any(|name| name == NAME)),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        };
        results.lock().unwrap().push(result);
        finalized.map(|_| Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    (cleaned.into_inner(), results.into_inner().unwrap())
}

fn finalizers(stage: &Stage, name: &str) -> Value {
    stage.object(&at(FOOS, name))["metadata"]["finalizers"].clone()
}

#[test]
fn an_object_is_returned_once_it_has_its_finalizer() {
    let stage = Stage::new();
    let (cleaned, results) = finalize(&stage, 0);
    assert_eq!((cleaned, results), (0, vec!["has true".to_owned(); 2]), "once more for the change");
    let requests = stage.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert_eq!(body(&requests[0]), json!({ "metadata": { "resourceVersion": "2", "finalizers": [NAME] } }));
}

#[test]
fn a_finalizer_that_conflicts_is_added_to_the_newest_object() {
    let stage = Stage::new();
    stage.twist(Method::Patch, put(&at(FOOS, "foo"), json!({ "size": 9 })));
    let (_, results) = finalize(&stage, 0);
    assert_eq!(results[0], "has true");
    let foo = stage.object(&at(FOOS, "foo"));
    assert_eq!((&foo["spec"], finalizers(&stage, "foo")), (&json!({ "size": 9 }), json!([NAME])));
}

#[test]
fn an_object_that_is_gone_meanwhile_gets_no_finalizer() {
    let gone = Stage::new();
    gone.twist(Method::Patch, |store, now| {
        store.delete(now, &at(FOOS, "foo"));
        None
    });
    assert_eq!(finalize(&gone, 0), (0, vec!["none".to_owned()]));

    let replaced = Stage::new();
    replaced.twist(Method::Patch, replace(&at(FOOS, "foo")));
    let (cleaned, results) = finalize(&replaced, 0);
    assert_eq!((cleaned, results[0].as_str()), (0, "none"));
    assert_eq!(results.last().map(String::as_str), Some("has true"), "the other one has it");
}

#[test]
fn an_object_that_is_being_deleted_meanwhile_gets_no_finalizer() {
    let stage = Stage::new();
    stage.delete(&at(FOOS, "foo"));
    stage.create(FOOS, &json!({ "metadata": { "name": "foo", "finalizers": ["x/y"] }, "spec": {} }));
    stage.twist(Method::Patch, |store, now| {
        store.delete(now, &at(FOOS, "foo"));
        None
    });
    let (cleaned, results) = finalize(&stage, 0);
    assert_eq!((cleaned, results[0].as_str()), (0, "none"));
    assert_eq!(finalizers(&stage, "foo"), json!(["x/y"]));
}

#[test]
fn what_is_deleted_is_cleaned_up_once_and_then_goes() {
    let stage = deleted(&[NAME]);
    let (cleaned, results) = finalize(&stage, 0);
    assert_eq!((cleaned, results), (1, vec!["none".to_owned()]));
    assert_eq!(stage.object(&at(FOOS, "bar")), json!(null));
}

/// Nothing would wake the key again, because the object stays as it is.
#[test]
fn an_answer_that_is_not_about_the_object_is_not_its_end() {
    let answers = [
        (404, "404 page not found"),
        (404, r#"{"kind":"Status","reason":"NotFound","code":404,"details":{}}"#),
        (404, r#"{"kind":"Status","reason":"NotFound","code":404,"details":{"name":"another"}}"#),
        (200, r#"{"metadata":{"name":"bar","namespace":"web","resourceVersion":"3"}}"#),
        (200, r#"{"metadata":{"name":"another","namespace":"web","uid":"u-9","resourceVersion":"3"}}"#),
    ];
    for (status, body) in answers {
        let stage = deleted(&[NAME]);
        stage.twist(Method::Get, move |_, _| Some(ApiResponse::new(status, body)));
        let (cleaned, results) = finalize(&stage, 0);
        assert_eq!((cleaned, results.len(), results.last().map(String::as_str)), (1, 2, Some("none")), "{body}");
        assert_eq!(stage.object(&at(FOOS, "bar")), json!(null));
    }
}

#[test]
fn other_finalizers_stay_and_do_not_concern_it() {
    let stage = deleted(&["x/y", NAME, "x/z"]);
    let (cleaned, _) = finalize(&stage, 0);
    assert_eq!((cleaned, finalizers(&stage, "bar")), (1, json!(["x/y", "x/z"])));
}

#[test]
fn a_removal_that_fails_several_times_does_not_clean_up_again() {
    let stage = deleted(&[NAME]);
    stage.refuse(Method::Patch, &[500, 503, 429, 500]);
    let (cleaned, results) = finalize(&stage, 0);
    assert_eq!((cleaned, results.len()), (1, 5), "{results:?}");
    assert!(results[..4].iter().all(|result| result.starts_with("web/bar: ")), "{results:?}");
    assert_eq!(stage.object(&at(FOOS, "bar")), json!(null));
}

#[test]
fn many_removals_that_fail_do_not_clean_up_again() {
    let stage = deleted(&[NAME]);
    for number in 0..200 {
        let metadata = json!({ "name": format!("bar-{number}"), "finalizers": [NAME],
            "deletionTimestamp": "2026-01-01T00:00:00Z" });
        stage.create(FOOS, &json!({ "metadata": metadata, "spec": {} }));
    }
    stage.refuse(Method::Patch, &[500; 201]);
    let (cleaned, results) = finalize(&stage, 0);
    assert_eq!((cleaned, results.len()), (201, 402));
}

#[test]
fn a_removal_that_conflicts_does_not_clean_up_again() {
    let stage = deleted(&[NAME]);
    for _ in 0..3 {
        stage.twist(Method::Patch, put(&at(FOOS, "bar"), json!({})));
    }
    assert_eq!(finalize(&stage, 0).0, 1);
    let more = deleted(&[NAME]);
    more.refuse(Method::Patch, &[409; 7]);
    let (cleaned, results) = finalize(&more, 0);
    assert_eq!((cleaned, results.len()), (1, 2), "five conflicts end a reconcile: {results:?}");
    assert_eq!([&stage, &more].map(|stage| stage.object(&at(FOOS, "bar"))), [json!(null), json!(null)]);
}

#[test]
fn a_clean_up_that_fails_is_retried() {
    let stage = deleted(&[NAME]);
    let (cleaned, results) = finalize(&stage, 2);
    assert_eq!(
        (cleaned, &results[..]),
        (3, &["the bucket is not empty", "the bucket is not empty", "none"].map(str::to_owned)[..])
    );
}

#[test]
fn a_cache_that_is_late_does_not_clean_up_again() {
    let stage = deleted(&[NAME]);
    stage.twist(Method::Get, |store, now| {
        let patch = json!({ "metadata": { "finalizers": [] } });
        let mut request = ApiRequest::new(Method::Patch, at(FOOS, "bar"));
        request.body = patch.to_string().into_bytes();
        store.handle(now, &request);
        None
    });
    assert_eq!(finalize(&stage, 0), (0, vec!["none".to_owned()]));
}

#[test]
fn an_object_that_follows_under_its_name_is_cleaned_up_too() {
    let stage = deleted(&[NAME]);
    // The removal arrives, and its answer does not. Another object of the name comes and goes.
    stage.twist(Method::Patch, |store, now| {
        let metadata = json!({ "name": "bar", "finalizers": [NAME], "deletionTimestamp": "2026-01-01T00:00:00Z" });
        let mut create = ApiRequest::new(Method::Post, FOOS);
        create.body = json!({ "metadata": metadata, "spec": {} }).to_string().into_bytes();
        let mut remove = ApiRequest::new(Method::Patch, at(FOOS, "bar"));
        remove.body = json!({ "metadata": { "finalizers": null } }).to_string().into_bytes();
        for request in [remove, create] {
            store.handle(now, &request);
        }
        Some(ApiResponse::new(500, *b""))
    });
    assert_eq!(finalize(&stage, 0).0, 2);
    assert_eq!(stage.object(&at(FOOS, "bar")), json!(null));
}

#[test]
fn the_reconcile_after_a_finalizer_was_added_sees_it() {
    let stage = Stage::late(SOON / 6);
    let seen = stage.act_then(
        async |cx, _, foo| {
            let added = cx.finalizer(foo, NAME, async |_| Ok(())).await.unwrap().unwrap();
            assert!(added.meta().finalizers().any(|name| name == NAME));
        },
        |kinds| kinds.foos.get("web/foo").unwrap().meta().finalizers().any(|name| name == NAME),
    );
    assert!(seen);
}

#[test]
fn the_reconcile_after_a_finalizer_was_removed_does_not_see_it() {
    let stage = Stage::late(SOON / 6);
    stage.delete(&at(FOOS, "foo"));
    let metadata = json!({ "name": "foo", "finalizers": [NAME, "x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    stage.create(FOOS, &json!({ "metadata": metadata, "spec": {} }));
    let (count, seen) = (AtomicU32::new(0), std::sync::Mutex::new(Vec::new()));
    let reconcile = async |cx: &Context, foo: &Found<Foo>| {
        seen.lock().unwrap().push(foo.meta().finalizers().any(|name| name == NAME));
        let clean_up = async |_: &Found<Foo>| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        cx.finalizer(foo, NAME, clean_up).await
    };
    stage
        .reconcile(async |cx, _, foo| {
            let is_first = seen.lock().unwrap().is_empty();
            reconcile(cx, foo).await?;
            Ok(if is_first { AGAIN } else { Outcome::Done })
        })
        .unwrap();
    assert_eq!((count.into_inner(), seen.into_inner().unwrap()[..2].to_vec()), (1, vec![true, false]));
}
