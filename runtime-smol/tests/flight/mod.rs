//! Flight recorders: their dumps, what triggers them, and their replays.

mod replays;
mod triggers;

use core::ops::Range;
use core::time::Duration;
use listwatch::api::Api;
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::file::{History, Playback};
use listwatch::testing::SimulatedCluster;
use listwatch::{Clock, Informers, Resource, World};
use listwatch_tests::maps::{ConfigMap, Secret, config_map, secret};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A folder for dumps, which is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn named(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("listwatch-flight-{name}-{}", std::process::id()));
        let _of_an_earlier_run = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// The names of its files, in their order.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The lines for operators.
type Lines = Arc<Mutex<Vec<String>>>;

/// A function that keeps lines, and the lines.
fn kept() -> (impl Fn(&str) + Send + Sync + 'static, Lines) {
    let lines = Lines::default();
    let told = Arc::clone(&lines);
    (move |line: &str| told.lock().unwrap().push(line.to_owned()), lines)
}

/// Counts in each map how often it was seen, with the date and the number of the Secrets. Makes an event of each count.
fn counting(world: impl Into<World>) -> Result<(), RunError> {
    let informers = Informers::new(world);
    let controller = Controller::new("counting", &informers);
    let (maps, secrets) = (controller.informer::<ConfigMap>(), controller.informer::<Secret>());
    controller.reads(&secrets).reconciles(&maps).workers(3).on_report(|_, _| {}).run(async move |cx, key| {
        let Some(map) = maps.get(&key).filter(|map| !map.meta().name().starts_with("event-")) else {
            return Ok(Outcome::Done);
        };
        if map.data["seen"] == map.data["wanted"] {
            return Ok(Outcome::Done);
        }
        cx.clock().sleep(Duration::from_micros(1700)).await;
        let api = Api::<serde_json::Value>::new(&Resource::of::<ConfigMap>().in_namespace("web"));
        let at = format!("{:?}", cx.clock().wall());
        let event = json!({ "metadata": { "generateName": "event-" }, "data": { "at": at, "of": key.as_str() } });
        cx.write(&maps, api.create(&event)).await?;
        let (wanted, many) = (map.data["wanted"].clone(), secrets.list().len());
        cx.change(&map, |map| {
            map.data["seen"] = wanted.clone();
            map.data["secrets"] = many.into();
        })
        .await?;
        Ok(cx.requeue_about(Duration::from_secs(5)))
    })
}

/// A cluster of some maps and Secrets.
fn cluster() -> SimulatedCluster {
    let cluster = SimulatedCluster::new();
    ["a", "b", "c"].iter().for_each(|name| _ = cluster.create(config_map(name, &json!({}))).unwrap());
    cluster.create(secret("s")).unwrap();
    cluster
}

/// Changes the cluster once in so many seconds, by each of these numbers.
async fn change(cluster: &SimulatedCluster, clock: &Clock, every: u64, numbers: Range<u64>) {
    for number in numbers {
        clock.sleep(Duration::from_secs(every)).await;
        let name = ["a", "b", "c"][number as usize % 3];
        let wanted = json!({ "data": { "wanted": number.to_string() } });
        cluster.patch("v1/configmaps", &format!("web/{name}"), wanted).unwrap();
        match number % 7 {
            3 => _ = cluster.create(secret(&format!("s{number}"))).unwrap(),
            6 => _ = cluster.delete("v1/secrets", &format!("web/s{}", number - 3)),
            _ => {}
        }
    }
}

/// Replays a dump. Returns how many reconciles it has.
fn replayed(dump: &Path) -> u64 {
    let playback = Playback::from_file(dump).unwrap();
    if !playback.has_reconciles() {
        return 0;
    }
    let world = World::from(playback).on_report_line(|_| {});
    let ended = counting(world.clone());
    let found = world.findings("counting").unwrap();
    assert_eq!(ended, Ok(()), "{found}");
    assert!(found.is_same() && found.breaks_off.is_none() && found.not_compared == 0, "{found}");
    found.reconciles
}

/// Reads a dump as `show` and `report` do. Returns how many steps its history has.
fn read(dump: &Path) -> usize {
    let mut history = History::from_file(dump).unwrap();
    let steps = history.by_ref().count();
    assert_eq!(history.error().map(ToString::to_string), None);
    steps
}
