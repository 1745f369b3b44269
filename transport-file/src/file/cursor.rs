//! The lines of a file, of which one at a time is in memory.

use super::detect::skip_mark;
use super::source::Source;
use crate::error::{CaptureError, Fault};
use std::collections::VecDeque;
use std::io::ErrorKind::UnexpectedEof;
use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;

/// A position in a file that is read forward. To go back, the file is read again from an earlier place.
pub(crate) struct FileCursor {
    path: Arc<Path>,
    line_limit: usize,
    is_capture: bool,
    /// `None` until the file is opened.
    source: Option<Source>,
    /// The line that was read last, and its number, from one; zero before the first.
    line: Vec<u8>,
    number: u64,
    /// The newest entry before the line that comes next.
    entry: Entry,
    /// How many bytes of lines were read.
    bytes: u64,
    /// Where the data of a capture breaks off behind a whole line, once that was reached.
    cut: Option<CaptureError>,
    furthest: u64,
    bad_lines: u64,
    lookback: Option<Lookback>,
    /// How many times the file was opened, or read again from an earlier place.
    opened: u64,
}

/// A place where reading may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// In the file.
    at: u64,
    /// The number of the last line that begins before it.
    number: u64,
    /// Whether that line ends behind it.
    is_within: bool,
}

/// A line, and where to begin to read up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePlace {
    pub(crate) line: u64,
    entry: Entry,
}

impl LinePlace {
    /// A line that is found from the beginning of the file.
    pub(crate) fn from_start(line: u64) -> Self {
        Self { line, entry: Entry::default() }
    }

    /// A later line that is found from here.
    pub(crate) fn before(self, line: u64) -> Self {
        Self { line, ..self }
    }
}

/// How much memory stays for the next line. A line may be large, and each reader of a recording has one.
const KEPT: usize = 1024 * 1024;

/// If an entry is as far ahead, the bytes up to it are not worth reading.
const FAR: u64 = 64 * 1024;

impl FileCursor {
    /// A line of more than `line_limit` bytes is an error, and so is compressed data that breaks off.
    pub(crate) fn new(path: Arc<Path>, line_limit: usize) -> Self {
        Self {
            path,
            line_limit,
            is_capture: false,
            source: None,
            line: Vec::new(),
            number: 0,
            entry: Entry::default(),
            bytes: 0,
            cut: None,
            furthest: 0,
            bad_lines: 0,
            lookback: None,
            opened: 0,
        }
    }

    /// Keeps the last lines, up to `bytes`, so that a small step back does not read the file again.
    pub(crate) fn with_lookback(self, bytes: usize) -> Self {
        Self { lookback: Some(Lookback::new(bytes)), ..self }
    }

    /// Takes compressed data that breaks off behind a whole line for the end of the file, as it is in plain text: the
    /// recorder was killed.
    pub(crate) fn of_capture(self) -> Self {
        Self { is_capture: true, ..self }
    }

    pub(crate) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// The limit of a line or an event in bytes.
    pub(crate) fn line_limit(&self) -> usize {
        self.line_limit
    }

    /// Where the data of a capture breaks off behind a whole line, once that was reached.
    pub(crate) fn cut(&self) -> Option<&CaptureError> {
        self.cut.as_ref()
    }

    /// How many times the file was opened, or read again from an earlier place.
    pub(crate) fn opened(&self) -> u64 {
        self.opened
    }

    /// The number of bad lines that were skipped.
    pub(crate) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Counts a bad line that is skipped.
    pub(crate) fn skip_bad_line(&mut self) {
        self.bad_lines += 1;
    }

    /// How many bytes of lines were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The largest offset in the file that was reached, in bytes.
    pub(crate) fn position(&self) -> u64 {
        self.furthest.max(self.source_position())
    }

    /// The number of the line that was read last.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes of a file that is no lines.
    pub(crate) fn source(&mut self) -> Result<&mut Source, CaptureError> {
        self.at(1)?.open()
    }

