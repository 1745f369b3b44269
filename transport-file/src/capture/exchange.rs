//! One request of a capture, with its response.

use super::collection::CollectionPath;
use super::format::Payload;
use super::key::ResourceKey;
use crate::error::{CaptureErrorKind, Fault};
use crate::file::Place;
use listwatch_core::request::{Query, Request};
use std::sync::{Mutex, PoisonError};

/// A recorded request, and how far its response was read.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The id of the request in the capture.
    pub(crate) id: u64,
    /// The number of the request in the capture, from zero.
    pub(crate) number: u64,
    /// When it was sent, in milliseconds since the recording began.
    pub(crate) sent: u64,
    /// The line of the request.
    pub(crate) place: Place,
    /// Whether it asked for metadata only.
    pub(crate) metadata_only: bool,
    /// Its kind; `None` for neither a list nor a watch.
    pub(crate) query: Option<Query>,
    /// The resource that it lists or watches.
    pub(crate) resource: Option<ResourceKey>,
    progress: Mutex<Progress>,
}

/// How far a response was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The line of the last record up to now.
    pub(crate) last: u64,
    pub(crate) stage: Stage,
    /// Whether there is a response.
    pub(crate) answered: bool,
    /// Whether the recorded client aborted it.
    pub(crate) given_up: bool,
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Requested,
    Answered,
    Ended,
}

/// The facts of a recorded request.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) id: u64,
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) place: Place,
}

impl Exchange {
    pub(super) fn new(sent: &Sent, request: Option<&Request>, metadata_only: bool) -> Self {
        let progress = Progress { last: sent.place.line, stage: Stage::Requested, answered: false, given_up: false };
        Self {
            id: sent.id,
            number: sent.number,
            sent: sent.at,
            place: sent.place,
            metadata_only,
            query: request.map(Request::query),
            resource: request.map(|request| ResourceKey::of(&request.resource)),
            progress: Mutex::new(progress),
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_progress(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// Whether it failed before a response, as far as it was read.
    pub(crate) fn is_refused(&self) -> bool {
        let Progress { stage, answered, .. } = self.progress();
        stage == Stage::Ended && !answered
    }
}

impl Stage {
    /// The stage after this record of the same request.
    pub(crate) fn after(self, payload: &Payload<'_>) -> Result<Self, Fault> {
        match (self, payload) {
            (_, Payload::Request(_)) => Err(misplaced("a second request under the same id")),
            (Self::Requested, Payload::Response(_)) | (Self::Answered, Payload::Data(_)) => Ok(Self::Answered),
            (Self::Requested | Self::Answered, Payload::End(_)) => Ok(Self::Ended),
            (Self::Requested, Payload::Data(_)) => Err(misplaced("data before the response")),
            (Self::Answered, Payload::Response(_)) => Err(misplaced("a second response to the same request")),
            (Self::Ended, _) => Err(misplaced("a record behind the end of its request")),
        }
    }
}

/// The fault of a record in the wrong place.
pub(crate) fn misplaced(what: impl std::fmt::Display) -> Fault {
    Fault::of_line(CaptureErrorKind::Order, what)
}

/// Whether a recorded request is a list or a watch; not a write, a single object or discovery.
pub(crate) fn is_list_or_watch(method: &str, request: &Request) -> bool {
    method == "GET" && (request.query() != Query::List || CollectionPath::parse(request.resource.path()).is_some())
}
