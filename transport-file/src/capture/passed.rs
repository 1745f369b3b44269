//! The exchanges that were read, not taken, and are in memory no more.

use super::exchange::{Exchange, Progress, Sent, Stage};
use super::format::{End, Line, Payload, Record};
use super::key::Key;
use super::key_filter::{is_set, set};
use super::number_set::NumberSet;
use super::reading::{Began, Keys, Reading};
use super::work;
use crate::error::CaptureError;
use crate::file::{FileCursor, Lines, Place};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The blocks of such exchanges, which are read again when one of them is asked for.
pub(super) struct Passed {
    cursor: FileCursor,
    /// Reads the records behind a request.
    ahead: FileCursor,
    blocks: Vec<Block>,
    /// The bits of the keys of each block; none before the first block.
    keys: Vec<u64>,
    /// How many exchanges a block has.
    block_len: u64,
    /// The block that was read last.
    read: Option<ReadBlock>,
    /// For keys that were asked for, the number before which none is left.
    asked: HashMap<Key, u64>,
}

/// Some exchanges that follow each other.
#[derive(Clone, Copy)]
struct Block {
    first: Mark,
    /// The number behind the last one.
    until: u64,
    len: u64,
    /// How many were not taken.
    left: u64,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    place: Place,
    /// The number of its request.
    number: u64,
}

struct ReadBlock {
    number: u64,
    exchanges: Vec<(Arc<Exchange>, Keys)>,
}

/// How many bytes of read lines are kept for requests whose responses overlap.
const LOOKBACK: usize = 256 * 1024;
/// The most blocks. If there are more, two become one.
const MOST_BLOCKS: usize = 128;
/// How many words of bits a block has. A block of 1,024 exchanges seems to have 1 of 16,000 other keys.
const WORDS: usize = 512;
/// How many exchanges a block has at first.
const BLOCK_LEN: u64 = 1024;
/// The most keys in `asked`, of 20 bytes each.
const MOST_ASKED: usize = 1 << 12;

impl Passed {
    pub(super) fn new(path: &Arc<Path>, line_limit: usize) -> Self {
        let cursor = || FileCursor::new(Arc::clone(path), line_limit);
        let (cursor, ahead) = (cursor(), cursor().with_lookback(LOOKBACK));
        Self {
            cursor,
            ahead,
            blocks: Vec::new(),
            keys: Vec::new(),
            block_len: BLOCK_LEN,
            read: None,
            asked: HashMap::new(),
        }
    }

    /// Adds an exchange behind all that were added before.
    pub(super) fn add(&mut self, exchange: &Exchange, keys: Keys) {
        if self.blocks.last().is_none_or(|block| block.len == self.block_len) {
            self.begin_block(exchange);
        }
        let last = self.blocks.len() - 1;
        let block = &mut self.blocks[last];
        (block.until, block.len, block.left) = (exchange.number + 1, block.len + 1, block.left + 1);
        keys.iter().for_each(|key| set(&mut self.keys[last * WORDS..][..WORDS], key));
        // The block has one more.
        self.read.take_if(|read| read.number == block.first.number);
    }

    fn begin_block(&mut self, exchange: &Exchange) {
        if self.keys.is_empty() {
            self.keys = vec![0; MOST_BLOCKS * WORDS];
            self.blocks.reserve_exact(MOST_BLOCKS);
        }
        if self.blocks.len() == MOST_BLOCKS {
            self.join_blocks();
        }
        let first = Mark { place: exchange.place, number: exchange.number };
        self.blocks.push(Block { first, until: first.number, len: 0, left: 0 });
    }

    /// Makes one block of each two.
    fn join_blocks(&mut self) {
        for place in 0..MOST_BLOCKS / 2 {
            let (one, other) = (self.blocks[2 * place], self.blocks[2 * place + 1]);
            self.blocks[place] =
                Block { until: other.until, len: one.len + other.len, left: one.left + other.left, ..one };
            for word in 0..WORDS {
                let of = |block: usize| self.keys[block * WORDS + word];
                self.keys[place * WORDS + word] = of(2 * place) | of(2 * place + 1);
            }
        }
        self.blocks.truncate(MOST_BLOCKS / 2);
        self.keys[MOST_BLOCKS / 2 * WORDS..].fill(0);
        self.block_len *= 2;
        self.read = None;
    }

