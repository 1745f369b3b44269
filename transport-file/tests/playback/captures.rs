//! The bundled captures of a real API server.

use crate::playback::support::{Ending, Player, bundled};
use flate2::read::MultiGzDecoder;
use listwatch_core::request::Request;
use listwatch_core::transport::TransportErrorKind;
use listwatch_transport_file::{Chunks, Pace, PlaybackConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

const CAPTURES: [&str; 4] = ["pods-rollout", "chaos", "gap", "protocol"];
const PODS: &str = "/api/v1/pods";
const MAPS: &str = "/api/v1/namespaces/gap1/configmaps";

/// A recorded exchange, read without any help of the code under test.
#[derive(Default)]
struct Recorded {
    target: String,
    metadata_only: bool,
    status: Option<u16>,
    body: Vec<u8>,
    end: Option<String>,
    took: u64,
}

fn recorded(name: &str) -> BTreeMap<u64, Recorded> {
    let mut exchanges = BTreeMap::<u64, Recorded>::new();
    let mut began = BTreeMap::new();
    for line in BufReader::new(MultiGzDecoder::new(File::open(bundled(name)).unwrap())).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (id, t) = (record["id"].as_u64().unwrap(), record["t"].as_u64().unwrap());
        let exchange = exchanges.entry(id).or_default();
        exchange.took = t - *began.entry(id).or_insert(t);
        if let Some(path) = record["request"]["path"].as_str() {
            exchange.target = path.into();
            let accept = record["request"]["headers"]["Accept"].as_str();
            exchange.metadata_only = accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata"));
        } else if let Some(status) = record["response"]["status"].as_u64() {
            exchange.status = Some(status as u16);
        } else if let Some(text) = record["data"].as_str() {
            exchange.body.extend_from_slice(text.as_bytes());
        } else if record["base64"] == "8A==" {
            exchange.body.push(0xf0);
        } else {
            exchange.end = Some(record["end"].as_str().unwrap().into());
        }
    }
    exchanges
}

impl Recorded {
    /// The recorded request, with its metadata-only form if it had one.
    fn request(&self) -> Request {
        let Request { resource, verb } = Request::parse(&self.target);
        Request { resource: if self.metadata_only { resource.metadata_only() } else { resource }, verb }
    }
}

/// Discovery, and a single object: nothing that can be listed or watched.
fn is_other(target: &str) -> bool {
    ["/api/v1", "/apis", "/version", "/api/v1/namespaces/default/pods/none"].contains(&target)
}

/// Asks for all that was recorded and compares bytes, status, ending and time.
fn every_answer_is_as_recorded(config: PlaybackConfig, buffer: usize, timed: bool) {
    for name in CAPTURES {
        let mut player = Player::with_config(bundled(name), config);
        player.buffer = buffer;
        let exchanges = recorded(name);
        for (id, exchange) in exchanges.iter().filter(|(_, exchange)| !is_other(&exchange.target)) {
            let played = player.ask_for(&exchange.request());
            assert!(played.body == exchange.body, "{name} {id}");
            assert_eq!(played.status(), exchange.status, "{name} {id}");
            let kind = match (exchange.status, exchange.end.as_deref()) {
                (Some(_), Some("eof")) => None,
                (Some(_), Some("cut") | None) => Some(TransportErrorKind::Reset),
                (None, Some("error: ConnectionRefusedError")) => Some(TransportErrorKind::Refused),
                other => panic!("{other:?}"),
            };
            match (&played.ending, kind) {
                (Ending::End, None) => {}
                (Ending::Failed(error), Some(kind)) => assert_eq!(error.kind, kind, "{name} {id}"),
                other => panic!("{name} {id}: {other:?}"),
            }
            assert_eq!(played.took, if timed { exchange.took } else { 0 }, "{name} {id}");
        }
        let summary = player.playback.summary();
        assert_eq!(summary.lists.left + summary.watches.left + summary.watch_lists.left, 0, "{name}");
        assert_eq!(summary.others, exchanges.values().filter(|exchange| is_other(&exchange.target)).count() as u64);
        assert_eq!(player.playback.error(), None);
    }
}

#[test]
fn every_recorded_answer_is_played_byte_for_byte_and_in_its_time() {
    every_answer_is_as_recorded(PlaybackConfig::new(), 64 * 1024, true);
}

#[test]
fn bytes_do_not_depend_on_pace_chunks_or_buffer() {
    let immediate = PlaybackConfig::new().pace(Pace::Immediate);
    every_answer_is_as_recorded(immediate.chunks(Chunks::AtMost(1)), 64 * 1024, false);
    every_answer_is_as_recorded(immediate.chunks(Chunks::Whole), 1_000_003, false);
    every_answer_is_as_recorded(immediate, 7, false);
}

