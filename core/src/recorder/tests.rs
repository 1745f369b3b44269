use super::*;
use crate::api::{ApiRequest, ApiResponse, CallAction, Method};
use crate::request::RequestId;
use crate::time::{Instant, WallTime};
use crate::transport::{TransportError, TransportErrorKind};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use serde_json::{Value, json};
use std::format;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// A recorder, and a server that keeps Events as kube-apiserver does.
struct World {
    recorder: EventRecorder,
    now: Instant,
    events: BTreeMap<String, Value>,
    /// What was asked of the server.
    methods: Vec<&'static str>,
    /// How the server answers, while it is sick.
    sickness: Option<fn() -> Result<ApiResponse, TransportError>>,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut RecorderConfig)) -> Self {
        let mut config = RecorderConfig::new("example.com/foo", "foo-0");
        change(&mut config);
        let recorder = EventRecorder::new(config).unwrap();
        let (events, methods) = (BTreeMap::new(), Vec::new());
        Self { recorder, now: Instant::from_nanos(1), events, methods, sickness: None }
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_seconds(1_000) + self.now.saturating_since(Instant::ZERO)
    }

    /// Records an occurrence, and leaves its request unsent.
    fn note(&mut self, occurrence: Occurrence) {
        self.recorder.record(self.now, self.wall(), occurrence);
    }

    /// Records an occurrence, with a server that answers at once.
    fn record(&mut self, occurrence: Occurrence) {
        self.note(occurrence);
        self.settle();
    }

    fn asked(&mut self) -> Option<(RequestId, ApiRequest)> {
        loop {
            match self.recorder.poll_action(self.now)? {
                CallAction::Open { id, request } => {
                    self.methods.push(request.method.name());
                    return Some((id, request));
                }
                CallAction::Abort(_) => {}
            }
        }
    }

    fn settle(&mut self) {
        while let Some((id, request)) = self.asked() {
            let answer = self.sickness.map_or_else(|| Ok(self.serve(&request)), |sickness| sickness());
            self.recorder.handle_answer(self.now, id, answer);
        }
    }

    fn serve(&mut self, request: &ApiRequest) -> ApiResponse {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let (_, name) = request.path.rsplit_once('/').unwrap();
        match request.method {
            Method::Post => {
                let name = body["metadata"]["name"].as_str().unwrap();
                if self.events.contains_key(name) {
                    return refusal(409, "AlreadyExists");
                }
                check(&body, &request.path);
                self.events.insert(name.into(), body);
                ApiResponse::new(201, *b"{}")
            }
            Method::Patch => match self.events.get_mut(name) {
                Some(event) => {
                    event["series"] = body["series"].clone();
                    ApiResponse::new(200, *b"{}")
                }
                None => refusal(404, "NotFound"),
            },
            _ => panic!("{request}"),
        }
    }

    /// Lets time pass, with a server that answers at once.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.recorder.poll_timeout().filter(|next| *next <= end) {
            assert!(next > self.now, "a timeout is due after it was handled");
            self.now = next;
            self.recorder.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// The count of the only Event.
    fn count(&self) -> u64 {
        assert_eq!(self.events.len(), 1, "{:?}", self.events);
        self.events.values().next().map_or(0, count_of)
    }

    /// All that was recorded is written, or counted as lost.
    fn assert_balanced(&self) {
        let counts = self.recorder.counts();
        let written: u64 = self.events.values().map(count_of).sum();
        let lost = counts.filtered + counts.dropped + counts.refused + counts.failed;
        assert_eq!(counts.recorded, written + lost, "{counts:?}");
    }
}

fn count_of(event: &Value) -> u64 {
    event["series"]["count"].as_u64().unwrap_or(1)
}

