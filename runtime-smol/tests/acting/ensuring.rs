//! Objects that are to exist, and to be as their owner wants them.

use crate::acting::stage::{FOOS, Kinds, PARTS, Part, SOON, Stage, at, body, put, target};
use core::time::Duration;
use listwatch::api::Method;
use listwatch::controller::{ActError, Context, Controller, Outcome, Report};
use listwatch::{Found, Key, Resource};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const PART: &str = "web/a";
const CREATED: &str = "POST /api/v1/namespaces/web/parts?fieldManager=sample";
const CHANGED: &str = "PATCH /api/v1/namespaces/web/parts/a?fieldManager=sample";
const READ: &str = "GET /api/v1/namespaces/web/parts/a";

/// Ensures a part of the size 2 for the foo.
async fn ensure(cx: &Context, kinds: &Kinds, foo: &Found<crate::acting::stage::Foo>) -> Result<Found<Part>, ActError> {
    let part = json!({ "spec": { "size": 2 } });
    cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(foo).await
}

/// A part with this controller, or none.
fn part(controller: Option<(&str, &str)>, size: u32) -> Value {
    let owner = |(name, uid)| json!([{ "apiVersion": "example.com/v1", "kind": "Foo", "name": name, "uid": uid, "controller": true }]);
    let owners = controller.map_or_else(|| json!([]), owner);
    json!({ "metadata": { "name": "a", "ownerReferences": owners }, "spec": { "size": size, "other": "kept" } })
}

/// The foo of the stage.
const OWN: Option<(&str, &str)> = Some(("foo", "u1"));

fn targets(stage: &Stage) -> Vec<String> {
    stage.requests().iter().map(|request| target(request).to_owned()).collect()
}

#[test]
fn an_object_that_is_not_there_is_created_for_its_owner() {
    let stage = Stage::new();
    let created = stage.act(async |cx, kinds, foo| ensure(cx, kinds, foo).await.unwrap().is_controlled_by(foo));
    assert!(created);
    let requests = stage.requests();
    assert_eq!((requests.len(), target(&requests[0])), (1, CREATED));
    let sent = body(&requests[0]);
    assert_eq!((&sent["kind"], &sent["spec"]), (&json!("Part"), &json!({ "size": 2 })));
    assert_eq!(sent["metadata"]["ownerReferences"][0]["uid"], "u1");
}

#[test]
fn an_object_that_differs_is_changed_and_no_request_is_sent_for_one_that_does_not() {
    for (size, expected) in [(1, &[CHANGED][..]), (2, &[])] {
        let stage = Stage::new();
        stage.create(PARTS, &part(OWN, size));
        let found = stage.act(async |cx, kinds, foo| ensure(cx, kinds, foo).await.unwrap().spec.size);
        assert_eq!((found, targets(&stage)), (Some(2), expected.iter().map(|line| (*line).to_owned()).collect()));
        assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 2, "other": "kept" }));
    }
}

#[test]
fn the_reconcile_after_it_sees_what_was_created_or_changed() {
    for existing in [None, Some(part(OWN, 1))] {
        let stage = Stage::late(SOON / 6);
        existing.iter().for_each(|part| _ = stage.create(PARTS, part));
        let seen = stage.act_then(
            async |cx, kinds, foo| {
                ensure(cx, kinds, foo).await.unwrap();
                assert_ne!(kinds.parts.get(PART).and_then(|part| part.spec.size), Some(2), "the watch is late");
            },
            |kinds| kinds.parts.get(PART).and_then(|part| part.spec.size),
        );
        assert_eq!((seen, targets(&stage).len()), (Some(2), 1));
    }
}

