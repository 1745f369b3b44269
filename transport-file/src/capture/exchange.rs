//! One request of a capture, and how its answer goes.

use super::digest::hashed;
use super::format::Payload;
use crate::error::{CaptureErrorKind, Fault};
use listwatch_core::request::{Query, Request};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where one recorded request and its answer are.
#[derive(Debug)]
pub(crate) struct Exchange {
    /// The number under which it was recorded.
    pub(crate) id: u64,
    /// When it was sent, in milliseconds of the recording.
    pub(crate) asked: u64,
    /// The line of the request.
    pub(crate) first: u64,
    /// The line of the last record.
    pub(crate) last: u64,
    pub(crate) stage: Stage,
    /// Whether there is a response.
    pub(crate) answered: bool,
    /// Whether the client that was recorded did not wait for the end.
    pub(crate) given_up: bool,
    /// Whether it was given out.
    pub(crate) taken: AtomicBool,
    /// Whether it asked for metadata alone.
    pub(crate) metadata_only: bool,
    /// Which question it was; `None` for what is neither a list nor a watch.
    pub(crate) query: Option<Query>,
}

/// What a list or watch asked, as far as answers are found by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RequestKey {
    /// The number of the resource among those of the capture.
    pub(crate) resource: usize,
    pub(crate) query: Query,
    /// A digest of the continue token of a list: tokens have any length.
    pub(crate) page: Option<u64>,
}

impl RequestKey {
    pub(crate) fn new(resource: usize, request: &Request) -> Self {
        Self { resource, query: request.query(), page: request.continue_token().map(hashed) }
    }
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Requested,
    Answered,
    Ended,
}

impl Exchange {
    /// Whether it was given out.
    pub(crate) fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// Whether no connection came about.
    pub(crate) fn is_refused(&self) -> bool {
        self.stage == Stage::Ended && !self.answered
    }
}

impl Stage {
    /// The stage after this record of the same request.
    pub(crate) fn after(self, what: &Payload<'_>) -> Result<Self, Fault> {
        match (self, what) {
            (_, Payload::Request(_)) => Err(misplaced("a second request under the same id")),
            (Self::Requested, Payload::Response(_)) | (Self::Answered, Payload::Data(_)) => Ok(Self::Answered),
            (Self::Requested | Self::Answered, Payload::End(_)) => Ok(Self::Ended),
            (Self::Requested, Payload::Data(_)) => Err(misplaced("data before the response")),
            (Self::Answered, Payload::Response(_)) => Err(misplaced("a second response to the same request")),
            (Self::Ended, _) => Err(misplaced("a record behind the end of its request")),
        }
    }
}

/// A record that is not allowed where it stands.
pub(crate) fn misplaced(what: impl std::fmt::Display) -> Fault {
    Fault::of_line(CaptureErrorKind::Order, what)
}

/// Whether a recorded request is a list or a watch, and not a write, a single object or discovery.
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