/// The rules of kube-apiserver (`ValidateEventCreate`).
fn check(event: &Value, path: &str) {
    let len = |name: &str| event[name].as_str().unwrap().len();
    assert!((1..=128).contains(&len("action")) && (1..=128).contains(&len("reason")) && len("note") <= 1024);
    let namespace = event["regarding"]["namespace"].as_str();
    assert_eq!(event["metadata"]["namespace"], namespace.unwrap_or("default"));
    assert!(path.ends_with(&format!("/namespaces/{}/events", namespace.unwrap_or("default"))), "{path}");
    assert!(event["eventTime"].as_str().unwrap().ends_with('Z'));
    assert!(event["series"].is_null() || count_of(event) >= 2);
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(name.len() <= 253 && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')));
}

fn refusal(code: u16, reason: &str) -> ApiResponse {
    ApiResponse::new(code, json!({ "kind": "Status", "code": code, "reason": reason }).to_string())
}

fn reset() -> Result<ApiResponse, TransportError> {
    Err(TransportError::new(TransportErrorKind::Reset, "gone"))
}

fn foo(name: &str) -> ObjectReference {
    ObjectReference::new("example.com/v1", "Foo", Some("web"), name).uid("u-1")
}

fn synced() -> Occurrence {
    Occurrence::normal(foo("a"), "Synced").note("all is well")
}

fn numbered(number: usize) -> Occurrence {
    Occurrence::warning(foo("a"), &format!("Reason{number}"))
}

#[test]
fn an_event_has_what_kubectl_shows() {
    let mut world = World::new();
    let pod = ObjectReference::new("v1", "Pod", Some("web"), "a-1").resource_version("9");
    let regarding = foo("a").resource_version("7").field_path("spec.replicas");
    world.record(Occurrence::warning(regarding, "NoRoom").action("Scaling").note("no node has room").related(&pod));
    let (name, event) = world.events.pop_first().unwrap();
    assert!(name.starts_with("a."), "{name}");
    let expected = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": { "name": name, "namespace": "web" },
        "eventTime": "1970-01-01T00:16:40.000000Z",
        "reportingController": "example.com/foo", "reportingInstance": "foo-0",
        "type": "Warning", "reason": "NoRoom", "action": "Scaling", "note": "no node has room",
        "regarding": {
            "apiVersion": "example.com/v1", "kind": "Foo", "namespace": "web", "name": "a", "uid": "u-1",
            "resourceVersion": "7", "fieldPath": "spec.replicas",
        },
        "related": { "apiVersion": "v1", "kind": "Pod", "namespace": "web", "name": "a-1" },
    });
    assert_eq!(event, expected);
}

#[test]
fn no_text_and_no_namespace_is_refused() {
    let mut world = World::new();
    let long = "ö".repeat(2000);
    let node = ObjectReference::new("v1", "Node", None, "a");
    world.record(Occurrence::normal(node, &long).action(&long).note(&long));
    let event = world.events.values().next().unwrap();
    assert_eq!(event["metadata"]["namespace"], "default");
    assert_eq!(event["note"].as_str().unwrap(), ["ö".repeat(510), "…".into()].concat());
    world.record(Occurrence::normal(foo("a"), "").action(""));
    assert!(world.events.values().any(|event| event["reason"] == "Unknown" && event["action"] == "Unknown"));
    for name in ["system:node", "ö", &"a".repeat(253), "-a", "a..b"] {
        world.record(Occurrence::normal(foo(name), "Synced"));
    }
    assert_eq!((world.events.len(), world.recorder.poll_problem()), (7, None));
}

#[test]
fn repeats_are_a_series_that_is_written_twice_then_every_half_hour_and_at_its_end() {
    let mut world = World::new();
    for _ in 0..100 {
        world.record(synced());
    }
    assert_eq!((&*world.methods, world.count()), (&["POST", "PATCH"][..], 2));
    for _ in 0..35 {
        world.pass(MINUTE);
        world.record(synced());
    }
    assert_eq!((world.methods.len(), world.count()), (3, 129));
    world.pass(5 * MINUTE);
    assert_eq!(world.count(), 129);
    world.pass(2 * MINUTE);
    assert_eq!((world.methods.len(), world.count()), (4, 135));
    let last = &world.events.values().next().unwrap()["series"]["lastObservedTime"];
    assert_eq!(last, "1970-01-01T00:51:40.000000Z");
    // The next one begins another series.
    world.record(synced());
    assert_eq!((world.events.len(), world.recorder.counts().requests), (2, 5));
    world.assert_balanced();
}

