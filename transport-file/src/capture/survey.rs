//! Facts of a whole capture.

use super::key::{Key, ResourceKey};
use super::reader::{Reader, Step};
use crate::error::CaptureError;
use listwatch_core::Resource;
use listwatch_core::request::Query;
use std::collections::HashSet;

/// The facts that a playback does not need, which are found by reading the capture once more.
#[derive(Debug)]
pub(super) struct Survey {
    /// The resources that were listed or watched, in the order of their first requests.
    pub(super) resources: Vec<Resource>,
    pub(super) found: Found,
    pub(super) bad_lines: u64,
    /// Where the data breaks off behind a whole line.
    pub(super) cut: Option<CaptureError>,
}

/// Counts of exchanges by their kinds: lists, watches, watch-lists, others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found([u64; 4]);

impl Survey {
    /// Reads on to the end.
    pub(super) fn of(mut reading: Reader) -> Self {
        let mut survey = Self { resources: Vec::new(), found: Found::default(), bad_lines: 0, cut: None };
        let mut known = HashSet::new();
        loop {
            match reading.step() {
                Step::Began(began) => {
                    survey.found.add(began.exchange.query);
                    survey.resources.extend(began.resource.filter(|resource| known.insert(ResourceKey::of(resource))));
                }
                Step::Read => {}
                Step::Over => break,
            }
        }
        survey.bad_lines = reading.bad_lines();
        survey.cut = reading.end().get().and_then(|end| end.cut.clone());
        survey
    }
}

/// Counts the exchanges with this key.
pub(super) fn count(mut reading: Reader, key: Key) -> u64 {
    let mut count = 0;
    loop {
        match reading.step() {
            Step::Began(began) => count += u64::from(began.keys.contains(key)),
            Step::Read => {}
            Step::Over => return count,
        }
    }
}

impl Found {
    pub(super) fn add(&mut self, query: Option<Query>) {
        self.0[kind(query)] += 1;
    }

    /// How many are of this kind. `None` stands for neither lists nor watches.
    pub(crate) fn of(self, query: Option<Query>) -> u64 {
        self.0[kind(query)]
    }

    pub(super) fn without(self, others: Self) -> Self {
        Self(std::array::from_fn(|kind| self.0[kind].saturating_sub(others.0[kind])))
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
