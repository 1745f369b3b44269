//! The file while it is played: one place in it, moved forward.

use super::detect::skip_mark;
use super::lines::Lines;
use super::lookback::Lookback;
use super::source::Source;
use crate::error::CaptureError;
use std::path::Path;
use std::sync::Arc;

/// A file that is read forward, and opened anew only to go back.
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

    /// Keeps the last lines, up to so many bytes, instead of opening the file anew to go back a little.
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

    /// How many bytes a line or an event may have.
    pub(crate) fn line_limit(&self) -> usize {
        self.line_limit
    }

    /// How many bad lines were passed over since the beginning.
    pub(crate) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Counts a bad line that is passed over.
    pub(crate) fn pass_over(&mut self) {
        self.bad_lines += 1;
    }

    /// The file such that `line` is the next one to be read.
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

    /// A line with its number; `None` at the end of the file.
    pub(crate) fn line(&mut self, number: u64) -> Result<Option<(u64, &[u8])>, CaptureError> {
        let Some(mut lookback) = self.lookback.take() else { return self.at(number)?.next() };
        let read = if lookback.get(number).is_some() { Ok(()) } else { self.read_up_to(number, &mut lookback) };
        let lookback = self.lookback.insert(lookback);
        read.map(|()| lookback.get(number).map(|line| (number, line)))
    }

    /// Reads lines up to this one, and keeps what it can.
    fn read_up_to(&mut self, number: u64, lookback: &mut Lookback) -> Result<(), CaptureError> {
        let reached = self.lines.as_ref().map_or(0, Lines::number);
        let lines = self.at(if reached < number { reached + 1 } else { 1 })?;
        while lines.number() < number {
            let read = lines.next().map(|line| line.map(|(at, line)| lookback.push(at, line)));
            match read {
                Ok(Some(())) => {}
                Ok(None) => break,
                // What is only passed over may be bad.
                Err(error) if error.is_bad_line() && lines.number() < number => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Up to which byte the file was played. It does not go back when the cursor does.
    pub(crate) fn position(&self) -> u64 {
        self.furthest.max(self.lines.as_ref().map_or(0, Lines::position))
    }
}
