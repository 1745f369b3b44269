//! Objects that cannot be decoded.

use super::*;

#[test]
fn what_cannot_be_decoded_keeps_its_last_good_state() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, "\"six\"")));
    assert_eq!(talk.told(), [r#"undecodable Some("a")"#]);
    assert_eq!(talk.cache(), ["a@1"]);
    assert_eq!(talk.informer.received_version(), Some("6"), "the stream goes on behind it");
}

/// An error of serde quotes the value that it refuses, and errors are logged.
#[test]
fn the_reason_for_a_secret_that_cannot_be_decoded_quotes_nothing_of_it() {
    const SECRET: &str = "`n` does not fit: the reason quotes a value, and the values of Secrets are never shown";
    for (path, is_quoted) in [("/api/v1/namespaces/n/secrets", false), ("/api/v1/pods", true)] {
        let mut talk = talk_of(path, |_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("MODIFIED", &pod("a", "1", 6, "\"aHVudGVyMg==\"")));
        let told =
            |event| if let Event::Undecodable(error) = &event { format!("{error}, {event:?}") } else { String::new() };
        let told: String = core::iter::from_fn(|| talk.informer.poll_event()).map(told).collect();
        assert_eq!((told.contains("aHVudGVyMg"), told.contains(SECRET)), (is_quoted, !is_quoted), "{told}");
        assert!(told.contains("`n` does not fit: "), "the field is told: {told}");
    }
}

#[test]
fn a_deletion_is_told_even_of_an_object_that_cannot_be_decoded() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("DELETED", &pod("a", "1", 6, "\"six\"")));
    assert_eq!(talk.told(), [r#"undecodable Some("a")"#, "deleted a@1"]);
    assert!(talk.cache().is_empty());
}

#[test]
fn an_undecodable_item_of_a_list_is_not_taken_for_deleted() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
    talk.answers(&list(9, &[pod("a", "1", 7, "\"seven\"")]));
    assert_eq!(talk.told(), ["failed Watch Relist", r#"undecodable Some("a")"#, "vanished b@1"]);
    assert_eq!(talk.cache(), ["a@1"]);
}

#[test]
fn an_item_without_a_readable_key_may_be_any_so_nothing_is_taken_for_deleted() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
    talk.answers(&list(9, &[pod("a", "1", 1, "0"), "{}".to_string()]));
    assert_eq!(talk.told(), ["failed Watch Relist", "undecodable None", "updated a@1 a@1"]);
    assert_eq!(talk.cache(), ["a@1", "b@1"]);
}

#[test]
fn an_object_over_the_limit_is_skipped_and_reported() {
    let mut talk = talk(|config| config.decode.frame_limit = 200).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, &format!("\"{}\"", "x".repeat(5000)))));
    talk.sends(&event("ADDED", &pod("b", "2", 7, "0")));
    assert_eq!(talk.told(), ["undecodable None", "added b@7"]);
}

#[test]
fn a_deletion_whose_metadata_is_odd_is_not_missed() {
    for odd in [r#""generation":"3""#, r#""labels":{"k":5}"#, r#""ownerReferences":7"#] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        let object = format!(r#"{{"metadata":{{{odd},"name":"a","uid":"1","resourceVersion":"6"}},"n":0}}"#);
        talk.sends(&event("DELETED", &object));
        assert_eq!(talk.told(), [r#"undecodable Some("a")"#, "deleted a@1"], "{odd}");
    }
}

/// The caller catches what the type of its objects panics with, and goes on.
fn sends_a_panic(talk: &mut Talk, body: &str) {
    let sends = std::panic::AssertUnwindSafe(|| talk.sends(body));
    assert!(std::panic::catch_unwind(sends).is_err());
}

#[test]
fn an_object_whose_decoding_panics_is_not_told_as_deleted() {
    let pods = |n: &str| [pod("a", "1", 1, "0"), pod("b", "2", 2, n), pod("c", "3", 3, "0")];
    let mut talk = talk(|_| ()).watching(&pods("0"));
    talk.sends(&event("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired"}"#));
    assert!(!talk.asked().contains("watch=1"));
    let _ = talk.told();
    talk.head(200);
    sends_a_panic(&mut talk, &list(9, &pods(PANICS)));
    talk.ends();
    let told = talk.told();
    assert!(!told.iter().any(|told| told.starts_with("vanished")), "{told:?}");
    assert_eq!(talk.cache().len(), 3);
}

#[test]
fn a_change_whose_decoding_panics_leads_to_a_relist() {
    let mut talk = talk(|_| ()).watching(&[pod("a", "1", 1, "0")]);
    sends_a_panic(&mut talk, &event("MODIFIED", &pod("a", "1", 2, PANICS)));
    talk.sends(&event("MODIFIED", &pod("b", "2", 3, "0")));
    talk.ends();
    let asked = talk.asked();
    assert!(!asked.contains("watch=1"), "after a change that is lost it lists again: {asked}");
}

impl Talk {
    /// Takes every event; the caller catches each panic and polls again.
    fn told_despite_panics(&mut self) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.informer.poll_event())) {
                Ok(Some(event)) => told.push(show(&event)),
                Ok(None) => return told,
                Err(_) => {}
            }
        }
    }
}

