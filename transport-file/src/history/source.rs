//! Where the steps of a history come from.

use super::limits::{OBJECT_LIMIT, object_too_long};
use super::observation::{Observation, Told};
use super::reader::Reader;
use super::scope::{KindScopes, Scope};
use super::watch::event_of;
use crate::body::Body;
use crate::error::CaptureError;
use crate::file::FileCursor;
use std::sync::Arc;

/// The time between two events of a watch log, in milliseconds. The log has none.
pub(super) const PACE: u64 = 1_000;

/// What clients were told, in the order of the file.
pub(super) enum Source {
    /// With the line to read next, and the one at which the first reading found a fault.
    Capture {
        cursor: FileCursor,
        reader: Box<Reader>,
        line: u64,
        bad: Option<u64>,
    },
    WatchLog {
        cursor: FileCursor,
        body: Box<Body>,
        at: u64,
        scopes: KindScopes,
    },
    Over,
}

/// What a line told, and when.
pub(super) enum News {
    Capture { at: u64, told: Vec<Observation> },
    Event { at: u64, scope: Arc<Scope>, told: Told },
}

impl Source {
    /// Reads on; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<News>, CaptureError> {
        match self {
            Self::Over => Ok(None),
            Self::Capture { line, bad: Some(bad), .. } if *line >= *bad => Ok(None),
            Self::Capture { cursor, reader, line, .. } => next_of_capture(cursor, reader, line),
            Self::WatchLog { cursor, body, at, scopes } => {
                *at += PACE;
                let Some(told) = next_event(body, cursor)? else { return Ok(None) };
                let scope =
                    scopes.of(&told.type_meta()).map_err(|fault| CaptureError::new(cursor.path(), None, fault))?;
                Ok(Some(News::Event { at: *at, scope, told }))
            }
        }
    }
}

impl Source {
    /// The line that was read last, if lines are counted.
    pub(super) fn line(&self) -> Option<u64> {
        match self {
            Self::Capture { line, .. } => line.checked_sub(1),
            Self::WatchLog { .. } | Self::Over => None,
        }
    }
}

/// The next event of a watch log that tells of an object or a version.
pub(super) fn next_event(body: &mut Body, cursor: &mut FileCursor) -> Result<Option<Told>, CaptureError> {
    while let Some(event) = body.next(cursor)? {
        if event.len() > OBJECT_LIMIT {
            return Err(CaptureError::new(cursor.path(), None, object_too_long()));
        }
        if let Some(told) = event_of(&event) {
            told.check().map_err(|fault| CaptureError::new(cursor.path(), None, fault))?;
            return Ok(Some(told));
        }
    }
    Ok(None)
}

fn next_of_capture(cursor: &mut FileCursor, reader: &mut Reader, line: &mut u64) -> Result<Option<News>, CaptureError> {
    let path = Arc::clone(cursor.path());
    let mut told = Vec::new();
    loop {
        let Some((number, text)) = cursor.at(*line)?.next()? else { return Ok(None) };
        *line = number + 1;
        let at = reader.line(text, &mut told).map_err(|fault| CaptureError::new(&path, Some(number), fault))?;
        if let Some(at) = at.filter(|_| !told.is_empty()) {
            return Ok(Some(News::Capture { at, told }));
        }
    }
}
