//! Each test names the line of client-go's behaviour that it holds, or the difference.

use super::*;
use crate::api::{ApiResponse, CallAction, Method};
use crate::request::RequestId;
use crate::time::{Instant, WallTime};
use crate::transport::{TransportError, TransportErrorKind};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;
use serde_json::{Value, json};

const SECOND: Duration = Duration::from_secs(1);

/// One candidate, and a server whose lease others change too.
struct World {
    elector: LeaderElector,
    now: Instant,
    lease: Option<Value>,
    version: u64,
    events: Vec<ElectionEvent>,
    /// What was asked of the server.
    methods: Vec<&'static str>,
}

impl World {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut ElectionConfig)) -> Self {
        let mut config = ElectionConfig::new("us");
        change(&mut config);
        let elector = LeaderElector::new("web", "it", config).unwrap();
        Self { elector, now: at(100), lease: None, version: 0, events: Vec::new(), methods: Vec::new() }
    }

    fn held_by(holder: &str, seconds: u64) -> Self {
        let mut world = Self::new();
        world.foreign(holder, seconds, "2020-01-01T00:00:00.000000Z");
        world
    }

    /// Another client writes the lease.
    fn foreign(&mut self, holder: &str, seconds: u64, renewed: &str) {
        let spec = json!({
            "holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": renewed,
            "acquireTime": "2020-01-01T00:00:00.000000Z", "leaseTransitions": 3,
        });
        self.store(json!({ "metadata": { "name": "it", "labels": { "theirs": "1" } }, "spec": spec, "more": 7 }));
    }

    fn store(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.lease = Some(lease.clone());
        lease
    }

    fn spec(&self) -> Value {
        self.lease.as_ref().unwrap()["spec"].clone()
    }

    /// The next request, if there is one.
    fn asked(&mut self) -> Option<(RequestId, crate::api::ApiRequest)> {
        loop {
            match self.elector.poll_action(self.now, WallTime::from_unix_seconds(1_700_000_000)) {
                Some(CallAction::Open { id, request }) => {
                    self.methods.push(request.method.name());
                    return Some((id, request));
                }
                Some(CallAction::Abort(_)) => {}
                None => return None,
            }
        }
    }

    fn serve(&mut self, request: &crate::api::ApiRequest) -> ApiResponse {
        let refuse = |code: u16, reason: &str| {
            ApiResponse::new(code, json!({ "kind": "Status", "code": code, "reason": reason }).to_string())
        };
        let body = || serde_json::from_slice::<Value>(&request.body).unwrap();
        match (request.method, &self.lease) {
            (Method::Get | Method::Put, None) => refuse(404, "NotFound"),
            (Method::Get, Some(lease)) => ApiResponse::new(200, lease.to_string()),
            (Method::Post, None) => ApiResponse::new(201, self.store(body()).to_string()),
            (Method::Post, Some(_)) => refuse(409, "AlreadyExists"),
            (_, Some(lease)) if body()["metadata"]["resourceVersion"] != lease["metadata"]["resourceVersion"] => {
                refuse(409, "Conflict")
            }
            _ => ApiResponse::new(200, self.store(body()).to_string()),
        }
    }

    fn answer(&mut self, id: RequestId, answer: Result<ApiResponse, TransportError>) {
        self.elector.handle_answer(self.now, id, answer);
        self.listen();
    }

    fn listen(&mut self) {
        self.events.extend(core::iter::from_fn(|| self.elector.poll_event()));
    }

    /// Serves requests until there is none.
    fn settle(&mut self) {
        self.listen();
        while let Some((id, request)) = self.asked() {
            let answer = self.serve(&request);
            self.answer(id, Ok(answer));
        }
    }

    /// Lets time pass, with a server that answers at once.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(next) = self.elector.poll_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.elector.handle_timeout(self.now);
            self.settle();
        }
        self.now = end;
    }

    fn start(&mut self) {
        self.elector.start(self.now);
        self.settle();
    }

    fn leads(&self) -> bool {
        self.elector.token(self.now).is_some()
    }

    fn last(&self) -> &ElectionEvent {
        self.events.last().unwrap()
    }

    fn fail(&mut self) {
        let (id, _) = self.asked().unwrap();
        self.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
    }

    /// Answers requests until `seconds` have passed. A request without an answer gets none.
    fn follow(&mut self, seconds: u64, mut answer: impl FnMut(&mut Self, &crate::api::ApiRequest) -> ApiResponse) {
        let end = self.now + Duration::from_secs(seconds);
        for _ in 0..1_000 {
            if let Some((id, request)) = self.asked() {
                let answer = answer(self, &request);
                self.answer(id, Ok(answer));
            } else if let Some(next) = self.elector.poll_timeout().filter(|next| *next <= end) {
                self.now = self.now.max(next);
                self.elector.handle_timeout(self.now);
                self.listen();
            } else {
                return;
            }
        }
        panic!("a thousand requests in {seconds} s");
    }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn l1_an_invalid_configuration_is_refused_and_says_what_to_set() {
    let check = |change: fn(&mut ElectionConfig)| {
        let mut config = ElectionConfig::new("us");
        change(&mut config);
        config.check().map_err(|error| error.to_string())
    };
    let says = |result: Result<(), String>, text: &str| assert!(result.unwrap_err().contains(text));
    assert_eq!(check(|_| {}), Ok(()));
    says(check(|config| config.identity.clear()), "the identity is empty");
    says(check(|config| config.lease_duration = Duration::from_millis(15_500)), "set whole seconds");
    says(check(|config| config.lease_duration = Duration::from_secs(1 << 31)), "set whole seconds");
    says(check(|config| config.retry_period = Duration::ZERO), "a hundredth of renew_deadline");
    says(check(|config| config.request_timeout = 9 * SECOND), "set at least 11s");
    assert_eq!(check(|config| config.lease_duration = 12 * SECOND), Ok(()));
}

