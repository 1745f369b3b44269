use alloc::vec::Vec;

/// The bytes of a body that were not consumed yet.
///
/// Writing is in two steps, so that a transport can write in place: [`space`](Self::space), then
/// [`commit`](Self::commit).
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// The least room for a read.
const READ: usize = 16 * 1024;
/// A buffer larger than this is freed once it is empty.
const KEEP: usize = 64 * READ;

impl Buffer {
    /// Room for more bytes. It stays where it is until the next call.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start_over();
        }
        if self.bytes.len() - self.end < READ {
            self.make_room();
        }
        &mut self.bytes[self.end..]
    }

    /// Appends the first `len` bytes of the room, or all of it where that is less.
    pub(crate) fn commit(&mut self, len: usize) {
        self.end = self.end.saturating_add(len).min(self.bytes.len());
    }

    /// The bytes that were not consumed.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Consumes the first `len` of them.
    pub(crate) fn consume(&mut self, len: usize) {
        self.start = (self.start + len).min(self.end);
    }

    /// Consumes everything.
    pub(crate) fn clear(&mut self) {
        self.start = self.end;
    }

    fn start_over(&mut self) {
        (self.start, self.end) = (0, 0);
        if self.bytes.len() > KEEP {
            self.bytes = Vec::new();
        }
    }

    fn make_room(&mut self) {
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.bytes.len() - self.end < READ {
            let len = (self.end + READ).max(self.bytes.len() * 2);
            self.bytes.resize(len, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_out_as_they_went_in_whatever_is_consumed_between() {
        let (mut buffer, mut written, mut read) = (Buffer::default(), Vec::new(), Vec::new());
        for n in 0..500_u32 {
            let piece: Vec<u8> = (0..n * 7 % 3000).map(|i| (i + n) as u8).collect();
            buffer.space()[..piece.len()].copy_from_slice(&piece);
            buffer.commit(piece.len());
            written.extend_from_slice(&piece);
            let len = buffer.filled().len() * (n as usize % 4) / 3;
            let len = len.min(buffer.filled().len());
            read.extend_from_slice(&buffer.filled()[..len]);
            buffer.consume(len);
        }
        read.extend_from_slice(buffer.filled());
        assert_eq!(read, written);
    }

    #[test]
    fn room_for_one_large_frame_is_given_back() {
        let mut buffer = Buffer::default();
        for _ in 0..200 {
            buffer.space();
            buffer.commit(READ);
        }
        assert!(buffer.bytes.len() >= 200 * READ);
        buffer.consume(200 * READ);
        assert!(buffer.space().len() < 2 * READ);
    }

    #[test]
    fn the_room_stays_where_it_is_while_bytes_are_consumed() {
        let mut buffer = Buffer::default();
        buffer.space()[..3].copy_from_slice(b"old");
        buffer.commit(3);
        buffer.space()[..3].copy_from_slice(b"new");
        buffer.consume(3);
        buffer.commit(3);
        assert_eq!(buffer.filled(), b"new");
    }

    #[test]
    fn a_commit_beyond_the_room_fills_the_room() {
        let mut buffer = Buffer::default();
        let room = buffer.space().len();
        buffer.commit(1);
        buffer.commit(usize::MAX);
        assert_eq!(buffer.filled().len(), room);
    }
}