/// What came of an object of others, with the requests and the reports.
fn of_others(existing: &Value, is_shown: bool) -> (ActError, Vec<String>, Vec<String>) {
    let (stage, failure, lines) = (Stage::new(), Mutex::new(None), Arc::<Mutex<Vec<String>>>::default());
    let world = if is_shown { stage.world() } else { hidden(&stage) };
    stage.create(PARTS, existing);
    let controller = Controller::new("sample", world);
    let kinds = Kinds {
        foos: controller.informer(),
        parts: controller.informer(),
        zones: controller.informer(),
        nameless: controller.informer_of("example.com/v1/foos"),
    };
    let said = Arc::clone(&lines);
    let controller = controller.reconciles(&kinds.foos).owns(&kinds.parts).on_report(move |_, report| {
        if matches!(report, Report::Warning { .. }) {
            said.lock().unwrap().push(report.to_string());
        }
    });
    let ended = controller.run(async |cx, key: Key| {
        let Some(foo) = kinds.foos.get(&key).filter(|_| failure.lock().unwrap().is_none()) else {
            return Ok(Outcome::Done);
        };
        *failure.lock().unwrap() = ensure(&cx, &kinds, &foo).await.err();
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], existing["spec"], "it stays as it is");
    let lines = lines.lock().unwrap().clone();
    (failure.into_inner().unwrap().unwrap(), targets(&stage), lines)
}

/// A world whose caches show no part.
fn hidden(stage: &Stage) -> listwatch::World {
    let (feeds, none) = (stage.feeds(), Stage::new().feeds());
    let world = stage.world_of(move |resource| if resource.path().ends_with("/parts") { none() } else { feeds() });
    world.until(stage.clock.sleep(SOON))
}

#[test]
fn an_object_that_another_one_or_none_controls_is_an_error_that_names_both_and_stays_as_it_is() {
    for (controller, why) in [
        (Some(("bar", "u9")), "Foo bar controls the Part, and Foo web/foo does not"),
        (Some(("foo", "u9")), "Foo foo of another uid controls the Part, and Foo web/foo does not"),
        (None, "no object controls the Part; adopt it for Foo web/foo, or choose another name"),
    ] {
        for (is_shown, requests) in [(true, &[][..]), (false, &[CREATED, READ])] {
            let (error, sent, warnings) = of_others(&part(controller, 1), is_shown);
            assert!(matches!(error, ActError::NotControlled { .. }), "{error:?}");
            assert_eq!(
                (error.to_string(), sent),
                (format!("web/a: ErrResourceExists: {why}"), requests.iter().map(|it| (*it).to_owned()).collect())
            );
            assert_eq!(warnings, [""; 0], "the error tells it");
        }
    }
}

/// An earlier attempt has made it, and its answer is lost.
#[test]
fn an_object_that_the_cache_does_not_show_yet_is_changed_and_not_created_again() {
    for (size, expected) in [(1, &[CREATED, READ, CHANGED][..]), (2, &[CREATED, READ])] {
        let stage = Stage::late(SOON / 6);
        let found = stage.act_then(
            async |cx, kinds, foo| {
                stage.create(PARTS, &part(OWN, size));
                assert_eq!(ensure(cx, kinds, foo).await.unwrap().spec.size, Some(2));
                assert!(kinds.parts.get(PART).is_none(), "the watch is late");
            },
            |kinds| kinds.parts.get(PART).and_then(|part| part.spec.size),
        );
        assert_eq!((found, targets(&stage)), (Some(2), expected.iter().map(|line| (*line).to_owned()).collect()));
    }
}

#[test]
fn an_object_is_read_once_after_a_creation_whose_answer_is_lost() {
    for (other, expected) in [("wanted", &[CREATED, READ, CHANGED][..]), ("kept", &[CREATED, READ])] {
        let stage = Stage::late(SOON / 6);
        stage.act(async |cx, kinds, foo| {
            stage.create(PARTS, &part(OWN, 2));
            let part = json!({ "spec": { "size": 2, "other": other } });
            cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(foo).await.unwrap();
        });
        assert_eq!(targets(&stage), expected);
        assert_eq!(stage.object(&at(PARTS, "a"))["spec"]["other"], other);
    }
}

#[test]
fn an_object_that_was_deleted_and_that_the_cache_still_shows_is_created() {
    let stage = Stage::late(SOON / 6);
    stage.create(PARTS, &part(OWN, 1));
    let created = stage.act(async |cx, kinds, foo| {
        stage.delete(&at(PARTS, "a"));
        let created = ensure(cx, kinds, foo).await.unwrap();
        (created.is_controlled_by(foo), created.meta().uid() != kinds.parts.get(PART).unwrap().meta().uid())
    });
    assert_eq!((created, targets(&stage)), ((true, true), [CHANGED, CREATED].map(String::from).to_vec()));
}

