//! Where the lines of a tape go: to a file, or into memory.

use super::mark::Mark;
use super::ring::Ring;
use super::writer::CaptureWriter;
use crate::capture::format::Line;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use listwatch_core::Instant;
use std::io;
use std::path::Path;

pub(super) enum Sink {
    File(Box<CaptureWriter>),
    Memory(Box<Ring>),
}

impl Sink {
    /// The file, if there is one.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(file) => file.path(),
            Self::Memory(_) => Path::new(""),
        }
    }

    pub(super) fn write(&mut self, line: Line<'_>) -> Result<(), CaptureError> {
        match self {
            Self::File(file) => file.write(line),
            Self::Memory(ring) => in_memory(ring.write(line)),
        }
    }

    /// Flushes while there is nothing to add. If a flush is not due yet, returns when to call again.
    pub(super) fn rest(&mut self, now: Instant) -> Result<Option<Instant>, CaptureError> {
        match self {
            Self::File(file) => file.rest(now),
            Self::Memory(_) => Ok(None),
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), CaptureError> {
        match self {
            Self::File(file) => file.finish(),
            Self::Memory(_) => Ok(()),
        }
    }

    /// Adds what the memory alone keeps.
    pub(super) fn mark(&mut self, mark: Mark<'_>) -> Result<(), CaptureError> {
        match self {
            Self::File(_) => Ok(()),
            Self::Memory(ring) => in_memory(ring.mark(mark)),
        }
    }
}

/// The compressor refuses nothing, unless there is no memory for it.
pub(super) fn in_memory<T>(done: io::Result<T>) -> Result<T, CaptureError> {
    done.map_err(|error| {
        let why = format!("the flight recorder cannot go on: {error}");
        CaptureError::new(Path::new("memory"), None, Fault::new(CaptureErrorKind::Compression, why))
    })
}

listwatch_core::summary!("Sink" for Sink, |it| { path: it.path() });
