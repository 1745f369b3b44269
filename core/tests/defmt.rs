//! What firmware prints by defmt: the text of each value is in the bytes that it logs.

use core::time::Duration;
use listwatch_core::decode::{Body, DecodeErrorOf, EventType, Part, Projector, Reason};
use listwatch_core::informer::{EventOf, InformerStatus};
use listwatch_core::object::Version;
use listwatch_core::projection::{Beginning, Cause, Piece, Problem, Projected, Slot, Text};
use listwatch_core::queue::{Finished, Outcome};
use listwatch_core::reflector::{Failure, FailureClass, Phase, Reaction};
use listwatch_core::storage::Full;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use listwatch_core::{Instant, cache::Capacity, projection};

/// The bytes that logging this value sends. defmt keeps them for tests, where a device has a logger.
fn sent(value: &impl defmt::Format) -> Vec<u8> {
    let _before = defmt::export::fetch_bytes();
    defmt::println!("{}", value);
    defmt::export::fetch_bytes()
}

#[track_caller]
fn assert_sent(value: &impl defmt::Format, texts: &[&str]) {
    let sent = sent(value);
    for text in texts {
        // A text stands behind its length.
        let mut expected = (text.len() as u32).to_le_bytes().to_vec();
        expected.extend_from_slice(text.as_bytes());
        assert!(sent.windows(expected.len()).any(|window| window == expected), "{text} is not in {sent:?}");
    }
}

projection! {
    #[derive(defmt::Format)]
    struct Line { node: Text<15> = "spec.nodeName" }
}

fn pod() -> Projected<Line> {
    let mut projector = Projector::<Line>::new();
    projector.start(Body::Object);
    let mut body =
        &br#"{"metadata":{"name":"web-1","namespace":"web","resourceVersion":"42"},"spec":{"nodeName":"edge-1"}}"#[..];
    let Some(Part::Item(pod)) = projector.next_part(&mut body) else { panic!("no pod") };
    pod
}

#[test]
fn an_event_has_the_key_the_version_and_the_fields_of_its_object() {
    let texts = ["web/web-1", "42", "edge-1"];
    assert_sent(&pod(), &texts);
    assert_sent(&EventOf::Added { object: pod(), initial: true }, &texts);
    assert_sent(&EventOf::Deleted { object: pod(), final_state_known: false }, &texts);
}

#[test]
fn a_failure_has_its_texts_and_its_numbers() {
    let [version, last] = ["7", "9000"].map(|text| Version::copied(text).unwrap());
    assert_sent(&Failure::BackInTime { version, last }, &["7", "9000"]);
    let reset = TransportError::new(TransportErrorKind::Reset, "by the peer");
    assert_sent(&Failure::Transport(reset), &["by the peer"]);
    let wanted = sent(&Failure::DoesNotFit { wanted: 0x0102_0304 });
    assert!(wanted.windows(4).any(|window| window == [4, 3, 2, 1]), "{wanted:?}");
    let classes: std::collections::BTreeSet<u8> = FailureClass::ALL.iter().map(variant).collect();
    assert_eq!(classes.len(), FailureClass::ALL.len());
}

#[test]
fn an_undecodable_object_has_its_key_and_the_field() {
    let problem = Problem { field: Some("spec.nodeName"), cause: Cause::TooLong { most: 15 }, at: 80 };
    let mut key = Text::<30>::new();
    key.push("web/web-1").unwrap();
    let error = DecodeErrorOf {
        key: Some(key),
        version: None,
        event_type: Some(EventType::Modified),
        error: Reason::Problem(problem),
    };
    assert_sent(&error, &["web/web-1", "spec.nodeName"]);
    assert_sent(&EventOf::<Projected<Line, 30>>::Undecodable(error), &["web/web-1", "spec.nodeName"]);
}

#[test]
fn a_text_that_was_cut_says_so() {
    let mut cut = Beginning::<3>::default();
    cut.take(Piece::Text("abcdef")).unwrap();
    assert_sent(&cut, &["abc", "…"]);
}

#[test]
fn states_times_and_capacities_can_be_printed() {
    let micros = sent(&Instant::from_nanos(0x0102_0304_0506 * 1000));
    assert!(micros.windows(8).any(|window| window == [6, 5, 4, 3, 2, 1, 0, 0]), "{micros:?}");
    assert!(sent(&Full(77_u8)).ends_with(&[77]));
    let items = sent(&InformerStatus::Listing { elapsed: Duration::ZERO, items: 0x0102_0304, synced: true });
    assert!(items.windows(4).any(|window| window == [4, 3, 2, 1]), "{items:?}");
    for (one, other) in [
        (variant(&Capacity::Objects), variant(&Capacity::Values)),
        (variant(&Outcome::Done), variant(&Outcome::Retry)),
        (variant(&Finished::Done), variant(&Finished::GaveUp)),
        (variant(&Phase::Listing), variant(&Phase::Watching)),
        (variant(&Reaction::Relist), variant(&Reaction::Rewatch)),
        (variant(&TransportErrorKind::Dns), variant(&TransportErrorKind::Tls)),
    ] {
        assert_ne!(one, other);
    }
}

/// The byte that tells the variants of a type apart. The names of the line and of the type come before, of two bytes.
fn variant(value: &impl defmt::Format) -> u8 {
    sent(value)[4]
}
