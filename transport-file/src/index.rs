//! The table of contents of a capture: all that is held of it in memory.

use crate::error::{CaptureError, CaptureErrorKind, Fault};
use crate::exchange::{Exchange, Question, Stage, is_list_or_watch, misplaced};
use crate::format::{End, Line, Record, RequestRecord, Text, VERSION, What};
use crate::tape::Tape;
use listwatch_core::{Query, Request, Resource};
use std::collections::HashMap;

/// The exchanges of a capture in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct Index {
    exchanges: Vec<Exchange>,
    resources: Vec<Resource>,
    /// The line of the last record.
    last: u64,
    bad_lines: u64,
    fault: Option<CaptureError>,
}

impl Index {
    /// Reads a capture through, once.
    pub(crate) fn read(tape: &mut Tape, skip_bad_lines: bool) -> Result<Self, CaptureError> {
        let mut reading = Reading::default();
        let path = tape.path().clone();
        let lines = tape.at(1)?;
        loop {
            let read = match lines.next() {
                Ok(None) => break,
                Ok(Some((number, line))) => {
                    reading.line(number, line).map_err(|fault| CaptureError::new(&path, Some(number), fault))
                }
                Err(error) => Err(error),
            };
            match read {
                Ok(()) => {}
                Err(error) if skip_bad_lines && error.is_bad_line() => reading.index.bad_lines += 1,
                Err(error) => {
                    reading.index.fault = Some(error);
                    break;
                }
            }
        }
        let mut index = reading.index;
        if index.resources.is_empty() {
            return Err(index.fault.take().unwrap_or_else(|| CaptureError::new(&path, None, index.nothing_to_play())));
        }
        Ok(index)
    }

    /// The next recorded answer to such a request.
    pub(crate) fn take(&mut self, request: &Request) -> Option<&Exchange> {
        let question = self.question(request)?;
        let fits = |exchange: &Exchange| !exchange.taken && exchange.question.as_ref() == Some(&question);
        let any_form = request.resource.is_metadata_only();
        let in_form = |exchange: &Exchange| fits(exchange) && (any_form || !exchange.metadata_only);
        let found = self.exchanges.iter().position(in_form).or_else(|| self.exchanges.iter().position(fits))?;
        let found = &mut self.exchanges[found];
        found.taken = true;
        Some(found)
    }

    /// Whether the server that was recorded knew such requests at all.
    pub(crate) fn knows(&self, request: &Request) -> bool {
        let question = self.question(request);
        question.is_some() && self.exchanges.iter().any(|exchange| exchange.question == question)
    }

    /// Whether the client that was recorded waited for such an answer in vain, and then asked for a list instead.
    pub(crate) fn turned_to_lists(&self, request: &Request) -> bool {
        let Some(question) = self.question(request) else { return false };
        let asked = |exchange: &&Exchange| exchange.question.as_ref() == Some(&question);
        let list = Question { query: Query::List, ..question.clone() };
        let left = |exchange: &Exchange| !exchange.taken && exchange.question.as_ref() == Some(&list);
        self.exchanges.iter().rfind(asked).is_some_and(|last| last.taken && last.given_up)
            && self.exchanges.iter().any(left)
    }

    /// The line of the last record.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// What was listed or watched, in the order of the first requests.
    pub(crate) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// How many recorded answers of this kind were not given out.
    pub(crate) fn left(&self, query: Query) -> u64 {
        let left = self.exchanges.iter().filter(|exchange| !exchange.taken);
        left.filter_map(|exchange| exchange.question.as_ref()).filter(|question| question.query == query).count() as u64
    }

    /// How many recorded requests are neither lists nor watches.
    pub(crate) fn others(&self) -> u64 {
        self.exchanges.iter().filter(|exchange| exchange.question.is_none()).count() as u64
    }

    pub(crate) fn bad_lines(&self) -> u64 {
        self.bad_lines
    }

    /// Why the index ends before the file does.
    pub(crate) fn fault(&self) -> Option<&CaptureError> {
        self.fault.as_ref()
    }

    fn question(&self, request: &Request) -> Option<Question> {
        let resource = self.resources.iter().position(|resource| is_same(resource, &request.resource))?;
        Some(Question { resource, query: request.query(), page: request.continue_token().map(Into::into) })
    }

    fn nothing_to_play(&self) -> Fault {
        let (others, bad) = (self.others(), self.bad_lines);
        let found = format!("no lists nor watches in here (other requests: {others}, bad lines: {bad})");
        Fault::new(CaptureErrorKind::NothingToPlay, format!("{found}; record a program that lists or watches"))
    }
}

/// An index that is being made.
#[derive(Default)]
struct Reading {
    index: Index,
    /// Where in the index each recorded id is.
    places: HashMap<u64, usize>,
    begun: bool,
}

impl Reading {
    fn line(&mut self, number: u64, line: &[u8]) -> Result<(), Fault> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.begun, true);
        match Line::parse(line)? {
            Line::Start { version: VERSION, .. } if first => Ok(()),
            Line::Start { version, .. } if first => Err(unknown_version(version)),
            Line::Start { .. } => Err(misplaced("the version of the capture belongs in the first line")),
            Line::Record(record) => self.record(number, &record),
        }
    }

    fn record(&mut self, number: u64, record: &Record<'_>) -> Result<(), Fault> {
        let known = self.places.get(&record.id).map(|&place| &mut self.index.exchanges[place]);
        match (known, &record.what) {
            (Some(exchange), what) => {
                exchange.stage = exchange.stage.after(what)?;
                exchange.answered |= exchange.stage == Stage::Answered;
                exchange.given_up |= matches!(what, What::End(End { by_client: true, .. }));
                exchange.last = number;
            }
            (None, What::Request(request)) => self.request(number, record, request),
            (None, _) => return Err(misplaced(format_args!("a record for request {}, which is not there", record.id))),
        }
        self.index.last = number;
        Ok(())
    }

    fn request(&mut self, number: u64, record: &Record<'_>, sent: &RequestRecord<'_>) {
        let mut request = Request::parse(&sent.path);
        let metadata_only = asks_for_metadata_only(sent);
        if metadata_only {
            request.resource = request.resource.metadata_only();
        }
        let question = is_list_or_watch(&sent.method, &request).then(|| self.question(&request));
        self.places.insert(record.id, self.index.exchanges.len());
        self.index.exchanges.push(Exchange {
            id: record.id,
            asked: record.t,
            first: number,
            last: number,
            stage: Stage::Asked,
            answered: false,
            given_up: false,
            taken: false,
            metadata_only,
            question,
        });
    }

    fn question(&mut self, request: &Request) -> Question {
        if !self.index.resources.iter().any(|resource| is_same(resource, &request.resource)) {
            self.index.resources.push(request.resource.clone());
        }
        let question = self.index.question(request);
        question.unwrap_or_else(|| unreachable!("the resource was added above"))
    }
}

fn unknown_version(version: u64) -> Fault {
    let message = format!("version {version} of the capture format is unknown here; use a release that reads it");
    Fault::new(CaptureErrorKind::Version, message)
}

/// Whether the server was asked to leave out all but the metadata.
fn asks_for_metadata_only(sent: &RequestRecord<'_>) -> bool {
    let accept = sent.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("accept"));
    accept.is_some_and(|(_, Text(types))| types.contains("as=PartialObjectMetadata"))
}

/// Whether the same objects are meant, in whatever form they are asked for: a recording has but one.
fn is_same(one: &Resource, other: &Resource) -> bool {
    (one.path(), one.labels(), one.fields()) == (other.path(), other.labels(), other.fields())
}
