//! Where the steps of a history come from.

use super::bodies::told_by;
use super::change::{Observation, Told};
use super::clients::Clients;
use super::scope::KindScopes;
use crate::body::{BodySurvey, Relist, WatchEvent, WatchLog};
use crate::capture::{Read, Reader};
use crate::error::{CaptureError, Fault};
use crate::file::FileCursor;
use crate::memory::{OBJECT_LIMIT, object_too_long};
use crate::object::{ObjectText, TypeMeta};

/// What clients were told, in the order of the file.
pub(super) enum Source {
    /// With the line at which the first reading found a fault.
    Capture {
        capture: Box<Reader>,
        clients: Box<Clients>,
        bad: Option<u64>,
        /// Whether an audit log was converted to it.
        is_audit: bool,
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
            Self::Capture { capture, clients, bad, .. } => next_of_capture(capture, clients, *bad),
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
        let told = loop {
            let events = self.log.events();
            let relist = self.survey.relists.get(self.next);
            if let Some(relist) = relist.filter(|relist| relist.from <= events).cloned() {
                self.next += 1;
                break self.relist(&relist)?;
            }
            // The next relist may begin behind this event.
            let until = relist.map_or(u64::MAX, |relist| relist.from);
            match next_event(&mut self.log, &mut self.cursor, until)? {
                // It tells nothing of the objects. What was listed anew behind it is a relist.
                Some(Told::Expired | Told::Failed(_)) => {}
                Some(event) => {
                    let scope = self.scopes.of(&event.type_meta()).map_err(|fault| self.bad(fault))?;
                    break vec![Observation { scope, told: event }];
                }
                None if self.log.events() >= until => {}
                None => return self.survey.fault.take().map_or(Ok(None), Err),
            }
        };
        let at = u64::try_from(self.survey.time(self.log.events()).as_millis()).unwrap_or(u64::MAX);
        Ok(Some(News { at, told }))
    }

    /// All objects of the kinds that are listed anew.
    fn relist(&mut self, relist: &Relist) -> Result<Vec<Observation>, CaptureError> {
        let mut told = Vec::new();
        for kind in &relist.kinds {
            let kind = &self.survey.kinds[*kind];
            let type_meta = TypeMeta { api_version: (&*kind.api_version).into(), kind: (&*kind.kind).into() };
            let scope = self.scopes.of(&type_meta).map_err(|fault| self.bad(fault))?;
            let all = Told::Relisted { objects: Vec::new(), version: relist.version };
            told.push(Observation { scope, told: all });
        }
        while self.log.events() < relist.until
            && let Some(item) = next_event(&mut self.log, &mut self.cursor, relist.until)?
        {
            let Told::Set(object) = item else { continue };
            let scope = self.scopes.of(&object.type_meta()).map_err(|fault| self.bad(fault))?;
            let of = told.iter_mut().find(|all| all.scope == scope);
            if let Some(Observation { told: Told::Relisted { objects, .. }, .. }) = of {
                objects.push(object);
            }
        }
        Ok(told)
    }

    fn bad(&self, fault: Fault) -> CaptureError {
        CaptureError::new(self.cursor.path(), None, fault)
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
        if let Some(told) = WatchEvent::checked(&event).and_then(|event| told_by(&event, ObjectText::of_bytes)) {
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
