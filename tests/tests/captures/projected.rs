//! Captures decoded by a projection, which holds no object, beside the decoder of the heap.

use crate::captures::play::Plays;
use crate::captures::wired::{Frame, Framing, Wired};
use core::task::{Context, Waker};
use flate2::read::MultiGzDecoder;
use listwatch_core::cache::{Cache, FixedIndexer};
use listwatch_core::decode::{Decode, DecodeOptions, Ending, Json, Part, ProjectedJson};
use listwatch_core::informer::{DriverIn, EventOf, InformerIn, Pumped};
use listwatch_core::object::ObjectHandle;
use listwatch_core::projection::{Beginning, Projected, Text};
use listwatch_core::request::Query;
use listwatch_core::storage::{Fixed, Heap, Keyed, Mem};
use listwatch_core::transport::ResponseHead;
use listwatch_core::{Indexer, InformerConfig, Instant, projection};
use listwatch_transport_file::{Chunks, Pace, Playback, PlaybackConfig};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

projection! {
    struct Line {
        node: Text<63> = "spec.nodeName",
        image: Beginning<12> = "spec.containers[0].image",
        network: Option<bool> = "spec.hostNetwork",
        ready: Option<Text<7>> = "status.conditions[type=Ready].status",
        restarts: Option<u32> = "status.containerStatuses[0].restartCount",
        app: Text<63> = "metadata.labels.app",
        owner: Text<63> = "metadata.ownerReferences[controller=true].name",
    }
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Pod {
    spec: Spec,
    status: Status,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: String,
    containers: Vec<Container>,
    host_network: Option<bool>,
}

#[derive(Deserialize)]
struct Container {
    image: String,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    conditions: Vec<Condition>,
    container_statuses: Vec<ContainerStatus>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    restart_count: u32,
}

/// An object as both decoders show it.
trait Shown {
    fn shown(&self) -> String;
}

impl Shown for Projected<Line> {
    fn shown(&self) -> String {
        let Line { node, image, network, ready, restarts, app, owner } = &self.value;
        let (image, ready) = (image.as_str(), ready.as_deref());
        let meta = (self.key(), self.uid(), self.resource_version(), app.as_str(), owner.as_str());
        format!("{meta:?} {:?}", (node.as_str(), image, network, ready, restarts))
    }
}

impl Shown for ObjectHandle<Pod> {
    fn shown(&self) -> String {
        let (meta, Pod { spec, status }) = (self.meta(), &**self);
        let owner =
            meta.owner_references().find(|owner| owner.controller).map_or_else(String::new, |owner| owner.name.into());
        let uid = meta.uid().map(|uid| uid.to_string()).unwrap_or_default();
        let image = spec.containers.first().map_or("", |container| &container.image);
        let ready = status.conditions.iter().find(|condition| condition.r#type == "Ready");
        let restarts = status.container_statuses.first().map(|status| status.restart_count);
        let app = meta.label("app").unwrap_or_default();
        let meta = (meta.key().as_str(), uid.as_str(), meta.resource_version(), app, owner.as_str());
        let ready = ready.map(|condition| condition.status.as_str());
        format!("{meta:?} {:?}", (&*spec.node_name, &image[..image.len().min(12)], spec.host_network, ready, restarts))
    }
}

/// The captures of real API servers.
fn captures() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/captures");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let captures: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|of| of == "gz")).collect();
    assert!(captures.len() >= 4, "{captures:?}");
    captures
}

/// The answers in a capture: what was asked, the status, the body.
fn answers(path: &PathBuf) -> Vec<(Query, u16, Vec<u8>)> {
    let mut answers = BTreeMap::new();
    for line in BufReader::new(MultiGzDecoder::new(File::open(path).unwrap())).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let (_, status, body) = answers.entry(record["id"].as_u64()).or_insert((Query::List, 0, Vec::new()));
        if let Some(code) = record["response"]["status"].as_u64() {
            *status = code as u16;
        }
        body.extend(record["data"].as_str().unwrap_or_default().bytes());
        body.extend(decoded(record["base64"].as_str().unwrap_or_default()));
        if record["request"]["path"]
            .as_str()
            .is_some_and(|path| path.contains("watch=1") || path.contains("watch=true"))
        {
            answers.entry(record["id"].as_u64()).and_modify(|(query, ..)| *query = Query::Watch);
        }
    }
    answers.into_values().filter(|(_, status, _)| *status != 0).collect()
}

