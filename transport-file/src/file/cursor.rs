use super::lines::{LinePlace, Lines};
use super::source::Source;
use crate::error::CaptureError;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// A position in a file that is read forward. To go back, the file is read again from an earlier place.
pub(crate) struct FileCursor {
    path: Arc<Path>,
    line_limit: usize,
    is_capture: bool,
    lines: Option<Lines>,
    furthest: u64,
    bad_lines: u64,
    lookback: Option<Lookback>,
    /// How many times the file was opened, or read again from an earlier place.
    opened: u64,
}

impl FileCursor {
    pub(crate) fn new(path: Arc<Path>, line_limit: usize) -> Self {
        Self { path, line_limit, is_capture: false, lines: None, furthest: 0, bad_lines: 0, lookback: None, opened: 0 }
    }

    /// Keeps the last lines, up to `bytes`, so that a small step back does not read the file again.
    pub(crate) fn with_lookback(mut self, bytes: usize) -> Self {
        self.lookback = Some(Lookback::new(bytes));
        self
    }

    /// Takes compressed data that breaks off behind a whole line for the end of the file, as it is in plain text: the
    /// recorder was killed.
    pub(crate) fn of_capture(self) -> Self {
        Self { is_capture: true, ..self }
    }

    /// Where the data of a capture breaks off behind a whole line, once that was reached.
    pub(crate) fn cut(&self) -> Option<&CaptureError> {
        self.lines.as_ref().and_then(Lines::cut)
    }

    /// How many times the file was opened, or read again from an earlier place.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    pub(crate) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The limit of a line or an event in bytes.
    pub(crate) fn line_limit(&self) -> usize {
        self.line_limit
    }

    /// The number of bad lines that were skipped.
    pub(crate) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Counts a bad line that is skipped.
    pub(crate) fn skip_bad_line(&mut self) {
        self.bad_lines += 1;
    }

    /// Moves so that `line` is read next.
    pub(crate) fn at(&mut self, line: u64) -> Result<&mut Lines, CaptureError> {
        self.at_place(LinePlace::from_start(line))
    }

    /// Moves so that the line of `place` is read next.
    pub(crate) fn at_place(&mut self, place: LinePlace) -> Result<&mut Lines, CaptureError> {
        self.furthest = self.position();
        let lines = match self.lines.take() {
            Some(lines) => lines,
            None => {
                self.opened += 1;
                Lines::new(Source::open(&self.path)?, self.line_limit, self.is_capture)?
            }
        };
        let lines = self.lines.insert(lines);
        let is_behind = lines.number() >= place.line;
        if is_behind || lines.is_before(place.entry) {
            self.opened += u64::from(is_behind);
            lines.seek(place.entry)?;
        }
        lines.skip_to(place.line)?;
        Ok(lines)
    }

    /// Reads a line, and returns it with its number; `None` at the end of the file.
    pub(crate) fn line(&mut self, place: LinePlace) -> Result<Option<(u64, &[u8])>, CaptureError> {
        let Some(mut lookback) = self.lookback.take() else { return self.at_place(place)?.next() };
        let number = place.line;
        let read = if lookback.get(number).is_some() { Ok(()) } else { self.read_up_to(place, &mut lookback) };
        let lookback = self.lookback.insert(lookback);
        read.map(|()| lookback.get(number).map(|line| (number, line)))
    }

    /// Reads up to this line, and keeps the last lines.
    fn read_up_to(&mut self, place: LinePlace, lookback: &mut Lookback) -> Result<(), CaptureError> {
        let near = self.lines.as_ref().filter(|lines| !lines.is_before(place.entry)).map_or(0, Lines::number);
        let next = if near > 0 && near < place.line { near + 1 } else { place.entry.first_line() };
        let lines = self.at_place(place.before(next))?;
        while lines.number() < place.line {
            let read = lines.next().map(|line| line.map(|(at, line)| lookback.push(at, line)));
            match read {
                Ok(Some(())) => {}
                Ok(None) => break,
                // A line on the way may be bad.
                Err(error) if error.is_bad_line() && lines.number() < place.line => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// How many bytes of lines were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.as_ref().map_or(0, Lines::bytes)
    }

    /// The largest offset in the file that was reached, in bytes.
    pub(crate) fn position(&self) -> u64 {
        self.furthest.max(self.lines.as_ref().map_or(0, Lines::position))
    }
}

/// The last lines that were read, for responses that overlap in a capture.
#[derive(Debug)]
struct Lookback {
    lines: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
    limit: usize,
}

impl Lookback {
    /// Keeps up to `limit` bytes, and always the last line.
    fn new(limit: usize) -> Self {
        Self { lines: VecDeque::new(), bytes: 0, limit }
    }

    /// Adds the line that was read. If it does not follow the last one, the file was opened again, and all others go.
    fn push(&mut self, number: u64, line: &[u8]) {
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
    fn get(&self, number: u64) -> Option<&[u8]> {
        let place = self.lines.binary_search_by_key(&number, |(line, _)| *line).ok()?;
        Some(&self.lines[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::{Seek, SeekFrom, Write};

    const LINES: u64 = 6_000;

    fn text(line: u64) -> String {
        format!("{line} {}", "x".repeat(line as usize % 100))
    }

    /// Members of 2,000 lines, of which the second one begins within a line.
    fn members(pack: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let lines: String = (1..=LINES).map(|line| text(line) + "\n").collect();
        let third = lines.find("4001 ").unwrap();
        let (front, last) = lines.as_bytes().split_at(third);
        let (first, second) = front.split_at(third / 2);
        [first, second, last].map(pack).concat()
    }

    fn gzip(part: &[u8]) -> Vec<u8> {
        let mut member = GzEncoder::new(Vec::new(), Compression::default());
        member.write_all(part).unwrap();
        member.finish().unwrap()
    }

    fn zstd(part: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(part, 1).unwrap()
    }

    #[test]
    fn a_line_behind_is_found_without_reading_the_beginning_again() {
        let plain: String = (1..=LINES).map(|line| text(line) + "\n").collect();
        for (name, bytes) in [("plain", plain.into_bytes()), ("gzip", members(gzip)), ("zstd", members(zstd))] {
            let path: Arc<Path> =
                std::env::temp_dir().join(format!("listwatch-cursor-{name}-{}", std::process::id())).into();
            std::fs::write(&path, &bytes).unwrap();
            let mut cursor = FileCursor::new(Arc::clone(&path), usize::MAX);
            let places: Vec<LinePlace> = (1..=LINES)
                .map(|line| {
                    let lines = cursor.at(line).unwrap();
                    let place = lines.place();
                    assert_eq!(lines.next().unwrap(), Some((line, text(line).as_bytes())));
                    place
                })
                .collect();
            for line in [3_500, 2_900, 3_001, 1, 6_000, 4_001, 4_000] {
                let place = places[line as usize - 1];
                assert_eq!(cursor.line(place).unwrap(), Some((line, text(line).as_bytes())), "{name}");
            }
            // From here on, the beginning cannot be read.
            let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.seek(SeekFrom::Start(10)).unwrap();
            file.write_all(&[0xff; 100]).unwrap();
            for line in [5_500, 4_001, 5_999] {
                let place = places[line as usize - 1];
                assert_eq!(cursor.line(place).unwrap(), Some((line, text(line).as_bytes())), "{name}");
            }
            std::fs::remove_file(&path).unwrap();
        }
    }

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
