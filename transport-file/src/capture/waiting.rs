//! The exchanges that were read and not taken.

use super::exchange::{Began, Exchange, Keys, Progress, Stage};
use super::format::{Line, Payload, Record, may_have_request};
use super::key::Key;
use super::reader::Reader;
use crate::error::CaptureError;
use crate::file::{FileCursor, LinePlace};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// The exchanges that wait for a request, in blocks. The newest blocks are in memory; another one is read again when one
/// of its exchanges is asked for.
pub(super) struct Waiting {
    cursor: FileCursor,
    /// Reads the records behind a request.
    ahead: FileCursor,
    blocks: Vec<Block>,
    /// For keys that were asked for in blocks that were read again, the number before which none is left.
    asked: HashMap<Key, u64>,
    taken: Taken,
}

/// Exchanges that follow each other, from a number to another.
struct Block {
    place: LinePlace,
    first: u64,
    until: u64,
    content: Content,
}

enum Content {
    /// Those that were not taken, with the keys that find them.
    Known(Vec<(Arc<Exchange>, Keys)>),
    /// The bits of the keys of those that were not taken.
    Forgotten(Box<[u64; WORDS]>),
}

/// The numbers of the exchanges that wait no more, in a bit each.
#[derive(Debug, Default)]
struct Taken(Vec<u64>);

/// How many bytes of read lines are kept for requests whose responses overlap.
const LOOKBACK: usize = 256 * 1024;
/// How many exchanges a block has at first. Each takes some 500 bytes.
const BLOCK_LEN: u64 = 1024;
/// How many of the newest blocks are in memory.
const NEWEST: usize = 4;
/// The most blocks. If there are more, two older ones become one.
const MOST_BLOCKS: usize = 128;
/// How many words of bits a block has. A block of 1,024 exchanges seems to have 1 of 16,000 other keys.
const WORDS: usize = 512;
/// The most keys in `asked`, of 20 bytes each.
const MOST_ASKED: usize = 1 << 12;

impl Waiting {
    /// No exchanges, of this file.
    pub(super) fn new(path: &Arc<Path>, line_limit: usize) -> Self {
        let cursor = || FileCursor::new(Arc::clone(path), line_limit);
        let (cursor, ahead) = (cursor(), cursor().with_lookback(LOOKBACK));
        Self { cursor, ahead, blocks: Vec::new(), asked: HashMap::new(), taken: Taken::default() }
    }

    /// Adds the exchange that was read last.
    pub(super) fn add(&mut self, Began { exchange, keys, .. }: &Began) {
        if self.blocks.last().is_none_or(|block| block.until - block.first >= BLOCK_LEN) {
            self.begin_block(exchange);
        }
        if let Some(Block { until, content: Content::Known(known), .. }) = self.blocks.last_mut() {
            *until = exchange.number + 1;
            known.push((Arc::clone(exchange), *keys));
        }
    }

    fn begin_block(&mut self, exchange: &Exchange) {
        self.blocks.retain(|block| !block.content.is_empty());
        if self.blocks.len() == MOST_BLOCKS {
            self.join_blocks();
        }
        let (place, first) = (exchange.place, exchange.number);
        self.blocks.push(Block { place, first, until: first, content: Content::Known(Vec::new()) });
        self.forget_but(self.blocks.len() - 1);
    }

    /// Makes one block of the two neighbours that have the fewest exchanges.
    fn join_blocks(&mut self) {
        self.forget_but(self.blocks.len() - 1);
        let older = &self.blocks[..self.blocks.len() - NEWEST];
        let len = |pair: usize| older[pair + 1].until - older[pair].first;
        let Some(place) = (0..older.len() - 1).min_by_key(|pair| len(*pair)) else { return };
        let other = self.blocks.remove(place + 1);
        let own = &mut self.blocks[place];
        own.until = other.until;
        if let (Content::Forgotten(own), Content::Forgotten(other)) = (&mut own.content, other.content) {
            own.iter_mut().zip(*other).for_each(|(own, other)| *own |= other);
        }
    }

    /// Keeps the newest blocks in memory, and the one at this place.
    fn forget_but(&mut self, place: usize) {
        let older = self.blocks.len().saturating_sub(NEWEST);
        let others = self.blocks[..older].iter_mut().enumerate().filter(|(other, _)| *other != place);
        others.for_each(|(_, block)| block.content.forget());
    }

    /// Passes over a request that can never be taken.
    pub(super) fn leave_out(&mut self, number: u64) {
        self.taken.insert(number);
    }

    /// Takes an exchange.
    pub(super) fn take(&mut self, exchange: &Exchange) {
        let number = exchange.number;
        self.taken.insert(number);
        let place = self.blocks.partition_point(|block| block.until <= number);
        if let Some(Block { content: Content::Known(known), .. }) = self.blocks.get_mut(place)
            && let Ok(place) = known.binary_search_by_key(&number, |(known, _)| known.number)
        {
            known.remove(place);
        }
    }

    pub(super) fn is_taken(&self, exchange: &Exchange) -> bool {
        self.taken.contains(exchange.number)
    }

