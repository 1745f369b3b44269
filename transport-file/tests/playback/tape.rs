//! Tapes: several resources, the single requests of a client, and notes of reconciles in one file.

use crate::playback::recording::no_file;
use crate::playback::support::{Ending, Player, data, end, exchange, file, request, response, text, unsealed};
use base64::prelude::{BASE64_STANDARD, Engine};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::api::{ApiRequest, ApiResponse, ApiTransport, Method, Reply};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError, TransportErrorKind};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{
    CaptureError, CaptureErrorKind, History, Note, NoteKind, Playback, PlaybackConfig, Positions, Recorder,
    RecorderConfig, Step, StepKind, Tape,
};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

const PODS: &str = "/api/v1/pods";
const NODES: &str = "/api/v1/nodes";
const POD: &str = "/api/v1/namespaces/web/pods/a";

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn write(body: &str) -> ApiRequest {
    let mut request = ApiRequest::new(Method::Put, POD);
    (request.content_type, request.body) = (Some("application/json"), body.as_bytes().to_vec());
    request
}

/// Something to record: two lists of each kind, and the answers to two writes.
fn world() -> Playback {
    let write = |t: u64, id: u64, body: &str, answer: &str| {
        let mut lines = exchange(t, id, POD, answer).to_vec();
        lines[0] = format!(r#"{{"t":{t},"id":{id},"request":{{"method":"PUT","path":"{POD}","body":"{body}"}}}}"#);
        lines
    };
    let lines = [
        exchange(0, 1, PODS, "pods").to_vec(),
        exchange(0, 2, NODES, "nodes").to_vec(),
        write(0, 3, "{}", "written"),
        write(0, 4, "{\\\"a\\\":1}", "again"),
        exchange(0, 5, PODS, "pods2").to_vec(),
        exchange(0, 6, NODES, "nodes2").to_vec(),
    ];
    Playback::from_file(file(text(&lines.concat()))).unwrap()
}

/// Polls a client until it has an answer.
fn answer(client: &mut impl ApiTransport, id: u64, request: &ApiRequest, mut now: Instant) -> Reply {
    client.open(RequestId(id), request);
    loop {
        let mut cx = Context::from_waker(Waker::noop());
        let turn = ReadContext { cx: &mut cx, now, max_wait: None };
        match client.poll_response(RequestId(id), turn) {
            Poll::Ready(Reply::Idle { until: Some(until) }) => now = until,
            Poll::Ready(reply) => return reply,
            Poll::Pending => panic!("a recording always knows"),
        }
    }
}

fn body(reply: &Reply) -> &str {
    match reply {
        Reply::Answered(answer) => str::from_utf8(&answer.body).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn began(reconcile: u64) -> Note {
    let (of, key, causes) = ("foos".to_owned(), "web/a".to_owned(), vec!["Pod web/a added".to_owned()]);
    Note { reconcile, of, kind: NoteKind::Began { key, attempt: 1, causes, late: Vec::new() } }
}

fn ended(reconcile: u64, outcome: &str) -> Note {
    Note { reconcile, of: "foos".into(), kind: NoteKind::Ended { outcome: outcome.into() } }
}

fn lines(path: &Path) -> Vec<String> {
    unsealed(&std::fs::read_to_string(path).unwrap())
}

/// Records the whole world.
fn record(path: &Path, config: RecorderConfig) {
    let (world, tape) = (world(), Tape::create(path, config).unwrap());
    let mut pods = Player::of(tape.transport(world.transport()));
    let mut nodes = Player::of(tape.transport(world.transport()));
    let mut client = tape.client(world.client());
    assert_eq!((pods.ask(PODS).text(), nodes.ask(NODES).text()), ("pods", "nodes"));
    let reconcile = tape.next_reconcile();
    tape.note(at(20), &began(reconcile));
    assert_eq!(body(&answer(&mut client, 1, &write("{}").sent_by(reconcile), at(21))), "written");
    tape.note(at(30), &ended(reconcile, "done"));
    assert_eq!(body(&answer(&mut client, 2, &write(r#"{"a":1}"#), at(31))), "again");
    pods.now = at(40);
    assert_eq!(pods.ask(PODS).text(), "pods2");
    tape.finish().unwrap();
}

#[test]
fn a_tape_has_the_lines_of_all_in_the_order_in_which_they_happened() {
    let path = no_file("tape.jsonl");
    let config =
        RecorderConfig::new().started("2026-11-22T14:53:47.123456Z".parse::<listwatch_core::time::WallTime>().unwrap());
    record(&path, config.began(at(0)).server("https://a:6443").cluster("u-1").seed(42));
    let json = r#""accept":"application/json""#;
    let expected = [
        r#"{"capture":2,"started":"2026-11-22T14:53:47.123Z","server":"https://a:6443","cluster":"u-1","seed":42}"#
            .to_owned(),
        format!(r#"{{"t":7,"id":1,"request":{{"method":"GET","path":"{PODS}","headers":{{{json}}}}}}}"#),
        response(7, 1),
        data(7, 1, "pods"),
        end(7, 1, "eof"),
        format!(r#"{{"t":7,"id":2,"request":{{"method":"GET","path":"{NODES}","headers":{{{json}}}}}}}"#),
        response(7, 2),
        data(7, 2, "nodes"),
        end(7, 2, "eof"),
        r#"{"t":20,"reconcile":1,"of":"foos","key":"web/a","attempt":1,"causes":["Pod web/a added"],"note":1}"#.into(),
        format!(
            r#"{{"t":21,"id":3,"request":{{"method":"PUT","path":"{POD}","headers":{{{json},"content-type":"application/json"}},"body":"{{}}"}},"by":1}}"#
        ),
        r#"{"t":21,"id":3,"response":{"status":200,"headers":{}}}"#.into(),
        data(21, 3, "written"),
        end(21, 3, "eof"),
        r#"{"t":30,"reconcile":1,"of":"foos","outcome":"done","note":2}"#.into(),
        format!(
            r#"{{"t":31,"id":4,"request":{{"method":"PUT","path":"{POD}","headers":{{{json},"content-type":"application/json"}},"body":"{{\"a\":1}}"}}}}"#
        ),
    ];
    let written = lines(&path);
    assert_eq!(written[..expected.len()], expected);
}

#[test]
fn a_tape_plays_each_resource_and_each_request_as_it_was() {
    for name in ["tape-copy.jsonl", "tape-copy.jsonl.gz", "tape-copy.jsonl.zst"] {
        let path = no_file(name);
        record(&path, RecorderConfig::new());
        assert_plays(&Playback::from_file(&path).unwrap());
    }
}

/// The notes of a tape, with their times.
fn notes(playback: &Playback) -> impl Iterator<Item = Result<(Duration, Note), CaptureError>> + use<> {
    playback.steps().filter_map(|step| match step {
        Ok(Step { at, kind: StepKind::Noted(note), .. }) => Some(Ok((at, note))),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    })
}

fn assert_plays(playback: &Playback) {
    assert_eq!(playback.resources().iter().map(|resource| resource.path()).collect::<Vec<_>>(), [PODS, NODES]);
    let notes: Vec<(Duration, Note)> = notes(playback).map(Result::unwrap).collect();
    assert_eq!(notes, [(Duration::from_millis(13), began(1)), (Duration::from_millis(23), ended(1, "done"))]);
    let (mut pods, mut nodes) = (Player::of(playback.transport()), Player::of(playback.transport()));
    let mut client = playback.client();
    // In another order than the recorded one.
    assert_eq!(nodes.ask(NODES).text(), "nodes");
    assert_eq!(body(&answer(&mut client, 1, &write(r#"{"a":1}"#), at(0))), "again");
    assert_eq!((pods.ask(PODS).text(), pods.ask(PODS).text()), ("pods", "pods2"));
    assert_eq!(body(&answer(&mut client, 2, &write("{}"), at(0))), "written");
    assert_eq!(nodes.ask(NODES).ending, Ending::Over);
    assert_eq!((nodes.playback.error(), playback.summary().unrecorded), (None, 0));
}

/// Notes when its request is opened.
struct Noting(Tape, Playback);

impl ListerWatcher for Noting {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.0.note(at(50), &ended(1, "opened"));
        self.1.open(id, request);
    }

    fn poll_read(&mut self, cx: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        self.1.poll_read(cx, buf)
    }

    fn abort(&mut self, id: RequestId) {
        self.1.abort(id);
    }
}

#[test]
fn a_request_stands_before_it_is_sent_and_data_before_they_are_handed_out() {
    let path = no_file("tape-order.jsonl");
    let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
    let mut pods = Player::of(tape.transport(Noting(tape.clone(), world())));
    pods.now = at(50);
    pods.open(PODS);
    let mut buf = [0; 64];
    while !matches!(pods.poll(&mut buf), Incoming::Data { .. }) {}
    tape.note(at(49), &ended(1, "read"));
    tape.finish().unwrap();
    let written = lines(&path);
    let kinds = ["capture", "request", "opened", "response", "data", "read"];
    assert_eq!(written.len(), kinds.len());
    for (line, kind) in written.iter().zip(kinds) {
        assert!(line.contains(&format!("\"{kind}\"")), "{kind}: {line}");
    }
    assert!(written[5].contains("\"t\":0,"), "the time went back: {}", written[5]);
}

/// Notes which forms of objects are asked for.
struct Asked(Playback, Arc<Mutex<Vec<&'static str>>>);

impl ListerWatcher for Asked {
    fn open(&mut self, id: RequestId, request: &Request) {
        self.1.lock().unwrap().push(request.accept());
        self.0.open(id, request);
    }

    fn poll_read(&mut self, cx: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        self.0.poll_read(cx, buf)
    }

    fn abort(&mut self, id: RequestId) {
        self.0.abort(id);
    }
}

#[test]
fn a_recorded_request_asks_for_managed_fields_which_tell_the_programs_that_changed_a_field() {
    let (path, asked) = (no_file("tape-managed.jsonl"), Arc::default());
    let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
    let mut pods = Player::of(tape.transport(Asked(world(), Arc::clone(&asked))));
    let Request { resource, verb } = Request::parse(PODS);
    pods.ask_for(&Request { resource: resource.without_managed_fields(true), verb });
    tape.finish().unwrap();
    assert_eq!(*asked.lock().unwrap(), ["application/json"]);
    assert!(lines(&path)[1].contains(r#""accept":"application/json""#));
}

#[test]
fn a_request_that_is_aborted_ends_at_the_time_of_the_next_line() {
    let path = no_file("tape-aborted.jsonl");
    let tape = Tape::create(&path, RecorderConfig::new().began(at(0))).unwrap();
    let (mut unsent, mut client) = (tape.client(world().client()), tape.client(NoAnswer));
    unsent.open(RequestId(1), &write("never sent"));
    unsent.abort(RequestId(1));
    client.open(RequestId(1), &write("{}"));
    let mut cx = Context::from_waker(Waker::noop());
    let pending = client.poll_response(RequestId(1), ReadContext { cx: &mut cx, now: at(3), max_wait: None });
    assert_eq!(pending, Poll::Pending);
    client.abort(RequestId(1));
    tape.note(at(30_003), &ended(1, "retry"));
    drop((tape, unsent, client));
    let written = lines(&path);
    assert_eq!(written[2], r#"{"t":30003,"id":1,"end":"cut","by":"client"}"#, "{written:?}");
    assert!(written[1].contains("PUT") && written[3].contains("retry") && written.len() == 4, "{written:?}");
}

/// Never answers.
struct NoAnswer;

impl ApiTransport for NoAnswer {
    fn open(&mut self, _: RequestId, _: &ApiRequest) {}

    fn poll_response(&mut self, _: RequestId, _: ReadContext<'_, '_>) -> Poll<Reply> {
        Poll::Pending
    }

    fn abort(&mut self, _: RequestId) {}
}

/// Another resource is still followed when the first one is aborted.
#[test]
fn a_watch_aborted_at_the_end_of_a_tape_is_over() {
    let watch = |t, id, path: &str| vec![request(t, id, path), response(t, id), data(t, id, "x")];
    let aborted = |id| vec![format!(r#"{{"t":19,"id":{id},"end":"cut","by":"client"}}"#)];
    let (pods, nodes) = ("/api/v1/pods?watch=1", "/api/v1/nodes?watch=1");
    let lines = [watch(0, 1, pods), watch(10, 2, nodes), aborted(1), aborted(2)].concat();
    for path in [pods, nodes] {
        let played = Player::of_lines(&lines, PlaybackConfig::new()).ask(path);
        assert_eq!((played.text(), &played.ending), ("x", &Ending::Over), "{path}");
    }
}

/// Another resource is followed for longer than the last event of the watch.
#[test]
fn an_open_watch_of_a_killed_tape_breaks_off_with_the_tape() {
    let lines = [
        request(0, 1, "/api/v1/pods?watch=1"),
        response(1, 1),
        data(2, 1, "pods"),
        request(10, 2, "/api/v1/nodes?watch=1"),
        response(11, 2),
        data(500, 2, "nodes"),
    ];
    let played = Player::of_lines(&lines, PlaybackConfig::new()).ask("/api/v1/pods?watch=1");
    assert_eq!((played.text(), played.took), ("pods", 500));
}

/// Answers a request with these bytes, so many at a time.
struct Says {
    bytes: Vec<u8>,
    at_a_time: usize,
    has_head: bool,
    said: usize,
    /// The connection breaks behind the last byte.
    breaks: bool,
}

impl core::fmt::Debug for Says {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Says")
    }
}

impl Says {
    fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self { bytes: bytes.into(), at_a_time: 3, has_head: false, said: 0, breaks: false }
    }
}

impl ListerWatcher for Says {
    fn open(&mut self, _: RequestId, _: &Request) {}

    fn poll_read(&mut self, _: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let id = RequestId(1);
        if !core::mem::replace(&mut self.has_head, true) {
            let head = ResponseHead { status: 200, retry_after: None, content_type: None };
            return Poll::Ready(Incoming::Head { id, head });
        }
        let rest = &self.bytes[self.said..];
        let len = rest.len().min(self.at_a_time);
        buf[..len].copy_from_slice(&rest[..len]);
        self.said += len;
        Poll::Ready(match len {
            0 if self.breaks => Incoming::Failed { id, error: TransportError::new(TransportErrorKind::Reset, "") },
            0 => Incoming::End { id },
            len => Incoming::Data { id, len },
        })
    }

    fn abort(&mut self, _: RequestId) {}
}

impl ApiTransport for Says {
    fn open(&mut self, _: RequestId, _: &ApiRequest) {}

    fn poll_response(&mut self, _: RequestId, _: ReadContext<'_, '_>) -> Poll<Reply> {
        Poll::Ready(Reply::Answered(ApiResponse::new(200, self.bytes.clone())))
    }

    fn abort(&mut self, _: RequestId) {}
}

/// A value as text, in base64, in hexadecimal, and as a number.
const TRACES: [&str; 4] = ["hunter2", "aHVudGVyM", "68756e746572", "31415926"];

const SECRET: &str = "/api/v1/namespaces/web/secrets/a";
const TOKEN: &str = "/api/v1/namespaces/web/serviceaccounts/a/token";

/// Bodies of confidential requests and responses, each with a value.
fn confidential() -> Vec<(&'static str, Vec<u8>)> {
    let secret = r#"{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","labels":{"app":"web"},"annotations":
        {"kubectl.kubernetes.io/last-applied-configuration":"{\"stringData\":{\"p\":\"hunter2\"}}","from":"web/b",
        "note":"it is hunter2","was":"{\"p\":\"aHVudGVyMg==\"}"}},"data":{"p":"aHVudGVyMg=="},"type":"Opaque"}"#
        .replace('\n', "");
    let event = format!(r#"{{"type":"ADDED","object":{secret}}}"#) + "\n";
    let gzip = [&[0x1f, 0x8b][..], b"hunter2"].concat();
    vec![
        (SECRET, secret.clone().into()),
        ("/api/v1/secrets", format!(r#"{{"kind":"SecretList","metadata":{{"resourceVersion":"7"}},"items":[{secret}]}}"#).into()),
        ("/api/v1/secrets?watch=1", event.repeat(2).into()),
        ("/api/v1/secrets?watch=1", event.trim().into()),
        ("/api/v1/secrets?watch=1", event[..event.len() - 9].into()),
        (SECRET, r#"{"stringData":{"p":"hunter2","n":31415926,"o":{"p":["hunter2"]}}}"#.into()),
        (SECRET, r#"{"data":{"p":"hunter2 is no base64"}}"#.into()),
        (SECRET, r#"[{"op":"replace","path":"/data/p","value":"aHVudGVyMg=="}]"#.into()),
        (SECRET, r#"[{"op":"add","path":"/metadata/annotations/x.io~1last-applied-configuration","value":"hunter2"}]"#.into()),
        (SECRET, r#"{"kind":"Status","status":"Failure","message":"hunter2","details":{"causes":[{"message":"hunter2"}]},"code":422}"#.into()),
        (SECRET, r#"{"kind":"Table","rows":[{"cells":["hunter2",31415926]}]}"#.into()),
        (SECRET, r#"{"data":{"p":"aHVudGVyMg=="}"#.into()),
        (SECRET, b"data: {p: hunter2}".into()),
        (SECRET, b"k8s\0\x0a\x07hunter2\n\x12".into()),
        (SECRET, b"\"hunter2\"".into()),
        (SECRET, gzip),
        (TOKEN, r#"{"kind":"TokenRequest","spec":{"audiences":["web"]},"status":{"token":"hunter2"}}"#.into()),
        ("/apis/authentication.k8s.io/v1/tokenreviews", r#"{"spec":{"token":"hunter2"},"status":{"authenticated":true}}"#.into()),
        ("/apis/example.com/v1/namespaces/web/secrets/a", r#"{"metadata":{"name":"a"},"spec":{"pin":31415926,"p":["hunter2"]}}"#.into()),
    ]
}

#[test]
fn a_tape_has_no_value_of_a_secret_in_any_form_and_in_no_direction() {
    for (place, (target, body)) in confidential().into_iter().enumerate() {
        let path = no_file("tape-secrets.jsonl");
        let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
        Player::of(tape.transport(Says::new(body.clone()))).ask(target);
        let (path_alone, _) = target.split_once('?').unwrap_or((target, ""));
        let mut request = ApiRequest::new(Method::Put, path_alone);
        request.body = body.clone();
        answer(&mut tape.client(Says::new(body)), 1, &request, at(9));
        tape.note(at(20), &ended(2, "failed: invalid type: string \"hunter2\", expected a number"));
        tape.finish().unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        TRACES.iter().for_each(|trace| assert!(!written.contains(trace), "{place}, {trace}: {written}"));
        assert_eq!(written.matches(r#""hashed":true"#).count(), 2, "{written}");
        assert!(written.contains(r#""outcome":"failed: withheld""#), "{written}");
    }
}

#[test]
fn what_is_no_value_stays_on_a_tape() {
    for (target, body) in [
        (TOKEN, r#"{"spec":{"audiences":["web"]},"status":{"expirationTimestamp":"2026-01-01T00:00:00Z"}}"#),
        (SECRET, r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"details":{"name":"a"}}"#),
        (SECRET, r#"{"kind":"DeleteOptions","preconditions":{"uid":"u"},"propagationPolicy":"Foreground"}"#),
        (SECRET, r#"[{"op":"add","path":"/metadata/labels/app","value":"web"}]"#),
        (
            SECRET,
            r#"{"kind":"Secret","metadata":{"annotations":{"from":"web/b"},"finalizers":["a/b"]},"immutable":true}"#,
        ),
    ] {
        let tape = Tape::create(no_file("tape-plain.jsonl"), RecorderConfig::new()).unwrap();
        answer(&mut tape.client(Says::new(body)), 1, &ApiRequest::new(Method::Get, target), at(9));
        tape.finish().unwrap();
        let written = lines(tape.path());
        let line: Value = serde_json::from_str(&written[3]).unwrap();
        let taped =
            line["data"].as_str().map_or_else(|| line["part"].clone(), |text| serde_json::from_str(text).unwrap());
        assert_eq!(taped, serde_json::from_str::<Value>(body).unwrap(), "{written:?}");
    }
}

/// The body that a tape has of an answer to a request for this path, which is read a few bytes at a time.
fn taped(tape: &Tape, target: &str, body: &[u8]) -> String {
    Player::of(tape.transport(Says::new(body))).ask(target);
    let playback = Playback::from_file({
        tape.finish().unwrap();
        tape.path()
    });
    Player::of(playback.unwrap()).ask(target).text().to_owned()
}

fn hashed(name: &str, target: &str, body: &str) -> Value {
    let tape = Tape::create(no_file(name), RecorderConfig::new()).unwrap();
    serde_json::from_str(&taped(&tape, target, body.as_bytes())).unwrap()
}

#[test]
fn values_that_are_equal_have_equal_hashes_on_one_tape_and_on_no_other() {
    let body = r#"{"items":[
        {"metadata":{"name":"a","annotations":{"copied":"true","note":"hunter2"}},"data":{"p":"aHVudGVyMg==","e":""}},
        {"metadata":{"name":"b","annotations":{"from":"web/a"}},"data":{"q":"aHVudGVyMg=="},"stringData":{"q":"hunter2"}},
        {"metadata":{"name":"c"},"data":{"p":"aHVudGVyMw=="},"immutable":true,"type":"Opaque"}]}"#;
    let list = hashed("tape-equal.jsonl", "/api/v1/secrets", body);
    let [a, b, c] = [0, 1, 2].map(|place| &list["items"][place]);
    let bytes = |value: &Value| BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
    assert_eq!((&a["data"]["p"], &a["data"]["e"]), (&b["data"]["q"], &json!("")));
    assert_ne!(a["data"]["p"], c["data"]["p"]);
    assert_eq!(bytes(&a["data"]["p"]), b["stringData"]["q"].as_str().unwrap().as_bytes());
    assert_eq!(a["metadata"], json!({"name": "a", "annotations": {"copied": "true", "note": b["stringData"]["q"]}}));
    assert_eq!(b["metadata"], json!({"name": "b", "annotations": {"from": "web/a"}}));
    assert_eq!((&c["immutable"], &c["type"]), (&json!(true), &json!("Opaque")));
    assert_ne!(hashed("tape-other.jsonl", "/api/v1/secrets", body)["items"][0]["data"], a["data"]);
}

#[test]
fn a_tape_with_secrets_has_them_as_they_came() {
    let tape = Tape::create(no_file("tape-with.jsonl"), RecorderConfig::new().include_secrets(true)).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    tape.on_hashes(move || _ = count.fetch_add(1, Ordering::Relaxed));
    for (_, body) in confidential().into_iter().filter(|(target, _)| *target == "/api/v1/secrets") {
        assert_eq!(taped(&tape, "/api/v1/secrets", &body).as_bytes(), body);
    }
    assert_eq!(told.load(Ordering::Relaxed), 0);
}

#[test]
fn the_first_hash_of_a_tape_is_told_once() {
    let tape = Tape::create(no_file("tape-told.jsonl"), RecorderConfig::new()).unwrap();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    tape.on_hashes(move || _ = count.fetch_add(1, Ordering::Relaxed));
    for (target, expected) in [(PODS, 0), ("/api/v1/secrets", 1), (PODS, 1), ("/api/v1/secrets", 1)] {
        Player::of(tape.transport(Says::new(b"{}"))).ask(target);
        assert_eq!(told.load(Ordering::Relaxed), expected, "{target}");
    }
}

#[test]
fn an_answer_that_is_too_long_to_be_hashed_ends_as_cut() {
    let tape = Tape::create(no_file("tape-long.jsonl"), RecorderConfig::new()).unwrap();
    let says = Says { at_a_time: 60_000, ..Says::new(vec![b' '; 65 << 20]) };
    let mut secrets = Player::of(tape.transport(says));
    assert_eq!(secrets.ask("/api/v1/secrets").ending, Ending::End);
    tape.finish().unwrap();
    let played = Player::of(Playback::from_file(tape.path()).unwrap()).ask("/api/v1/secrets");
    let Ending::Failed(error) = &played.ending else { panic!("{:?}", played.ending) };
    assert!(played.body.is_empty() && error.detail.contains("more than 64 MiB"), "{error}");
}

#[test]
fn an_event_of_several_lines_is_hashed_as_one() {
    let event = json!({ "type": "ADDED", "object": { "metadata": { "name": "a" }, "data": { "p": "aHVudGVyMg==" } } });
    for end in ["", "\n"] {
        let tape = Tape::create(no_file("tape-lines.jsonl"), RecorderConfig::new()).unwrap();
        let lines = serde_json::to_string_pretty(&event).unwrap() + end;
        let played: Value = serde_json::from_str(&taped(&tape, "/api/v1/secrets?watch=1", lines.as_bytes())).unwrap();
        assert_eq!((&played["type"], &played["object"]["metadata"]), (&event["type"], &event["object"]["metadata"]));
        assert_ne!(played["object"]["data"], event["object"]["data"]);
    }
}

/// An informer takes it for whole.
#[test]
fn a_list_whose_connection_breaks_behind_its_last_bracket_stays_on_a_tape() {
    for (body, is_whole) in [(r#"{"items":[]}"#, true), (r#"{"items":["#, false)] {
        let tape = Tape::create(no_file("tape-breaks.jsonl"), RecorderConfig::new()).unwrap();
        Player::of(tape.transport(Says { breaks: true, ..Says::new(body) })).ask("/api/v1/secrets");
        tape.finish().unwrap();
        let played = Player::of(Playback::from_file(tape.path()).unwrap()).ask("/api/v1/secrets");
        assert!(matches!(&played.ending, Ending::Failed(error) if error.kind == TransportErrorKind::Reset));
        assert_eq!(played.text(), if is_whole { body } else { "" });
    }
}

#[test]
fn the_debug_text_of_a_recorder_has_nothing_of_a_secret() {
    let tape = Tape::create(no_file("tape-debug.jsonl"), RecorderConfig::new()).unwrap();
    let mut recorder = tape.transport(Says::new(r#"{"items":[{"data":{"p":"hunter2"}}]}"#));
    ListerWatcher::open(&mut recorder, RequestId(1), &Request::parse("/api/v1/secrets"));
    let (mut cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 64]);
    for _ in 0..12 {
        let _ = recorder.poll_read(ReadContext { cx: &mut cx, now: at(9), max_wait: None }, &mut buf);
        let text = format!("{recorder:?}");
        assert!(!text.contains("104, 117, 110"), "{text}");
    }
}

#[test]
fn a_tape_takes_the_next_name_where_a_file_is() {
    let names = ["tape-next.jsonl", "tape-next-2.jsonl"].map(no_file);
    for path in &names {
        let tape = Tape::create(&names[0], RecorderConfig::new().seed(1)).unwrap();
        assert_eq!(tape.path(), path);
    }
    assert!(names.iter().all(|path| std::fs::read_to_string(path).unwrap().contains("finished")));
}

#[test]
fn a_note_reaches_the_file_within_a_second_although_no_informer_has_anything_to_do() {
    for name in ["tape-soon.jsonl", "tape-soon.jsonl.gz", "tape-soon.jsonl.zst"] {
        let path = no_file(name);
        let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
        let mut idle = Player::of(tape.transport(world()));
        idle.ask(PODS);
        assert_eq!(idle.poll(&mut [0; 8]), Incoming::Idle { until: None });
        let read = Note { reconcile: 1, of: "foos".into(), kind: NoteKind::Read { at: Positions::new() } };
        tape.note(at(0), &began(1));
        // The first flushes do not wait.
        for early in 0..20 {
            tape.note(at(early), &read);
        }
        tape.note(at(1_400), &read);
        tape.note(at(1_500), &ended(1, "retry"));
        idle.now = at(1_600);
        let Incoming::Idle { until: Some(until) } = idle.poll(&mut [0; 8]) else { panic!("nobody flushes it") };
        assert_eq!(until, at(2_400));
        idle.now = until;
        assert_eq!(idle.poll(&mut [0; 8]), Incoming::Idle { until: None });
        std::mem::forget((tape, idle));
        let notes: Vec<_> =
            Playback::from_file(&path).map(|it| notes(&it).map_while(Result::ok).collect()).unwrap_or_default();
        assert!(notes.iter().any(|(_, note)| *note == ended(1, "retry")), "{name}: {notes:?}");
    }
}

#[test]
fn the_last_clone_of_a_tape_finishes_the_file() {
    let path = no_file("tape-dropped.jsonl.gz");
    let tape = Tape::create(&path, RecorderConfig::new()).unwrap();
    let mut pods: Player<Recorder<Playback>> = Player::of(tape.transport(world()));
    drop(tape);
    pods.ask(PODS);
    drop(pods);
    let mut copy = Player::new(&path);
    assert_eq!((copy.ask(PODS).text(), copy.ask(PODS).ending), ("pods", Ending::Over));
    assert_eq!(copy.playback.error(), None);
}

/// The bodies that the requests of [`record`] get, and whether an error was found.
fn played(path: &Path) -> (Vec<String>, bool) {
    let Ok(playback) = Playback::from_file(path) else { return (Vec::new(), true) };
    let (mut pods, mut nodes) = (Player::of(playback.transport()), Player::of(playback.transport()));
    let mut bodies = Vec::new();
    let mut failed = false;
    for (player, target) in [(&mut pods, PODS), (&mut nodes, NODES)] {
        let played = player.ask(target);
        failed |= played.ending != Ending::End;
        bodies.push(String::from_utf8_lossy(&played.body).into_owned());
    }
    match answer(&mut playback.client(), 1, &write("{}"), at(0)) {
        Reply::Answered(answer) => bodies.push(String::from_utf8_lossy(&answer.body).into_owned()),
        _ => failed = true,
    }
    while pods.ask(PODS).ending != Ending::Over {}
    let notes_fail = notes(&playback).any(|note| note.is_err());
    (bodies, failed || notes_fail || pods.playback.error().is_some())
}

/// A flipped bit in a body is found, whether the file is compressed or not.
#[test]
fn a_damaged_tape_plays_what_it_held_or_fails() {
    for name in ["tape-flipped.jsonl", "tape-flipped.jsonl.gz", "tape-flipped.jsonl.zst"] {
        let path = no_file(name);
        record(&path, RecorderConfig::new());
        let (whole, good) = (std::fs::read(&path).unwrap(), played(&path));
        assert!(!good.1, "{good:?}");
        let flipped = (0..whole.len()).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            bytes
        });
        let cut = (0..whole.len()).map(|len| whole[..len].to_vec());
        for (number, bytes) in flipped.chain(cut).enumerate() {
            std::fs::write(&path, bytes).unwrap();
            let (bodies, failed) = played(&path);
            assert!(failed || bodies == good.0, "{name} {number}: {bodies:?}");
        }
    }
}

/// The kind and the line of the error that the notes of a tape end with. They read each line.
fn fault(path: &Path, lines: &[&str]) -> Option<(CaptureErrorKind, Option<u64>)> {
    std::fs::write(path, text(lines)).unwrap();
    let error = match Playback::from_file(path) {
        Ok(playback) => notes(&playback).find_map(Result::err)?,
        Err(error) => error,
    };
    Some((error.kind(), error.line()))
}

/// A list without one of its chunks, or with two of them exchanged, does not play.
#[test]
fn a_tape_whose_lines_were_dropped_doubled_or_exchanged_names_the_first_wrong_line() {
    let path = no_file("tape-shuffled.jsonl");
    record(&path, RecorderConfig::new());
    let whole = std::fs::read_to_string(&path).unwrap();
    let whole: Vec<&str> = whole.lines().collect();
    assert_eq!(fault(&path, &whole), None);
    for at in 0..whole.len() - 1 {
        let (mut dropped, mut doubled, mut exchanged) = (whole.clone(), whole.clone(), whole.clone());
        dropped.remove(at);
        doubled.insert(at, whole[at]);
        exchanged.swap(at, at + 1);
        for (lines, wrong) in [(dropped, at), (doubled, at + 1), (exchanged, at)] {
            assert_eq!(
                fault(&path, &lines),
                Some((CaptureErrorKind::Order, Some(wrong as u64 + 1))),
                "{at}: {lines:?}"
            );
            let (_, failed) = played(&path);
            assert!(failed, "{at}: {lines:?}");
        }
    }
}

#[test]
fn a_tape_that_was_edited_says_how_to_play_it_all_the_same() {
    let path = no_file("tape-edited.jsonl");
    record(&path, RecorderConfig::new());
    let edited = std::fs::read_to_string(&path).unwrap().replace("\"pods\"", "\"PODS\"");
    std::fs::write(&path, &edited).unwrap();
    let mut pods = Player::new(&path);
    assert_eq!((pods.ask(PODS).text(), pods.playback.error().unwrap().line()), ("", Some(4)));
    let message = ":4: the line is not as it was recorded, by its checksum; copy the file again, or, if it was edited, write \
                   \"capture\":1 into its first line to play it unchecked";
    let error = pods.playback.error().unwrap().to_string();
    assert!(error.ends_with(message), "{error}");
    let skipping = Player::with_config(&path, PlaybackConfig::new().skip_bad_lines(true)).ask(PODS);
    assert_eq!((skipping.text(), &skipping.ending), ("", &Ending::End));
    std::fs::write(&path, edited.replacen("{\"capture\":2", "{\"capture\":1", 1)).unwrap();
    assert_eq!(Player::new(&path).ask(PODS).text(), "PODS");
}

/// The lines of a controller's tape, reconcile by reconcile. The last one has no outcome.
fn reconciles() -> Vec<String> {
    let list = r#"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}]}"#;
    let mut parts = vec![vec![r#"{"capture":2,"seed":7}"#.to_owned()]];
    parts[0].extend(exchange(0, 1, PODS, list));
    for n in 1..=4_u64 {
        let (began, ended) = (2 * n - 1, 2 * n);
        let began = format!(
            r#"{{"t":{n},"reconcile":{n},"of":"pods","key":"web/a{n}","attempt":1,"causes":[],"note":{began}}}"#
        );
        let mut lines = vec![began];
        lines.extend(exchange(n, n + 1, &format!("{POD}{}", n * 7919), &format!("answer {}", n * 104_729)));
        lines[1] = lines[1].replace("}}}", &format!("}}}},\"by\":{n}}}"));
        if n < 4 {
            lines.push(format!(r#"{{"t":{n},"reconcile":{n},"of":"pods","outcome":"done","note":{ended}}}"#));
        }
        parts.push(lines);
    }
    let mut number = 0;
    let mut sealed = |line: &String| {
        number += 1;
        let line = format!("{},\"n\":{number}", line.strip_suffix('}').unwrap());
        format!("{line},\"crc\":\"{:08x}\"}}", crc32fast::hash(line.as_bytes()))
    };
    parts.iter().map(|lines| text(&lines.iter().map(&mut sealed).collect::<Vec<_>>())).collect()
}

/// What all readers of a tape tell of it; of each error, whether there is one.
fn told_by_all(tape: &[u8]) -> String {
    let path = file(tape);
    let mut steps = Playback::from_file(&path).unwrap().steps();
    let done: Vec<_> = steps.by_ref().map(|step| step.ok()).collect();
    let mut player = Player::new(&path);
    while player.ask(PODS).ending != Ending::Over {}
    let mut history = History::from_file(&path).unwrap();
    let changes: Vec<_> = history.by_ref().map(|step| step.at).collect();
    let errors = [player.playback.error().is_some(), history.error().is_some()];
    std::fs::remove_file(path).unwrap();
    format!("{done:?} {:?} {errors:?} {changes:?}", steps.breaks_off())
}

#[test]
fn a_killed_recorders_compressed_tape_breaks_off_as_a_plain_one() {
    let parts = reconciles();
    let (mut gzip, mut zstd) =
        (GzEncoder::new(Vec::new(), Compression::fast()), zstd::Encoder::new(vec![], 1).unwrap());
    let mut ends = Vec::new();
    for part in &parts {
        for out in [&mut gzip as &mut dyn Write, &mut zstd] {
            out.write_all(part.as_bytes()).unwrap();
            out.flush().unwrap();
        }
        ends.push([gzip.get_ref().len(), zstd.get_ref().len()]);
    }
    let last_but_one = ends[ends.len() - 3];
    let tapes = [gzip.finish().unwrap(), zstd.finish().unwrap()];
    for (tape, first_cut) in tapes.iter().zip(last_but_one) {
        let mut breaks = 0;
        for cut in first_cut..tape.len() {
            let mut plain = Vec::new();
            let _breaks_off = match tape[0] {
                0x1f => flate2::read::GzDecoder::new(&tape[..cut]).read_to_end(&mut plain),
                _ => zstd::Decoder::new(&tape[..cut]).unwrap().read_to_end(&mut plain),
            };
            breaks += u32::from(plain.ends_with(b"\n"));
            assert_eq!(told_by_all(&tape[..cut]), told_by_all(&plain), "cut at byte {cut} of {}", tape.len());
        }
        assert!(breaks > 2, "{breaks}");
        let killed = told_by_all(&tape[..ends[ends.len() - 1][usize::from(tape[0] != 0x1f)]]);
        let why = "the tape breaks off after line 28; reconcile 4 has no outcome: ";
        assert!(killed.contains(why), "{killed}");
    }
    let [mut gzip, _] = tapes;
    let checksum = gzip.len() - 5;
    gzip[checksum] ^= 1;
    let mut steps = Playback::from_file(file(gzip)).unwrap().steps();
    let error = steps.find_map(Result::err).map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("the gzip data is damaged at byte ")));
    assert_eq!(steps.breaks_off(), None);
}