#[test]
fn l1_the_least_that_an_error_names_is_enough() {
    let mut config = ElectionConfig::new("us");
    (config.lease_duration, config.renew_deadline) = (9 * SECOND, 9 * SECOND);
    assert!(config.check().unwrap_err().to_string().ends_with("set at least 10s"));
    config.lease_duration = 10 * SECOND;
    assert_eq!(config.check(), Ok(()));
    config.retry_period = config.renew_deadline / 100;
    assert_eq!(config.check(), Ok(()));
}

#[test]
fn l2_a_lease_that_clocks_five_percent_apart_would_share_is_refused() {
    let mut config = ElectionConfig::new("us");
    config.renew_deadline = 14 * SECOND;
    let error = config.check().unwrap_err();
    assert!(matches!(error, ElectionConfigError::LeaseTooShort { .. }), "{error}");
    assert!(LeaderElector::new("web", "it", config).is_err());
}

#[test]
fn l3_and_l6_a_foreign_record_is_watched_unchanged_for_its_whole_duration_whatever_its_times_say() {
    let mut world = World::held_by("other", 3);
    world.start();
    world.pass(2 * SECOND);
    // It changes, and its time is long ago, as before.
    world.foreign("other", 3, "2020-01-01T00:00:01.000000Z");
    world.pass(2 * SECOND);
    assert!(!world.leads(), "the record changed two seconds ago");
    world.pass(6 * SECOND);
    assert!(world.leads());
    let spec = world.spec();
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&json!("us"), &json!(4)));
}

#[test]
fn l4_the_duration_in_the_record_counts_and_not_the_own_one() {
    let mut world = World::held_by("other", 60);
    world.start();
    world.pass(59 * SECOND);
    assert!(!world.leads());
    world.pass(2 * SECOND);
    assert!(world.leads());
}

#[test]
fn a_record_without_a_duration_is_left_alone_for_the_own_one_where_client_go_takes_it() {
    let mut world = World::held_by("other", 0);
    world.start();
    world.pass(14 * SECOND);
    assert!(!world.leads());
    world.pass(2 * SECOND);
    assert!(world.leads());
}

#[test]
fn l5_without_a_lease_one_is_created_and_then_renewed_without_reading() {
    let mut world = World::new();
    world.start();
    world.pass(5 * SECOND);
    assert_eq!(world.methods, ["GET", "POST", "PUT", "PUT"]);
    let spec = world.spec();
    assert_eq!((&spec["leaseTransitions"], &spec["acquireTime"]), (&json!(0), &json!("2023-11-14T22:13:20.000000Z")));
    assert_ne!(spec["renewTime"], spec["acquireTime"], "each write has a time of its own");
    let lease = world.lease.unwrap();
    assert_eq!((&lease["apiVersion"], &lease["kind"]), (&json!("coordination.k8s.io/v1"), &json!("Lease")));
    assert_eq!((&lease["metadata"]["namespace"], &lease["metadata"]["name"]), (&json!("web"), &json!("it")));
}

#[test]
fn l5_after_a_conflict_the_lease_is_read_and_written_at_once() {
    let mut world = World::new();
    world.start();
    // A change of its labels is nobody's election.
    let mut lease = world.lease.clone().unwrap();
    lease["metadata"]["labels"] = json!({ "seen": "yes" });
    world.store(lease);
    world.pass(2 * SECOND);
    assert_eq!(world.methods, ["GET", "POST", "PUT", "GET", "PUT"]);
    assert!(world.leads());
    assert_eq!(world.lease.unwrap()["metadata"]["labels"]["seen"], "yes");
}

#[test]
fn l6_an_empty_holder_is_replaced_at_once() {
    let mut world = World::held_by("", 15);
    world.start();
    assert!(world.leads());
    assert_eq!(world.spec()["leaseTransitions"], 4);
}

