//! Controllers that a tape of theirs drives again: what a reconcile asks beside its caches, and several threads.

use core::time::Duration;
use listwatch::api::Api;
use listwatch::controller::{Controller, DivergenceKind, Findings, Outcome, RunError, Running, run_all};
use listwatch::file::Playback;
use listwatch::object::Kind;
use listwatch::testing::SimulatedCluster;
use listwatch::{Client, Clock, InformerHandle, Informers, Key, Resource, World};
use listwatch_tests::maps::{ConfigMap, Secret, config_map, secret};
use listwatch_tests::wait::wait_until;
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::path::PathBuf;

mod drifts;

/// A path for a tape, which is gone when the test is over.
struct Tape(PathBuf);

impl Tape {
    fn named(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("listwatch-replayed-{name}-{}.jsonl.gz", std::process::id()));
        let _of_an_earlier_run = std::fs::remove_file(&path);
        Self(path)
    }

    fn world(&self) -> World {
        Playback::from_file(&self.0).unwrap().into()
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let _was_not_made = std::fs::remove_file(&self.0);
    }
}

fn api<T: Kind>(key: &Key) -> Api<Value> {
    Api::new(&Resource::of::<T>().in_namespace(key.namespace().unwrap_or_default()))
}

/// Writes what no cache has: dates, delays and generated names.
fn dated(informers: &Informers) -> Running<'static> {
    let controller = Controller::new("dated", informers);
    let maps = controller.informer::<ConfigMap>();
    controller.reconciles(&maps).workers(4).on_report(|_, _| {}).calls(async move |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        if map.meta().name().starts_with("event-") || map.data["times"] == "3" {
            return Ok(Outcome::Done);
        }
        cx.clock().sleep(Duration::from_micros(1700)).await;
        let event = json!({
            "metadata": { "generateName": "event-" },
            "data": { "at": format!("{:?}", cx.clock().wall()), "of": key.as_str() },
        });
        let event = cx.write(&maps, api::<ConfigMap>(&key).create(&event)).await?;
        cx.clock().sleep(Duration::from_micros(700)).await;
        let times = map.data["times"].as_str().and_then(|times| times.parse().ok()).unwrap_or(0) + 1;
        let (event, at) = (event["metadata"]["name"].clone(), format!("{:?}", cx.clock().wall()));
        cx.change(&map, |map| map.data = json!({ "times": times.to_string(), "event": event, "at": at })).await?;
        Ok(cx.requeue_about(Duration::from_secs(5)))
    })
}

/// Counts the maps by another cache, and keeps the count in a Secret.
fn counted(informers: &Informers) -> Running<'static> {
    let controller = Controller::new("counted", informers);
    let (maps, secrets) = (controller.informer::<ConfigMap>(), controller.informer::<Secret>());
    controller.reads(&maps).reconciles(&secrets).every(Duration::from_secs(7)).on_report(|_, _| {}).calls(
        async move |cx, key| {
            let Some(secret) = secrets.get(&key) else { return Ok(Outcome::Done) };
            let names: Vec<_> = maps.list().iter().map(|map| map.meta().name().to_owned()).collect();
            let data = json!({ "names": names.join(","), "count": names.len().to_string() });
            cx.change(&secret, |secret| secret.data = data.clone()).await?;
            Ok(Outcome::Done)
        },
    )
}

