//! The responses in a file, by request.

use super::answer::{Answer, LoggedWatch};
use super::config::PlaybackConfig;
use super::logged_state::{Left, LoggedState};
use crate::body::{BodySurvey, ListBody, LoggedKind, Relist, WatchLog};
use crate::capture::{Collection, Index, Taken};
use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::file::FileCursor;
use crate::kinds::{group_of, is_foreign, root_of};
use core::time::Duration;
use listwatch_core::Resource;
use listwatch_core::request::{Query, Request};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The responses in a file.
#[expect(clippy::large_enum_variant, reason = "a playback has one")]
pub(crate) enum AnswerSource {
    Capture(Index),
    Bodies(Bodies),
}

/// The answers of a file that is a list or a log, to any resource. Of several kinds, a resource gets the objects of its own.
///
/// A list shows the objects up to here, and a watch goes on from here. It ends with an error of its server, and where the
/// log lists objects anew. So nothing is lost if a watch is given up.
pub(crate) struct Bodies {
    survey: Arc<BodySurvey>,
    /// Whether it may have the objects of a resource of another kind.
    is_list: bool,
    /// The beginning of a log; `None` for a file that is delivered as one list.
    begin: Option<WatchLog>,
    /// What is left of the log, if no watch is open.
    rest: Option<WatchLog>,
    /// The relist that comes next.
    next: usize,
    was_listed: bool,
    /// How many lists showed the objects up to some event, and up to which the last one did.
    states: u32,
    listed: u64,
    passed_errors: Arc<AtomicU64>,
    resources: Arc<[Resource]>,
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
    /// A file of one list, or of a log that is read from its beginning.
    pub(crate) fn bodies(survey: Arc<BodySurvey>, is_list: bool, begin: Option<WatchLog>) -> Self {
        let named = survey.kinds.iter().filter(|kind| kind.is_named());
        let resources =
            named.map(|kind| Resource::new(&format!("{}/{}", root_of(&kind.api_version), kind.collection()))).collect();
        let (rest, next, was_listed) = (begin.clone(), 0, false);
        let (states, listed, passed_errors) = Default::default();
        Self::Bodies(Bodies {
            survey,
            is_list,
            rest,
            begin,
            next,
            was_listed,
            states,
            listed,
            passed_errors,
            resources,
        })
    }

    /// The same for another transport: a capture goes on, and a body begins anew.
    pub(crate) fn shared(&self) -> Self {
        match self {
            Self::Capture(index) => Self::Capture(index.clone()),
            Self::Bodies(Bodies { survey, is_list, begin, .. }) => {
                Self::bodies(Arc::clone(survey), *is_list, begin.clone())
            }
        }
    }

    /// The index of a capture.
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Capture(index) => Some(index),
            Self::Bodies(_) => None,
        }
    }

    /// The list or log of a file that is no capture.
    pub(crate) fn body(&self) -> Option<&Bodies> {
        match self {
            Self::Capture(_) => None,
            Self::Bodies(bodies) => Some(bodies),
        }
    }

    /// Takes the next response to a request. `cursor` reads the file.
    pub(crate) fn reply(&mut self, request: &Request, config: PlaybackConfig, cursor: &FileCursor) -> Lookup {
        match (self, request.query()) {
            (Self::Capture(index), _) => capture_reply(index, request, config),
            (_, Query::WatchList) => Lookup::Refused(Answer::unsupported_watch_list()),
            (Self::Bodies(_), Query::List) if request.continue_token().is_some() => {
                Lookup::Refusal(CaptureError::new(cursor.path(), None, Fault::page()))
            }
            (Self::Bodies(bodies), Query::List) => bodies.list(request, config, cursor),
            (Self::Bodies(bodies), Query::Watch) => bodies.watch(request, config),
        }
    }

    /// Goes on with what is behind an answer that has ended.
    pub(crate) fn on_end(&mut self, answer: Answer, cursor: &mut FileCursor) {
        if let Self::Bodies(bodies) = self {
            bodies.on_end(answer, cursor);
        }
    }

    /// Whether a file that is a list or a log has a response of this kind left.
    pub(crate) fn has_body(&self, query: Query) -> bool {
        match (self, query) {
            (Self::Bodies(bodies), Query::List) => !bodies.was_listed,
            (Self::Bodies(bodies), Query::Watch) => bodies.has_more(),
            (Self::Bodies(_), Query::WatchList) | (Self::Capture(_), _) => false,
        }
    }
}

impl Bodies {
    /// How many errors did not end their watch.
    pub(crate) fn passed_errors(&self) -> u64 {
        self.passed_errors.load(Ordering::Relaxed)
    }

    pub(crate) fn survey(&self) -> &BodySurvey {
        &self.survey
    }