#[test]
fn l7_a_candidate_looks_again_after_one_to_two_retry_periods() {
    let mut world = World::held_by("other", 3_600);
    world.start();
    let mut waits = Vec::new();
    for _ in 0..200 {
        let next = world.elector.poll_timeout().unwrap();
        waits.push(next.saturating_since(world.now));
        world.pass(next.saturating_since(world.now));
    }
    let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
    assert!(*least >= 2 * SECOND && *most < Duration::from_millis(4_400), "{least:?} to {most:?}");
    assert!(*most > 4 * SECOND, "they spread");
}

#[test]
fn l7_renewals_go_on_until_the_deadline_and_the_term_ends_there() {
    let mut world = World::new();
    world.start();
    let begun = world.now;
    while world.leads() {
        let next = world.elector.poll_timeout().unwrap();
        world.now = next;
        world.elector.handle_timeout(next);
        if let Some((id, _)) = world.asked() {
            world.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
        }
    }
    world.listen();
    assert_eq!(world.now.saturating_since(begun), 10 * SECOND, "counted from sending the write that succeeded");
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Expired));
    assert_eq!(world.methods.len(), 2 + 4, "a renewal at 2, 4, 6 and 8 s");
}

#[test]
fn the_deadline_fires_while_a_request_hangs() {
    let mut world = World::with(|config| config.request_timeout = 8 * SECOND);
    world.start();
    world.now = at(103);
    world.elector.handle_timeout(world.now);
    assert!(world.asked().is_some(), "which gets no answer");
    assert_eq!(world.elector.poll_timeout(), Some(at(110)), "the request has until 111");
    world.now = at(110);
    world.elector.handle_timeout(world.now);
    world.listen();
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Expired));
    assert!(matches!(world.elector.poll_action(world.now, WallTime::UNIX_EPOCH), Some(CallAction::Abort(_))));
}

#[test]
fn a_request_that_hangs_is_given_up_in_time_for_another_one_and_its_answer_is_ignored() {
    let mut world = World::new();
    world.start();
    world.now = at(102);
    let (late, renewal) = world.asked().unwrap();
    let answer = world.serve(&renewal);
    assert_eq!(world.elector.poll_timeout(), Some(at(107)));
    world.elector.handle_timeout(at(106));
    assert_eq!(world.elector.poll_action(at(106), WallTime::UNIX_EPOCH), None);
    world.now = at(107);
    assert_eq!(world.elector.poll_action(world.now, WallTime::UNIX_EPOCH), Some(CallAction::Abort(late)));
    assert!(world.asked().is_some(), "which gets no answer either");
    world.answer(late, Ok(answer));
    assert_eq!(world.elector.term_end(), Some(at(110)));
}

#[test]
fn a_leader_whose_answer_was_lost_writes_again_and_one_that_was_refused_reads() {
    let mut world = World::new();
    world.start();
    world.now = at(102);
    world.fail();
    world.now = at(104);
    let (id, _) = world.asked().unwrap();
    world.answer(id, Ok(ApiResponse::new(503, *b"{}")));
    world.now = at(106);
    assert!(world.asked().is_some());
    assert_eq!(world.methods, ["GET", "POST", "PUT", "PUT", "GET"]);
}

#[test]
fn a_renewal_whose_answer_was_lost_is_not_taken_for_another_candidates() {
    let mut world = World::new();
    world.start();
    world.now = at(102);
    let (id, renewal) = world.asked().unwrap();
    world.serve(&renewal);
    world.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
    world.pass(2 * SECOND);
    assert_eq!(world.methods, ["GET", "POST", "PUT", "PUT", "GET", "PUT"]);
    assert!(world.leads());
    assert!(!world.events.iter().any(|event| matches!(event, ElectionEvent::Stopping(_))));
}

#[test]
fn a_leader_is_told_once() {
    let mut world = World::new();
    world.start();
    world.pass(60 * SECOND);
    let is_leader = |event: &&ElectionEvent| matches!(event, ElectionEvent::Leader(_));
    let leaders: Vec<_> = world.events.iter().filter(is_leader).collect();
    assert_eq!(leaders, [&ElectionEvent::Leader(Some("us".into()))]);
}

#[test]
fn a_leader_that_renews_for_an_hour_remembers_no_more_than_after_a_minute() {
    let mut world = World::new();
    world.start();
    world.pass(60 * SECOND);
    let memory = |world: &World| std::format!("{:?}", world.elector).len();
    let before = memory(&world);
    world.pass(3_600 * SECOND);
    assert!(world.leads() && world.methods.len() > 1_800);
    assert!(memory(&world) < before + 100, "{:?}", world.elector);
}

#[test]
fn l8_work_stops_before_the_lease_is_released_and_the_lease_is_renewed_meanwhile() {
    let mut world = World::new();
    world.start();
    world.elector.stop(world.now);
    world.pass(60 * SECOND);
    assert!(world.leads(), "the work still ends");
    assert_eq!(world.spec()["holderIdentity"], "us");
    world.elector.handle_stopped(world.now);
    assert!(!world.leads());
    world.settle();
    let spec = world.spec();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    assert_eq!(*world.last(), ElectionEvent::Ended { released: true });
    assert_eq!(world.elector.poll_timeout(), None);
}

