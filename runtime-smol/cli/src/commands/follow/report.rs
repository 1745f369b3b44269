//! The summary of a watch or a recording.

use super::followed::Followed;
use super::source::Requests;
use crate::report::summary::{lines, peak_memory};
use listwatch::Clock;
use listwatch::text::{Counted, Printable};
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;

/// The summary of a watch or a recording: of each resource, and then of the whole.
pub(super) struct Report<'a, T: DeserializeOwned> {
    pub(super) followed: &'a [Followed<T>],
    /// Tells the time of the end.
    pub(super) clock: &'a Clock,
    pub(super) recorded: Option<&'a Path>,
}

impl<T: DeserializeOwned> fmt::Display for Report<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Followed { name, events, counts, .. } in self.followed {
            let (informer, source) = (events.driver().informer(), events.driver().transport());
            let status = informer.status(self.clock.now()).to_string();
            writeln!(f, "{}: {}", Printable::new(name), Printable::new(status))?;
            let Requests { lists, watches, watch_lists } = source.requests;
            lines(f, "requests", [format!("{watch_lists} watch-list, {lists} list, {watches} watch")])?;
            counts.fmt(f)?;
            lines(f, "cache", [Counted(informer.cache().len(), "object", "objects").to_string()])?;
        }
        lines(f, "recorded", self.recorded.map(|file| file.display().to_string()))?;
        lines(f, "peak memory", [peak_memory()])
    }
}
