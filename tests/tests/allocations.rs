//! That each way of decoding costs what it should: nothing is read by way of a whole document.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use flate2::read::MultiGzDecoder;
use listwatch_core::{Decoder, MetadataOnly, Raw, WatchEvent};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// The watch events of a capture, one a frame.
fn frames() -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/captures/pods-rollout.jsonl.gz");
    let mut body = String::new();
    for line in BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if record["id"] == 3 && record["data"].is_string() {
            body.push_str(record["data"].as_str().unwrap());
        }
    }
    body.lines().map(|line| line.as_bytes().to_vec()).collect()
}

/// Allocations and allocated bytes for each object decoded.
fn costs<T: DeserializeOwned>(frames: &[Vec<u8>]) -> (u64, u64) {
    let mut decoder = Decoder::default();
    let before = dhat::HeapStats::get();
    let objects = frames.iter().filter(|frame| {
        let event = decoder.watch_event::<T>(frame).expect("a captured event");
        matches!(event, WatchEvent::Object(..))
    });
    let objects = objects.count() as u64;
    let after = dhat::HeapStats::get();
    ((after.total_blocks - before.total_blocks) / objects, (after.total_bytes - before.total_bytes) / objects)
}

#[test]
fn metadata_and_text_are_read_without_building_a_document() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let frames = frames();
    let (value_blocks, value_bytes) = costs::<Value>(&frames);
    let (meta_blocks, meta_bytes) = costs::<MetadataOnly>(&frames);
    let (raw_blocks, raw_bytes) = costs::<Raw>(&frames);
    println!(
        "allocations an object (bytes): Value {value_blocks} ({value_bytes}), metadata {meta_blocks} ({meta_bytes}), raw {raw_blocks} ({raw_bytes})"
    );
    assert!(value_blocks > 100, "{value_blocks}");
    assert!(meta_blocks * 20 < value_blocks && meta_bytes * 20 < value_bytes, "{meta_blocks}, {meta_bytes} bytes");
    assert!(raw_blocks * 20 < value_blocks && raw_bytes * 3 < value_bytes, "{raw_blocks}, {raw_bytes} bytes");
}
