//! Every capture, type, chunk size, consumer and speed, each with each: a third of the cases here, all on demand.
//! Single bytes take most of the time, and values of every type are cut from them alike: one type stands for all here.
//!
//! ```sh
//! CAPTURE_CASES=all cargo test -p listwatch-tests --test suite captures
//! ```

use crate::captures::expected::captures;
use crate::captures::play::{Case, Drain, Speed, play};
use listwatch_core::decode::{FromJson, Lz4, MetadataOnly, Packed, Raw};
use listwatch_core::fifo::Order;
use listwatch_transport_file::Chunks;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::env;

/// The three fields that somebody uses, of pods as well as of config maps.
#[derive(Deserialize)]
#[expect(dead_code, reason = "decoding it is what counts")]
struct Mine {
    kind: String,
    spec: Option<Spec>,
    data: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "decoding it is what counts")]
struct Spec {
    restart_policy: Option<String>,
}

const CHUNKS: [Chunks; 4] = [Chunks::AtMost(1), Chunks::AtMost(7), Chunks::AtMost(4096), Chunks::Whole];
/// Those of more than one byte.
const PIECES: &[Chunks] = CHUNKS.split_at(1).1;
const DRAINS: [Drain; 3] = [Drain::EveryEvent, Drain::EveryHundred, Drain::WhenTheStreamWaits];
const SPEEDS: [Speed; 3] = [Speed::One, Speed::Ten, Speed::Max];

/// Every case.
fn all(order: Order) -> Vec<Case> {
    (0..SPEEDS.len()).flat_map(|round| sample(order, round)).collect()
}

/// A third of the cases, in which each chunk size meets each consumer and each speed, and each consumer each speed.
/// Three rounds make all cases.
fn sample(order: Order, round: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for (row, chunks) in CHUNKS.into_iter().enumerate() {
        for (column, drain) in DRAINS.into_iter().enumerate() {
            let speed = SPEEDS[(row + column + round) % SPEEDS.len()];
            cases.push(Case { chunks, drain, speed, order });
        }
    }
    cases
}

/// For every key exactly client-go's sequence of notifications, and exactly its store.
///
/// A type begins with the round `first`, and each capture takes the next one, so that the captures together have every
/// case of these chunks. Captures of another folder, and `CAPTURE_CASES=all`, have every case each.
fn replays_like_client_go<T: FromJson>(first: usize, order: Order, chunks: &[Chunks]) {
    let wants_all = ["CAPTURE_CASES", "LISTWATCH_CAPTURES"].iter().any(|name| env::var_os(name).is_some());
    for (place, capture) in captures().into_iter().enumerate() {
        let mut cases = if wants_all { all(order) } else { sample(order, first + place) };
        cases.retain(|case| wants_all || chunks.contains(&case.chunks));
        for case in cases {
            let played = play::<T>(&capture.path, case);
            for (key, expected) in &capture.notifications {
                assert_eq!(played.notifications.get(key), Some(expected), "{}, {key}, {case:?}", capture.name);
            }
            assert_eq!(played.notifications.len(), capture.notifications.len(), "{}, {case:?}", capture.name);
            assert_eq!(played.store, capture.store, "{}, {case:?}", capture.name);
        }
    }
}

#[test]
fn a_sample_has_every_pair_of_values_and_three_samples_every_case() {
    let named = |cases: &[Case]| BTreeSet::from_iter(cases.iter().map(|case| format!("{case:?}")));
    for round in 0..3 {
        let cases = sample(Order::Arrival, round);
        let pairs = |pair: fn(&Case) -> String| BTreeSet::from_iter(cases.iter().map(pair)).len();
        assert_eq!(pairs(|case| format!("{:?} {:?}", case.chunks, case.drain)), 12);
        assert_eq!(pairs(|case| format!("{:?} {:?}", case.chunks, case.speed)), 12);
        assert_eq!(pairs(|case| format!("{:?} {:?}", case.drain, case.speed)), 9);
        assert_eq!(named(&cases), named(&sample(Order::Arrival, round + 3)));
    }
    assert_eq!(named(&all(Order::Arrival)).len(), CHUNKS.len() * DRAINS.len() * SPEEDS.len());
}

#[test]
fn raw_objects_are_told_as_client_go_tells_them() {
    replays_like_client_go::<Raw>(0, Order::Arrival, &CHUNKS);
}

#[test]
fn packed_objects_are_told_as_client_go_tells_them() {
    replays_like_client_go::<Packed<Lz4>>(2, Order::Arrival, PIECES);
}

#[test]
fn metadata_is_told_as_client_go_tells_it() {
    replays_like_client_go::<MetadataOnly>(1, Order::Arrival, PIECES);
}

#[test]
fn values_are_told_as_client_go_tells_them() {
    replays_like_client_go::<Value>(2, Order::Arrival, PIECES);
}

#[test]
fn a_struct_of_the_users_is_told_as_client_go_tells_it() {
    replays_like_client_go::<Mine>(3, Order::Arrival, PIECES);
}

/// The order between keys is another; the order within a key is not.
#[test]
fn by_key_every_key_has_the_same_history() {
    replays_like_client_go::<MetadataOnly>(1, Order::ByKey, PIECES);
}
