//! What a log has told up to an event, as a list.

use crate::body::{BodySurvey, Logged, Relist, WatchEvent, WatchLog};
use crate::error::CaptureError;
use crate::file::FileCursor;
use crate::object::version_of;
use listwatch_core::Key;
use std::collections::HashMap;
use std::sync::Arc;

/// The list of the objects that the first events of a log leave, in memory that grows with their number alone; or of those
/// that the log lists next.
pub(crate) struct LoggedState {
    log: WatchLog,
    survey: Arc<BodySurvey>,
    kind: Option<usize>,
    /// How many events it shows, and the relist that it tells.
    events: u64,
    relist: Option<usize>,
    /// For the first events of a log, their reader, and the last event of each object.
    first: Option<(FileCursor, Last)>,
    part: ListPart,
}

/// The last event of each object, by kinds.
type Last = HashMap<usize, HashMap<Key, u64>>;

/// What is left of a log behind an answer.
pub(crate) enum Left {
    /// The rest of it.
    Rest(WatchLog),
    /// The same, behind a relist that it has here.
    Listed(usize, WatchLog),
    /// A list showed so many events, and told of a relist.
    Showed(u64, Option<usize>),
    /// A list that it has here was not read to its end.
    Unread,
    Nothing,
}

/// What of a list comes next.
enum ListPart {
    Head(u64),
    Item { is_first: bool },
    Behind,
}

impl LoggedState {
    /// Reads the first events of a log once, of one kind or of all. `cursor` reads the same file.
    pub(crate) fn of(
        begin: &WatchLog,
        survey: &Arc<BodySurvey>,
        (events, relist, kind): (u64, Option<usize>, Option<usize>),
        cursor: &FileCursor,
    ) -> Result<Self, CaptureError> {
        let anew = || FileCursor::new(Arc::clone(cursor.path()), cursor.line_limit());
        let (mut reader, mut log, mut last, mut version) = (anew(), begin.clone(), Last::new(), 0);
        let mut relists = survey.relists.iter().peekable();
        loop {
            while let Some(relist) = relists.next_if(|relist| relist.until <= log.events()) {
                for kind in &relist.kinds {
                    last.entry(*kind).or_default().retain(|_, at| *at > relist.from);
                }
            }
            if log.events() == events {
                break;
            }
            let Some(text) = log.next_event(&mut reader)? else { break };
            let Some(Logged { event, outline, kind: of }) = survey.logged(&text) else {
                version = version.max(reached(&text));
                continue;
            };
            version = version.max(outline.version);
            match &*event.r#type {
                _ if kind.is_some_and(|kind| kind != of) => {}
                "DELETED" => _ = last.entry(of).or_default().remove(&outline.key),
                _ => _ = last.entry(of).or_default().insert(outline.key, log.events()),
            }
        }
        let (log, survey, first) = (begin.clone(), Arc::clone(survey), Some((anew(), last)));
        Ok(Self { log, survey, kind, events, relist, first, part: ListPart::Head(version) })
    }

    /// The objects that a log lists next.
    pub(crate) fn next_of(log: WatchLog, survey: &Arc<BodySurvey>, relist: usize, kind: Option<usize>) -> Self {
        let Relist { until, version, .. } = survey.relists[relist];
        let survey = Arc::clone(survey);
        Self { log, survey, kind, events: until, relist: Some(relist), first: None, part: ListPart::Head(version) }
    }

    /// What is left of the log.
    pub(crate) fn left(self) -> Left {
        match (self.part, self.first) {
            (ListPart::Behind, Some(_)) => Left::Showed(self.events, self.relist),
            (ListPart::Behind, None) => self.relist.map_or(Left::Unread, |relist| Left::Listed(relist, self.log)),
            (_, Some(_)) => Left::Nothing,
            (_, None) => Left::Unread,
        }
    }

    /// The next bytes of the list; `None` at the end. `cursor` reads what is left of the log.
    pub(crate) fn next(&mut self, cursor: &mut FileCursor) -> Result<Option<Vec<u8>>, CaptureError> {
        match self.part {
            ListPart::Head(version) => {
                self.part = ListPart::Item { is_first: true };
                let metadata = format!(r#"{{"resourceVersion":"{version}"}}"#);
                Ok(Some(format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{metadata},"items":["#).into()))
            }
            ListPart::Item { is_first } => match self.next_object(cursor)? {
                Some(object) => {
                    self.part = ListPart::Item { is_first: false };
                    Ok(Some([if is_first { "" } else { "," }, &object].concat().into()))
                }
                None => {
                    self.part = ListPart::Behind;
                    Ok(Some(b"]}".into()))
                }
            },
            ListPart::Behind => Ok(None),
        }
    }

    fn next_object(&mut self, cursor: &mut FileCursor) -> Result<Option<String>, CaptureError> {
        while self.log.events() < self.events {
            let (cursor, last) = match &mut self.first {
                Some((own, last)) => (own, Some(&*last)),
                None => (&mut *cursor, None),
            };
            let Some(text) = self.log.next_event(cursor)? else { break };
            let is_shown = match (self.survey.logged(&text), last) {
                (Some(Logged { outline, kind, .. }), Some(last)) => {
                    last.get(&kind).and_then(|of| of.get(&outline.key)) == Some(&self.log.events())
                }
                (Some(Logged { kind, .. }), None) => self.kind.is_none_or(|own| own == kind),
                // Its reader says that it cannot be read.
                (None, last) => last.is_none(),
            };
            if let Some(event) = WatchEvent::checked(&text).filter(|event| is_shown && event.r#type != "BOOKMARK") {
                return Ok(Some(event.object.to_owned()));
            }
        }
        Ok(None)
    }
}

/// The version that an event reaches which tells of no object.
fn reached(text: &[u8]) -> u64 {
    serde_json::from_slice::<serde_json::Value>(text).map_or(0, |event| version_of(&event["object"]))
}
