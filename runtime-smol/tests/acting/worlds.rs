//! Several worlds in one controller, and worlds that end.

use crate::acting::stage::{AGAIN, FOOS, Foo, PARTS, Part, SOON, Size, Stage, at, target};
use core::future::pending;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::decode::MetadataOnly;
use listwatch::file::Playback;
use listwatch::time::Instant;
use listwatch::{Executor, Informers, Key, World, run};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[test]
fn each_request_goes_to_the_server_of_its_object() {
    let here = Stage::new();
    let there = here.beside();
    there.put(&at(PARTS, "seen"), json!({ "size": 1 }));
    let there_informers = Informers::new(there.endless_world());
    let controller = Controller::new("sample", here.world());
    let foos = controller.informer::<Foo>();
    let parts = there_informers.informer::<Part>();
    let owned = Mutex::new(None);
    let controller = controller.reconciles(&foos).maps(&parts, |_, keys| keys.add("web/foo"));
    let ended = controller.on_report(|_, _| {}).run(async |cx, key: Key| {
        let Some(foo) = foos.get(&key) else { return Ok(Outcome::Done) };
        assert!(parts.get("web/seen").is_some(), "the other world is awaited, too");
        if parts.get("web/new").is_none() {
            let new = Key::from("web/new");
            let owner = cx.create(&parts, &new, &json!({ "spec": {} })).owned_by(&foo).await.unwrap_err();
            *owned.lock().unwrap() = Some(owner.to_string());
            cx.create(&parts, &new, &json!({ "spec": {} })).await?;
            cx.change_status(&foo, |foo| foo.status = Some(Size { size: Some(2) })).await?;
            cx.live().get(&parts, &new).await?;
        }
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    let expected =
        "web/new: the owner foo is in another world, where no garbage collector finds it; one cluster has one World";
    assert_eq!(owned.into_inner().unwrap().as_deref(), Some(expected));
    let targets =
        |stage: &Stage| -> Vec<String> { stage.requests().iter().map(|request| target(request).to_owned()).collect() };
    assert_eq!(targets(&here), ["PATCH /apis/example.com/v1/namespaces/web/foos/foo/status?fieldManager=sample"]);
    assert_eq!(
        targets(&there),
        ["POST /api/v1/namespaces/web/parts?fieldManager=sample", "GET /api/v1/namespaces/web/parts/new",]
    );
}

#[test]
fn an_informer_of_another_world_that_does_not_sync_is_named() {
    let here = Stage::new();
    let there = here.beside();
    there.leave_for(SOON * 60);
    let parts = Informers::new(there.endless_world()).informer::<Part>();
    let controller = Controller::new("sample", here.endless_world()).reads(&parts);
    let foos = controller.informer::<Foo>();
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done));
    let Err(RunError::NotSynced { streams }) = &ended else { panic!("{ended:?}") };
    assert_eq!(streams.iter().map(|stream| stream.name.to_string()).collect::<Vec<_>>(), ["parts"]);
}

/// The references there name objects there, so another Foo of the name would be reconciled.
#[test]
fn a_kind_of_another_world_cannot_be_owned() {
    let here = Stage::new();
    let parts = Informers::new(here.beside().endless_world()).informer::<Part>();
    let controller = Controller::new("sample", here.world());
    let foos = controller.informer::<Foo>();
    let ended = controller.reconciles(&foos).owns(&parts).on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done));
    let expected = "the controller cannot run: /api/v1/parts is in another world than /apis/example.com/v1/foos, so its \
                    owners are other objects; use maps(…), or one World for one cluster";
    assert_eq!(ended.map_err(|error| error.to_string()), Err(expected.to_owned()));
}

#[test]
fn worlds_with_different_clocks_do_not_run_in_one_controller() {
    let (here, there) = (Stage::new(), Stage::new());
    let parts = Informers::new(there.endless_world()).informer::<Part>();
    let controller = Controller::new("sample", here.endless_world()).reads(&parts);
    let foos = controller.informer::<Foo>();
    let ended = controller.reconciles(&foos).run(async |_cx, _key| unreachable!());
    let expected = "the controller cannot run: the world of /api/v1/parts has another clock; give all worlds one clock";
    assert_eq!(ended.map_err(|error| error.to_string()), Err(expected.to_owned()));
}