fn decoded(base64: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = base64.bytes().filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte));
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

/// What a decoder makes of an answer that comes in pieces of the lengths that `length` gives.
fn parts<D>(
    mut decoder: D,
    (query, status, body): &(Query, u16, Vec<u8>),
    mut length: impl FnMut() -> usize,
) -> Vec<String>
where
    D: Decode<Object: Shown>,
    <D::Object as Keyed>::Key: std::fmt::Display,
{
    let (mut parts, mut rest) = (Vec::new(), &body[..]);
    decoder.start(*query, &ResponseHead { status: *status, ..ResponseHead::default() });
    while !rest.is_empty() {
        let space = decoder.space();
        let (piece, behind) = rest.split_at(space.len().min(rest.len()).min(length()));
        space[..piece.len()].copy_from_slice(piece);
        decoder.take(piece.len());
        rest = behind;
        while let Some(part) = decoder.next_part() {
            parts.push(match part {
                Part::Item(object) => object.shown(),
                Part::Event(event_type, object) => format!("{event_type:?} {}", object.shown()),
                Part::Bookmark { version, initial_events_end } => format!("{version} {initial_events_end}"),
                Part::Error(status) => format!("{} {}", status.code, status.reason),
                Part::Undecodable(error) => format!("{error}"),
                _ => "no list".to_string(),
            });
        }
    }
    parts.push(match decoder.finish() {
        Ending::Refusal(status) => format!("{} {}", status.code, status.reason),
        ending => format!("{ending:?}"),
    });
    parts
}

#[test]
fn a_projection_of_each_captured_answer_is_what_the_heap_decodes_in_any_pieces() {
    let mut objects = 0;
    for path in captures() {
        for answer in answers(&path) {
            let expected = parts(Json::<Pod>::new(DecodeOptions::default()), &answer, || usize::MAX);
            let mut state = 7_u64;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                1 + (state >> 33) as usize % 300
            };
            assert_eq!(parts(ProjectedJson::<Line>::new(), &answer, || usize::MAX), expected, "{}", path.display());
            assert_eq!(parts(ProjectedJson::<Line>::new(), &answer, &mut random), expected, "{}", path.display());
            assert_eq!(parts(ProjectedJson::<Line>::new(), &answer, || 1), expected, "{}", path.display());
            objects += expected.len();
        }
    }
    assert!(objects > 1000, "{objects}");
}

/// What an informer tells of each key, and what its cache holds at the end.
type Told = (BTreeMap<String, Vec<String>>, Vec<String>);

fn told<D, M: Mem, C: Cache<D::Object>>(decoder: D, cache: C, path: &PathBuf, chunks: Chunks) -> Told
where
    D: Decode<Object: Shown>,
    <D::Object as Keyed>::Key: std::fmt::Display,
{
    told_through::<_, M, _, _>(decoder, cache, path, chunks, |playback| playback)
}

