//! Buffers of a connection that are as large as its traffic needs.

use super::read_size::ReadSize;
use ureq::unversioned::transport::Buffers;

/// The least room into which ureq reads the body of a request.
const BODY: usize = 10 * 1024;

/// Input and output of a connection. ureq's own buffers keep their full size as long as the connection is open.
#[derive(Debug)]
pub(super) struct ElasticBuffers {
    input: Vec<u8>,
    /// The unconsumed part of the input.
    start: usize,
    end: usize,
    size: ReadSize,
    /// The last read was offered less than the size, because of unconsumed input.
    is_cramped: bool,
    output: Vec<u8>,
    output_size: usize,
    /// The last look at the input consumed some of it.
    has_progressed: bool,
}

impl ElasticBuffers {
    pub(super) fn new(output_size: usize) -> Self {
        let (input, output, size) = (Vec::new(), Vec::new(), ReadSize::default());
        Self { input, start: 0, end: 0, size, is_cramped: false, output, output_size, has_progressed: false }
    }

    /// Frees the output after it was sent.
    pub(super) fn free_output(&mut self) {
        self.output = Vec::new();
    }

    /// Frees the input if all of it was consumed.
    pub(super) fn free_input(&mut self) {
        if self.start == self.end {
            self.input = Vec::new();
            (self.start, self.end) = (0, 0);
        }
    }

    fn prepare_output(&mut self) {
        if self.output.is_empty() {
            // Pages that are never written take no memory.
            self.output = vec![0; self.output_size];
        }
    }

    /// Moves the unconsumed input to the front, and makes the input this much longer.
    fn make_room(&mut self, room: usize) {
        let held = self.end - self.start;
        self.input.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, held);
        if held == 0 {
            ReadSize::fit(&mut self.input, room);
        } else if self.input.len() < held + room {
            self.input.resize(held + room, 0);
        }
    }
}

impl Buffers for ElasticBuffers {
    fn output(&mut self) -> &mut [u8] {
        self.prepare_output();
        &mut self.output
    }

    fn input(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    /// The room for one read. Unconsumed input counts among the most bytes, so that nothing that ureq cannot consume
    /// grows without bound; there may be no room.
    fn input_append_buf(&mut self) -> &mut [u8] {
        let held = self.end - self.start;
        let room = self.size.bytes().min(ReadSize::MOST.saturating_sub(held));
        self.is_cramped = room < self.size.bytes();
        self.make_room(room);
        &mut self.input[held..held + room]
    }

    fn input_appended(&mut self, amount: usize) {
        self.end += amount;
        // A read into less room tells nothing of the traffic.
        if !self.is_cramped {
            self.size.on_read(amount);
        }
    }

    fn input_consume(&mut self, amount: usize) {
        self.has_progressed = amount > 0;
        self.start += amount;
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        self.prepare_output();
        self.make_room(BODY);
        (&mut self.input[self.end..], &mut self.output)
    }

    fn can_use_input(&self) -> bool {
        self.start < self.end && self.has_progressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(buffers: &mut ElasticBuffers, len: usize) -> usize {
        let room = buffers.input_append_buf().len();
        buffers.input_appended(len.min(room));
        len.min(room)
    }

    #[test]
    fn a_busy_connection_reads_more_at_once_and_a_quiet_one_frees_it() {
        let mut buffers = ElasticBuffers::new(8);
        let mut reads = Vec::new();
        for _ in 0..6 {
            let len = read(&mut buffers, usize::MAX);
            buffers.input_consume(len);
            reads.push(len >> 10);
        }
        assert_eq!(reads, [4, 8, 16, 32, 64, 64]);
        let len = read(&mut buffers, 100);
        buffers.input_consume(len);
        assert_eq!(buffers.input_append_buf().len(), ReadSize::LEAST);
        assert_eq!(buffers.input.capacity(), ReadSize::LEAST);
    }

    #[test]
    fn a_busy_connection_with_little_room_left_does_not_count_as_quiet() {
        let mut buffers = ElasticBuffers::new(8);
        while buffers.size.bytes() < ReadSize::MOST {
            let len = read(&mut buffers, usize::MAX);
            buffers.input_consume(len);
        }
        let len = read(&mut buffers, usize::MAX);
        buffers.input_consume(4096);
        assert_eq!((len, read(&mut buffers, usize::MAX)), (ReadSize::MOST, 4096), "all the room that was left");
        buffers.input_consume(ReadSize::MOST);
        assert_eq!(buffers.input_append_buf().len(), ReadSize::MOST);
    }

    #[test]
    fn input_that_cannot_be_consumed_is_bounded() {
        let mut buffers = ElasticBuffers::new(8);
        while read(&mut buffers, usize::MAX) > 0 {}
        assert_eq!(buffers.input().len(), ReadSize::MOST);
    }

    #[test]
    fn unconsumed_input_stays_in_front_of_what_is_read_next() {
        let mut buffers = ElasticBuffers::new(8);
        buffers.input_append_buf()[..3].copy_from_slice(b"abc");
        buffers.input_appended(3);
        buffers.input_consume(2);
        assert!(buffers.can_use_input());
        buffers.input_append_buf()[..1].copy_from_slice(b"d");
        buffers.input_appended(1);
        assert_eq!(buffers.input(), b"cd");
        buffers.input_consume(0);
        assert!(!buffers.can_use_input(), "more has to be read first");
        assert!(buffers.tmp_and_output().0.len() >= BODY);
        assert_eq!(buffers.input(), b"cd");
    }

    #[test]
    fn the_output_is_freed_after_it_was_sent() {
        let mut buffers = ElasticBuffers::new(8);
        assert_eq!(buffers.output().len(), 8);
        buffers.free_output();
        assert_eq!(buffers.output.capacity(), 0);
    }
}
