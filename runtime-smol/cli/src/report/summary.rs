//! The lines of a summary.

use crate::system::process;
use listwatch::text::{Counted, Printable};
use std::fmt;

/// Writes the lines of one subject, with its name before the first.
pub(crate) fn lines(f: &mut fmt::Formatter<'_>, name: &str, lines: impl IntoIterator<Item = String>) -> fmt::Result {
    let mut name = Some(name);
    lines
        .into_iter()
        .try_for_each(|line| writeln!(f, "  {:12} {}", name.take().unwrap_or_default(), Printable::new(line)))
}

/// The most memory that this process had resident.
pub(crate) fn peak_memory() -> String {
    let peak = process::peak_memory().map(|kib| format!("{:.1} MB", kib as f64 * 1024.0 / 1e6));
    peak.unwrap_or_else(|| "not known on this system".into())
}

/// What is said of a log in which so many events are there twice.
pub(crate) fn mixed(twice: u64) -> Option<String> {
    (twice > 0).then(|| {
        let events = Counted(twice, "event is there twice and counts", "events are there twice and count");
        format!(
            "several watches wrote to the log at once: {events} once; what was deleted between watches is not known"
        )
    })
}
