//! Decoding: a watch event into each type, and a list through its frames. The objects are pods of about 10 KB, made from
//! the template or captured; the counter is bytes of JSON.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use k8s_openapi::api::core::v1::Pod;
use listwatch_core::decode::{Decode, Decoder, FromJson, Json, Lz4, MetadataOnly, Packed, Packer, Part, Raw};
use listwatch_core::framing::Scanner;
use listwatch_core::request::Query;
use listwatch_core::transport::ResponseHead;
use listwatch_tests::captures;
use listwatch_tests::pods::Pods;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

const PODS: usize = 500;
const SOURCES: [&str; 2] = ["template", "captured"];

/// What a small controller reads.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ThreeFields {
    spec: Spec,
    status: Status,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
    priority: Option<i32>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<String>,
}

fn main() {
    divan::main();
}

fn list() -> Vec<u8> {
    let mut list = Vec::new();
    Pods::new(PODS).write_list(&mut list).unwrap();
    list
}

fn template() -> Vec<Vec<u8>> {
    #[derive(Deserialize)]
    struct Items<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let list = list();
    let list: Items<'_> = serde_json::from_slice(&list).unwrap();
    let event = |pod: &&RawValue| format!(r#"{{"type":"MODIFIED","object":{}}}"#, pod.get()).into_bytes();
    list.items.iter().map(event).collect()
}

fn events(source: &str) -> Vec<Vec<u8>> {
    if source == "template" { template() } else { captures::pod_events() }
}

fn bytes(events: &[Vec<u8>]) -> BytesCount {
    BytesCount::new(events.iter().map(Vec::len).sum::<usize>())
}

fn watch<T: DeserializeOwned>(bencher: Bencher<'_, '_>, source: &str) {
    let (events, mut decoder) = (events(source), Decoder::default());
    bencher.counter(bytes(&events)).bench_local(|| {
        for event in &events {
            black_box(decoder.watch_event::<T>(black_box(event)).unwrap());
        }
    });
}

#[divan::bench(args = SOURCES)]
fn watch_metadata(bencher: Bencher<'_, '_>, source: &str) {
    watch::<MetadataOnly>(bencher, source);
}

#[divan::bench(args = SOURCES)]
fn watch_three_fields(bencher: Bencher<'_, '_>, source: &str) {
    watch::<ThreeFields>(bencher, source);
}

#[divan::bench(args = SOURCES)]
fn watch_raw(bencher: Bencher<'_, '_>, source: &str) {
    watch::<Raw>(bencher, source);
}

#[divan::bench(args = SOURCES)]
fn watch_pod(bencher: Bencher<'_, '_>, source: &str) {
    watch::<Pod>(bencher, source);
}

#[divan::bench(args = SOURCES)]
fn watch_value(bencher: Bencher<'_, '_>, source: &str) {
    watch::<Value>(bencher, source);
}

/// The objects of the events, as text.
fn raws(source: &str) -> Vec<Raw> {
    let (events, mut decoder) = (events(source), Decoder::default());
    let raw = |event: &Vec<u8>| match decoder.watch_event::<Raw>(event).unwrap() {
        Part::Event(_, object) => Some(object.value),
        _ => None,
    };
    events.iter().filter_map(raw).collect()
}

fn text(raws: &[Raw]) -> BytesCount {
    BytesCount::new(raws.iter().map(|raw| raw.as_str().len()).sum::<usize>())
}

#[divan::bench(args = SOURCES)]
fn packing(bencher: Bencher<'_, '_>, source: &str) {
    let raws = raws(source);
    bencher.counter(text(&raws)).bench_local(|| {
        let mut packer = Packer::new(Lz4);
        for raw in &raws {
            black_box(packer.pack(black_box(raw)));
        }
    });
}

fn unpacking<T>(bencher: Bencher<'_, '_>, source: &str, unpack: fn(&Packed<Lz4>) -> T) {
    let (raws, mut packer) = (raws(source), Packer::new(Lz4));
    let packed: Vec<_> = raws.iter().map(|raw| packer.pack(raw)).collect();
    bencher.counter(text(&raws)).bench_local(|| {
        for packed in &packed {
            black_box(unpack(black_box(packed)));
        }
    });
}

#[divan::bench(args = SOURCES)]
fn unpacking_text(bencher: Bencher<'_, '_>, source: &str) {
    unpacking(bencher, source, |packed| packed.raw().unwrap());
}

#[divan::bench(args = SOURCES)]
fn unpacking_three_fields(bencher: Bencher<'_, '_>, source: &str) {
    unpacking(bencher, source, |packed| packed.unpack::<ThreeFields>().unwrap());
}

#[divan::bench(args = SOURCES)]
fn passing_over(bencher: Bencher<'_, '_>, source: &str) {
    let events = events(source);
    bencher.counter(bytes(&events)).bench_local(|| {
        for event in &events {
            black_box(Scanner::default().end_of_value(black_box(event)).unwrap());
        }
    });
}

#[divan::bench(args = SOURCES)]
fn serde_json_passing_over(bencher: Bencher<'_, '_>, source: &str) {
    let events = events(source);
    bencher.counter(bytes(&events)).bench_local(|| {
        for event in &events {
            black_box(serde_json::from_slice::<IgnoredAny>(black_box(event)).unwrap());
        }
    });
}

/// From the decoder's buffer to objects, as an informer reads a list, 16 KB at a time.
fn read_list<T: FromJson>(bencher: Bencher<'_, '_>) {
    let (list, mut json) = (list(), Json::<T>::default());
    bencher.counter(BytesCount::new(list.len())).bench_local(|| {
        json.start(Query::List, &ResponseHead { status: 200, ..ResponseHead::default() });
        let mut rest = &list[..];
        while !rest.is_empty() {
            let space = json.space();
            let (piece, behind) = rest.split_at(space.len().min(rest.len()).min(16 * 1024));
            space[..piece.len()].copy_from_slice(piece);
            json.take(piece.len());
            rest = behind;
            while let Some(part) = json.next_part() {
                assert!(matches!(black_box(part), Part::Item(_)));
            }
        }
        black_box(json.finish());
    });
}

#[divan::bench]
fn list_metadata(bencher: Bencher<'_, '_>) {
    read_list::<MetadataOnly>(bencher);
}

#[divan::bench]
fn list_three_fields(bencher: Bencher<'_, '_>) {
    read_list::<ThreeFields>(bencher);
}

#[divan::bench]
fn list_raw(bencher: Bencher<'_, '_>) {
    read_list::<Raw>(bencher);
}

#[divan::bench]
fn list_packed(bencher: Bencher<'_, '_>) {
    read_list::<Packed<Lz4>>(bencher);
}

#[divan::bench]
fn list_pod(bencher: Bencher<'_, '_>) {
    read_list::<Pod>(bencher);
}
