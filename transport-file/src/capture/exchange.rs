//! One request of a capture, with its response.

use super::format::{End, Payload, RequestRecord};
use super::key::{Key, ResourceKey};
use crate::error::{CaptureErrorKind, Fault};
use crate::file::LinePlace;
use listwatch_core::Resource;
use listwatch_core::request::Query;
use std::sync::{Arc, Mutex, PoisonError};

/// A recorded request, and how far its response was read.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The id of the request in the capture.
    pub(crate) id: u64,
    /// The number of the request in the capture, from zero.
    pub(super) number: u64,
    /// When it was sent, in milliseconds since the recording began.
    pub(crate) sent: u64,
    /// The line of the request.
    pub(crate) place: LinePlace,
    /// Whether it asked for metadata only.
    pub(crate) metadata_only: bool,
    /// Its kind; `None` for neither a list nor a watch.
    pub(super) query: Option<Query>,
    /// The resource that it lists or watches.
    pub(super) resource: Option<ResourceKey>,
    progress: Mutex<Progress>,
}

/// How far a response was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The line of the last record up to now.
    pub(crate) last: u64,
    pub(super) stage: Stage,
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Requested,
    Answered,
    /// It ended, or failed before a response.
    Ended {
        answered: bool,
        /// Whether the recorded client aborted it.
        given_up: bool,
    },
}

/// A request that was read.
#[derive(Debug)]
pub(super) struct Began {
    pub(super) exchange: Arc<Exchange>,
    pub(super) keys: Keys,
    /// The resource that it lists or watches.
    pub(super) resource: Option<Resource>,
}

/// The keys by which an exchange is found: of a list or a watch, and of a client's request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys([Option<Key>; 2]);

impl Began {
    pub(super) fn new(exchange: Arc<Exchange>, record: &RequestRecord<'_>) -> Self {
        let (request, query) = (record.asked(), exchange.query);
        // Clients list; only informers watch.
        let is_call = matches!(query, None | Some(Query::List));
        let keys = Keys([
            request.as_ref().map(|request| Key::of_request(request, exchange.metadata_only)),
            is_call.then(|| Key::of_recorded_call(record)),
        ]);
        Self { exchange, keys, resource: request.map(|request| request.resource) }
    }
}

impl Keys {
    pub(super) fn iter(&self) -> impl Iterator<Item = Key> {
        self.0.into_iter().flatten()
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.0.contains(&Some(key))
    }
}

impl Exchange {
    /// The request with this number and this id, which was sent at a time.
    pub(super) fn new(number: u64, id: u64, sent: u64, place: LinePlace, record: &RequestRecord<'_>) -> Self {
        let request = record.asked();
        let (query, resource) = request.as_ref().map(|it| (it.query(), ResourceKey::of(&it.resource))).unzip();
        let progress = Mutex::new(Progress { last: place.line, stage: Stage::Requested });
        let metadata_only = record.asks_for_metadata_only();
        Self { id, number, sent, place, metadata_only, query, resource, progress }
    }

    pub(crate) fn progress(&self) -> Progress {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_progress(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }

    /// Whether it failed before a response, as far as it was read.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.progress().stage, Stage::Ended { answered: false, .. })
    }
}

impl Stage {
    /// The stage after this record of the same request.
    pub(crate) fn after(self, payload: &Payload<'_>) -> Result<Self, Fault> {
        match (self, payload) {
            (_, Payload::Request(_)) => Err(misplaced("a second request under the same id")),
            (Self::Requested, Payload::Response(_)) | (Self::Answered, Payload::Data(_)) => Ok(Self::Answered),
            (Self::Requested | Self::Answered, Payload::End(End { by_client, .. })) => {
                Ok(Self::Ended { answered: self == Self::Answered, given_up: *by_client })
            }
            (Self::Requested, Payload::Data(_)) => Err(misplaced("data before the response")),
            (Self::Answered, Payload::Response(_)) => Err(misplaced("a second response to the same request")),
            (Self::Ended { .. }, _) => Err(misplaced("a record behind the end of its request")),
        }
    }

    pub(super) fn has_ended(self) -> bool {
        matches!(self, Self::Ended { .. })
    }
}

/// The fault of a record in the wrong place.
pub(super) fn misplaced(what: impl std::fmt::Display) -> Fault {
    Fault::of_line(CaptureErrorKind::Order, what)
}
