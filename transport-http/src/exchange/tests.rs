//! Answers in any pieces, hostile answers, and the text of requests.

use super::error::RequestPart;
use super::*;
use std::time::Duration;

/// What an answer showed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    head: Option<Head>,
    body: Vec<u8>,
    has_ended: bool,
    error: Option<ProtocolError>,
    is_reusable: bool,
}

/// Reads an answer that comes in pieces of these lengths, again and again; then the server closes the connection.
fn read(answer: &[u8], lengths: &[usize]) -> Seen {
    let (mut response, mut seen, mut rest) = (Response::new(), Seen::default(), answer);
    for length in lengths.iter().cycle() {
        let (piece, behind) = rest.split_at((*length).min(rest.len()));
        if let Err(error) = take(&mut response, piece, &mut seen) {
            return Seen { error: Some(error), ..seen };
        }
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    seen.is_reusable = response.is_reusable();
    if !seen.has_ended {
        seen.error = response.handle_close().and_then(|()| take(&mut response, &[], &mut seen)).err();
    }
    seen
}

fn take(response: &mut Response, mut piece: &[u8], seen: &mut Seen) -> Result<(), ProtocolError> {
    loop {
        let (taken, part) = response.handle_bytes(piece)?;
        match part {
            Some(Part::Head(head)) => assert_eq!(seen.head.replace(head), None, "one head"),
            Some(Part::Data(range)) => {
                assert!(!range.is_empty() && range.end == taken && !seen.has_ended);
                seen.body.extend_from_slice(&piece[range]);
            }
            Some(Part::End) => {
                assert_eq!(taken, piece.len(), "nothing is left behind the end");
                seen.has_ended = true;
                return Ok(());
            }
            None => {
                assert_eq!(taken, piece.len(), "it takes everything that it understands");
                return Ok(());
            }
        }
        piece = &piece[taken..];
    }
}

/// The answer in one piece. In every two pieces, byte by byte, and in pieces of random lengths, it shows the same.
fn whole(answer: &[u8]) -> Seen {
    let whole = read(answer, &[answer.len().max(1)]);
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) as usize % 17
    };
    let splits = (1..answer.len().min(2000)).map(|at| vec![at, answer.len() - at]);
    let pieces = (0..50).map(|_| (0..5).map(|_| random()).collect());
    for lengths in splits.chain(pieces).chain([vec![1]]) {
        assert_eq!(read(answer, &lengths), whole, "{:?} in {lengths:?}", answer.escape_ascii().to_string());
    }
    whole
}

/// An answer that ends properly: its status, its body, and whether the connection can be used again.
fn ended(answer: &str) -> (u16, String, bool) {
    let seen = whole(answer.as_bytes());
    assert_eq!((seen.error, seen.has_ended), (None, true), "{answer}");
    (seen.head.unwrap().status(), String::from_utf8(seen.body).unwrap(), seen.is_reusable)
}

fn refused(answer: impl AsRef<[u8]>) -> ProtocolError {
    let seen = whole(answer.as_ref());
    assert!(!seen.has_ended && !seen.is_reusable, "{:?}", answer.as_ref().escape_ascii().to_string());
    seen.error.expect("an error")
}

#[test]
fn every_body_ends_where_its_frame_says_in_any_pieces() {
    for (answer, body, is_reusable) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", true),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", true),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding:CHUNKED\r\n\r\n1\r\nh\r\n04;x=\"y\"\r\nello\r\n000\r\n\r\n",
            "hello",
            true,
        ),
        (
            "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nA \r\n0123456789\r\n0\r\nX: y\r\nZ:\r\n\r\n",
            "0123456789",
            true,
        ),
        ("HTTP/1.1 200 OK\r\n\r\nhello", "hello", false),
        ("HTTP/1.0 200 OK\r\n\r\n", "", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", "ab", false),
        ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nab", "ab", true),
        (
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "a",
            false,
        ),
        ("HTTP/1.1 200 OK\r\nConnection: x , CLOSE\r\nContent-Length: 2\r\n\r\nab", "ab", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK", "ab", false),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 1\r\n\r\na", "a", true),
    ] {
        assert_eq!(ended(answer), (200, body.into(), is_reusable), "{answer}");
    }
}

