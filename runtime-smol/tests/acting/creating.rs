//! Objects that a reconcile creates.

use crate::acting::stage::{Foo, PARTS, Part, SOON, Stage, ZONES, at, body, target};
use core::time::Duration;
use listwatch::api::{ApiRequest, ApiResponse, Method};
use listwatch::controller::{ActError, Controller, Outcome, Report};
use listwatch::time::Instant;
use listwatch::{Key, Resource};
use listwatch_tests::sim::Store;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn what_a_body_leaves_out_is_filled_in() {
    for part in [
        json!({ "spec": { "size": 2 } }),
        json!({ "apiVersion": "v1", "kind": "Part", "metadata": { "name": "a", "namespace": "web" }, "spec": { "size": 2 } }),
        json!({ "apiVersion": null, "kind": "", "metadata": null, "spec": { "size": 2 } }),
        json!({ "metadata": { "name": "", "namespace": null, "ownerReferences": null }, "spec": { "size": 2 } }),
    ] {
        let stage = Stage::new();
        let created = stage.act(async |cx, kinds, foo| {
            let key = foo.key().sibling("a");
            let created = cx.create(&kinds.parts, &key, &part).owned_by(foo).await.unwrap();
            assert!(created.is_controlled_by(foo));
            (created.key().clone(), created.spec.size)
        });
        assert_eq!(created, (Key::from("web/a"), Some(2)));
        let requests = stage.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert_eq!(target(&requests[0]), "POST /api/v1/namespaces/web/parts?fieldManager=sample");
        let owner = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": "u1",
            "controller": true, "blockOwnerDeletion": true });
        let metadata = json!({ "name": "a", "namespace": "web", "ownerReferences": [owner] });
        let expected = json!({ "apiVersion": "v1", "kind": "Part", "metadata": metadata, "spec": { "size": 2 } });
        assert_eq!(body(&requests[0]), expected);
    }
}

/// Creates a part from this body, in vain, and returns the error.
fn refused(part: &Value) -> String {
    let stage = Stage::new();
    let created =
        stage.act(async |cx, kinds, foo| cx.create(&kinds.parts, Key::from("web/a"), part).owned_by(foo).await);
    assert_eq!(stage.requests(), [""; 0]);
    let error = created.unwrap_err();
    assert!(matches!(&error, ActError::Refused { key, .. } if *key == Key::from("web/a")), "{error:?}");
    error.to_string()
}

#[test]
fn a_body_that_is_of_another_object_is_refused_before_any_request() {
    for (part, expected) in [
        (json!({ "kind": "Foo" }), "web/a: kind of the body is Foo, and the object's is Part"),
        (json!({ "kind": 7 }), "web/a: kind of the body is 7, and the object's is Part"),
        (json!({ "apiVersion": "v2" }), "web/a: apiVersion of the body is v2, and the object's is v1"),
        (json!({ "metadata": { "name": "b" } }), "web/a: metadata.name of the body is b, and the object's is a"),
        (
            json!({ "metadata": { "namespace": "db\u{1b}[31m" } }),
            r"web/a: metadata.namespace of the body is db\u001b[31m, and the object's is web",
        ),
        (json!({ "metadata": "a" }), "web/a: metadata of the body is no JSON object"),
        (json!(["a"]), "web/a: the body is no JSON object"),
        (json!({ "metadata": { "ownerReferences": {} } }), "web/a: metadata.ownerReferences of the body is no list"),
        (
            json!({ "metadata": { "ownerReferences": [{ "kind": "Bar", "name": "b", "uid": "x", "controller": true }] } }),
            "web/a: Bar b controls the object, and only one can",
        ),
    ] {
        assert_eq!(refused(&part), expected);
    }
}

#[test]
fn an_owner_that_is_in_the_body_already_is_there_once() {
    for controller in [true, false] {
        let stage = Stage::new();
        stage.act(async |cx, kinds, foo| {
            let known = json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": "u1", "controller": controller });
            let other = json!({ "apiVersion": "v1", "kind": "Bar", "name": "bar", "uid": "u-bar" });
            let part = json!({ "metadata": { "ownerReferences": [known, other] }, "spec": {} });
            cx.create(&kinds.parts, Key::from("web/a"), &part).owned_by(foo).owned_by(foo).await.unwrap();
        });
        let owners = stage.object(&at(PARTS, "a"))["metadata"]["ownerReferences"].clone();
        let owners: Vec<_> = owners.as_array().unwrap().iter().map(|owner| owner["uid"].as_str().unwrap()).collect();
        assert_eq!(owners, ["u-bar", "u1"]);
    }
}

