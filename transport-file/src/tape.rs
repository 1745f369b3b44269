//! The file while it is played: one place in it, moved forward.

use crate::detect::skip_mark;
use crate::error::CaptureError;
use crate::lines::{Lines, Source};
use std::path::Path;
use std::sync::Arc;

/// A file that is read forward, and opened anew only to go back.
pub(crate) struct Tape {
    path: Arc<Path>,
    line_limit: usize,
    lines: Option<Lines>,
    furthest: u64,
    bad_lines: u64,
}

impl Tape {
    pub(crate) fn new(path: Arc<Path>, line_limit: usize) -> Self {
        Self { path, line_limit, lines: None, furthest: 0, bad_lines: 0 }
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
                let mut source = Source::open(&self.path)?;
                skip_mark(&mut source)?;
                Lines::new(source, self.line_limit)
            }
        };
        let lines = self.lines.insert(lines);
        lines.skip_to(line)?;
        Ok(lines)
    }

    /// Up to which byte the file was played. It does not go back when the tape does.
    pub(crate) fn position(&self) -> u64 {
        self.furthest.max(self.lines.as_ref().map_or(0, Lines::position))
    }
}
