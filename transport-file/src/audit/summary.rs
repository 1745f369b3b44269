//! What an audit log has, and what it lacks.

use crate::error::CaptureError;
use core::fmt;
use listwatch_core::text::{Counted, Printable};
use listwatch_core::time::WallTime;
use std::collections::BTreeMap;

/// What an audit log has, and what it lacks.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AuditSummary {
    /// The date of the first event.
    pub first: Option<WallTime>,
    /// The date of the last event.
    pub last: Option<WallTime>,
    /// How many events there are, of each stage.
    pub events: u64,
    /// How many requests read.
    pub reads: u64,
    /// How many requests wrote, or tried to.
    pub writes: u64,
    /// How many users wrote, up to 65,536.
    pub users: u64,
    /// How many of the writes are of a kind: `failed`, `dry run`, `no answer`, or `no body: level Metadata`, if the answer has
    /// no state. And how much is left out, such as `left out: events that are there twice`.
    pub counts: BTreeMap<String, u64>,
    /// The first line that cannot be read.
    pub unreadable: Option<CaptureError>,
}

impl AuditSummary {
    pub(super) fn count(&mut self, what: &str, count: u64) {
        if count > 0 {
            *self.counts.entry(what.to_owned()).or_default() += count;
        }
    }
}

/// A line such as `412 writes of 9 users and 20 reads from 2026-11-22T02:00:00Z to 2026-11-22T02:10:00Z; no body: level
/// Metadata: 30`.
impl fmt::Display for AuditSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [writes, reads] = [(self.writes, "write", "writes"), (self.reads, "read", "reads")]
            .map(|(count, one, many)| Counted(count, one, many));
        write!(f, "{writes} of {} and {reads}", Counted(self.users, "user", "users"))?;
        if let (Some(first), Some(last)) = (self.first, self.last) {
            write!(f, " from {first} to {last}")?;
        }
        self.counts.iter().try_for_each(|(what, count)| write!(f, "; {what}: {count}"))?;
        self.unreadable.as_ref().map_or(Ok(()), |first| write!(f, "; {}", Printable::new(first)))
    }
}
