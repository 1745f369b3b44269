//! What came of a playback.

use listwatch_core::request::Query;

/// What was played, and what was not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Lists, each page for itself.
    pub lists: Tally,
    /// Watches.
    pub watches: Tally,
    /// Watches that begin with the initial events.
    pub watch_lists: Tally,
    /// Recorded requests that are neither lists nor watches: only a client can ask for them.
    pub others: u64,
    /// The requests of clients. What is left counts the others; lists that a client asked for are no more left among the
    /// lists.
    pub calls: Tally,
    /// Requests of clients that were not recorded, or not as often.
    pub unrecorded: u64,
    /// Lines that were skipped because they are bad.
    pub bad_lines: u64,
    /// Bytes of bodies that were given out.
    pub body_bytes: u64,
    /// The size of the file.
    pub file_bytes: u64,
    /// Up to where the file was played, which may be before its end.
    pub file_bytes_played: u64,
    /// Whether the playback is over.
    pub complete: bool,
}

/// Payload became of the requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that got the answer that was recorded, or its beginning.
    pub answered: u64,
    /// Requests whose connection failed as recorded, and watch-lists that were refused because none was recorded.
    pub refused: u64,
    /// Recorded answers that nobody asked for.
    pub left: u64,
}

impl Summary {
    pub(crate) fn tally(&mut self, query: Query) -> &mut Tally {
        match query {
            Query::List => &mut self.lists,
            Query::Watch => &mut self.watches,
            Query::WatchList => &mut self.watch_lists,
        }
    }
}