#[test]
fn an_object_that_is_there_is_told_from_a_conflict() {
    let stage = Stage::new();
    stage.put(&at(PARTS, "a"), json!({ "size": 5 }));
    let error = stage.act(async |cx, kinds, _| {
        cx.create(&kinds.parts, Key::from("web/a"), &json!({ "spec": {} })).await.unwrap_err()
    });
    assert!(error.is_already_exists() && !error.is_conflict(), "{error:?}");
    assert!(error.to_string().starts_with("web/a: "), "{error}");
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 5 }));
}

#[test]
fn an_owner_that_the_garbage_collector_would_not_find_is_refused() {
    let stage = Stage::new();
    stage.create(ZONES, &json!({ "metadata": { "name": "z" } }));
    let errors = stage.act(async |cx, kinds, foo| {
        let part = json!({ "spec": {} });
        let nameless = kinds.nameless.get(foo.key()).unwrap();
        [
            cx.create(&kinds.parts, Key::from("db/a"), &part).owned_by(foo).await.unwrap_err(),
            cx.apply(&kinds.parts, Key::from("db/a"), &part).owned_by(foo).await.unwrap_err(),
            cx.create(&kinds.zones, Key::from("y"), &part).owned_by(foo).await.unwrap_err(),
            cx.create(&kinds.parts, Key::from("web/a"), &part).owned_by(&nameless).await.unwrap_err(),
        ]
        .map(|error| error.to_string())
    });
    let elsewhere = "db/a: the owner foo is in the namespace web, and the object in db";
    let nameless = "web/a: the kind of /apis/example.com/v1/foos is not known, so it owns nothing; make its informer \
                    with_kind(\"…\"), or of a Kind by informer_where";
    assert_eq!(
        errors,
        [elsewhere, elsewhere, "y: the owner foo has the namespace web, and the object has none", nameless,]
    );
    assert_eq!(stage.requests(), [""; 0]);
}

#[test]
fn an_owner_without_a_namespace_owns_objects_of_any() {
    let stage = Stage::new();
    stage.create(ZONES, &json!({ "metadata": { "name": "z" } }));
    stage.act(async |cx, kinds, _| {
        let zone = kinds.zones.get("z").unwrap();
        let part = json!({ "spec": {} });
        let part = cx.create(&kinds.parts, Key::from("db/a"), &part).owned_by(&zone).await.unwrap();
        assert!(part.is_controlled_by(&zone));
    });
}

#[test]
fn a_key_that_fits_no_object_of_the_kind_is_refused_before_any_request() {
    let stage = Stage::new();
    let errors = stage.act(async |cx, kinds, _| {
        let part = json!({ "spec": {} });
        [
            cx.create(&kinds.parts, Key::from("a"), &part).await.unwrap_err().to_string(),
            cx.create(&kinds.zones, Key::from("web/z"), &part).await.unwrap_err().to_string(),
            cx.create(&kinds.parts, Key::from("web/"), &part).await.unwrap_err().to_string(),
        ]
    });
    assert_eq!(
        errors,
        [
            "a: a Part has a namespace, and the key names none",
            "web/z: a Zone has no namespace, and the key names one",
            "web/: the key names no object",
        ]
    );
    assert_eq!(stage.requests(), [""; 0]);
}

#[test]
fn a_body_without_a_kind_is_sent_as_it_is_where_no_kind_is_known() {
    let stage = Stage::new();
    stage.act(async |cx, kinds, _| {
        cx.create(&kinds.nameless, Key::from("web/b"), &json!({})).await.unwrap();
    });
    let expected = json!({ "apiVersion": "example.com/v1", "metadata": { "name": "b", "namespace": "web" } });
    assert_eq!(body(&stage.requests()[0]), expected);
}

