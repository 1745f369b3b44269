//! Failures and their classes.

use crate::decode::Status;
use crate::object::Version;
use crate::text::{Counted, Printable};
use crate::time::Span;
use crate::transport::{TransportError, TransportErrorKind};
use core::fmt;
use core::time::Duration;

/// A status that clones share; without the feature `alloc`, each has its own.
#[cfg(feature = "alloc")]
pub type SharedStatus = alloc::sync::Arc<Status>;
/// A status, of which each clone is a copy. With the feature `alloc`, clones share it.
#[cfg(not(feature = "alloc"))]
pub type SharedStatus = Status;

/// The cause of a failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Failure {
    /// The server refused the request.
    Status(SharedStatus),
    /// The server ended a stream with an error event.
    StreamError(SharedStatus),
    /// The transport failed.
    Transport(TransportError),
    /// A list broke off before its end.
    Truncated,
    /// The body of a list is no list.
    NotAList,
    /// A page of a list has the continue token of an earlier page, or its own.
    RepeatedPage,
    /// Several pages in a row have a continue token but no items.
    EmptyPages,
    /// A list has too many pages.
    TooManyPages {
        /// The limit ([`ReflectorConfig::max_pages`](crate::reflector::ReflectorConfig::max_pages)).
        limit: u32,
    },
    /// A list, or the initial events of a watch-list, has too many bytes to be staged.
    TooLarge {
        /// The limit ([`InformerConfig::max_list_bytes`](crate::InformerConfig::max_list_bytes)).
        limit: usize,
    },
    /// Fixed memory has no room for all objects of the resource, or for their index values. The cache keeps those that
    /// fit, and an object whose new state does not fit keeps its old one. The watch goes on, and the informer counts as
    /// synced. This is told once, and again if a later list needs more;
    /// [`InformerIn::wanted`](crate::informer::InformerIn::wanted) shows it until a list fits.
    ///
    /// The state is read again as [`BackoffKind::Room`](crate::reflector::BackoffKind::Room) says. A list that is applied in
    /// parts deletes what it does not have at its end. So this is also told of a cache that had no room before that.
    DoesNotFit {
        /// How many objects the cache would have to hold, at least. Of a watch-list that is applied in parts, an object
        /// that changes, or is deleted, before the list is complete can count again.
        wanted: usize,
    },
    /// A watch-list ended before the bookmark that completes its initial events, or went on without it.
    Unfinished,
    /// A watch ended within a second and without an event.
    VeryShort,
    /// A watch, or the list before it, had an event or item without a readable key, so a change may be missing.
    Unreadable,
    /// Nothing arrived before the deadline.
    Stalled {
        /// For how long nothing had arrived.
        silence: Duration,
    },
    /// A response other than a watch arrived too slowly
    /// ([`ReflectorConfig::min_list_progress`](crate::reflector::ReflectorConfig::min_list_progress)).
    TooSlow,
    /// A list, or a watch-list, is older than the state that was seen before.
    BackInTime {
        /// Its version.
        version: Version,
        /// The version that was seen before.
        last: Version,
    },
    /// A long watch ended without an event or a newer bookmark.
    Silent,
    /// An audit has found that the cache differs from the server.
    Drifted {
        /// In how many objects.
        objects: usize,
    },
}

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Operation {
    /// Reading the first page of a list, or all of it.
    List,
    /// Reading a later page.
    Page,
    /// Reading the initial events of a watch-list.
    WatchList,
    /// Watching.
    Watch,
    /// Reading the server's version, by a list of one object, before a watch from a saved version.
    Resume,
}

/// The reaction to a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reaction {
    /// Read the whole state again.
    Relist,
    /// Read the whole state again, this time by a list.
    RelistByList,
    /// List again without pages: the version of the pages has expired.
    RelistUnpaged,
    /// Read the whole state again, and by lists for a day: this server has no watch-list.
    ListInstead,
    /// Watch again from the last version.
    Rewatch,
    /// Ask for the server's version again. The saved state stays.
    Resume,
}

