use super::*;
use crate::request::RequestId;
use crate::transport::{ResponseHead, TransportErrorKind};
use core::task::Poll;
use core::time::Duration;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Pod {
    #[serde(deserialize_with = "number")]
    n: u32,
}

/// A type of the caller's that panics for one number.
const PANICS: &str = "13";

fn number<'de, D: serde::Deserializer<'de>>(json: D) -> Result<u32, D::Error> {
    let number = <u32 as serde::Deserialize>::deserialize(json)?;
    assert_ne!(number.to_string(), PANICS);
    Ok(number)
}

/// An informer and the server it talks to, by hand.
struct Talk {
    informer: Informer<Pod>,
    now: Instant,
    id: RequestId,
    /// What was told while nobody asked.
    told: Vec<String>,
}

fn talk(configure: impl FnOnce(&mut InformerConfig)) -> Talk {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    config.reflector.watch_timeout = None;
    config.reflector.answer_timeout = None;
    config.reflector.reconnect_jitter = Duration::ZERO;
    configure(&mut config);
    let mut informer = Informer::new(Resource::new("/pods"), config);
    informer.start(Instant::ZERO);
    Talk { informer, now: Instant::ZERO, id: RequestId(0), told: Vec::new() }
}

fn pod(name: &str, uid: &str, version: u32, n: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}","resourceVersion":"{version}"}},"n":{n}}}"#)
}

fn list(version: u32, items: &[String]) -> String {
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#, items.join(","))
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

impl Talk {
    /// The next request; waits for a back-off.
    fn asked(&mut self) -> String {
        loop {
            match self.informer.poll_action() {
                Some(Action::Open(id, request)) => {
                    self.id = id;
                    return request.to_string();
                }
                Some(Action::Abort(_)) => {}
                None => {
                    self.told = self.told();
                    self.now = self.informer.poll_timeout().expect("something is asked, or waited for");
                    self.informer.handle_timeout(self.now);
                }
            }
        }
    }

    fn head(&mut self, status: u16) {
        let head = ResponseHead { status, ..ResponseHead::default() };
        self.informer.handle(self.now, Incoming::Head { id: self.id, head });
    }

    fn sends(&mut self, body: &str) {
        for chunk in body.as_bytes().chunks(1000) {
            self.informer.space()[..chunk.len()].copy_from_slice(chunk);
            self.informer.handle(self.now, Incoming::Data { id: self.id, len: chunk.len() });
        }
    }

    fn ends(&mut self) {
        self.informer.handle(self.now, Incoming::End { id: self.id });
    }

    fn breaks(&mut self) {
        let error = TransportError::new(TransportErrorKind::Reset, "");
        self.informer.handle(self.now, Incoming::Failed { id: self.id, error });
    }

    fn answers(&mut self, body: &str) {
        let _ = self.asked();
        self.head(200);
        self.sends(body);
        self.ends();
    }

    /// Answers a list and opens the watch after it.
    fn watching(mut self, items: &[String]) -> Self {
        self.answers(&list(1, items));
        assert!(self.asked().contains("watch=1"));
        self.head(200);
        let _ = self.told();
        self
    }

    fn told(&mut self) -> Vec<String> {
        let mut told = core::mem::take(&mut self.told);
        while let Some(event) = self.informer.poll_event() {
            told.push(show(&event));
        }
        told
    }

    fn status(&self) -> String {
        self.informer.status(self.now).to_string()
    }

    fn cache(&self) -> Vec<String> {
        self.informer.cache().iter().map(|pod| format!("{}@{}", pod.meta.key(), pod.meta.resource_version())).collect()
    }
}

fn show(event: &Event<Pod>) -> String {
    let key = |object: &Arc<Object<Pod>>| format!("{}@{}", object.meta.key(), object.meta.resource_version());
    match event {
        Event::Added { object, initial: true } => format!("initial {}", key(object)),
        Event::Added { object, .. } => format!("added {}", key(object)),
        Event::Updated { old, new } => format!("updated {} {}", key(old), key(new)),
        Event::Recreated { old, new } => format!("recreated {} {}", key(old), key(new)),
        Event::Deleted { object, final_state_known: true } => format!("deleted {}", key(object)),
        Event::Deleted { object, .. } => format!("vanished {}", key(object)),
        Event::Synced => "synced".to_string(),
        Event::Undecodable(undecodable) => format!("undecodable {:?}", undecodable.key),
        Event::Failed(failed) => format!("failed {:?} {:?}", failed.operation, failed.reaction),
    }
}

#[test]
fn a_list_and_its_watch_are_told_and_cached() {
    let mut talk = talk(|_| {});
    talk.answers(&list(5, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]));
    assert_eq!(talk.told(), ["initial a@3", "initial b@4", "synced"]);
    assert_eq!(talk.asked(), "/pods?watch=1&allowWatchBookmarks=true&resourceVersion=5");
    talk.head(200);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, "1")));
    talk.sends(&event("DELETED", &pod("b", "2", 7, "0")));
    talk.sends(&event("ADDED", &pod("c", "3", 8, "0")));
    assert_eq!(talk.told(), ["updated a@3 a@6", "deleted b@7", "added c@8"]);
    assert_eq!(talk.cache(), ["a@6", "c@8"]);
}

