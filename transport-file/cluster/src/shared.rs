//! A server behind a lock, and the tasks that wait for its changes.

use super::cache::{Lag, Reach};
use super::fault::Faults;
use super::network::Commit;
use super::permissions::User;
use super::refusal::Refusal;
use super::requests::Requests;
use super::server::{Call, Caller, Reply, Server};
use super::watch::{WatchProgress, WatchState};
use crate::kinds::ServedKind;
use core::fmt;
use core::task::{Context, Waker};
use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::time::earliest;
use listwatch_core::transport::ResponseHead;
use listwatch_transport_file::HistoryChange;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The server of all clones of a cluster.
#[derive(Debug)]
pub(super) struct Shared(Mutex<Inside>);

pub(super) struct Inside {
    pub(super) server: Server,
    /// The single requests of clients.
    pub(super) requests: Requests,
    /// What is to go wrong.
    pub(super) faults: Faults,
    /// How often all connections were broken.
    pub(super) disconnections: u64,
    /// How often an API server got another lag.
    relagged: u64,
    /// The newest time that it was told.
    latest: Instant,
    /// The clock by which it lives, if it has one.
    clock: Option<ServerClock>,
    /// Those that are told of each change.
    observers: Vec<Arc<Observer>>,
    /// How many processes were given a network of their own.
    pub(super) processes: u64,
    /// The tasks that wait for a change, by the numbers of their watches.
    waiting: BTreeMap<u64, Waker>,
    watches: u64,
}

/// Hears of changes.
type Observer = dyn Fn(&Commit) + Send + Sync;

/// The time of a server.
type ServerClock = Arc<dyn Fn() -> Instant + Send + Sync>;

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
    state: Box<WatchState>,
    /// The name of its collection.
    resource: String,
    reach: Reach,
    /// How long a change is on its way.
    way: Duration,
    number: u64,
}

impl Shared {
    pub(super) fn new(server: Server) -> Arc<Self> {
        let inside = Inside {
            server,
            requests: Requests::default(),
            faults: Faults::default(),
            disconnections: 0,
            relagged: 0,
            latest: Instant::ZERO,
            clock: None,
            observers: Vec::new(),
            processes: 0,
            waiting: BTreeMap::new(),
            watches: 0,
        };
        Arc::new(Self(Mutex::new(inside)))
    }

    /// The time: that of its clock or, without one, the newest that it was told.
    pub(super) fn now(&self) -> Instant {
        let (clock, latest) = self.with(|inside| (inside.clock.clone(), inside.latest));
        // Not behind the lock: a clock may be anybody's.
        clock.map_or(latest, |clock| clock().max(latest))
    }

    /// Lives by this clock from now on.
    pub(super) fn set_clock(&self, clock: ServerClock) {
        let _before = self.with(|inside| inside.clock.replace(clock));
    }

    /// Tells this function of each change from now on, too.
    pub(super) fn observe(&self, observer: Arc<Observer>) {
        self.with(|inside| {
            inside.server.store_mut().observe();
            inside.observers.push(observer);
        });
    }

