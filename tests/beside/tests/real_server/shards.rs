//! Replicas that divide objects among them, as processes beside a real server, with kills.
#![cfg(unix)]

use crate::real_server::plane::{Plane, own_plane};
use crate::real_server::sample_controller::stage::wait_for;
use listwatch::controller::{Controller, Outcome};
use listwatch::shards::{ShardBy, ShardSpace, Sharding};
use listwatch_core::Resource;
use listwatch_core::api::{ApiClient, ApiRequest, Method};
use listwatch_core::object::Uid;
use listwatch_simulated_cluster::SimulatedCluster;
use listwatch_transport_http::Cluster;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The namespace and the identity of a child that is a replica.
const REPLICA: &str = "LISTWATCH_REPLICA";

/// How many objects are divided: `SHARDED_OBJECTS=2000` in a longer run.
static OBJECTS: LazyLock<usize> =
    LazyLock::new(|| std::env::var("SHARDED_OBJECTS").ok().and_then(|number| number.parse().ok()).unwrap_or(200));

#[expect(clippy::disallowed_methods, reason = "processes have one clock")]
fn micros() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()
}

/// In a child, this is a controller that keeps a Secret for each ConfigMap, and prints when a reconcile begins and ends.
#[test]
fn the_process_of_a_replica() {
    let Ok(replica) = std::env::var(REPLICA) else { return };
    let (namespace, identity) = replica.split_once(' ').unwrap();
    let controller = Controller::new("keep", Cluster::infer().unwrap());
    let of = |name: &str| Resource::named(name).unwrap().in_namespace(namespace);
    let maps = controller.informer_of::<Value>(of("v1/configmaps").with_label_selector("shared=yes"));
    let (maps, secrets) = (maps.with_kind("ConfigMap"), controller.informer_of::<Value>(of("v1/secrets")));
    let secrets = secrets.with_kind("Secret");
    let sharding =
        Sharding::by_uid("keep").namespace(namespace).identity(identity).retry_period(Duration::from_millis(500));
    let sharding =
        sharding.lease_duration(Duration::from_secs(4)).renew_deadline(Duration::from_secs(3)).shard_selector();
    let controller = controller.reconciles(&maps).owns(&secrets).shards(sharding).workers(4);
    let ended = controller.run(async |cx, key| {
        println!("@ begin {} {}", key.name(), micros());
        let done = async {
            let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
            cx.clock().sleep(Duration::from_millis(20)).await;
            cx.ensure(&secrets, &key, &json!({ "stringData": { "x": map["data"]["x"] } })).owned_by(&map).await?;
            Ok(Outcome::Done)
        };
        let done = done.await;
        println!("@ end {} {}", key.name(), micros());
        println!("@ cache {} {}", maps.keys().len(), maps.streams()[0].received_bytes);
        done
    });
    std::process::exit(i32::from(ended.is_err()));
}

/// A process that is a replica; killed when it is dropped.
struct Replica {
    child: Child,
    output: PathBuf,
    ended: Option<u128>,
}

struct Stage {
    plane: Plane,
    namespace: String,
    replicas: BTreeMap<String, Replica>,
}

impl Stage {
    fn of(&self, name: &str) -> Resource {
        Resource::named(name).unwrap().in_namespace(&self.namespace)
    }

    fn start(&mut self, identity: &str) {
        let output = std::env::temp_dir().join(format!("listwatch-{}-{identity}", self.namespace));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "real_server::shards::the_process_of_a_replica", "--nocapture", "--quiet"]);
        command.env(REPLICA, format!("{} {identity}", self.namespace)).env("KUBECONFIG", self.plane.kubeconfig());
        let child = command.stdout(Stdio::from(File::create(&output).unwrap())).spawn().unwrap();
        self.replicas.insert(identity.to_owned(), Replica { child, output, ended: None });
    }

    fn kill(&mut self, identity: &str) {
        self.replicas.get_mut(identity).unwrap().kill();
    }

    fn change_all(&self, x: &str) {
        for number in 0..*OBJECTS {
            self.plane.change(&self.of("v1/configmaps"), &format!("map-{number}"), &json!({ "data": { "x": x } }));
        }
    }

    #[track_caller]
    fn until_all_have(&self, x: &str) {
        let is_right = |secret: &Value| secret["data"]["x"] == x;
        let is_all = || {
            let secrets = self.plane.objects(&self.of("v1/secrets")).unwrap_or_default();
            secrets.iter().filter(|secret| is_right(secret)).count() == *OBJECTS
        };
        assert!(wait_for(Duration::from_secs(120), is_all), "objects are left without their Secret of {x}");
    }
}

