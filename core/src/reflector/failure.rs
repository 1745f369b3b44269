//! What can go wrong, and what is done about it: one table.

use crate::transport::{TransportError, TransportErrorKind};
use crate::wire::Status;
use alloc::sync::Arc;
use core::fmt;
use core::time::Duration;

/// Why a request did not bring what it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// The server refused the request.
    Status(Arc<Status>),
    /// The server ended a stream with an error event.
    StreamError(Arc<Status>),
    /// The transport could not carry on.
    Transport(TransportError),
    /// A list broke off before its end.
    Truncated,
    /// What should have been a list was something else.
    NotAList,
    /// A page of a list said to go on with the token that had led to it.
    RepeatedPage,
    /// A watch-list stream ended before it had said that the initial events are complete.
    Unfinished,
    /// A watch ended at once, and without an event.
    VeryShort,
    /// A watch in which something could not be read, so that what it said is missing.
    Unreadable,
    /// Nothing came for so long that nobody can be there any more.
    Stalled,
}

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum During {
    /// Reading the first page of a list, or all of it.
    List,
    /// Reading a later page.
    Page,
    /// Reading the initial events of a watch-list.
    WatchList,
    /// Watching.
    Watch,
}

/// What is done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reaction {
    /// Begin again with the whole state, after a back-off.
    Relist,
    /// List again at once, without pages: the pages' version is gone.
    RelistUnpaged,
    /// This server knows no watch-list: list, at once and from now on.
    ListInstead,
    /// Watch on from the last version, after a back-off.
    Rewatch,
}

impl Failure {
    /// The table.
    ///
    /// | during | failure | reaction |
    /// |---|---|---|
    /// | page | 410 | list at once, unpaged (the second time: relist after a back-off) |
    /// | list, page | anything else | relist after a back-off |
    /// | watch-list | 400, 405, 406, 415, 422 | list instead, from now on |
    /// | watch-list | anything else | begin again after a back-off; after two failures by a list |
    /// | watch | 400, 404, 410, version too large | relist after a back-off |
    /// | watch | an error event that is no 429 | relist after a back-off |
    /// | watch | something that cannot be read | relist after a back-off |
    /// | watch | anything else | watch on after a back-off; after five refusals relist |
    #[must_use]
    pub fn reaction(&self, during: During) -> Reaction {
        match (during, self.class()) {
            (During::Page, Class::Expired) => Reaction::RelistUnpaged,
            (During::WatchList, Class::Refused) => Reaction::ListInstead,
            (During::Watch, Class::Other) => Reaction::Rewatch,
            _ => Reaction::Relist,
        }
    }

    /// How long the server asks to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status(status) | Self::StreamError(status) => status.retry_after(),
            _ => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Status(status) | Self::StreamError(status) if status.is_expired() => Class::Expired,
            Self::Status(status) if status.is_version_too_large() => Class::Lost,
            Self::Status(status) => match status.code {
                404 => Class::Lost,
                400 | 405 | 406 | 415 | 422 => Class::Refused,
                _ => Class::Other,
            },
            Self::StreamError(status) if status.code != 429 => Class::Lost,
            Self::Unreadable => Class::Lost,
            _ => Class::Other,
        }
    }
}

/// What the table tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The version or the token is gone.
    Expired,
    /// There is nothing to go on from.
    Lost,
    /// The server does not understand the request, and will not.
    Refused,
    Other,
}

impl From<TransportErrorKind> for Failure {
    fn from(kind: TransportErrorKind) -> Self {
        Self::Transport(TransportError::new(kind, ""))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) | Self::StreamError(status) => status.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Truncated => f.write_str("the list broke off before its end"),
            Self::NotAList => f.write_str("the answer is no list"),
            Self::RepeatedPage => f.write_str("a page of the list says to go on with itself"),
            Self::Unfinished => f.write_str("the stream ended before the initial events were complete"),
            Self::VeryShort => f.write_str("the watch ended at once and without an event"),
            Self::Unreadable => f.write_str("something in the watch could not be read"),
            Self::Stalled => f.write_str("nothing came for too long"),
        }
    }
}

impl core::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> Failure {
        Failure::Status(Status::of_code(code).into())
    }

    #[test]
    fn every_kind_of_410_leads_to_a_relist() {
        assert_eq!(status(410).reaction(During::Watch), Reaction::Relist);
        assert_eq!(status(410).reaction(During::List), Reaction::Relist);
        assert_eq!(status(410).reaction(During::Page), Reaction::RelistUnpaged);
        assert_eq!(status(410).reaction(During::WatchList), Reaction::Relist);
        let by_reason = Status::read(200, br#"{"reason":"Expired","code":0}"#);
        assert_eq!(Failure::StreamError(by_reason.into()).reaction(During::Watch), Reaction::Relist);
    }

    #[test]
    fn a_version_that_the_server_does_not_have_leads_to_a_relist() {
        let too_large =
            br#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
        let failure = Failure::Status(Status::read(504, too_large).into());
        assert_eq!(failure.reaction(During::Watch), Reaction::Relist);
    }

    #[test]
    fn an_error_event_leads_to_a_relist_unless_it_only_asks_to_wait() {
        let event = |code| Failure::StreamError(Status::of_code(code).into());
        assert_eq!(event(500).reaction(During::Watch), Reaction::Relist);
        assert_eq!(event(429).reaction(During::Watch), Reaction::Rewatch);
    }

    #[test]
    fn a_watch_goes_on_after_all_that_leaves_its_version_valid() {
        for code in [401, 403, 429, 500, 502, 503, 504] {
            assert_eq!(status(code).reaction(During::Watch), Reaction::Rewatch, "{code}");
        }
        for failure in [TransportErrorKind::Refused.into(), TransportErrorKind::Reset.into(), Failure::VeryShort] {
            assert_eq!(failure.reaction(During::Watch), Reaction::Rewatch, "{failure}");
        }
    }

    #[test]
    fn only_a_server_that_does_not_know_watch_list_ends_it_for_good() {
        assert_eq!(status(422).reaction(During::WatchList), Reaction::ListInstead);
        for code in [401, 403, 404, 429, 500, 503] {
            assert_eq!(status(code).reaction(During::WatchList), Reaction::Relist, "{code}");
        }
    }
}