#[test]
fn l9_a_release_does_not_erase_a_successor() {
    let mut world = World::new();
    world.start();
    world.elector.stop(world.now);
    world.settle();
    world.foreign("successor", 15, "2026-01-01T00:00:00.000000Z");
    world.elector.handle_stopped(world.now);
    world.settle();
    assert_eq!(world.spec()["holderIdentity"], "successor");
    assert_eq!(*world.last(), ElectionEvent::Ended { released: false });
}

#[test]
fn l9_a_release_is_repeated_after_a_conflict_and_has_a_deadline() {
    let mut world = World::new();
    world.start();
    world.elector.stop(world.now);
    let mut lease = world.lease.clone().unwrap();
    lease["metadata"]["labels"] = json!({ "seen": "yes" });
    world.store(lease);
    world.elector.handle_stopped(world.now);
    world.settle();
    assert_eq!(world.spec()["holderIdentity"], "");

    let mut world = World::new();
    world.start();
    world.elector.stop(world.now);
    world.elector.handle_stopped(world.now);
    world.fail();
    while let Some(next) = world.elector.poll_timeout() {
        world.now = next;
        world.elector.handle_timeout(next);
        while let Some((id, _)) = world.asked() {
            world.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
        }
    }
    world.listen();
    assert_eq!((world.now, world.last()), (at(105), &ElectionEvent::Ended { released: false }));
}

#[test]
fn a_lease_whose_term_has_expired_is_not_released() {
    let mut world = World::new();
    world.start();
    world.elector.stop(world.now);
    world.follow(20, |_, _| ApiResponse::new(503, *b"{}"));
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Expired));
    world.elector.handle_stopped(world.now);
    world.listen();
    assert_eq!((world.asked(), world.last()), (None, &ElectionEvent::Ended { released: false }));
}

#[test]
fn a_candidate_that_is_stopped_while_it_acquires_releases_what_it_got() {
    let mut world = World::held_by("", 15);
    world.elector.start(world.now);
    let (id, read) = world.asked().unwrap();
    let answer = world.serve(&read);
    world.answer(id, Ok(answer));
    let (id, write) = world.asked().unwrap();
    world.elector.stop(world.now);
    let answer = world.serve(&write);
    world.answer(id, Ok(answer));
    world.settle();
    assert_eq!(world.spec()["holderIdentity"], "");
    assert!(!world.events.iter().any(|event| matches!(event, ElectionEvent::Started(_))));
    assert_eq!(*world.last(), ElectionEvent::Ended { released: true });
}

#[test]
fn a_candidate_without_the_lease_ends_at_once() {
    let mut world = World::held_by("other", 15);
    world.start();
    world.elector.stop(world.now);
    world.settle();
    assert_eq!(*world.last(), ElectionEvent::Ended { released: false });
    assert_eq!(world.methods, ["GET"]);
}

#[test]
fn a_candidate_that_never_wrote_ends_without_waiting_for_an_answer() {
    let mut world = World::held_by("other", 15);
    world.elector.start(world.now);
    let (id, _) = world.asked().unwrap();
    world.elector.stop(world.now);
    world.listen();
    assert_eq!(*world.last(), ElectionEvent::Ended { released: false });
    assert_eq!(world.elector.poll_action(world.now, WallTime::UNIX_EPOCH), Some(CallAction::Abort(id)));
}

#[test]
fn without_release_the_lease_stays_until_it_expires() {
    let mut world = World::with(|config| config.release = false);
    world.start();
    world.elector.stop(world.now);
    world.elector.handle_stopped(world.now);
    world.settle();
    assert_eq!(
        (world.spec()["holderIdentity"].as_str(), world.last()),
        (Some("us"), &ElectionEvent::Ended { released: false })
    );
}

#[test]
fn l10_a_leader_that_lost_its_term_is_a_candidate_again() {
    let mut world = World::new();
    world.start();
    let first = world.elector.token(world.now).unwrap().clone();
    world.foreign("other", 5, "2026-01-01T00:00:00.000000Z");
    world.pass(2 * SECOND);
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Taken { by: Some("other".into()) }));
    world.pass(60 * SECOND);
    assert!(!world.leads(), "work has not stopped yet");
    world.elector.handle_stopped(world.now);
    world.settle();
    world.pass(6 * SECOND);
    let second = world.elector.token(world.now).unwrap();
    assert!(second.transitions() > first.transitions(), "{first} and {second}");
    assert_eq!((first.to_string(), second.to_string()), ("0-1".into(), "4-3".into()));
}

