//! The exchanges that were read and not taken.

use super::blocks::{Blocks, count_step};
use super::exchange::{Began, Exchange, Keys};
use super::key::Key;
use super::reading::Reading;
use crate::error::CaptureError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The exchanges that wait for a request. The newest ones are in memory; the others are read again.
pub(super) struct Waiting {
    /// By their numbers.
    newest: BTreeMap<u64, (Arc<Exchange>, Keys)>,
    by_key: BTreeSet<(Key, u64)>,
    older: Blocks,
}

/// The most exchanges in memory. Each takes some 500 bytes.
const MOST: usize = 4096;

impl Waiting {
    /// No exchanges, of this file.
    pub(super) fn new(path: &Arc<Path>, line_limit: usize) -> Self {
        Self { newest: BTreeMap::new(), by_key: BTreeSet::new(), older: Blocks::new(path, line_limit) }
    }

    /// Adds the exchange that was read last.
    pub(super) fn add(&mut self, began: &Began) {
        let number = began.exchange.number;
        self.by_key.extend(began.keys.iter().map(|key| (key, number)));
        self.newest.insert(number, (Arc::clone(&began.exchange), began.keys));
        if self.newest.len() > MOST
            && let Some((number, (exchange, keys))) = self.newest.pop_first()
        {
            self.forget(number, keys);
            self.older.add(&exchange, keys);
        }
    }

    /// Passes over a request that can never be taken.
    pub(super) fn leave_out(&mut self, number: u64) {
        self.older.take(number);
    }

    /// Takes an exchange.
    pub(super) fn take(&mut self, exchange: &Exchange) {
        self.older.take(exchange.number);
        if let Some((_, keys)) = self.newest.remove(&exchange.number) {
            self.forget(exchange.number, keys);
        }
    }

    pub(super) fn is_taken(&self, exchange: &Exchange) -> bool {
        self.older.is_taken(exchange.number)
    }

    /// Finds the first exchange with one of these keys.
    pub(super) fn first(&mut self, keys: &[Key], reading: &Reading) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let mut first = None::<Arc<Exchange>>;
        for key in keys {
            let found = match self.older.first(*key, reading)? {
                Some(older) => Some(older),
                None => self.first_of_newest(*key),
            };
            let is_first = |found: &Arc<Exchange>| first.as_ref().is_none_or(|first| found.number < first.number);
            first = found.filter(is_first).or(first);
        }
        Ok(first)
    }

    fn first_of_newest(&self, key: Key) -> Option<Arc<Exchange>> {
        count_step();
        let (_, number) = self.by_key.range((key, 0)..=(key, u64::MAX)).next()?;
        self.newest.get(number).map(|(exchange, _)| Arc::clone(exchange))
    }

    fn forget(&mut self, number: u64, keys: Keys) {
        for key in keys.iter() {
            self.by_key.remove(&(key, number));
        }
    }
}