/// Keeps three maps and a generated one of each Secret, and prunes a fourth.
fn parent(informers: &Informers) -> Running<'static> {
    let controller = Controller::new("parent", informers);
    let (maps, secrets) = (controller.informer::<ConfigMap>(), controller.informer::<Secret>());
    controller.reconciles(&secrets).owns(&maps).on_report(|_, _| {}).calls(async move |cx, key| {
        let Some(secret) = secrets.get(&key) else { return Ok(Outcome::Done) };
        if maps.owned_by(&secret).is_empty() {
            let names = ["a", "b", "c", "d"].map(|name| key.sibling(name));
            let (cx, maps, secret) = (&cx, &maps, &secret);
            let named = |name| cx.ensure(maps, name, &json!({ "data": {} })).owned_by(secret);
            cx.all(names.map(named)).await.into_iter().collect::<Result<Vec<_>, _>>()?;
            let generated = cx.create(maps, key.sibling("event-"), &json!({ "data": {} })).generate_name();
            generated.owned_by(secret).await?;
            return Ok(Outcome::Done);
        }
        let wanted: Vec<_> = maps.owned_by(&secret).iter().map(|map| map.key().clone()).collect();
        cx.prune(&maps, &secret, wanted.into_iter().filter(|map| map.name() != "d")).await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn children_that_are_created_at_once_generated_and_pruned_are_those_of_the_tape() {
    let tape = Tape::named("children");
    let cluster = SimulatedCluster::new();
    cluster.create(secret("s")).unwrap();
    let world = World::from(cluster.clone()).lasting(Duration::from_secs(60)).recorded_to(&tape.0).unwrap();
    assert_eq!(run_all([parent(&Informers::new(world))]), Ok(()));
    let names: Vec<_> = cluster.list("v1/configmaps").unwrap();
    let names: Vec<_> = names.iter().map(|map| map["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    assert!(
        matches!(&*names, [a, b, c, event] if [a, b, c] == ["a", "b", "c"] && event.starts_with("event-")),
        "{names:?}"
    );

    let world = tape.world();
    assert_eq!(run_all([parent(&Informers::new(world.clone()))]), Ok(()));
    let findings = world.findings("parent").unwrap();
    assert!(findings.same >= 6, "{findings:?}");
}

fn findings(world: &World) -> [Findings; 2] {
    ["dated", "counted"].map(|name| world.findings(name).unwrap())
}

/// Records both controllers. Returns how many requests they made.
fn record_both(tape: &Tape) -> usize {
    let cluster = SimulatedCluster::new();
    for name in ["a", "b", "c"] {
        cluster.create(config_map(name, &json!({}))).unwrap();
    }
    cluster.create(secret("s")).unwrap();
    let world = World::from(cluster.clone()).lasting(Duration::from_secs(60));
    let config = world.recorder_config().include_secrets(true);
    let world = world.recorded(&listwatch::file::Tape::create(&tape.0, config).unwrap());
    let informers = Informers::new(world);
    run_all([dated(&informers), counted(&informers)]).unwrap();
    drop(informers);
    cluster.requests().len()
}

const COUNTED_IS_MISSING: &str = "the tape has a reconcile of counted, and no such controller runs here; \
                                  replay it with the program that it was recorded of";

#[test]
fn two_controllers_write_the_dates_names_and_counts_of_their_tape_again() {
    let tape = Tape::named("two");
    let made = record_both(&tape);

    let replay = || {
        let world = tape.world();
        let informers = Informers::new(world.clone());
        assert_eq!(run_all([dated(&informers), counted(&informers)]), Ok(()));
        findings(&world)
    };
    let first = replay();
    assert!(first.iter().all(|findings| findings.same > 1), "{first:?}");
    assert!(first.iter().map(|findings| findings.same).sum::<u64>() >= made as u64, "{made}: {first:?}");
    assert_eq!(replay(), first);
    for speed in [1_000, u32::MAX].map(|speed| NonZeroU32::new(speed).unwrap()) {
        let world = tape.world().paced(speed);
        let informers = Informers::new(world.clone());
        assert_eq!(run_all([dated(&informers), counted(&informers)]), Ok(()));
        assert_eq!(findings(&world), first, "{speed} times as fast");
    }

    let alone = Informers::new(tape.world());
    assert_eq!(run_all([dated(&alone)]), Err(RunError::World(COUNTED_IS_MISSING.to_owned())));
}

/// What a replay ends with. One that hangs fails, after a time that none takes.
fn end_of(replay: impl FnOnce() -> Result<(), RunError> + Send + 'static) -> Result<(), RunError> {
    let (told, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || told.send(replay()));
    end.recv_timeout(Duration::from_secs(60)).expect("the replay hangs")
}

#[test]
fn a_replay_ends_with_an_error_if_a_controller_is_missing() {
    let tape = Tape::named("early");
    record_both(&tape);
    let missing = Err(RunError::World(COUNTED_IS_MISSING.to_owned()));
    let world = tape.world();
    let stopped = end_of(move || {
        let informers = Informers::new(world);
        let counted = counted(&informers);
        counted.handle().stop();
        run_all([dated(&informers), counted])
    });
    assert_eq!(stopped, missing);
    let world = tape.world();
    let dropped = end_of(move || {
        let informers = Informers::new(world);
        let dated = dated(&informers);
        drop(counted(&informers));
        run_all([dated])
    });
    assert_eq!(dropped, missing);
}

#[test]
fn a_difference_in_a_secret_is_told_without_its_value() {
    let (tape, cluster) = (Tape::named("secret"), SimulatedCluster::new());
    cluster.create(secret("s")).unwrap();
    let run = |informers: &Informers, value: &'static str| {
        let controller = Controller::new("secretive", informers);
        let secrets = controller.informer::<Secret>();
        controller.reconciles(&secrets).on_report(|_, _| {}).run(async |cx, key| {
            let Some(secret) = secrets.get(&key) else { return Ok(Outcome::Done) };
            if secret.data.is_null() {
                cx.change(&secret, |secret| secret.data = json!({ "key": value })).await?;
            }
            Ok(Outcome::Done)
        })
    };
    let world = World::from(cluster).lasting(Duration::from_secs(60));
    let config = world.recorder_config().include_secrets(true);
    let world = world.recorded(&listwatch::file::Tape::create(&tape.0, config).unwrap());
    run(&Informers::new(world), "aGVsbG8=").unwrap();
    let Err(RunError::Diverged(found)) = run(&Informers::new(tape.world()), "d29ybGQ=") else {
        panic!("no difference")
    };
    assert!(!found.to_string().contains("aGVsbG8=") && !found.to_string().contains("d29ybGQ="), "{found}");
    let DivergenceKind::Different { fields, .. } = &found.divergences[0].kind else { panic!("{found}") };
    assert_eq!(fields[..], ["data.key changed"]);
}

/// Sums the maps of its cache again and again in one poll, while other threads write.
fn summed(informers: &Informers, maps: &InformerHandle<ConfigMap>, threads: usize) -> Running<'static> {
    let maps = maps.clone();
    let controller = Controller::new("summed", informers).reconciles(&maps).workers(8).threads(threads);
    controller.on_report(|_, _| {}).calls(async move |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        if map.data["sum"].is_string() {
            return Ok(Outcome::Done);
        }
        let count = || maps.list().iter().filter(|map| map.data["sum"].is_string()).count();
        let sum = (0..20).map(|_| count()).collect::<Vec<_>>();
        cx.change(&map, |map| map.data = json!({ "sum": format!("{sum:?}") })).await?;
        Ok(Outcome::Done)
    })
}

