//! Replicas that divide objects among them, on a simulated cluster.

use core::time::Duration;
use listwatch::api::{Api, ApiCall};
use listwatch::controller::{Controller, ControllerHandle, Outcome, RunError};
use listwatch::shards::Sharding;
use listwatch::testing::{Passage, Sent, SimulatedCluster};
use listwatch::{Clock, Executor, InformerHandle, Informers, Key, Resource, World, run};
use serde_json::{Value, json};
use smol::future::or;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const PAGES: &str = "example.com/v1/pages";
const MAPS: &str = "v1/configmaps";
const LEASES: &str = "coordination.k8s.io/v1/leases";
/// More than a log keeps for its subscribers.
const GHOSTS: usize = 800;

/// What the replicas do.
#[derive(Default)]
struct Log {
    /// Which replica reconciles a key now.
    running: HashMap<Key, usize>,
    /// The keys that two replicas reconciled at once.
    doubled: Vec<String>,
    /// The reconciles of each replica.
    reconciles: BTreeMap<usize, usize>,
    /// The keys whose object was not in the cache.
    absent: Vec<String>,
}

/// A reconcile, until it is dropped.
struct At(Arc<Mutex<Log>>, Key);

impl At {
    fn begin(log: &Arc<Mutex<Log>>, replica: usize, key: &Key) -> Self {
        let mut it = log.lock().unwrap();
        *it.reconciles.entry(replica).or_default() += 1;
        if let Some(other) = it.running.insert(key.clone(), replica) {
            it.doubled.push(format!("{key} by {other} and {replica}"));
        }
        Self(Arc::clone(log), key.clone())
    }
}

impl Drop for At {
    fn drop(&mut self) {
        self.0.lock().unwrap().running.remove(&self.1);
    }
}

