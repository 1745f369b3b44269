//! The exchanges that were read, not taken, and are in memory no more.

use super::exchange::{Exchange, Progress, Sent, Stage};
use super::format::{End, Line, Payload, Record};
use super::key::Key;
use super::key_filter::KeyFilter;
use super::number_set::NumberSet;
use super::reading::{Began, Keys, Reading};
use super::work;
use crate::error::CaptureError;
use crate::file::{FileCursor, Lines, Place};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The places from which such exchanges are read again, in memory that does not grow.
pub(super) struct Passed {
    cursor: FileCursor,
    /// Reads the records behind a request.
    ahead: FileCursor,
    /// For each group of keys, the first exchange to look at.
    groups: Vec<Option<Mark>>,
    /// The keys of all that were passed.
    keys: KeyFilter,
    /// The number behind the last one that was passed.
    until: u64,
    /// For keys that were looked for, where to look on.
    asked: HashMap<Key, Mark>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    place: Place,
    /// The number of its request.
    number: u64,
}

/// How many bytes of read lines are kept for requests whose responses overlap.
const LOOKBACK: usize = 256 * 1024;
/// The number of groups, of 48 bytes each.
const GROUPS: usize = 1 << 12;
/// The most keys in `asked`, of 64 bytes each.
const MOST_ASKED: usize = 1 << 12;

impl Passed {
    pub(super) fn new(path: &Arc<Path>, line_limit: usize) -> Self {
        let cursor = || FileCursor::new(Arc::clone(path), line_limit);
        let (cursor, ahead) = (cursor(), cursor().with_lookback(LOOKBACK));
        Self { cursor, ahead, groups: Vec::new(), keys: KeyFilter::new(), until: 0, asked: HashMap::new() }
    }

    /// Adds an exchange behind all that were added before.
    pub(super) fn add(&mut self, exchange: &Exchange, keys: Keys) {
        if self.groups.is_empty() {
            self.groups = vec![None; GROUPS];
        }
        let mark = Mark { place: exchange.place, number: exchange.number };
        for key in keys.iter() {
            self.groups[group(key)].get_or_insert(mark);
            self.keys.insert(key);
        }
        self.until = exchange.number + 1;
    }

    /// Finds the first exchange with this key that was not taken.
    pub(super) fn first(
        &mut self,
        key: Key,
        taken: &NumberSet,
        reading: &Reading,
    ) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let Some(mark) = self.mark(key) else { return Ok(None) };
        let lines = self.cursor.at_place(mark.place)?;
        let (mut next, mut found, mut first_of_group) = (mark, None, None);
        while next.number < self.until && found.is_none() {
            let Some((place, began)) = next_request(lines, next.number, reading)? else { break };
            let is_waiting = !taken.contains(next.number);
            if is_waiting && began.keys.iter().any(|other| group(other) == group(key)) {
                first_of_group.get_or_insert(Mark { place, ..next });
            }
            if is_waiting && began.keys.contains(key) {
                (next.place, found) = (place, Some(began.exchange));
            } else {
                next = Mark { place: lines.place(), number: next.number + 1 };
            }
        }
        self.note(key, next, first_of_group.unwrap_or(next));
        let Some(exchange) = found else { return Ok(None) };
        if let Some(open) = reading.open(exchange.id) {
            return Ok(Some(Arc::clone(open)));
        }
        exchange.set_progress(self.progress(&exchange)?);
        Ok(Some(exchange))
    }

    /// Notes where to look on for a key, and for others of its group.
    fn note(&mut self, key: Key, next: Mark, first_of_group: Mark) {
        if self.asked.len() == MOST_ASKED {
            self.asked.clear();
        }
        if self.asked.insert(key, next).is_none() {
            self.groups[group(key)] = Some(first_of_group);
        }
    }

    /// Reads the next record of an exchange that has an end. The line of that end is not known.
    fn progress(&mut self, exchange: &Exchange) -> Result<Progress, CaptureError> {
        let ended = Progress { last: u64::MAX, stage: Stage::Ended, answered: true, given_up: false };
        let mut place = exchange.place;
        loop {
            place = place.before(place.line + 1);
            let line = match self.ahead.line(place) {
                Ok(Some((_, line))) => line,
                Ok(None) => return Ok(ended),
                Err(error) if error.is_bad_line() => continue,
                Err(error) => return Err(error),
            };
            match Line::parse(line) {
                Ok(Line::Record(record)) if record.id == exchange.id => match record.payload {
                    Payload::Response(_) => return Ok(ended),
                    Payload::End(End { by_client, .. }) => {
                        return Ok(Progress { answered: false, given_up: by_client, ..ended });
                    }
                    Payload::Request(_) | Payload::Data(_) => {}
                },
                _ => {}
            }
        }
    }

    /// Where to look for a key, which is at or before its first exchange.
    fn mark(&self, key: Key) -> Option<Mark> {
        let group = self.groups.get(group(key)).copied().flatten().filter(|_| self.keys.contains(key))?;
        let mark = self.asked.get(&key).map_or(group, |asked| *asked);
        (mark.number < self.until).then_some(mark)
    }
}

/// Reads up to the next request, which has this number.
fn next_request(lines: &mut Lines, number: u64, reading: &Reading) -> Result<Option<(Place, Began)>, CaptureError> {
    loop {
        work::step();
        let place = lines.place();
        let line = match lines.next() {
            Ok(Some((_, line))) => line,
            Ok(None) => return Ok(None),
            // It was skipped before.
            Err(error) if error.is_bad_line() => continue,
            Err(error) => return Err(error),
        };
        if !reading.may_have_request(line) {
            continue;
        }
        if let Ok(Line::Record(Record { t, id, payload: Payload::Request(request) })) = Line::parse(line) {
            return Ok(Some((place, Began::new(&Sent { id, number, at: t, place }, &request))));
        }
    }
}

fn group(key: Key) -> usize {
    (key.digest() % GROUPS as u64) as usize
}
