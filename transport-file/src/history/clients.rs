//! From the lines of a capture to what its clients were told.

use super::bodies::{BodyReader, EXPIRED, PageEnd, Reads};
use super::change::{Observation, Told};
use super::scope::Scope;
use crate::capture::Data;
use crate::capture::format::{Line, Payload, Record, RequestRecord, ResponseRecord};
use crate::error::Fault;
use crate::memory::Memory;
use crate::object::{ObjectText, number};
use listwatch_core::request::Verb;
use memchr::memmem::Finder;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The lists and watches of a capture that are open.
#[derive(Debug)]
pub(crate) struct Clients {
    scopes: HashSet<Arc<Scope>>,
    /// The scopes that were watched.
    pub(crate) watched: HashSet<Arc<Scope>>,
    /// The scopes whose answers are passed over.
    pub(crate) ignored: HashSet<Arc<Scope>>,
    open: HashMap<u64, Exchange>,
    /// The newest list of each scope that has a page to come, with the token of that page.
    continued: HashMap<Arc<Scope>, (String, BodyReader)>,
    /// That of the open lists, of the scopes, and of what the caller keeps.
    pub(crate) memory: Memory,
    /// The text without which events of watches are passed over.
    pub(crate) naming: Option<Finder<'static>>,
    /// How objects are read.
    reads: Reads,
    /// How many pieces of bodies that was.
    pub(crate) passed_over: u64,
}

#[derive(Debug)]
struct Exchange {
    scope: Arc<Scope>,
    answer: Answer,
}

#[derive(Debug)]
enum Answer {
    /// That of a watch from a version, before it comes.
    Requested(Option<u64>),
    Body(Box<BodyReader>),
}

impl Answer {
    /// The memory that it takes.
    fn weight(&self) -> u64 {
        match self {
            Self::Requested(_) => 0,
            Self::Body(body) => body.weight(),
        }
    }
}

impl Clients {
    pub(crate) fn new(memory: Memory) -> Self {
        Self {
            memory,
            naming: None,
            reads: ObjectText::of_bytes,
            passed_over: 0,
            scopes: HashSet::new(),
            watched: HashSet::new(),
            ignored: HashSet::new(),
            open: HashMap::new(),
            continued: HashMap::new(),
        }
    }

    /// Those of the same capture from its first line on, without those of these scopes.
    pub(crate) fn again(self, ignored: HashSet<Arc<Scope>>) -> Self {
        let memory = self.memory.anew();
        // They fitted before.
        let _fits = memory.take(self.scopes.iter().map(|scope| scope.weight()).sum());
        let Self { scopes, watched, naming, reads, .. } = self;
        Self { scopes, watched, naming, reads, ignored, ..Self::new(memory) }
    }

    /// Reads objects so from here on, those of open answers too.
    pub(crate) fn read_by(&mut self, reads: Reads) {
        self.reads = reads;
        for exchange in self.open.values_mut() {
            if let Answer::Body(body) = &mut exchange.answer {
                body.reads = reads;
            }
        }
    }

    /// Takes a line, and adds what it tells to `told`. Returns its time, if it has one.
    pub(crate) fn line(&mut self, line: Line<'_>, told: &mut Vec<Observation>) -> Result<Option<u64>, Fault> {
        let Record { t, id, payload } = match line {
            Line::Record(record) => record,
            Line::Start(..) => return Ok(None),
            Line::Note(t, ..) | Line::Finished(t) => return Ok(Some(t)),
        };
        let before = told.len();
        match payload {
            Payload::Request(request) => self.request(id, &request)?,
            Payload::Response(response) => self.response(id, &response, told),
            Payload::Data(data) => self.data(id, data, told)?,
            Payload::End(_) => self.end(id, told)?,
        }
        told[before..].iter().try_for_each(|observation| observation.told.check())?;
        Ok(Some(t))
    }

