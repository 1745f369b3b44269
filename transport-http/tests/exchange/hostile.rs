//! Servers that answer an informer in fixed memory wrongly, slowly, or without end: one clear error each.

use super::wire::{Then, Wire, answer, fail, tell};
use core::task::{Context, Poll, Waker};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{InformerConfig, Instant, ListerWatcher};
use listwatch_transport_http::exchange::{Endpoint, HttpSource};
use std::time::Duration;

const LIST: &str = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"namespace":"a","name":"web","resourceVersion":"4"},"spec":{"nodeName":"n1"}}]}"#;

fn counted(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn chunked(body: &str) -> String {
    let chunks = body.as_bytes().chunks(50).map(|chunk| str::from_utf8(chunk).unwrap());
    let framed: String = chunks.map(|chunk| format!("{:x}\r\n{chunk}\r\n", chunk.len())).collect();
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{framed}0\r\n\r\n")
}

/// Lists, without jitter between attempts.
fn lists() -> InformerConfig {
    let mut config = InformerConfig::default();
    (config.reflector.watch_list, config.reflector.watch_timeout) = (false, None);
    config
}

/// The first event, if all answers are this one; with what came behind the failure's text cut off.
fn first(bytes: impl AsRef<[u8]>, then: Then) -> String {
    let told = tell(&Wire::new(&[answer(bytes, then)]), lists(), 1);
    told[0].split(", again in ").next().unwrap_or_default().to_owned()
}

#[test]
fn lists_and_watches_of_every_frame_arrive_in_pieces_of_any_size() {
    let watch = format!(
        "{}\n{}\n",
        r#"{"type":"MODIFIED","object":{"metadata":{"namespace":"a","name":"web","resourceVersion":"6"},"spec":{"nodeName":"n2"}}}"#,
        r#"{"type":"DELETED","object":{"metadata":{"namespace":"a","name":"web","resourceVersion":"7"}}}"#
    );
    let until_close = |body: &str| format!("HTTP/1.1 200 OK\r\n\r\n{body}");
    for (list, watch) in [
        (answer(counted(LIST), Then::Wait), answer(chunked(&watch), Then::Wait)),
        (answer(chunked(LIST), Then::Wait), answer(counted(&watch), Then::Wait)),
        (answer(until_close(LIST), Then::Close), answer(until_close(&watch), Then::Close)),
    ] {
        for piece in [1, 7, 64, 4096] {
            let kept = matches!(list.then, Then::Wait);
            let wire = Wire::new(&[list.clone(), watch.clone()]).in_pieces(piece);
            assert_eq!(tell(&wire, lists(), 4), ["a/web on n1", "Synced", "a/web now on n2", "a/web gone"]);
            assert_eq!(wire.seen.connected.get(), if kept { 1 } else { 2 });
            let requests = wire.seen.requests.borrow();
            assert!(
                requests[0].starts_with("GET /api/v1/pods?limit=500 HTTP/1.1\r\nHost: 10.0.0.1:6443\r\n"),
                "{requests:?}"
            );
            assert!(requests[1].starts_with("GET /api/v1/pods?watch=1&"), "{requests:?}");
            assert!(requests.iter().all(|request| request.contains("\r\nAuthorization: Bearer t0ken\r\n")));
        }
    }
}

/// With a limit for each read, a byte a minute would hold the informer for eleven days.
#[test]
fn all_reads_of_a_head_share_one_limit() {
    for then in [Then::Wait, Then::Repeat(b"X")] {
        for pace in [1, 59, 61] {
            let pace = Duration::from_secs(pace);
            let wire = Wire::new(&[answer("HTTP/1.1 200 OK\r\nX-", then)]).in_pieces(1).each(pace);
            let told = tell(&wire, lists(), 1);
            assert!(told[0].starts_with("list: nothing arrived for 60 s, again"), "{told:?}");
            assert!(wire.seen.reads.get() <= 62, "{} reads", wire.seen.reads.get());
            assert_eq!((wire.seen.connected.get(), wire.seen.closed.get()), (1, 1));
        }
    }
}

#[test]
fn the_deadline_of_a_head_is_the_informers() {
    let mut config = lists();
    config.reflector.answer_timeout = Some(Duration::from_secs(5));
    let slow = |pace| Wire::new(&[answer(counted(LIST), Then::Wait)]).in_pieces(1).each(Duration::from_millis(pace));
    // Head and body together have more bytes than fit into the limit: only the head has to.
    assert_eq!(tell(&slow(60), config, 1), ["a/web on n1"]);
    assert!(tell(&slow(70), config, 1)[0].starts_with("list: nothing arrived for 5 s"));
}

#[test]
fn an_answer_cut_at_any_byte_is_one_error_and_deletes_nothing() {
    for whole in [counted(LIST), chunked(LIST)] {
        let (head, list) = (whole.find("\r\n\r\n").unwrap() + 4, whole.rfind('}').unwrap() + 1);
        for len in 0..whole.len() {
            let expected = match len {
                0 => "before it answered",
                _ if len < head => "inside of the answer's head",
                _ => "before the end of the answer's body",
            };
            // The next attempt brings all of it.
            let wire = Wire::new(&[answer(&whole[..len], Then::Close), answer(&whole, Then::Wait)]);
            let mut told = tell(&wire, lists(), 3);
            if len < list {
                let error = format!("list: connection broken: the server closed the connection {expected}, again in ");
                assert!(told.remove(0).starts_with(&error), "{len}: {told:?}");
            }
            // A list with all its brackets is complete.
            assert_eq!(told[..2], ["a/web on n1", "Synced"], "{len}");
        }
    }
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    for len in 0..LIST.len() {
        let told = first(format!("{head}{}", &LIST[..len]), Then::Close);
        assert_eq!(told, "list: the list broke off before its end", "{len}");
    }
}

#[test]
fn what_breaks_a_rule_of_http_is_named() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let chunks = format!("{ok}Transfer-Encoding: chunked\r\n\r\n");
    for (bytes, then, error) in [
        ("220 mail.example.com ESMTP\r\n".into(), Then::Wait, "does not begin with a status line"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n".into(), Then::Wait, "switches to another protocol"),
        (format!("{ok}Content-Length: 5x\r\n\r\n"), Then::Wait, "Content-Length is no number"),
        (format!("{ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), Then::Wait, "two lengths"),
        (format!("{ok}Content-Encoding: gzip\r\n\r\n"), Then::Wait, "is compressed"),
        (ok.into(), Then::Repeat(b"X: y\r\n"), "head of the answer is longer than 16384 bytes"),
        (String::new(), Then::Repeat(b"HTTP/1.1 100 Continue\r\n\r\n"), "longer than 16384 bytes"),
        (format!("{ok}X: "), Then::Repeat(b"y"), "longer than 16384 bytes"),
        (format!("{chunks}x\r\n"), Then::Wait, "a chunk of the body has no size"),
        (format!("{chunks}10000000000000000\r\n"), Then::Wait, "a chunk of the body has no size"),
        (format!("{chunks}2\r\n{{\"x\r\n"), Then::Wait, "does not end where its size says"),
        (format!("{chunks}1"), Then::Repeat(b"0"), "a chunk of the body has no size"),
        (format!("{chunks}1;"), Then::Repeat(b"x"), "extension of a chunk of the body is longer than 256"),
        (format!("{chunks}0\r\n"), Then::Repeat(b"X: y\r\n"), "trailer of the answer is longer than 16384"),
    ] {
        let told = first(&bytes, then);
        assert!(told.starts_with("list: protocol violated: ") && told.contains(error), "{bytes:?}: {told}");
        assert!(!told.contains("t0ken"), "{told}");
    }
}

#[test]
fn interim_answers_come_before_the_answer() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n";
    assert_eq!(first(format!("{interim}{}", chunked(LIST)), Then::Wait), "a/web on n1");
}

#[test]
fn a_refusal_is_told_by_its_status_and_waits_as_long_as_it_says() {
    let body = r#"{"kind":"Status","message":"no","reason":"R","code":CODE}"#;
    for code in [301_u16, 302, 307, 308, 401, 403, 404, 410, 429, 500, 503] {
        let body = body.replace("CODE", &code.to_string());
        for wait in [None, Some(37)] {
            let header = wait.map_or_else(String::new, |wait| format!("Retry-After: {wait}\r\n"));
            let head = format!("HTTP/1.1 {code} Some Reason\r\nLocation: https://elsewhere/\r\n{header}");
            let bytes = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            let wire = Wire::new(&[answer(bytes, Then::Wait), answer(counted(LIST), Then::Wait)]);
            let told = tell(&wire, lists(), 2);
            let (said, again) = told[0].split_once(", again in ").unwrap();
            assert_eq!(said, format!("list: status {code} R: no"));
            let seconds: u64 = again.trim_end_matches(" s").parse().unwrap();
            assert!(wait.is_none_or(|wait| (wait..wait + 60).contains(&seconds)), "{told:?}");
            assert_eq!(told[1], "a/web on n1", "no redirect is followed");
            assert!(
                wire.seen.requests.borrow().iter().all(|request| request.starts_with("GET /api/v1/pods?limit=500 "))
            );
        }
    }
}

#[test]
fn a_list_without_an_end_is_too_large_or_too_slow() {
    let mut config = lists();
    config.max_list_bytes = 100_000;
    let begun = &LIST[..LIST.len() - 2];
    let item = br#",{"metadata":{"namespace":"a","name":"web","resourceVersion":"4"}}"#;
    for (body, again) in [(begun, &item[..]), (begun, b" "), (begun, b","), ("{\"a\":\"", b"x"), ("", b" ")] {
        let endless = answer(format!("HTTP/1.1 200 OK\r\n\r\n{body}"), Then::Repeat(again));
        for (piece, pace, error) in [
            (4096, Duration::from_millis(1), "the list is larger than 100000 bytes"),
            (1, Duration::from_secs(1), "the response arrives too slowly"),
        ] {
            let wire = Wire::new(std::slice::from_ref(&endless)).in_pieces(piece).each(pace);
            let told = fail(&wire, config);
            assert!(told.starts_with(&format!("list: {error}")), "{body}: {told}");
            assert!(wire.seen.reads.get() < 1000, "{} reads", wire.seen.reads.get());
        }
    }
}

#[test]
fn a_connection_that_the_server_closed_after_an_answer_is_made_again_once() {
    let watch = r#"{"type":"DELETED","object":{"metadata":{"namespace":"a","name":"web","resourceVersion":"7"}}}"#;
    let list = answer(counted(LIST), Then::Wait);
    let stale = answer("", Then::Close);
    let wire = Wire::new(&[list.clone(), stale.clone(), answer(chunked(&format!("{watch}\n")), Then::Wait)]);
    assert_eq!(tell(&wire, lists(), 3), ["a/web on n1", "Synced", "a/web gone"]);
    assert_eq!(wire.seen.connected.get(), 2);
    let wire = Wire::new(&[list, stale.clone(), stale]);
    let told = tell(&wire, lists(), 3);
    assert!(told[2].starts_with("watch: connection broken: the server closed the connection before"), "{told:?}");
    assert_eq!(wire.seen.requests.borrow().len(), 3);
}

#[test]
fn a_new_token_is_not_sent_in_the_middle_of_a_request() {
    let wire = Wire::new(&[answer(counted(LIST), Then::Wait)]).in_pieces(10);
    let seen = wire.seen.clone();
    let mut source = HttpSource::<_, 16>::new(Endpoint::new("old").with_token("old"), wire);
    source.open(RequestId(1), &Request::parse("/api/v1/pods"));
    let (mut cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 8]);
    loop {
        let context = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
        source.set_endpoint(Endpoint::new("a-new-host").with_token("n"));
        if let Poll::Ready(Incoming::Head { .. }) = source.poll_read(context, &mut buf) {
            break;
        }
    }
    let requests = seen.requests.borrow();
    assert!(requests[0].contains("\r\nHost: old\r\n") && requests[0].contains("Bearer old\r\n"), "{requests:?}");
}