#[test]
fn a_series_of_one_occurrence_is_over_after_six_minutes() {
    let mut world = World::new();
    world.record(synced());
    world.pass(6 * MINUTE);
    world.record(synced());
    assert_eq!((&*world.methods, world.events.len()), (&["POST", "POST"][..], 2));
}

#[test]
fn events_of_an_object_that_changes_are_one_series() {
    let mut world = World::new();
    for version in 0..10 {
        let changed = foo("a").resource_version(&version.to_string());
        world.record(Occurrence::normal(changed, "Synced").note(&format!("at {version}")));
    }
    assert_eq!(world.count(), 2);
    assert_eq!(world.events.values().next().unwrap()["note"], "at 0");
}

#[test]
fn twenty_five_writes_about_an_object_follow_on_each_other_and_then_one_in_five_minutes() {
    let mut world = World::new();
    for number in 0..100 {
        world.record(numbered(number));
    }
    assert_eq!(world.events.len(), 25);
    // Another object, and another type, have tokens of their own.
    world.record(Occurrence::warning(foo("b"), "Reason"));
    world.record(synced());
    assert_eq!(world.events.len(), 27);
    world.pass(299 * SECOND);
    assert_eq!(world.events.len(), 27);
    world.pass(2 * SECOND);
    assert_eq!(world.events.len(), 28);
    world.pass(60 * MINUTE);
    assert_eq!(world.recorder.counts().filtered, 74);
    world.assert_balanced();
    for number in 0..100 {
        world.record(numbered(number));
    }
    assert_eq!(world.events.len(), 28 + 12, "an hour has twelve tokens");
}

#[test]
fn an_object_whose_tokens_are_all_back_is_forgotten() {
    let mut world = World::new();
    let record = |world: &mut World, names: core::ops::Range<u64>| {
        names.for_each(|number| {
            world.record(Occurrence::normal(foo(&format!("object-{number:05}")), "Synced"));
            world.pass(10 * SECOND);
        });
        format!("{:?}", world.recorder).len()
    };
    let after_an_hour = record(&mut world, 0..360);
    let after_two = record(&mut world, 360..720);
    assert!(after_two < after_an_hour + 100, "{after_an_hour} and {after_two}");
}

#[test]
fn the_parts_of_an_object_share_its_tokens() {
    let mut world = World::with(|config| config.burst = 1);
    for part in ["spec.containers{web}", "spec.containers{log}"] {
        world.record(Occurrence::warning(foo("a").field_path(part), "Failed"));
    }
    assert_eq!(world.events.len(), 1);
}

#[test]
fn a_series_without_a_token_is_counted_until_it_gets_one() {
    let mut world = World::with(|config| config.burst = 1);
    world.record(numbered(0));
    for _ in 0..50 {
        world.record(numbered(1));
    }
    assert_eq!(world.events.len(), 1);
    world.pass(5 * MINUTE);
    let counts: Vec<_> = world.events.values().map(count_of).collect();
    assert_eq!(counts, [1, 50]);
}

#[test]
fn ten_thousand_failures_make_a_bounded_number_of_requests() {
    let mut world = World::new();
    for round in 0..10_000 {
        world.record(Occurrence::warning(foo("a"), "SyncFailed").note(&format!("attempt {round}")));
        world.pass(SECOND);
    }
    assert_eq!((world.events.len(), world.methods.len()), (1, 2 + 5), "a write in each half hour");
    world.recorder.stop(world.now);
    world.settle();
    assert!(world.recorder.is_done() && world.count() == 10_000);
}

#[test]
fn an_event_that_the_server_forgot_is_created_again_with_its_count() {
    let mut world = World::new();
    world.record(synced());
    world.events.clear();
    world.record(synced());
    assert_eq!((&*world.methods, world.count()), (&["POST", "PATCH", "POST"][..], 2));
}

#[test]
fn a_server_out_of_reach_is_asked_every_ten_seconds_and_gets_all_when_it_is_back() {
    let mut world = World::new();
    world.sickness = Some(reset);
    for number in 0..20 {
        world.record(numbered(number));
    }
    assert_eq!(world.methods.len(), 1);
    world.pass(60 * SECOND);
    assert!((5..=6).contains(&(world.methods.len() - 1)), "{:?}", world.methods);
    world.sickness = None;
    world.pass(13 * SECOND);
    assert_eq!(world.events.len(), 20);
    world.assert_balanced();
}

