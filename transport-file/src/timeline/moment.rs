//! What happened at a line of a recording.

use crate::capture::{Call, Note};
use crate::history::{Change, RecordedResource};
use core::time::Duration;
use std::sync::Arc;

/// Something that happened, where a recording tells it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Moment {
    /// The time since the recording began.
    pub at: Duration,
    /// The line of the file; `None` for a log and a list.
    pub line: Option<u64>,
    /// What happened.
    pub kind: MomentKind,
}

/// What happened at a [`Moment`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MomentKind {
    /// A request was sent. Its answer follows as [`Ended`](Self::Ended).
    Sent {
        /// The id of the request.
        id: u64,
        /// The HTTP method.
        method: String,
        /// The path and the query.
        target: String,
        /// The number of the reconcile that sent it.
        reconcile: Option<u64>,
    },
    /// A request ended, or the recording ends before its answer.
    Ended(Box<Call>),
    /// A client was told of a change.
    Changed {
        /// The resource.
        resource: Arc<RecordedResource>,
        /// The change.
        change: Change,
        /// Whether it is the first state of the resource.
        is_first: bool,
    },
    /// The server refused to go on with a watch, because its version was too old. A list follows.
    Expired(Arc<RecordedResource>),
    /// The server ended a watch with this error.
    Refused(Arc<RecordedResource>, String),
    /// A reconcile began, read or ended.
    Noted(Note),
}
