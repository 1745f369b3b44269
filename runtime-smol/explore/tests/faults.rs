//! A small operator for each kind of fault, beside the same without it.

use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::testing::SimulatedCluster;
use listwatch::{InformerHandle, World};
use listwatch_explore::{Exploration, Failure, Fault, Outside};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

pub(crate) const MAPS: &str = "v1/configmaps";
pub(crate) const SECRETS: &str = "v1/secrets";

/// A cluster with one ConfigMap.
pub(crate) fn fixture() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } });
    cluster.create(map).unwrap();
    cluster
}

/// Explores a program whose ConfigMap is changed once.
fn explored(program: impl Fn(World) -> Result<(), RunError> + Send + Sync + 'static) -> Exploration {
    Exploration::of(program).cluster(fixture).scenario(async |it| {
        it.settled().await;
        it.patch(MAPS, "default/a", json!({ "data": { "x": "2" } }))?;
        it.settled().await;
        Ok(())
    })
}

/// The failure, which is found within a thousand runs and takes so many disturbances at the most.
#[track_caller]
fn found(exploration: Exploration<impl Send + Sync + 'static>, most: usize) -> Failure {
    let failure = *exploration.run(1_000).expect_err("there is a fault");
    println!("{failure}");
    assert!(failure.plan.disturbances.len() <= most, "{failure}");
    failure
}

#[track_caller]
fn clean(exploration: Exploration<impl Send + Sync + 'static>) {
    exploration.run(500).unwrap();
}

/// The ConfigMaps and the Secrets.
pub(crate) fn informers(controller: &Controller) -> (InformerHandle<Value>, InformerHandle<Value>) {
    let of = |resource, kind| controller.informer_of::<Value>(resource).with_kind(kind);
    (of(MAPS, "ConfigMap"), of(SECRETS, "Secret"))
}

/// Creates a Secret of a generated name for each ConfigMap, or one with a name.
fn duplicates(world: World, is_named: bool) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    controller.reconciles(&maps).owns(&secrets).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        if secrets.list_in("default").iter().any(|secret| secret.is_controlled_by(&map)) {
            return Ok(Outcome::Done);
        }
        if is_named {
            cx.ensure(&secrets, &key, &json!({ "stringData": { "x": "1" } })).owned_by(&map).await?;
            return Ok(Outcome::Done);
        }
        let uid = map.meta().uid().map(|uid| uid.to_string());
        let owner =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": key.name(), "uid": uid, "controller": true });
        let metadata = json!({ "generateName": "a-", "ownerReferences": [owner] });
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": { "x": "1" } });
        let call =
            listwatch::api::Api::<Value>::new(&listwatch::Resource::named("v1/secrets")?.in_namespace("default"));
        cx.call(call.create(&secret)).await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn a_duplicate_is_found() {
    let failure = found(explored(|world| duplicates(world, false)), 1);
    assert!(matches!(&failure.fault, Fault::End(texts) if texts[0].contains("a duplicate of one owner")), "{failure}");
    clean(explored(|world| duplicates(world, true)));
}

#[test]
fn an_invariant_that_a_write_breaks_is_found_at_that_write() {
    let exploration = explored(|world| duplicates(world, false)).always("one Secret", |it| match it.list(SECRETS) {
        Ok(secrets) if secrets.len() > 1 => Err(format!("there are {}", secrets.len())),
        _ => Ok(()),
    });
    let failure = found(exploration, 1);
    assert_eq!(failure.fault, Fault::Invariant("one Secret".to_owned(), "there are 2".to_owned()), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("exploration.replay(&Plan::parse("), "{text}");
    let replayed = explored(|world| duplicates(world, false)).replay(&failure.plan).expect_err("the plan shows it");
    assert!(matches!(replayed.fault, Fault::End(_)), "{replayed}");
}

/// Makes a Secret once, and notes that: before it or after it.
fn notes(world: World, is_early: bool) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        if map["data"]["made"] == "yes" {
            return Ok(Outcome::Done);
        }
        let note = async || cx.change(&map, |map| map["data"]["made"] = json!("yes")).await;
        if is_early {
            note().await?;
        }
        cx.ensure(&secrets, &key, &json!({ "stringData": { "x": "1" } })).owned_by(&map).await?;
        if !is_early {
            note().await?;
        }
        Ok(Outcome::Done)
    })
}

#[test]
fn a_stop_between_two_writes_is_found() {
    let failure = found(explored(|world| notes(world, true)), 1);
    assert!(matches!(&failure.fault, Fault::End(texts) if texts == &["v1/secrets default/a is missing"]), "{failure}");
    assert!(failure.to_string().contains("killed"), "{failure}");
    clean(explored(|world| notes(world, false)));
}

/// Creates a Secret, and fails if it is there.
fn creates(world: World) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let (maps, secrets) = informers(&controller);
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        if map["data"]["made"] != "yes" {
            let body = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": key.name() } });
            cx.call(secrets.api_for::<Value>(&key).create(&body)).await?;
            cx.change(&map, |map| map["data"]["made"] = json!("yes")).await?;
        }
        Ok(Outcome::Done)
    })
}

