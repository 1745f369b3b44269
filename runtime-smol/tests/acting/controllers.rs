//! Which informers a controller waits for, and which mistakes end it before any request.

use crate::acting::stage::{FOOS, Foo, PARTS, Part, SOON, Stage, at};
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::{Executor, InformerHandle, Informers, Key, Resource, World, run};
use serde_json::json;
use std::sync::Mutex;

/// A world in which the lists of parts are those of another server.
fn parts_of(stage: &Stage, other: &Stage) -> World {
    let (feeds, others) = (stage.feeds(), other.feeds());
    stage.world_of(move |resource| if resource.path().ends_with("/parts") { others() } else { feeds() })
}

#[test]
fn an_informer_that_is_no_source_has_synced_before_the_first_reconcile() {
    for is_of_controller in [true, false] {
        let stage = Stage::new();
        let other = stage.beside();
        other.put(&at(PARTS, "a"), json!({ "size": 1 }));
        other.leave_for(SOON / 6);
        let world = parts_of(&stage, &other).until(stage.clock.sleep(SOON));
        let controller = Controller::new("sample", world);
        let foos = controller.informer::<Foo>();
        let (controller, parts): (_, InformerHandle<Part>) = if is_of_controller {
            let parts = controller.informer();
            (controller, parts)
        } else {
            let parts = controller.informers().informer();
            (controller.reads(&parts), parts)
        };
        let seen = Mutex::new(Vec::new());
        let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |_cx, _key| {
            seen.lock().unwrap().push(parts.len());
            Ok(Outcome::Done)
        });
        assert_eq!((ended, seen.into_inner().unwrap()), (Ok(()), vec![1]));
    }
}

#[test]
fn an_informer_that_is_no_source_and_does_not_sync_is_named() {
    let stage = Stage::new();
    let other = stage.beside();
    other.leave_for(SOON * 60);
    let controller = Controller::new("sample", parts_of(&stage, &other));
    let foos = controller.informer::<Foo>();
    let parts = controller.informer::<Part>();
    let named = controller.informer_of::<MetadataOnly>("v1/parts");
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done));
    let Err(RunError::NotSynced { streams }) = &ended else { panic!("{ended:?}") };
    let names: Vec<_> = streams.iter().map(|stream| stream.name.to_string()).collect();
    assert_eq!(names, ["parts"], "once");
    drop((parts, named));
}

/// The error of a controller that does not reconcile anything, nor asks for anything.
fn mistake(stage: &Stage, ended: Result<(), RunError>) -> String {
    assert_eq!(stage.requests(), [""; 0]);
    let Err(error @ RunError::Config(_)) = ended else { panic!("{ended:?}") };
    error.to_string()
}

#[test]
fn a_name_that_is_none_of_a_resource_is_an_error_of_the_run() {
    let stage = Stage::new();
    let controller = Controller::new("sample", stage.world());
    let foos = controller.informer::<Foo>();
    let typo = controller.informer_of::<MetadataOnly>("apps/v1/deploy\u{7}ments/extra/more");
    let ended = controller.reconciles(&foos).run(async |_cx, _key| unreachable!());
    let error = mistake(&stage, ended);
    assert!(error.starts_with("the controller cannot run: ") && error.contains(r"deploy\u{7}ments"), "{error}");
    assert!(!typo.has_synced());
}

#[test]
fn a_name_that_is_none_of_a_resource_is_never_asked_for() {
    let stage = Stage::new();
    let paths = std::sync::Arc::new(Mutex::new(Vec::new()));
    let (feeds, asked) = (stage.feeds(), std::sync::Arc::clone(&paths));
    let informers = Informers::new(stage.world_of(move |resource| {
        asked.lock().unwrap().push(resource.path().to_owned());
        feeds()
    }));
    let executor = Executor::new();
    executor.spawn(informers.run()).detach();
    let controller = Controller::new("sample", &informers);
    let typo = controller.informer_of::<MetadataOnly>("typo");
    run(&stage.clock, &executor, stage.clock.sleep(SOON));
    assert_eq!(*paths.lock().unwrap(), [""; 0]);
    drop(typo);
}

#[test]
fn an_own_kind_without_a_name_owns_nothing() {
    let stage = Stage::new();
    let controller = Controller::new("sample", stage.world());
    let foos = controller.informer_of::<MetadataOnly>(Resource::new("/apis/example.com/v1/foos"));
    let parts = controller.informer::<Part>();
    let ended = controller.reconciles(&foos).owns(&parts).run(async |_cx, _key| unreachable!());
    let expected = "the controller cannot run: the kind of /apis/example.com/v1/foos is not known, so it owns nothing; \
                    make its informer with_kind(\"…\"), or of a Kind by informer_where";
    assert_eq!(mistake(&stage, ended), expected);
}