/// A uid as servers draw it. Those of the simulated cluster count, so their hashes have few first digits.
fn uid(n: usize) -> String {
    let mixed = (n as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let [one, two] = [mixed >> 32, mixed & 0xFFFF_FFFF];
    format!("{one:08x}-{:04x}-4{:03x}-8{:03x}-{two:012x}", two >> 16, one & 0xFFF, two & 0xFFF)
}

type Replica = (smol::Task<Result<(), RunError>>, ControllerHandle);

struct Stage {
    cluster: SimulatedCluster,
    world: World,
    log: Arc<Mutex<Log>>,
    lines: Arc<Mutex<Vec<String>>>,
    replicas: BTreeMap<usize, Replica>,
    pages: BTreeMap<usize, InformerHandle<Value>>,
    started: usize,
    sharding: fn(&str) -> Sharding,
}

impl Stage {
    fn new(objects: usize, sharding: fn(&str) -> Sharding) -> Self {
        Self::of(SimulatedCluster::new(), objects, sharding)
    }

    fn of(cluster: SimulatedCluster, objects: usize, sharding: fn(&str) -> Sharding) -> Self {
        let cluster = cluster.with_kind("example.com/v1", "Page", "pages", true);
        for n in 0..objects {
            let metadata =
                json!({ "namespace": format!("team-{}", n % 40), "name": format!("page-{n}"), "uid": uid(n) });
            let page =
                json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": metadata, "spec": { "n": 0 } });
            cluster.create(page).unwrap();
        }
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let told = Arc::clone(&lines);
        let world = World::from(cluster.clone()).on_report_line(move |line| told.lock().unwrap().push(line.to_owned()));
        let (log, replicas, pages) = (Arc::default(), BTreeMap::new(), BTreeMap::new());
        Self { cluster, world, log, lines, replicas, pages, started: 0, sharding }
    }

    fn clock(&self) -> &Clock {
        self.world.clock()
    }

    async fn pass(&self, seconds: u64) {
        self.clock().sleep(Duration::from_secs(seconds)).await;
    }

    fn start(&mut self, executor: &Executor<'static>) {
        self.started += 1;
        let (number, log, clock, handle) =
            (self.started, Arc::clone(&self.log), self.clock().clone(), ControllerHandle::default());
        let controller = Controller::new("pages", self.world.clone());
        let pages = controller.informer_of::<Value>(PAGES).with_kind("Page");
        let maps = controller.informer_of::<Value>(MAPS).with_kind("ConfigMap");
        self.pages.insert(number, pages.clone());
        let sharding = (self.sharding)("pages").namespace("web");
        let controller = controller.reconciles(&pages).owns(&maps).shards(sharding).workers(16).keys(&handle);
        let running = controller.calls(async move |cx, key| {
            let _at = At::begin(&log, number, &key);
            let absent = || log.lock().unwrap().absent.push(key.to_string());
            let Some(page) = pages.get(&key) else {
                absent();
                return Ok(Outcome::Done);
            };
            clock.sleep(Duration::from_millis(20 + (key.as_str().len() as u64 * 37) % 200)).await;
            if pages.get(&key).is_none() {
                absent();
            }
            let map = json!({ "data": { "n": page["spec"]["n"].to_string() } });
            cx.ensure(&maps, &key, &map).owned_by(&page).await?;
            Ok(Outcome::Done)
        });
        self.replicas.insert(number, (executor.spawn(running.future()), handle));
    }

    /// Nothing of it is left but its lease.
    fn kill(&mut self, number: usize) {
        drop(self.replicas.remove(&number).unwrap());
        self.pages.remove(&number);
    }

    async fn stop(&mut self, number: usize) {
        let (end, handle) = self.replicas.remove(&number).unwrap();
        handle.stop();
        end.await.unwrap();
        self.pages.remove(&number);
    }

    fn change_all(&self, n: u64) {
        for page in self.cluster.list(PAGES).unwrap() {
            let key = format!(
                "{}/{}",
                page["metadata"]["namespace"].as_str().unwrap(),
                page["metadata"]["name"].as_str().unwrap()
            );
            self.cluster.patch(PAGES, &key, json!({ "spec": { "n": n } })).unwrap();
        }
    }

    fn touch_maps(&self, n: u64) {
        for map in self.cluster.list(MAPS).unwrap() {
            let [namespace, name] = ["namespace", "name"].map(|field| map["metadata"][field].as_str().unwrap());
            let labels = json!({ "metadata": { "labels": { "n": n.to_string() } } });
            self.cluster.patch(MAPS, &format!("{namespace}/{name}"), labels).unwrap();
        }
    }

    fn come_and_go(&self, path: &str, object: Value) {
        let [namespace, name] = ["namespace", "name"].map(|field| object["metadata"][field].as_str().unwrap());
        let key = format!("{namespace}/{name}");
        self.cluster.create(object).unwrap();
        self.cluster.delete(path, &key).unwrap();
    }

    /// Whether each page has its map.
    fn is_right(&self) -> bool {
        let key = |it: &Value| (it["metadata"]["namespace"].to_string(), it["metadata"]["name"].to_string());
        let maps: HashMap<_, _> =
            self.cluster.list(MAPS).unwrap().into_iter().map(|it| (key(&it), it["data"]["n"].clone())).collect();
        self.cluster
            .list(PAGES)
            .unwrap()
            .iter()
            .all(|page| maps.get(&key(page)) == Some(&json!(page["spec"]["n"].to_string())))
    }

    async fn settled(&self) {
        for _ in 0..200 {
            self.pass(1).await;
            if self.is_right() {
                return self.pass(3).await;
            }
        }
        panic!("pages without their map: {:#?}", self.lines.lock().unwrap());
    }

    /// The reconciles of each replica since the last call.
    fn reconciles(&self) -> BTreeMap<usize, usize> {
        core::mem::take(&mut self.log.lock().unwrap().reconciles)
    }

    /// After a change of all objects, each of these replicas has about its part of the reconciles.
    async fn shares(&self, n: u64, objects: usize) {
        self.reconciles();
        self.change_all(n);
        self.settled().await;
        let (reconciles, part) = (self.reconciles(), objects / self.replicas.len());
        println!("{} replicas: {reconciles:?} reconciles of {objects} changes", self.replicas.len());
        assert!(reconciles.keys().eq(self.replicas.keys()), "{reconciles:?}");
        // Each change leads to a reconcile, and so does the change of its map.
        assert!(reconciles.values().all(|it| (part * 7 / 10..part * 28 / 10).contains(it)), "{reconciles:?}");
        self.is_sound();
    }

    /// No object was reconciled by two replicas at once, or without the cache having it. None is deleted.
    fn is_sound(&self) {
        let log = self.log.lock().unwrap();
        assert_eq!((&log.doubled, &log.absent), (&vec![], &vec![]));
    }

    /// The caches have each object once, each of them about its part.
    fn caches_have(&self, objects: usize) {
        let counts: Vec<_> = self.pages.values().map(|pages| pages.keys().len()).collect();
        println!("{} replicas: {counts:?} of {objects} objects in their caches", counts.len());
        let part = objects / counts.len();
        assert_eq!(counts.iter().sum::<usize>(), objects, "{counts:?}");
        assert!(counts.iter().all(|count| (part * 6 / 10..part * 15 / 10).contains(count)), "{counts:?}");
    }

    /// The bytes that each replica has received of pages.
    fn received(&self) -> Vec<u64> {
        self.pages.values().map(|pages| pages.streams()[0].received_bytes).collect()
    }
}

/// Runs three replicas until each has its part, and then what `act` does.
fn with_three<R>(mut it: Stage, act: impl AsyncFnOnce(&mut Stage, &Executor<'static>) -> R) -> R {
    let (clock, executor) = (it.clock().clone(), Executor::new());
    run(&clock, &executor, async {
        (0..3).for_each(|_| it.start(&executor));
        it.settled().await;
        it.pass(30).await;
        let result = act(&mut it, &executor).await;
        it.replicas.clear();
        result
    })
}

#[test]
fn replicas_from_three_to_five_to_two_reconcile_each_object_once_at_a_time_and_all_are_right() {
    with_three(Stage::new(2_000, Sharding::by_uid), async |it, executor| {
        it.shares(1, 2_000).await;
        // Work goes on while they join, and while they are killed.
        it.change_all(2);
        (0..2).for_each(|_| it.start(executor));
        it.settled().await;
        it.pass(30).await;
        it.shares(3, 2_000).await;
        it.change_all(4);
        it.pass(1).await;
        it.kill(2);
        it.kill(4);
        it.pass(3).await;
        it.change_all(5);
        it.stop(1).await;
        it.settled().await;
        it.pass(30).await;
        it.shares(6, 2_000).await;
        let leases = it.cluster.list(LEASES).unwrap();
        it.pass(60).await;
        assert!(leases.len() <= 6, "{leases:#?}");
        assert_eq!(it.cluster.list(LEASES).unwrap().len(), 3, "the map, and two members");
    });
}

#[test]
fn by_namespace_the_objects_of_a_namespace_are_with_one_replica() {
    with_three(Stage::new(400, Sharding::by_namespace), async |it, _| {
        it.change_all(1);
        it.settled().await;
        it.is_sound();
    });
}

/// Replicas come and go while all objects change.
fn caches_have_their_parts(cluster: SimulatedCluster, sharding: fn(&str) -> Sharding) {
    with_three(Stage::of(cluster, 300, sharding), async |it, executor| {
        it.caches_have(300);
        it.change_all(1);
        (0..2).for_each(|_| it.start(executor));
        it.settled().await;
        it.pass(30).await;
        it.caches_have(300);
        it.change_all(2);
        it.pass(1).await;
        it.kill(2);
        it.kill(4);
        it.change_all(3);
        it.stop(1).await;
        it.settled().await;
        it.pass(30).await;
        it.caches_have(300);
        it.is_sound();
    });
}

#[test]
fn each_cache_has_the_objects_of_its_replica_while_replicas_come_and_go() {
    caches_have_their_parts(SimulatedCluster::new(), Sharding::by_uid);
}

/// The lists of pages come late, and their maps change all the time while shards move.
fn whatever_is_absent_was_deleted(sharding: fn(&str) -> Sharding) {
    let late = |sent: &Sent<'_>| match sent.resource == PAGES && !sent.is_write() {
        true => Passage::Late(Duration::from_millis(700)),
        false => Passage::Open,
    };
    with_three(Stage::of(SimulatedCluster::new().on_request(late), 30, sharding), async |it, executor| {
        for round in 0..120 {
            match round {
                0 => (0..2).for_each(|_| it.start(executor)),
                60 => it.kill(2),
                _ => {}
            }
            it.touch_maps(round);
            it.clock().sleep(Duration::from_millis(400)).await;
        }
        it.settled().await;
        it.is_sound();
        assert!(it.reconciles().len() > 3, "maps wake the replicas of their pages");
    });
}

#[test]
fn a_reconcile_finds_its_object_in_the_cache_while_shards_move() {
    whatever_is_absent_was_deleted(Sharding::by_uid);
    whatever_is_absent_was_deleted(Sharding::by_namespace);
}

#[test]
fn a_server_that_ignores_the_selector_of_shards_does_no_harm() {
    caches_have_their_parts(SimulatedCluster::new(), |group| Sharding::by_uid(group).shard_selector());
}

#[test]
fn a_server_that_selects_shards_sends_each_replica_its_part() {
    let cluster = SimulatedCluster::new().with_shard_selectors();
    caches_have_their_parts(cluster, |group| Sharding::by_uid(group).shard_selector());
    let shardings: [fn(&str) -> Sharding; 2] = [Sharding::by_uid, |group| Sharding::by_uid(group).shard_selector()];
    let [all, parts] = shardings.map(|sharding| {
        with_three(Stage::of(SimulatedCluster::new().with_shard_selectors(), 300, sharding), async |it, _| {
            let before = it.received();
            it.change_all(1);
            it.settled().await;
            it.received().iter().zip(before).map(|(now, before)| now - before).collect::<Vec<_>>()
        })
    });
    println!("bytes of 300 changes: {all:?}; of parts: {parts:?}");
    let most = all.iter().min().unwrap() / 2;
    assert!(parts.iter().all(|part| *part < most), "{parts:?} of {all:?}");
}

#[test]
fn an_object_that_is_deleted_is_reconciled_by_one_replica_and_leaves_its_cache() {
    with_three(Stage::new(90, Sharding::by_uid), async |it, _| {
        it.cluster.delete(PAGES, "team-7/page-7").unwrap();
        it.pass(5).await;
        it.caches_have(89);
        let absent = it.log.lock().unwrap().absent.clone();
        assert!(!absent.is_empty() && absent.iter().all(|key| key == "team-7/page-7"), "{absent:?}");
    });
}

/// Of objects that come and go while no controller is polled, no cache has the uid. Page and owner of a number have the same.
#[test]
fn pages_and_owners_of_maps_that_come_and_go_unread_are_reconciled_by_the_replica_of_their_uid() {
    let it = Stage::new(30, Sharding::by_uid);
    let (clock, executor) = (it.clock().clone(), Executor::new());
    let reconciled = Arc::<Mutex<BTreeMap<String, BTreeSet<usize>>>>::default();
    let (mut others, mut replicas) = (Vec::new(), Vec::new());
    for replica in 0..2 {
        let informers = Informers::new(it.world.clone());
        let pages = informers.informer_of::<Value>(Resource::named(PAGES).unwrap()).with_kind("Page");
        let maps = informers.informer_of::<Value>(Resource::named(MAPS).unwrap()).with_kind("ConfigMap");
        let other = Controller::new("other", &informers).reconciles(&pages).owns(&maps);
        others.push(executor.spawn(other.calls(async |_cx, _key| Ok(Outcome::Done)).future()));
        let sharding = Sharding::by_uid("pages").namespace("web").whole_cache();
        let controller = Controller::new("pages", &informers).reconciles(&pages).owns(&maps).shards(sharding);
        let log = Arc::clone(&reconciled);
        let controller = controller.calls(async move |_cx, key| {
            log.lock().unwrap().entry(key.name().to_owned()).or_default().insert(replica);
            Ok(Outcome::Done)
        });
        replicas.push(Box::pin(controller.future()));
    }
    run(&clock, &executor, async {
        let mut poll = async |seconds| {
            let [one, two] = &mut replicas[..] else { unreachable!() };
            let ended = async { panic!("one has ended: {:?}", or(one, two).await) };
            or(it.pass(seconds), ended).await;
        };
        poll(60).await;
        reconciled.lock().unwrap().clear();
        for n in 0..GHOSTS {
            let mut metadata = json!({ "namespace": "team-1", "name": format!("page-{n:04}"), "uid": uid(1_000 + n) });
            let page = json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": metadata });
            it.come_and_go(PAGES, page);
            let owner = json!({ "apiVersion": "example.com/v1", "kind": "Page", "name": format!("owner-{n:04}"),
                "uid": metadata["uid"], "controller": true });
            metadata["ownerReferences"] = json!([owner]);
            metadata["uid"] = json!(uid(9_000 + n));
            it.come_and_go(MAPS, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
        }
        it.pass(1).await;
        poll(5).await;
    });
    let reconciled = reconciled.lock().unwrap();
    let by = |name: String| reconciled.get(&name).cloned().unwrap_or_default();
    let pages: Vec<_> = (0..GHOSTS).map(|n| by(format!("page-{n:04}"))).collect();
    let owners: Vec<_> = (0..GHOSTS).map(|n| by(format!("owner-{n:04}"))).collect();
    assert_eq!(pages.iter().filter(|replicas| replicas.len() != 1).count(), 0, "pages without their replica");
    assert!(pages == owners, "the owner of a map is with another replica than the page of its uid");
    assert!((0..2).all(|replica| pages.iter().any(|replicas| replicas.contains(&replica))));
}

#[test]
fn an_audit_finds_no_drift_in_the_cache_of_a_part() {
    with_three(Stage::new(90, Sharding::by_uid), async |it, _| {
        for pages in it.pages.values() {
            let audits = pages.audit().await;
            let report = audits[0].result.as_ref().unwrap();
            assert!(audits[0].is_clean(), "{}", audits[0]);
            assert_eq!(report.objects, pages.keys().len());
        }
    });
}

#[test]
fn a_whole_cache_has_all_objects() {
    with_three(Stage::new(90, |group| Sharding::by_uid(group).whole_cache()), async |it, _| {
        assert!(it.pages.values().all(|pages| pages.keys().len() == 90));
        it.is_sound();
    });
}

#[test]
fn two_controllers_do_not_divide_the_objects_of_one_informer() {
    let it = Stage::new(0, Sharding::by_uid);
    let informers = Informers::new(it.world);
    let pages = informers.informer_of::<Value>(Resource::named(PAGES).unwrap()).with_kind("Page");
    let [_first, second] = ["one", "two"].map(|name| {
        let sharding = Sharding::by_uid(name).namespace("web");
        let controller = Controller::new(name, &informers).reconciles(&pages).shards(sharding);
        controller.calls(async |_cx, _key| Ok(Outcome::Done))
    });
    let Err(RunError::Config(why)) = second.run() else { panic!("they would take objects from each other") };
    assert!(why.contains("another controller with shards has its informer"), "{why}");
}

#[test]
fn a_child_that_is_deleted_wakes_the_replica_of_its_owner() {
    with_three(Stage::new(40, Sharding::by_uid), async |it, _| {
        it.reconciles();
        it.cluster.delete(MAPS, "team-7/page-7").unwrap();
        it.settled().await;
        let reconciles = it.reconciles();
        assert_eq!(reconciles.len(), 1, "{reconciles:?}");
    });
}

#[test]
fn a_controller_has_no_election_beside_shards() {
    let it = Stage::new(0, Sharding::by_uid);
    let controller = Controller::new("pages", it.world);
    let pages = controller.informer_of::<Value>(PAGES).with_kind("Page");
    let election = listwatch::election::Election::new("pages").namespace("web");
    let controller = controller.reconciles(&pages).lead_by(election).shards(Sharding::by_uid("pages").namespace("web"));
    let ended = controller.run(async |_cx, _key| Ok(Outcome::Done));
    assert_eq!(ended, Err(RunError::Config("a controller has shards or an election, not both".to_owned())));
}

/// Deletes a page whose reconcile then makes its map. The watch of maps is silent while the flag says so. Returns how many late
/// writes each reconcile without a page was told of.
fn after_a_deletion(then: impl AsyncFnOnce(&Stage, &AtomicBool)) -> Vec<String> {
    let is_silent = Arc::new(AtomicBool::new(false));
    let silent = Arc::clone(&is_silent);
    let cluster = SimulatedCluster::new().on_request(move |sent| {
        let is_watch = sent.resource == MAPS && sent.method == "WATCH";
        if is_watch && silent.load(Ordering::Relaxed) { Passage::Never } else { Passage::Open }
    });
    let (it, told, executor) =
        (Stage::of(cluster, 1, Sharding::by_uid), Arc::new(Mutex::new(Vec::new())), Executor::new());
    let controller = Controller::new("pages", it.world.clone());
    let pages = controller.informer_of::<Value>(PAGES).with_kind("Page");
    let maps = controller.informer_of::<Value>(MAPS).with_kind("ConfigMap");
    let sharding = Sharding::by_uid("pages").namespace("web");
    let controller = controller.reconciles(&pages).owns(&maps).shards(sharding).await_writes(Duration::from_secs(100));
    let noted = Arc::clone(&told);
    let running = controller.calls(async move |cx, key| {
        if pages.get(&key).is_none() {
            let late = cx.timed_out_writes().len().to_string();
            let is_first = {
                noted.lock().unwrap().push(late);
                noted.lock().unwrap().len() == 1
            };
            if is_first {
                cx.write(&maps, map_of(&key)).await?;
            }
        }
        Ok(Outcome::Done)
    });
    run(it.clock(), &executor, async {
        let _running = executor.spawn(running.future());
        it.pass(30).await;
        is_silent.store(true, Ordering::Relaxed);
        it.cluster.disconnect();
        it.pass(5).await;
        it.cluster.delete(PAGES, "team-0/page-0").unwrap();
        it.pass(5).await;
        then(&it, &is_silent).await;
    });
    core::mem::take(&mut *told.lock().unwrap())
}

fn map_of(key: &Key) -> ApiCall<Value> {
    Api::new(&Resource::new("/api/v1/configmaps").in_namespace(key.namespace().unwrap()))
        .create(&json!({ "metadata": { "name": key.name() } }))
}

#[test]
fn a_reconcile_of_a_deleted_object_is_told_of_its_late_writes() {
    let told = after_a_deletion(async |it, _| it.pass(250).await);
    assert_eq!(told[..3], ["0", "1", "1"], "{told:?}");
}

#[test]
fn a_reconcile_of_a_deleted_object_is_told_of_the_deletion_of_its_write() {
    let told = after_a_deletion(async |it, is_silent| {
        it.cluster.delete(MAPS, "team-0/page-0").unwrap();
        it.cluster.compact();
        is_silent.store(false, Ordering::Relaxed);
        // The silent watch is given up after a minute.
        it.pass(80).await;
    });
    assert_eq!(told, ["0", "0"]);
}

#[test]
fn a_controller_works_on_the_informer_of_one_that_has_ended_once_it_has_its_objects() {
    let late = |sent: &Sent<'_>| match (sent.is_write(), &*sent.resource) {
        (false, PAGES) => Passage::Late(Duration::from_secs(2)),
        (true, LEASES) if sent.key.starts_with("web/two") => Passage::Late(Duration::from_secs(3)),
        _ => Passage::Open,
    };
    let it = Stage::of(SimulatedCluster::new().on_request(late), 30, Sharding::by_uid);
    for page in it.cluster.list(PAGES).unwrap() {
        let (page, kinds) = (&page["metadata"], json!({ "apiVersion": "example.com/v1", "kind": "Page" }));
        let mut owner = json!({ "name": page["name"], "uid": page["uid"], "controller": true });
        owner.as_object_mut().unwrap().extend(kinds.as_object().unwrap().clone());
        let metadata = json!({ "namespace": page["namespace"], "name": page["name"], "ownerReferences": [owner] });
        it.cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
    }
    let (informers, executor) = (Informers::new(it.world.clone()), Executor::new());
    let pages = informers.informer_of::<Value>(Resource::named(PAGES).unwrap()).with_kind("Page");
    let maps = informers.informer_of::<Value>(Resource::named(MAPS).unwrap()).with_kind("ConfigMap");
    let start = |name: &'static str, number| {
        let sharding = Sharding::by_uid(name).namespace("web");
        let controller = Controller::new(name, &informers).reconciles(&pages).owns(&maps).shards(sharding);
        let (pages, log) = (pages.clone(), Arc::clone(&it.log));
        let running = controller.calls(async move |_cx, key| {
            let _at = At::begin(&log, number, &key);
            if pages.get(&key).is_none() {
                log.lock().unwrap().absent.push(key.to_string());
            }
            Ok(Outcome::Done)
        });
        executor.spawn(running.future())
    };
    run(it.clock(), &executor, async {
        let one = start("one", 1);
        // Its list is under way.
        it.pass(4).await;
        drop(one);
        it.clock().sleep(Duration::from_millis(1)).await;
        let two = start("two", 2);
        for round in 0..40 {
            it.touch_maps(round);
            it.clock().sleep(Duration::from_millis(500)).await;
        }
        assert!(!two.is_finished(), "{:?}", two.await);
        it.is_sound();
        assert!(it.reconciles().get(&2) > Some(&30));
    });
}