#[test]
fn the_field_manager_is_the_controller_up_to_the_limit_of_the_server() {
    let (long, wide) = ("x".repeat(127), "\u{e4}".repeat(100));
    let cases = [
        ("", "listwatch".to_owned()),
        (&wide, "%C3%A4".repeat(64)),
        (&format!("{long}\u{e4}"), long.clone()),
        (&format!("{long}yz"), long + "y"),
    ];
    for (name, expected) in cases {
        let stage = Stage::new();
        let ended = stage.reconcile_as(name, async |cx, kinds, _| {
            cx.create(&kinds.parts, Key::from("web/a"), &json!({ "spec": {} })).await?;
            Ok(Outcome::Done)
        });
        assert_eq!(ended, Ok(()));
        let expected = format!("POST /api/v1/namespaces/web/parts?fieldManager={expected}");
        assert_eq!(target(&stage.requests()[0]), expected);
    }
}

#[test]
fn the_reconcile_after_a_creation_sees_the_object() {
    let stage = Stage::late(SOON / 6);
    let seen = stage.act_then(
        async |cx, kinds, foo| {
            cx.create(&kinds.parts, foo.key().sibling("a"), &json!({ "spec": {} })).owned_by(foo).await.unwrap();
            assert!(kinds.parts.get("web/a").is_none(), "the watch is late");
        },
        |kinds| kinds.parts.get("web/a").is_some(),
    );
    assert!(seen);
}

/// As after an answer that is lost.
#[test]
fn a_repeated_creation_returns_the_object_that_the_cache_lacks() {
    let stage = Stage::late(SOON / 6);
    let (first, second) = stage.act(async |cx, kinds, foo| {
        let create = async || {
            let part = json!({ "spec": { "size": 2 } });
            cx.create(&kinds.parts, Key::from("web/a"), &part).owned_by(foo).await.unwrap()
        };
        (create().await, create().await)
    });
    assert_eq!(first.meta().uid(), second.meta().uid());
    let requests = stage.requests();
    let targets: Vec<_> = requests.iter().map(|request| request.split_once(' ').unwrap().0).collect();
    assert_eq!(targets, ["POST", "POST", "GET"]);
}

/// A part that the foo owns, without the label by which the informer selects.
fn unselected() -> Value {
    let owner =
        json!({ "apiVersion": "example.com/v1", "kind": "Foo", "name": "foo", "uid": "u1", "controller": true });
    json!({ "metadata": { "name": "a", "ownerReferences": [owner] }, "spec": {} })
}

/// The store is past its version and will never show it.
#[test]
fn a_creation_of_an_unselected_object_that_exists_backs_off() {
    for select in [with_labels, with_fields] {
        let (stage, other) = (Stage::new(), Stage::new());
        stage.create(PARTS, &unselected());
        // The list and the watch of what is selected.
        (0..9).for_each(|size| other.put(&at(PARTS, "b"), json!({ "size": size })));
        let (feeds, others) = (stage.feeds(), other.feeds());
        let world =
            stage.world_of(move |resource| if resource.path().ends_with("/parts") { others() } else { feeds() });
        let controller = Controller::new("sample", world.until(stage.clock.sleep(SOON)));
        let foos = controller.informer::<Foo>();
        let parts = controller.informer_of::<Part>(select(Resource::of::<Part>())).with_kind("Part");
        let errors = Mutex::new(Vec::new());
        let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, key: Key| {
            let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
            if errors.lock().unwrap().len() > 99 {
                return Ok(Outcome::Done);
            }
            let created = cx.create(&parts, Key::from("web/a"), &json!({ "spec": {} })).owned_by(&foo).await;
            errors.lock().unwrap().push(created.as_ref().is_err_and(ActError::is_already_exists));
            Ok(created.map(|_| Outcome::Done)?)
        });
        assert_eq!(ended, Ok(()));
        let errors = errors.into_inner().unwrap();
        assert!(errors.len() < 99 && errors.iter().all(|exists| *exists), "{}, {:?}", errors.len(), errors.first());
    }
}

