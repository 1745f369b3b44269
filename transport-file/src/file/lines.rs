use super::detect::skip_mark;
use super::source::Source;
use crate::error::{CaptureError, Fault};
use std::io::ErrorKind::UnexpectedEof;
use std::io::{BufRead, Read};

/// The lines of a file, of which one at a time is in memory.
pub(crate) struct Lines {
    source: Source,
    line: Vec<u8>,
    number: u64,
    limit: usize,
    is_capture: bool,
    entry: Entry,
    /// How many bytes of lines were read.
    bytes: u64,
    /// Where compressed data breaks off behind a whole line, once that was reached.
    cut: Option<CaptureError>,
}

/// A place where reading may begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// In the file.
    at: u64,
    /// The number of the last line that begins before it.
    number: u64,
    /// Whether that line ends behind it.
    is_within: bool,
}

impl Entry {
    /// The first line that begins here or behind.
    pub(super) fn first_line(self) -> u64 {
        self.number + 1
    }
}

/// A line, and where to begin to read up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePlace {
    pub(crate) line: u64,
    pub(super) entry: Entry,
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

impl Lines {
    /// Starts at the first line. A line of more than `limit` bytes is an error, and so is compressed data that breaks off:
    /// in a capture, only within a line.
    pub(crate) fn new(mut source: Source, limit: usize, is_capture: bool) -> Result<Self, CaptureError> {
        skip_mark(&mut source)?;
        Ok(Self {
            source,
            line: Vec::new(),
            number: 0,
            limit,
            is_capture,
            entry: Entry::default(),
            bytes: 0,
            cut: None,
        })
    }

    /// The number of the last line that was read, from one; zero before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes behind the last line.
    pub(crate) fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// How many bytes of lines were read.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the data of a capture breaks off behind a whole line, once that was reached.
    pub(super) fn cut(&self) -> Option<&CaptureError> {
        self.cut.as_ref()
    }

    /// The number of bytes that were consumed of the file.
    pub(crate) fn position(&self) -> u64 {
        self.source.position()
    }

    /// The place of the line that comes next.
    pub(crate) fn place(&mut self) -> LinePlace {
        self.note_entry();
        LinePlace { line: self.number + 1, entry: self.entry }
    }

    /// Goes to an entry.
    pub(super) fn seek(&mut self, entry: Entry) -> Result<(), CaptureError> {
        self.source.seek(entry.at)?;
        (self.number, self.entry) = (entry.number, entry);
        match entry {
            Entry { at: 0, .. } => skip_mark(&mut self.source),
            Entry { is_within: true, .. } => self.skip_line(),
            _ => Ok(()),
        }
    }

    /// Whether an entry lies so far ahead that the bytes up to it are not worth reading.
    pub(super) fn is_before(&self, entry: Entry) -> bool {
        const NEAR: u64 = 64 * 1024;
        self.position() + NEAR < entry.at
    }

    /// Reads the next line, and returns its number and its text without the line end; `None` at the end of the file.
    ///
    /// After the error of a line that is too long, the next call reads the line behind it.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, CaptureError> {
        self.line.clear();
        self.line.shrink_to(KEPT);
        self.note_entry();
        let most = (self.limit as u64).saturating_add(1);
        let read = (&mut self.source).take(most).read_until(b'\n', &mut self.line);
        let read = match read {
            Err(error) if self.is_capture && self.line.is_empty() && error.kind() == UnexpectedEof => {
                self.cut = Some(self.source.error(None, &error));
                0
            }
            read => read.map_err(|error| self.source.error(Some(self.number + 1), &error))?,
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

    /// Skips the lines before `number`.
    pub(crate) fn skip_to(&mut self, number: u64) -> Result<(), CaptureError> {
        while self.number + 1 < number {
            self.note_entry();
            self.skip_line()?;
            self.number += 1;
        }
        Ok(())
    }

    /// Notes the newest entry before the line that comes next.
    fn note_entry(&mut self) {
        let (at, is_here) = self.source.entry();
        if at != self.entry.at {
            self.entry = Entry { at, number: self.number, is_within: !is_here };
        }
    }

    fn too_long(&mut self) -> CaptureError {
        let fault = Fault::too_long("line", self.limit);
        let error = CaptureError::new(self.source.path(), Some(self.number), fault);
        self.line = Vec::new();
        self.skip_line().err().unwrap_or(error)
    }

    fn skip_line(&mut self) -> Result<(), CaptureError> {
        let skipped = self.source.skip_until(b'\n');
        skipped.map(drop).map_err(|error| self.source.error(Some(self.number + 1), &error))
    }
}

/// How much memory stays for the next line. A line may be large, and each reader of a recording has one.
const KEPT: usize = 1024 * 1024;