#[test]
fn the_rollout_is_played_to_its_end_and_its_last_list_is_left() {
    let mut player = Player::new(bundled("pods-rollout"));
    let resource = player.playback.resource().unwrap().clone();
    assert_eq!(resource.path(), PODS);

    let refused = player.ask("/api/v1/pods?watch=1&sendInitialEvents=true");
    assert_eq!(refused.status(), Some(422));
    let status: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!((&status["kind"], &status["code"]), (&"Status".into(), &422.into()));

    let first: Value = serde_json::from_slice(&player.ask("/api/v1/pods?limit=500").body).unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = player.ask(&format!("/api/v1/pods?limit=500&continue={token}"));
    assert_eq!(second.ending, Ending::End);
    for _ in 0..2 {
        assert_eq!(player.ask("/api/v1/pods?watch=1&timeoutSeconds=300").ending, Ending::End);
        assert!(!player.playback.is_complete());
    }
    let over = player.ask("/api/v1/pods?watch=1&timeoutSeconds=300");
    assert_eq!((over.head, over.ending), (None, Ending::Over));

    let summary = player.playback.summary();
    assert!(summary.complete);
    assert_eq!((summary.lists.answered, summary.lists.left), (2, 1));
    assert_eq!((summary.watches.answered, summary.watches.left), (2, 0));
    assert_eq!((summary.watch_lists.answered, summary.watch_lists.refused), (0, 1));
    assert!(summary.file_bytes_played > summary.file_bytes * 3 / 4 && summary.file_bytes_played < summary.file_bytes);
}

#[test]
fn a_server_that_was_killed_breaks_off_refuses_and_comes_back() {
    let mut player = Player::new(bundled("chaos"));
    let watch = "/api/v1/pods?watch=1";
    assert_eq!(player.ask(PODS).ending, Ending::End);
    // Watch 3 has no end, but the recording goes on: it was reset.
    assert!(matches!(player.ask(watch).ending, Ending::Failed(error) if error.kind == TransportErrorKind::Reset));
    let refused = player.ask(watch);
    assert_eq!((refused.head, refused.took), (None, 1));
    assert!(matches!(refused.ending, Ending::Failed(error) if error.kind == TransportErrorKind::Refused));
    let expired = player.ask(watch);
    assert!(expired.text().contains("\"code\":410"));
    assert_eq!(player.ask(PODS).ending, Ending::End);
    assert_eq!(player.ask(watch).ending, Ending::End);
    assert_eq!(player.ask(watch).ending, Ending::Over);
    let summary = player.playback.summary();
    assert_eq!((summary.watches.answered, summary.watches.refused, summary.watches.left), (3, 1, 0));
    assert_eq!((summary.lists.answered, summary.lists.left), (2, 1));
}

#[test]
fn an_expired_page_and_a_cut_within_a_character_are_played() {
    let mut player = Player::new(bundled("gap"));
    let first: Value = serde_json::from_slice(&player.ask(&format!("{MAPS}?limit=5")).body).unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    assert_eq!(player.ask(&format!("{MAPS}?limit=5&continue={token}")).status(), Some(410));
    assert_eq!(player.ask(MAPS).status(), Some(200));
    let cut = player.ask(&format!("{MAPS}?watch=1"));
    assert!(matches!(cut.ending, Ending::Failed(error) if error.kind == TransportErrorKind::Reset));
    assert_eq!(cut.body.last(), Some(&0xf0));
}

#[test]
fn an_answer_brings_its_status_retry_after_and_media_type() {
    let mut player = Player::new(bundled("protocol"));
    for (id, exchange) in recorded("protocol").iter().filter(|(_, exchange)| !is_other(&exchange.target)) {
        let head = player.ask_for(&exchange.request()).head.unwrap();
        let seconds = head.retry_after.map(|delay| delay.as_secs());
        assert_eq!((head.status, seconds), (exchange.status.unwrap(), (*id == 13).then_some(1)), "{id}");
        let media_type = if *id == 18 { "text/plain" } else { "application/json" };
        assert_eq!(head.content_type.as_deref(), Some(media_type), "{id}");
    }
}

#[test]
fn a_recorded_watch_list_is_played() {
    let mut player = Player::new(bundled("protocol"));
    let played = player.ask("/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(played.status(), Some(200));
    assert!(played.text().contains("k8s.io/initial-events-end"));
}
