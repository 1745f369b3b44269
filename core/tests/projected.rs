//! An informer over a decoder that never holds an object.

use listwatch_core::decode::{self, Decode, Json, MetadataOnly, ProjectedJson, Projector};
use listwatch_core::informer::{EventOf, InformerIn};
use listwatch_core::projection::{Beginning, Field, Misfit, Piece, Projected, Slot, Text};
use listwatch_core::reflector::Action;
use listwatch_core::request::Query;
use listwatch_core::storage::Heap;
use listwatch_core::transport::{Incoming, ResponseHead};
use listwatch_core::{Indexer, InformerConfig, Instant, Resource, projection};
use std::panic::{AssertUnwindSafe, catch_unwind};

projection! {
    struct PodLine {
        node: Text<16> = "spec.nodeName",
        image: Beginning<8> = "spec.containers[0].image",
        ready: Text<7> = "status.conditions[type=Ready].status",
    }
}

type Pods = InformerIn<ProjectedJson<PodLine, 64, 2048>, Indexer<Projected<PodLine, 64>>, Heap>;

/// An informer of pods, by list and watch.
fn informer() -> Pods {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let resource = Resource::new("/api/v1/pods");
    let mut informer =
        InformerIn::<_, _, Heap>::with_decoder(resource, config, ProjectedJson::new(), Indexer::default());
    informer.start(Instant::ZERO);
    informer
}

/// Answers the next request, and takes the events.
fn answered(informer: &mut Pods, status: u16, mut body: &[u8]) -> Vec<String> {
    let (Some(Action::Open(id, _)), now) = (informer.poll_action(), Instant::ZERO) else { panic!("a request") };
    let head = ResponseHead { status, ..ResponseHead::default() };
    informer.handle(now, Incoming::Head { id, head });
    let mut told = Vec::new();
    while !body.is_empty() {
        let space = informer.space();
        let (piece, rest) = body.split_at(space.len().min(body.len()));
        space[..piece.len()].copy_from_slice(piece);
        informer.handle(now, Incoming::Data { id, len: piece.len() });
        body = rest;
        told.extend(events(informer));
    }
    informer.handle(now, Incoming::End { id });
    told.extend(events(informer));
    told
}

fn events(informer: &mut Pods) -> Vec<String> {
    std::iter::from_fn(|| informer.poll_event())
        .map(|event| match &event {
            EventOf::Added { object, .. } => format!("added {}", show(object)),
            EventOf::Updated { old, new } => format!("updated {} from {}", show(new), old.value.ready),
            EventOf::Deleted { object, .. } => format!("deleted {}", object.key()),
            EventOf::Synced => "synced".to_owned(),
            EventOf::Undecodable(error) => error.to_string(),
            EventOf::Failed(report) => report.failure.to_string(),
            other => panic!("{:?}", other.key()),
        })
        .collect()
}

fn show(object: &Projected<PodLine, 64>) -> String {
    let PodLine { node, image, ready } = &object.value;
    let cut = if image.is_cut() { "…" } else { "" };
    format!("{} on {node} with {image}{cut}: {ready}", object.key())
}

/// A pod of this size at least, in bytes, whose fields stand around what makes it large.
fn pod(name: &str, ready: &str, version: u32, size: usize) -> String {
    let padding = r#"{"manager":"\"}]","fieldsV1":{"f:spec":{"k:{\"a\":[]}":{".":{}}}}},"#.repeat(size / 60);
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"team","managedFields":[{padding}{{}}],"resourceVersion":"{version}",
        "uid":"u-{name}"}},"status":{{"conditions":[{{"status":"{ready}","x":[{padding}{{}}],"type":"Ready"}}]}},
        "spec":{{"containers":[{{"env":[{padding}{{}}],"image":"größe/latest"}}],"nodeName":"node-1"}}}}"#
    )
    .replace('\n', " ")
}

