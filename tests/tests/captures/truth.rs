//! The cache at the end against the list that was recorded last, object by object.

use crate::captures::expected::{captures, truth};
use crate::captures::play::{Case, Drain, Speed, play};
use listwatch_core::decode::{Lz4, Packed, Raw};
use listwatch_core::fifo::Order;
use listwatch_transport_file::Chunks;
use serde_json::Value;

const CASE: Case =
    Case { chunks: Chunks::Recorded, drain: Drain::EveryEvent, speed: Speed::One, order: Order::Arrival };

fn name(object: &Value) -> (String, String) {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    (text("namespace"), text("name"))
}

fn sorted(mut objects: Vec<Value>) -> Vec<Value> {
    objects.sort_by_key(name);
    objects
}

#[test]
fn decoded_objects_are_the_servers_own_whether_they_came_by_list_or_by_watch() {
    for capture in captures() {
        let expected = sorted(truth(&capture.path));
        let values = play::<Value>(&capture.path, CASE).objects;
        let raws = play::<Raw>(&capture.path, CASE).objects;
        let values = sorted(values.iter().map(|object| (**object).clone()).collect());
        let raws = sorted(raws.iter().map(|object| object.decode().unwrap()).collect());
        assert_eq!(values.len(), expected.len(), "{}", capture.name);
        for ((value, raw), expected) in values.iter().zip(&raws).zip(&expected) {
            assert_eq!(value, expected, "{}", capture.name);
            assert_eq!(raw, expected, "{}", capture.name);
        }
    }
}

#[test]
fn packed_objects_are_the_raw_ones_in_a_third_of_the_bytes() {
    for capture in captures() {
        let packed = play::<Packed<Lz4>>(&capture.path, CASE).objects;
        let raws = play::<Raw>(&capture.path, CASE).objects;
        let (text_len, packed_len) = packed.iter().fold((0, 0), |(text_len, packed_len), object| {
            (text_len + object.text_len(), packed_len + object.packed_len())
        });
        assert!(packed_len < text_len / 3, "{}: {packed_len} of {text_len} bytes", capture.name);
        assert_eq!(packed.len(), raws.len(), "{}", capture.name);
        for (packed, raw) in packed.iter().zip(&raws) {
            assert_eq!((packed.key(), packed.meta()), (raw.key(), raw.meta()), "{}", capture.name);
            assert_eq!(packed.raw().unwrap(), **raw, "{}", capture.name);
            assert_eq!(packed.unpack::<Value>().unwrap(), raw.decode::<Value>().unwrap(), "{}", capture.name);
        }
    }
}