#[test]
fn the_end_of_any_world_of_a_controller_ends_its_run() {
    let here = Stage::new();
    let there = here.beside();
    let parts = Informers::new(there.world()).informer::<Part>();
    let controller = Controller::new("sample", here.endless_world().until(here.clock.sleep(SOON * 10))).reads(&parts);
    let foos = controller.informer::<Foo>();
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |_cx, _key| Ok(Outcome::Done));
    assert_eq!((ended, here.clock.now()), (Ok(()), Instant::ZERO + SOON));
}

/// Runs a controller in a world, and returns how many keys it has reconciled.
fn keys_in(world: World, resource: &str) -> (Result<(), RunError>, usize) {
    let controller = Controller::new("sample", world);
    let objects = controller.informer_of::<MetadataOnly>(resource);
    let count = Mutex::new(0);
    let ended = controller.reconciles(&objects).on_report(|_, _| {}).run(async |_cx, _key| {
        *count.lock().unwrap() += 1;
        Ok(Outcome::Done)
    });
    (ended, count.into_inner().unwrap())
}

#[test]
fn a_world_that_ends_before_its_sources_have_synced_is_an_error() {
    let stage = Stage::new();
    let (ended, keys) = keys_in(stage.endless_world().until(async {}), "example.com/v1/foos");
    let Err(RunError::NotSynced { streams }) = &ended else { panic!("{ended:?}") };
    assert_eq!((streams.len(), keys), (1, 0));
    assert!(streams[0].name.to_string().starts_with("foos.example.com"), "{ended:?}");
}

#[test]
fn a_future_that_panics_ends_its_world_with_an_error() {
    let stage = Stage::new();
    let clock = stage.clock.clone();
    let world = stage.endless_world().until(async move {
        clock.sleep(SOON).await;
        panic!("a scenario went wrong");
    });
    let (ended, keys) = keys_in(world, "example.com/v1/foos");
    let error = RunError::World("the future that ends it panicked: a scenario went wrong".to_owned());
    assert_eq!((ended, keys), (Err(error), 1));
}

#[test]
fn a_controller_that_is_dropped_leaves_the_end_of_its_world_to_the_others() {
    let stage = Stage::new();
    let (informers, executor) = (Informers::new(stage.world()), Executor::new());
    let foos = informers.informer::<Foo>();
    let controller = || {
        let controller = Controller::new("sample", &informers).reconciles(&foos).on_report(|_, _| {});
        executor.spawn(controller.calls(async |_cx, _key| Ok(Outcome::Done)).future())
    };
    let [first, second, third] = [controller(), controller(), controller()];
    run(&stage.clock, &executor, async {
        stage.clock.sleep(SOON / 6).await;
        drop(first);
        assert_eq!(second.await, Ok(()));
        assert_eq!(third.await, Ok(()));
    });
    assert_eq!(stage.clock.now(), Instant::ZERO + SOON);
}

#[test]
fn a_world_ends_with_the_first_of_its_ends() {
    for ends in [[1, 2], [2, 1]] {
        let stage = Stage::new();
        let [first, second] = ends.map(|minutes| stage.clock.sleep(SOON * minutes));
        let world = stage.endless_world().until(first).until(second);
        assert_eq!(keys_in(world, "example.com/v1/foos"), (Ok(()), 1));
        assert_eq!(stage.clock.now(), Instant::ZERO + SOON);
    }
}

/// The file of a recording of a list and a watch of pods, and of `more`.
fn recording(name: &str, more: &str) -> PathBuf {
    let list = json!({ "metadata": { "resourceVersion": "5" },
        "items": [{ "metadata": { "name": "a", "namespace": "web", "resourceVersion": "4", "uid": "u1" } }] });
    let event = json!({ "type": "ADDED",
        "object": { "metadata": { "name": "b", "namespace": "web", "resourceVersion": "6", "uid": "u2" } } });
    let lines = [
        json!({ "t": 0, "id": 0, "request": { "method": "GET", "path": "/api/v1/pods" } }),
        json!({ "t": 1, "id": 0, "response": { "status": 200 } }),
        json!({ "t": 1, "id": 0, "data": list.to_string() }),
        json!({ "t": 1, "id": 0, "end": "eof" }),
        json!({ "t": 2, "id": 1, "request": { "method": "GET", "path": "/api/v1/pods?watch=1&resourceVersion=5" } }),
        json!({ "t": 3, "id": 1, "response": { "status": 200 } }),
        json!({ "t": 5_000, "id": 1, "data": format!("{event}\n") }),
    ];
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("acting-{name}.jsonl"));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, text + more).unwrap();
    path
}

