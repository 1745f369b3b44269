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
}

impl Tape {
    pub(crate) fn new(path: Arc<Path>, line_limit: usize) -> Self {
        Self { path, line_limit, lines: None, furthest: 0 }
    }

    pub(crate) fn path(&self) -> &Arc<Path> {
        &self.path
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
