//! Single requests of a client, answered from a recording.

use crate::playback::support::{end, exchange, file, request, response, text};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::api::{Api, ApiCall, ApiError, Calls, Method, Patch, Reply};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher, Resource};
use listwatch_transport_file::{Pace, Playback, PlaybackClient, PlaybackConfig, Tally};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/web/pods";

fn pods() -> Api<Value> {
    Api::new(&Resource::new(PODS))
}

/// A recording of a list, and of these lines.
fn playback(lines: &[Vec<String>]) -> Playback {
    let list = exchange(0, 0, PODS, r#"{\"items\":[1]}"#).to_vec();
    Playback::from_file(file(text(&[&[list], lines].concat().concat()))).unwrap()
}

/// Answered, refused and left.
fn counts(tally: Tally) -> (u64, u64, u64) {
    (tally.answered, tally.refused, tally.left)
}

/// A write with this body, answered after `took` milliseconds.
fn write(id: u64, method: &str, name: &str, body: &Value, took: u64, answer: &str) -> Vec<String> {
    let body = body.to_string().replace('"', "\\\"");
    let t = 100 * id;
    let mut lines = exchange(t, id, "", answer).to_vec();
    lines[0] =
        format!(r#"{{"t":{t},"id":{id},"request":{{"method":"{method}","path":"{PODS}/{name}","body":"{body}"}}}}"#);
    for line in &mut lines[1..] {
        *line = line.replacen(&format!(r#""t":{t},"#), &format!(r#""t":{},"#, t + took), 1);
    }
    lines
}

/// A caller with a clock of its own.
struct Caller {
    calls: Calls<PlaybackClient>,
    now: Instant,
}

impl Caller {
    fn new(playback: &Playback) -> Self {
        Self { calls: Calls::new(playback.client()), now: Instant::ZERO }
    }

    /// Makes a call, and waits for its answer.
    fn call<T>(&mut self, call: &ApiCall<T>) -> Result<T, ApiError> {
        let id = self.calls.open(self.now, call.request()?, call.timeout());
        loop {
            match self.calls.poll(id, self.now, &mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Reply::Answered(response)) => return call.read(&response),
                Poll::Ready(Reply::Failed(error)) => return Err(error.into()),
                Poll::Ready(Reply::Idle { until: Some(until) }) => self.now = until,
                other => panic!("a recording knows when it answers: {other:?}"),
            }
        }
    }

    fn failure<T: std::fmt::Debug>(&mut self, call: &ApiCall<T>) -> TransportError {
        match self.call(call).unwrap_err() {
            ApiError::Transport(error) => error,
            other => panic!("{other}"),
        }
    }
}

#[test]
fn the_same_request_gets_its_recorded_answers_in_their_order_and_each_after_its_own_time() {
    let body = json!({ "spec": { "a": 1 } });
    let playback = playback(&[
        write(1, "PUT", "a", &body, 7, r#"{\"n\":1}"#),
        write(2, "PUT", "b", &body, 9, r#"{\"n\":2}"#),
        write(3, "PUT", "a", &body, 20, r#"{\"n\":3}"#),
    ]);
    let mut caller = Caller::new(&playback);
    for (name, answer, millis) in [("a", 1, 7), ("a", 3, 27), ("b", 2, 36)] {
        assert_eq!(caller.call(&pods().replace(name, &body)), Ok(json!({ "n": answer })));
        assert_eq!(caller.now, Instant::ZERO + Duration::from_millis(millis));
    }
    assert_eq!(counts(playback.summary().calls), (3, 0, 0));
    assert_eq!(playback.summary().lists.left, 1);
}

#[test]
fn a_request_that_was_not_recorded_fails_and_is_named_and_counted() {
    let body = json!({ "a": 1 });
    let playback = playback(&[write(1, "PATCH", "a", &body, 0, "{}")]);
    let mut caller = Caller::new(&playback);
    let other = json!({ "a": 2 });
    let said = caller.failure(&pods().patch("a", &Patch::Merge(&other))).to_string();
    let expected = format!("failed: unrecorded: PATCH {PODS}/a: the recording has no such request with this body");
    assert_eq!(said, expected);
    assert_eq!(caller.call(&pods().patch("a", &Patch::Merge(&body))), Ok(json!({})));
    let said = caller.failure(&pods().patch("a", &Patch::Merge(&body))).to_string();
    assert_eq!(said, format!("failed: unrecorded: PATCH {PODS}/a: its only response was used before"));
    assert!(caller.failure(&pods().get("a")).to_string().contains("unrecorded: GET "), "the method counts");
    assert_eq!((playback.summary().unrecorded, playback.summary().calls.answered), (3, 1));
}

#[test]
fn a_write_that_was_recorded_without_its_body_answers_for_any() {
    let mut lines = write(1, "PUT", "a", &json!({}), 0, r#"{\"n\":1}"#);
    lines[0] = lines[0].replace(r#","body":"{}""#, "");
    let playback = playback(&[lines, write(2, "PUT", "a", &json!({ "a": 1 }), 0, r#"{\"n\":2}"#)]);
    let mut caller = Caller::new(&playback);
    for (body, answer) in [(json!({ "a": 1 }), 2), (json!({ "a": 7 }), 1)] {
        assert_eq!(caller.call(&pods().replace("a", &body)), Ok(json!({ "n": answer })));
    }
}

#[test]
fn what_failed_fails_again_and_what_breaks_off_with_the_recording_is_not_waited_for() {
    let refused = vec![request(1, 1, "/api/v1/nodes/a"), end(2, 1, "connection refused")];
    let cut = vec![request(3, 2, "/api/v1/nodes/b"), response(4, 2), end(5, 2, "cut")];
    let open = vec![request(6, 3, "/api/v1/nodes/c"), response(7, 3)];
    let playback = playback(&[refused, cut, open]);
    let (mut caller, nodes) = (Caller::new(&playback), Api::<Value>::new(&Resource::new("/api/v1/nodes")));
    for (name, kind) in
        [("a", TransportErrorKind::Refused), ("b", TransportErrorKind::Reset), ("c", TransportErrorKind::Reset)]
    {
        assert_eq!(caller.failure(&nodes.get(name)).kind, kind, "{name}");
    }
    assert_eq!(counts(playback.summary().calls), (2, 1, 0));
}

#[test]
fn a_list_is_given_to_the_informer_or_to_the_client_and_not_to_both() {
    for informer_first in [true, false] {
        let mut playback = playback(&[]);
        let mut caller = Caller::new(&playback);
        if informer_first {
            playback.open(RequestId(1), &Request::parse(PODS));
            assert!(caller.failure(&pods().list()).to_string().contains("its only response was used before"));
        } else {
            assert_eq!(caller.call(&pods().list()).unwrap().items, [json!(1)]);
            playback.open(RequestId(1), &Request::parse(PODS));
        }
        assert_eq!((playback.is_complete(), playback.summary().lists.left), (!informer_first, 0));
    }
}

#[test]
fn an_immediate_pace_answers_at_once_and_a_file_without_requests_answers_nothing() {
    let lines = [exchange(0, 0, PODS, "").to_vec(), write(1, "DELETE", "a", &json!({}), 900, "{}")].concat();
    let config = PlaybackConfig::new().pace(Pace::Immediate);
    let playback = Playback::with_config(file(text(&lines)), config).unwrap();
    let mut delete = listwatch_core::api::ApiRequest::new(Method::Delete, format!("{PODS}/a"));
    delete.body = b"{}".to_vec();
    let mut calls = Calls::new(playback.client());
    let id = calls.open(Instant::ZERO, &delete, None);
    let reply = calls.poll(id, Instant::ZERO, &mut Context::from_waker(Waker::noop()));
    assert!(matches!(reply, Poll::Ready(Reply::Answered(_))), "{reply:?}");

    let list = Playback::from_file(file(r#"{"kind":"List","items":[]}"#)).unwrap();
    assert!(Caller::new(&list).failure(&pods().list()).to_string().contains("unrecorded"));
}

#[test]
fn what_the_recorded_client_gave_up_stays_without_an_answer_until_the_deadline() {
    let given_up = vec![
        request(10, 1, "/api/v1/nodes/a"),
        response(20, 1),
        r#"{"t":900,"id":1,"end":"cut","by":"client"}"#.to_owned(),
    ];
    let playback = playback(&[given_up, exchange(1_000, 2, "/api/v1/nodes/b", "{}").to_vec()]);
    let (mut caller, nodes) = (Caller::new(&playback), Api::<Value>::new(&Resource::new("/api/v1/nodes")));
    let error = caller.failure(&nodes.get("a").with_timeout(Duration::from_secs(5)));
    assert_eq!((error.kind, caller.now), (TransportErrorKind::Timeout, Instant::ZERO + Duration::from_secs(5)));
    assert!(error.detail.starts_with("no answer within 5s"), "{error}");
}
