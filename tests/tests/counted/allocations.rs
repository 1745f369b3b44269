//! That each way of decoding costs what it should: nothing is read by way of a whole document. That what was large once
//! gives its memory back.

use core::time::Duration;
use listwatch_core::decode::{
    Decode, DecodeOptions, Decoder, FromJson, Json, ListMeta, Lz4, MetadataOnly, Packed, Packer, Part, Raw,
};
use listwatch_core::object::ObjectHandle;
use listwatch_core::queue::{Discipline, ExponentialBackoff, Lanes};
use listwatch_core::request::Query;
use listwatch_core::storage::Keyed;
use listwatch_core::transport::ResponseHead;
use listwatch_core::{Indexer, Instant, WorkQueue};
use listwatch_tests::alone::alone;
use listwatch_tests::captures::pod_events;
use listwatch_tests::pods::Pods;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Allocations and allocated bytes for each object decoded.
fn costs<T: DeserializeOwned>(frames: &[Vec<u8>]) -> (u64, u64) {
    let mut decoder = Decoder::default();
    let before = dhat::HeapStats::get();
    let objects = frames.iter().filter(|frame| {
        let event = decoder.watch_event::<T>(frame).expect("a captured event");
        matches!(event, Part::Event(..))
    });
    let objects = objects.count() as u64;
    let after = dhat::HeapStats::get();
    ((after.total_blocks - before.total_blocks) / objects, (after.total_bytes - before.total_bytes) / objects)
}

fn profiled() -> dhat::Profiler {
    dhat::Profiler::builder().testing().build()
}

/// The bytes that `machine` holds when it has worked and is empty again.
fn held_after<T>(mut machine: T, mut work: impl FnMut(&mut T)) -> usize {
    let before = dhat::HeapStats::get().curr_bytes;
    work(&mut machine);
    dhat::HeapStats::get().curr_bytes.saturating_sub(before)
}

/// More than a container keeps for the next time, and less than a tenth of what it had.
const LITTLE: usize = 256 * 1024;
const MANY: u32 = 50_000;

fn burst<D: Discipline<u32>>(queue: &mut WorkQueue<u32, ExponentialBackoff, D>) {
    (0..MANY).for_each(|key| _ = queue.add(key));
    while let Some(job) = queue.poll_job() {
        queue.done(job);
    }
}

#[test]
fn a_queue_gives_its_memory_back_after_a_burst() {
    alone(|| {
        let _profiled = profiled();
        let held = held_after(WorkQueue::<u32>::default().with_metrics(), burst);
        assert!(held < LITTLE, "{held} bytes after a burst");
        let lanes = Lanes::default().with_groups(|key: &u32, to| to.write_u32(*key));
        let held = held_after(WorkQueue::with_discipline(ExponentialBackoff::default(), lanes, 0), burst);
        assert!(held < LITTLE, "{held} bytes after a burst in lanes");
        let held = held_after(WorkQueue::<u32>::default(), |queue| {
            let second = Duration::from_secs(1);
            (0..MANY).for_each(|key| _ = queue.add_after(Instant::ZERO, key, second));
            queue.handle_timeout(Instant::ZERO + second);
            while let Some(job) = queue.poll_job() {
                queue.done(job);
            }
        });
        assert!(held < LITTLE, "{held} bytes after delays");
    });
}

#[test]
fn an_empty_queue_asks_for_no_memory_for_each_key() {
    alone(|| {
        let _profiled = profiled();
        let mut queue = WorkQueue::<u32>::default().with_metrics();
        burst(&mut queue);
        let work = |queue: &mut WorkQueue<u32>| {
            queue.add(1);
            let job = queue.poll_job().unwrap();
            queue.done(job);
        };
        work(&mut queue);
        let before = dhat::HeapStats::get().total_blocks;
        (0..1000).for_each(|_| work(&mut queue));
        // The harness, too, allocates now and then.
        let allocated = dhat::HeapStats::get().total_blocks - before;
        assert!(allocated < 500, "{allocated} allocations for 1000 keys");
    });
}

/// An object that is its key.
struct Numbered(u32);

impl Keyed for Numbered {
    type Key = u32;

    fn key(&self) -> &u32 {
        &self.0
    }
}

#[test]
fn an_indexer_gives_its_memory_back_when_it_is_emptied() {
    alone(|| {
        let _profiled = profiled();
        let filled = |indexer: &mut Indexer<Numbered>| {
            indexer.add_index(|object: &Numbered, emit: &mut dyn FnMut(&str)| emit(&object.0.to_string()));
            (0..MANY).for_each(|n| _ = indexer.insert(Numbered(n)));
        };
        let held = held_after(Indexer::new(), |indexer| {
            filled(indexer);
            indexer.clear();
        });
        assert!(held < LITTLE, "{held} bytes after clear");
        let held = held_after(Indexer::new(), |indexer| {
            filled(indexer);
            (0..MANY).for_each(|n| _ = indexer.remove(&n));
        });
        assert!(held < LITTLE, "{held} bytes after each object was removed");
    });
}

/// The most bytes that one of many calls asks for.
fn most_at_once(mut call: impl FnMut(u32)) -> u64 {
    let asked = |n| {
        let before = dhat::HeapStats::get().total_bytes;
        call(n);
        dhat::HeapStats::get().total_bytes - before
    };
    (0..2 * MANY).map(asked).max().unwrap()
}

/// A pause is as long as what is copied. More memory than this, asked for at once, is for many records.
const AT_ONCE: u64 = 160 * 1024;