#[test]
fn an_object_of_a_megabyte_and_a_half_passes_through_two_kilobytes() {
    assert!(size_of::<ProjectedJson<PodLine, 64, 2048>>() < 4096, "{}", size_of::<ProjectedJson<PodLine, 64, 2048>>());
    let large = pod("large", "False", 3, 500_000);
    assert!(large.len() > 1_500_000, "{}", large.len());
    let mut informer = informer();
    let list = format!(r#"{{"items":[{},{large}],"metadata":{{"resourceVersion":"5"}}}}"#, pod("small", "True", 2, 0));
    let told = answered(&mut informer, 200, list.as_bytes());
    let small = "added team/small on node-1 with größe/…: True";
    assert_eq!(told, [small, "added team/large on node-1 with größe/…: False", "synced"]);
    assert_eq!(informer.space().len(), 2048, "the room does not grow");

    let watch = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", pod("large", "True", 6, 500_000));
    let told = answered(&mut informer, 200, watch.as_bytes());
    assert_eq!(told[0], "updated team/large on node-1 with größe/…: True from False");
    assert_eq!(informer.applied_version(), Some("6"));
}

#[test]
fn a_text_that_does_not_fit_is_told_and_the_last_good_state_stays() {
    let mut informer = informer();
    let list = format!(r#"{{"items":[{}],"metadata":{{"resourceVersion":"5"}}}}"#, pod("a", "True", 2, 0));
    _ = answered(&mut informer, 200, list.as_bytes());
    let long = pod("a", "Perhaps not", 6, 0);
    let told = answered(&mut informer, 200, format!("{{\"type\":\"MODIFIED\",\"object\":{long}}}\n").as_bytes());
    let at = 28 + long.find(r#""Perhaps"#).expect("it is there");
    let problem = "status.conditions[type=Ready].status: longer than 7 bytes";
    assert_eq!(told[0], format!("team/a: {problem} at byte {at}"));
    assert_eq!(informer.cache().iter().map(|pod| pod.value.ready.to_string()).collect::<Vec<_>>(), ["True"]);
}

#[test]
fn a_refusal_has_its_code_and_its_reason() {
    let status = r#"{"kind":"Status","code":403,"reason":"Forbidden","message":"pods is forbidden"}"#;
    let told = answered(&mut informer(), 403, status.as_bytes());
    assert_eq!(told, ["status 403 Forbidden: pods is forbidden"]);
}

#[test]
fn a_decoder_may_be_a_static() {
    static NEW: ProjectedJson<PodLine> = ProjectedJson::new();
    assert_eq!(NEW.clone().space().len(), 2048);
    assert!(size_of::<Projector<PodLine, 64>>() < 2048, "{}", size_of::<Projector<PodLine, 64>>());
}

/// A field that panics over some text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Touchy;

impl Slot for Touchy {
    fn clear(&mut self) {}

    fn take(&mut self, piece: Piece<'_>) -> Result<(), Misfit> {
        let Piece::Text(piece) = piece else { return Err(Misfit::WrongType("a text")) };
        assert!(!piece.contains('!'));
        Ok(())
    }
}

impl Field for Touchy {
    const ABSENT: Self = Self;
}

projection! {
    struct Panicking {
        a: Touchy = "a",
    }
}

#[test]
fn a_decoder_feeds_once_the_bytes_over_which_a_field_panics() {
    let text = br#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"a":"x!"},{"metadata":{"name":"c"}}]}"#;
    let (mut decoder, mut parts) = (ProjectedJson::<Panicking, 16, 32>::new(), vec![]);
    decoder.start(Query::List, &ResponseHead { status: 200, ..ResponseHead::default() });
    for piece in text.chunks(32) {
        decoder.extend_from_slice(piece);
        loop {
            match catch_unwind(AssertUnwindSafe(|| decoder.next_part())) {
                Ok(None) => break,
                Ok(Some(decode::Part::Item(object))) => parts.push(object.key().to_string()),
                Ok(Some(decode::Part::Undecodable(error))) => parts.push(error.error.to_string()),
                Ok(Some(other)) => panic!("{other:?}"),
                Err(_) => parts.push("panic".to_string()),
            }
        }
    }
    assert_eq!(parts, ["a", "panic", "the projection panicked at byte 29", "c"]);
    assert!(matches!(decoder.finish(), decode::Ending::List { .. }));
}

/// What the projection calls undecodable.
#[test]
fn the_decoder_of_the_heap_takes_an_error_and_a_bookmark_whose_object_is_none() {
    for (event, told) in [
        (r#"{"type":"ERROR","object":{"code":x}}"#, "Error(Status { code: 0,"),
        (r#"{"type":"BOOKMARK","object":[]}"#, r#"Bookmark { version: "","#),
    ] {
        let mut heap = Json::<MetadataOnly>::default();
        heap.start(Query::Watch, &ResponseHead { status: 200, ..ResponseHead::default() });
        heap.extend_from_slice(format!("{event}\n").as_bytes());
        let part = format!("{:?}", heap.next_part().unwrap());
        assert!(part.starts_with(told), "{part}");
    }
}
