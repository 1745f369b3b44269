//! Inputs and outputs of a reflector.

use super::{Failure, Operation, Reaction};
use crate::decode::EventType;
use crate::request::{Request, RequestId};
use crate::text::Printable;
use crate::time::Span;
use crate::transport::ResponseHead;
use core::fmt;
use core::time::Duration;

/// An input of a [`Reflector`](crate::Reflector).
#[cfg_attr(not(feature = "alloc"), expect(clippy::large_enum_variant, reason = "without a heap there are no boxes"))]
#[derive(Debug)]
pub enum Input<'a> {
    /// Start, if idle or stopped.
    Start,
    /// Abort the open request and send no other.
    Stop,
    /// The deadline of [`poll_timeout`](crate::Reflector::poll_timeout) has passed.
    Timeout,
    /// Back-pressure ended: the deadlines for silence start now.
    Listening,
    /// The cache has no room for an object that was queued. The watch goes on, and the state is read again later: soon
    /// after [`Room`](Self::Room), and slowly without it.
    DoesNotFit {
        /// How many objects the cache would have to hold, at least.
        wanted: usize,
    },
    /// The cache took all objects of a state that was read: it lacks none any more.
    Fits,
    /// An object has left the cache, so there may be room for another one.
    Room,
    /// A list is complete, and parts of it were older than the cache: the server's history is another one than before. The
    /// state is read again, and versions are not compared.
    Overtaken,
    /// An audit has found that the cache differs from the server, in so many objects. The state is read again soon.
    Drifted {
        /// The number of objects.
        objects: usize,
    },
    /// The caller knows whether the server is that of the saved state ([`Reflector::resume`](crate::Reflector::resume)).
    Confirmed {
        /// Whether it is. If not, a list follows.
        same: bool,
    },
    /// A part of the response to a request. If that request is no longer open, the part is dropped.
    Response(RequestId, Response<'a>),
}

/// A part of a response.
#[derive(Debug)]
pub enum Response<'a> {
    /// Status and headers arrived.
    Head(&'a ResponseHead),
    /// This many bytes of the body arrived.
    Data(usize),
    /// An item of a list, or an event of a watch.
    Object {
        /// The object's version.
        version: &'a str,
        /// The type of the event; `None` in a list.
        event_type: Option<EventType>,
    },
    /// An item or an event without a readable key.
    Unreadable,
    /// An item or an event that is older than what is known of its object.
    Outdated {
        /// The object's version.
        version: &'a str,
        /// The version that is known, or that the watch has passed.
        known: &'a str,
    },
    /// A list, or a page of it, is complete.
    ListEnd {
        /// The version of the list; empty where it has none.
        version: &'a str,
        /// The token of the next page; empty on the last page.
        continue_token: &'a str,
    },
    /// A bookmark.
    Bookmark {
        /// The version of the bookmark.
        version: &'a str,
        /// Whether it completes the initial events of a watch-list.
        initial_events_end: bool,
    },
    /// The response ended, properly or by a failure.
    Closed(Result<(), Failure>),
    /// The response is unusable, although the transport still has it open. The request is aborted.
    Broken(Failure),
}

/// The caller's next step after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Drop the input.
    Nothing,
    /// Stage the object: it belongs to a list that is not complete.
    Stage,
    /// Queue the object's event.
    Apply,
    /// Commit the staged objects: the list is complete.
    Commit,
    /// Discard the staged objects: the list broke off.
    Discard,
}

/// An action for the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this request.
    Open(RequestId, Request),
    /// Abort that request.
    Abort(RequestId),
}

/// A failure and the reaction to it.
///
/// [`Display`](fmt::Display) says it in one line, without the query and without credentials:
/// `GET /api/v1/pods (watch): forbidden (status 403): pods is forbidden; next attempt in 42 s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureReport {
    /// The operation that failed.
    pub operation: Operation,
    /// The request that failed.
    pub request: Request,
    /// The cause.
    pub failure: Failure,
    /// The reaction.
    pub reaction: Reaction,
    /// How many times in a row the reflector has backed off, this time included. A watch that brings an event, or ends
    /// properly, resets the count.
    pub attempts: u32,
    /// The time from the failure to the next request; zero where that follows at once.
    pub retry_in: Duration,
}

/// What follows within this time, follows at once for people.
const AT_ONCE: Duration = Duration::from_millis(100);

impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, class) = (Printable::new(self.request.resource.path()), self.failure.class());
        write!(f, "GET {path} ({}): {class}", self.operation)?;
        match self.failure.status() {
            Some(status) => {
                if status.code > 0 {
                    write!(f, " (status {})", status.code)?;
                }
                let said: &str = if status.message.is_empty() { &status.reason } else { &status.message };
                if !said.is_empty() {
                    write!(f, ": {}", Printable::new(said))?;
                }
            }
            None => write!(f, ": {}", self.failure)?,
        }
        match self.retry_in {
            wait if wait <= AT_ONCE => f.write_str("; next attempt at once"),
            wait => write!(f, "; next attempt in {}", Span::rounded_up(wait)),
        }
    }
}

#[cfg(feature = "defmt")]
impl defmt::Format for FailureReport {
    fn format(&self, f: defmt::Formatter<'_>) {
        let Self { operation, request, failure, reaction, attempts, retry_in } = self;
        defmt::write!(
            f,
            "{} of {=str}: {}; {} in {=u64} ms, attempts: {=u32}",
            operation,
            request.resource.path(),
            failure,
            reaction,
            u64::try_from(retry_in.as_millis()).unwrap_or(u64::MAX),
            attempts
        );
    }
}

/// The phase of a [`Reflector`](crate::Reflector).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Phase {
    /// Not started.
    Idle,
    /// A list or a watch-list is being read.
    Listing,
    /// A restored state is compared with the server's version, before the watch.
    Resuming,
    /// A watch is open.
    Watching,
    /// A back-off is running after a failure.
    BackingOff,
    /// Stopped.
    Stopped,
}