#[test]
fn an_object_with_another_uid_is_a_recreation() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "2", 6, "0")));
    assert_eq!(talk.told(), ["recreated a@1 a@6"]);
}

/// R1 is mended here: the queue delivers the deletion of an object that nobody knew, the informer does not.
#[test]
fn the_deletion_of_an_unknown_object_is_not_told() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends(&event("DELETED", &pod("a", "1", 6, "0")));
    assert!(talk.told().is_empty());
    assert_eq!(talk.informer.received_version(), Some("6"));
}

#[test]
fn a_relist_tells_what_vanished_and_holds_what_stayed_only_once() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    let held = talk.informer.cache().object("b").cloned().unwrap();
    talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
    talk.answers(&list(9, &[pod("b", "2", 1, "0"), pod("c", "3", 8, "0")]));
    assert_eq!(talk.told(), ["failed Watch Relist", "vanished a@1", "updated b@1 b@1", "added c@8"]);
    assert!(Arc::ptr_eq(&held, talk.informer.cache().object("b").unwrap()));
}

/// Aggregated API servers may serve objects without versions, or without uids.
#[test]
fn a_relist_of_objects_without_versions_kept_their_old_contents_for_ever() {
    for identity in ["", r#","uid":"1""#, r#","resourceVersion":"5""#] {
        let item = |n: u32| format!(r#"{{"metadata":{{"name":"a"{identity}}},"n":{n}}}"#);
        let n = |talk: &Talk| talk.informer.cache().object("a").unwrap().value.n;
        let mut talk = talk(|_| {}).watching(&[item(1)]);
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        talk.answers(&list(9, &[item(2)]));
        let _ = talk.told();
        assert_eq!(n(&talk), 2, "with {identity:?}");
    }
}

#[test]
fn what_cannot_be_decoded_keeps_its_last_good_state() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, "\"six\"")));
    assert_eq!(talk.told(), [r#"undecodable Some("a")"#]);
    assert_eq!(talk.cache(), ["a@1"]);
    assert_eq!(talk.informer.received_version(), Some("6"), "the stream goes on behind it");
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
fn a_list_that_breaks_off_tells_nobody_anything() {
    let mut talk = talk(|_| {});
    let whole = list(5, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]);
    for broken in [false, true] {
        let _ = talk.asked();
        talk.head(200);
        talk.sends(&whole[..whole.len() - 3]);
        if broken {
            talk.breaks();
        } else {
            talk.ends();
        }
        assert_eq!(talk.told(), ["failed List Relist"]);
    }
    talk.answers(&whole);
    assert_eq!(talk.told(), ["initial a@3", "initial b@4", "synced"]);
}

#[test]
fn a_list_with_all_its_brackets_is_whole_however_the_connection_ends() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&list(5, &[pod("a", "1", 3, "0")]));
    talk.breaks();
    assert_eq!(talk.told(), ["initial a@3", "synced"]);
}

#[test]
fn an_answer_that_is_no_list_is_a_failure() {
    let mut talk = talk(|_| {});
    talk.answers("<html>Please log in</html>");
    assert_eq!(talk.told(), ["failed List Relist"]);
    assert!(talk.asked().starts_with("/pods?limit"));
}

