//! One request of a capture, with its response.

use super::digest::hashed;
use super::format::Payload;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use listwatch_core::request::{Query, Request};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The lines of a recorded request and its response, and the facts that an answer needs.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The id of the request in the capture.
    pub(crate) id: u64,
    /// When it was sent, in milliseconds since the recording began.
    pub(crate) sent: u64,
    /// The line of the request.
    pub(crate) first: u64,
    /// The line of the last record.
    pub(crate) last: u64,
    pub(crate) stage: Stage,
    /// Whether there is a response.
    pub(crate) answered: bool,
    /// Whether the recorded client aborted it.
    pub(crate) given_up: bool,
    /// Whether it was played.
    pub(crate) taken: AtomicBool,
    /// Whether it asked for metadata only.
    pub(crate) metadata_only: bool,
    /// Whether its contents were left out, because they may be confidential.
    pub(crate) withheld: bool,
    /// Its kind; `None` for neither a list nor a watch.
    pub(crate) query: Option<Query>,
    /// The index of the resource that it lists or watches.
    pub(crate) resource: Option<usize>,
}

/// The parts of a list or watch by which its response is found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    /// The index of the resource in the capture.
    pub(crate) resource: usize,
    pub(crate) query: Query,
    /// A digest of a list's continue token. Tokens have any length.
    pub(crate) page: Option<u64>,
}

impl RequestKey {
    pub(crate) fn new(resource: usize, request: &Request) -> Self {
        Self { resource, query: request.query(), page: request.continue_token().map(hashed) }
    }
}

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Requested,
    Answered,
    Ended,
}

impl Exchange {
    /// Whether it was played.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// The fault of playing an exchange whose contents were left out.
    pub(crate) fn withheld(&self, path: &Path) -> Option<CaptureError> {
        let message = "the contents of this request were withheld, because they may be secret; record again with \
                       `RecorderConfig::include_secrets`, or leave out the part of the program that sends it";
        let fault = || Fault::new(CaptureErrorKind::Withheld, message);
        self.withheld.then(|| CaptureError::new(path, Some(self.first), fault()))
    }

    /// Whether it failed before a response.
    pub(crate) fn is_refused(&self) -> bool {
        self.stage == Stage::Ended && !self.answered
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
    method == "GET" && (request.query() != Query::List || is_collection(request.resource.path()))
}

/// Whether `path` is `…/api/VERSION/PLURAL`, `…/apis/GROUP/VERSION/PLURAL` or the same within `namespaces/NAME`.
fn is_collection(path: &str) -> bool {
    let mut segments = path.split('/').skip_while(|segment| !matches!(*segment, "api" | "apis"));
    let versioned = match segments.next() {
        Some("api") => segments.next(),
        Some("apis") => segments.nth(1),
        _ => None,
    };
    let rest: Vec<&str> = segments.filter(|segment| !segment.is_empty()).collect();
    versioned.is_some() && matches!(rest[..], [_] | ["namespaces", _, _])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_told_from_discovery_and_single_objects_by_its_path() {
        for path in
            ["/api/v1/pods", "/api/v1/namespaces", "/apis/apps/v1/namespaces/web/deployments", "/x/api/v1/pods/"]
        {
            assert!(is_collection(path), "{path}");
        }
        for path in ["/api", "/api/v1", "/apis/apps/v1", "/version", "/api/v1/namespaces/web", "/api/v1/nodes/a"] {
            assert!(!is_collection(path), "{path}");
        }
        assert!(!is_collection("/api/v1/namespaces/web/pods/a"));
        assert!(!is_collection("/api/v1/namespaces/web/pods/a/log"));
    }
}