#[test]
fn a_recording_ends_by_itself_after_all_of_it() {
    let world = World::from(Playback::from_file(recording("whole", "")).unwrap());
    let clock = world.clock().clone();
    assert_eq!(keys_in(world, "v1/pods"), (Ok(()), 2));
    let took = clock.now().saturating_since(Instant::ZERO);
    assert!((65..75).contains(&took.as_secs()), "{took:?}");
}

#[test]
fn the_error_of_a_recording_is_that_of_the_run() {
    let path = recording("torn", "{\"t\": 9, \u{1b}");
    for is_until in [false, true] {
        let world = World::from(Playback::from_file(&path).unwrap());
        let world = if is_until { world.until(pending()) } else { world };
        let (ended, keys) = keys_in(world, "v1/pods");
        let Err(RunError::World(error)) = &ended else { panic!("{ended:?}") };
        assert!(error.contains("acting-torn.jsonl:8: ") && !error.contains('\u{1b}'), "{error}");
        assert_eq!(keys, 2, "what came before it");
    }
}

#[test]
fn a_controller_over_a_recording_without_its_resource_ends_with_an_error() {
    let world = World::from(Playback::from_file(recording("other", "")).unwrap());
    let (ended, keys) = keys_in(world, "v1/nodes");
    assert_eq!(keys, 0);
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("nodes"), "{error}");
}

/// An object of that name has other versions there.
#[test]
fn a_deletion_waits_for_no_version_of_another_world() {
    let here = Stage::new();
    (0..50).for_each(|size| here.put(&at(FOOS, "foo"), json!({ "size": size })));
    let copies = Informers::new(here.beside().endless_world()).informer::<Foo>();
    let controller = Controller::new("sample", here.world()).reads(&copies);
    let foos = controller.informer::<Foo>();
    let late = Mutex::new(Vec::new());
    let ended = controller.reconciles(&foos).on_report(|_, _| {}).run(async |cx, key: Key| {
        late.lock().unwrap().push(cx.timed_out_writes().len());
        let Some(copy) = copies.get(&key) else { return Ok(Outcome::Done) };
        cx.live().get(&foos, &key).await?;
        cx.delete(&copy).await?;
        Ok(AGAIN)
    });
    assert_eq!((ended, late.into_inner().unwrap()), (Ok(()), vec![0, 0]));
}

/// A write that the store of one world does not show.
#[test]
fn a_late_write_in_another_world_causes_no_read() {
    let here = Stage::new();
    let there = here.late_beside(SOON / 2);
    let copies = Informers::new(there.endless_world()).informer::<Foo>();
    let controller = Controller::new("sample", here.world().until(here.clock.sleep(SOON))).reads(&copies);
    let foos = controller.informer::<Foo>();
    let late = Mutex::new(Vec::new());
    let controller = controller.reconciles(&foos).on_report(|_, _| {}).await_writes(SOON / 60);
    let ended = controller.run(async |cx, key: Key| {
        let (foo, copy) = (foos.get(&key).unwrap(), copies.get(&key).unwrap());
        late.lock().unwrap().push(cx.timed_out_writes().len());
        if late.lock().unwrap().len() == 1 {
            cx.change(&copy, |foo| foo.spec = Some(Size { size: Some(2) })).await?;
            return Ok(AGAIN);
        }
        cx.change(&foo, |foo| foo.spec = Some(Size { size: Some(3) })).await?;
        Ok(Outcome::Done)
    });
    assert_eq!(ended, Ok(()));
    assert_eq!(late.into_inner().unwrap()[..2], [0, 1]);
    let requests = here.requests();
    assert!(target(&requests[0]).starts_with("PATCH "), "{requests:?}");
}
