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
}
