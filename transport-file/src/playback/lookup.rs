//! What a file holds for which request.

use super::answer::Answer;
use crate::body::Body;
use crate::capture::Index;
use listwatch_core::request::{Query, Request};

/// The answers that a file has.
pub(crate) enum AnswerSource {
    Capture(Box<Index>),
    /// A file without requests: its bytes are one body, for whatever resource is asked for.
    Body {
        list: Option<Box<Answer>>,
        watch: Option<Box<Answer>>,
    },
}

/// How a request is met.
pub(crate) enum Lookup {
    Answered(Answer),
    /// The connection failed when this was recorded, or the request is one that an old server does not know.
    Refused(Answer),
    /// What was recorded is less than is asked for: metadata alone, as of this line.
    MetadataOnly(u64),
    /// Nothing is left for it.
    Nothing,
}

impl AnswerSource {
    /// A file of watch events: nothing was there when they began.
    pub(crate) fn watch_log(body: Body) -> Self {
        Self::Body { list: Some(Answer::empty_list().into()), watch: Some(Answer::file(body).into()) }
    }

    /// A file that is one list.
    pub(crate) fn list() -> Self {
        Self::Body { list: Some(Answer::file(Body::list()).into()), watch: None }
    }

    /// The table of contents of a capture.
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Capture(index) => Some(index),
            Self::Body { .. } => None,
        }
    }

    /// The next answer to such a request.
    pub(crate) fn reply(&mut self, request: &Request, skip_bad_lines: bool) -> Lookup {
        match self {
            Self::Capture(index) => capture_reply(index, request, skip_bad_lines),
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

    /// How many answers of this kind were not given out.
    pub(crate) fn left(&self, query: Query) -> u64 {
        match (self, query) {
            (Self::Capture(index), _) => index.left(query),
            (Self::Body { list, .. }, Query::List) => list.is_some().into(),
            (Self::Body { watch, .. }, Query::Watch) => watch.is_some().into(),
            (Self::Body { .. }, Query::WatchList) => 0,
        }
    }
}

fn capture_reply(index: &mut Index, request: &Request, skip_bad_lines: bool) -> Lookup {
    // A server that streamed the initial events before would do so again: such a recording is over. But a client that
    // waited for them in vain did not ask again.
    let unsupported = request.query() == Query::WatchList && (!index.knows(request) || index.turned_to_lists(request));
    let last = index.exchanges().last();
    match index.take(request) {
        Some(exchange) if exchange.metadata_only && !request.resource.is_metadata_only() => {
            Lookup::MetadataOnly(exchange.first)
        }
        Some(exchange) => {
            let answer = Answer::recorded(exchange, exchange.last < last, skip_bad_lines);
            if exchange.is_refused() { Lookup::Refused(answer) } else { Lookup::Answered(answer) }
        }
        None if unsupported => Lookup::Refused(Answer::unsupported_watch_list()),
        None => Lookup::Nothing,
    }
}