#[test]
fn an_object_that_no_field_selector_selects_is_applied_once() {
    let (stage, other) = (Stage::new(), Stage::new());
    // The list and the watch of what is selected.
    (0..9).for_each(|size| other.put(&at(PARTS, "b"), json!({ "size": size })));
    let (feeds, others) = (stage.feeds(), other.feeds());
    let world = stage.world_of(move |resource| if resource.path().ends_with("/parts") { others() } else { feeds() });
    let controller = Controller::new("sample", world.until(stage.clock.sleep(SOON)));
    let foos = controller.informer::<Foo>();
    let parts = controller.informer_of::<Part>(with_fields(Resource::of::<Part>())).with_kind("Part");
    let count = AtomicU32::new(0);
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, _| {
        if count.fetch_add(1, Ordering::Relaxed) < 99 {
            cx.apply(&parts, Key::from("web/a"), &json!({ "spec": { "size": 2 } })).await?;
        }
        Ok(Outcome::Done)
    });
    assert_eq!((ended, count.into_inner()), (Ok(()), 1));
}

fn with_labels(parts: Resource) -> Resource {
    parts.with_label_selector("app=x")
}

/// Whether the informer selects an object by its fields cannot be told.
fn with_fields(parts: Resource) -> Resource {
    parts.with_field_selector("spec.size=1")
}

/// No event tells of that deletion. Without the repetition, the key would not be reconciled again.
#[test]
fn an_object_deleted_before_the_cache_shows_it_is_created_again() {
    let (stage, created) = (Arc::new(Stage::late(SOON / 6)), Arc::new(AtomicU32::new(0)));
    stage.twist(Method::Post, swallow);
    let (other, known) = (Arc::clone(&stage), Arc::clone(&created));
    let end = async move {
        while known.load(Ordering::Relaxed) == 0 {
            other.clock.sleep(Duration::from_millis(1)).await;
        }
        other.delete(&at(PARTS, "a"));
        other.forget();
        other.clock.sleep(SOON).await;
    };
    let controller = Controller::new("sample", stage.endless_world().until(end));
    let (foos, parts) = (controller.informer::<Foo>(), controller.informer::<Part>());
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key).filter(|_| parts.get("web/a").is_none()) else { return Ok(Outcome::Done) };
        cx.create(&parts, Key::from("web/a"), &json!({ "spec": {} })).owned_by(&foo).await?;
        created.fetch_add(1, Ordering::Relaxed);
        Ok(Outcome::Done)
    });
    assert_eq!((ended, created.load(Ordering::Relaxed)), (Ok(()), 2));
    assert_eq!(methods(&stage), ["POST", "POST", "GET", "POST"]);
}

/// Makes the object, and loses the answer.
fn swallow(store: &mut Store, now: Instant) -> Option<ApiResponse> {
    let mut create = ApiRequest::new(Method::Post, PARTS);
    create.body = unselected().to_string().into_bytes();
    store.handle(now, &create);
    Some(ApiResponse::new(504, *b""))
}

/// The methods of the requests.
fn methods(stage: &Stage) -> Vec<String> {
    stage.requests().iter().map(|request| request.split_once(' ').unwrap().0.to_owned()).collect()
}

/// Creates a part for the foo where there is one already. Returns what came of it, the requests and the warnings.
fn create_taken(stage: &Stage, is_owned: bool) -> (Result<(), ActError>, Vec<String>, Vec<String>) {
    let (result, warnings) = (Mutex::new(None), Mutex::new(Vec::new()));
    let warnings = Arc::new(warnings);
    let controller = Controller::new("sample", stage.world());
    let (foos, parts) = (controller.informer::<Foo>(), controller.informer::<Part>());
    let lines = Arc::clone(&warnings);
    let controller = controller.reconciles(&foos).on_report(move |_, report| {
        if matches!(report, Report::Warning { .. }) {
            lines.lock().unwrap().push(report.to_string());
        }
    });
    let ended = controller.run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        let create = cx.create(&parts, Key::from("web/a"), &json!({ "spec": {} }));
        let created = if is_owned { create.owned_by(&foo) } else { create }.await;
        *result.lock().unwrap() = Some(created.map(drop));
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let mut warnings = warnings.lock().unwrap().clone();
    warnings.retain(|warning| !warning.contains("OwnedKindNotFollowed"));
    (result.into_inner().unwrap().unwrap(), methods(stage), warnings)
}

