use listwatch_core::request::Query;

/// Counts of a playback. [`Playback::summary`](crate::Playback::summary) returns them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Lists. Each page counts.
    pub lists: Tally,
    /// Watches.
    pub watches: Tally,
    /// Watches with `sendInitialEvents`.
    pub watch_lists: Tally,
    /// Recorded requests that are neither lists nor watches. Only a client makes such requests.
    pub others: u64,
    /// The requests of clients. [`left`](Tally::left) counts those of `others` that were not made.
    ///
    /// A list that a client made counts here, and is not left among `lists`.
    pub calls: Tally,
    /// Requests of clients that failed because they were not recorded, or not as often.
    pub unrecorded: u64,
    /// Bad lines that were skipped.
    pub bad_lines: u64,
    /// Events of a log to which several watches wrote at once that are there twice, and count once. What was deleted between
    /// two watches is not known then.
    pub told_twice: u64,
    /// Errors of a log that did not end their watch, because the log has too many of them.
    pub passed_errors: u64,
    /// Bytes of bodies that were delivered.
    pub body_bytes: u64,
    /// The size of the file in bytes.
    pub file_bytes: u64,
    /// Bytes of the file that were played.
    pub file_bytes_played: u64,
    /// Whether the playback is over.
    pub complete: bool,
}

/// How far a playback is. [`Playback::progress`](crate::Playback::progress) returns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Lists and watches that got a recorded response, or its beginning.
    pub answered: u64,
    /// The size of the file in bytes.
    pub file_bytes: u64,
    /// Bytes of the file that were played.
    pub file_bytes_played: u64,
}

/// Counts of one kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Requests that got a recorded response, or its beginning.
    pub answered: u64,
    /// Requests whose connection failed as recorded, and watch-lists that were refused with 422.
    pub refused: u64,
    /// Recorded responses that were not played.
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
