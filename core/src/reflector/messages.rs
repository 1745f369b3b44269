//! What goes into a reflector and what comes out of it.

use super::{Failure, Operation, Reaction};
use crate::decode::EventType;
use crate::request::{Request, RequestId};
use crate::text::Printable;
use crate::time::Span;
use crate::transport::ResponseHead;
use core::fmt;
use core::time::Duration;

/// What comes in.
#[derive(Debug)]
pub enum Input<'a> {
    /// Begin, if idle or stopped.
    Start,
    /// End what is open and do nothing more.
    Stop,
    /// Time has passed.
    Timeout,
    /// Nobody listened until now: silence begins with this.
    Listening,
    /// Something of the answer to a request. Under the id of one that is not open any more, it is dropped.
    Response(RequestId, Response<'a>),
}

/// What comes of an answer.
#[derive(Debug)]
pub enum Response<'a> {
    /// It has begun.
    Head(&'a ResponseHead),
    /// So many bytes have come.
    Data(usize),
    /// An item of a list, or an event of a watch.
    Object {
        /// The object's version.
        version: &'a str,
        /// What happened to it; `None` in a list.
        event_type: Option<EventType>,
    },
    /// An item or an event of which not even the object's key can be read.
    Unreadable,
    /// A list, or a page of it, is complete.
    ListEnd {
        /// Its version; empty where it has none.
        version: &'a str,
        /// The token to go on with; empty on the last page.
        continue_token: &'a str,
    },
    /// A bookmark.
    Bookmark {
        /// Its version.
        version: &'a str,
        /// Whether it completes the initial events.
        initial_events_end: bool,
    },
    /// The answer is over: as it should be, or not.
    Closed(Result<(), Failure>),
    /// The answer is of no more use, though the transport still has it open.
    Broken(Failure),
}

/// What is to be done with what came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it is old, or it was for the reflector alone.
    Nothing,
    /// The object belongs to a state that is not complete yet.
    Stage,
    /// The object's change is to be applied.
    Apply,
    /// The staged state is complete and becomes visible.
    Commit,
    /// The staged state broke off and is forgotten.
    Discard,
}

/// What the transport is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start this request.
    Open(RequestId, Request),
    /// End that one.
    Abort(RequestId),
}

/// A failure, and what was made of it.
///
/// [`Display`](fmt::Display) says it in one line, without credentials:
/// `GET /api/v1/pods?watch=1: forbidden (status 403): pods is forbidden; next attempt in 42 s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureReport {
    /// What was being done.
    pub operation: Operation,
    /// The request that failed.
    pub request: Request,
    /// What happened.
    pub failure: Failure,
    /// What follows.
    pub reaction: Reaction,
    /// How many times in a row it had to back off after a failure, since a watch last brought something or ended as it
    /// should; this time included, where the reaction is one that backs off.
    pub attempts: u32,
    /// How long it is from the failure to the next request; zero where that is made at once.
    pub retry_in: Duration,
}

/// How many characters of a request target are shown: selectors and continue tokens can be long.
const TARGET: usize = 256;

impl fmt::Display for FailureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GET {}: {}", Printable::new(&self.request).at_most(TARGET), self.failure.class())?;
        match self.failure.status() {
            Some(status) => {
                if status.code > 0 {
                    write!(f, " (status {})", status.code)?;
                }
                let said = if status.message.is_empty() { &status.reason } else { &status.message };
                if !said.is_empty() {
                    write!(f, ": {}", Printable::new(said))?;
                }
            }
            None => write!(f, ": {}", self.failure)?,
        }
        match self.retry_in {
            Duration::ZERO => f.write_str("; next attempt at once"),
            wait => write!(f, "; next attempt in {}", Span::rounded_up(wait)),
        }
    }
}

/// What a [`Reflector`](crate::Reflector) is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not started.
    Idle,
    /// Reading the whole state, by list or by watch-list.
    Listing,
    /// Following the changes.
    Watching,
    /// Waiting after a failure.
    BackingOff,
    /// Stopped.
    Stopped,
}
