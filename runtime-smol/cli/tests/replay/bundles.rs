//! Folders and archives of saved objects.

use super::output::subject;
use crate::command::replay;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_tests::scratch::Scratch;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, String)]) -> Self {
        let root = std::env::temp_dir().join(format!("listwatch-bundle-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _may_be_gone = fs::remove_dir_all(&self.0);
    }
}

fn pod(name: &str, version: u32) -> Value {
    json!({ "metadata": { "name": name, "namespace": "d", "uid": name, "resourceVersion": version.to_string() } })
}

fn list(pods: &[Value]) -> String {
    json!({ "kind": "PodList", "apiVersion": "v1", "items": pods }).to_string()
}

/// The keys and versions in the cache, and the first line on standard error.
fn played(file: &Path) -> (Vec<String>, String) {
    let run = replay(file, "--print store --format json");
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let stores = run.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let objects = stores.flat_map(|it| it["store"].as_array().cloned().unwrap_or_default());
    let mut objects: Vec<String> = objects.map(|it| it.to_string()).collect();
    objects.sort_unstable();
    (objects, run.stderr.lines().next().unwrap_or_default().to_owned())
}

fn files() -> Vec<(&'static str, String)> {
    let node = "---\nkind: Node\napiVersion: v1\nmetadata: {name: n, uid: n, resourceVersion: '3'}\n";
    vec![
        ("namespaces/d/core/pods.json", list(&[pod("a", 5), pod("b", 6)])),
        ("cluster-scoped-resources/core/nodes/n.yaml", node.into()),
        ("namespaces/d/pods/a/a.json", list(&[pod("a", 9)])),
        ("namespaces/d/pods/a/logs/current.log", "a line\n".into()),
        ("version.json", r#"{"major":"1"}"#.into()),
        ("namespaces/d/core/broken.json", r#"{"kind":"Pod","apiVersion":"v1","metadata":{"#.into()),
    ]
}

#[test]
fn a_folder_is_one_list_with_the_newest_state_of_each_object_and_tells_what_it_leaves_out() {
    let folder = Folder::new("folder", &files());
    let (objects, told) = played(&folder.0);
    assert_eq!(objects.len(), 3, "{objects:?}");
    assert!(objects.iter().any(|object| object.contains("d/a") && object.contains("9")), "{objects:?}");
    let expected = format!(
        "{}: a folder with 3 objects of 2 kinds in 3 files; 2 files left out, wholly or from a place that cannot be \
         read: namespaces/d/core/broken.json, version.json",
        folder.0.display()
    );
    assert_eq!(told.trim_start_matches("listwatch: "), expected);
}

#[test]
fn an_archive_is_read_as_the_folder_in_it() {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in files() {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mtime(1_790_000_000);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    let bytes = archive.into_inner().unwrap().finish().unwrap();
    let (file, cut) = (Scratch::new(&bytes), Scratch::new(&bytes[..bytes.len() / 2]));
    let (objects, told) = played(file.as_ref());
    assert_eq!(objects.len(), 3, "{objects:?}");
    assert!(told.contains("an archive with 3 objects"), "{told}");
    let summary = replay(&file, "").stdout;
    assert!(subject(&summary, "time")[0].starts_with("2026-09-21T14:13:20Z"), "{summary}");
    let run = replay(&cut, "");
    assert_eq!((run.status, run.stderr.lines().count()), (Some(1), 1), "{}", run.stderr);
}

#[test]
fn a_dump_of_a_cluster_has_the_objects_of_all_namespaces() {
    let nodes = r#"{"kind": "NodeList", "apiVersion": "v1", "items": []}"#;
    let log =
        "==== START logs for container c of pod d/a ====\n{ \u{1b}[2J\n==== END logs for container c of pod d/a ====\n";
    let dump = Scratch::new(format!("{nodes}\n{}\n{}\n{log}", list(&[pod("a", 5)]), list(&[pod("b", 6)])));
    let (objects, told) = played(dump.as_ref());
    assert_eq!(objects.len(), 2, "{objects:?}");
    assert!(told.contains("a dump of a cluster with 2 objects of 1 kind"), "{told}");
}

#[test]
fn a_folder_without_objects_is_one_clear_error() {
    let folder = Folder::new("nothing", &[("a.log", "x".into()), ("b\u{1b}[2J.json", "[1]".into())]);
    let run = replay(&folder.0, "");
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("none of its 2 files is an object or a list; give"), "{}", run.stderr);
    assert!(!run.stderr.contains('\u{1b}') && run.stderr.lines().count() == 1, "{}", run.stderr);
}
