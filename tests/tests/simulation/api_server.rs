//! The simulated server of controllers is itself what a server is, with the faults that are wanted of it.

use listwatch_core::api::{Api, ApiCall, ApiTransport, DeleteOptions, Patch, Reply};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher, Resource};
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Feed, FeedTroubles, Place, Trace, Troubles};
use serde_json::{Value, json};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const WEB: &str = "/apis/example.com/v1/namespaces/web/foos";
const ALL: &str = "/apis/example.com/v1/foos";
const NOW: Instant = Instant::ZERO;
const LATER: Instant = Instant::from_nanos(1_000_000_000);

/// A server with one object in each of two namespaces, at versions 2 and 3.
fn stocked() -> ApiServer {
    let server = ApiServer::new(ALL, Trace::new(false));
    server.with(|inside| {
        inside.store.put(NOW, &format!("{WEB}/a"), json!({ "x": 1 }));
        inside.store.put(NOW, "/apis/example.com/v1/namespaces/db/foos/b", json!({ "x": 1 }));
    });
    server
}

/// What a feed says up to `now`, and how it ends.
fn said(feed: &mut Feed, now: Instant) -> (String, Option<Incoming>) {
    let (mut text, mut space) = (String::new(), [0; 512]);
    loop {
        let turn = ReadContext { cx: &mut Context::from_waker(Waker::noop()), now, max_wait: None };
        match feed.poll_read(turn, &mut space) {
            Poll::Ready(Incoming::Head { head, .. }) => text.push_str(&format!("{} ", head.status)),
            Poll::Ready(Incoming::Data { len, .. }) => text.push_str(&String::from_utf8_lossy(&space[..len])),
            Poll::Ready(Incoming::Idle { .. }) => return (text, None),
            Poll::Ready(end) => return (text, Some(end)),
            Poll::Pending => panic!("it answers by the clock"),
        }
    }
}

fn ask(feed: &mut Feed, target: &str, now: Instant) -> (String, Option<Incoming>) {
    feed.open(RequestId(1), &Request::parse(target));
    said(feed, now)
}

fn is_failure(end: Option<&Incoming>, wanted: TransportErrorKind) -> bool {
    matches!(end, Some(Incoming::Failed { error, .. }) if error.kind == wanted)
}

/// The answer to a call, once all that is on its way has arrived.
fn call<T>(line: &mut ApiLine, call: &ApiCall<T>) -> Reply {
    let id = RequestId(7);
    line.open(id, call.request().unwrap_or_else(|error| panic!("{error}")));
    let mut reply = Reply::Idle { until: None };
    for step in 0..4 {
        let now = NOW + Duration::from_secs(step);
        let turn = ReadContext { cx: &mut Context::from_waker(Waker::noop()), now, max_wait: None };
        if let (Poll::Ready(answer), Reply::Idle { .. }) = (line.poll_response(id, turn), &reply) {
            reply = answer;
        }
    }
    line.abort(id);
    reply
}

#[test]
fn a_list_of_an_older_version_has_the_objects_of_that_time() {
    let server = stocked();
    server.with(|inside| {
        inside.store.delete(NOW, &format!("{WEB}/a"));
        let (all, web) = (Place::parse(ALL).unwrap_or_default(), Place::parse(WEB).unwrap_or_default());
        let count = |place, revision| inside.store.list(place, revision)["items"].as_array().map_or(0, Vec::len);
        assert_eq!([2, 3, 4].map(|revision| count(&all, revision)), [1, 2, 1]);
        assert_eq!([2, 3, 4].map(|revision| count(&web, revision)), [1, 1, 0]);
    });
}