#[test]
fn an_answer_without_a_body_ends_with_its_head() {
    assert_eq!(ended("HTTP/1.1 204 No Content\r\n\r\n"), (204, String::new(), true));
    assert_eq!(ended("HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"), (304, String::new(), false));
    assert_eq!(
        ended("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        (204, String::new(), false)
    );
}

#[test]
fn interim_answers_are_passed_over() {
    let answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\nLink: <x>\r\n\r\n\
                  HTTP/1.1 410 Gone\r\nContent-Length: 1\r\n\r\na";
    assert_eq!(ended(answer), (410, "a".into(), true));
    assert_eq!(refused("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), ProtocolError::Upgrade);
}

#[test]
fn a_head_says_what_the_machines_read() {
    let head = |lines: &str| {
        let answer = format!("HTTP/1.1 429 Too Many Requests\r\n{lines}\r\nContent-Length: 0\r\n\r\n");
        whole(answer.as_bytes()).head.unwrap()
    };
    let plain = head("X-Some: thing\r\nVia: 1.1 x\r\nSet-Cookie: a=b; c");
    assert_eq!((plain.status(), plain.retry_after(), plain.content_type()), (429, None, None));
    assert_eq!(head("Retry-After: 7").retry_after(), Some(Duration::from_secs(7)));
    let date = "Date: Fri, 20 Nov 2026 10:43:37 GMT\r\nRetry-After: Friday, 20-Nov-26 10:44:07 GMT";
    assert_eq!(head(date).retry_after(), Some(Duration::from_secs(30)));
    assert_eq!(head("Retry-After: Fri, 20 Nov 2026 10:44:07 GMT").retry_after(), None);
    let many = format!("Retry-After: {}", "9".repeat(1000));
    assert_eq!(head(&many).retry_after(), Some(Duration::from_secs(3600)));
    let json = head("Content-Type:\t Application/JSON ; charset=utf-8 ");
    assert_eq!(json.content_type(), Some("application/json"));
    let long = format!("content-type: {}", "x".repeat(1000));
    assert_eq!(head(&long).content_type(), Some(&*"x".repeat(48)));
}

#[test]
fn an_answer_that_two_readers_could_divide_differently_is_refused() {
    use ProtocolError::*;
    let with = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n0\r\n\r\n");
    for (lines, error) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked", TwoLengths),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5", TwoLengths),
        ("Content-Length: 5\r\nContent-Length: 5", TwoLengths),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", TwoLengths),
        ("Content-Length: 5, 5", Length),
        ("Content-Length: +5", Length),
        ("Content-Length: 0x5", Length),
        ("Content-Length:", Length),
        ("Content-Length: -1", Length),
        ("Content-Length: 18446744073709551616", Length),
        ("Transfer-Encoding: gzip, chunked", TransferCoding),
        ("Transfer-Encoding: identity", TransferCoding),
        ("Transfer-Encoding:", TransferCoding),
        ("Content-Encoding: gzip", ContentCoding),
        ("Content-Length: 5\r\n X: folded", Header),
        ("Content-Length : 5", Header),
        ("Content Length: 5", Header),
        (": 5", Header),
        ("Content-Length", Header),
        ("X: a\0b", Header),
        ("X: a\u{7f}b", Header),
        ("X: y\nContent-Length: 5", LineEnd),
        ("X: y\rContent-Length: 5", LineEnd),
        ("X: y\r\r\nContent-Length: 5", LineEnd),
    ] {
        assert_eq!(refused(with(lines)), error, "{lines:?}");
    }
    let long = format!("Content-Length: {}5", " ".repeat(200));
    assert_eq!(refused(with(&long)), LongHeader);
    let name = format!("{}: 5", "x".repeat(200));
    assert_eq!(refused(with(&name)), Header);
}

#[test]
fn what_is_no_answer_of_http_is_said_to_be_none() {
    for answer in [
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.2 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\n\n",
        "HTTP/1.1 200 O\0K\r\n\r\n",
        "\u{15}\u{3}\u{1}\0\u{2}\u{2}\u{16}",
        "220 mail.example.com ESMTP\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n{}\r\n\r\n",
    ] {
        assert_eq!(refused(answer), ProtocolError::StatusLine, "{answer:?}");
    }
}

#[test]
fn a_chunk_that_is_none_is_refused() {
    use ProtocolError::*;
    for (body, error) in [
        ("\r\n", ChunkSize),
        (";x\r\n", ChunkSize),
        ("x\r\n", ChunkSize),
        ("-1\r\n", ChunkSize),
        ("0x1\r\na\r\n", ChunkSize),
        ("1\na\r\n", ChunkSize),
        ("1\r\r\na", ChunkSize),
        ("1;\u{7f}\r\na", ChunkSize),
        ("10000000000000000\r\na", ChunkSize),
        ("00000000000000001\r\na", ChunkSize),
        ("1\r\nab\r\n", ChunkEnd),
        ("1\r\na\n", ChunkEnd),
        ("1\r\na\r\r\n", ChunkEnd),
        ("0\r\nX\r\n\r\n", Header),
        ("0\r\nX: y\n\r\n", LineEnd),
        ("ffffffffffffffff\r\na", ClosedInBody),
        ("1\r\na\r\n", ClosedInBody),
    ] {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert_eq!(refused(&answer), error, "{body:?}");
    }
}

/// Feeds the beginning, and then `again` without end, until it is refused. Returns how many bytes that took.
fn endless(beginning: &str, again: &[u8]) -> (usize, ProtocolError) {
    let (mut response, mut seen, mut fed) = (Response::new(), Seen::default(), 0);
    take(&mut response, beginning.as_bytes(), &mut seen).unwrap();
    while fed < 1 << 20 {
        fed += again.len();
        if let Err(error) = take(&mut response, again, &mut seen) {
            return (fed, error);
        }
    }
    panic!("{fed} bytes were taken");
}

#[test]
fn nothing_is_endless_but_a_body() {
    use ProtocolError::*;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(endless("", b"H"), (16_385, LongHead));
    let (fed, error) = endless("HTTP/1.1 200 OK\r\n", b"X: y\r\n");
    assert!(fed < 16_390 && error == LongHead, "{fed} {error}");
    let (fed, error) = endless("", b"HTTP/1.1 100 Continue\r\n\r\n");
    assert!(fed < 16_410 && error == LongHead, "{fed} {error}");
    assert_eq!(endless(&format!("{chunked}1"), b"0").1, ChunkSize);
    assert_eq!(endless(&format!("{chunked}1;"), b"x"), (256, LongExtension));
    assert_eq!(endless(&format!("{chunked}0\r\nX: "), b"y"), (16_382, LongTrailer));
}

#[test]
fn a_limit_is_said_in_the_error() {
    for (error, limit) in [
        (ProtocolError::LongHead, lines::HEAD),
        (ProtocolError::LongTrailer, lines::HEAD),
        (ProtocolError::LongExtension, body::EXTENSION.into()),
    ] {
        assert!(error.to_string().ends_with(&format!(" is longer than {limit} bytes")), "{error}");
    }
}

#[test]
fn lengths_go_up_to_64_bits() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nab";
    let seen = whole(answer.as_bytes());
    assert_eq!((seen.body.as_slice(), seen.error), (&b"ab"[..], Some(ProtocolError::ClosedInBody)));
}

