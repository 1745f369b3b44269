//! What an answer consists of.

use super::field::{Beginning, Text};
use super::object::{Projected, VERSION};
use crate::framing::EventType;
use crate::text::{Printable, write_status};
use core::fmt;
use core::time::Duration;

/// What the bytes are that a projector reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Body {
    /// A list.
    List,
    /// A watch, of events in any layout.
    Watch,
    /// One object. What follows on it is not read.
    Object,
    /// The status of an answer that has this code, which is not 200.
    Refusal(u16),
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part<P, const KEY: usize = 128> {
    /// An item of a list, or the object.
    Item(Projected<P, KEY>),
    /// A watch event about an object.
    Event(EventType, Projected<P, KEY>),
    /// A watch event that says how far the watch has come.
    Bookmark {
        /// The version up to which the watch has sent everything.
        version: Text<VERSION>,
        /// Whether the initial events of a watch-list are complete with it.
        initial_events_end: bool,
    },
    /// A watch event by which the server ends the stream.
    Error(Status),
    /// An item or an event that holds no such object. The answer goes on behind it.
    Undecodable(Refused<KEY>),
    /// The body of a list is no list: nothing more of it can be used.
    NotAList,
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending<'a> {
    /// A complete list, or a complete page of one.
    List {
        /// The version of the list; empty where it has none.
        resource_version: &'a str,
        /// The token of the next page; empty on the last page.
        continue_token: &'a str,
        /// How many items are behind this page, where the server says so.
        remaining: Option<i64>,
    },
    /// A complete list whose version or token is too long. Nothing can be inferred from it.
    UnusableList(Problem),
    /// A list or an object that broke off, or was none.
    Truncated,
    /// A watch. An event that broke off is dropped: the next watch begins before it.
    Watch,
    /// An object, which was a part.
    Object,
    /// The body of an answer whose status is not 200.
    Refusal(Status),
}

/// An item or an event that could not be decoded, with the metadata that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refused<const KEY: usize = 128> {
    /// The object's key; `None` where it could not be read.
    pub key: Option<Text<KEY>>,
    /// The object's version; `None` where it could not be read.
    pub version: Option<Text<VERSION>>,
    /// The type of the event; `None` in a list.
    pub event_type: Option<EventType>,
    /// The reason.
    pub problem: Problem,
}

impl<const KEY: usize> fmt::Display for Refused<KEY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: {}", Printable::new(key), self.problem),
            None => write!(f, "an object without a readable name: {}", self.problem),
        }
    }
}

impl<const KEY: usize> core::error::Error for Refused<KEY> {}

/// `metav1.Status`: the reason that an API server gives for a failure. A field of the wrong type counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status code, also of an error event in a watch.
    pub code: u16,
    /// The reason for programs, such as `Expired`.
    pub reason: Beginning<{ Self::REASON }>,
    /// The beginning of the message for operators.
    pub message: Beginning<{ Self::MESSAGE }>,
    pub(super) retry_after: Option<Duration>,
    pub(super) is_version_too_large: bool,
}

impl Status {
    /// The bytes of a reason that are kept.
    pub const REASON: usize = 32;
    /// The bytes of a message that are kept.
    pub const MESSAGE: usize = 160;

    /// Whether the requested version or continue token has expired: `410`, by code or by reason (client-go
    /// `isExpiredError`).
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    /// Whether the requested version is newer than the server's (client-go `isTooLargeResourceVersionError`).
    #[must_use]
    pub fn is_version_too_large(&self) -> bool {
        self.is_version_too_large
    }

    /// The delay that the server requests (`details.retryAfterSeconds`); `None` where it is zero or absent.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_status(f, self.code, &self.reason, &self.message)
    }
}

/// The reason that an object, or another part of an answer, could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Problem {
    /// The path of the field; `None` if it is about the whole.
    pub field: Option<&'static str>,
    /// The reason.
    pub cause: Cause,
    /// How many bytes of the event, item or object come before.
    pub at: usize,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Cause {
    /// A value has another type.
    WrongType {
        /// What it is.
        found: &'static str,
        /// What the field takes.
        expected: &'static str,
    },
    /// A text is too long for its field.
    TooLong {
        /// How many bytes the field takes.
        most: usize,
    },
    /// A number is too large or too small for its field.
    OutOfRange,
    /// A field refused its value; an earlier problem was told instead, but a later member replaced that value.
    Refused,
    /// The text is no JSON.
    Syntax(&'static str),
    /// The object has no `metadata.name`.
    NoName,
    /// An event has no `type`, or no `object`.
    NoEvent,
    /// An event has a type that no server sends today.
    UnknownType,
    /// A field, or another part of the projection, panicked.
    Panicked,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{}: ", Printable::new(field))?;
        }
        write!(f, "{} at byte {}", self.cause, self.at)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongType { found, expected } => write!(f, "{found} instead of {expected}"),
            Self::TooLong { most } => write!(f, "longer than {most} bytes"),
            Self::OutOfRange => f.write_str("the number is out of range"),
            Self::Refused => f.write_str("the value was refused"),
            Self::Syntax(message) => f.write_str(message),
            Self::NoName => f.write_str("the object has no metadata.name"),
            Self::NoEvent => f.write_str("the event has no type or no object"),
            Self::UnknownType => f.write_str("unknown type of event"),
            Self::Panicked => f.write_str("the projection panicked"),
        }
    }
}

impl core::error::Error for Problem {}
