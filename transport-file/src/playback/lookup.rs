//! The responses in a file, by request.

use super::answer::Answer;
use super::config::PlaybackConfig;
use crate::body::Body;
use crate::capture::{Index, Taken};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use listwatch_core::request::{Query, Request};
use std::path::Path;

/// The responses in a file.
#[derive(Clone)]
pub(crate) enum AnswerSource {
    Capture(Index),
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
    pub(crate) fn reply(&mut self, request: &Request, config: PlaybackConfig) -> Lookup {
        match self {
            Self::Capture(index) => capture_reply(index, request, config),
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

    /// Whether a file that is one body has a response of this kind left.
    pub(crate) fn has_body(&self, query: Query) -> bool {
        match (self, query) {
            (Self::Body { list, .. }, Query::List) => list.is_some(),
            (Self::Body { watch, .. }, Query::Watch) => watch.is_some(),
            (Self::Body { .. }, Query::WatchList) | (Self::Capture(_), _) => false,
        }
    }
}

fn capture_reply(index: &Index, request: &Request, config: PlaybackConfig) -> Lookup {
    let exchange = match index.take(request) {
        Ok(Taken::Exchange(exchange)) => exchange,
        Ok(Taken::Unsupported) => return Lookup::Refused(Answer::unsupported_watch_list()),
        Ok(Taken::Nothing) => return Lookup::Nothing,
        Err(error) => return Lookup::Refusal(error),
    };
    let line = exchange.place.line;
    if exchange.metadata_only && !request.resource.is_metadata_only() {
        return Lookup::Refusal(metadata_only(index.path(), line));
    }
    // The next record tells whether the connection failed.
    index.await_record(&exchange, line);
    let is_refused = exchange.is_refused();
    let answer = Answer::recorded(exchange, index.clone(), config);
    if is_refused { Lookup::Refused(answer) } else { Lookup::Answered(answer) }
}

fn metadata_only(path: &Path, line: u64) -> CaptureError {
    let message =
        "only metadata was recorded here, and whole objects are requested; request metadata only, or record again";
    CaptureError::new(path, Some(line), Fault::new(CaptureErrorKind::MetadataOnly, message))
}