#[test]
fn a_change_that_conflicts_is_made_again_on_the_newest_object() {
    let stage = Stage::new();
    stage.create(PARTS, &part(OWN, 1));
    stage.twist(Method::Patch, put(&at(PARTS, "a"), json!({ "size": 7, "other": "new" })));
    let size = stage.act(async |cx, kinds, foo| ensure(cx, kinds, foo).await.unwrap().spec.size);
    assert_eq!(size, Some(2));
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 2, "other": "new" }));
}

#[test]
fn an_object_that_is_being_deleted_behind_the_cache_is_one_that_exists() {
    let stage = Stage::late(SOON / 6);
    let mut terminating = part(OWN, 1);
    terminating["metadata"]["finalizers"] = json!(["x/y"]);
    terminating["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let error = stage.act(async |cx, kinds, foo| {
        stage.create(PARTS, &terminating);
        ensure(cx, kinds, foo).await.unwrap_err()
    });
    assert!(error.is_already_exists(), "{error}");
    assert_eq!(targets(&stage), [CREATED, READ]);
}

/// The store would never show it, so each reconcile would read it again without a delay.
#[test]
fn an_object_that_the_informer_does_not_select_is_one_that_exists() {
    let stage = Stage::new();
    stage.create(PARTS, &part(OWN, 1));
    let controller = Controller::new("sample", hidden(&stage));
    let foos = controller.informer();
    let selected = Resource::of::<Part>().with_label_selector("app=x");
    let parts = controller.informer_of::<Part>(selected).with_kind("Part");
    let errors = Mutex::new(Vec::new());
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, key: Key| {
        let foo: Found<crate::acting::stage::Foo> = foos.get(&key).unwrap();
        let ensured = cx.ensure(&parts, Key::from(PART), &json!({ "spec": {} })).owned_by(&foo).await;
        let exists = ensured.as_ref().is_err_and(ActError::is_already_exists);
        errors.lock().unwrap().push(exists);
        Ok(if errors.lock().unwrap().len() < 9 { ensured.map(|_| Outcome::Done)? } else { Outcome::Done })
    });
    assert_eq!((ended, errors.into_inner().unwrap()), (Ok(()), vec![true; 9]));
}

#[test]
fn without_an_owner_the_object_is_changed_whatever_controls_it() {
    let stage = Stage::new();
    stage.create(PARTS, &part(Some(("bar", "u9")), 1));
    let size = stage.act(async |cx, kinds, _| {
        let part = json!({ "spec": { "size": 2 } });
        cx.ensure(&kinds.parts, Key::from(PART), &part).await.unwrap().spec.size
    });
    assert_eq!((size, targets(&stage)), (Some(2), vec![CHANGED.to_owned()]));
}

#[test]
fn a_body_that_fits_no_object_of_the_kind_is_refused_where_there_is_an_object_too() {
    let stage = Stage::new();
    stage.create(PARTS, &part(OWN, 1));
    let error = stage.act(async |cx, kinds, foo| {
        let other = json!({ "metadata": { "name": "b" } });
        cx.ensure(&kinds.parts, Key::from(PART), &other).owned_by(foo).await.unwrap_err()
    });
    assert_eq!(error.to_string(), "web/a: metadata.name of the body is b, and the object's is a");
    assert_eq!(stage.requests(), [""; 0]);
}

/// A change by the type would write no more than the image.
#[test]
fn a_replaced_element_gets_the_fields_that_only_the_body_names() {
    let stage = Stage::new();
    let mut replaced = part(OWN, 2);
    replaced["spec"]["images"] = json!([{ "name": "evil", "image": "evil:1", "tty": true }]);
    stage.create(PARTS, &replaced);
    let wanted = json!([{ "name": "web", "image": "web:1", "pull": "Always" }]);
    stage.act(async |cx, kinds, foo| {
        let part = json!({ "spec": { "size": 2, "images": wanted } });
        let ensured = cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(foo).await.unwrap();
        assert_eq!(ensured.spec.images[0].image, "web:1");
        // The answer to the patch is the state that the next reconcile reads.
        assert_eq!(cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(foo).await.unwrap().spec.size, Some(2));
    });
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 2, "other": "kept", "images": wanted }));
}

