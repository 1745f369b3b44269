//! Against a simulated server on which things go wrong, and against the recording of that.

use crate::controller::{Controller, Entry, WIDGETS, is_settled};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch::api::{ApiRequest, ApiTransport, Method, Reply};
use listwatch::file::Playback;
use listwatch::request::{Request, RequestId};
use listwatch::time::Instant;
use listwatch::transport::ReadContext;
use listwatch::{Client, Clock};
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Feed, Trace, Troubles};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const TROUBLES: Troubles =
    Troubles { latency: Duration::from_millis(30), silence: 3, reset: 3, throttled: 3, error: 3, ..Troubles::NONE };

/// What came of a run: what the controller did, a hash of all that went over the wire, a recording, and when it ended.
struct Ran {
    entries: Vec<Entry>,
    hash: u64,
    capture: String,
    end: Instant,
}

/// An hour in which somebody changes objects, and a controller follows.
fn hour(seed: u64) -> Ran {
    let (clock, mut dice) = (Clock::simulated(), Dice::new(seed));
    let server = ApiServer::new(WIDGETS, Trace::new(true));
    let now = clock.clone();
    let line = ApiLine::new(&server, Dice::new(dice.throw()), TROUBLES, move || now.now());
    let controller = Controller::new(&clock, Client::new(line, clock.clone()));
    let entries = controller.run(Feed::new(&server), async {
        for wanted in 0..200 {
            clock.sleep(Duration::from_millis(5 * dice.below(7_200))).await;
            let (name, now) = (format!("w{}", dice.below(12)), clock.now());
            server.with(|inside| match dice.chance(10) {
                true => inside.store.delete(now, &name),
                false => inside.store.put(now, &name, json!({ "wanted": wanted })),
            });
            // Now and then somebody touches it while it is worked on.
            if dice.chance(40) {
                clock.sleep(Duration::from_millis(62)).await;
                server.with(|inside| inside.store.put(clock.now(), &name, json!({ "wanted": wanted, "again": true })));
            }
        }
        let is_settled = || server.with(|inside| inside.store.objects().all(|(_, widget)| is_settled(widget)));
        while !is_settled() {
            assert!(clock.now() < Instant::ZERO + Duration::from_secs(3 * 3600), "seed {seed}: it does not settle");
            clock.sleep(Duration::from_secs(1)).await;
        }
    });
    let (hash, capture) =
        server.with(|inside| (inside.trace.hash(), inside.trace.capture().unwrap_or_default().to_owned()));
    Ran { entries, hash, capture, end: clock.now() }
}

#[test]
fn one_seed_gives_one_trace_and_the_controller_settles_whatever_goes_wrong() {
    let (mut said, mut hashes) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..6 {
        let (one, other) = (hour(seed), hour(seed));
        assert_eq!((one.hash, one.end), (other.hash, other.end), "seed {seed}");
        assert!(one.entries == other.entries && one.capture == other.capture, "seed {seed}");
        said.extend(one.entries.iter().map(|(_, _, said)| *said));
        hashes.insert(one.hash);
    }
    let all = ["broken", "conflict", "done", "given up", "gone", "refused", "too late"];
    assert_eq!(said.into_iter().collect::<Vec<_>>(), all, "each happens in some run");
    assert_eq!(hashes.len(), 6, "another seed is another run");
}

fn saved(seed: u64, capture: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("controller-{seed}.jsonl"));
    std::fs::write(&path, capture).unwrap();
    path
}

#[test]
fn a_controller_does_to_its_recording_what_it_did_when_it_was_recorded() {
    for seed in 0..3 {
        let ran = hour(seed);
        let (clock, playback) = (Clock::simulated(), Playback::from_file(saved(seed, &ran.capture)).unwrap());
        let client = Client::new(playback.client(), clock.clone());
        let end = clock.sleep_until(ran.end);
        let mut played = Controller::new(&clock, client).run(playback, end);
        let mut entries = ran.entries;
        // What happened at one moment has no order. Whole milliseconds keep such moments rare, and these seeds have none that
        // matters.
        played.sort();
        entries.sort();
        let differs = played.iter().zip(&entries).find(|(played, entry)| played != entry);
        assert_eq!((differs, played.len()), (None, entries.len()), "seed {seed}");
    }
}

/// A capture in which it ended without having begun is no capture.
#[test]
fn a_call_that_was_given_up_before_it_was_polled_had_an_end_and_no_request() {
    let server = ApiServer::new(WIDGETS, Trace::new(true));
    let mut line = ApiLine::new(&server, Dice::new(1), Troubles::NONE, || Instant::ZERO);
    let request = ApiRequest::new(Method::Delete, format!("{WIDGETS}/a"));
    line.open(RequestId(1), &request);
    line.abort(RequestId(1));
    let capture = server.with(|inside| {
        // There is no playback without a list.
        inside.trace.request(Instant::ZERO, RequestId(0), &Request::parse(WIDGETS));
        inside.trace.end(Instant::ZERO, RequestId(0), None);
        inside.trace.capture().unwrap_or_default().to_owned()
    });
    let path = saved(u64::MAX, &capture);
    let mut client = Playback::from_file(&path).unwrap().client();
    client.open(RequestId(1), &request);
    let mut cx = Context::from_waker(Waker::noop());
    let turn = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
    assert_eq!(client.poll_response(RequestId(1), turn), Poll::Ready(Reply::Idle { until: None }));
    std::fs::remove_file(path).unwrap();
}