#[test]
fn an_informer_goes_on_after_a_second_panic_of_a_deserialize() {
    let mut talk = talk(|_| ());
    let _ = talk.asked();
    talk.head(200);
    sends_a_panic(&mut talk, &list(9, &[pod("a", "1", 1, "0"), pod("b", "2", 2, PANICS), pod("c", "3", 3, PANICS)]));
    talk.ends();
    assert_eq!(talk.told_despite_panics(), ["undecodable None", "undecodable None", "initial a@1", "synced"]);
    assert!(talk.asked().contains("watch=1"));
}

#[test]
fn the_rest_of_a_chunk_is_read_at_once_after_a_panic() {
    let chunk = event("MODIFIED", &pod("a", "1", 2, PANICS)) + &event("MODIFIED", &pod("a", "1", 3, "0"));
    let mut polled = talk(|_| ()).watching(&[pod("a", "1", 1, "0")]);
    sends_a_panic(&mut polled, &chunk);
    assert_eq!(polled.informer.poll_timeout(), Some(polled.now), "the next poll is due now");
    let told = polled.told();
    assert_eq!(told[0], "undecodable None");
    let mut timed = talk(|_| ()).watching(&[pod("a", "1", 1, "0")]);
    sends_a_panic(&mut timed, &chunk);
    timed.informer.handle_timeout(timed.now);
    assert!(!timed.informer.wants_input(), "the panic is to be taken first");
    assert_ne!(timed.informer.poll_timeout(), Some(timed.now));
    assert_eq!(timed.told(), told);
}

#[test]
fn an_event_is_told_although_the_decoding_of_the_next_one_panics() {
    let mut talk = talk(|config| config.queue_limit = 1).watching(&[]);
    talk.sends(&(event("ADDED", &pod("a", "1", 2, "0")) + &event("ADDED", &pod("b", "2", 3, PANICS))));
    assert_eq!(talk.told_despite_panics()[0], "added a@2");
}

#[test]
fn an_undecodable_object_is_told_although_the_next_decoding_panics() {
    let mut talk = talk(|_| ()).watching(&[]);
    talk.sends(&(event("ADDED", &pod("a", "1", 2, "\"two\"")) + &event("ADDED", &pod("b", "2", 3, PANICS))));
    assert_eq!(talk.told_despite_panics()[0], r#"undecodable Some("a")"#);
}

/// Decodes JSON, and panics in its first [`Decode::finish`].
struct PanicsAtTheEnd(Json<Pod>, bool);

impl Decode for PanicsAtTheEnd {
    type Object = ObjectHandle<Pod>;

    fn start(&mut self, query: crate::request::Query, head: &ResponseHead) {
        self.0.start(query, head);
    }

    fn space(&mut self) -> &mut [u8] {
        self.0.space()
    }

    fn take(&mut self, len: usize) {
        self.0.take(len);
    }

    fn next_part(&mut self) -> Option<crate::decode::Part<ObjectHandle<Pod>>> {
        self.0.next_part()
    }

    fn finish(&mut self) -> crate::decode::Ending<'_> {
        assert!(core::mem::replace(&mut self.1, true), "on purpose");
        self.0.finish()
    }
}

#[test]
fn a_response_ends_although_the_decoder_panics_over_its_end() {
    let decoder = PanicsAtTheEnd(Json::new(DecodeOptions::default()), false);
    let config = InformerConfig::default();
    let mut informer = InformerIn::<_, _, Heap>::with_decoder(Resource::new("/pods"), config, decoder, Indexer::new());
    informer.start(Instant::ZERO);
    let Some(Action::Open(id, _)) = informer.poll_action() else { panic!("no request") };
    informer.handle(Instant::ZERO, Incoming::Head { id, head: ResponseHead { status: 200, ..Default::default() } });
    let ends = std::panic::AssertUnwindSafe(|| informer.handle(Instant::ZERO, Incoming::End { id }));
    assert!(std::panic::catch_unwind(ends).is_err());
    let event = informer.poll_event();
    assert!(matches!(event, Some(EventOf::Failed(_))), "{event:?}");
}
