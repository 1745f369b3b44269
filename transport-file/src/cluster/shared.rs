//! A server behind a lock, and the tasks that wait for its changes.

use super::kinds::ServedKind;
use super::refusal::Refusal;
use super::server::{Call, RecordedChange, RecordedState, Reply, Server};
use super::watch::{WatchProgress, WatchState};
use super::write::Actor;
use core::task::{Context, Waker};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::transport::ResponseHead;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The server of all clones of a cluster.
#[derive(Debug)]
pub(super) struct Shared(Mutex<Inside>);

#[derive(Debug)]
pub(super) struct Inside {
    pub(super) server: Server,
    /// The newest time that it was told.
    pub(super) latest: Instant,
    /// The tasks that wait for a change, by the numbers of their watches.
    waiting: BTreeMap<u64, Waker>,
    watches: u64,
}

/// The answer of a [`SimulatedCluster`](crate::SimulatedCluster).
#[derive(Debug)]
pub struct Answer {
    /// Status and headers.
    pub head: ResponseHead,
    /// The body; of a watch, its beginning, which is empty.
    pub body: Vec<u8>,
    /// The rest of the body, which comes as things happen.
    pub watch: Option<WatchStream>,
}

/// The body of a watch.
#[derive(Debug)]
pub struct WatchStream {
    shared: Arc<Shared>,
    state: WatchState,
    number: u64,
}

impl Shared {
    pub(super) fn new(server: Server) -> Arc<Self> {
        let inside = Inside { server, latest: Instant::ZERO, waiting: BTreeMap::new(), watches: 0 };
        Arc::new(Self(Mutex::new(inside)))
    }

    /// Looks at the server, or changes something; the watches hear of it.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Inside) -> T) -> T {
        let mut inside = self.lock();
        let before = inside.server.store().steps();
        let done = act(&mut inside);
        let is_changed = inside.server.store().steps() != before;
        let waiting = if is_changed { std::mem::take(&mut inside.waiting) } else { BTreeMap::new() };
        drop(inside);
        waiting.into_values().for_each(Waker::wake);
        done
    }

    /// Answers a request.
    pub(super) fn handle(self: &Arc<Self>, now: Instant, call: &Call<'_>, actor: Actor) -> Answer {
        let (reply, number) = self.with(|inside| {
            inside.latest = inside.latest.max(now);
            inside.watches += 1;
            (inside.server.handle(now, call, actor), inside.watches)
        });
        match reply {
            Reply::Whole { code, body } => Answer { head: head(code, "application/json", None), body, watch: None },
            Reply::Refused(refusal) => refused(&refusal),
            Reply::Watch(state) => {
                let watch = WatchStream { shared: Arc::clone(self), state, number };
                Answer { head: head(200, "application/json", None), body: Vec::new(), watch: Some(watch) }
            }
        }
    }

    pub(super) fn apply_recorded(&self, now: Instant, change: RecordedChange) {
        self.with(|inside| {
            inside.latest = inside.latest.max(now);
            inside.server.apply_recorded(now, change);
        });
    }

    pub(super) fn apply_relisted(&self, now: Instant, state: RecordedState) {
        self.with(|inside| {
            inside.latest = inside.latest.max(now);
            inside.server.apply_relisted(now, state);
        });
    }

    pub(super) fn kinds(&self) -> Vec<Arc<ServedKind>> {
        self.lock().server.kinds().iter().cloned().collect()
    }

    /// The server as it is. A panic behind the lock leaves it in one piece: each change is stored as a whole.
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchStream {
    /// Appends what is due to `out`. Where nothing is, the waker is called when something changes.
    pub fn poll(&mut self, now: Instant, cx: &Context<'_>, out: &mut Vec<u8>) -> WatchProgress {
        let Self { shared, state, number } = self;
        let (progress, _waker) = shared.with(|inside| {
            inside.latest = inside.latest.max(now);
            let progress = state.advance(now, inside.server.store(), out);
            let waits = progress != WatchProgress::Over;
            // The drop of a waker may drop a task, and with it another watch: not behind the lock.
            (progress, waits.then(|| inside.waiting.insert(*number, cx.waker().clone())))
        });
        progress
    }

    /// Each change is told so much later from now on.
    pub(super) fn set_lag(&mut self, lag: Duration) {
        self.state.set_lag(lag);
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        let waker = self.shared.lock().waiting.remove(&self.number);
        drop(waker);
    }
}

fn refused(refusal: &Refusal) -> Answer {
    let (content_type, body) = refusal.body();
    Answer { head: head(refusal.code, content_type, refusal.retry_after), body, watch: None }
}

fn head(status: u16, content_type: &str, retry_after: Option<Duration>) -> ResponseHead {
    ResponseHead { status, retry_after, content_type: Some(content_type.into()) }
}