#[test]
fn a_watch_list_tells_the_objects_then_their_end_and_then_each_change_after_its_lag() {
    let server = stocked();
    let mut feed = Feed::troubled(&server, Dice::new(1), FeedTroubles { streams: true, ..FeedTroubles::default() });
    let (text, end) = ask(&mut feed, &format!("{WEB}?watch=1&sendInitialEvents=true"), LATER);
    assert!(end.is_none() && text.matches("ADDED").count() == 1 && text.contains("initial-events-end"), "{text}");
    server.with(|inside| inside.store.put(LATER, &format!("{WEB}/a"), json!({ "x": 2 })));
    assert_eq!(said(&mut feed, LATER), (String::new(), None));
    let (text, _) = said(&mut feed, LATER + Duration::from_millis(3));
    assert!(text.contains(r#""type":"MODIFIED""#) && text.contains(r#""generation":2"#), "{text}");
    let (text, _) = said(&mut feed, LATER + Duration::from_secs(60));
    assert!(text.contains("BOOKMARK") && text.contains(r#""resourceVersion":"4""#), "{text}");
}

#[test]
fn a_restart_breaks_every_watch_and_refuses_new_ones_until_the_server_is_back_without_its_history() {
    let server = stocked();
    let mut feed = Feed::new(&server);
    let target = format!("{ALL}?watch=1&resourceVersion=2");
    let (text, end) = ask(&mut feed, &target, LATER);
    assert!(text.contains("ADDED") && end.is_none(), "{text}");
    let back = LATER + Duration::from_secs(9);
    server.with(|inside| inside.restart(back, true));
    assert!(is_failure(said(&mut feed, LATER).1.as_ref(), TransportErrorKind::Reset));
    assert!(is_failure(ask(&mut feed, &target, LATER).1.as_ref(), TransportErrorKind::Refused));
    let (text, _) = ask(&mut feed, &target, back);
    assert!(text.starts_with("410 "), "{text}");
}

#[test]
fn each_way_to_refuse_an_answer_or_to_break_it_off_happens_and_none_on_a_calm_server() {
    let troubles = FeedTroubles {
        refused: 60,
        broken: 90,
        within: Duration::from_secs(1),
        streams: true,
        ..FeedTroubles::default()
    };
    let (server, mut dice) = (stocked(), Dice::new(3));
    let end = LATER + Duration::from_secs(100);
    for round in 0..600 {
        let mut feed = Feed::troubled(&server, Dice::new(dice.throw()), troubles);
        let target = format!("{ALL}?{}", ["limit=5", "watch=1&resourceVersion=2"][round % 2]);
        ask(&mut feed, &target, LATER);
        said(&mut feed, end);
    }
    let met: Vec<String> = server.with(|inside| inside.met.keys().cloned().collect());
    assert_eq!(met.len(), 13 + 6, "{met:?}");
    server.with(|inside| {
        inside.met.clear();
        inside.calm();
    });
    let mut feed = Feed::troubled(&server, dice, troubles);
    let (text, _) = ask(&mut feed, &format!("{ALL}?watch=1&resourceVersion=2"), LATER);
    assert!(text.contains("ADDED") && server.with(|inside| inside.met.is_empty()), "{text}");
}

#[test]
fn a_write_that_is_made_again_for_the_same_drift_is_counted_and_apart_if_its_answer_was_lost() {
    let server = stocked();
    let counts = || {
        server.with(|inside| {
            let ledger = &inside.ledger;
            (ledger.made(), ledger.lost, ledger.repeated_after_loss, ledger.repeated.len())
        })
    };
    let line = |reset| ApiLine::new(&server, Dice::new(2), Troubles { reset, ..Troubles::NONE }, || NOW);
    let (mut sound, mut losing) = (line(0), line(100));
    let foos = Api::<Value>::new(&Resource::new(WEB));
    let patch = |x: u32| {
        let body = json!({ "metadata": { "annotations": { "decided-on": "2" } }, "spec": { "x": x } });
        foos.patch("a", &Patch::Merge(&body))
    };
    // Half of what breaks has arrived before.
    while counts().0 == 0 {
        assert!(matches!(call(&mut losing, &patch(2)), Reply::Failed(_)));
    }
    assert_eq!(counts(), (1, 1, 0, 0));
    call(&mut sound, &patch(2));
    assert_eq!(counts(), (2, 1, 1, 0));
    call(&mut sound, &patch(3));
    assert_eq!(counts(), (3, 1, 1, 1), "decided on the same state");
    let (created, delete) = (foos.create(&json!({ "metadata": { "name": "c" } })), DeleteOptions::default());
    call(&mut sound, &created);
    call(&mut sound, &created);
    assert_eq!(counts(), (4, 1, 1, 2), "refused, but asked for");
    call(&mut sound, &foos.delete("c", &delete));
    call(&mut sound, &created);
    assert_eq!(counts(), (6, 1, 1, 2), "it was deleted since");
}

#[test]
fn a_write_to_an_object_that_another_one_has_followed_is_a_conflict() {
    let server = stocked();
    let mut line = ApiLine::new(&server, Dice::new(2), Troubles::NONE, || NOW);
    let foos = Api::<Value>::new(&Resource::new(WEB));
    let status = |uid: &str| {
        let body = json!({ "metadata": { "uid": uid }, "status": { "seen": 1 } });
        foos.status().patch("a", &Patch::Merge(&body))
    };
    assert!(matches!(call(&mut line, &status("u1")), Reply::Answered(answer) if answer.status == 200));
    server.with(|inside| {
        inside.store.delete(NOW, &format!("{WEB}/a"));
        inside.store.put(NOW, &format!("{WEB}/a"), json!({ "x": 1 }));
    });
    assert!(matches!(call(&mut line, &status("u1")), Reply::Answered(answer) if answer.status == 409));
}
