//! Buffers that are as large as the traffic of a connection needs.

use std::io::{self, Read};

/// How many bytes a connection reads at once: more while it is busy, few while it is quiet.
///
/// The size doubles when a read fills it. When a read fills less than a quarter, the size falls to about twice of that.
#[derive(Debug)]
pub(crate) struct ReadSize {
    bytes: usize,
    least: usize,
}

impl ReadSize {
    /// The size of a quiet connection, in bytes.
    pub(crate) const LEAST: usize = 4 * 1024;
    /// The size of a busy connection, in bytes.
    pub(crate) const MOST: usize = 64 * 1024;

    /// The largest size, which never changes.
    pub(crate) fn largest() -> Self {
        Self { bytes: Self::MOST, least: Self::MOST }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives a buffer this length; its content is lost. Memory that is no longer needed is freed.
    pub(crate) fn fit(buf: &mut Vec<u8>, len: usize) {
        if (len..=2 * len).contains(&buf.capacity()) {
            buf.resize(len, 0);
        } else {
            // Frees the old memory first.
            *buf = Vec::new();
            *buf = vec![0; len];
        }
    }

    /// Takes the result of a read that was offered the current size.
    pub(crate) fn on_read(&mut self, len: usize) {
        if len >= self.bytes {
            self.bytes = (self.bytes * 2).min(Self::MOST);
        } else if len < self.bytes / 4 {
            self.bytes = (2 * len).next_power_of_two().max(self.least);
        }
    }
}

impl Default for ReadSize {
    fn default() -> Self {
        Self { bytes: Self::LEAST, least: Self::LEAST }
    }
}

/// What was read of a connection, and not consumed.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    size: ReadSize,
}

impl Input {
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn consume(&mut self, len: usize) {
        self.start += len;
    }

    /// Appends what one read brings, and returns its length. After an error, an empty buffer takes no memory.
    ///
    /// Unconsumed input counts among the most bytes, so that it does not grow without bound; there may be no room.
    pub(super) fn fill(&mut self, from: &mut impl Read) -> io::Result<usize> {
        let held = self.end - self.start;
        let room = self.size.bytes().min(ReadSize::MOST.saturating_sub(held));
        self.make_room(held, room);
        let read = from.read(&mut self.bytes[held..held + room]);
        match read {
            // A read into less room tells nothing of the traffic.
            Ok(len) if room == self.size.bytes() => self.size.on_read(len),
            Err(_) if held == 0 => self.bytes = Vec::new(),
            _ => {}
        }
        self.end += read.as_ref().unwrap_or(&0);
        read
    }

    /// Moves the unconsumed input to the front, with this much room behind it.
    fn make_room(&mut self, held: usize, room: usize) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, held);
        if held == 0 {
            ReadSize::fit(&mut self.bytes, room);
        } else if self.bytes.len() < held + room {
            self.bytes.resize(held + room, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_traffic_up_and_down() {
        let mut size = ReadSize::default();
        let mut sizes = |lens: &[usize]| {
            lens.iter().for_each(|len| size.on_read(*len));
            size.bytes() / 1024
        };
        assert_eq!(sizes(&[1000]), 4);
        assert_eq!(sizes(&[4 << 10, 8 << 10]), 16);
        assert_eq!(sizes(&[16 << 10, 32 << 10, 64 << 10, 64 << 10]), 64);
        assert_eq!(sizes(&[17 << 10]), 64, "a quarter is no sign of quiet");
        assert_eq!(sizes(&[6 << 10]), 16);
        assert_eq!(sizes(&[0]), 4);
    }

    #[test]
    fn the_memory_of_a_busy_time_is_freed() {
        let mut buf = Vec::with_capacity(ReadSize::MOST);
        ReadSize::fit(&mut buf, ReadSize::LEAST);
        assert_eq!((buf.len(), buf.capacity()), (ReadSize::LEAST, ReadSize::LEAST));
    }

    /// Reads as many bytes as there are, or as there is room for.
    fn read(input: &mut Input, len: usize) -> usize {
        input.fill(&mut io::repeat(7).take(len as u64)).unwrap()
    }

    #[test]
    fn a_busy_connection_reads_more_at_once_and_a_quiet_one_frees_it() {
        let mut input = Input::default();
        let mut reads = Vec::new();
        for _ in 0..6 {
            let len = read(&mut input, usize::MAX);
            input.consume(len);
            reads.push(len >> 10);
        }
        assert_eq!(reads, [4, 8, 16, 32, 64, 64]);
        for len in [100, 1] {
            read(&mut input, len);
            input.consume(len);
        }
        assert_eq!(input.bytes.capacity(), ReadSize::LEAST);
    }

    #[test]
    fn a_busy_connection_with_little_room_left_does_not_count_as_quiet() {
        let mut input = Input::default();
        while input.size.bytes() < ReadSize::MOST {
            let len = read(&mut input, usize::MAX);
            input.consume(len);
        }
        let len = read(&mut input, usize::MAX);
        input.consume(4096);
        assert_eq!((len, read(&mut input, usize::MAX)), (ReadSize::MOST, 4096), "all the room that was left");
        input.consume(ReadSize::MOST);
        assert_eq!(input.size.bytes(), ReadSize::MOST);
    }

    #[test]
    fn input_that_cannot_be_consumed_is_bounded() {
        let mut input = Input::default();
        while read(&mut input, usize::MAX) > 0 {}
        assert_eq!(input.unread().len(), ReadSize::MOST);
    }

    #[test]
    fn unconsumed_input_stays_in_front_of_what_is_read_next() {
        let mut input = Input::default();
        input.fill(&mut &b"abc"[..]).unwrap();
        input.consume(2);
        input.fill(&mut &b"d"[..]).unwrap();
        assert_eq!(input.unread(), b"cd");
    }

    #[test]
    fn a_read_that_brings_nothing_leaves_no_memory() {
        struct Quiet;
        impl Read for Quiet {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
        let mut input = Input::default();
        read(&mut input, 1);
        input.consume(1);
        assert!(input.fill(&mut Quiet).is_err());
        assert_eq!(input.bytes.capacity(), 0);
    }
}