#[test]
fn one_insertion_copies_no_whole_cache() {
    alone(|| {
        let _profiled = profiled();
        let mut indexer = Indexer::new();
        indexer.add_index(|object: &Numbered, emit: &mut dyn FnMut(&str)| emit(&(object.0 % 10).to_string()));
        indexer.add_index(|object: &Numbered, emit: &mut dyn FnMut(&str)| emit(&object.0.to_string()));
        let most = most_at_once(|n| _ = indexer.insert(Numbered(n)));
        assert!(most < AT_ONCE, "{most} bytes for an object of an indexer");
    });
}

#[test]
fn a_decoder_gives_the_memory_of_a_large_object_back() {
    alone(|| {
        let _profiled = profiled();
        let long = "x".repeat(1 << 20);
        let object = json!({ "metadata": {
        "name": long, "namespace": long, "uid": long, "resourceVersion": long, "deletionTimestamp": long,
        "labels": { "x": long }, "annotations": { "x": long }, "finalizers": [long],
        "ownerReferences": [{ "name": long, "uid": long }],
    } });
        let managed_fields = format!(r#"{{"metadata":{{{}"name":"a"}}}}"#, r#""managedFields":[],"#.repeat(1 << 16));
        let mut keep = DecodeOptions::default();
        keep.annotations = true;
        for (object, spec) in [(object.to_string(), ""), (object.to_string(), "tru"), (managed_fields, "")] {
            for event_type in ["ADDED", "BOOKMARK"] {
                let frame = format!(r#"{{"type":"{event_type}","object":{object}{spec}}}"#);
                let held = held_after(Decoder::new(keep), |decoder| _ = decoder.watch_event::<Raw>(frame.as_bytes()));
                assert!(held < LITTLE, "{held} bytes after {event_type} of {} bytes", object.len());
            }
        }
    });
}

#[test]
fn an_error_event_is_read_without_a_tree_of_its_values() {
    alone(|| {
        let many = format!("[{}0]", "0,".repeat(1 << 19));
        for field in ["x", "message", "details"] {
            let frame = format!(r#"{{"type":"ERROR","object":{{"code":410,"{field}":{many}}}}}"#);
            let _profiled = profiled();
            let event = Decoder::default().watch_event::<Raw>(frame.as_bytes());
            assert!(matches!(event, Ok(Part::Error(status)) if status.is_expired()));
            let most = dhat::HeapStats::get().max_bytes;
            assert!(most < frame.len(), "{most} bytes for {} of {field}", frame.len());
        }
    });
}

#[test]
fn metadata_and_text_are_read_without_building_a_document() {
    alone(|| {
        let _profiled = profiled();
        let frames = pod_events();
        let (value_blocks, value_bytes) = costs::<Value>(&frames);
        let (meta_blocks, meta_bytes) = costs::<MetadataOnly>(&frames);
        let (raw_blocks, raw_bytes) = costs::<Raw>(&frames);
        println!(
            "allocations an object (bytes): Value {value_blocks} ({value_bytes}), metadata {meta_blocks} ({meta_bytes}), raw {raw_blocks} ({raw_bytes})"
        );
        assert!(value_blocks > 100, "{value_blocks}");
        assert!(meta_blocks * 20 < value_blocks && meta_bytes * 20 < value_bytes, "{meta_blocks}, {meta_bytes} bytes");
        assert!(raw_blocks * 20 < value_blocks && raw_bytes * 3 < value_bytes, "{raw_blocks}, {raw_bytes} bytes");
    });
}

/// A cache of what is written to it: lists of objects.
struct Listed<T: FromJson> {
    json: Json<T>,
    cache: Indexer<ObjectHandle<T>>,
}

impl<T: FromJson> Listed<T> {
    fn new() -> Self {
        Self { json: Json::default(), cache: Indexer::new() }
    }

    fn list(&mut self, pods: usize) {
        self.json.start(Query::List, &ResponseHead { status: 200, ..ResponseHead::default() });
        Pods::new(pods).write_list(self).unwrap();
        self.json.finish();
        assert_eq!(self.cache.len(), pods);
    }
}

impl<T: FromJson> Write for Listed<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.json.extend_from_slice(bytes);
        while let Some(part) = self.json.next_part() {
            let Part::Item(object) = part else { panic!("no item") };
            self.cache.insert(object);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes that a cache holds for each of many pods, when each has been replaced twice.
fn held_for_each<T: FromJson>() -> usize {
    const PODS: usize = 2_000;
    held_after(Listed::<T>::new(), |listed| (0..3).for_each(|_| listed.list(PODS))) / PODS
}

#[test]
fn a_packed_object_takes_a_fifteenth_of_its_text_and_metadata() {
    alone(|| {
        let _profiled = profiled();
        let (meta, packed, raw) =
            (held_for_each::<MetadataOnly>(), held_for_each::<Packed<Lz4>>(), held_for_each::<Raw>());
        println!("bytes an object: metadata {meta}, packed {packed}, raw {raw}");
        assert!(packed * 15 < raw, "{packed} bytes packed, {raw} raw");
        assert!(packed < meta + 150, "{packed} bytes packed, {meta} of metadata");
    });
}

#[test]
fn a_packer_gives_the_memory_of_a_large_object_back() {
    alone(|| {
        let text = format!(r#"{{"metadata":{{"name":"a"}},"data":"{}"}}"#, "x".repeat(1 << 20));
        let large = Decoder::default().item::<Raw>(text.as_bytes(), &ListMeta::default()).unwrap().value;
        let _profiled = profiled();
        let held = held_after(Packer::new(Lz4), |packer| drop(packer.pack(&large)));
        assert!(held < LITTLE, "{held} bytes after an object of {} bytes", text.len());
    });
}