#[test]
fn attempts_are_ten_to_twelve_and_a_half_seconds_apart_and_spread() {
    let mut world = World::new();
    world.sickness = Some(reset);
    world.record(synced());
    let mut waits = Vec::new();
    for _ in 0..11 {
        let wait = world.recorder.poll_timeout().unwrap().saturating_since(world.now);
        waits.push(wait);
        world.pass(wait);
    }
    assert_eq!(world.methods.len(), 12);
    assert!(waits.iter().all(|wait| (10 * SECOND..=SECOND * 25 / 2).contains(wait)), "{waits:?}");
    assert!(waits.iter().any(|wait| *wait > 11 * SECOND) && waits.iter().any(|wait| *wait < 11 * SECOND), "{waits:?}");
}

#[test]
fn an_event_is_given_up_after_twelve_attempts_and_somebody_hears_of_it() {
    let mut world = World::new();
    world.sickness = Some(reset);
    world.record(synced());
    world.pass(5 * MINUTE);
    assert_eq!((world.methods.len(), world.recorder.counts().failed), (12, 1));
    let problem = world.recorder.poll_problem().unwrap();
    assert!(problem.to_string().starts_with("an Event about Foo web/a was not written: "), "{problem}");
    world.assert_balanced();
}

#[test]
fn a_server_that_asks_for_time_gets_it() {
    let mut world = World::new();
    world.sickness = Some(|| {
        let mut busy = refusal(429, "TooManyRequests");
        busy.retry_after = Some(MINUTE);
        Ok(busy)
    });
    world.record(synced());
    world.pass(59 * SECOND);
    assert_eq!(world.methods.len(), 1);
    world.pass(SECOND);
    assert_eq!(world.methods.len(), 2);
}

#[test]
fn a_create_whose_answer_was_lost_is_not_created_twice() {
    let mut world = World::new();
    world.note(synced());
    let (id, request) = world.asked().unwrap();
    world.serve(&request);
    world.recorder.handle_answer(world.now, id, reset());
    world.record(synced());
    world.pass(13 * SECOND);
    assert_eq!((&*world.methods, world.count()), (&["POST", "POST", "PATCH"][..], 2));
    world.assert_balanced();
}

#[test]
fn a_name_that_another_client_has_taken_is_replaced() {
    let mut world = World::new();
    world.note(synced());
    let (id, request) = world.asked().unwrap();
    let theirs: Value = serde_json::from_slice(&request.body).unwrap();
    world.events.insert(theirs["metadata"]["name"].as_str().unwrap().into(), theirs);
    let answer = world.serve(&request);
    world.recorder.handle_answer(world.now, id, Ok(answer));
    world.settle();
    assert_eq!(world.events.len(), 2);
    assert!(world.events.keys().all(|name| name.starts_with("a.")), "{:?}", world.events.keys());
}

#[test]
fn an_event_whose_every_name_is_taken_is_refused() {
    let mut world = World::new();
    world.note(synced());
    let mut names = Vec::new();
    while let Some((id, request)) = world.asked() {
        let event: Value = serde_json::from_slice(&request.body).unwrap();
        names.push(event["metadata"]["name"].to_string());
        world.recorder.handle_answer(world.now, id, Ok(refusal(409, "AlreadyExists")));
        assert!(names.len() < 100);
    }
    assert_eq!((names.len(), world.recorder.counts().refused), (13, 1), "twelve more names are tried");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 13);
}

#[test]
fn an_event_in_a_namespace_that_is_gone_is_refused() {
    let mut world = World::new();
    world.note(synced());
    let (id, _) = world.asked().unwrap();
    world.recorder.handle_answer(world.now, id, Ok(refusal(404, "NotFound")));
    assert_eq!((world.asked(), world.recorder.counts().refused), (None, 1));
}

