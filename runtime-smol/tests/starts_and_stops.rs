//! A thousand starts and stops of informers over the loopback interface, alone in its process: the threads and the open
//! files are counted before and after.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use core::time::Duration;
use listwatch::decode::Raw;
use listwatch::http::Cluster;
use listwatch::{Clock, Informers, Resource};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

const ROUNDS: usize = 1_000;

/// What ends a test that would never end.
const LIMIT: Duration = Duration::from_secs(120);

#[test]
fn a_thousand_starts_and_stops_leave_threads_and_sockets_as_they_were() {
    // The thread of timers stays, with its files.
    smol::block_on(Clock::real().sleep(Duration::from_millis(1)));
    let informers = Informers::new(Cluster::at(&serve()).unwrap());
    let before = counts();
    let running = [(); 2].map(|()| {
        let running = informers.run();
        thread::spawn(move || smol::block_on(running))
    });
    for number in 0..ROUNDS {
        round(&informers, number);
    }
    assert!(informers.status().is_empty());
    let running_alone = Counts { threads: before.threads + running.len(), ..before };
    assert_eq!(settled(running_alone), running_alone);
    drop(informers);
    running.into_iter().for_each(|running| running.join().unwrap());
    assert_eq!(settled(before), before);
}

/// Starts informers, and stops them wherever they are.
fn round(informers: &Informers, number: usize) {
    let resource = |name: &str| Resource::named(name).unwrap();
    let pods = informers.informer_of::<Raw>(resource("v1/pods"));
    let shared = informers.informer_of::<Raw>(resource("v1/pods"));
    let hanging = informers.informer_of::<Raw>(resource("v1/hanging"));
    drop(shared);
    if number.is_multiple_of(3) {
        smol::block_on(pods.synced()).unwrap();
        assert_eq!(pods.len(), 1);
    }
    drop((pods, hanging));
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    threads: usize,
    files: usize,
}

fn counts() -> Counts {
    let entries = |folder: &str| fs::read_dir(folder).unwrap().count();
    Counts { threads: entries("/proc/self/task"), files: entries("/proc/self/fd") }
}

/// The counts, as soon as they are these. The thread of an aborted request takes a moment to end.
fn settled(expected: Counts) -> Counts {
    #[expect(clippy::disallowed_methods, reason = "it only ends what would never end")]
    let start = Instant::now();
    loop {
        let now = counts();
        if now == expected || start.elapsed() > LIMIT {
            return now;
        }
        thread::yield_now();
    }
}

/// Serves one pod, and for anything else no answer at all. The thread of a connection ends with it.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            thread::spawn(move || while answer(&connection).is_some() {});
        }
    });
    url
}

/// Answers one request; `None` after the last one of the connection.
fn answer(mut connection: &TcpStream) -> Option<()> {
    let mut lines = BufReader::with_capacity(1, connection).lines().map_while(Result::ok);
    let target = lines.next()?;
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let list = r#"{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a","resourceVersion":"5"}}]}"#;
    let (status, body) = if target.contains("sendInitialEvents") { (422, "{}") } else { (200, list) };
    if target.contains("hanging") || status == 200 && target.contains("watch=1") {
        if status == 200 && !target.contains("hanging") {
            connection.write_all(b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n").ok()?;
        }
        // Until the client hangs up.
        connection.read_to_end(&mut Vec::new()).ok()?;
        return None;
    }
    let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    connection.write_all(answer.as_bytes()).ok()
}
