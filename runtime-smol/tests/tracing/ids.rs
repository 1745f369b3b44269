//! What servers are told of the reconcile behind a request.

use crate::collector::{Collector, ask_each_subscriber};
use crate::stage::{MAPS, Stage};
use listwatch::api::{Api, Method, Patch};
use listwatch::controller::{Controller, Outcome, ReconcileId};
use listwatch::decode::Raw;
use listwatch::file::Playback;
use listwatch::testing::SimulatedCluster;
use listwatch::{Executor, Resource, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "web" } })
}

fn maps() -> Api<Value> {
    Api::new(&Resource::named(MAPS).unwrap().in_namespace("web"))
}

#[test]
fn each_request_of_a_reconcile_has_its_id_and_those_of_others_have_none() {
    let (stage, executor, ids) = (Stage::new(&["a", "b"]), Executor::new(), Mutex::new(Vec::new()));
    let (controller, handle) = stage.controller();
    let (outside, tasks) = (stage.world.client().clone(), Mutex::new(Vec::new()));
    let controller = controller.workers(2).calls(async |cx, key| {
        let is_new = ["a", "b"].contains(&key.name())
            && !ids.lock().unwrap().iter().any(|(name, _): &(String, ReconcileId)| *name == *key.name());
        let Some(found) = handle.get(&key).filter(|_| is_new) else { return Ok(Outcome::Done) };
        ids.lock().unwrap().push((key.name().to_owned(), cx.id()));
        let of = |what: &str| format!("{}-{what}", key.name());
        cx.live().get(&handle, &key).await?;
        cx.patch(&found, &Patch::Merge(&json!({ "data": { "x": key.name() } }))).await?;
        cx.write(&handle, maps().create(&map(&of("write")))).await?;
        cx.call(maps().create(&map(&of("call")))).await?;
        cx.client().call(maps().create(&map(&of("client")))).await?;
        // Not by the context.
        outside.call(maps().create(&map(&of("outside")))).await?;
        // A task is no part of the reconcile, but the context is.
        let (cx, name) = (cx.clone(), of("spawned"));
        let task = executor.spawn(async move { cx.call(maps().create(&map(&name))).await });
        tasks.lock().unwrap().push(task);
        Ok(Outcome::Done)
    });
    controller.run().unwrap();
    let tasks = core::mem::take(&mut *tasks.lock().unwrap());
    listwatch::run(&stage.clock, &executor, async {
        for task in tasks {
            task.await.unwrap();
        }
    });

    let (ids, sent) = (ids.lock().unwrap().clone(), stage.sent.lock().unwrap().clone());
    let mut parents = BTreeSet::new();
    for (name, id) in &ids {
        let theirs: Vec<_> = sent.iter().filter(|(.., trace)| trace.is_some_and(|trace| trace.id() == *id)).collect();
        let methods = theirs.iter().map(|(method, ..)| *method).collect::<Vec<_>>();
        assert_eq!(methods, [Method::Get, Method::Patch, Method::Post, Method::Post, Method::Post, Method::Post]);
        assert!(theirs[..2].iter().all(|(_, path, _)| path.ends_with(&format!("/{name}"))), "{theirs:?}");
        for (.., trace) in theirs {
            let [(_, audit_id), (_, traceparent)] = trace.unwrap().headers();
            let trace_id = id.to_string().replace('-', "");
            let parent = traceparent.split('-').nth(2).unwrap();
            assert_eq!(audit_id, format!("{id}-{parent}"));
            // Nobody records a span.
            assert!(
                traceparent.starts_with(&format!("00-{trace_id}-")) && traceparent.ends_with("-00"),
                "{traceparent}"
            );
            assert!(parents.insert(traceparent), "two requests have one parent id");
        }
    }
    assert_eq!((ids.len(), parents.len()), (2, 12));
    assert_eq!(sent.iter().filter(|(.., trace)| trace.is_none()).count(), 2, "those of other clients: {sent:?}");
}

#[test]
fn a_request_is_sampled_if_the_span_of_its_reconcile_is_recorded() {
    let (stage, collector) = (Stage::new(&["a"]), Collector::default());
    let (controller, _maps) = stage.controller();
    let controller = controller.calls(async |cx, key| {
        cx.call(maps().get(key.name())).await?;
        Ok(Outcome::Done)
    });
    collector.around(|| controller.run()).unwrap();
    let (.., trace) = &stage.sent.lock().unwrap()[0];
    let [_, (_, traceparent)] = trace.unwrap().headers();
    assert!(traceparent.ends_with("-01"), "{traceparent}");
    assert_eq!(collector.reconciles()[0].field("id"), trace.unwrap().id().to_string());
}

/// The ids of a controller's reconciles, each of which writes its own into the object.
fn ids(world: impl Into<World>) -> Vec<ReconcileId> {
    let ids = Mutex::new(Vec::new());
    let controller = Controller::new("maps", world);
    let maps = controller.informer_of::<Raw>(Resource::named(MAPS).unwrap());
    let ended = controller.reconciles(&maps).run(async |cx, key| {
        let Some(found) = maps.get(&key) else { return Ok(Outcome::Done) };
        let count = {
            let mut ids = ids.lock().unwrap();
            ids.push(cx.id());
            ids.len()
        };
        if count < 4 {
            cx.patch(&found, &Patch::Merge(&json!({ "data": { "by": cx.id().to_string() } }))).await?;
        }
        Ok(Outcome::Done)
    });
    ended.unwrap();
    ids.into_inner().unwrap()
}

fn cluster() -> SimulatedCluster {
    ask_each_subscriber();
    let cluster = SimulatedCluster::new();
    ["a", "b"].iter().for_each(|name| _ = cluster.create(map(name)).unwrap());
    cluster
}

#[test]
fn each_run_in_the_simulation_and_each_replay_has_the_same_ids() {
    let minute = core::time::Duration::from_secs(60);
    let runs = [(); 2].map(|()| ids(World::from(cluster()).lasting(minute)));
    let distinct: BTreeSet<_> = runs[0].iter().collect();
    assert!(runs[0] == runs[1] && distinct.len() == runs[0].len() && distinct.len() > 3, "{runs:?}");

    let tape = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tracing-ids.jsonl");
    let _of_an_earlier_run = std::fs::remove_file(&tape);
    let recorded = ids(World::from(cluster()).lasting(minute).recorded_to(&tape).unwrap());
    // The writes have the ids in their bodies, so a replay with other ids differs from the tape.
    let world = World::from(Playback::from_file(&tape).unwrap());
    assert_eq!(ids(world.clone()), recorded);
    assert!(world.findings("maps").unwrap().is_same());
    let text = std::fs::read_to_string(&tape).unwrap();
    assert!(!text.contains("audit-id") && !text.contains("traceparent"), "a tape has no headers of the trace");
}

#[test]
fn controllers_in_real_time_have_ids_of_their_own() {
    let ids: Vec<_> = (0..2)
        .map(|_| {
            let cluster = cluster();
            let clock = listwatch::Clock::real();
            let client = listwatch::Client::new(cluster.client(), clock.clone());
            let ended = clock.sleep(core::time::Duration::from_millis(200));
            let world = World::from_parts(clock, client, move |_| Box::new(cluster.transport()));
            ids(world.until(ended))
        })
        .collect();
    assert!(!ids[0].is_empty() && ids[0].iter().all(|id| !ids[1].contains(id)), "{ids:?}");
}