#[test]
fn two_occurrences_at_one_time_have_two_names() {
    let mut world = World::new();
    world.record(numbered(0));
    world.record(numbered(1));
    assert_eq!((&*world.methods, world.events.len()), (&["POST", "POST"][..], 2));
}

#[test]
fn a_refused_event_is_told_once_and_not_repeated() {
    let mut world = World::new();
    world.sickness = Some(|| Ok(refusal(403, "Forbidden")));
    for _ in 0..100 {
        world.record(synced());
    }
    world.pass(10 * MINUTE);
    assert_eq!((world.methods.len(), world.recorder.counts().refused), (1, 100));
    assert!(world.recorder.poll_problem().is_some() && world.recorder.poll_problem().is_none());
    world.assert_balanced();
}

#[test]
fn a_caller_that_takes_no_problems_finds_the_last_sixteen() {
    let mut world = World::new();
    world.sickness = Some(|| Ok(refusal(403, "Forbidden")));
    for object in 0..20 {
        world.record(Occurrence::warning(foo(&format!("foo-{object}")), "Failed"));
    }
    let problems = core::iter::from_fn(|| world.recorder.poll_problem());
    let objects: Vec<_> = problems.map(|problem| problem.regarding.to_string()).collect();
    assert_eq!(objects, (4..20).map(|object| format!("Foo web/foo-{object}")).collect::<Vec<_>>());
}

#[test]
fn answers_count_for_their_requests_in_any_order() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.note(Occurrence::normal(foo(name), "Synced"));
    }
    let _ = world.asked().unwrap();
    let (second, _) = world.asked().unwrap();
    world.recorder.handle_answer(world.now, second, Ok(refusal(403, "Forbidden")));
    assert_eq!(world.recorder.poll_problem().unwrap().regarding, foo("b"));
}

#[test]
fn a_request_that_hangs_is_given_up_and_its_answer_ignored() {
    let mut world = World::new();
    world.note(synced());
    let (id, _) = world.asked().unwrap();
    world.now = world.now + 10 * SECOND;
    assert_eq!(world.recorder.poll_timeout(), Some(world.now));
    assert_eq!(world.recorder.poll_action(world.now), Some(CallAction::Abort(id)));
    world.recorder.handle_answer(world.now, id, Ok(ApiResponse::new(201, *b"{}")));
    world.pass(13 * SECOND);
    assert_eq!(world.count(), 1);
}

#[test]
fn eight_requests_are_open_at_most() {
    let mut world = World::new();
    (0..20).for_each(|number| world.note(numbered(number)));
    let open: Vec<_> = core::iter::from_fn(|| world.asked()).collect();
    assert_eq!(open.len(), 8);
    for (id, request) in open {
        let answer = world.serve(&request);
        world.recorder.handle_answer(world.now, id, Ok(answer));
    }
    world.settle();
    assert_eq!(world.events.len(), 20);
}

#[test]
fn the_oldest_gives_way_if_the_queue_is_full_and_is_counted() {
    let mut world = World::with(|config| config.queue = 3);
    (0..5).for_each(|number| world.note(numbered(number)));
    world.settle();
    let reasons: Vec<_> = world.events.values().map(|event| event["reason"].as_str().unwrap()).collect();
    assert_eq!((reasons, world.recorder.counts().dropped), (["Reason2", "Reason3", "Reason4"].into(), 2));
    world.assert_balanced();
}

#[test]
fn the_count_of_a_written_event_takes_no_place_of_a_new_one() {
    let mut world = World::with(|config| config.queue = 1);
    world.record(synced());
    world.note(numbered(0));
    world.note(synced());
    world.settle();
    assert_eq!((&*world.methods, world.recorder.counts().dropped), (&["POST", "POST", "PATCH"][..], 0));
}

#[test]
fn the_series_that_was_seen_least_recently_gives_way() {
    let mut world = World::with(|config| config.remembered = 2);
    [0, 1, 0, 0, 2, 0].into_iter().for_each(|number| world.record(numbered(number)));
    // 1 was forgotten, and begins a new series.
    world.record(numbered(1));
    assert_eq!(world.events.len(), 4);
}

