//! The responses in a file, by request.

use super::answer::Answer;
use crate::body::Body;
use crate::capture::Index;
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use listwatch_core::request::{Query, Request};
use std::path::Path;

/// The responses in a file.
#[derive(Clone)]
pub(crate) enum AnswerSource {
    Capture(Box<Index>),
    /// A file without requests. Its bytes are one body, for any resource.
    Body {
        list: Option<Box<Answer>>,
        watch: Option<Box<Answer>>,
    },
}

/// The result of looking up a request.
pub(crate) enum Lookup {
    Answered(Answer),
    /// The connection failed in the recording, or the request is a watch-list that the recorded server did not get.
    Refused(Answer),
    /// The recorded response cannot be played for this request.
    Refusal(CaptureError),
    /// No response is left.
    Nothing,
}

impl AnswerSource {
    /// A file of watch events, after an empty list.
    pub(crate) fn watch_log(body: Body) -> Self {
        Self::Body { list: Some(Answer::empty_list().into()), watch: Some(Answer::file(body).into()) }
    }

    /// A file that is one list.
    pub(crate) fn list() -> Self {
        Self::Body { list: Some(Answer::file(Body::list()).into()), watch: None }
    }

    /// The index of a capture.
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Capture(index) => Some(index),
            Self::Body { .. } => None,
        }
    }

    /// Takes the next response to a request.
    pub(crate) fn reply(&mut self, request: &Request, path: &Path, skip_bad_lines: bool) -> Lookup {
        match self {
            Self::Capture(index) => capture_reply(index, request, path, skip_bad_lines),
            Self::Body { list, watch } => {
                let answer = match request.query() {
                    Query::List if request.continue_token().is_some() => None,
                    Query::List => list.take(),
                    Query::Watch => watch.take(),
                    Query::WatchList => return Lookup::Refused(Answer::unsupported_watch_list()),
                };
                answer.map_or(Lookup::Nothing, |answer| Lookup::Answered(*answer))
            }
        }
    }

    /// How many responses of this kind were not played.
    pub(crate) fn left(&self, query: Query) -> u64 {
        match (self, query) {
            (Self::Capture(index), _) => index.left(query),
            (Self::Body { list, .. }, Query::List) => list.is_some().into(),
            (Self::Body { watch, .. }, Query::Watch) => watch.is_some().into(),
            (Self::Body { .. }, Query::WatchList) => 0,
        }
    }
}

fn capture_reply(index: &mut Index, request: &Request, path: &Path, skip_bad_lines: bool) -> Lookup {
    // If the recorded server did watch-lists, a missing one means that the recording is over. But a client that aborted
    // one and listed instead did not try again.
    let unsupported = request.query() == Query::WatchList && (!index.knows(request) || index.turned_to_lists(request));
    let exchanges = index.exchanges().clone();
    let Some(exchange) = index.take(request) else {
        return if unsupported { Lookup::Refused(Answer::unsupported_watch_list()) } else { Lookup::Nothing };
    };
    if let Some(withheld) = exchange.withheld(path) {
        return Lookup::Refusal(withheld);
    }
    if exchange.metadata_only && !request.resource.is_metadata_only() {
        return Lookup::Refusal(metadata_only(path, exchange.first));
    }
    let answer = Answer::recorded(exchange, exchanges.behind(exchange), skip_bad_lines);
    if exchange.is_refused() { Lookup::Refused(answer) } else { Lookup::Answered(answer) }
}

fn metadata_only(path: &Path, line: u64) -> CaptureError {
    let message =
        "only metadata was recorded here, and whole objects are requested; request metadata only, or record again";
    CaptureError::new(path, Some(line), Fault::new(CaptureErrorKind::MetadataOnly, message))
}
