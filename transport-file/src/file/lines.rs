use super::source::Source;
use crate::error::{CaptureError, Fault};
use std::io::{BufRead, Read};

/// The lines of a file, of which one at a time is in memory.
pub(crate) struct Lines {
    source: Source,
    line: Vec<u8>,
    number: u64,
    limit: usize,
}

impl Lines {
    /// Starts at the first line. A line of more than `limit` bytes is an error.
    pub(crate) fn new(source: Source, limit: usize) -> Self {
        Self { source, line: Vec::new(), number: 0, limit }
    }

    /// The number of the last line that was read, from one; zero before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes behind the last line.
    pub(crate) fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// The number of bytes that were consumed of the file.
    pub(crate) fn position(&self) -> u64 {
        self.source.position()
    }

    /// Reads the next line, and returns its number and its text without the line end; `None` at the end of the file.
    ///
    /// After the error of a line that is too long, the next call reads the line behind it.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, CaptureError> {
        self.line.clear();
        let most = (self.limit as u64).saturating_add(1);
        let read = (&mut self.source).take(most).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| self.source.error(Some(self.number + 1), &error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
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
            self.skip_line()?;
            self.number += 1;
        }
        Ok(())
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
