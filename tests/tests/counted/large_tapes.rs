//! That a recording plays in memory that does not grow with it.

use core::task::{Context, Poll, Waker};
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::api::{ApiRequest, ApiTransport, Method, Reply};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_tests::alone::alone;
use listwatch_tests::tapes::{LargeTape, PODS};
use listwatch_transport_file::{Pace, Playback, PlaybackClient, PlaybackConfig};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const FEW: LargeTape = LargeTape { requests: 10_000, padding: 0 };
const MANY: LargeTape = LargeTape { requests: 25_000, ..FEW };

/// A bit for each request, tables that are not yet full, and the harness. If each request stayed, 15,000 would take 2 MB.
const ALLOWED: usize = 512 * 1024;

fn write(tape: LargeTape, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{name}", tape.requests));
    let mut out = BufWriter::new(File::create(&path).unwrap());
    if name.ends_with(".gz") {
        let mut compressed = BufWriter::new(GzEncoder::new(out, Compression::fast()));
        tape.write(&mut compressed).unwrap();
        out = compressed.into_inner().unwrap().finish().unwrap();
    } else {
        tape.write(&mut out).unwrap();
    }
    out.flush().unwrap();
    path
}

/// What plays the recording.
#[derive(Clone, Copy, Debug)]
enum Playing {
    /// Nobody makes the recorded writes.
    Informer,
    /// The writes follow the watch that was open while they were made.
    Controller,
    /// All writes follow all watches.
    WritesLast,
}

/// The peak of the memory while the recording is played.
fn peak(tape: LargeTape, path: &Path, playing: Playing) -> usize {
    let profiler = dhat::Profiler::builder().testing().build();
    let mut playback = Playback::with_config(path, PlaybackConfig::new().pace(Pace::Immediate)).unwrap();
    let (mut client, mut writes) = (playback.client(), tape.writes());
    ask(&mut playback, PODS);
    while !playback.is_complete() {
        ask(&mut playback, &format!("{PODS}?watch=1"));
        if let Playing::Controller = playing {
            writes.by_ref().take(9).for_each(|(path, body)| make(&mut client, path, body));
        }
    }
    if let Playing::WritesLast = playing {
        writes.by_ref().for_each(|(path, body)| make(&mut client, path, body));
    }
    let summary = playback.summary();
    let watches = tape.requests / 10;
    assert_eq!((summary.watches.answered, summary.watches.left, summary.lists.left), (watches, 0, 0));
    let left = if let Playing::Informer = playing { summary.others } else { 0 };
    assert_eq!((summary.others, summary.calls.left, summary.unrecorded), (tape.requests - watches - 1, left, 0));
    let peak = dhat::HeapStats::get().max_bytes;
    drop(profiler);
    peak
}

fn ask(playback: &mut Playback, target: &str) {
    playback.open(RequestId(1), &Request::parse(target));
    let (mut cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 4096]);
    loop {
        let context = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
        match playback.poll_read(context, &mut buf) {
            Poll::Ready(Incoming::Head { .. } | Incoming::Data { .. }) => {}
            _ => return,
        }
    }
}

fn make(client: &mut PlaybackClient, path: String, body: String) {
    let mut request = ApiRequest::new(Method::Put, path);
    request.body = body.into_bytes();
    client.open(RequestId(1), &request);
    let mut cx = Context::from_waker(Waker::noop());
    let context = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
    let reply = client.poll_response(RequestId(1), context);
    assert!(matches!(reply, Poll::Ready(Reply::Answered(_))), "{request}: {reply:?}");
}

#[test]
fn a_recording_of_more_than_twice_as_many_requests_takes_no_more_memory() {
    alone(|| {
        let all = [Playing::Informer, Playing::Controller, Playing::WritesLast];
        for (name, ways) in [("tape.jsonl", &all[..]), ("tape.jsonl.gz", &all[..1])] {
            let (few, many) = (write(FEW, name), write(MANY, name));
            for &playing in ways {
                let (less, more) = (peak(FEW, &few, playing), peak(MANY, &many, playing));
                println!("{name}, {playing:?}: {less} bytes for 10,000 requests, {more} for 25,000");
                assert!(more <= less + ALLOWED, "{name}, {playing:?}: {less} bytes, then {more}");
            }
            std::fs::remove_file(few).unwrap();
            std::fs::remove_file(many).unwrap();
        }
    });
}
