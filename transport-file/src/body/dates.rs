//! The dates in objects, which tell when they were saved.

use core::fmt;
use listwatch_core::time::WallTime;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::path::Path;

/// When a file was written, if that is known.
pub(crate) fn written_at(path: &Path) -> Option<WallTime> {
    path.metadata().and_then(|file| file.modified()).ok().map(WallTime::from)
}

/// The newest date of some objects: the moment at which they were saved was then or later.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dates {
    newest: Option<WallTime>,
    /// The newest one up to the limit.
    newest_before: Option<WallTime>,
    /// When the file was written.
    limit: Option<WallTime>,
}

/// Fields whose dates may lie in the future, and the content of configurations.
const LEFT_OUT: [&str; 7] =
    ["binaryData", "data", "deletionTimestamp", "expirationTimestamp", "notAfter", "renewalTime", "stringData"];

/// The bytes of the shortest date: `2026-11-22T11:34:48Z`.
const SHORTEST: usize = 20;

impl Dates {
    /// None yet, of a file that was written then. Dates behind that lie in its future.
    pub(crate) fn before(limit: Option<WallTime>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// None yet, of the same file.
    pub(crate) fn anew(&self) -> Self {
        Self::before(self.limit)
    }

    /// Notes the dates in an object, up to what is no JSON.
    pub(crate) fn note(&mut self, object: &str) {
        let _whole = serde_json::Deserializer::from_str(object).deserialize_any(Noting(self));
    }

    fn note_text(&mut self, text: &str) {
        let may_be_date = text.len() >= SHORTEST && text.as_bytes()[0].is_ascii_digit();
        let Some(date) = may_be_date.then(|| text.parse::<WallTime>().ok()).flatten() else { return };
        self.newest = self.newest.max(Some(date));
        if self.limit.is_none_or(|limit| date <= limit) {
            self.newest_before = self.newest_before.max(Some(date));
        }
    }

    /// The newest date, unless all are later than the file.
    pub(crate) fn newest(&self) -> Option<WallTime> {
        self.newest_before.or(self.newest)
    }
}

/// Notes the dates in a value while it is read.
struct Noting<'d>(&'d mut Dates);

impl<'de> DeserializeSeed<'de> for Noting<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Noting<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.note_text(text);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Noting(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            match LEFT_OUT.contains(&&*name) {
                true => _ = fields.next_value::<IgnoredAny>()?,
                false => fields.next_value_seed(Noting(self.0))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_date_is_found_wherever_it_stands_unless_it_lies_in_the_future() {
        let object = r#"{"metadata":{"creationTimestamp":"2026-10-01T00:00:00Z","deletionTimestamp":"2026-12-01T00:00:00Z",
            "managedFields":[{"time":"2026-10-02T00:00:00Z"}]},"spec":{"x":[1,-2,1.5,null,true]},"data":{"a":"2027-01-01T00:00:00Z"},
            "status":{"conditions":[{"lastTransitionTime":"2026-11-22T01:58:00+01:00","note":"2026-xx"}],"notAfter":"2027-01-01T00:00:00Z"}}"#;
        let newest = |limit: Option<&str>| {
            let mut dates = Dates::before(limit.map(|limit| limit.parse().unwrap()));
            dates.note(object);
            dates.newest().unwrap().to_string()
        };
        assert_eq!(newest(None), "2026-11-22T00:58:00Z");
        assert_eq!(newest(Some("2026-10-03T00:00:00Z")), "2026-10-02T00:00:00Z");
        assert_eq!(newest(Some("2000-01-01T00:00:00Z")), "2026-11-22T00:58:00Z");
    }
}
