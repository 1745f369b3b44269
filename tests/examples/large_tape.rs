//! A large capture of a controller: `large_tape write FILE REQUESTS PADDING`, compressed if its name ends in `.gz`;
//! `large_tape play FILE REQUESTS [informer]` plays it to an informer and a client, and prints times and memory;
//! `large_tape from FILE SECONDS` plays it to an informer up to that moment of its 1 ms a request;
//! `large_tape fleet FILE PODS MEGABYTES PADDING` writes one of so many pods, for `listwatch show` and `listwatch report`.

use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::api::{ApiRequest, ApiTransport, Method, Reply};
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_tests::tapes::{FleetTape, LargeTape, PODS};
use listwatch_transport_file::{Pace, Playback, PlaybackConfig};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU64;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["write", file, requests, padding] => {
            numbers(requests, padding).and_then(|tape| write(file, |mut sink| tape.write(&mut sink)))
        }
        ["fleet", file, pods, megabytes, padding] => {
            fleet(pods, megabytes, padding).and_then(|tape| write(file, |mut sink| tape.write(&mut sink)))
        }
        ["play", file, requests] => numbers(requests, "0").and_then(|tape| play(file, tape, true)),
        ["play", file, requests, "informer"] => numbers(requests, "0").and_then(|tape| play(file, tape, false)),
        ["from", file, seconds] => seconds.parse().map_err(Failure::from).and_then(|seconds| from(file, seconds)),
        _ => {
            Err("usage: large_tape write FILE REQUESTS PADDING | play FILE REQUESTS [informer] | from FILE SECONDS | \
                 fleet FILE PODS MEGABYTES PADDING"
                .into())
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn numbers(requests: &str, padding: &str) -> Result<LargeTape, Failure> {
    Ok(LargeTape { requests: requests.parse()?, padding: padding.parse()? })
}

fn fleet(pods: &str, megabytes: &str, padding: &str) -> Result<FleetTape, Failure> {
    Ok(FleetTape {
        pods: pods.parse::<NonZeroU64>()?.get(),
        bytes: megabytes.parse::<u64>()? * 1_000_000,
        padding: padding.parse()?,
    })
}

fn write(file: &str, tape: impl Fn(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let sink = File::create(file)?;
    if file.ends_with(".gz") {
        let mut sink = BufWriter::new(GzEncoder::new(sink, Compression::default()));
        tape(&mut sink)?;
        sink.into_inner()?.finish()?;
    } else {
        let mut sink = BufWriter::new(sink);
        tape(&mut sink)?;
        sink.flush()?;
    }
    Ok(())
}

/// Plays the watches, each with the writes that were made while it was open.
#[expect(clippy::disallowed_methods, reason = "the example measures time")]
fn play(file: &str, tape: LargeTape, with_writes: bool) -> Result<(), Failure> {
    let clock = std::time::Instant::now();
    let mut playback = Playback::with_config(file, PlaybackConfig::new().pace(Pace::Immediate))?;
    let mut player = Player { client: playback.client(), asked: 0, bytes: 0 };
    let opened = clock.elapsed();
    _ = player.ask(&mut playback, PODS);
    let (answered, bytes, memory) = (clock.elapsed(), bytes_read(), peak_memory());
    println!("opened after {opened:.1?}, a list answered after {answered:.1?}: {bytes} bytes read, {memory}");
    let mut writes = tape.writes();
    while !playback.is_complete() {
        _ = player.ask(&mut playback, &format!("{PODS}?watch=1"));
        if with_writes {
            writes.by_ref().take(9).for_each(|(path, body)| player.write(path, body));
        }
    }
    println!("{} bytes played after {:.1?}; {}", player.bytes, clock.elapsed(), peak_memory());
    println!("{:?}", playback.summary());
    playback.error().map_or(Ok(()), |error| Err(error.clone().into()))
}

/// Plays the watches up to a moment, which need not wait.
#[expect(clippy::disallowed_methods, reason = "the example measures time")]
fn from(file: &str, seconds: u64) -> Result<(), Failure> {
    let clock = std::time::Instant::now();
    let mut playback = Playback::with_config(file, PlaybackConfig::new().from(Duration::from_secs(seconds)))?;
    let mut player = Player { client: playback.client(), asked: 0, bytes: 0 };
    _ = player.ask(&mut playback, PODS);
    while !matches!(player.ask(&mut playback, &format!("{PODS}?watch=1")), Poll::Ready(Incoming::Idle { .. })) {}
    println!("at {seconds} s after {:.1?}: {} bytes played; {}", clock.elapsed(), player.bytes, peak_memory());
    playback.error().map_or(Ok(()), |error| Err(error.clone().into()))
}

struct Player<C> {
    client: C,
    asked: u64,
    bytes: u64,
}

impl<C: ApiTransport> Player<C> {
    /// Asks, and reads what need not wait. Returns what comes then.
    fn ask(&mut self, playback: &mut Playback, target: &str) -> Poll<Incoming> {
        self.asked += 1;
        playback.open(RequestId(self.asked), &Request::parse(target));
        let (mut cx, mut buf) = (Context::from_waker(Waker::noop()), vec![0; 64 * 1024]);
        loop {
            match playback.poll_read(ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None }, &mut buf) {
                Poll::Ready(Incoming::Head { .. }) => {}
                Poll::Ready(Incoming::Data { len, .. }) => self.bytes += len as u64,
                other => return other,
            }
        }
    }

    fn write(&mut self, path: String, body: String) {
        self.asked += 1;
        let mut request = ApiRequest::new(Method::Put, path);
        request.body = body.into_bytes();
        self.client.open(RequestId(self.asked), &request);
        let mut cx = Context::from_waker(Waker::noop());
        let context = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
        match self.client.poll_response(RequestId(self.asked), context) {
            Poll::Ready(Reply::Answered(response)) => self.bytes += response.body.len() as u64,
            other => panic!("{request}: {other:?}"),
        }
    }
}

/// The bytes that this process has read.
fn bytes_read() -> String {
    proc_line("/proc/self/io", "rchar: ").unwrap_or_else(|| "unknown".into())
}

fn peak_memory() -> String {
    proc_line("/proc/self/status", "VmHWM:")
        .map_or_else(|| "peak memory unknown".into(), |peak| format!("peak memory {peak}"))
}

fn proc_line(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
}
