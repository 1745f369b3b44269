//! Where the steps of a history come from.

use super::bodies::told_by;
use super::change::{Observation, Told};
use super::clients::Clients;
use super::scope::KindScopes;
use crate::body::{BodySurvey, WatchLog};
use crate::capture::{Read, Reader};
use crate::error::CaptureError;
use crate::file::FileCursor;
use crate::memory::{OBJECT_LIMIT, object_too_long};
use crate::object::TypeMeta;
use std::sync::Arc;

/// What clients were told, in the order of the file.
#[expect(clippy::large_enum_variant, reason = "a file has one")]
pub(super) enum Source {
    /// With the line at which the first reading found a fault.
    Capture {
        capture: Box<Reader>,
        clients: Box<Clients>,
        bad: Option<u64>,
    },
    Log(Box<Log>),
    Over,
}

/// A log that is read behind its first state.
pub(super) struct Log {
    pub(super) cursor: FileCursor,
    pub(super) log: WatchLog,
    pub(super) survey: BodySurvey,
    pub(super) scopes: KindScopes,
    /// The relist that comes next.
    pub(super) next: usize,
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
            Self::Log(log) => log.next(),
        }
    }
}

impl Source {
    /// The line that was read last, if lines are counted.
    pub(super) fn line(&self) -> Option<u64> {
        match self {
            Self::Capture { capture, .. } => Some(capture.last()),
            Self::Log(_) | Self::Over => None,
        }
    }
}

impl Log {
    fn next(&mut self) -> Result<Option<News>, CaptureError> {
        let events = self.log.events();
        let relist = self.survey.relists.get(self.next).filter(|relist| relist.from <= events).cloned();
        let path = Arc::clone(self.cursor.path());
        let bad = |fault| CaptureError::new(&path, None, fault);
        let mut told = Vec::new();
        if let Some(relist) = relist {
            self.next += 1;
            for kind in relist.kinds {
                let kind = &self.survey.kinds[kind];
                let type_meta = TypeMeta { api_version: (&*kind.api_version).into(), kind: (&*kind.kind).into() };
                let scope = self.scopes.of(&type_meta).map_err(bad)?;
                told.push(Observation { scope, told: Told::Relisted { objects: Vec::new(), version: relist.version } });
            }
            while self.log.events() < relist.until
                && let Some(item) = next_event(&mut self.log, &mut self.cursor, relist.until)?
            {
                let Told::Set(object) = item else { continue };
                let scope = self.scopes.of(&object.type_meta()).map_err(bad)?;
                let of = told.iter_mut().find(|all| all.scope == scope);
                if let Some(Observation { told: Told::Relisted { objects, .. }, .. }) = of {
                    objects.push(object);
                }
            }
        } else {
            // The next relist may begin behind this event.
            let until = self.survey.relists.get(self.next).map_or(u64::MAX, |relist| relist.from.max(events + 1));
            let Some(event) = next_event(&mut self.log, &mut self.cursor, until)? else {
                return match self.survey.fault.take() {
                    _ if self.log.events() > events => self.next(),
                    fault => fault.map_or(Ok(None), Err),
                };
            };
            if matches!(event, Told::Expired) {
                return self.next();
            }
            let scope = self.scopes.of(&event.type_meta()).map_err(bad)?;
            told.push(Observation { scope, told: event });
        }
        let at = u64::try_from(self.survey.time(self.log.events()).as_millis()).unwrap_or(u64::MAX);
        Ok(Some(News { at, told }))
    }
}

/// The next event of a log that tells of an object or a version, if it is among the first ones.
pub(super) fn next_event(
    log: &mut WatchLog,
    cursor: &mut FileCursor,
    until: u64,
) -> Result<Option<Told>, CaptureError> {
    while log.events() < until
        && let Some(event) = log.next_event(cursor)?
    {
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
