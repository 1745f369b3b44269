//! The responses in a file, by request.

use super::answer::Answer;
use super::config::PlaybackConfig;
use super::logged_state::LoggedState;
use crate::body::{ListBody, WatchLog};
use crate::capture::{Index, Taken};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use listwatch_core::request::{Query, Request};
use std::path::Path;

/// The responses in a file.
#[expect(clippy::large_enum_variant, reason = "a playback has one")]
pub(crate) enum AnswerSource {
    Capture(Index),
    /// A list, which answers any resource once.
    List {
        is_left: bool,
    },
    WatchLog(Logged),
}

/// The watches of a log, which answer any resource: a new one begins behind each error by which the server ended one.
pub(crate) struct Logged {
    /// The beginning of the log.
    log: WatchLog,
    /// How many events the next list shows; `None` if it was taken.
    list: Option<u64>,
    /// What is left of the log, if no watch is open.
    watch: Option<WatchLog>,
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
    pub(crate) fn watch_log(log: WatchLog) -> Self {
        Self::WatchLog(Logged { watch: Some(log.clone()), log, list: Some(0) })
    }

    /// The same for another transport: a capture goes on, and a body begins anew.
    pub(crate) fn shared(&self) -> Self {
        match self {
            Self::Capture(index) => Self::Capture(index.clone()),
            Self::List { .. } => Self::List { is_left: true },
            Self::WatchLog(logged) => Self::watch_log(logged.log.clone()),
        }
    }

    /// The index of a capture.
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Capture(index) => Some(index),
            Self::List { .. } | Self::WatchLog(_) => None,
        }
    }

    /// Takes the next response to a request. `cursor` reads the file.
    pub(crate) fn reply(&mut self, request: &Request, config: PlaybackConfig, cursor: &FileCursor) -> Lookup {
        let (query, is_first_page) = (request.query(), request.continue_token().is_none());
        let answer = match (self, query) {
            (Self::Capture(index), _) => return capture_reply(index, request, config),
            (_, Query::WatchList) => return Lookup::Refused(Answer::unsupported_watch_list()),
            (Self::List { is_left }, Query::List) if is_first_page => {
                core::mem::take(is_left).then(|| Answer::list(ListBody::default()))
            }
            (Self::List { .. }, _) => None,
            (Self::WatchLog(logged), Query::List) => match logged.list.take_if(|_| is_first_page) {
                Some(0) => Some(Answer::empty_list()),
                Some(events) => match LoggedState::of(&logged.log, events, cursor) {
                    Ok(state) => Some(Answer::state(state)),
                    Err(error) => return Lookup::Refusal(error),
                },
                None => None,
            },
            (Self::WatchLog(logged), Query::Watch) => logged.watch.take().map(Answer::watch_log),
        };
        answer.map_or(Lookup::Nothing, Lookup::Answered)
    }

    /// Goes on with what is behind an answer that has ended.
    pub(crate) fn on_end(&mut self, answer: Answer, cursor: &mut FileCursor) {
        if let Self::WatchLog(logged) = self
            && let Some(mut rest) = answer.rest_of_log()
            && rest.has_more(cursor)
        {
            logged.list = Some(rest.events());
            logged.watch = Some(rest);
        }
    }

    /// Whether a file that is one body has a response of this kind left.
    pub(crate) fn has_body(&self, query: Query) -> bool {
        match (self, query) {
            (Self::List { is_left }, Query::List) => *is_left,
            (Self::WatchLog(logged), Query::List) => logged.list == Some(0),
            (Self::WatchLog(logged), Query::Watch) => logged.watch.is_some(),
            (Self::List { .. } | Self::WatchLog(_), _) | (Self::Capture(_), _) => false,
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