#[test]
fn l11_the_health_check_fails_once_a_term_is_over_and_nobody_was_told() {
    let mut world = World::new();
    world.start();
    assert!(world.elector.is_on_time(at(112), 3 * SECOND));
    assert!(!world.elector.is_on_time(at(113), 3 * SECOND));
    assert_eq!(world.elector.token(at(110)), None, "a write is refused nevertheless");
}

#[test]
fn l13_labels_of_others_are_kept_and_configured_ones_are_written() {
    let mut world = World::with(|config| config.labels = [("ours".into(), "2".into())].into());
    world.foreign("", 15, "2026-01-01T00:00:00.000000Z");
    world.start();
    let lease = world.lease.unwrap();
    assert_eq!(lease["metadata"]["labels"], json!({ "theirs": "1", "ours": "2" }));
    assert_eq!(lease["more"], 7, "other fields too");
}

#[test]
fn a_record_of_the_own_name_that_this_life_did_not_write_is_another_holders() {
    let mut world = World::held_by("us", 15);
    world.start();
    world.pass(14 * SECOND);
    assert!(!world.leads());
    world.pass(2 * SECOND);
    assert!(world.leads());
}

#[test]
fn a_write_whose_answer_was_lost_is_found_and_its_term_counts_from_its_sending() {
    let mut world = World::held_by("", 15);
    world.elector.start(world.now);
    let (id, read) = world.asked().unwrap();
    let answer = world.serve(&read);
    world.answer(id, Ok(answer));
    let (id, write) = world.asked().unwrap();
    world.serve(&write);
    world.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
    assert!(!world.leads());
    world.pass(Duration::from_millis(4_400));
    assert!(world.leads());
    assert!(world.events.iter().any(|event| matches!(event, ElectionEvent::Started(token) if token.version() == "2")));
}

#[test]
fn a_candidate_does_not_take_its_namesakes_write_for_its_own() {
    let mut world = World::new();
    world.elector.start(world.now);
    let (id, read) = world.asked().unwrap();
    let answer = world.serve(&read);
    world.answer(id, Ok(answer));
    let (id, write) = world.asked().unwrap();
    // The other one is faster, and sends the same record.
    world.store(serde_json::from_slice(&write.body).unwrap());
    let answer = world.serve(&write);
    assert_eq!(answer.status, 409);
    world.answer(id, Ok(answer));
    world.settle();
    world.pass(14 * SECOND);
    assert!(!world.leads());
    world.pass(2 * SECOND);
    assert!(world.leads(), "the other one has not renewed it");
}

#[test]
fn a_deleted_lease_is_created_again_by_its_leader() {
    let mut world = World::new();
    world.start();
    world.lease = None;
    world.pass(3 * SECOND);
    assert!(world.leads());
    assert_eq!(world.spec()["holderIdentity"], "us");
}

#[test]
fn a_deleted_lease_is_left_to_its_holder_for_its_term() {
    for is_watched in [false, true] {
        let mut world = World::held_by("other", 15);
        world.start();
        world.elector.set_watched(world.now, is_watched);
        world.pass(5 * SECOND);
        world.lease = None;
        world.elector.handle_watched(world.now, None);
        world.settle();
        assert_eq!(*world.last(), ElectionEvent::Leader(None));
        world.pass(9 * SECOND);
        assert!(!world.leads(), "the holder may write for all of its term, and creates the lease again");
        world.pass(2 * SECOND);
        assert!(world.leads(), "the holder is gone");
    }
}

#[test]
fn a_deleted_lease_that_its_holder_creates_again_is_its_holders() {
    let mut world = World::held_by("other", 15);
    world.start();
    world.pass(5 * SECOND);
    world.lease = None;
    world.pass(5 * SECOND);
    world.foreign("other", 15, "2026-01-01T00:00:10.000000Z");
    world.pass(14 * SECOND);
    assert!(!world.leads());
    assert_eq!(world.elector.leader(), Some("other"));
    world.pass(6 * SECOND);
    assert!(world.leads(), "it was not renewed");
    let end = world.elector.term_end().unwrap();
    assert!(world.now < end && end <= world.now + 10 * SECOND);
}

#[test]
fn a_free_lease_that_is_deleted_is_taken_at_once() {
    let mut world = World::held_by("", 15);
    world.elector.start(world.now);
    let (id, read) = world.asked().unwrap();
    let answer = world.serve(&read);
    world.answer(id, Ok(answer));
    world.lease = None;
    world.settle();
    assert!(world.leads());
}

#[test]
fn a_cleared_holder_ends_the_term() {
    let mut world = World::new();
    world.start();
    world.foreign("", 15, "2026-01-01T00:00:00.000000Z");
    world.pass(2 * SECOND);
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Taken { by: None }));
}

