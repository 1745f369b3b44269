//! The memory that playing a large recording takes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use core::task::{Context, Poll, Waker};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{CaptureError, CaptureErrorKind, Pace, Playback, PlaybackConfig};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";
const BODY: usize = 50 * 1000 * 1000;
const RECORD: usize = 100 * 1000;
/// The buffers for reading the file, some records, and the caller's own buffer.
const ALLOWED: usize = 1000 * 1000;

fn write(name: &str, content: impl FnOnce(&mut dyn Write)) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut file = BufWriter::new(File::create(&path).unwrap());
    content(&mut file);
    file.flush().unwrap();
    path
}

/// Plays the first answer to `target` and returns how many bytes it has.
fn play(path: &Path, target: &str) -> usize {
    let mut playback = Playback::with_config(path, PlaybackConfig::new().pace(Pace::Immediate)).unwrap();
    playback.open(RequestId(1), &Request::parse(target));
    let (mut cx, mut buf, mut bytes) = (Context::from_waker(Waker::noop()), [0; 32 * 1024], 0);
    loop {
        match playback.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf) {
            Poll::Ready(Incoming::Head { .. }) => {}
            Poll::Ready(Incoming::Data { len, .. }) => bytes += len,
            other => {
                assert_eq!(other, Poll::Ready(Incoming::End { id: RequestId(1) }));
                return bytes;
            }
        }
    }
}