/// The class of a failure, on which the reaction depends; see [`RETRY_POLICY`](crate::reflector::RETRY_POLICY).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FailureClass {
    /// 410, by code or by reason: the version, or the token, has expired.
    Expired,
    /// The requested version is newer than the server's, in any of the three encodings that servers have used.
    VersionTooLarge,
    /// The response is older than the state that was seen before.
    BackInTime,
    /// 401, or credentials that are unavailable or invalid.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 400, 405, 406, 415, 422: the server does not support the request. Or the request cannot be sent.
    Unsupported,
    /// 429, also as an error event.
    TooManyRequests,
    /// 5xx.
    ServerError,
    /// Any other status that is not 200.
    Refused,
    /// Any other error event in a stream.
    StreamError,
    /// The connection failed or broke.
    Unreachable,
    /// The TLS handshake failed.
    Untrusted,
    /// Nothing, or too little, arrived before the deadline.
    Stalled,
    /// A watch-list ended before its initial events were complete.
    Unfinished,
    /// A list broke off or its pages make no progress, or the response violates the protocol.
    Malformed,
    /// A list has too many pages or bytes.
    TooLarge,
    /// Fixed memory has no room for all objects.
    DoesNotFit,
    /// An event had no readable key, so a change may be missing.
    Unreadable,
    /// A watch ended within a second and without an event.
    VeryShort,
    /// A long watch ended without an event or a newer bookmark.
    Silent,
    /// An audit has found that the cache differs from the server.
    Drifted,
}

impl FailureClass {
    /// Each class, in the order of the enum, and what it is called.
    const NAMES: [(Self, &str); 22] = [
        (Self::Expired, "expired"),
        (Self::VersionTooLarge, "version too large"),
        (Self::BackInTime, "back in time"),
        (Self::Unauthorized, "unauthorized"),
        (Self::Forbidden, "forbidden"),
        (Self::NotFound, "not found"),
        (Self::Unsupported, "not understood"),
        (Self::TooManyRequests, "too many requests"),
        (Self::ServerError, "server error"),
        (Self::Refused, "refused"),
        (Self::StreamError, "error event"),
        (Self::Unreachable, "unreachable"),
        (Self::Untrusted, "untrusted"),
        (Self::Stalled, "silent for too long"),
        (Self::Unfinished, "ended too early"),
        (Self::Malformed, "malformed"),
        (Self::TooLarge, "too large"),
        (Self::DoesNotFit, "does not fit"),
        (Self::Unreadable, "unreadable"),
        (Self::VeryShort, "ended at once"),
        (Self::Silent, "ended without an event"),
        (Self::Drifted, "drifted"),
    ];

    /// All classes.
    pub const ALL: [Self; 22] = {
        let (mut all, mut at) = ([Self::Expired; 22], 0);
        while at < all.len() {
            all[at] = Self::NAMES[at].0;
            at += 1;
        }
        all
    };

    /// Whether retries alone cannot succeed: credentials, RBAC rules, the request, limits or the server need a manual
    /// change.
    pub fn requires_intervention(self) -> bool {
        matches!(
            self,
            Self::Unauthorized
                | Self::Forbidden
                | Self::NotFound
                | Self::Unsupported
                | Self::Untrusted
                | Self::TooLarge
                | Self::DoesNotFit
        )
    }

    /// A read is repeated after any refusal, so this does not ask `api::Prospect`, which decides whether the
    /// refusal of a write passes.
    fn of_status(status: &Status) -> Self {
        match status.code {
            _ if status.is_expired() => Self::Expired,
            _ if status.is_version_too_large() => Self::VersionTooLarge,
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            400 | 405 | 406 | 415 | 422 => Self::Unsupported,
            429 => Self::TooManyRequests,
            500..=599 => Self::ServerError,
            _ => Self::Refused,
        }
    }

