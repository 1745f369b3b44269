//! The smallest informer: a source of bytes and a loop, without an executor, a thread or a clock.
//!
//! The source plays what an API server answers, each line at its time. On a device, it reads a serial line or a socket,
//! and `now` comes from the tick counter. The standard library is here for `println!` alone.
//!
//! ```sh
//! cargo run -p listwatch-core --example informer
//! ```

use core::mem;
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use listwatch_core::request::{Request, RequestId};
use listwatch_core::transport::{Incoming, ReadContext, ResponseHead};
use listwatch_core::{Driver, Event, Informer, InformerConfig, Instant, ListerWatcher, Resource};

/// What the device needs of a pod. The metadata is decoded beside it.
#[derive(serde::Deserialize)]
pub(crate) struct Pod {
    status: Status,
}

#[derive(serde::Deserialize)]
struct Status {
    phase: String,
}

/// The lines of a watch-list, and when each arrives, in milliseconds. The bookmark ends the initial state.
pub(crate) const LINES: [(u64, &str); 4] = [
    (20, r#"{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"status":{"phase":"Pending"}}}"#),
    (
        21,
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
    ),
    (
        900,
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"2"},"status":{"phase":"Running"}}}"#,
    ),
    (
        4000,
        r#"{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"3"},"status":{"phase":"Succeeded"}}}"#,
    ),
];

/// A source that plays lines.
pub(crate) struct Source {
    lines: &'static [(u64, &'static str)],
    /// How many bytes of the first line have been read.
    read: usize,
    /// The request that is being answered, and whether its answer has begun.
    open: Option<RequestId>,
    has_begun: bool,
}

impl Source {
    pub(crate) fn new(lines: &'static [(u64, &'static str)]) -> Self {
        Self { lines, read: 0, open: None, has_begun: false }
    }
}

impl ListerWatcher for Source {
    fn open(&mut self, id: RequestId, _request: &Request) {
        (self.open, self.has_begun) = (Some(id), false);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        let (Some(id), Some((millis, line))) = (self.open, self.lines.first()) else {
            return Poll::Ready(Incoming::Idle { until: None });
        };
        if !mem::replace(&mut self.has_begun, true) {
            return Poll::Ready(Incoming::Head { id, head: ResponseHead { status: 200, ..ResponseHead::default() } });
        }
        let due = Instant::ZERO + Duration::from_millis(*millis);
        if context.now < due {
            return Poll::Ready(Incoming::Idle { until: Some(due) });
        }
        let unread = line.bytes().chain(*b"\n").skip(self.read);
        let len = buf.iter_mut().zip(unread).map(|(to, from)| *to = from).count();
        self.read += len;
        if self.read > line.len() {
            (self.lines, self.read) = (&self.lines[1..], 0);
        }
        Poll::Ready(Incoming::Data { id, len })
    }

    fn abort(&mut self, _id: RequestId) {
        self.open = None;
    }
}

/// Follows the pods of `source` to its end, and shows each event with its time.
pub(crate) fn follow(source: Source, mut show: impl FnMut(Instant, &Event<Pod>)) {
    let mut informer = Informer::<Pod>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
    informer.seed_unless_chosen(4711); // of the device: not all of them retry at the same moment
    let mut driver = Driver::new(informer, source);
    let (mut now, mut context) = (Instant::ZERO, Context::from_waker(Waker::noop()));
    driver.informer_mut().start(now);
    while !driver.transport().lines.is_empty() {
        while let Poll::Ready(event) = driver.poll(now, &mut context) {
            show(now, &event);
        }
        // A device sleeps until then, or until its source interrupts it.
        let Some(next) = driver.poll_timeout() else { break };
        now = next;
    }
}

pub(crate) fn describe(event: &Event<Pod>) -> String {
    match event {
        Event::Added { object, .. } => format!("{} is there: {}", object.key(), object.status.phase),
        Event::Updated { new, .. } | Event::Recreated { new, .. } => format!("{} is {}", new.key(), new.status.phase),
        Event::Deleted { object, .. } => format!("{} is gone", object.key()),
        Event::Synced => String::from("synced"),
        Event::Failed(report) => report.to_string(), // the informer retries
        Event::Undecodable(error) => error.to_string(),
        event => format!("{event:?}"),
    }
}

pub(crate) fn main() {
    follow(Source::new(&LINES), |now, event| println!("{now:?} {}", describe(event)));
}