#[test]
fn a_watched_lease_is_not_read_and_is_taken_when_its_holder_lets_go() {
    let mut world = World::held_by("other", 15);
    world.start();
    world.elector.set_watched(world.now, true);
    for second in 0..12 {
        world.pass(10 * SECOND);
        world.foreign("other", 15, &std::format!("2026-01-01T00:00:{second:02}.000000Z"));
        let lease = world.lease.clone();
        world.elector.handle_watched(world.now, lease);
        world.settle();
    }
    assert_eq!(world.methods, ["GET"]);
    world.foreign("", 1, "2026-01-01T00:02:00.000000Z");
    let lease = world.lease.clone();
    world.elector.handle_watched(world.now, lease);
    world.settle();
    assert!(world.leads());
}

#[test]
fn a_candidate_whose_watch_ends_reads_the_lease() {
    let mut world = World::held_by("other", 15);
    world.start();
    world.elector.set_watched(world.now, true);
    world.settle();
    assert_eq!(world.methods, ["GET"]);
    world.elector.set_watched(world.now, false);
    world.settle();
    assert_eq!(world.methods, ["GET", "GET"]);
}

#[test]
fn an_old_state_from_a_watch_ends_no_term() {
    let mut world = World::held_by("other", 1);
    world.start();
    let old = world.lease.clone();
    world.pass(5 * SECOND);
    assert!(world.leads());
    world.elector.handle_watched(world.now, old);
    assert!(world.leads());
}

#[test]
fn a_server_that_was_restored_from_a_backup_is_believed() {
    let mut world = World::held_by("other", 15);
    world.version = 1_000;
    world.foreign("other", 15, "2026-01-01T00:00:00.000000Z");
    world.start();
    world.pass(SECOND);
    world.version = 7;
    world.foreign("", 15, "2025-01-01T00:00:00.000000Z");
    world.pass(5 * SECOND);
    assert!(world.leads());
}

#[test]
fn a_server_that_was_restored_between_read_and_write_is_believed() {
    let mut world = World::held_by("", 15);
    world.version = 1_000;
    world.foreign("", 15, "2026-01-01T00:00:00.000000Z");
    world.elector.start(world.now);
    let (id, read) = world.asked().unwrap();
    let answer = world.serve(&read);
    world.answer(id, Ok(answer));
    world.version = 7;
    world.foreign("", 15, "2025-01-01T00:00:00.000000Z");
    world.settle();
    assert_eq!(world.methods, ["GET", "PUT", "GET", "PUT"]);
    assert!(world.leads());
}

#[test]
fn an_answer_that_a_watch_has_overtaken_is_ignored() {
    let mut world = World::held_by("", 15);
    world.elector.start(world.now);
    let (id, read) = world.asked().unwrap();
    let answer = world.serve(&read);
    world.now = at(101);
    world.foreign("other", 15, "2026-01-01T00:00:00.000000Z");
    let lease = world.lease.clone();
    world.elector.handle_watched(world.now, lease);
    world.now = at(102);
    world.answer(id, Ok(answer));
    assert_eq!(world.asked(), None);
    assert_eq!(world.elector.leader(), Some("other"));
}