#[test]
fn a_stop_writes_what_is_counted_and_ends() {
    let mut world = World::new();
    (0..7).for_each(|_| world.record(synced()));
    (0..30).for_each(|number| world.record(numbered(number)));
    assert!(!world.recorder.is_done());
    world.recorder.stop(world.now);
    assert!(!world.recorder.is_done());
    world.settle();
    assert!(world.recorder.is_done());
    assert!(world.events.values().any(|event| count_of(event) == 7));
    world.record(synced());
    let counts = world.recorder.counts();
    assert_eq!((counts.filtered, counts.dropped), (5, 1));
    world.assert_balanced();
}

#[test]
fn a_stop_beside_a_server_out_of_reach_ends_after_three_attempts() {
    let mut world = World::new();
    world.note(synced());
    world.sickness = Some(reset);
    world.recorder.stop(world.now);
    world.settle();
    world.pass(3 * SECOND);
    assert!(world.recorder.is_done());
    assert_eq!((world.methods.len(), world.recorder.counts().failed), (3, 1));
}

#[test]
fn the_answer_to_a_forgotten_series_does_not_count_for_its_successor() {
    let mut world = World::with(|config| config.remembered = 1);
    (0..5).for_each(|_| world.note(numbered(0)));
    let (id, request) = world.asked().unwrap();
    world.note(numbered(1));
    world.note(numbered(0));
    let answer = world.serve(&request);
    world.recorder.handle_answer(world.now, id, Ok(answer));
    world.settle();
    let counts: Vec<_> = world.events.values().map(count_of).collect();
    assert_eq!(counts, [5, 1], "{:?}", world.events);
    world.record(numbered(0));
    assert_eq!(world.events.values().map(count_of).collect::<Vec<_>>(), [5, 2]);
}

#[test]
fn a_stop_writes_counts_that_do_not_fit_into_the_queue() {
    let mut world = World::with(|config| config.queue = 3);
    for object in 0..10 {
        (0..3).for_each(|_| world.record(Occurrence::normal(foo(&format!("foo-{object}")), "Synced")));
    }
    world.recorder.stop(world.now);
    world.settle();
    assert!(world.events.values().all(|event| count_of(event) == 3), "{:?}", world.recorder.counts());
    world.assert_balanced();
}

#[test]
fn counts_that_are_due_at_one_time_are_all_written() {
    let mut world = World::with(|config| config.queue = 3);
    for object in 0..10 {
        (0..3).for_each(|_| world.record(Occurrence::normal(foo(&format!("foo-{object}")), "Synced")));
    }
    world.pass(10 * MINUTE);
    assert!(world.events.values().all(|event| count_of(event) == 3), "{:?}", world.recorder.counts());
}

#[test]
fn a_clock_at_its_first_or_last_moment_records_events() {
    let mut world = World::new();
    world.recorder.record(world.now, WallTime::MAX, numbered(0));
    world.recorder.record(world.now, WallTime::MAX, numbered(1));
    world.recorder.record(world.now, WallTime::MIN, numbered(2));
    world.settle();
    assert_eq!((world.events.len(), world.methods.len()), (3, 3));
}

#[test]
fn the_last_occurrence_has_the_present_time_after_a_wrong_clock() {
    let mut world = World::new();
    world.recorder.record(world.now, WallTime::MAX, synced());
    world.record(synced());
    assert_eq!(world.events.values().next().unwrap()["series"]["lastObservedTime"], "1970-01-01T00:16:40.000000Z");
}

#[test]
fn a_refused_event_that_goes_on_is_tried_again() {
    let mut world = World::new();
    world.sickness = Some(|| Ok(refusal(403, "Forbidden")));
    for _ in 0..5 {
        world.record(synced());
        world.pass(MINUTE);
    }
    assert_eq!((world.methods.len(), world.recorder.counts().refused), (1, 5));
    world.sickness = None;
    world.pass(MINUTE);
    world.record(synced());
    assert_eq!((world.methods.len(), world.count()), (2, 1));
    world.assert_balanced();
}

#[test]
fn refused_occurrences_are_counted_after_a_stop() {
    let mut world = World::new();
    world.sickness = Some(|| Ok(refusal(403, "Forbidden")));
    world.record(synced());
    world.recorder.stop(world.now);
    assert!(world.recorder.is_done());
    world.assert_balanced();
}

