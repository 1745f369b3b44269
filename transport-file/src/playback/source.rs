//! The responses in a file, by request.

use super::answer::Answer;
use super::config::PlaybackConfig;
use super::logged_state::LoggedState;
use crate::body::{ListBody, WatchLog, foreign_kinds};
use crate::capture::{Collection, Index, Taken};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::{FileCursor, Source};
use crate::kinds::group_of;
use listwatch_core::request::{Query, Request};
use std::path::Path;

/// The responses in a file.
#[expect(clippy::large_enum_variant, reason = "a playback has one")]
pub(crate) enum AnswerSource {
    Capture(Index),
    Bodies(Bodies),
}

/// The answers of a file that is one body, to any resource: a list once, or the watches of a log. A new watch begins behind
/// each error by which the server ended one.
pub(crate) struct Bodies {
    /// The beginning of a log; `None` for a list.
    log: Option<WatchLog>,
    /// How many events of a log the next list shows; `None` if it was taken.
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
    /// A file of watch events, after an empty list; or a file that is a list.
    pub(crate) fn bodies(log: Option<WatchLog>) -> Self {
        Self::Bodies(Bodies { watch: log.clone(), log, list: Some(0) })
    }

    /// The same for another transport: a capture goes on, and a body begins anew.
    pub(crate) fn shared(&self) -> Self {
        match self {
            Self::Capture(index) => Self::Capture(index.clone()),
            Self::Bodies(bodies) => Self::bodies(bodies.log.clone()),
        }
    }

    /// The index of a capture.
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Capture(index) => Some(index),
            Self::Bodies(_) => None,
        }
    }

    /// Takes the next response to a request. `cursor` reads the file.
    pub(crate) fn reply(&mut self, request: &Request, config: PlaybackConfig, cursor: &FileCursor) -> Lookup {
        let (query, is_first_page) = (request.query(), request.continue_token().is_none());
        let answer = match (self, query) {
            (Self::Capture(index), _) => return capture_reply(index, request, config),
            (_, Query::WatchList) => return Lookup::Refused(Answer::unsupported_watch_list()),
            (Self::Bodies(bodies), Query::List) => match (bodies.list.take_if(|_| is_first_page), &bodies.log) {
                (Some(_), None) => match foreign_list(request, cursor) {
                    Some(error) => return Lookup::Refusal(error),
                    None => Some(Answer::list(ListBody::default())),
                },
                (Some(events), Some(log)) => match LoggedState::of(log, events, cursor) {
                    Ok(state) => Some(Answer::state(state)),
                    Err(error) => return Lookup::Refusal(error),
                },
                (None, _) => None,
            },
            (Self::Bodies(bodies), Query::Watch) => bodies.watch.take().map(Answer::watch_log),
        };
        answer.map_or(Lookup::Nothing, Lookup::Answered)
    }

    /// Goes on with what is behind an answer that has ended.
    pub(crate) fn on_end(&mut self, answer: Answer, cursor: &mut FileCursor) {
        if let Self::Bodies(bodies) = self
            && let Some(mut rest) = answer.rest_of_log()
            && rest.has_more(cursor)
        {
            bodies.list = Some(rest.events());
            bodies.watch = Some(rest);
        }
    }

    /// Whether a file that is one body has a response of this kind left.
    pub(crate) fn has_body(&self, query: Query) -> bool {
        match (self, query) {
            (Self::Bodies(bodies), Query::List) => bodies.list == Some(0),
            (Self::Bodies(bodies), Query::Watch) => bodies.watch.is_some(),
            (Self::Bodies(_), Query::WatchList) | (Self::Capture(_), _) => false,
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

/// The error of a list in which nothing is of the resource. Whether it can be read is told when it is played.
fn foreign_list(request: &Request, cursor: &FileCursor) -> Option<CaptureError> {
    let collection = Collection::parse(request.resource.path())?.name;
    let kinds = foreign_kinds(&mut Source::open(cursor.path()).ok()?, &collection);
    if kinds.is_empty() {
        return None;
    }
    let (version, plural) = collection.rsplit_once('/')?;
    let (group, kinds) = (group_of(version), kinds.into_iter().collect::<Vec<_>>().join(", "));
    let dot = if group.is_empty() { "" } else { "." };
    let message = format!("has {kinds} objects, and none of {plural}{dot}{group}; give a file that has them");
    Some(CaptureError::new(cursor.path(), None, Fault::new(CaptureErrorKind::NothingToPlay, message)))
}

fn metadata_only(path: &Path, line: u64) -> CaptureError {
    let message =
        "only metadata was recorded here, and whole objects are requested; request metadata only, or record again";
    CaptureError::new(path, Some(line), Fault::new(CaptureErrorKind::MetadataOnly, message))
}