#[test]
fn two_conflicts_are_resolved_at_once_and_the_third_one_waits() {
    let mut world = World::held_by("", 15);
    world.elector.start(world.now);
    while let Some((id, request)) = world.asked() {
        let answer = match request.method {
            Method::Get => world.serve(&request),
            _ => ApiResponse::new(409, r#"{"kind":"Status","reason":"Conflict","code":409}"#),
        };
        world.answer(id, Ok(answer));
        assert!(world.methods.len() < 100);
    }
    assert_eq!(world.methods, ["GET", "PUT", "GET", "PUT", "GET", "PUT"]);
    assert!(matches!(world.last(), ElectionEvent::Failed(error) if error.is_conflict()));
}

#[test]
fn a_server_that_always_conflicts_is_asked_at_the_retry_period() {
    let mut world = World::held_by("", 15);
    world.elector.start(world.now);
    for _ in 0..1_000 {
        let Some((id, request)) = world.asked() else {
            let next = world.elector.poll_timeout().unwrap();
            world.now = next;
            world.elector.handle_timeout(next);
            continue;
        };
        let answer = match request.method {
            Method::Get => world.serve(&request),
            _ => ApiResponse::new(409, r#"{"kind":"Status","reason":"Conflict","code":409}"#),
        };
        world.answer(id, Ok(answer));
    }
    let seconds = world.now.saturating_since(at(100)).as_secs();
    assert!(seconds > 300, "{} requests in {seconds} s", world.methods.len());
}

#[test]
fn a_lease_without_a_version_is_never_overwritten() {
    for answer in ["{}", "[]", "7", "null", r#"{"metadata":{"resourceVersion":""},"spec":{}}"#] {
        let mut world = World::new();
        world.elector.start(world.now);
        let (id, _) = world.asked().unwrap();
        world.answer(id, Ok(ApiResponse::new(200, answer)));
        assert!(matches!(world.last(), ElectionEvent::Failed(_)), "{answer}");
        assert_eq!(world.asked(), None);
    }
}

#[test]
fn a_hostile_record_neither_panics_nor_gives_the_lease_away() {
    let specs = [
        json!({ "holderIdentity": 7, "leaseDurationSeconds": "x", "leaseTransitions": -1 }),
        json!({ "holderIdentity": "other", "leaseDurationSeconds": u64::MAX, "leaseTransitions": u64::MAX }),
        json!({ "holderIdentity": "", "leaseTransitions": i32::MAX, "renewTime": "yesterday" }),
        json!("no object"),
    ];
    for spec in specs {
        let mut world = World::new();
        world.store(json!({ "metadata": { "labels": 7 }, "spec": spec }));
        world.start();
        world.pass(30 * SECOND);
        let is_held = world.lease.as_ref().unwrap()["spec"]["holderIdentity"] == "other";
        assert_eq!(world.leads(), !is_held);
        assert!(
            world.lease.unwrap()["spec"]["leaseTransitions"]
                .as_u64()
                .is_none_or(|count| is_held || count <= i32::MAX as u64)
        );
    }
}

#[test]
fn a_server_that_asks_for_time_gets_it_but_no_more_than_a_lease() {
    let mut world = World::new();
    world.elector.start(world.now);
    let (id, _) = world.asked().unwrap();
    let busy = ApiResponse::new(429, *b"{}").with_retry_after(Some(3_600 * SECOND));
    world.answer(id, Ok(busy));
    assert_eq!(world.elector.poll_timeout(), Some(world.now + 15 * SECOND));
}

#[test]
fn no_term_begins_without_a_write_when_the_wall_clock_stands_still() {
    let mut world = World::new();
    world.start();
    world.pass(20 * SECOND);
    let refuse = |world: &mut World, request: &crate::api::ApiRequest| match request.method {
        Method::Get => world.serve(request),
        _ => ApiResponse::new(503, *b"{}"),
    };
    world.follow(11, refuse);
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Expired));
    world.elector.handle_stopped(world.now);
    let before = world.events.len();
    world.follow(600, refuse);
    assert!(world.methods.len() > 100, "it wrote more often than it remembers");
    assert!(!world.events[before..].iter().any(|event| matches!(event, ElectionEvent::Started(_))));
}

#[test]
fn a_candidate_leads_with_the_wall_clock_at_its_last_moment() {
    let mut world = World::new();
    world.elector.start(world.now);
    for _ in 0..50 {
        let Some(CallAction::Open { id, request }) = world.elector.poll_action(world.now, WallTime::MAX) else {
            world.now = world.elector.poll_timeout().unwrap();
            continue;
        };
        let answer = world.serve(&request);
        world.answer(id, Ok(answer));
    }
    assert!(world.leads());
}

#[test]
fn a_server_that_keeps_no_record_is_asked_with_pauses() {
    let unkept: [fn(&mut World, &crate::api::ApiRequest) -> ApiResponse; 2] = [
        |world, request| match request.method {
            Method::Get => world.serve(request),
            _ => ApiResponse::new(200, world.lease.as_ref().unwrap().to_string()),
        },
        |world, request| {
            let mut body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            if request.method == Method::Get {
                return world.serve(request);
            }
            body["spec"]["renewTime"] = json!("2030-01-01T00:00:00.000000Z");
            ApiResponse::new(200, world.store(body).to_string())
        },
    ];
    for answer in unkept {
        // A candidate, a leader, and one that releases.
        let mut world = World::held_by("", 15);
        world.elector.start(world.now);
        world.follow(300, answer);
        assert!(world.events.iter().any(|event| matches!(event, ElectionEvent::Failed(_))));
        let mut world = World::new();
        world.start();
        world.follow(300, answer);
        assert!(!world.leads());
        let mut world = World::new();
        world.start();
        world.elector.stop(world.now);
        world.elector.handle_stopped(world.now);
        world.follow(300, answer);
        assert!(matches!(world.last(), ElectionEvent::Ended { .. }));
    }
}

#[test]
fn a_lease_whose_acquiring_answer_was_lost_is_released() {
    for stops_before in [true, false] {
        let mut world = World::held_by("", 15);
        world.elector.start(world.now);
        let (id, read) = world.asked().unwrap();
        let answer = world.serve(&read);
        world.answer(id, Ok(answer));
        let (id, write) = world.asked().unwrap();
        world.serve(&write);
        if stops_before {
            world.elector.stop(world.now);
        }
        world.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
        if !stops_before {
            world.elector.stop(world.now);
        }
        world.settle();
        world.pass(5 * SECOND);
        assert_eq!(world.spec()["holderIdentity"], "");
        assert_eq!(*world.last(), ElectionEvent::Ended { released: true });
    }
}