#[test]
fn a_line_that_is_cut_off_is_dropped_and_comes_again() {
    let mut talk = talk(|_| {}).watching(&[]);
    let line = event("ADDED", &pod("a", "1", 6, "0"));
    talk.sends(&event("ADDED", &pod("b", "1", 5, "0")));
    talk.sends(&line[..line.len() - 1]);
    talk.breaks();
    assert_eq!(talk.told(), ["failed Watch Rewatch", "added b@5"]);
    assert!(talk.asked().ends_with("resourceVersion=5"));
}

#[test]
fn a_full_queue_stops_the_reading_and_loses_nothing() {
    let mut talk = talk(|config| config.queue_limit = 2).watching(&[]);
    let lines: String = (0..9).map(|n| event("ADDED", &pod(&format!("p{n}"), "1", n + 2, "0"))).collect();
    talk.sends(&lines);
    talk.ends();
    assert_eq!((talk.informer.queued(), talk.informer.wants_input()), (2, false));
    assert_eq!(talk.informer.phase(), Phase::Watching);
    assert!(talk.informer.poll_action().is_none(), "the answer is over when all of it has been read");
    let told = talk.told();
    assert_eq!((told.len(), told.last().map(String::as_str)), (9, Some("added p8@10")));
    assert!(talk.asked().ends_with("resourceVersion=10"));
}

/// Ten thousand of them may come to 80 GB.
#[test]
fn large_objects_filled_the_memory_before_they_filled_the_queue() {
    let large = |n: u32| {
        let metadata = format!(r#"{{"name":"p{n}","uid":"1","resourceVersion":"{}"}}"#, n + 2);
        event("ADDED", &format!(r#"{{"metadata":{metadata},"n":0,"text":"{}"}}"#, "x".repeat(1000)))
    };
    let mut talk = talk(|config| config.queue_bytes = 2500).watching(&[]);
    talk.sends(&(0..9).map(large).collect::<String>());
    talk.ends();
    assert_eq!((talk.informer.queued(), talk.informer.wants_input()), (3, false));
    let _ = talk.informer.poll_event();
    assert_eq!(talk.informer.queued(), 3, "there is room for one more");
    let told = talk.told();
    assert_eq!((told.len(), told.last().map(String::as_str)), (8, Some("added p8@10")), "nothing is lost");
    assert!(talk.asked().ends_with("resourceVersion=10"));
}

#[test]
fn an_object_larger_than_the_queue_comes_through_by_itself() {
    for queue_bytes in [0, 1, 100] {
        let mut talk = talk(|config| config.queue_bytes = queue_bytes).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&(2..5).map(|version| event("MODIFIED", &pod("a", "1", version, "0"))).collect::<String>());
        assert_eq!(talk.informer.queued(), if queue_bytes == 100 { 2 } else { 1 });
        assert_eq!(talk.told(), ["updated a@1 a@2", "updated a@2 a@3", "updated a@3 a@4"]);
        talk.sends(&event("DELETED", &pod("a", "1", 5, "0")));
        assert_eq!(talk.told(), ["deleted a@5"]);
    }
}

#[test]
fn an_object_over_the_limit_is_skipped_and_reported() {
    let mut talk = talk(|config| config.decode.frame_limit = 200).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, &format!("\"{}\"", "x".repeat(5000)))));
    talk.sends(&event("ADDED", &pod("b", "2", 7, "0")));
    assert_eq!(talk.told(), ["undecodable None", "added b@7"]);
}

#[test]
fn a_refusal_is_read_to_its_end() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(403);
    talk.sends(r#"{"kind":"Status","reason":"Forbidden","message":"pods is forbidden","code":403}"#);
    assert!(talk.told().is_empty());
    talk.ends();
    let Some(Event::Failed(failed)) = talk.informer.poll_event() else { panic!("no failure") };
    assert_eq!(failed.failure.to_string(), "status 403 Forbidden: pods is forbidden");
}