#[test]
fn an_answer_that_breaks_off_never_ends_properly() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
    ] {
        let head = answer.find("\r\n\r\n").unwrap() + 4;
        for len in 0..answer.len() {
            let expected = match len {
                0 => ProtocolError::ClosedBeforeAnswer,
                _ if len < head => ProtocolError::ClosedInHead,
                _ => ProtocolError::ClosedInBody,
            };
            assert_eq!(read(&answer.as_bytes()[..len], &[3]).error, Some(expected), "{:?}", &answer[..len]);
        }
        assert_eq!(read(answer.as_bytes(), &[3]).error, None);
    }
}

#[test]
fn an_error_and_an_end_are_repeated() {
    let mut response = Response::new();
    for _ in 0..2 {
        assert_eq!(response.handle_bytes(b"220 mail\r\n"), Err(ProtocolError::StatusLine));
    }
    assert_eq!(response.handle_close(), Err(ProtocolError::StatusLine));
    let mut response = Response::new();
    let (head, _) = response.handle_bytes(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    assert_eq!(head, 27);
    for _ in 0..2 {
        assert_eq!(response.handle_bytes(&[]), Ok((0, Some(Part::End))));
        assert!(response.is_reusable());
    }
    assert_eq!(response.handle_close(), Ok(()));
    assert!(!response.is_reusable(), "there is no connection");
}

fn text_of(get: &Get<'_, impl std::fmt::Display>, room: usize) -> String {
    let (mut text, mut buf) = (Vec::new(), vec![0; room]);
    loop {
        let len = get.try_write(text.len(), &mut buf).unwrap();
        text.extend_from_slice(&buf[..len]);
        if len < room {
            return String::from_utf8(text).unwrap();
        }
    }
}

#[test]
fn a_request_is_the_same_through_a_buffer_of_any_size() {
    let endpoint = Endpoint::new("[fd00::1]:6443").with_token("abc.def\n").with_user_agent("thermostat/1.2 (x)");
    let get = endpoint.get("/api/v1/pods?a=b c\"ü%20#[x]&d={e}\r\nX: y", "application/json").closing();
    let expected = "GET /api/v1/pods?a=b%20c%22%C3%BC%20%23%5Bx%5D&d=%7Be%7D%0D%0AX:%20y HTTP/1.1\r\n\
                    Host: [fd00::1]:6443\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n\
                    User-Agent: thermostat/1.2 (x)\r\nAuthorization: Bearer abc.def\r\nConnection: close\r\n\r\n";
    for room in 1..expected.len() + 2 {
        assert_eq!(text_of(&get, room), expected);
    }
    let plain = text_of(&Endpoint::new("a").get("/", "*/*"), 512);
    assert!(plain.contains("\r\nUser-Agent: listwatch/") && plain.ends_with("\r\n\r\n"), "{plain}");
    assert!(!plain.contains("Authorization") && !plain.contains("Connection"), "{plain}");
}

#[test]
fn a_part_that_cannot_be_sent_is_named_and_a_token_never_shown() {
    let wrong = |endpoint: Endpoint<'_>, target: &str, accept: &str| {
        let error = endpoint.get(target, accept).try_write(0, &mut [0; 512]).unwrap_err();
        let shown = format!("{error} {error:?} {endpoint:?} {:?}", endpoint.get("/", "x"));
        assert!(!shown.contains("hunter2"), "{shown}");
        error
    };
    let endpoint = Endpoint::new("a").with_token("hunter2");
    for (endpoint, target, accept, part) in [
        (endpoint, "", "x", RequestPart::Target),
        (endpoint, "api", "x", RequestPart::Target),
        (endpoint, "/", "", RequestPart::Accept),
        (endpoint, "/", "x\r\nX: y", RequestPart::Accept),
        (Endpoint::new("").with_token("hunter2"), "/", "x", RequestPart::Host),
        (Endpoint::new("https://a").with_token("hunter2"), "/", "x", RequestPart::Host),
        (Endpoint::new("a\r\nX: y").with_token("hunter2"), "/", "x", RequestPart::Host),
        (endpoint.with_user_agent("ü"), "/", "x", RequestPart::UserAgent),
        (endpoint.with_token("hunter2\r\nX: y"), "/", "x", RequestPart::Token),
        (endpoint.with_token("hunter2 x"), "/", "x", RequestPart::Token),
        (endpoint.with_token(" "), "/", "x", RequestPart::Token),
    ] {
        assert_eq!(wrong(endpoint, target, accept), ProtocolError::Unsendable(part));
    }
}

#[test]
fn a_target_that_cannot_be_formatted_is_not_sent_in_half() {
    struct Half;
    impl std::fmt::Display for Half {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("/api").and(Err(std::fmt::Error))
        }
    }
    let sent = Endpoint::new("a").get(Half, "x").try_write(0, &mut [0; 512]);
    assert_eq!(sent, Err(ProtocolError::Unsendable(RequestPart::Target)));
}

#[cfg(any(feature = "embedded-io", feature = "embedded-io-async"))]
#[test]
fn the_debug_output_of_an_exchange_shows_no_token() {
    let mut exchange = Exchange::<512>::new();
    let endpoint = Endpoint::new("a").with_token("t0ken");
    let request = endpoint.get("/pods", "x");
    assert!(core::str::from_utf8(exchange.unsent(&request).unwrap()).unwrap().contains("t0ken"));
    let bytes = format!("{:?}", b"t0ken").replace(['[', ']'], "");
    let shown = format!("{exchange:?}");
    assert!(!shown.contains("t0ken") && !shown.contains(&bytes), "{shown}");
}
