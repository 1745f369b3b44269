//! A server of whole controllers: lists and watches for their informers, and answers to their single requests.

use super::ledger::{Drift, Ledger, WriteId};
use super::store::Store;
use super::trace::Trace;
use listwatch_core::Instant;
use listwatch_core::api::{ApiRequest, ApiResponse};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A store of JSON objects that lives by the clock of its clients. A clone is the same server.
///
/// An [`ApiLine`](super::ApiLine) carries single requests to it, late or not at all. A [`Feed`](super::Feed) brings its
/// lists and watches.
#[derive(Clone, Debug)]
pub struct ApiServer(Arc<Mutex<Inside>>);

/// What is behind the lock.
#[derive(Debug)]
pub struct Inside {
    /// The objects.
    pub store: Store,
    /// What went over the wire.
    pub trace: Trace,
    /// The writes of clients.
    pub ledger: Ledger,
    /// Behind a socket, single requests get no answer.
    pub hangs: bool,
    /// What went wrong, and how often.
    pub met: BTreeMap<String, u64>,
    /// The feeds that wait for something to happen.
    feeds: Vec<Waker>,
    /// How often it was restarted, and when it is back.
    restarts: u64,
    back: Instant,
    is_calm: bool,
}

impl ApiServer {
    /// A server of the collection at this path; what is asked is written to `trace`.
    #[must_use]
    pub fn new(collection: &str, trace: Trace) -> Self {
        Self(Arc::new(Mutex::new(Inside {
            store: Store::new(collection),
            trace,
            ledger: Ledger::default(),
            hangs: false,
            met: BTreeMap::new(),
            feeds: Vec::new(),
            restarts: 0,
            back: Instant::ZERO,
            is_calm: false,
        })))
    }

    /// Looks at the server, or changes something; feeds hear of it.
    pub fn with<T>(&self, act: impl FnOnce(&mut Inside) -> T) -> T {
        let mut inside = self.lock();
        let before = (inside.store.revision(), inside.restarts);
        let done = act(&mut inside);
        let changed = (inside.store.revision(), inside.restarts) != before;
        let feeds = if changed { std::mem::take(&mut inside.feeds) } else { Vec::new() };
        drop(inside);
        feeds.into_iter().for_each(Waker::wake);
        done
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Every connection breaks, and until `back` there are no new ones. Where it `forgets`, no watch goes on after it.
    pub fn restart(&mut self, back: Instant, forgets: bool) {
        (self.restarts, self.back) = (self.restarts + 1, back);
        if forgets {
            self.store.compact();
        }
        self.met("Restart");
    }

    /// From now on nothing goes wrong.
    pub fn calm(&mut self) {
        self.is_calm = true;
    }

    /// How many feeds wait for something to happen.
    #[must_use]
    pub fn followers(&self) -> usize {
        self.feeds.len()
    }

    pub(super) fn is_calm(&self) -> bool {
        self.is_calm
    }

    /// Whether nobody answers.
    pub(super) fn is_away(&self, now: Instant) -> bool {
        now < self.back
    }

    /// Which start of the server it is.
    pub(super) fn start(&self) -> u64 {
        self.restarts
    }

    /// Something went wrong.
    pub(super) fn met(&mut self, what: &str) {
        *self.met.entry(what.to_owned()).or_default() += 1;
    }

    /// Wakes a feed when something happens.
    pub(super) fn follow(&mut self, waker: &Waker) {
        if !self.feeds.iter().any(|known| known.will_wake(waker)) {
            self.feeds.push(waker.clone());
        }
    }

    /// Does what is asked, and notes a write.
    pub(super) fn handle(&mut self, now: Instant, request: &ApiRequest) -> (ApiResponse, Option<WriteId>) {
        let drift = self.note(now, request);
        let response = self.store.handle(now, request);
        let made = drift.filter(|_| (200..300).contains(&response.status));
        (response, made.map(|drift| self.ledger.made_at(now, drift)))
    }

    /// Notes a request to write, whether it is refused or not.
    pub(super) fn note(&mut self, now: Instant, request: &ApiRequest) -> Option<Drift> {
        let drift = Drift::of(request, |place| self.store.deletions(place))?;
        self.ledger.asked(now, request, &drift);
        Some(drift)
    }
}