    fn request(&mut self, id: u64, sent: &RequestRecord<'_>) -> Result<(), Fault> {
        let Some(request) = sent.asked() else { return Ok(()) };
        let Some(scope) = Scope::of(&request.resource) else { return Ok(()) };
        let scope = self.shared(scope)?;
        let answer = match &request.verb {
            Verb::List { continue_token: None, .. } => {
                self.drop_pages(&scope);
                Answer::Body(BodyReader::list().reading(self.reads).into())
            }
            Verb::List { continue_token: Some(token), .. } => match self.continued.remove(&scope) {
                Some((expected, list)) if *expected == **token => Answer::Body(list.into()),
                Some((_, list)) => {
                    self.memory.give_back(list.weight());
                    return Ok(());
                }
                None => return Ok(()),
            },
            Verb::Watch { resource_version, initial_events, .. } => {
                self.watched.insert(Arc::clone(&scope));
                let version = resource_version.as_deref().map_or(0, number);
                Answer::Requested((!initial_events).then_some(version))
            }
        };
        self.open.insert(id, Exchange { scope, answer });
        Ok(())
    }

    /// A watch begins with its answer. An answer that is no success tells nothing.
    fn response(&mut self, id: u64, response: &ResponseRecord<'_>, told: &mut Vec<Observation>) {
        let Some(exchange) = self.open.get_mut(&id) else { return };
        if response.status != 200 {
            let expired = response.status == EXPIRED && matches!(exchange.answer, Answer::Requested(_));
            let scope = Arc::clone(&exchange.scope);
            told.extend(expired.then_some(Observation { scope, told: Told::Expired }));
            self.close(id);
            return;
        }
        if let Answer::Requested(version) = exchange.answer {
            exchange.answer = Answer::Body(BodyReader::watch(version.is_none()).reading(self.reads).into());
            let begun = version.map(|version| Told::Watching { version });
            told.extend(begun.map(|told| Observation { scope: Arc::clone(&exchange.scope), told }));
        }
    }

    fn data(&mut self, id: u64, data: Data<'_>, told: &mut Vec<Observation>) -> Result<(), Fault> {
        let Some(exchange) = self.open.get_mut(&id) else { return Ok(()) };
        if let (Some(text), Answer::Body(body)) = (&self.naming, &exchange.answer)
            && body.is_between_events()
            && data.is_lines_without(text)
        {
            self.passed_over += 1;
            return Ok(());
        }
        self.memory.give_back(exchange.answer.weight());
        if self.ignored.contains(&exchange.scope) {
            self.open.remove(&id);
            return Ok(());
        }
        if let Answer::Body(body) = &mut exchange.answer {
            let mut news = Vec::new();
            if !data.line().is_some_and(|line| body.line(line, &mut news)) {
                body.read(&data.bytes(), &self.memory, &mut news)?;
            }
            told.extend(news.into_iter().map(|told| Observation { scope: Arc::clone(&exchange.scope), told }));
        }
        self.memory.take(exchange.answer.weight())
    }

    fn close(&mut self, id: u64) -> Option<Exchange> {
        let exchange = self.open.remove(&id)?;
        self.memory.give_back(exchange.answer.weight());
        Some(exchange)
    }

    fn end(&mut self, id: u64, told: &mut Vec<Observation>) -> Result<(), Fault> {
        let Some(Exchange { scope, answer: Answer::Body(body) }) = self.close(id) else { return Ok(()) };
        match body.end() {
            PageEnd::Complete(all) => told.push(Observation { scope, told: all }),
            PageEnd::Continued(token, list) => {
                // Those of another list that began at the same time.
                self.drop_pages(&scope);
                self.memory.take(list.weight())?;
                self.continued.insert(scope, (token, *list));
            }
            PageEnd::Broken => {}
        }
        Ok(())
    }

    /// Drops the pages of a list that goes on no more.
    fn drop_pages(&mut self, scope: &Arc<Scope>) {
        self.memory.give_back(self.continued.remove(scope).map_or(0, |(_, list)| list.weight()));
    }

    fn shared(&mut self, scope: Scope) -> Result<Arc<Scope>, Fault> {
        if let Some(known) = self.scopes.get(&scope) {
            return Ok(Arc::clone(known));
        }
        self.memory.take(scope.weight())?;
        let scope = Arc::new(scope);
        self.scopes.insert(Arc::clone(&scope));
        Ok(scope)
    }
}
