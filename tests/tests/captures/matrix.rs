//! Every capture, type, chunk size, consumer and speed.

use crate::expected::captures;
use crate::play::{Case, Drain, Speed, play};
use listwatch_core::decode::{MetadataOnly, Raw};
use listwatch_core::fifo::Order;
use listwatch_transport_file::Chunks;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

fn cases(order: Order) -> impl Iterator<Item = Case> {
    let chunks = [Chunks::AtMost(1), Chunks::AtMost(7), Chunks::AtMost(4096), Chunks::Whole];
    let drains = [Drain::EveryEvent, Drain::EveryHundred, Drain::WhenTheStreamWaits];
    let speeds = [Speed::One, Speed::Ten, Speed::Max];
    chunks.into_iter().flat_map(move |chunks| {
        drains
            .into_iter()
            .flat_map(move |drain| speeds.into_iter().map(move |speed| Case { chunks, drain, speed, order }))
    })
}

/// For every key exactly client-go's sequence of notifications, and exactly its store.
fn replays_like_client_go<T: DeserializeOwned>(cases: impl Iterator<Item = Case> + Clone) {
    for capture in captures() {
        for case in cases.clone() {
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
fn raw_objects_are_told_as_client_go_tells_them() {
    replays_like_client_go::<Raw>(cases(Order::Arrival).collect::<Vec<_>>().into_iter());
}

#[test]
fn metadata_is_told_as_client_go_tells_it() {
    replays_like_client_go::<MetadataOnly>(cases(Order::Arrival).collect::<Vec<_>>().into_iter());
}

#[test]
fn values_are_told_as_client_go_tells_them() {
    replays_like_client_go::<Value>(cases(Order::Arrival).collect::<Vec<_>>().into_iter());
}

#[test]
fn a_struct_of_the_users_is_told_as_client_go_tells_it() {
    replays_like_client_go::<Mine>(cases(Order::Arrival).collect::<Vec<_>>().into_iter());
}

/// The order between keys is another; the order within a key is not.
#[test]
fn by_key_every_key_has_the_same_history() {
    replays_like_client_go::<MetadataOnly>(cases(Order::ByKey).collect::<Vec<_>>().into_iter());
}
