//! A check for watch events that builds nothing.

use crate::error::{CaptureErrorKind, Fault};
use memchr::{memchr_iter, memrchr};
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The fault of an event.
#[derive(Debug)]
pub(crate) struct EventFault {
    /// The lines of the event before the bad one.
    pub(crate) lines_before: u64,
    pub(crate) fault: Fault,
}

/// Checks that `text` is one watch event: a JSON object in UTF-8 with a `type` and an `object`.
pub(crate) fn check(text: &[u8]) -> Result<(), EventFault> {
    if let Err(error) = serde_json::from_slice::<Event>(text) {
        // serde_json reports the end of a line as column 0 of the next one.
        let line = error.line().saturating_sub((error.column() == 0).into());
        let lines_before = line.saturating_sub(1) as u64;
        return Err(EventFault { lines_before, fault: Fault::of_json(&error, "a watch event") });
    }
    let Err(error) = std::str::from_utf8(text) else { return Ok(()) };
    let before = &text[..error.valid_up_to()];
    let column = before.len() - memrchr(b'\n', before).map_or(0, |end| end + 1) + 1;
    let fault = Fault::of_line(CaptureErrorKind::Garbled, format_args!("not UTF-8 at column {column}"));
    Err(EventFault { lines_before: line_ends(before), fault })
}

/// Whether `text` may begin a watch event, and is not a whole one.
pub(crate) fn is_beginning(text: &[u8]) -> bool {
    serde_json::from_slice::<Event>(text).is_err_and(|error| error.is_eof())
}

/// The number of line ends in `text`.
pub(crate) fn line_ends(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

struct Event;

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum Key {
    Type,
    Object,
    #[serde(other)]
    Other,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for Event {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let (mut has_type, mut has_object) = (false, false);
        while let Some(key) = map.next_key()? {
            has_type |= matches!(key, Key::Type);
            has_object |= matches!(key, Key::Object);
            map.next_value::<IgnoredAny>()?;
        }
        match (has_type, has_object) {
            (true, true) => Ok(self),
            (false, _) => Err(Error::missing_field("type")),
            (true, false) => Err(Error::missing_field("object")),
        }
    }
}
