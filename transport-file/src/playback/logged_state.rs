//! What a watch log has told up to an event, as a list.

use crate::body::{WatchEvent, WatchLog};
use crate::error::CaptureError;
use crate::file::FileCursor;
use crate::object::ObjectText;
use listwatch_core::Key;
use std::collections::HashMap;
use std::sync::Arc;

/// The list of the objects that the first events of a log leave, in memory that grows with their number alone.
pub(crate) struct LoggedState {
    cursor: FileCursor,
    log: WatchLog,
    /// The last event of each object, and how many events there are.
    last: HashMap<Key, u64>,
    events: u64,
    part: ListPart,
}

/// What of a list comes next.
enum ListPart {
    Head(u64),
    Item { is_first: bool },
    Behind,
}

impl LoggedState {
    /// Reads the first events of a log once. `cursor` reads the same file.
    pub(crate) fn of(begin: &WatchLog, events: u64, cursor: &FileCursor) -> Result<Self, CaptureError> {
        let anew = || FileCursor::new(Arc::clone(cursor.path()), cursor.line_limit());
        let (mut first, mut log, mut last, mut version) = (anew(), begin.clone(), HashMap::new(), 0);
        while log.events() < events
            && let Some(text) = log.next(&mut first)?
        {
            let Some((event, object)) = told(&text) else { continue };
            version = version.max(object.version);
            match &*event.r#type {
                "DELETED" => _ = last.remove(&object.key),
                _ => _ = last.insert(object.key, log.events()),
            }
        }
        Ok(Self { cursor: anew(), log: begin.clone(), last, events, part: ListPart::Head(version) })
    }

    /// The next bytes of the list; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, CaptureError> {
        match self.part {
            ListPart::Head(version) => {
                self.part = ListPart::Item { is_first: true };
                let metadata = format!(r#"{{"resourceVersion":"{version}"}}"#);
                Ok(Some(format!(r#"{{"kind":"List","apiVersion":"v1","metadata":{metadata},"items":["#).into()))
            }
            ListPart::Item { is_first } => match self.next_object()? {
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

    fn next_object(&mut self) -> Result<Option<String>, CaptureError> {
        while self.log.events() < self.events
            && let Some(text) = self.log.next(&mut self.cursor)?
        {
            if let Some((event, object)) = told(&text)
                && self.last.get(&object.key) == Some(&self.log.events())
            {
                return Ok(Some(event.object.get().to_owned()));
            }
        }
        Ok(None)
    }
}

/// The object that an event of a log tells of.
fn told(text: &[u8]) -> Option<(WatchEvent<'_>, ObjectText)> {
    let event = WatchEvent::parse(text).filter(|event| matches!(&*event.r#type, "ADDED" | "MODIFIED" | "DELETED"))?;
    let object = ObjectText::of(event.object.get())?;
    Some((event, object))
}
