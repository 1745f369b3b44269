//! The exchanges of a capture, for all that play it.

use super::exchange::Exchange;
use listwatch_core::request::Query;
use std::sync::atomic::{AtomicU64, Ordering};

/// The exchanges in the order of their requests. Each is given out once, to the one that asks first: an informer or a
/// client.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    all: Vec<Exchange>,
    /// How many were not given out: lists, watches, watch-lists, others.
    left: [AtomicU64; 4],
    /// The line of the last record.
    last: u64,
    calls: Calls,
}

/// Payload became of the requests of clients.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) answered: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unrecorded: AtomicU64,
}

impl Exchanges {
    pub(crate) fn new(all: Vec<Exchange>, last: u64) -> Self {
        let left = <[AtomicU64; 4]>::default();
        for exchange in &all {
            left[kind(exchange.query)].fetch_add(1, Ordering::Relaxed);
        }
        Self { all, left, last, calls: Calls::default() }
    }

    /// Gives one out, unless that was done.
    pub(crate) fn take(&self, place: usize) -> Option<&Exchange> {
        let exchange = &self.all[place];
        if exchange.taken.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.left[kind(exchange.query)].fetch_sub(1, Ordering::Relaxed);
        Some(exchange)
    }

    pub(crate) fn get(&self, place: usize) -> &Exchange {
        &self.all[place]
    }

    /// How many of a kind were not given out; `None` for what is neither a list nor a watch.
    pub(crate) fn left(&self, query: Option<Query>) -> u64 {
        self.left[kind(query)].load(Ordering::Relaxed)
    }

    /// The line of the last record.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.calls
    }
}

fn kind(query: Option<Query>) -> usize {
    match query {
        Some(Query::List) => 0,
        Some(Query::Watch) => 1,
        Some(Query::WatchList) => 2,
        None => 3,
    }
}