    pub(crate) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn list(&mut self, request: &Request, config: PlaybackConfig, cursor: &FileCursor) -> Lookup {
        if self.is_list
            && let Some(error) = self.foreign_list(request, cursor)
        {
            return Lookup::Refusal(error);
        }
        let Some(begin) = &self.begin else {
            let was_listed = std::mem::replace(&mut self.was_listed, true);
            return if was_listed { Lookup::Nothing } else { Lookup::Answered(Answer::list(ListBody::default())) };
        };
        let kind = self.kind(request);
        let due = self.due(kind);
        if self.was_listed && due.is_none() && !self.has_more() {
            return Lookup::Nothing;
        }
        self.was_listed = true;
        let events = due.map_or_else(|| self.events(), |relist| self.survey.relists[relist].until);
        let at = if config.is_dated() { self.survey.time(events) } else { Duration::ZERO };
        // Nothing that was told before is there behind it.
        let is_all = |relist: &usize| {
            let Relist { from, kinds, .. } = &self.survey.relists[*relist];
            *from == self.events() && (*from == 0 || kind.is_some() || kinds.len() == self.survey.kinds.len())
        };
        if let Some(relist) = due.filter(is_all)
            && let Some(rest) = self.rest.take()
        {
            return Lookup::Answered(Answer::state(LoggedState::next_of(rest, &self.survey, relist, kind), at));
        }
        (self.states, self.listed) = (self.states + 1, events);
        match LoggedState::of(begin, &self.survey, (events, due, kind), cursor) {
            Ok(state) => Lookup::Answered(Answer::state(state, at)),
            Err(error) => Lookup::Refusal(error),
        }
    }

    fn watch(&mut self, request: &Request, config: PlaybackConfig) -> Lookup {
        let kind = self.kind(request);
        if self.due(kind).is_some() {
            return Lookup::Answered(Answer::expired());
        }
        let until = self.survey.next_relist(self.next, kind).map(|relist| self.survey.relists[relist].from);
        let rest = self.rest.take_if(|rest| self.survey.has_more(rest.events()));
        rest.map_or(Lookup::Nothing, |log| {
            let (survey, is_dated) = (Arc::clone(&self.survey), config.is_dated());
            let (patient_until, passed_errors) = (self.patient_until(), Arc::clone(&self.passed_errors));
            let is_over = false;
            let watch = LoggedWatch { log, survey, kind, until, patient_until, passed_errors, is_dated, is_over };
            Lookup::Answered(Answer::watch_log(watch))
        })
    }

    fn on_end(&mut self, answer: Answer, cursor: &mut FileCursor) {
        match answer.rest_of_log() {
            Left::Rest(rest) => self.rest = Some(rest),
            Left::Listed(relist, rest) => (self.next, self.rest) = (relist + 1, Some(rest)),
            Left::Showed(events, relist) => {
                self.go_to(events, cursor);
                self.next = relist.map_or(self.next, |relist| relist + 1);
            }
            Left::Unread => {
                *cursor = FileCursor::new(Arc::clone(cursor.path()), cursor.line_limit());
                self.rest.clone_from(&self.begin);
                let from = self.survey.relists.get(self.next).map_or(0, |relist| relist.from);
                self.go_to(from, cursor);
            }
            Left::Nothing => {}
        }
    }

    /// Passes over events, in which the first reading found no fault.
    fn go_to(&mut self, events: u64, cursor: &mut FileCursor) {
        let Some(rest) = &mut self.rest else { return };
        while rest.events() < events && rest.next_event(cursor).is_ok_and(|event| event.is_some()) {}
    }

    /// The relist that begins here, which a list has to tell.
    fn due(&self, kind: Option<usize>) -> Option<usize> {
        let next = self.survey.next_relist(self.next, kind)?;
        (self.survey.relists[next].from <= self.events()).then_some(next)
    }

    /// Up to how many events an error does not end a watch. A list behind it reads the log from its beginning. So behind the
    /// first ones the log has to grow by an eighth, and all of them together read a few times the log.
    fn patient_until(&self) -> u64 {
        if self.states <= FREE_STATES { 0 } else { self.listed + self.listed / 8 }
    }

    fn events(&self) -> u64 {
        self.rest.as_ref().map_or(0, WatchLog::events)
    }

    fn has_more(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| self.survey.has_more(rest.events()))
    }

    /// The kind of a resource, if the file has others too. A resource of another name has the objects that do not say theirs.
    fn kind(&self, request: &Request) -> Option<usize> {
        let (name, kinds) = (Collection::parse(request.resource.path()).map(|it| it.name), &self.survey.kinds);
        let named = kinds.iter().position(|kind| kind.is_named() && Some(kind.collection()) == name);
        let unnamed = || kinds.iter().position(|kind| !kind.is_named());
        named.or_else(unnamed).filter(|_| kinds.len() > 1)
    }

    /// The error of a list in which nothing is of the resource.
    fn foreign_list(&self, request: &Request, cursor: &FileCursor) -> Option<CaptureError> {
        let (kinds, collection) = (&self.survey.kinds, Collection::parse(request.resource.path())?.name);
        let is_foreign = |it: &LoggedKind| {
            let is_name = !it.kind.is_empty() && it.kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
            is_name && is_foreign(&collection, &it.api_version, &it.kind)
        };
        if kinds.is_empty() || self.survey.fault.is_some() || !kinds.iter().all(is_foreign) {
            return None;
        }
        let mut names: Vec<&str> = kinds.iter().map(|kind| &*kind.kind).collect();
        names.sort_unstable();
        names.truncate(NAMED);
        let (version, plural) = collection.rsplit_once('/')?;
        let (group, kinds) = (group_of(version), names.join(", "));
        let dot = if group.is_empty() { "" } else { "." };
        let message = format!("has {kinds} objects, and none of {plural}{dot}{group}; give a file that has them");
        Some(CaptureError::new(cursor.path(), None, Fault::new(CaptureErrorKind::NothingToPlay, message)))
    }
}

/// How many lists read the log from its beginning, whatever is between them.
const FREE_STATES: u32 = 16;

/// How many kinds are named.
const NAMED: usize = 8;

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