impl Replica {
    fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
        self.ended.get_or_insert_with(micros);
    }

    fn is_running(&self) -> bool {
        self.ended.is_none()
    }

    /// How many objects its cache had in the end, and the bytes that it had received of them.
    fn cache(&self) -> (usize, u64) {
        let text = std::fs::read_to_string(&self.output).unwrap();
        let line = text.lines().rev().find_map(|line| line.split_once("@ cache ")).unwrap().1;
        let (objects, bytes) = line.split_once(' ').unwrap();
        (objects.parse().unwrap(), bytes.parse().unwrap())
    }

    /// Its reconciles: the object, the begin and the end.
    fn reconciles(&self) -> Vec<(String, u128, u128)> {
        let text = std::fs::read_to_string(&self.output).unwrap();
        let (mut open, mut all) = (BTreeMap::new(), Vec::new());
        for line in text.lines().filter_map(|line| line.split_once("@ ").map(|(_, line)| line)) {
            let [what, key, at] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
            let at: u128 = at.parse().unwrap();
            match what {
                "cache" => {}
                "begin" => _ = open.insert(key.to_owned(), at),
                _ => all.extend(open.remove(key).map(|begin| (key.to_owned(), begin, at))),
            }
        }
        // Dropped, or killed.
        let ended = self.ended.unwrap_or_else(micros);
        all.extend(open.into_iter().map(|(key, begin)| (key, begin, ended)));
        all
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.kill();
        _ = std::fs::remove_file(&self.output);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a real server keeps real time")]
fn replicas_from_three_to_five_to_two_reconcile_each_object_once_at_a_time_while_some_are_killed() {
    let Some(mut plane) = own_plane() else { return };
    let namespace = plane.namespace("shards");
    let mut it = Stage { plane, namespace, replicas: BTreeMap::new() };
    for number in 0..*OBJECTS {
        let metadata = json!({ "name": format!("map-{number}"), "labels": { "shared": "yes" } });
        it.plane.create(&it.of("v1/configmaps"), &json!({ "metadata": metadata, "data": { "x": "1" } }));
    }
    ["a", "b", "c"].into_iter().for_each(|identity| it.start(identity));
    it.until_all_have("MQ==");
    it.change_all("2");
    ["d", "e"].into_iter().for_each(|identity| it.start(identity));
    it.until_all_have("Mg==");
    std::thread::sleep(Duration::from_secs(6));
    it.change_all("3");
    ["a", "d", "e"].into_iter().for_each(|identity| it.kill(identity));
    it.change_all("4");
    it.until_all_have("NA==");
    // The keys of the shards that were gained last.
    std::thread::sleep(Duration::from_secs(6));
    let caches: Vec<_> = it.replicas.values().filter(|it| it.is_running()).map(Replica::cache).collect();
    println!("objects in caches, and bytes: {caches:?}");
    assert_eq!(caches.iter().map(|(objects, _)| objects).sum::<usize>(), *OBJECTS, "{caches:?}");
    let mut all: BTreeMap<String, Vec<(u128, u128, String)>> = BTreeMap::new();
    for (identity, replica) in &it.replicas {
        let reconciles = replica.reconciles();
        println!("{identity}: {} reconciles; runs: {}", reconciles.len(), replica.is_running());
        assert!(reconciles.len() > *OBJECTS / 10, "{identity} has no part");
        for (key, begin, end) in reconciles {
            all.entry(key).or_default().push((begin, end, identity.clone()));
        }
    }
    assert_eq!(all.len(), *OBJECTS);
    for (key, mut reconciles) in all {
        reconciles.sort_unstable();
        for pair in reconciles.windows(2) {
            let [(_, end, one), (begin, _, other)] = pair else { continue };
            assert!(end <= begin, "{key} is reconciled by {one} until {end}, and by {other} from {begin}");
        }
    }
}

/// The answer to a list with a selector: its status, the uids of its objects, and the selector that it repeats.
fn selected(client: &impl ApiClient, maps: &Resource, selector: &str) -> (u16, BTreeSet<String>, Value) {
    let mut request = ApiRequest::new(Method::Get, maps.path());
    request.query.push(("shardSelector", selector.to_owned()));
    let answer = client.send(&request).unwrap();
    let list: Value = serde_json::from_slice(&answer.body).unwrap();
    let uids = list["items"].as_array().into_iter().flatten();
    let uids = uids.map(|it| it["metadata"]["uid"].as_str().unwrap().to_owned()).collect();
    (answer.status, uids, list["metadata"]["shardInfo"]["selector"].clone())
}

#[test]
fn a_server_and_the_simulated_cluster_select_shards_by_our_hash() {
    let Some(mut plane) = own_plane() else { return };
    let namespace = plane.namespace("selected");
    let maps = Resource::named("v1/configmaps").unwrap().in_namespace(&namespace);
    let cluster = SimulatedCluster::new().with_shard_selectors();
    for number in 0..60 {
        let map = plane.create(&maps, &json!({ "metadata": { "name": format!("map-{number}") } }));
        let metadata =
            json!({ "namespace": namespace, "name": map["metadata"]["name"], "uid": map["metadata"]["uid"] });
        cluster.create(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata })).unwrap();
    }
    let all = cluster.list("v1/configmaps").unwrap();
    for by in [ShardBy::Uid, ShardBy::Namespace] {
        let space = ShardSpace::new(by, 4);
        for shards in [&[0_u16][..], &[1, 3], &[0, 1, 2], &[]] {
            let of = |object: &&Value| {
                let uid = Uid::from(object["metadata"]["uid"].as_str().unwrap());
                space.of_object(Some(&namespace), Some(&uid)).is_some_and(|shard| shards.contains(&shard))
            };
            let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
            let ours: BTreeSet<String> = all.iter().filter(of).map(uid).collect();
            let selector = space.selector(shards.iter().copied());
            let theirs = selected(&plane.client, &maps, &selector);
            assert_eq!(theirs, (200, ours, json!(selector)), "shards {shards:?} by {by}");
            assert_eq!(selected(&cluster, &maps, &selector), theirs);
        }
    }
    let range =
        |field: &str, start: &str, end: &str| format!("shardRange(object.metadata.{field}, '{start}', '{end}')");
    let (zero, half) = ("0x0000000000000000", "0x8000000000000000");
    let two = format!("{} || {}", range("uid", zero, half), range("namespace", zero, half));
    let bad = ["x", &range("uid", "0x0", half), &range("name", zero, half), &range("uid", half, half), &two];
    for selector in bad {
        let statuses = (selected(&plane.client, &maps, selector).0, selected(&cluster, &maps, selector).0);
        assert_eq!(statuses, (500, 500), "{selector}");
    }
}
