//! Files to play, and a caller that plays them under virtual time.

use core::task::{Context, Poll, Waker};
use core::time::Duration;
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead, TransportError};
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{CaptureError, Playback, PlaybackConfig};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// One of the bundled captures.
pub(crate) fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/captures").join(format!("{name}.jsonl.gz"))
}

/// A file with these bytes, under a path of its own.
pub(crate) fn file(bytes: impl AsRef<[u8]>) -> PathBuf {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("recording-{number}"));
    std::fs::write(&path, bytes).unwrap();
    path
}

pub(crate) fn gzip(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// A record of a request for `path`.
pub(crate) fn request(t: u64, id: u64, path: &str) -> String {
    format!(r#"{{"t":{t},"id":{id},"request":{{"method":"GET","path":"{path}","headers":{{}}}}}}"#)
}

/// A record of an answer with status 200.
pub(crate) fn response(t: u64, id: u64) -> String {
    format!(r#"{{"t":{t},"id":{id},"response":{{"status":200,"headers":{{"content-type":"application/json"}}}}}}"#)
}

pub(crate) fn data(t: u64, id: u64, text: &str) -> String {
    format!(r#"{{"t":{t},"id":{id},"data":"{text}"}}"#)
}

pub(crate) fn end(t: u64, id: u64, how: &str) -> String {
    format!(r#"{{"t":{t},"id":{id},"end":"{how}"}}"#)
}

/// A whole exchange with one chunk of data.
pub(crate) fn exchange(t: u64, id: u64, path: &str, text: &str) -> [String; 4] {
    [request(t, id, path), response(t, id), data(t, id, text), end(t, id, "eof")]
}

/// A caller with a clock of its own.
pub(crate) struct Player<L = Playback> {
    pub(crate) playback: L,
    pub(crate) now: Instant,
    pub(crate) buffer: usize,
    asked: u64,
}

/// The outcome of one request.
#[derive(Debug, PartialEq)]
pub(crate) struct Played {
    pub(crate) head: Option<ResponseHead>,
    pub(crate) body: Vec<u8>,
    /// How long each `Data` was, and how many milliseconds after the request it came.
    pub(crate) chunks: Vec<(usize, u64)>,
    pub(crate) ending: Ending,
    /// How many milliseconds after the request the answer was over.
    pub(crate) took: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    End,
    Failed(TransportError),
    /// The playback is over.
    Over,
}

impl Player {
    pub(crate) fn new(path: impl AsRef<Path>) -> Self {
        Self::with_config(path, PlaybackConfig::new())
    }

    pub(crate) fn with_config(path: impl AsRef<Path>, config: PlaybackConfig) -> Self {
        Self::of(Playback::with_config(path, config).unwrap())
    }

    /// Of a capture of these lines.
    pub(crate) fn of_lines<S: AsRef<str>>(lines: &[S], config: PlaybackConfig) -> Self {
        Self::with_config(file(text(lines)), config)
    }
}

impl<L: ListerWatcher> Player<L> {
    pub(crate) fn of(playback: L) -> Self {
        Self { playback, now: Instant::from_nanos(7_000_000), buffer: 64 * 1024, asked: 0 }
    }

    /// Opens a request under a new id.
    pub(crate) fn open(&mut self, target: &str) -> RequestId {
        self.open_request(&Request::parse(target))
    }

    fn open_request(&mut self, request: &Request) -> RequestId {
        self.asked += 1;
        self.playback.open(RequestId(self.asked), request);
        RequestId(self.asked)
    }

    pub(crate) fn poll(&mut self, buf: &mut [u8]) -> Incoming {
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(incoming) =
            self.playback.poll_read(ReadContext { cx: &mut cx, now: self.now, max_wait: Some(Duration::ZERO) }, buf)
        else {
            panic!("a recording always knows");
        };
        incoming
    }

    /// Asks, and waits for the whole answer.
    pub(crate) fn ask(&mut self, target: &str) -> Played {
        self.ask_for(&Request::parse(target))
    }

    pub(crate) fn ask_for(&mut self, request: &Request) -> Played {
        let (began, open) = (self.now, self.open_request(request));
        let mut buf = vec![0; self.buffer];
        let mut played = Played { head: None, body: Vec::new(), chunks: Vec::new(), ending: Ending::Over, took: 0 };
        loop {
            let incoming = self.poll(&mut buf);
            played.took = self.now.saturating_since(began).as_millis() as u64;
            match incoming {
                Incoming::Head { id, head } => {
                    assert_eq!((id, &played.head), (open, &None));
                    played.head = Some(head);
                }
                Incoming::Data { id, len } => {
                    assert!(id == open && len > 0 && played.head.is_some());
                    played.body.extend_from_slice(&buf[..len]);
                    played.chunks.push((len, played.took));
                }
                Incoming::End { id } => {
                    assert_eq!(id, open);
                    played.ending = Ending::End;
                    return played;
                }
                Incoming::Failed { id, error } => {
                    assert_eq!(id, open);
                    played.ending = Ending::Failed(error);
                    return played;
                }
                Incoming::Idle { until: Some(until) } => {
                    assert!(until > self.now, "what is due comes at once");
                    self.now = until;
                }
                Incoming::Idle { until: None } => return played,
            }
        }
    }
}

impl Played {
    pub(crate) fn text(&self) -> &str {
        core::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|head| head.status)
    }
}

/// Lines, each with its end.
pub(crate) fn text<S: AsRef<str>>(lines: &[S]) -> String {
    lines.iter().map(|line| format!("{}\n", line.as_ref())).collect()
}

/// The lines of a recording without their ends, which have the numbers of the lines.
pub(crate) fn unsealed(text: &str) -> Vec<String> {
    let content = |(place, line): (usize, &str)| {
        let (content, end) =
            line.rsplit_once(&format!(",\"n\":{},\"crc\":\"", place + 1)).unwrap_or_else(|| panic!("{line}"));
        assert!(end.len() == 10 && end.ends_with("\"}"), "{line}");
        format!("{content}}}")
    };
    text.lines().enumerate().map(content).collect()
}

/// The error of a file that cannot be played, without the path.
pub(crate) fn refusal(bytes: impl AsRef<[u8]>) -> (CaptureError, String) {
    let path = file(bytes);
    let error = Playback::from_file(&path).unwrap_err();
    let message = error.to_string();
    (error, message.strip_prefix(path.to_str().unwrap()).unwrap().to_owned())
}