    /// Notes that an exchange was taken.
    pub(super) fn take(&mut self, number: u64) {
        let place = self.blocks.partition_point(|block| block.until <= number);
        if let Some(block) = self.blocks.get_mut(place) {
            block.left = block.left.saturating_sub(1);
        }
    }

    /// Finds the first exchange with this key that was not taken.
    pub(super) fn first(
        &mut self,
        key: Key,
        taken: &NumberSet,
        reading: &Reading,
    ) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let from = self.asked.get(&key).copied().unwrap_or(0);
        for place in 0..self.blocks.len() {
            let Block { until, left, .. } = self.blocks[place];
            if left == 0 || until <= from || !is_set(&self.keys[place * WORDS..][..WORDS], key) {
                continue;
            }
            let found = self.exchanges(place, taken, reading)?.iter().find(|(exchange, keys)| {
                keys.contains(key) && exchange.number >= from && !taken.contains(exchange.number)
            });
            if let Some(exchange) = found.map(|(exchange, _)| Arc::clone(exchange)) {
                self.note(key, exchange.number);
                // An exchange without an end may go on.
                if reading.open(exchange.id).is_none() {
                    self.find_progress(&exchange)?;
                }
                return Ok(Some(exchange));
            }
            self.note(key, until);
        }
        Ok(None)
    }

    /// Notes that no exchange with this key is left before `number`.
    fn note(&mut self, key: Key, number: u64) {
        if self.asked.len() == MOST_ASKED {
            self.asked.clear();
        }
        self.asked.insert(key, number);
    }

    /// Reads a block, unless it was read last.
    fn exchanges(
        &mut self,
        place: usize,
        taken: &NumberSet,
        reading: &Reading,
    ) -> Result<&[(Arc<Exchange>, Keys)], CaptureError> {
        let Block { first, until, .. } = self.blocks[place];
        if self.read.as_ref().is_none_or(|read| read.number != first.number) {
            self.read = None;
            let (lines, mut number, mut exchanges) = (self.cursor.at_place(first.place)?, first.number, Vec::new());
            while number < until
                && let Some(Began { exchange, keys, .. }) = next_request(lines, number, reading)?
            {
                if !taken.contains(number) {
                    let open = reading.open(exchange.id).cloned();
                    exchanges.push((open.unwrap_or(exchange), keys));
                }
                number += 1;
            }
            self.read = Some(ReadBlock { number: first.number, exchanges });
        }
        Ok(self.read.as_ref().map_or(&[], |read| &read.exchanges))
    }

    /// Reads the next record of an exchange that has an end. The line of that end is not known.
    fn find_progress(&mut self, exchange: &Exchange) -> Result<(), CaptureError> {
        let mut place = exchange.place;
        if exchange.progress().stage != Stage::Requested {
            return Ok(());
        }
        let ended = Progress { last: u64::MAX, stage: Stage::Ended, answered: true, given_up: false };
        loop {
            place = place.before(place.line + 1);
            let line = match self.ahead.line(place) {
                Ok(Some((_, line))) => line,
                Ok(None) => break,
                Err(error) if error.is_bad_line() => continue,
                Err(error) => return Err(error),
            };
            match Line::parse(line) {
                Ok(Line::Record(record)) if record.id == exchange.id => match record.payload {
                    Payload::Response(_) => break,
                    Payload::End(End { by_client, .. }) => {
                        exchange.set_progress(Progress { answered: false, given_up: by_client, ..ended });
                        return Ok(());
                    }
                    Payload::Request(_) | Payload::Data(_) => {}
                },
                _ => {}
            }
        }
        exchange.set_progress(ended);
        Ok(())
    }
}

/// Reads up to the next request, which has this number.
fn next_request(lines: &mut Lines, number: u64, reading: &Reading) -> Result<Option<Began>, CaptureError> {
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
        let parsed = reading.check().whole(line).and_then(|()| Line::parse(line));
        if let Ok(Line::Record(Record { t, id, payload: Payload::Request(request) })) = parsed {
            return Ok(Some(Began::new(&Sent { id, number, at: t, place }, &request)));
        }
    }
}