    fn of_transport(kind: TransportErrorKind) -> Self {
        match kind {
            TransportErrorKind::Tls => Self::Untrusted,
            TransportErrorKind::Credentials => Self::Unauthorized,
            TransportErrorKind::Unsendable => Self::Unsupported,
            TransportErrorKind::Protocol => Self::Malformed,
            _ => Self::Unreachable,
        }
    }

    fn of_event(status: &Status) -> Self {
        match Self::of_status(status) {
            same @ (Self::Expired | Self::VersionTooLarge | Self::TooManyRequests) => same,
            _ => Self::StreamError,
        }
    }
}

impl Failure {
    /// The server refused the request.
    pub(crate) fn refused(status: Status) -> Self {
        Self::Status(shared(status))
    }

    /// The server ended a stream with an error event.
    pub(crate) fn in_stream(status: Status) -> Self {
        Self::StreamError(shared(status))
    }

    /// The class of the failure.
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Status(status) => FailureClass::of_status(status),
            Self::StreamError(status) => FailureClass::of_event(status),
            Self::Transport(error) => FailureClass::of_transport(error.kind),
            Self::Truncated | Self::NotAList | Self::RepeatedPage | Self::EmptyPages => FailureClass::Malformed,
            Self::TooManyPages { .. } | Self::TooLarge { .. } => FailureClass::TooLarge,
            Self::DoesNotFit { .. } => FailureClass::DoesNotFit,
            Self::Unfinished => FailureClass::Unfinished,
            Self::VeryShort => FailureClass::VeryShort,
            Self::Unreadable => FailureClass::Unreadable,
            Self::Stalled { .. } | Self::TooSlow => FailureClass::Stalled,
            Self::BackInTime { .. } => FailureClass::BackInTime,
            Self::Silent => FailureClass::Silent,
            Self::Drifted { .. } => FailureClass::Drifted,
        }
    }

    /// The server's status, where the server sent one.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) | Self::StreamError(status) => Some(status),
            _ => None,
        }
    }

    /// Whether the server, or a proxy before it, responded.
    pub(super) fn is_answer(&self) -> bool {
        match self {
            Self::Transport(error) => error.kind == TransportErrorKind::Protocol,
            _ => self.status().is_some(),
        }
    }

    /// The delay that the server requests (`retryAfterSeconds`).
    pub fn retry_after(&self) -> Option<Duration> {
        self.status()?.retry_after()
    }
}

#[cfg_attr(not(feature = "alloc"), expect(clippy::useless_conversion, reason = "with a heap it is none"))]
fn shared(status: Status) -> SharedStatus {
    status.into()
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
            Self::NotAList => f.write_str("the response is not a list"),
            Self::RepeatedPage => f.write_str("a page of the list has the continue token of an earlier page"),
            Self::EmptyPages => f.write_str("several pages of the list have a continue token but no items"),
            Self::TooManyPages { limit } => write!(f, "the list has more than {limit} pages (`max_pages`)"),
            Self::TooLarge { limit } => write!(f, "the list is larger than {limit} bytes (`max_list_bytes`)"),
            Self::DoesNotFit { wanted } => {
                let objects = Counted(*wanted, "object and its", "objects and their");
                write!(f, "the cache has no room for {objects} index values")
            }
            Self::Unfinished => f.write_str("the initial events of the stream were not completed"),
            Self::VeryShort => f.write_str("the watch ended at once and without an event"),
            Self::Unreadable => {
                f.write_str("an event of the watch, or an item of the list before it, has no readable key")
            }
            Self::Stalled { silence } => write!(f, "nothing arrived for {}", Span(*silence)),
            Self::TooSlow => f.write_str("the response arrives too slowly (`min_list_progress`)"),
            Self::BackInTime { version, last } => {
                let [version, last] = [version, last].map(Printable::new);
                write!(f, "the response has version {version}, which is older than the known version {last}")
            }
            Self::Silent => f.write_str("the watch was open for long and ended without an event or a newer bookmark"),
            Self::Drifted { objects } => {
                write!(f, "objects of which the cache has another state than the server: {objects}")
            }
        }
    }
}