/// A cluster by the machine's clock.
fn real(cluster: &SimulatedCluster) -> World {
    let clock = Clock::real();
    let time = clock.clone();
    let cluster = cluster.on_clock(move || time.now());
    World::from_parts(clock.clone(), Client::new(cluster.client(), clock), move |_| Box::new(cluster.transport()))
}

#[test]
fn reads_within_one_poll_are_as_they_were_while_other_threads_wrote() {
    const MAPS: usize = 300;
    for threads in [1, 4] {
        let (tape, cluster) = (Tape::named(&format!("threads-{threads}")), SimulatedCluster::new());
        for number in 0..MAPS {
            cluster.create(config_map(&format!("m{number}"), &json!({}))).unwrap();
        }
        let informers = Informers::new(real(&cluster).recorded_to(&tape.0).unwrap());
        let maps = informers.informer::<ConfigMap>();
        let started = summed(&informers, &maps, threads).start().unwrap();
        let done = || maps.list().iter().filter(|map| map.data["sum"].is_string()).count();
        let handle = started.handle();
        // The cache may have a write whose reconcile has not ended yet.
        wait_until(|| done() == MAPS && handle.report().is_empty());
        handle.stop();
        started.join().unwrap();
        drop((maps, informers));

        let world = tape.world();
        let informers = Informers::new(world.clone());
        let maps = informers.informer::<ConfigMap>();
        let ended = run_all([summed(&informers, &maps, threads)]);
        let found = world.findings("summed").unwrap();
        println!("{threads} threads: {found}");
        assert_eq!(ended, Ok(()), "{found}");
        assert!(threads > 1 || (found.not_compared == 0 && found.same == MAPS as u64), "{found}");
    }
}