#[test]
fn an_object_that_another_one_controls_or_that_is_being_deleted_is_not_taken_for_one_that_was_created() {
    let mut foreign = unselected();
    foreign["metadata"]["ownerReferences"][0]["uid"] = json!("u0");
    let mut terminating = unselected();
    terminating["metadata"]["finalizers"] = json!(["x/y"]);
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let without = json!({ "metadata": { "name": "a" }, "spec": {} });
    for (existing, is_owned, expected) in [
        (unselected(), false, &["POST"][..]),
        (foreign, true, &["POST", "GET"]),
        (terminating, true, &["POST", "GET"]),
        (without, true, &["POST", "GET"]),
    ] {
        let stage = Stage::new();
        stage.create(PARTS, &existing);
        let (created, methods, warnings) = create_taken(&stage, is_owned);
        assert!(created.as_ref().is_err_and(ActError::is_already_exists), "{created:?}, {existing}");
        assert_eq!((methods, warnings), (expected.iter().map(|method| (*method).to_owned()).collect(), Vec::new()));
    }
}

#[test]
fn a_refused_read_after_a_creation_is_reported() {
    let stage = Stage::new();
    stage.create(PARTS, &unselected());
    stage.refuse(Method::Get, &[403]);
    let (created, methods, warnings) = create_taken(&stage, true);
    assert!(created.as_ref().is_err_and(ActError::is_already_exists), "{created:?}");
    assert_eq!((methods.len(), warnings.len()), (2, 1), "{methods:?}, {warnings:?}");
    let expected = "ExistingNotRead: web/a exists, the cache has no such object, and it cannot be read: ";
    assert!(warnings[0].contains(expected) && warnings[0].contains("403"), "{warnings:?}");
}

#[test]
fn a_creation_that_meets_an_undecodable_object_tells_why() {
    let stage = || {
        let (stage, mut undecodable) = (Stage::new(), unselected());
        undecodable["spec"] = json!({ "size": "two" });
        stage.create(PARTS, &undecodable);
        stage
    };
    let (created, methods, warnings) = create_taken(&stage(), true);
    assert_eq!((methods.len(), warnings.len()), (2, 1), "{methods:?}, {warnings:?}");
    let ensured = stage().act(async |cx, kinds, foo| {
        let part = json!({ "spec": {} });
        cx.ensure(&kinds.parts, Key::from("web/a"), &part).owned_by(foo).await.map(drop)
    });
    for failed in [created, ensured] {
        let why = failed.unwrap_err().to_string();
        assert!(why.contains("invalid type: string \"two\", expected u32"), "{why}");
    }
}

/// The first attempt makes it, and the second one learns its version.
#[test]
fn the_reconcile_after_a_creation_whose_answer_was_lost_sees_the_object() {
    let stage = Stage::late(SOON / 6);
    stage.twist(Method::Post, swallow);
    let seen = stage.act_then(
        async |cx, kinds, foo| {
            let part = json!({ "spec": {} });
            let create = async || cx.create(&kinds.parts, Key::from("web/a"), &part).owned_by(foo).await;
            let lost = create().await.unwrap_err();
            assert!(!lost.is_already_exists(), "{lost:?}");
            assert!(create().await.unwrap().is_controlled_by(foo));
            assert!(kinds.parts.get("web/a").is_none(), "the watch is late");
        },
        |kinds| kinds.parts.get("web/a").is_some(),
    );
    assert!(seen);
    assert_eq!(methods(&stage), ["POST", "POST", "GET"]);
}

#[test]
fn a_text_names_an_object_where_a_key_does() {
    let stage = Stage::new();
    let is_there = stage.act(async |cx, kinds, _| {
        let part = json!({ "spec": { "size": 2 } });
        cx.create(&kinds.parts, "web/a", &part).await.unwrap();
        cx.ensure(&kinds.parts, "web/a", &part).await.unwrap();
        cx.apply(&kinds.parts, String::from("web/b"), &part).await.unwrap();
        cx.live().get(&kinds.parts, "web/b").await.unwrap().is_some()
    });
    assert!(is_there);
}
