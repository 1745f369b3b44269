//! States of objects that a history leaves out.

use core::fmt;
use listwatch_core::Key;
use listwatch_core::text::Printable;

/// The states of objects that a [`History`](super::History) leaves out, because they are JSON and no
/// [`Value`](serde_json::Value): a number is out of range, a text has half of a surrogate pair, or there are more than 127
/// levels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// How many.
    pub count: u64,
    /// The first one: its object, its version, and why it cannot be read.
    pub first: Box<str>,
}

impl Unreadable {
    pub(super) fn new(key: &Key, version: u64, error: &serde_json::Error) -> Self {
        let (key, error) = (Printable::new(key.as_str()), Printable::new(error));
        Self { count: 1, first: format!("{key} at version {version}: {error}").into() }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first } = self;
        let s = if *count == 1 { "" } else { "s" };
        write!(f, "{count} state{s} of objects cannot be read and are left out; the first is {first}")
    }
}