    /// Moves so that `line` is read next.
    pub(crate) fn at(&mut self, line: u64) -> Result<&mut Self, CaptureError> {
        self.at_place(LinePlace::from_start(line))
    }

    /// Moves so that the line of `place` is read next.
    pub(crate) fn at_place(&mut self, place: LinePlace) -> Result<&mut Self, CaptureError> {
        self.furthest = self.position();
        self.open()?;
        let is_behind = self.number >= place.line;
        if is_behind || self.is_before(place.entry) {
            self.opened += u64::from(is_behind);
            self.seek(place.entry)?;
        }
        while self.number + 1 < place.line {
            self.note_entry();
            self.skip_line()?;
            self.number += 1;
        }
        Ok(self)
    }

    /// The place of the line that comes next.
    pub(crate) fn place(&mut self) -> LinePlace {
        self.note_entry();
        LinePlace { line: self.number + 1, entry: self.entry }
    }

    /// Reads the next line, and returns its number and its text without the line end; `None` at the end of the file.
    ///
    /// After the error of a line that is too long, the next call reads the line behind it.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, CaptureError> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        self.note_entry();
        let most = (self.line_limit as u64).saturating_add(1);
        let Some(source) = &mut self.source else { return Ok(None) };
        let read = source.by_ref().take(most).read_until(b'\n', &mut self.line);
        let read = match read {
            Err(error) if self.is_capture && self.line.is_empty() && error.kind() == UnexpectedEof => {
                self.cut = Some(source.error(None, &error));
                0
            }
            read => read.map_err(|error| source.error(Some(self.number + 1), &error))?,
        };
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += read as u64;
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if read as u64 == most {
            return Err(self.too_long());
        }
        Ok(Some((self.number, &self.line)))
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
        let is_near = self.number > 0 && self.number < place.line && !self.is_before(place.entry);
        let next = if is_near { self.number } else { place.entry.number } + 1;
        self.at_place(place.before(next))?;
        while self.number < place.line {
            let read = self.next().map(|line| line.map(|(at, line)| lookback.push(at, line)));
            match read {
                Ok(Some(())) => {}
                Ok(None) => break,
                // A line on the way may be bad.
                Err(error) if error.is_bad_line() && self.number < place.line => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn open(&mut self) -> Result<&mut Source, CaptureError> {
        let source = match self.source.take() {
            Some(source) => source,
            None => {
                self.opened += 1;
                let mut source = Source::open(&self.path)?;
                skip_mark(&mut source)?;
                source
            }
        };
        Ok(self.source.insert(source))
    }

    /// Goes to an entry.
    fn seek(&mut self, entry: Entry) -> Result<(), CaptureError> {
        self.open()?.seek(entry.at)?;
        (self.number, self.entry) = (entry.number, entry);
        match entry {
            Entry { at: 0, .. } => skip_mark(self.open()?),
            Entry { is_within: true, .. } => self.skip_line(),
            _ => Ok(()),
        }
    }

    /// Whether an entry is far ahead.
    fn is_before(&self, entry: Entry) -> bool {
        self.source_position() + FAR < entry.at
    }

    /// The number of bytes that were consumed of the file.
    fn source_position(&self) -> u64 {
        self.source.as_ref().map_or(0, Source::position)
    }

    fn note_entry(&mut self) {
        if let Some((at, is_here)) = self.source.as_ref().map(Source::entry)
            && at != self.entry.at
        {
            self.entry = Entry { at, number: self.number, is_within: !is_here };
        }
    }

    fn too_long(&mut self) -> CaptureError {
        let error = CaptureError::new(&self.path, Some(self.number), Fault::too_long("line", self.line_limit));
        self.line = Vec::new();
        self.skip_line().err().unwrap_or(error)
    }

    fn skip_line(&mut self) -> Result<(), CaptureError> {
        let number = self.number + 1;
        let source = self.open()?;
        let skipped = source.skip_until(b'\n');
        skipped.map(drop).map_err(|error| source.error(Some(number), &error))
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
