//! The dates in objects, which tell when they were saved.

use listwatch_core::time::WallTime;
use serde_json::Value;
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

    /// Notes the dates in an object.
    pub(crate) fn note(&mut self, object: &str) {
        self.note_in(&serde_json::from_str(object).unwrap_or_default());
    }

    fn note_in(&mut self, value: &Value) {
        match value {
            Value::String(text) if text.len() >= SHORTEST => {
                let date: Option<WallTime> = text.parse().ok();
                self.newest = self.newest.max(date);
                let limit = self.limit;
                self.newest_before =
                    self.newest_before.max(date.filter(|date| limit.is_none_or(|limit| *date <= limit)));
            }
            Value::Array(values) => values.iter().for_each(|value| self.note_in(value)),
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
                fields.for_each(|(_, value)| self.note_in(value));
            }
            _ => {}
        }
    }

    /// The newest date, unless all are later than the file.
    pub(crate) fn newest(&self) -> Option<WallTime> {
        self.newest_before.or(self.newest)
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
