//! Mistakes that engineers make in controllers, each a patch of a program of this crate. `git apply` plants one.
//!
//! A head stands before each diff: what the engineer did, the incident without which nothing is seen, and what goes wrong
//! then. They are for whoever looks for such mistakes by machine. The tests here show that none has rotted.

mod patch;

use patch::Patch;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What a fault may need to be seen.
const INCIDENTS: [&str; 7] =
    ["none", "stop", "stale cache", "lost answer, stale cache", "conflict", "refusal", "second writer"];

fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The patches in the order of their numbers.
fn patches() -> Vec<(String, Patch)> {
    let folder = checkout().join("runtime-smol/tests/faults");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "patch")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), Patch::read(&text).unwrap())
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn each_fault_can_be_planted_in_its_program() {
    let patches = patches();
    assert_eq!(patches.len(), 40);
    for (name, patch) in &patches {
        let program = fs::read_to_string(checkout().join(&patch.path)).unwrap();
        let planted = patch.apply(&program).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_ne!(planted, program, "{name}");
    }
}

#[test]
fn each_fault_has_a_number_a_noun_and_a_head_that_names_its_incident() {
    let (patches, mut nouns) = (patches(), BTreeSet::new());
    for ((name, patch), number) in patches.iter().zip(1..) {
        let (prefix, noun) = name.split_once('-').unwrap();
        assert!(prefix == format!("{number:02}") && nouns.insert(noun), "{name}");
        let incidents: Vec<_> = patch.head.iter().filter_map(|line| line.strip_prefix("Incident: ")).collect();
        assert!(matches!(incidents[..], [incident] if INCIDENTS.contains(&incident)), "{name}: {incidents:?}");
        assert!((3..=6).contains(&patch.head.len()), "{name}: {:?}", patch.head);
    }
    let needs_none = |(_, patch): &&(String, Patch)| patch.head.iter().any(|line| line == "Incident: none");
    let seen_at_once = patches.iter().filter(needs_none).count();
    assert!(seen_at_once * 2 < patches.len(), "most faults need an incident: {seen_at_once}");
}