#[test]
fn a_release_whose_answer_was_lost_is_told() {
    let mut world = World::new();
    world.start();
    world.elector.handle_stopped(world.now);
    let (id, release) = world.asked().unwrap();
    world.serve(&release);
    world.answer(id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
    world.pass(5 * SECOND);
    assert_eq!(*world.last(), ElectionEvent::Ended { released: true });
}

#[test]
fn a_watch_tells_nothing_after_the_end() {
    let mut world = World::held_by("other", 15);
    world.start();
    world.elector.stop(world.now);
    world.settle();
    for lease in [None, world.lease.clone(), Some(json!({}))] {
        world.elector.handle_watched(world.now, lease);
        assert_eq!((world.elector.poll_event(), world.asked()), (None, None));
    }
}

#[test]
fn a_server_that_asks_for_more_time_than_a_term_ends_none() {
    let mut world = World::new();
    world.start();
    let mut is_busy = true;
    world.follow(60, |world, request| {
        if core::mem::take(&mut is_busy) {
            return ApiResponse::new(429, *b"{}").with_retry_after(Some(15 * SECOND));
        }
        world.serve(request)
    });
    assert!(!world.events.iter().any(|event| matches!(event, ElectionEvent::Stopping(_))));
}

#[test]
fn a_leader_gives_a_busy_server_the_time_that_it_asks_for() {
    let mut world = World::new();
    world.start();
    world.now = at(102);
    let (id, _) = world.asked().unwrap();
    world.answer(id, Ok(ApiResponse::new(429, *b"{}").with_retry_after(Some(3 * SECOND))));
    assert_eq!(world.elector.poll_timeout(), Some(at(105)), "the retry period is over at 104");
}

#[test]
fn a_server_that_asks_for_time_twice_ends_no_term() {
    let mut world = World::new();
    world.start();
    let mut busy = 2;
    world.follow(60, |world, request| {
        if busy > 0 {
            busy -= 1;
            return ApiResponse::new(429, *b"{}").with_retry_after(Some(5 * SECOND));
        }
        world.serve(request)
    });
    assert!(world.leads());
    assert!(!world.events.iter().any(|event| matches!(event, ElectionEvent::Stopping(_))));
}

#[test]
fn an_answer_that_is_handed_over_late_counts_from_its_sending() {
    let mut world = World::new();
    world.start();
    world.now = at(108);
    world.elector.handle_timeout(world.now);
    let (id, renewal) = world.asked().unwrap();
    let answer = world.serve(&renewal);
    world.now = at(111);
    world.answer(id, Ok(answer));
    assert!(world.leads());
    assert_eq!(world.elector.token(at(118)), None, "the term counts from the sending");
}

#[test]
fn a_term_that_is_over_is_told_as_expired_although_another_leads() {
    let mut world = World::new();
    world.start();
    world.now = at(120);
    world.foreign("next", 15, "2026-01-01T00:00:00.000000Z");
    let lease = world.lease.clone();
    world.elector.handle_watched(world.now, lease);
    world.listen();
    assert_eq!(*world.last(), ElectionEvent::Stopping(StopReason::Expired));
}

#[test]
fn a_leader_knows_its_record_after_many_renewals_without_an_answer() {
    let mut world = World::with(|config| config.retry_period = Duration::from_millis(200));
    world.start();
    world.pass(Duration::from_millis(200));
    let mut writes = 0;
    world.follow(6, |world, request| {
        writes += usize::from(request.method == Method::Put);
        // The first one lands, and its answer is lost with those of the others.
        if writes <= 1 || request.method == Method::Get {
            let answer = world.serve(request);
            return if request.method == Method::Get { answer } else { ApiResponse::new(504, *b"{}") };
        }
        if writes < 24 { ApiResponse::new(503, *b"{}") } else { world.serve(request) }
    });
    assert!(!world.events.iter().any(|event| matches!(event, ElectionEvent::Stopping(_))));
}

#[test]
fn work_that_ends_unasked_releases_the_lease() {
    let mut world = World::new();
    world.start();
    world.elector.handle_stopped(world.now);
    world.settle();
    assert_eq!(world.spec()["holderIdentity"], "");
    assert_eq!(*world.last(), ElectionEvent::Ended { released: true });
}

#[test]
fn a_lease_needs_a_name_and_a_namespace() {
    for (namespace, name) in [("", "it"), ("web", ""), ("web", "."), ("..", "it")] {
        let made = LeaderElector::new(namespace, name, ElectionConfig::new("us"));
        assert_eq!(made.map(|_| ()), Err(ElectionConfigError::NoName));
    }
}

#[test]
fn a_caller_that_takes_no_events_keeps_few() {
    let mut world = World::new();
    world.elector.start(world.now);
    for _ in 0..100 {
        while let Some((id, _)) = world.asked() {
            world.elector.handle_answer(world.now, id, Err(TransportError::new(TransportErrorKind::Reset, "gone")));
        }
        world.now = world.elector.poll_timeout().unwrap();
        world.elector.handle_timeout(world.now);
    }
    assert_eq!(core::iter::from_fn(|| world.elector.poll_event()).count(), 1);
}