impl core::error::Error for Failure {}

impl fmt::Display for FailureClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize].1)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Page => "page",
            Self::WatchList => "watch-list",
            Self::Watch => "watch",
            Self::Resume => "resume",
        })
    }
}

#[cfg(test)]
#[cfg(feature = "json")]
mod tests {
    use super::*;

    fn refused(code: u16, body: &str) -> Failure {
        Failure::Status(Status::read(code, body.as_bytes()).into())
    }

    fn in_stream(body: &str) -> Failure {
        Failure::StreamError(Status::read(200, body.as_bytes()).into())
    }

    #[test]
    fn a_410_is_known_by_its_code_and_by_both_of_its_reasons() {
        for failure in [
            refused(410, "<html>"),
            refused(500, r#"{"reason":"Gone"}"#),
            in_stream(r#"{"reason":"Expired","code":0}"#),
            in_stream(r#"{"code":410}"#),
        ] {
            assert_eq!(failure.class(), FailureClass::Expired, "{failure}");
        }
    }

    /// Servers before 1.18.6 had no cause of that reason, and the first ones only said so in the message.
    #[test]
    fn a_version_that_is_too_large_is_known_in_all_three_encodings() {
        for body in [
            r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}]}}"#,
            r#"{"code":504,"reason":"Timeout","details":{"causes":[{"message":"Too large resource version"}]}}"#,
            r#"{"code":504,"reason":"Timeout","message":"Timeout: Too large resource version: 9, current: 1"}"#,
        ] {
            assert_eq!(refused(504, body).class(), FailureClass::VersionTooLarge, "{body}");
            assert_eq!(in_stream(body).class(), FailureClass::VersionTooLarge, "{body}");
        }
        let other = r#"{"code":504,"reason":"Timeout","message":"Timeout: request did not complete"}"#;
        assert_eq!(refused(504, other).class(), FailureClass::ServerError);
    }

    #[test]
    fn credentials_that_cannot_be_used_are_no_server_that_cannot_be_reached() {
        for kind in [TransportErrorKind::Credentials, TransportErrorKind::Tls, TransportErrorKind::Unsendable] {
            assert!(Failure::from(kind).class().requires_intervention(), "{kind}");
        }
        assert_eq!(Failure::from(TransportErrorKind::Credentials).class(), FailureClass::Unauthorized);
        for kind in [TransportErrorKind::Other, TransportErrorKind::Exhausted] {
            assert_eq!(Failure::from(kind).class(), FailureClass::Unreachable, "{kind}");
        }
    }

    #[test]
    fn a_violation_of_the_protocol_is_a_malformed_answer() {
        assert_eq!(Failure::from(TransportErrorKind::Protocol).class(), FailureClass::Malformed);
    }

    #[test]
    fn every_status_has_a_class() {
        let classes = [
            (401, FailureClass::Unauthorized),
            (403, FailureClass::Forbidden),
            (404, FailureClass::NotFound),
            (400, FailureClass::Unsupported),
            (422, FailureClass::Unsupported),
            (429, FailureClass::TooManyRequests),
            (500, FailureClass::ServerError),
            (503, FailureClass::ServerError),
            (302, FailureClass::Refused),
            (0, FailureClass::Refused),
        ];
        for (code, class) in classes {
            assert_eq!(refused(code, "").class(), class, "{code}");
        }
        assert_eq!(in_stream(r#"{"code":429}"#).class(), FailureClass::TooManyRequests);
        assert_eq!(in_stream(r#"{"code":500}"#).class(), FailureClass::StreamError);
    }
}