#[test]
fn a_refusal_of_two_megabytes_said_nothing() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(403);
    talk.sends(&format!(r#"{{"kind":"Status","message":"pods is forbidden{}""#, ", really".repeat(250_000)));
    talk.ends();
    let Some(Event::Failed(failed)) = talk.informer.poll_event() else { panic!("no failure") };
    let said = failed.failure.to_string();
    assert!(said.starts_with(r#"status 403: {"kind":"Status","message":"pods is forbidden, really"#), "{said}");
    assert!(said.len() < 300, "{said}");
}

#[test]
fn a_watch_list_is_told_when_it_is_complete_with_what_changed_meanwhile() {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    assert!(talk.asked().contains("sendInitialEvents=true"));
    talk.head(200);
    talk.sends(&event("ADDED", &pod("a", "1", 1, "0")));
    talk.sends(&event("ADDED", &pod("b", "2", 2, "0")));
    talk.sends(&event("MODIFIED", &pod("a", "1", 3, "0")));
    talk.sends(&event("DELETED", &pod("b", "2", 4, "0")));
    assert!(talk.told().is_empty());
    let end = r#"{"metadata":{"resourceVersion":"4","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    talk.sends(&event("BOOKMARK", end));
    assert_eq!(talk.told(), ["initial a@3", "synced"]);
    talk.sends(&event("DELETED", &pod("a", "1", 5, "0")));
    assert_eq!(talk.told(), ["deleted a@5"]);
}

#[test]
fn stopping_in_the_middle_of_a_list_forgets_it_and_starting_begins_anew() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(200);
    talk.sends(r#"{"items":[{"metadata":{"name":"old"},"n":1},"#);
    talk.informer.stop(talk.now);
    talk.sends(r#"{"metadata":{"name":"older"},"n":1}]}"#);
    talk.ends();
    assert!(talk.told().is_empty());
    talk.informer.start(talk.now);
    talk.answers(&list(5, &[pod("a", "1", 3, "0")]));
    assert_eq!(talk.told(), ["initial a@3", "synced"]);
    assert_eq!(talk.now, Instant::ZERO + Duration::ZERO);
}

/// A proxy's page, a status under 200, a table: nothing of it says that the objects are gone.
#[test]
fn a_body_that_is_no_list_leaves_the_cache_alone() {
    let status = r#"{"kind":"Status","status":"Failure","code":500}"#;
    let table = r#"{"kind":"Table","metadata":{"resourceVersion":"9"},"rows":[{}]}"#;
    for body in ["{}", status, table, r#"{"items":{}}"#, r#"{"metadata":{},"it\u0065ms":[]}"#] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        talk.answers(body);
        assert_eq!(talk.told(), ["failed Watch Relist", "failed List Relist"], "{body}");
        assert_eq!(talk.cache(), ["a@1"], "{body}");
    }
}

/// Go takes the last of them, which cannot be known before the end; and escapes make no other name of it.
#[test]
fn a_list_with_items_twice_was_the_sum_of_both() {
    let b = pod("b", "2", 8, "0");
    for items in [
        format!(r#""items":[],"items":[{b}]"#),
        format!(r#""items":[{b}],"items":[]"#),
        format!(r#""items":[{b}],"items":null"#),
        format!(r#""items":null,"items":[{b}]"#),
        format!(r#""items":[{b}],"it\u0065ms":[]"#),
        format!(r#""\u0069\u0074\u0065\u006D\u0073":[],"items":[{b}]"#),
    ] {
        let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        talk.answers(&format!(r#"{{"metadata":{{"resourceVersion":"9"}},{items}}}"#));
        assert_eq!(talk.told(), ["failed Watch Relist", "failed List Relist"], "{items}");
        assert_eq!(talk.cache(), ["a@1"], "{items}");
        talk.answers(&list(9, &[]));
        assert_eq!(talk.told(), ["vanished a@1"], "the next list is another one");
    }
    let mut talk = talk(|_| {});
    talk.answers(&format!(
        r#"{{"Items":[],"metadata":{{"resourceVersion":"9"}},"items":[{b}],"ITEMS":[],"it\"ems":1}}"#
    ));
    assert_eq!(talk.told(), ["initial b@8", "synced"], "case makes another name");
}

#[test]
fn a_watch_of_garbage_backs_off_and_lists_again() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends("<html>\nplease log in\n");
    let _ = talk.told();
    let before = talk.now;
    talk.ends();
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    assert!(!talk.asked().contains("watch") && talk.now > before);
}

#[test]
fn an_error_event_with_odd_details_is_still_an_error() {
    for object in [r#"{"code":410,"reason":"Expired","details":null}"#, r#"{"code":"410"}"#, "null", "[]"] {
        let mut talk = talk(|_| {}).watching(&[]);
        talk.sends(&event("ERROR", object));
        assert_eq!(talk.told(), ["failed Watch Relist"], "{object}");
    }
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

#[test]
fn who_does_not_read_does_not_call_the_server_silent() {
    let mut talk = talk(|config| {
        config.queue_limit = 1;
        config.reflector.watch_timeout = Some((Duration::from_secs(10), Duration::from_secs(10)));
    })
    .watching(&[]);
    let lines: String = (0..3).map(|n| event("ADDED", &pod(&format!("p{n}"), "1", n + 2, "0"))).collect();
    talk.sends(&lines);
    assert_eq!(talk.informer.poll_timeout(), None);
    talk.now = talk.now + Duration::from_secs(3600);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.told(), ["added p0@2", "added p1@3", "added p2@4"]);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.informer.phase(), Phase::Watching);
    assert!(talk.informer.poll_timeout().unwrap() > talk.now, "the silence begins now");
}

/// No time was told to the informer while events waited, as under a driver that is polled only when somebody wants one.
#[test]
fn a_reader_that_comes_back_after_an_hour_does_not_call_the_server_silent() {
    let mut talk = talk(|config| {
        config.queue_limit = 1;
        config.reflector.watch_list = true;
        config.reflector.answer_timeout = Some(Duration::from_secs(60));
    });
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&event("ADDED", r#"{"metadata":{"name":"a","resourceVersion":"1"},"n":"x"}"#));
    assert!(!talk.informer.wants_input(), "an object that could not be decoded is to be taken first");
    talk.now = talk.now + Duration::from_secs(3600);
    assert_eq!(talk.told(), [r#"undecodable Some("a")"#]);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.informer.phase(), Phase::Listing);
    assert_eq!(talk.informer.poll_timeout(), Some(talk.now + Duration::from_secs(60)), "the silence begins now");
}

#[test]
fn an_answer_that_came_while_a_failure_waited_to_be_taken_is_not_given_up() {
    let mut talk = talk(|config| {
        config.reflector.watch_list = true;
        config.reflector.answer_timeout = Some(Duration::from_secs(60));
    });
    let _ = talk.asked();
    talk.head(422);
    talk.ends();
    assert!(matches!(talk.informer.poll_action(), Some(Action::Open(..))), "a list is asked for at once");
    talk.now = talk.now + Duration::from_secs(3600);
    assert_eq!(talk.told().len(), 1);
    talk.informer.handle_timeout(talk.now);
    assert_eq!(talk.informer.phase(), Phase::Listing);
    assert_eq!(talk.informer.poll_timeout(), Some(talk.now + Duration::from_secs(60)), "the silence begins now");
}

#[test]
fn what_comes_after_a_stop_has_no_effect() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.informer.stop(talk.now);
    talk.sends("garbage\n");
    talk.ends();
    assert!(talk.told().is_empty() && talk.informer.wants_input());
}

#[test]
fn every_failure_is_told_even_if_the_next_one_comes_at_once() {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    let _ = talk.asked();
    talk.head(422);
    talk.ends();
    assert!(!talk.informer.wants_input(), "nothing more is read before the first is told");
    assert_eq!(talk.told(), ["failed WatchList ListInstead"]);
    let _ = talk.asked();
    talk.head(403);
    talk.ends();
    assert_eq!(talk.told(), ["failed List Relist"]);
}

#[test]
fn a_seed_counts_unless_the_configuration_has_one_or_the_informer_was_started() {
    let asked = |chosen: Option<u64>, before: u64, after: u64| {
        let mut config = InformerConfig::default();
        config.reflector.seed = chosen;
        let mut informer = Informer::<Pod>::new(Resource::new("/pods"), config);
        informer.seed_unless_chosen(before);
        informer.start(Instant::ZERO);
        informer.seed_unless_chosen(after);
        informer.poll_action()
    };
    assert_ne!(asked(None, 1, 1), asked(None, 2, 1));
    assert_eq!(asked(None, 1, 1), asked(None, 1, 2), "after the start");
    assert_eq!(asked(Some(7), 1, 1), asked(Some(7), 2, 2), "chosen");
    assert_eq!(asked(Some(7), 1, 1), asked(None, 7, 1));
}

/// How many items a list without an end has when it is given up.
fn endless(talk: &mut Talk, n: &str) -> usize {
    let _ = talk.asked();
    talk.head(200);
    talk.sends(r#"{"metadata":{"resourceVersion":"9"},"items":["#);
    let items = (0..1000).map(|item| format!("{},", pod(&format!("pod-{item}"), "2", 3, n)));
    let staged = items.take_while(|item| {
        talk.sends(item);
        !talk.told().contains(&"failed List Relist".into())
    });
    staged.count()
}

/// Tiny items took 1.7 GB in five seconds.
#[test]
fn an_endless_list_was_staged_without_a_limit() {
    let mut talk = talk(|config| config.max_list_bytes = 100_000).watching(&[pod("kept", "1", 2, "0")]);
    talk.sends(&event("ERROR", r#"{"code":410}"#));
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    let staged = endless(&mut talk, "0");
    assert!((100..200).contains(&staged), "{staged} items");
    assert_eq!(talk.informer.cache().len(), 1, "nothing is taken for deleted");
}

#[test]
fn an_endless_list_of_undecodable_items_is_given_up() {
    let mut talk = talk(|config| config.max_list_bytes = 100_000);
    let staged = endless(&mut talk, r#""bad""#);
    assert!((100..200).contains(&staged), "{staged} items");
}

#[test]
fn a_queue_of_no_length_holds_one() {
    let mut talk = talk(|config| config.queue_limit = 0).watching(&[]);
    talk.sends(&event("ADDED", &pod("a", "1", 2, "0")));
    assert_eq!(talk.told(), ["added a@2"]);
}

#[test]
fn the_status_says_what_is_going_on_from_the_start_to_the_stop() {
    let mut talk = talk(|_| {});
    let second = Duration::from_secs(1);
    assert_eq!(talk.status(), "listing for 0 s, 0 items so far");
    let _ = talk.asked();
    talk.head(200);
    talk.now = talk.now + second;
    talk.sends(&list(7, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]));
    assert_eq!(talk.status(), "listing for 1 s, 2 items so far");
    assert_eq!(talk.informer.poll_synced(talk.now), Poll::Pending);
    talk.ends();
    assert_eq!(talk.status(), "listed; 2 events wait to be taken");
    let _ = talk.told();
    assert_eq!(talk.status(), "synced at version 7, last heard of 0 s ago");
    assert_eq!(talk.informer.poll_synced(talk.now), Poll::Ready(Ok(())));
    let _ = talk.asked();
    talk.head(200);
    talk.now = talk.now + 180 * second;
    assert_eq!(talk.status(), "synced at version 7, last heard of 3 min ago (a bookmark is overdue)");
    talk.sends(&event("MODIFIED", &pod("a", "1", 9, "1")));
    assert_eq!(talk.status(), "synced at version 7 of 9, last heard of 0 s ago");
    let _ = talk.told();
    talk.breaks();
    assert_eq!(talk.informer.poll_event().map(|event| show(&event)).as_deref(), Some("failed Watch Rewatch"));
    let failing = talk.status();
    assert!(failing.starts_with("failing: unreachable, 1 attempt, next in "), "{failing}");
    assert!(failing.ends_with("; the cache may be old"), "{failing}");
    let _ = talk.asked();
    assert!(talk.status().contains("trying again now"), "{}", talk.status());
    talk.head(200);
    assert!(talk.status().starts_with("synced at version 9"), "{}", talk.status());
    talk.sends(&event("ERROR", r#"{"code":410}"#));
    let _ = talk.told();
    assert!(talk.status().starts_with("failing: expired (status 410), 2 attempts"), "{}", talk.status());
    let again = list(10, &[]);
    let _ = talk.asked();
    talk.head(200);
    assert_eq!(talk.status(), "listing again for 0 s, 0 items so far");
    talk.sends(&again);
    talk.ends();
    let _ = talk.told();
    assert_eq!(talk.status(), "synced at version 10, last heard of 0 s ago", "before its watch is answered");
    talk.informer.stop(talk.now);
    assert_eq!(talk.status(), "stopped");
}

#[test]
fn an_informer_that_is_stopped_while_requests_fail_is_stopped_and_not_failing() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(500);
    talk.ends();
    assert!(talk.status().starts_with("failing"), "{}", talk.status());
    talk.informer.stop(talk.now);
    assert_eq!(talk.status(), "stopped");
}

/// controller-runtime #1653: a resource that may not be listed must not keep everybody waiting in silence.
#[test]
fn who_waits_for_the_first_state_is_told_when_waiting_does_not_help() {
    for (status, told) in [(401, true), (403, true), (404, true), (500, false), (429, false)] {
        let mut talk = talk(|_| {});
        let _ = talk.asked();
        talk.head(status);
        talk.ends();
        match talk.informer.poll_synced(talk.now) {
            Poll::Ready(Err(InformerStatus::Failing { status: Some(said), attempts: 1, synced: false, .. })) => {
                assert!(told && said == status, "{said}");
            }
            other => assert!(!told && other == Poll::Pending, "{status}: {other:?}"),
        }
        talk.answers(&list(7, &[]));
        let _ = talk.told();
        assert_eq!(talk.informer.poll_synced(talk.now), Poll::Ready(Ok(())), "it was helped");
    }
}

/// Pain 4. It was known by snapshots of the queue, so it was late by up to a queue's length. By key it was not known at
/// all while anything waited.
#[test]
fn the_applied_version_was_late_by_a_queues_length() {
    for order in [Order::Arrival, Order::ByKey] {
        let mut talk = talk(|config| config.order = order).watching(&[]);
        assert_eq!(talk.informer.applied_version(), Some("1"));
        let mut taken = 0;
        for version in 2..40 {
            talk.sends(&event("MODIFIED", &pod(&format!("pod-{version}"), "1", version, "0")));
            // Three come, two are taken: the queue grows, and is never empty.
            if version % 3 != 0 {
                taken += usize::from(talk.informer.poll_event().is_some());
            }
            let applied: usize = talk.informer.applied_version().unwrap().parse().unwrap();
            assert_eq!(applied, taken + 1, "{order:?}");
        }
        assert!(talk.informer.queued() > 0);
        let _ = talk.told();
        assert_eq!(talk.informer.applied_version(), Some("39"));
    }
}

/// By key, newer deltas of a key overtake older ones of others: it stays before the oldest one that waits.
#[test]
fn by_key_the_applied_version_waits_for_what_was_overtaken() {
    let mut talk = talk(|config| config.order = Order::ByKey).watching(&[]);
    for (name, version) in [("a", 2), ("b", 3), ("a", 4), ("c", 5), ("b", 6)] {
        talk.sends(&event("MODIFIED", &pod(name, "1", version, "0")));
    }
    let mut applied = Vec::new();
    while let Some(event) = talk.informer.poll_event() {
        applied.push((show(&event), talk.informer.applied_version().map(String::from)));
    }
    let told: Vec<_> = applied.iter().map(|(event, version)| (&**event, version.as_deref().unwrap())).collect();
    let expected = [
        ("added a@2", "2"),
        ("updated a@2 a@4", "2"),
        ("added b@3", "4"),
        ("updated b@3 b@6", "4"),
        ("added c@5", "6"),
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_bookmark_moves_the_applied_version_once_everything_before_it_was_taken() {
    let bookmark = |version: u32| event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}"}}}}"#));
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends(&bookmark(3));
    assert_eq!(talk.informer.applied_version(), Some("3"), "nothing is before it");
    talk.sends(&event("ADDED", &pod("a", "1", 4, "0")));
    talk.sends(&bookmark(6));
    talk.sends(&bookmark(7));
    talk.sends(&event("ADDED", &pod("b", "1", 8, "0")));
    assert_eq!(talk.informer.applied_version(), Some("3"));
    assert!(talk.informer.poll_event().is_some());
    assert_eq!(talk.informer.applied_version(), Some("7"));
    assert!(talk.informer.poll_event().is_some());
    assert_eq!(talk.informer.applied_version(), Some("8"));
}

#[test]
fn a_relist_is_applied_when_all_of_it_was_taken() {
    for order in [Order::Arrival, Order::ByKey] {
        let mut talk = talk(|config| config.order = order).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
        talk.sends(&event("ADDED", &pod("c", "3", 5, "0")));
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        assert!(matches!(talk.informer.poll_event(), Some(Event::Failed(_))));
        talk.now = talk.informer.poll_timeout().unwrap();
        talk.informer.handle_timeout(talk.now);
        while let Some(action) = talk.informer.poll_action() {
            talk.id = if let Action::Open(id, _) = action { id } else { talk.id };
        }
        talk.head(200);
        talk.sends(&list(9, &[pod("b", "2", 1, "0"), pod("d", "4", 8, "0")]));
        talk.ends();
        let mut applied = Vec::new();
        while talk.informer.poll_event().is_some() {
            applied.push(talk.informer.applied_version().unwrap().to_string());
        }
        // Of c its addition and its deletion, of a its deletion, and two items.
        assert_eq!(applied, ["5", "5", "5", "5", "9"], "{order:?}");
    }
}

#[test]
fn a_delta_is_not_lost_where_an_index_function_panics_over_it() {
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "1")]);
    let flawed = Arc::new(AtomicBool::new(true));
    let calls = Arc::clone(&flawed);
    talk.informer.add_index(move |pod: &Arc<Object<Pod>>, emit: &mut dyn FnMut(&str)| {
        assert!(!calls.load(Relaxed) || pod.value.n < 2, "on purpose");
        emit("one");
    });
    talk.sends(&event("MODIFIED", &pod("a", "1", 2, "2")));
    talk.sends(&event("DELETED", &pod("a", "1", 3, "2")));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| talk.informer.poll_event())).is_err();
    assert!(panicked);
    talk.informer.cache().check();
    assert_eq!((talk.informer.queued(), talk.informer.cache().object("a").unwrap().value.n), (2, 1));
    flawed.store(false, Relaxed);
    assert_eq!(talk.told().len(), 2, "the update, and the deletion after it");
}

/// A type of the user's that is neither `Clone` nor `Debug`, in events that share it.
#[test]
fn events_asked_of_the_objects_what_their_handles_do_not_need() {
    #[derive(serde::Deserialize)]
    struct Plain {}
    fn same<T: Clone + fmt::Debug>(event: &T) -> String {
        format!("{:?}", event.clone())
    }
    let mut informer = Informer::<Plain>::new(Resource::new("/pods"), InformerConfig::default());
    informer.start(Instant::ZERO);
    assert!(format!("{informer:?}").contains("DeltaFifo"));
    let object = |version: u32| {
        let item = pod("a", "1", version, "0");
        Arc::new(crate::decode::Decoder::default().item::<Plain>(item.as_bytes(), &Default::default()).unwrap())
    };
    let shown = |version: u32| format!(r#"Meta {{ key: "a", uid: "1", resource_version: "{version}", .. }}"#);
    let events = [
        (Event::Added { object: object(1), initial: true }, format!("Added {{ object: {}, initial: true }}", shown(1))),
        (
            Event::Updated { old: object(1), new: object(2) },
            format!("Updated {{ old: {}, new: {} }}", shown(1), shown(2)),
        ),
        (
            Event::Recreated { old: object(1), new: object(2) },
            format!("Recreated {{ old: {}, new: {} }}", shown(1), shown(2)),
        ),
        (
            Event::Deleted { object: object(2), final_state_known: false },
            format!("Deleted {{ object: {}, final_state_known: false }}", shown(2)),
        ),
        (Event::Synced, "Synced".into()),
    ];
    for (event, shown) in events {
        assert_eq!(same(&event), shown);
    }
}

/// The caller catches what the type of its objects panics with, and goes on.
fn sends_a_panic(talk: &mut Talk, body: &str) {
    let sends = std::panic::AssertUnwindSafe(|| talk.sends(body));
    assert!(std::panic::catch_unwind(sends).is_err());
}

#[test]
fn an_object_whose_decoding_panicked_was_told_as_deleted() {
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
fn a_change_whose_decoding_panicked_was_lost() {
    let mut talk = talk(|_| ()).watching(&[pod("a", "1", 1, "0")]);
    sends_a_panic(&mut talk, &event("MODIFIED", &pod("a", "1", 2, PANICS)));
    talk.sends(&event("MODIFIED", &pod("b", "2", 3, "0")));
    talk.ends();
    let asked = talk.asked();
    assert!(!asked.contains("watch=1"), "after a change that is lost it lists again: {asked}");
}