#[test]
fn the_kind_that_is_said_first_counts() {
    let informers = Informers::new(Stage::new().world());
    let resource = || Resource::new("/apis/example.com/v1/foos");
    let first = informers.informer_of::<Foo>(resource()).with_kind("Foo");
    let again = informers.informer_of::<Foo>(resource()).with_kind("Bar");
    assert_eq!([&first, &again].map(|foos| foos.kind()), [Some("Foo"); 2]);
}

/// Otherwise a key that no object can have is not refused.
#[test]
fn a_kind_named_by_hand_learns_its_scope_from_its_type() {
    let stage = Stage::new();
    let controller = Controller::new("sample", stage.world());
    let named = controller.informer_of::<Foo>("example.com/v1/foos").with_kind("Foo");
    let foos = controller.informer::<Foo>();
    let refused = Mutex::new(None);
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, _key| {
        let created = cx.create(&foos, Key::from("a"), &json!({})).await;
        *refused.lock().unwrap() = created.err().map(|error| error.to_string());
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(refused.into_inner().unwrap().as_deref(), Some("a: a Foo has a namespace, and the key names none"));
    drop(named);
}

#[test]
fn an_object_that_was_found_keeps_its_informer_running() {
    let stage = Stage::new();
    let (informers, executor) = (Informers::new(stage.endless_world()), Executor::new());
    executor.spawn(informers.run()).detach();
    let foos = informers.informer::<Foo>();
    run(&stage.clock, &executor, async {
        foos.synced().within(SOON).await.unwrap();
        let found = foos.get("web/foo").unwrap();
        drop(foos);
        stage.put(&at(FOOS, "foo"), json!({ "size": 2 }));
        stage.clock.sleep(SOON).await;
        let size = found.informer().get("web/foo").unwrap().spec.unwrap().size;
        assert_eq!((size, found.spec.unwrap().size), (Some(2), Some(1)), "what was found does not change");
        let object = found.object().clone();
        drop(found);
        assert_eq!((informers.status().len(), object.meta().name()), (0, "foo"), "an object alone does not");
    });
}

/// The owner of a part, and the part, are of kinds in one namespace and with a label.
#[test]
fn an_informer_with_a_namespace_or_a_selector_keeps_its_kind() {
    let stage = Stage::new();
    let controller = Controller::new("sample", stage.world());
    let foos = controller.informer_where::<Foo>(|all| all.in_namespace("web").with_label_selector("size=1"));
    let parts = controller.informers().informer_where::<Part>(|all| all.in_namespace("web"));
    assert_eq!((foos.kind(), foos.api_version().as_str(), parts.kind()), (Some("Foo"), "example.com/v1", Some("Part")));
    assert_eq!((foos.resource().path(), foos.resource().label_selector()), (FOOS, Some("size=1")));
    let ended = controller.reconciles(&foos).owns(&parts).on_report(|_, _| {}).run(async |cx, key| {
        let Some(foo) = foos.get(&key).filter(|_| parts.is_empty()) else { return Ok(Outcome::Done) };
        cx.create(&parts, Key::from("web/created"), &json!({ "spec": {} })).owned_by(&foo).await?;
        cx.apply(&parts, Key::from("web/applied"), &json!({ "spec": {} })).owned_by(&foo).await?;
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    for name in ["created", "applied"] {
        let part = stage.object(&at(PARTS, name));
        assert_eq!((&part["kind"], &part["metadata"]["ownerReferences"][0]["kind"]), (&json!("Part"), &json!("Foo")));
    }
}

#[test]
fn an_informer_of_some_objects_of_a_kind_has_synced_before_the_first_reconcile() {
    let stage = Stage::new();
    let other = stage.beside();
    other.leave_for(SOON * 60);
    let controller = Controller::new("sample", parts_of(&stage, &other));
    let foos = controller.informer::<Foo>();
    let parts = controller.informer_where::<Part>(|all| all.with_label_selector("app=web"));
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done));
    let Err(RunError::NotSynced { streams }) = &ended else { panic!("{ended:?}") };
    assert_eq!(streams.len(), 1);
    assert_eq!(streams[0].name.resource(), parts.resource());
}
