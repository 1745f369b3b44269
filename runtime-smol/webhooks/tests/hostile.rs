//! Clients that mean harm.

use crate::client::{Connection, connect, posted};
use crate::foos::creation;
use crate::program::{Program, VALIDATE, program};
use serde_json::json;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

fn is_served(program: &Program) {
    let answer = program.connect().post(VALIDATE, &creation(&json!({})).to_string()).unwrap();
    assert_eq!(answer.response()["allowed"], true);
}

#[test]
fn what_no_server_sends_is_refused_with_a_status() {
    let program = program();
    let review = creation(&json!({})).to_string();
    let deep = review.replace("{}", &"[".repeat(100_000));
    let anonymous = review.replace("\"uid\":\"7\"", "\"uid\":\"\"");
    let large = format!("{}{}", review, " ".repeat(8 << 20));
    let get = b"GET /convert HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    let no_type = b"POST /convert HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let head = format!("POST {VALIDATE} HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "x".repeat(20 << 10)).into_bytes();
    let chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked";
    let chunked = format!("POST {VALIDATE} HTTP/1.1\r\nHost: x\r\n{chunked}\r\n\r\nzz\r\n").into_bytes();
    for (request, status) in [
        (get, 405),
        (no_type, 415),
        (posted(VALIDATE, "text/plain", &review), 415),
        (posted("/other", "application/json", &review), 404),
        (posted(VALIDATE, "application/json", "garbage"), 400),
        (posted(VALIDATE, "application/json", &deep), 400),
        (posted(VALIDATE, "application/json", &anonymous), 400),
        (posted("/convert", "application/json", &review), 400),
        (posted(VALIDATE, "application/json; charset=utf-8", &review), 200),
        (head, 431),
        (chunked, 400),
        (b"\x00\xff garbage\r\n\r\n".to_vec(), 400),
    ] {
        let mut connection = program.connect();
        connection.send(&request).unwrap();
        let shown = String::from_utf8_lossy(&request[..request.len().min(120)]).into_owned();
        assert_eq!(connection.answer().map(|answer| answer.status).unwrap(), status, "{shown}");
    }
    let mut connection = program.connect();
    // The rest of the body is not read, so the writing of it may fail.
    let _broken = connection.send(&posted(VALIDATE, "application/json", &large)[..1 << 10]);
    assert_eq!(connection.answer().unwrap().status, 413);
    is_served(&program);
}

#[test]
fn clients_that_are_slow_are_dropped_and_others_are_served() {
    let program = program();
    let address = program.address();
    // Without TLS, with a half of its greeting, and with a half of a request.
    let mut plain = connect(address).unwrap();
    plain.write_all(b"POST / HTTP/1.1\r\n\r\n").unwrap();
    let mut half = connect(address).unwrap();
    half.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00]).unwrap();
    let mut bodies: Vec<Connection> = (0..20).map(|_| program.connect()).collect();
    let head = "Content-Type: application/json\r\nContent-Length: 6000000";
    let request = format!("POST {VALIDATE} HTTP/1.1\r\nHost: x\r\n{head}\r\n\r\n{{\"a\":").into_bytes();
    bodies.iter_mut().for_each(|connection| connection.send(&request).unwrap());
    let begin = Instant::now();
    is_served(&program);
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    for connection in &mut bodies {
        assert_eq!(connection.answer().unwrap().status, 408);
    }
    for stream in [&mut plain, &mut half] {
        _ = stream.read_to_end(&mut Vec::new());
    }
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    is_served(&program);
}

#[test]
fn a_crowd_of_connections_leaves_room_for_others() {
    let program = program();
    let crowd: Vec<_> = (0..600).map_while(|_| connect(program.address()).ok()).collect();
    let begin = Instant::now();
    thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| is_served(&program))));
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    drop(crowd);
}
