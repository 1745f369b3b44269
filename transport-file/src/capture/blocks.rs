//! The exchanges that were read, not taken, and are in memory no more.

use super::exchange::{Began, Exchange, Keys, Progress, Stage};
use super::format::{Line, Payload, Record, may_have_request};
use super::key::Key;
use super::reading::Reading;
use crate::error::CaptureError;
use crate::file::{FileCursor, LinePlace, Lines};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Blocks of exchanges, which are read again when one of them is asked for.
pub(super) struct Blocks {
    cursor: FileCursor,
    /// Reads the records behind a request.
    ahead: FileCursor,
    blocks: Vec<Block>,
    /// How many exchanges a block has.
    block_len: u64,
    /// The block that was read last, by the number of its first exchange.
    read: Option<(u64, KnownExchanges)>,
    /// For keys that were asked for, the number before which none is left.
    asked: HashMap<Key, u64>,
    taken: Taken,
}

/// Exchanges with the keys that find them.
type KnownExchanges = Vec<(Arc<Exchange>, Keys)>;

/// Some exchanges that follow each other.
struct Block {
    place: LinePlace,
    /// The number of the first one, and the number behind the last one.
    first: u64,
    until: u64,
    len: u64,
    /// How many were not taken.
    left: u64,
    /// The bits of the keys.
    keys: Box<[u64; WORDS]>,
}

/// The numbers of the exchanges that wait no more, in a bit each.
#[derive(Debug, Default)]
struct Taken(Vec<u64>);

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

impl Blocks {
    pub(super) fn new(path: &Arc<Path>, line_limit: usize) -> Self {
        let cursor = || FileCursor::new(Arc::clone(path), line_limit);
        let (cursor, ahead) = (cursor(), cursor().with_lookback(LOOKBACK));
        let (blocks, asked, taken) = (Vec::new(), HashMap::new(), Taken::default());
        Self { cursor, ahead, blocks, block_len: BLOCK_LEN, read: None, asked, taken }
    }

    /// Adds an exchange behind all that were added before.
    pub(super) fn add(&mut self, exchange: &Exchange, keys: Keys) {
        if self.blocks.last().is_none_or(|block| block.len == self.block_len) {
            self.begin_block(exchange);
        }
        let Some(block) = self.blocks.last_mut() else { return };
        (block.until, block.len, block.left) = (exchange.number + 1, block.len + 1, block.left + 1);
        keys.iter().flat_map(|key| key.bits(WORDS)).for_each(|(word, bit)| block.keys[word] |= bit);
        // The block has one more.
        self.read.take_if(|(first, _)| *first == block.first);
    }

    fn begin_block(&mut self, exchange: &Exchange) {
        if self.blocks.len() == MOST_BLOCKS {
            self.join_blocks();
        }
        let (place, first) = (exchange.place, exchange.number);
        self.blocks.push(Block { place, first, until: first, len: 0, left: 0, keys: Box::new([0; WORDS]) });
    }

    /// Makes one block of each two.
    fn join_blocks(&mut self) {
        let mut blocks = core::mem::take(&mut self.blocks).into_iter();
        while let Some(mut block) = blocks.next() {
            if let Some(Block { until, len, left, keys, .. }) = blocks.next() {
                (block.until, block.len, block.left) = (until, block.len + len, block.left + left);
                block.keys.iter_mut().zip(*keys).for_each(|(own, other)| *own |= other);
            }
            self.blocks.push(block);
        }
        self.block_len *= 2;
        self.read = None;
    }

    /// Notes that an exchange was taken, which may be in no block.
    pub(super) fn take(&mut self, number: u64) {
        self.taken.insert(number);
        let place = self.blocks.partition_point(|block| block.until <= number);
        if let Some(block) = self.blocks.get_mut(place) {
            block.left = block.left.saturating_sub(1);
        }
    }

    pub(super) fn is_taken(&self, number: u64) -> bool {
        self.taken.contains(number)
    }

    /// Finds the first exchange with this key that was not taken.
    pub(super) fn first(&mut self, key: Key, reading: &Reading) -> Result<Option<Arc<Exchange>>, CaptureError> {
        let from = self.asked.get(&key).copied().unwrap_or(0);
        for place in 0..self.blocks.len() {
            let Block { until, left, keys, .. } = &self.blocks[place];
            if *left == 0 || *until <= from || !key.bits(WORDS).all(|(word, bit)| keys[word] & bit != 0) {
                continue;
            }
            let (until, taken) = (*until, core::mem::take(&mut self.taken));
            let found = self.exchanges(place, &taken, reading).map(|exchanges| {
                let mut own = exchanges.iter().filter(|(_, keys)| keys.contains(key)).map(|(exchange, _)| exchange);
                own.find(|exchange| exchange.number >= from && !taken.contains(exchange.number)).map(Arc::clone)
            });
            self.taken = taken;
            let found = found?;
            self.note(key, found.as_ref().map_or(until, |exchange| exchange.number));
            if let Some(exchange) = found {
                // An exchange without an end may go on.
                if reading.open(&exchange).is_none() {
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

    /// Reads a block, unless it was read last.
    fn exchanges(
        &mut self,
        place: usize,
        taken: &Taken,
        reading: &Reading,
    ) -> Result<&[(Arc<Exchange>, Keys)], CaptureError> {
        let Block { place, first, until, .. } = self.blocks[place];
        if self.read.as_ref().is_none_or(|(read, _)| *read != first) {
            self.read = None;
            let (lines, mut exchanges) = (self.cursor.at_place(place)?, Vec::new());
            for number in first..until {
                let Some(Began { exchange, keys, .. }) = next_request(lines, number, reading)? else { break };
                if !taken.contains(number) {
                    exchanges.push((reading.open(&exchange).cloned().unwrap_or(exchange), keys));
                }
            }
            self.read = Some((first, exchanges));
        }
        Ok(self.read.as_ref().map_or(&[], |(_, exchanges)| exchanges))
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
fn next_request(lines: &mut Lines, number: u64, reading: &Reading) -> Result<Option<Began>, CaptureError> {
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
            return Ok(Some(Began::new(number, id, t, place, &request)));
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