#[test]
fn a_key_that_fails_for_ever_after_a_stop_is_found() {
    let failure = found(explored(creates).may_vary(MAPS), 1);
    assert!(matches!(&failure.fault, Fault::Failing(key) if key.contains("default/a")), "{failure}");
}

#[test]
fn a_reconcile_that_panics_is_found() {
    let panics = |world: World| {
        let controller = Controller::new("keep", world);
        let (maps, secrets) = (
            controller.informer_of::<Value>(MAPS).with_kind("ConfigMap"),
            controller.informer_of::<Value>(SECRETS).with_kind("Secret"),
        );
        controller.reconciles(&maps).run(async |cx, key| {
            let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
            let ensured = cx.ensure(&secrets, &key, &json!({ "stringData": { "x": "1" } })).owned_by(&map).await;
            assert!(ensured.is_ok(), "the server takes it");
            Ok(Outcome::Done)
        })
    };
    let failure = found(explored(panics), 1);
    assert!(matches!(&failure.fault, Fault::Panicked(text) if text.contains("the server takes it")), "{failure}");
}

/// Writes something at each reconcile: what is new, or what is there.
fn writes(world: World, is_new: bool) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let maps = controller.informer_of::<Value>(MAPS).with_kind("ConfigMap");
    controller.reconciles(&maps).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        let next = map["data"]["n"].as_str().unwrap_or("0").parse::<u32>()? + u32::from(is_new);
        let patch = json!({ "data": { "n": next.to_string() } });
        cx.patch(&map, &listwatch::api::Patch::Merge(&patch)).await?;
        Ok(Outcome::RequeueAfter(Duration::from_secs(1)))
    })
}

#[test]
fn writes_without_an_end_are_found_undisturbed() {
    let failure = found(explored(|world| writes(world, true)), 0);
    assert!(matches!(failure.fault, Fault::Endless(_)), "{failure}");
    let failure = found(explored(|world| writes(world, false)), 0);
    assert!(matches!(&failure.fault, Fault::Idle(at) if at == "PATCH v1/configmaps default/a"), "{failure}");
}

#[test]
fn a_program_that_ends_by_itself_is_found() {
    let failure = found(Exploration::of(|_| Ok::<(), RunError>(())), 0);
    assert!(matches!(failure.fault, Fault::Ended(_)), "{failure}");
}

#[test]
fn a_program_that_draws_is_not_deterministic() {
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    let draws = |world: World| {
        let controller = Controller::new("keep", world);
        let maps = controller.informer_of::<Value>(MAPS).with_kind("ConfigMap");
        controller.reconciles(&maps).run(async |cx, key| {
            let Some(map) = maps.get(&key).filter(|map| map["data"]["n"].is_null()) else { return Ok(Outcome::Done) };
            let drawn = DRAWN.fetch_add(1, Ordering::Relaxed).to_string();
            cx.change(&map, |map| map["data"]["n"] = json!(drawn)).await?;
            Ok(Outcome::Done)
        })
    };
    let failure = found(explored(draws), 0);
    let why = "PATCH v1/configmaps default/a 1 has another body".to_owned();
    assert_eq!(failure.fault, Fault::NotDeterministic(why), "{failure}");
}

/// The names of buckets outside of the cluster.
type Buckets = Mutex<BTreeSet<String>>;

/// Keeps a bucket for each ConfigMap: before the finalizer is there, or after it.
fn buckets(world: World, outside: &Outside<Buckets>, is_early: bool) -> Result<(), RunError> {
    let controller = Controller::new("keep", world);
    let maps = controller.informer_of::<Value>(MAPS).with_kind("ConfigMap");
    controller.reconciles(&maps).run(async |cx, key| {
        // A cache may still have what is gone.
        let map = if is_early { maps.get(&key) } else { cx.live().get(&maps, &key).await? };
        let Some(map) = map else { return Ok(Outcome::Done) };
        let name = key.name().to_owned();
        let make = || outside.call(&format!("make {name}"), |buckets| buckets.lock().unwrap().insert(name.clone()));
        if is_early && !map.is_terminating() {
            make()?;
        }
        let clean_up = async |_: &listwatch::Found<Value>| {
            outside.call(&format!("remove {name}"), |buckets| buckets.lock().unwrap().remove(&name))?;
            Ok(())
        };
        if cx.finalizer(&map, "example.com/bucket", clean_up).await?.is_some() && !is_early {
            make()?;
        }
        Ok(Outcome::Done)
    })
}

fn of_buckets(is_early: bool) -> Exploration<Buckets> {
    Exploration::beside(Buckets::default, move |world, outside| buckets(world, outside, is_early))
        .cluster(fixture)
        .scenario(async |it| {
            it.settled().await;
            it.delete(MAPS, "default/a")?;
            it.settled().await;
            Ok(())
        })
        .shows(|it| json!(it.outside().lock().unwrap().clone()))
}

#[test]
fn a_clean_up_that_is_missed_is_found() {
    let failure = found(of_buckets(true), 1);
    assert!(matches!(&failure.fault, Fault::End(texts) if texts[0].starts_with("outside is")), "{failure}");
    // Nothing outside of the cluster knows that a replica acts no more.
    clean(of_buckets(false).without("paused").without("paused-long"));
}
