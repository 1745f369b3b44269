//! The summary of a watch or a recording.

use super::source::Requests;
use crate::report::counts::Counts;
use crate::report::summary::{lines, peak_memory};
use listwatch_runtime_smol::text::Printable;
use std::fmt;
use std::path::Path;

/// The summary of a watch or a recording.
pub(super) struct Report<'a> {
    pub(super) resource: &'a str,
    pub(super) requests: Requests,
    pub(super) counts: &'a Counts,
    pub(super) objects: usize,
    /// The status of the informer at the end.
    pub(super) status: String,
    pub(super) recorded: Option<&'a Path>,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", Printable::new(self.resource), Printable::new(&self.status))?;
        let Requests { lists, watches, watch_lists } = self.requests;
        lines(f, "requests", [format!("{watch_lists} watch-list, {lists} list, {watches} watch")])?;
        self.counts.fmt(f)?;
        lines(f, "cache", [format!("{} objects", self.objects)])?;
        lines(f, "recorded", self.recorded.map(|file| file.display().to_string()))?;
        lines(f, "peak memory", [peak_memory()])
    }
}
