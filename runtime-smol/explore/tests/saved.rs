//! A cache that is saved to a file, which outlives the processes of a run.

use crate::faults::{MAPS, SECRETS, fixture};
use listwatch::controller::{Controller, Outcome, RunError};
use listwatch::saved::SaveTo;
use listwatch::{Resource, World};
use listwatch_explore::{Exploration, Outside};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What each start has found: the newest value in the file, and that in the cluster.
type Found = Arc<Mutex<BTreeSet<(String, String)>>>;

/// A run with a folder of its own.
struct Disk {
    folder: PathBuf,
    now: Mutex<String>,
    found: Found,
}

impl Disk {
    fn new(found: &Found) -> Self {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let (process, run) = (std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(format!("listwatch-explored-{process}-{run}"));
        fs::create_dir(&folder).unwrap();
        Self { folder, now: Mutex::new("1".into()), found: Arc::clone(found) }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("maps.json")
    }

    fn note_start(&self) {
        let text = fs::read_to_string(self.file()).unwrap_or_default();
        let saved = ["3", "2", "1"].into_iter().find(|x| text.contains(&format!("value-{x}"))).unwrap_or_default();
        self.found.lock().unwrap().insert((saved.to_owned(), self.now.lock().unwrap().clone()));
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.folder);
    }
}

/// Keeps a Secret for each ConfigMap, of which it saves its cache each second.
fn keep(world: World, disk: &Outside<Disk>) -> Result<(), RunError> {
    disk.note_start();
    let controller = Controller::new("keep", world);
    let save = SaveTo::new(disk.file()).of_server("https://simulated", "", None).every(Duration::from_secs(1));
    let maps = controller.informer_saved_to::<Value>(Resource::named(MAPS).unwrap(), save).with_kind("ConfigMap");
    let secrets = controller.informer_of::<Value>(SECRETS).with_kind("Secret");
    controller.reconciles(&maps).owns(&secrets).run(async |cx, key| {
        let Some(map) = maps.get(&key) else { return Ok(Outcome::Done) };
        cx.ensure(&secrets, &key, &json!({ "stringData": map["data"] })).owned_by(&map).await?;
        Ok(Outcome::Done)
    })
}

#[test]
fn processes_that_die_before_and_behind_a_save_find_no_file_an_older_one_and_a_newer_one() {
    let found = Found::default();
    let disk = Arc::clone(&found);
    let exploration = Exploration::beside(move || Disk::new(&disk), keep).cluster(fixture).scenario(async |it| {
        for x in ["2", "3"] {
            it.settled().await;
            *it.outside().now.lock().unwrap() = x.to_owned();
            it.patch(MAPS, "default/a", json!({ "data": { "x": format!("value-{x}") } }))?;
        }
        it.settled().await;
        Ok(())
    });
    // A second replica has a disk of its own.
    exploration.without("paused").without("paused-long").run(200).unwrap();
    let found = found.lock().unwrap();
    for (saved, now) in [("", "1"), ("", "2"), ("2", "3")] {
        assert!(found.contains(&(saved.to_owned(), now.to_owned())), "({saved}, {now}) is not among {found:?}");
    }
}
