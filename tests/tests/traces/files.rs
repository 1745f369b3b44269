//! The trace files: gzipped JSON lines, one operation each.

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The folder that is replayed.
fn folder() -> PathBuf {
    let bundled = || Path::new(env!("CARGO_MANIFEST_DIR")).join("data/traces");
    std::env::var_os("LISTWATCH_TRACES").map_or_else(bundled, PathBuf::from)
}

/// Calls `replay` with the name and the lines of every trace whose name begins with one of `prefixes` and a dash, in
/// the order of their names.
///
/// # Panics
/// Where there is none: a folder without traces proves nothing.
pub(crate) fn each(prefixes: &[&str], mut replay: impl FnMut(&str, Vec<Value>)) {
    let entries = folder().read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder().display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut replayed = 0;
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".jsonl.gz") && prefixes.iter().any(|prefix| name.starts_with(&format!("{prefix}-"))) {
            replay(&name, lines(&path));
            replayed += 1;
        }
    }
    assert!(replayed > 0, "no trace {prefixes:?} in {}", folder().display());
}

fn lines(path: &Path) -> Vec<Value> {
    let text = BufReader::new(MultiGzDecoder::new(File::open(path).unwrap()));
    text.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect()
}
