//! Where the steps of a history come from.

use super::bodies::told_by;
use super::change::{Observation, Told};
use super::clients::Clients;
use super::scope::KindScopes;
use crate::body::WatchLog;
use crate::capture::{Read, Reader};
use crate::error::CaptureError;
use crate::file::FileCursor;
use crate::memory::{OBJECT_LIMIT, object_too_long};

/// The time between two events of a watch log, in milliseconds. The log has none.
pub(super) const PACE: u64 = 1_000;

/// What clients were told, in the order of the file.
#[expect(clippy::large_enum_variant, reason = "a file has one")]
pub(super) enum Source {
    /// With the line at which the first reading found a fault.
    Capture {
        capture: Box<Reader>,
        clients: Box<Clients>,
        bad: Option<u64>,
    },
    WatchLog {
        cursor: FileCursor,
        log: WatchLog,
        at: u64,
        scopes: KindScopes,
    },
    Over,
}

/// What a line told, and when, in milliseconds.
pub(super) struct News {
    pub(super) at: u64,
    pub(super) told: Vec<Observation>,
}

impl Source {
    /// Reads on; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<News>, CaptureError> {
        match self {
            Self::Over => Ok(None),
            Self::Capture { capture, clients, bad } => next_of_capture(capture, clients, *bad),
            Self::WatchLog { cursor, log, at, scopes } => {
                *at += PACE;
                let Some(told) = next_event(log, cursor)? else { return Ok(None) };
                let scope =
                    scopes.of(&told.type_meta()).map_err(|fault| CaptureError::new(cursor.path(), None, fault))?;
                Ok(Some(News { at: *at, told: vec![Observation { scope, told }] }))
            }
        }
    }
}

impl Source {
    /// The line that was read last, if lines are counted.
    pub(super) fn line(&self) -> Option<u64> {
        match self {
            Self::Capture { capture, .. } => Some(capture.last()),
            Self::WatchLog { .. } | Self::Over => None,
        }
    }
}

/// The next event of a watch log that tells of an object or a version.
pub(super) fn next_event(log: &mut WatchLog, cursor: &mut FileCursor) -> Result<Option<Told>, CaptureError> {
    while let Some(event) = log.next(cursor)? {
        if event.len() > OBJECT_LIMIT {
            return Err(CaptureError::new(cursor.path(), None, object_too_long()));
        }
        if let Some(told) = told_by(&event) {
            told.check().map_err(|fault| CaptureError::new(cursor.path(), None, fault))?;
            return Ok(Some(told));
        }
    }
    Ok(None)
}

fn next_of_capture(
    capture: &mut Reader,
    clients: &mut Clients,
    bad: Option<u64>,
) -> Result<Option<News>, CaptureError> {
    let (mut told, mut time) = (Vec::new(), None);
    while bad.is_none_or(|bad| capture.last() + 1 < bad) {
        let read = capture.next(|Read { line, .. }| {
            time = clients.line(line, &mut told)?;
            Ok(())
        })?;
        if read.is_none() {
            break;
        }
        if let Some(at) = time.filter(|_| !told.is_empty()) {
            return Ok(Some(News { at, told }));
        }
    }
    Ok(None)
}