    /// Finds the first exchange with one of these keys.
    pub(super) fn first(&mut self, keys: &[Key], reader: &Reader) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let mut first = None::<Arc<Exchange>>;
        for key in keys {
            let found = self.first_of(*key, reader)?;
            let is_first = |found: &Arc<Exchange>| first.as_ref().is_none_or(|first| found.number < first.number);
            first = found.filter(is_first).or(first);
        }
        Ok(first)
    }

    fn first_of(&mut self, key: Key, reader: &Reader) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let from = self.asked.get(&key).copied().unwrap_or(0);
        let newest = self.blocks.len().saturating_sub(NEWEST);
        for place in 0..self.blocks.len() {
            // No older block has one.
            if place == newest {
                count_step();
            }
            let Block { until, content, .. } = &self.blocks[place];
            if *until <= from || !content.may_have(key) {
                continue;
            }
            let (until, is_known) = (*until, matches!(content, Content::Known(_)));
            let mut known = self.known(place, reader)?.iter();
            let found = known.find(|(_, keys)| keys.contains(key)).map(|(exchange, _)| Arc::clone(exchange));
            if !is_known {
                self.note(key, found.as_ref().map_or(until, |exchange| exchange.number));
            }
            if let Some(exchange) = found {
                // An exchange without an end may go on.
                if reader.open(&exchange).is_none() {
                    self.find_progress(&exchange)?;
                }
                return Ok(Some(exchange));
            }
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

    /// The exchanges of a block, which is read again if they are not in memory.
    fn known(&mut self, at: usize, reader: &Reader) -> Result<&[(Arc<Exchange>, Keys)], CaptureError> {
        let Block { place, first, until, .. } = self.blocks[at];
        if let Content::Forgotten(_) = self.blocks[at].content {
            let (lines, mut known) = (self.cursor.at_place(place)?, Vec::new());
            for number in first..until {
                let Some(Began { exchange, keys, .. }) = next_request(lines, number, reader)? else { break };
                if !self.taken.contains(number) {
                    known.push((reader.open(&exchange).cloned().unwrap_or(exchange), keys));
                }
            }
            self.blocks[at].content = Content::Known(known);
            self.forget_but(at);
        }
        Ok(match &self.blocks[at].content {
            Content::Known(known) => known,
            Content::Forgotten(_) => &[],
        })
    }

    /// Reads the next record of an exchange that has an end. The line of that end is not known.
    fn find_progress(&mut self, exchange: &Exchange) -> Result<(), CaptureError> {
        let mut place = exchange.place;
        if exchange.progress().stage != Stage::Requested {
            return Ok(());
        }
        let mut ended = Stage::Ended { answered: true, given_up: false };
        loop {
            place = place.before(place.line + 1);
            let line = match self.ahead.line(place) {
                Ok(Some((_, line))) => line,
                Ok(None) => break,
                Err(error) if error.is_bad_line() => continue,
                Err(error) => return Err(error),
            };
            match Line::parse(line) {
                Ok(Line::Record(Record { id, payload, .. })) if id == exchange.id => match payload {
                    Payload::Response(_) => break,
                    Payload::End(end) => {
                        ended = Stage::Ended { answered: false, given_up: end.by_client };
                        break;
                    }
                    Payload::Request(_) | Payload::Data(_) => {}
                },
                _ => {}
            }
        }
        exchange.set_progress(Progress { last: u64::MAX, stage: ended });
        Ok(())
    }
}

impl Content {
    fn is_empty(&self) -> bool {
        match self {
            Self::Known(known) => known.is_empty(),
            Self::Forgotten(bits) => bits.iter().all(|word| *word == 0),
        }
    }

    fn may_have(&self, key: Key) -> bool {
        match self {
            Self::Known(known) => !known.is_empty(),
            Self::Forgotten(bits) => key.bits(WORDS).all(|(word, bit)| bits[word] & bit != 0),
        }
    }

    fn forget(&mut self) {
        let Self::Known(known) = self else { return };
        let mut bits = Box::new([0; WORDS]);
        let keys = known.iter().flat_map(|(_, keys)| keys.iter());
        keys.flat_map(|key| key.bits(WORDS)).for_each(|(word, bit)| bits[word] |= bit);
        *self = Self::Forgotten(bits);
    }
}

impl Taken {
    fn insert(&mut self, number: u64) {
        let word = (number / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (number % 64);
    }

    fn contains(&self, number: u64) -> bool {
        self.0.get((number / 64) as usize).is_some_and(|word| word & 1 << (number % 64) != 0)
    }
}

/// Reads up to the next request, which has this number.
fn next_request(lines: &mut FileCursor, number: u64, reading: &Reader) -> Result<Option<Began>, CaptureError> {
    loop {
        count_step();
        let place = lines.place();
        let line = match lines.next() {
            Ok(Some((_, line))) => line,
            Ok(None) => return Ok(None),
            // It was skipped before.
            Err(error) if error.is_bad_line() => continue,
            Err(error) => return Err(error),
        };
        if !may_have_request(line) {
            continue;
        }
        let parsed = reading.check().whole(line).and_then(|()| Line::parse(line));
        if let Ok(Line::Record(Record { t, id, payload: Payload::Request(request) })) = parsed {
            let exchange = Exchange::new(number, id, t, place, &request);
            return Ok(Some(Began::new(exchange.into(), &request)));
        }
    }
}

#[cfg(test)]
thread_local! {
    /// The steps of searches.
    pub(super) static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a step of a search, for tests.
pub(super) fn count_step() {
    #[cfg(test)]
    STEPS.set(STEPS.get() + 1);
}
