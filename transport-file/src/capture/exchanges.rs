use super::exchange::Exchange;
use listwatch_core::request::Query;
use std::sync::atomic::{AtomicU64, Ordering};

/// The exchanges of a capture in the order of their requests, shared by the playback and its clients.
///
/// Each exchange is played once, for the first request that matches.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    all: Vec<Exchange>,
    /// How many were not played: lists, watches, watch-lists, others.
    left: [AtomicU64; 4],
    /// The line and the time of the last record.
    last: (u64, u64),
    /// The first line of the last request for each resource.
    newest: Vec<u64>,
    calls: Calls,
}

/// How a recording goes on behind the last record of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// With another list or watch of the same resource.
    SameResource,
    /// With records of others, up to this time in milliseconds.
    Others {
        until: u64,
    },
    Nothing,
}

/// The counts of client requests.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) answered: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unrecorded: AtomicU64,
}

impl Exchanges {
    pub(crate) fn new(all: Vec<Exchange>, last: (u64, u64)) -> Self {
        let (left, mut newest) = (<[AtomicU64; 4]>::default(), Vec::new());
        for exchange in &all {
            left[kind(exchange.query)].fetch_add(1, Ordering::Relaxed);
            if let Some(resource) = exchange.resource {
                newest.resize(newest.len().max(resource + 1), 0);
                newest[resource] = exchange.first;
            }
        }
        Self { all, left, last, newest, calls: Calls::default() }
    }

    /// Takes an exchange to play it; `None` if it was played.
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

    /// How many of a kind were not played. `None` stands for neither lists nor watches.
    pub(crate) fn left(&self, query: Option<Query>) -> u64 {
        self.left[kind(query)].load(Ordering::Relaxed)
    }

    /// How the recording goes on behind an exchange.
    pub(crate) fn behind(&self, exchange: &Exchange) -> Behind {
        let (last, last_time) = self.last;
        match exchange.resource.is_some_and(|resource| exchange.last < self.newest[resource]) {
            true => Behind::SameResource,
            false if exchange.last < last => Behind::Others { until: last_time },
            false => Behind::Nothing,
        }
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