    /// Looks at the server, or changes something; the watches hear of it.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Inside) -> T) -> T {
        let inside = self.lock();
        let mut turn = Turn { before: inside.progress(), inside: Some(inside) };
        act(turn.inside.as_mut().expect("the turn gives it up at its end"))
    }

    /// Answers a client, as far as its user may do what it asks for, by the caches that it reads.
    pub(super) fn handle(
        self: &Arc<Self>,
        now: Instant,
        call: &Call<'_>,
        user: Option<&User>,
        reach: &Reach,
        way: Duration,
    ) -> Answer {
        let mut answer = self.answer(now, |server, now| {
            if let Some(refusal) = user.and_then(|user| user.refusal(server.store(), call)) {
                return Reply::Refused(refusal);
            }
            let create = Call { method: "POST", ..*call };
            let creator = user.filter(|_| ["PUT", "PATCH"].contains(&call.method));
            let no_creation = creator.and_then(|user| user.refusal(server.store(), &create));
            server.handle(now, call, reach, &Caller { name: user.map_or("", User::name), no_creation })
        });
        answer.watch.iter_mut().for_each(|watch| (watch.reach, watch.way) = (reach.clone(), way));
        answer
    }

    /// Lets an API server be so far behind from now on.
    pub(super) fn lag(&self, server: usize, lag: Option<Lag>) {
        self.with(|inside| {
            inside.relagged += 1;
            match lag {
                Some(lag) => _ = inside.server.lags().insert(server, lag),
                None => _ = inside.server.lags().remove(&server),
            }
        });
    }

    /// Looks at the server at a time.
    pub(super) fn look<T>(&self, now: Instant, look: impl FnOnce(&Server) -> T) -> T {
        self.with(|inside| {
            inside.tick(now);
            look(&inside.server)
        })
    }

    /// Answers by the server.
    pub(super) fn answer(self: &Arc<Self>, now: Instant, reply: impl FnOnce(&mut Server, Instant) -> Reply) -> Answer {
        let (reply, number) = self.with(|inside| {
            let now = inside.tick(now);
            inside.watches += 1;
            (reply(&mut inside.server, now), inside.watches)
        });
        match reply {
            Reply::Whole { code, body } => Answer { head: head(code, "application/json", None), body, watch: None },
            Reply::Refused(refusal) => refused(&refusal),
            Reply::Watch(state) => {
                let (shared, resource) = (Arc::clone(self), state.collection().to_owned());
                let (reach, way) = (Reach::default(), Duration::ZERO);
                let watch = WatchStream { shared, state, resource, reach, way, number };
                Answer { head: head(200, "application/json", None), body: Vec::new(), watch: Some(watch) }
            }
        }
    }

    pub(super) fn record(&self, now: Instant, kind: &ServedKind, change: HistoryChange) {
        self.with(|inside| {
            let now = inside.tick(now);
            inside.server.record(now, kind, change);
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

/// A turn at the server. At its end, by a panic too, the tasks that wait for a change are woken.
struct Turn<'s> {
    before: (u64, u64, u64),
    inside: Option<MutexGuard<'s, Inside>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Some(mut inside) = self.inside.take() else { return };
        let is_changed = inside.progress() != self.before;
        let waiting = if is_changed { std::mem::take(&mut inside.waiting) } else { BTreeMap::new() };
        let observers = if is_changed { inside.observers.clone() } else { Vec::new() };
        let commits = if is_changed { inside.server.store_mut().take_commits() } else { Vec::new() };
        // A waker and an observer may be anybody's: not behind the lock.
        drop(inside);
        commits.iter().for_each(|commit| observers.iter().for_each(|observer| observer(commit)));
        waiting.into_values().for_each(Waker::wake);
    }
}

impl Inside {
    /// Changes with each change that a task may wait for.
    fn progress(&self) -> (u64, u64, u64) {
        (self.server.store().steps(), self.disconnections, self.relagged)
    }

    /// Takes the time, does what is due by it, and returns the newest time.
    fn tick(&mut self, now: Instant) -> Instant {
        self.latest = self.latest.max(now);
        self.server.tick(self.latest);
        self.latest
    }
}

impl WatchStream {
    /// Appends what is due to `out`. Where nothing is, the waker is called when something changes.
    pub fn poll(&mut self, now: Instant, cx: &Context<'_>, out: &mut Vec<u8>) -> WatchProgress {
        let Self { shared, state, resource, reach, way, number } = self;
        let (progress, _waker) = shared.with(|inside| {
            inside.tick(now);
            let cache = inside.server.cache(now, resource, reach);
            let progress = match state.advance(now, &cache, *way, out) {
                WatchProgress::Open(until) => WatchProgress::Open(earliest(until, inside.server.poll_timeout())),
                WatchProgress::Over => WatchProgress::Over,
            };
            let waits = progress != WatchProgress::Over;
            // The drop of a waker may drop a task, and with it another watch: not behind the lock.
            (progress, waits.then(|| inside.waiting.insert(*number, cx.waker().clone())))
        });
        progress
    }
}

impl fmt::Debug for Inside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inside")
            .field("revision", &self.server.store().revision())
            .field("now", &self.latest)
            .finish_non_exhaustive()
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        let waker = self.shared.lock().waiting.remove(&self.number);
        drop(waker);
    }
}

pub(super) fn refused(refusal: &Refusal) -> Answer {
    let (content_type, body) = refusal.body();
    Answer { head: head(refusal.code, content_type, refusal.retry_after), body, watch: None }
}

fn head(status: u16, content_type: &str, retry_after: Option<Duration>) -> ResponseHead {
    ResponseHead { status, retry_after, content_type: Some(content_type.into()) }
}
