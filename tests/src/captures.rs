//! The bodies that an API server sent, from the captures in `tests/data/captures`.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its capture has failed")]

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The bodies of this capture's responses, by the number of their request: those of several watches arrive by turns.
pub fn bodies(capture: &str) -> BTreeMap<u64, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/captures/{capture}.jsonl.gz"));
    let mut bodies = BTreeMap::<_, String>::new();
    for line in BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let (Some(request), Some(data)) = (record["id"].as_u64(), record["data"].as_str()) {
            bodies.entry(request).or_default().push_str(data);
        }
    }
    bodies
}

/// The lines of all bodies of these captures that are whole values: the events of watches, and lists.
pub fn values(captures: &[&str]) -> Vec<Value> {
    let bodies = captures.iter().flat_map(|capture| bodies(capture).into_values());
    let values = bodies.flat_map(|body| body.lines().map(serde_json::from_str).collect::<Vec<_>>());
    values.filter_map(Result::ok).collect()
}

/// The events of a watch of pods, as the server wrote them.
pub fn pod_events() -> Vec<Vec<u8>> {
    const WATCH: u64 = 3;
    bodies("pods-rollout")[&WATCH].lines().map(|line| line.as_bytes().to_vec()).collect()
}
