//! The exchanges that were read, not taken, and are in memory no more.

use super::exchange::{Exchange, Progress, Sent, Stage};
use super::format::{End, Line, Payload, Record};
use super::key::Key;
use super::number_set::NumberSet;
use super::reading::{Began, Keys, Reading};
use super::work;
use crate::error::CaptureError;
use crate::file::{FileCursor, Lines, Place};
use std::sync::Arc;

/// The places from which such exchanges are read again, in memory that does not grow.
pub(super) struct Passed {
    cursor: FileCursor,
    /// For each group of keys, the first exchange to look at.
    groups: Vec<Option<Mark>>,
    /// The number behind the last one that was passed.
    until: u64,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    place: Place,
    /// The number of its request.
    number: u64,
}

/// The number of groups: 48 bytes each.
const GROUPS: usize = 1 << 12;

impl Passed {
    pub(super) fn new(cursor: FileCursor) -> Self {
        Self { cursor, groups: Vec::new(), until: 0 }
    }

    /// Adds an exchange behind all that were added before.
    pub(super) fn add(&mut self, exchange: &Exchange, keys: Keys) {
        if self.groups.is_empty() {
            self.groups = vec![None; GROUPS];
        }
        let mark = Mark { place: exchange.place, number: exchange.number };
        for key in keys.iter() {
            self.groups[group(key)].get_or_insert(mark);
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
        let Some(mark) = self.groups.get(group(key)).copied().flatten() else { return Ok(None) };
        let lines = self.cursor.at_place(mark.place)?;
        let (mut number, mut first, mut found) = (mark.number, None, None);
        while number < self.until && found.is_none() {
            let Some((place, began)) = next_request(lines, number, reading)? else { break };
            number += 1;
            if taken.contains(number - 1) {
                continue;
            }
            if began.keys.iter().any(|other| group(other) == group(key)) {
                first.get_or_insert(Mark { place, number: number - 1 });
            }
            found = began.keys.contains(key).then_some(began.exchange);
        }
        self.groups[group(key)] = first;
        let Some(exchange) = found else { return Ok(None) };
        if let Some(open) = reading.open(exchange.id) {
            return Ok(Some(Arc::clone(open)));
        }
        exchange.set_progress(begun_answer(lines, exchange.id)?);
        Ok(Some(exchange))
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

/// Reads the next record of an exchange that has an end. The line of that end is not known.
fn begun_answer(lines: &mut Lines, id: u64) -> Result<Progress, CaptureError> {
    let ended = Progress { last: u64::MAX, stage: Stage::Ended, answered: true, given_up: false };
    loop {
        let line = match lines.next() {
            Ok(Some((_, line))) => line,
            Ok(None) => return Ok(ended),
            Err(error) if error.is_bad_line() => continue,
            Err(error) => return Err(error),
        };
        match Line::parse(line) {
            Ok(Line::Record(Record { id: other, payload: Payload::End(End { by_client, .. }), .. })) if other == id => {
                return Ok(Progress { answered: false, given_up: by_client, ..ended });
            }
            Ok(Line::Record(Record { id: other, payload: Payload::Response(_), .. })) if other == id => {
                return Ok(ended);
            }
            _ => {}
        }
    }
}

fn group(key: Key) -> usize {
    (key.digest() % GROUPS as u64) as usize
}