#[test]
fn a_difference_that_the_type_does_not_show_is_written() {
    for (size, expected) in [(2, [READ, CHANGED]), (1, [CHANGED, CHANGED])] {
        let stage = Stage::new();
        stage.create(PARTS, &part(OWN, size));
        stage.act(async |cx, kinds, foo| {
            let part = json!({ "spec": { "size": 2, "other": "wanted" } });
            cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(foo).await.unwrap();
        });
        assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 2, "other": "wanted" }));
        assert_eq!(targets(&stage), expected);
    }
}

#[test]
fn an_object_is_read_once_for_the_fields_that_its_type_does_not_show() {
    let stage = Arc::new(Stage::new());
    stage.create(PARTS, &part(OWN, 2));
    let it = Arc::clone(&stage);
    let wanted = json!({ "spec": { "size": 2, "other": "kept" } });
    keep(&stage, wanted, async move {
        // The first attempt is 20 s after the begin.
        it.clock.sleep(Duration::from_secs(25)).await;
        for size in 0..3 {
            it.clock.sleep(Duration::from_secs(1)).await;
            it.put(&at(FOOS, "foo"), json!({ "size": size }));
        }
        it.clock.sleep(Duration::from_secs(1)).await;
        assert_eq!(targets(&it), [READ]);
        it.put(&at(PARTS, "a"), json!({ "size": 2, "other": "lost" }));
        it.clock.sleep(Duration::from_secs(1)).await;
    });
    assert_eq!(targets(&stage), [READ, CHANGED], "since the last look");
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 2, "other": "kept" }));
}

#[test]
fn a_label_that_another_client_changed_is_changed_back_although_the_type_shows_no_metadata() {
    let stage = Stage::new();
    let mut labelled = part(OWN, 2);
    labelled["metadata"]["labels"] = json!({ "app": "evil", "team": "x" });
    stage.create(PARTS, &labelled);
    stage.act(async |cx, kinds, foo| {
        let part = json!({ "metadata": { "labels": { "app": "web" } }, "spec": { "size": 2 } });
        cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(foo).await.unwrap();
    });
    let labels = &stage.object(&at(PARTS, "a"))["metadata"]["labels"];
    assert_eq!((labels, targets(&stage)), (&json!({ "app": "web", "team": "x" }), vec![READ.into(), CHANGED.into()]));
}

fn size_2() -> Value {
    json!({ "spec": { "size": 2 } })
}

/// Runs a controller that keeps the part for its foo as `wanted`, until `scenario` is over. Returns its reports.
fn keep(stage: &Arc<Stage>, wanted: Value, scenario: impl Future<Output = ()> + Send + 'static) -> Vec<String> {
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let said = Arc::clone(&lines);
    let world = stage.endless_world().until(scenario);
    let controller =
        Controller::new("sample", world.on_report_line(move |line| said.lock().unwrap().push(line.into())));
    let (foos, parts) = (controller.informer::<crate::acting::stage::Foo>(), controller.informer::<Part>());
    let ended = controller.reconciles(&foos).owns(&parts).run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        cx.ensure(&parts, Key::from(PART), &wanted).owned_by(&foo).await?;
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    lines.lock().unwrap().clone()
}

#[test]
fn a_refusal_is_told_once() {
    let stage = Arc::new(Stage::new());
    stage.create(PARTS, &part(None, 1));
    // The second attempt follows after 5 ms.
    let lines = keep(&stage, size_2(), stage.clock.sleep(Duration::from_millis(4)));
    let told: Vec<_> = lines.iter().filter(|line| line.contains("no object controls the Part")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].starts_with("sample: web/foo: failed, next attempt in 5ms: web/a: ErrResourceExists: "),
        "{told:?}"
    );
}

