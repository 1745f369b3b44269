use std::collections::VecDeque;

/// The last lines that were read, for responses that overlap in a capture.
#[derive(Debug)]
pub(crate) struct Lookback {
    lines: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    limit: usize,
}

impl Lookback {
    /// Keeps up to `limit` bytes, and always the last line.
    pub(crate) fn new(limit: usize) -> Self {
        Self { lines: VecDeque::new(), bytes: 0, limit }
    }

    /// Adds the line that was read. If it does not follow the last one, the file was opened again, and all others go.
    pub(crate) fn push(&mut self, number: u64, line: &[u8]) {
        if self.lines.back().is_some_and(|(last, _)| *last >= number) {
            self.lines.clear();
            self.bytes = 0;
        }
        self.bytes += line.len();
        self.lines.push_back((number, line.to_vec()));
        while self.bytes > self.limit && self.lines.len() > 1 {
            self.bytes -= self.lines.pop_front().map_or(0, |(_, line)| line.len());
        }
    }

    /// A line, if it is kept.
    pub(crate) fn get(&self, number: u64) -> Option<&[u8]> {
        let place = self.lines.binary_search_by_key(&number, |(line, _)| *line).ok()?;
        Some(&self.lines[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_up_to_a_limit_and_always_one() {
        let mut lookback = Lookback::new(10);
        for number in 1..=4 {
            lookback.push(number, b"four");
        }
        assert_eq!((lookback.get(2), lookback.get(3), lookback.get(4)), (None, Some(&b"four"[..]), Some(&b"four"[..])));
        lookback.push(5, &[b'x'; 50]);
        assert_eq!((lookback.get(4), lookback.get(5).map(<[u8]>::len)), (None, Some(50)));
        lookback.push(1, b"again");
        assert_eq!((lookback.get(1), lookback.get(5)), (Some(&b"again"[..]), None));
    }
}