/// The same through another transport.
fn told_through<D, M: Mem, C: Cache<D::Object>, L: Plays>(
    decoder: D,
    cache: C,
    path: &PathBuf,
    chunks: Chunks,
    make: impl FnOnce(Playback) -> L,
) -> Told
where
    D: Decode<Object: Shown>,
    <D::Object as Keyed>::Key: std::fmt::Display,
{
    let playback = Playback::with_config(path, PlaybackConfig::new().pace(Pace::Immediate).chunks(chunks)).unwrap();
    let mut config = InformerConfig::default();
    (config.reflector.watch_timeout, config.reflector.answer_timeout) = (None, None);
    let resource = playback.resource().unwrap().clone();
    let mut driver =
        DriverIn::new(InformerIn::<_, _, M>::with_decoder(resource, config, decoder, cache), make(playback));
    let (mut told, mut now) = (BTreeMap::<_, Vec<_>>::new(), Instant::ZERO);
    driver.informer_mut().start(now);
    loop {
        let pumped = driver.pump(now, &mut Context::from_waker(Waker::noop()));
        while let Some(event) = driver.informer_mut().poll_event() {
            let shown = match &event {
                EventOf::Added { object, initial } => format!("added {initial} {}", object.shown()),
                EventOf::Updated { old, new } => format!("updated {} {}", old.shown(), new.shown()),
                EventOf::Recreated { old, new } => format!("recreated {} {}", old.shown(), new.shown()),
                EventOf::Deleted { object, final_state_known } => {
                    format!("deleted {final_state_known} {}", object.shown())
                }
                _ => continue,
            };
            told.entry(event.key().map(ToString::to_string).unwrap_or_default()).or_default().push(shown);
        }
        if pumped == Pumped::Waiting {
            if driver.transport().playback().is_complete() {
                break;
            }
            now = driver.poll_timeout().expect("the playback goes on, so somebody waits for a time");
        }
    }
    let mut objects: Vec<String> = driver.informer().cache().read(|cache| cache.iter().map(Shown::shown).collect());
    objects.sort_unstable();
    (told, objects)
}

#[test]
fn an_informer_of_a_projection_tells_of_each_key_what_one_on_the_heap_tells_in_fixed_memory_too() {
    for path in captures().iter().filter(|path| !path.ends_with("protocol.jsonl.gz")) {
        let expected = told::<_, Heap, _>(Json::<Pod>::default(), Indexer::default(), path, Chunks::Recorded);
        assert!(expected.0.len() > 10, "{}", path.display());
        for chunks in [Chunks::Recorded, Chunks::Whole, Chunks::AtMost(61)] {
            let projected = told::<_, Heap, _>(ProjectedJson::<Line>::new(), Indexer::default(), path, chunks);
            assert_eq!(projected, expected, "{}", path.display());
            let fixed =
                told::<_, Fixed<16>, _>(ProjectedJson::<Line>::new(), FixedIndexer::<_, 128>::new(), path, chunks);
            assert_eq!(fixed, expected, "{} in fixed memory", path.display());
        }
    }
}

#[test]
fn an_informer_in_fixed_memory_tells_the_same_of_a_capture_over_http_in_pieces_of_any_size() {
    const CHUNKED: Framing = |_, _| Frame::Chunked;
    const COUNTED: Framing = |_, _| Frame::Counted;
    for path in captures().iter().filter(|path| !path.ends_with("protocol.jsonl.gz")) {
        let fixed = || (ProjectedJson::<Line>::new(), FixedIndexer::<_, 128>::new());
        let (decoder, cache) = fixed();
        let expected = told::<_, Fixed<16>, _>(decoder, cache, path, Chunks::Recorded);
        assert!(expected.0.len() > 10, "{}", path.display());
        // Of megabytes, each byte for itself would take a minute.
        let pieces = if path.ends_with("gap.jsonl.gz") { &[1, 7, 64, 4096][..] } else { &[64, 4096] };
        for framing in [CHUNKED, COUNTED] {
            for piece in pieces.iter().copied() {
                let (decoder, cache) = fixed();
                let wired = |playback| Wired::<256>::new(playback, piece, framing);
                let over_http = told_through::<_, Fixed<16>, _, _>(decoder, cache, path, Chunks::Recorded, wired);
                assert_eq!(over_http, expected, "{} in pieces of {piece}", path.display());
            }
        }
    }
}
