//! A server of whole controllers: lists and watches for their informers, and answers to their single requests.

use super::store::Store;
use super::trace::Trace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// A store of JSON objects that lives by the clock of its clients. A clone is the same server.
///
/// An [`ApiLine`](super::ApiLine) carries single requests to it, late or not at all. A [`Feed`](super::Feed) brings its
/// lists and watches, without faults.
#[derive(Clone, Debug)]
pub struct ApiServer(Arc<Mutex<Inside>>);

/// What is behind the lock.
#[derive(Debug)]
pub struct Inside {
    /// The objects.
    pub store: Store,
    /// What went over the wire.
    pub trace: Trace,
    /// The feeds that wait for something to happen.
    pub(super) feeds: Vec<Waker>,
}

impl ApiServer {
    /// A server of the collection at this path; what is asked is written to `trace`.
    #[must_use]
    pub fn new(collection: &str, trace: Trace) -> Self {
        Self(Arc::new(Mutex::new(Inside { store: Store::new(collection), trace, feeds: Vec::new() })))
    }

    /// Looks at the server, or changes something; feeds hear of it.
    pub fn with<T>(&self, act: impl FnOnce(&mut Inside) -> T) -> T {
        let mut inside = self.lock();
        let before = inside.store.since(0).len();
        let done = act(&mut inside);
        let changed = inside.store.since(0).len() > before;
        let feeds = if changed { std::mem::take(&mut inside.feeds) } else { Vec::new() };
        drop(inside);
        feeds.into_iter().for_each(Waker::wake);
        done
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
