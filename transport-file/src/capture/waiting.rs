//! The exchanges that were read and not taken.

use super::exchange::Exchange;
use super::key::Key;
use super::key_filter::KeyFilter;
use super::number_set::NumberSet;
use super::passed::Passed;
use super::reading::{Began, Keys, Reading};
use super::work;
use crate::error::CaptureError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The exchanges that wait for a request. The newest ones are in memory; the others are read again.
pub(super) struct Waiting {
    /// By their numbers.
    newest: BTreeMap<u64, (Arc<Exchange>, Keys)>,
    by_key: BTreeSet<(Key, u64)>,
    passed: Passed,
    /// Those that wait no more.
    taken: NumberSet,
    /// The keys of all, taken or not.
    keys: KeyFilter,
}

/// The most exchanges in memory. Each takes some 500 bytes.
const MOST: usize = 4096;

impl Waiting {
    /// No exchanges, of this file.
    pub(super) fn new(path: &Arc<Path>, line_limit: usize) -> Self {
        let passed = Passed::new(path, line_limit);
        let (newest, by_key) = (BTreeMap::new(), BTreeSet::new());
        Self { newest, by_key, passed, taken: NumberSet::default(), keys: KeyFilter::new() }
    }

    /// Adds the exchange that was read last.
    pub(super) fn add(&mut self, began: &Began) {
        let number = began.exchange.number;
        for key in began.keys.iter() {
            self.by_key.insert((key, number));
            self.keys.insert(key);
        }
        self.newest.insert(number, (Arc::clone(&began.exchange), began.keys));
        if self.newest.len() > MOST
            && let Some((number, (exchange, keys))) = self.newest.pop_first()
        {
            self.forget(number, keys);
            self.passed.add(&exchange, keys);
        }
    }

    /// Passes over a request that can never be taken.
    pub(super) fn leave_out(&mut self, number: u64) {
        self.taken.insert(number);
    }

    /// Takes an exchange.
    pub(super) fn take(&mut self, exchange: &Exchange) {
        self.taken.insert(exchange.number);
        match self.newest.remove(&exchange.number) {
            Some((_, keys)) => self.forget(exchange.number, keys),
            None => self.passed.take(exchange.number),
        }
    }

    pub(super) fn is_taken(&self, exchange: &Exchange) -> bool {
        self.taken.contains(exchange.number)
    }

    /// Whether an exchange with this key may have been added.
    pub(super) fn may_know(&self, key: Key) -> bool {
        self.keys.contains(key)
    }

    /// Finds the first exchange with one of these keys.
    pub(super) fn first(&mut self, keys: &[Key], reading: &Reading) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let mut first = None::<Arc<Exchange>>;
        for key in keys.iter().filter(|key| self.keys.contains(**key)) {
            let found = match self.passed.first(*key, &self.taken, reading)? {
                Some(passed) => Some(passed),
                None => self.first_of_newest(*key),
            };
            let is_first = |found: &Arc<Exchange>| first.as_ref().is_none_or(|first| found.number < first.number);
            first = found.filter(is_first).or(first);
        }
        Ok(first)
    }

    fn first_of_newest(&self, key: Key) -> Option<Arc<Exchange>> {
        work::step();
        let (_, number) = self.by_key.range((key, 0)..=(key, u64::MAX)).next()?;
        self.newest.get(number).map(|(exchange, _)| Arc::clone(exchange))
    }

    fn forget(&mut self, number: u64, keys: Keys) {
        for key in keys.iter() {
            self.by_key.remove(&(key, number));
        }
    }
}
