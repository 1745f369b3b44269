use super::detect::skip_mark;
use super::lines::Lines;
use super::lookback::Lookback;
use super::source::Source;
use crate::error::CaptureError;
use std::path::Path;
use std::sync::Arc;

/// A position in a file that is read forward. To go back, the file is opened again.
pub(crate) struct FileCursor {
    path: Arc<Path>,
    line_limit: usize,
    lines: Option<Lines>,
    furthest: u64,
    bad_lines: u64,
    lookback: Option<Lookback>,
    /// How many times the file was opened.
    opened: u64,
}

impl FileCursor {
    pub(crate) fn new(path: Arc<Path>, line_limit: usize) -> Self {
        Self { path, line_limit, lines: None, furthest: 0, bad_lines: 0, lookback: None, opened: 0 }
    }

    /// Keeps the last lines, up to `bytes`, so that a small step back does not open the file again.
    pub(crate) fn with_lookback(mut self, bytes: usize) -> Self {
        self.lookback = Some(Lookback::new(bytes));
        self
    }

    /// How many times the file was opened.
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
        self.furthest = self.position();
        let lines = match self.lines.take().filter(|lines| lines.number() < line) {
            Some(lines) => lines,
            None => {
                self.opened += 1;
                let mut source = Source::open(&self.path)?;
                skip_mark(&mut source)?;
                Lines::new(source, self.line_limit)
            }
        };
        let lines = self.lines.insert(lines);
        lines.skip_to(line)?;
        Ok(lines)
    }

    /// Reads a line, and returns it with its number; `None` at the end of the file.
    pub(crate) fn line(&mut self, number: u64) -> Result<Option<(u64, &[u8])>, CaptureError> {
        let Some(mut lookback) = self.lookback.take() else { return self.at(number)?.next() };
        let read = if lookback.get(number).is_some() { Ok(()) } else { self.read_up_to(number, &mut lookback) };
        let lookback = self.lookback.insert(lookback);
        read.map(|()| lookback.get(number).map(|line| (number, line)))
    }

    /// Reads up to this line, and keeps the last lines.
    fn read_up_to(&mut self, number: u64, lookback: &mut Lookback) -> Result<(), CaptureError> {
        let reached = self.lines.as_ref().map_or(0, Lines::number);
        let lines = self.at(if reached < number { reached + 1 } else { 1 })?;
        while lines.number() < number {
            let read = lines.next().map(|line| line.map(|(at, line)| lookback.push(at, line)));
            match read {
                Ok(Some(())) => {}
                Ok(None) => break,
                // A line on the way may be bad.
                Err(error) if error.is_bad_line() && lines.number() < number => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The largest offset in the file that was reached, in bytes.
    pub(crate) fn position(&self) -> u64 {
        self.furthest.max(self.lines.as_ref().map_or(0, Lines::position))
    }
}