#[test]
fn a_key_is_tried_at_once_when_its_obstacle_is_gone() {
    let stage = Arc::new(Stage::new());
    stage.create(PARTS, &part(Some(("bar", "u9")), 1));
    let it = Arc::clone(&stage);
    let lines = keep(&stage, size_2(), async move {
        // The attempts are 20 s after the begin, and 41 s.
        it.clock.sleep(Duration::from_secs(25)).await;
        it.delete(&at(PARTS, "a"));
        it.clock.sleep(Duration::from_secs(1)).await;
    });
    assert_eq!(stage.object(&at(PARTS, "a"))["spec"], json!({ "size": 2 }));
    assert!(lines.iter().filter(|line| line.contains("failed")).count() < 16, "{lines:?}");
}

#[test]
fn an_obstacle_beyond_those_that_one_key_may_await_is_reported() {
    let stage = Stage::new();
    let names: Vec<_> = (0..65).map(|number| format!("a-{number}")).collect();
    for name in &names {
        let mut other = part(Some(("bar", "u9")), 1);
        other["metadata"]["name"] = json!(name);
        stage.create(PARTS, &other);
    }
    let lines = Arc::<Mutex<Vec<String>>>::default();
    let said = Arc::clone(&lines);
    let controller =
        Controller::new("sample", stage.world().on_report_line(move |line| said.lock().unwrap().push(line.into())));
    let (foos, parts) = (controller.informer::<crate::acting::stage::Foo>(), controller.informer::<Part>());
    let ended = controller.reconciles(&foos).owns(&parts).run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        for name in &names {
            assert!(cx.ensure(&parts, key.sibling(name), &size_2()).owned_by(&foo).await.is_err(), "{name}");
        }
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let told: Vec<_> =
        lines.lock().unwrap().iter().filter(|line| line.contains("ObstacleNotAwaited")).cloned().collect();
    let why = "too many objects are awaited; no key is reconciled when Part web/a-64 moves";
    assert_eq!(told, [format!("sample: web/foo: ObstacleNotAwaited: {why}")]);
}

#[test]
fn an_owner_that_is_being_deleted_gets_no_object_that_the_collector_would_delete() {
    let stage = Stage::new();
    let metadata = |name| json!({ "name": name, "finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    stage.create(FOOS, &json!({ "metadata": metadata("a-old"), "spec": {} }));
    let errors = stage.act(async |cx, kinds, _| {
        let old = kinds.foos.get("web/a-old").unwrap();
        let (key, part) = (Key::from(PART), json!({ "spec": { "size": 2 } }));
        [
            cx.create(&kinds.parts, &key, &part).owned_by(&old).await,
            cx.ensure(&kinds.parts, &key, &part).owned_by(&old).await,
            cx.apply(&kinds.parts, &key, &part).owned_by(&old).await,
        ]
        .map(|acted| acted.unwrap_err().to_string())
    });
    let why = "web/a: Foo web/a-old is being deleted, and nothing is created for it any more";
    assert_eq!((errors, stage.requests()), ([why; 3].map(String::from), Vec::new()));
}

/// The last steps of an object whose owner goes are its controller's, too.
#[test]
fn an_object_whose_owner_is_being_deleted_is_changed() {
    let stage = Stage::new();
    let metadata = json!({ "name": "a-old", "finalizers": ["x/y"], "deletionTimestamp": "2026-01-01T00:00:00Z" });
    let old = stage.create(FOOS, &json!({ "metadata": metadata, "spec": {} }));
    stage.create(PARTS, &part(Some(("a-old", old["metadata"]["uid"].as_str().unwrap())), 1));
    let size = stage.act(async |cx, kinds, _| {
        let (old, part) = (kinds.foos.get("web/a-old").unwrap(), json!({ "spec": { "size": 0 } }));
        cx.ensure(&kinds.parts, Key::from(PART), &part).owned_by(&old).await.unwrap().spec.size
    });
    assert_eq!((size, targets(&stage)), (Some(0), vec![CHANGED.to_owned()]));
}
