//! What client-go said, and what a capture says by itself.

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A notification, by the fields of client-go's handlers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Notification {
    pub(crate) event: String,
    #[serde(skip_serializing)]
    pub(crate) key: String,
    pub(crate) rv: String,
    pub(crate) old_rv: Option<String>,
    pub(crate) initial: Option<bool>,
    pub(crate) final_state_unknown: Option<bool>,
}

/// Notifications by key: the order between keys of one list is client-go's own, the order within a key is law.
pub(crate) type ByKey = BTreeMap<String, Vec<Notification>>;

/// A capture and what client-go made of it.
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) notifications: ByKey,
    pub(crate) store: Vec<String>,
}

/// The captures of the folder.
///
/// # Panics
/// Where there is none: an empty folder proves nothing.
pub(crate) fn captures() -> Vec<Capture> {
    let bundled = || Path::new(env!("CARGO_MANIFEST_DIR")).join("data/captures");
    let folder = std::env::var_os("LISTWATCH_CAPTURES").map_or_else(bundled, PathBuf::from);
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let captures: Vec<Capture> = paths.into_iter().filter_map(capture).collect();
    assert!(!captures.is_empty(), "no capture with a .client-go.jsonl beside it in {}", folder.display());
    captures
}

/// The objects of the last list in a capture, which nobody asks for when it is played: how things really were.
pub(crate) fn truth(path: &Path) -> Vec<Value> {
    let (mut ids, mut bodies) = (Vec::new(), BTreeMap::<u64, String>::new());
    for line in BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let Some(id) = record["id"].as_u64() else { continue };
        if let Some(target) = record["request"]["path"].as_str()
            && !target.contains("watch=")
        {
            ids.push(id);
        }
        if let Some(data) = record["data"].as_str() {
            bodies.entry(id).or_default().push_str(data);
        }
    }
    let mut list: Value = serde_json::from_str(&bodies[ids.last().unwrap()]).unwrap();
    assert_eq!(list["metadata"]["continue"], Value::Null, "the last list is whole");
    let kind = list["kind"].as_str().unwrap().strip_suffix("List").unwrap().to_owned();
    let api_version = list["apiVersion"].take();
    let mut items = list["items"].take();
    for item in items.as_array_mut().unwrap() {
        item["kind"] = kind.clone().into();
        item["apiVersion"] = api_version.clone();
        item["metadata"].as_object_mut().unwrap().remove("managedFields");
    }
    items.as_array_mut().map(std::mem::take).unwrap()
}

fn capture(path: PathBuf) -> Option<Capture> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl.gz")?.to_owned();
    let answers = path.with_file_name(format!("{name}.client-go.jsonl"));
    let answers = File::open(answers).ok()?;
    let (mut notifications, mut store) = (ByKey::new(), Vec::new());
    for line in BufReader::new(answers).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        match record["store"].as_array() {
            Some(entries) => store = entries.iter().map(|entry| entry.as_str().unwrap().to_owned()).collect(),
            None => {
                let notification: Notification = serde_json::from_value(record).unwrap();
                notifications.entry(notification.key.clone()).or_default().push(notification);
            }
        }
    }
    assert!(!store.is_empty(), "{name}: client-go's answers have no store");
    Some(Capture { name, path, notifications, store })
}