#[test]
fn an_event_that_arrived_first_gets_the_count_of_a_later_attempt() {
    let mut world = World::new();
    world.note(synced());
    let (id, request) = world.asked().unwrap();
    world.serve(&request);
    world.recorder.handle_answer(world.now, id, reset());
    (0..4).for_each(|_| world.note(synced()));
    world.now = world.now + 13 * SECOND;
    let (id, _) = world.asked().unwrap();
    world.recorder.handle_answer(world.now, id, reset());
    world.pass(13 * SECOND);
    assert_eq!(world.count(), 5);
    world.assert_balanced();
}

#[test]
fn the_event_of_another_client_is_not_taken_for_a_refused_one() {
    let mut world = World::new();
    world.note(synced());
    let (id, request) = world.asked().unwrap();
    let theirs: Value = serde_json::from_slice(&request.body).unwrap();
    world.events.insert(theirs["metadata"]["name"].as_str().unwrap().into(), theirs);
    world.recorder.handle_answer(world.now, id, Ok(refusal(429, "TooManyRequests")));
    world.pass(13 * SECOND);
    assert_eq!(world.events.len(), 2);
}

#[test]
fn a_server_that_asks_for_time_about_a_forgotten_series_gets_it() {
    let mut world = World::with(|config| config.remembered = 1);
    world.note(numbered(0));
    let (id, _) = world.asked().unwrap();
    world.note(numbered(1));
    world.recorder.handle_answer(world.now, id, Ok(refusal(429, "TooManyRequests")));
    assert!(world.asked().is_none());
}

#[test]
fn a_queued_event_of_a_forgotten_series_gives_way_and_is_counted() {
    let mut world = World::with(|config| (config.queue, config.remembered) = (1, 1));
    [0, 1, 0].into_iter().for_each(|number| world.note(numbered(number)));
    world.settle();
    assert_eq!((world.events.len(), world.recorder.counts().dropped), (1, 2));
    world.assert_balanced();
}

#[test]
fn a_recorder_acts_at_the_last_moment_of_the_clock() {
    let mut world = World::new();
    world.note(synced());
    world.recorder.handle_timeout(Instant::from_nanos(u64::MAX));
    assert!(world.recorder.poll_action(Instant::from_nanos(u64::MAX)).is_some());
}

#[test]
fn a_configuration_that_a_server_would_refuse_is_an_error() {
    let check = |controller: &str, instance: &str| RecorderConfig::new(controller, instance).check();
    assert_eq!(check("foo", "foo-0"), Ok(()));
    for controller in ["", "foo/", "/foo", "a/b/c", "foo bar", "Ex/foo", &"a".repeat(64)] {
        assert_eq!(check(controller, "foo-0"), Err(RecorderConfigError::Controller), "{controller}");
    }
    assert_eq!(check("foo", ""), Err(RecorderConfigError::Instance));
    assert_eq!(check("foo", &"a".repeat(129)), Err(RecorderConfigError::Instance));
    let mut config = RecorderConfig::new("foo", "foo-0");
    config.burst = 0;
    assert_eq!(EventRecorder::new(config).unwrap_err(), RecorderConfigError::Zero);
    let mut config = RecorderConfig::new("foo", "foo-0");
    // The filter was switched off by it.
    config.refill = Duration::MAX;
    assert_eq!(config.check(), Err(RecorderConfigError::Refill));
    (config.burst, config.refill) = (100, Duration::from_secs(365 * 86_400));
    assert_eq!(config.check(), Ok(()), "a hundred years");
}

#[test]
fn a_configuration_error_says_what_to_set() {
    let errors = [
        (RecorderConfigError::Controller, "the controller's name has to be letters, digits"),
        (RecorderConfigError::Instance, "the instance needs a name of at most 128 bytes"),
        (RecorderConfigError::Refill, "at most a hundred years"),
        (RecorderConfigError::Zero, "burst, refill, queue, remembered and request_timeout have to be more than zero"),
    ];
    for (error, text) in errors {
        assert!(error.to_string().contains(text), "{error}");
    }
}