/// While a test holds this, only its own allocations count.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_body_of_tiny_objects_takes_four_times_its_size_at_most() {
    const BODY: usize = 1000 * 1000;
    let _alone = alone();
    let body = "{\"\":0},".repeat(BODY / 7);
    let capture = write("large-request-body", |file| {
        writeln!(file, r#"{{"t":0,"id":1,"request":{{"method":"GET","path":"/api/v1/pods"}}}}"#).unwrap();
        writeln!(file, r#"{{"t":0,"id":2,"request":{{"method":"POST","path":"/x","body":[{body}0]}}}}"#).unwrap();
    });
    let profiler = dhat::Profiler::builder().testing().build();
    Playback::with_config(&capture, PlaybackConfig::new()).unwrap();
    let peak = dhat::HeapStats::get().max_bytes;
    assert!(peak < 4 * BODY, "{peak} bytes for a body of {BODY}");
    drop(profiler);
    std::fs::remove_file(capture).unwrap();
}

#[test]
fn the_continue_tokens_of_a_recording_take_little_memory() {
    const TOKEN: usize = 1000 * 1000;
    let _alone = alone();
    let capture = write("large-continue-tokens", |file| {
        let token = "x".repeat(TOKEN);
        for id in 0..20 {
            let path = format!("/api/v1/pods?continue={id}{token}");
            writeln!(file, r#"{{"t":0,"id":{id},"request":{{"method":"GET","path":"{path}"}}}}"#).unwrap();
        }
    });
    let profiler = dhat::Profiler::builder().testing().build();
    let playback = Playback::with_config(&capture, PlaybackConfig::new()).unwrap();
    let (held, peak) = (dhat::HeapStats::get().curr_bytes, dhat::HeapStats::get().max_bytes);
    assert!(held < 4 * TOKEN && peak < 10 * TOKEN, "{held} bytes held, {peak} at the peak");
    drop((playback, profiler));
    std::fs::remove_file(capture).unwrap();
}

/// The peak of the memory while all lists of a capture are played, and the error at its end.
fn peak(capture: &Path, pages: u64) -> (usize, Option<CaptureError>) {
    const LINE_LIMIT: usize = 100 * 1000;
    let profiler = dhat::Profiler::builder().testing().build();
    let config = PlaybackConfig::new().pace(Pace::Immediate).line_limit(LINE_LIMIT);
    let mut playback = Playback::with_config(capture, config).unwrap();
    let mut page = 0;
    while !playback.is_complete() {
        let token = if page == 0 { String::new() } else { format!("?continue={page}") };
        page = (page + 1) % pages;
        playback.open(RequestId(1), &Request::parse(&format!("{PODS}{token}")));
        let (mut cx, mut buf) = (Context::from_waker(Waker::noop()), [0; 1024]);
        let mut read = || playback.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf);
        while matches!(read(), Poll::Ready(Incoming::Head { .. } | Incoming::Data { .. })) {}
    }
    let peak = dhat::HeapStats::get().max_bytes;
    drop(profiler);
    std::fs::remove_file(capture).unwrap();
    (peak, playback.error().cloned())
}

fn list(id: u64, token: &str) -> String {
    format!(r#"{{"t":0,"id":{id},"request":{{"method":"GET","path":"{PODS}{token}"}}}}"#)
}

/// The end of a first exchange, and a line of data that has no end.
const END: &str = r#"{"t":0,"id":0,"end":"eof"}"#;
const OPEN: &str = r#"{"t":0,"id":1,"data":""#;

#[test]
fn requests_without_an_end_take_little_memory() {
    let _alone = alone();
    let capture = write("never-ended", |file| {
        writeln!(file, "{}\n{END}", list(0, "")).unwrap();
        (1..200_000).for_each(|id| {
            writeln!(file, r#"{{"t":0,"id":{id},"request":{{"method":"GET","path":"/api/v1/nodes/n"}}}}"#).unwrap();
        });
    });
    let (peak, error) = peak(&capture, 1);
    let error = error.unwrap();
    assert_eq!((error.kind(), error.line()), (CaptureErrorKind::Order, Some(65_539)));
    assert!(error.to_string().contains("more than 65536 requests are open at once; "), "{error}");
    assert!(peak < 30 * ALLOWED, "{peak} bytes");
}

#[test]
fn an_endless_line_of_a_gzip_bomb_takes_little_memory() {
    let _alone = alone();
    let capture = write("bomb", |file| {
        let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        write!(file, "{}\n{END}\n{OPEN}", list(0, "")).unwrap();
        (0..200).for_each(|_| file.write_all(&[b'x'; 1000 * 1000]).unwrap());
        file.finish().unwrap();
    });
    assert!(capture.metadata().unwrap().len() < 2000 * 1000);
    let (peak, error) = peak(&capture, 1);
    assert_eq!(error.map(|error| (error.kind(), error.line())), Some((CaptureErrorKind::TooLong, Some(3))));
    assert!(peak < ALLOWED, "{peak} bytes");
}

#[test]
fn a_chain_of_many_pages_takes_little_memory_in_any_order_of_its_ids() {
    const PAGES: u64 = 20_000;
    let _alone = alone();
    let capture = write("pages", |file| {
        for page in 0..PAGES {
            let token = if page == 0 { String::new() } else { format!("?continue={page}") };
            // Every second id comes later.
            let id = page * 7919 % 20_011;
            writeln!(file, "{}\n{}", list(id, &token), format_args!(r#"{{"t":0,"id":{id},"end":"eof"}}"#)).unwrap();
        }
    });
    let (peak, error) = peak(&capture, PAGES);
    assert_eq!(error, None);
    assert!(peak < 2 * ALLOWED, "{peak} bytes");
}

#[test]
fn a_large_recording_is_played_in_little_memory() {
    let _alone = alone();
    let capture = write("large-capture", |file| {
        let data = "\\\"".repeat(RECORD);
        writeln!(file, r#"{{"t":0,"id":1,"request":{{"method":"GET","path":"/api/v1/pods"}}}}"#).unwrap();
        writeln!(file, r#"{{"t":0,"id":1,"response":{{"status":200}}}}"#).unwrap();
        (0..BODY / RECORD).for_each(|_| writeln!(file, r#"{{"t":0,"id":1,"data":"{data}"}}"#).unwrap());
        writeln!(file, r#"{{"t":0,"id":1,"end":"eof"}}"#).unwrap();
    });
    let list = write("large-list", |file| {
        let item = "x".repeat(RECORD - 3);
        write!(file, "{{\"items\":[").unwrap();
        (0..BODY / RECORD).for_each(|_| write!(file, "\"{item}\",").unwrap());
        write!(file, "\"\"]}}").unwrap();
    });
    let [lines, values] = ["", "\n"].map(|space| {
        write(&format!("large-watch-log-{}", space.len()), |file| {
            let text = "x".repeat(RECORD - 29 - space.len());
            (0..BODY / RECORD).for_each(|_| {
                writeln!(file, "{{{space}\"type\":\"ADDED\",\"object\":\"{text}\"}}").unwrap();
            });
        })
    });
    let profiler = dhat::Profiler::builder().testing().build();
    assert_eq!(play(&capture, PODS), BODY);
    assert_eq!(play(&list, PODS), BODY + 14);
    assert_eq!(play(&lines, WATCH), BODY);
    assert_eq!(play(&values, WATCH), BODY);
    let peak = dhat::HeapStats::get().max_bytes;
    assert!(peak < ALLOWED, "{peak} bytes");
    drop(profiler);
    for path in [capture, list, lines, values] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_long_log_of_two_watches_is_played_in_little_memory() {
    const OBJECTS: usize = 10;
    let _alone = alone();
    let text = "x".repeat(RECORD);
    let log = write("two-watches", |file| {
        for number in 0..BODY / RECORD {
            let metadata = format!(r#"{{"name":"{}","resourceVersion":"{}"}}"#, number % OBJECTS, number + 1);
            writeln!(file, r#"{{"type":"MODIFIED","object":{{"metadata":{metadata},"spec":"{text}"}}}}"#).unwrap();
            if number == BODY / RECORD / 2 {
                writeln!(file, r#"{{"type":"ERROR","object":{{"kind":"Status","code":410}}}}"#).unwrap();
            }
        }
    });
    let profiler = dhat::Profiler::builder().testing().build();
    let mut playback = Playback::with_config(&log, PlaybackConfig::new().pace(Pace::Immediate)).unwrap();
    let bodies = [PODS, WATCH, PODS, WATCH].map(|target| {
        playback.open(RequestId(1), &Request::parse(target));
        let (mut cx, mut buf, mut bytes) = (Context::from_waker(Waker::noop()), [0; 32 * 1024], 0);
        loop {
            match playback.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf) {
                Poll::Ready(Incoming::Head { .. }) => {}
                Poll::Ready(Incoming::Data { len, .. }) => bytes += len,
                _ => return bytes / RECORD,
            }
        }
    });
    assert_eq!(bodies, [0, BODY / RECORD / 2 + 1, OBJECTS, BODY / RECORD / 2 - 1]);
    let peak = dhat::HeapStats::get().max_bytes;
    assert!(peak < 2 * ALLOWED, "{peak} bytes");
    drop(profiler);
    std::fs::remove_file(log).unwrap();
}
