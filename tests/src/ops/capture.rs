//! Arbitrary bytes, played as a recording.

use listwatch_core::decode::Raw;
use listwatch_core::informer::Pumped;
use listwatch_core::request::{Request, RequestId, Verb};
use listwatch_core::transport::{Incoming, ReadContext};
use listwatch_core::{Driver, Informer, InformerConfig, Instant, ListerWatcher, Resource};
use listwatch_transport_file::{Chunks, Pace, Playback, PlaybackConfig};
use std::path::{Path, PathBuf};
use std::task::{Context, Poll, Waker};
use std::{env, fs, process};

/// Plays the file that `data` holds behind two bytes: how it is played, and in how large pieces.
///
/// # Panics
/// Where the playback does not keep to the order of a transport's reports, or does not end.
pub fn run(data: &[u8]) {
    let Some((&[how, most], bytes)) = data.split_first_chunk::<2>() else { return };
    let chunks = [Chunks::Recorded, Chunks::Whole, Chunks::AtMost(most.into())][usize::from(how % 3)];
    let pace = if how & 4 == 0 { Pace::Recorded } else { Pace::Immediate };
    let config = PlaybackConfig::new().chunks(chunks).pace(pace).skip_bad_lines(how & 8 != 0).line_limit(1 << 12);
    let file = File::new(bytes);
    answer_requests(&file.0, config);
    feed_an_informer(&file.0, config);
}

/// A file that lives as long as this.
pub(super) struct File(pub(super) PathBuf);

impl File {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let thread = std::thread::current().id();
        let path = env::temp_dir().join(format!("listwatch-capture-{}-{thread:?}", process::id()));
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn open(path: &Path, config: PlaybackConfig) -> Option<(Playback, Resource)> {
    let playback = Playback::with_config(path, config).ok()?;
    let resource = playback.resource().cloned().unwrap_or_else(|| Resource::new("/api/v1/things"));
    Some((playback, resource))
}

/// More than a recording of the size that is played here has to say.
const STEPS: u64 = 1 << 16;

/// Asks for everything, again and again until nothing is left.
fn answer_requests(path: &Path, config: PlaybackConfig) {
    let Some((mut playback, resource)) = open(path, config) else { return };
    let verbs = [
        Verb::Watch { resource_version: None, timeout: None, initial_events: true },
        Verb::List { limit: None, continue_token: None, resource_version: None },
        Verb::Watch { resource_version: None, timeout: None, initial_events: false },
    ];
    let mut now = Instant::ZERO;
    for (number, verb) in (1..STEPS).zip(verbs.iter().cycle()) {
        playback.open(RequestId(number), &Request { resource: resource.clone(), verb: verb.clone() });
        now = read_answer(&mut playback, RequestId(number), now);
        if playback.is_complete() {
            return;
        }
    }
    panic!("the playback does not end");
}

/// Head, then data, then an end, unless the answer fails before; the time when it was over.
fn read_answer(playback: &mut Playback, request: RequestId, mut now: Instant) -> Instant {
    let (mut cx, mut buf, mut begun) = (Context::from_waker(Waker::noop()), [0; 64], false);
    for _ in 0..STEPS {
        let Poll::Ready(incoming) = playback.poll_read(ReadContext { cx: &mut cx, now, max_wait: None }, &mut buf)
        else {
            panic!("a playback never waits");
        };
        match incoming {
            Incoming::Head { id, .. } => assert!(id == request && !std::mem::replace(&mut begun, true)),
            Incoming::Data { id, len } => assert!(id == request && begun && (1..=buf.len()).contains(&len)),
            Incoming::End { id } => {
                assert!(id == request && begun);
                return now;
            }
            Incoming::Failed { id, .. } => {
                assert_eq!(id, request);
                return now;
            }
            Incoming::Idle { until: Some(until) } => {
                assert!(until > now);
                now = until;
            }
            Incoming::Idle { until: None } => {
                assert!(playback.is_complete());
                return now;
            }
        }
    }
    panic!("the answer does not end");
}

/// Plays to an informer, in virtual time.
fn feed_an_informer(path: &Path, config: PlaybackConfig) {
    let Some((playback, resource)) = open(path, config) else { return };
    let mut driver = Driver::new(Informer::<Raw>::new(resource, InformerConfig::default()), playback);
    let (mut cx, mut now) = (Context::from_waker(Waker::noop()), Instant::ZERO);
    driver.informer_mut().start(now);
    for _ in 0..STEPS {
        let pumped = driver.pump(now, &mut cx);
        while driver.informer_mut().poll_event().is_some() {}
        if pumped == Pumped::Waiting {
            if driver.transport().is_complete() {
                return;
            }
            let deadline = driver.poll_timeout().expect("the playback goes on, so somebody waits for a time");
            assert!(deadline > now, "a deadline that was handled lies behind");
            now = deadline;
        }
    }
    panic!("the playback does not end");
}
