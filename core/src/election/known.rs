//! The lease as it was seen last, and since when it has this record.

use super::lease::{self, Record};
use crate::object::{Version, compare_versions};
use crate::time::Instant;
use core::cmp::Ordering;
use core::time::Duration;
use serde_json::Value;

/// A lease that was read, written or watched.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) lease: Value,
    pub(super) record: Record,
    pub(super) version: Version,
    /// When the record was first seen. The times in it are those of other clocks, and count nowhere.
    since: Instant,
    /// When it was seen last.
    seen: Instant,
}

impl Known {
    /// A lease that is seen now; `None` if it has no version.
    pub(super) fn new(lease: Value, now: Instant) -> Option<Self> {
        Some(Self { record: Record::read(&lease), version: lease::version(&lease)?, lease, since: now, seen: now })
    }

    /// Takes over what was known before: an unchanged record is as old as it was.
    pub(super) fn after(self, before: Option<&Self>) -> Self {
        let same = before.filter(|before| before.lease["spec"] == self.lease["spec"]);
        Self { since: same.map_or(self.since, |before| before.since), ..self }
    }

    /// Whether this is an earlier state than `other`. The answer to a request that was sent at `asked` is not, unless `other`
    /// came later: a server that was restored from a backup goes back in its versions.
    pub(super) fn is_before(&self, other: &Self, asked: Option<Instant>) -> bool {
        let is_less = compare_versions(&self.version, &other.version) == Ok(Ordering::Less);
        is_less && asked.is_none_or(|asked| other.seen > asked)
    }

    /// When the others may take the lease. `default` stands for a duration that the record lacks.
    pub(super) fn expiry(&self, default: Duration) -> Instant {
        self.since + self.record.duration.unwrap_or(default)
    }
}
