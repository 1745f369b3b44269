//! The tape, read as far ahead as a reconcile needs.

use super::NotedRead;
use core::time::Duration;
use listwatch_core::api::Reply;
use listwatch_core::time::WallTime;
use listwatch_transport_file::{LateWrite, Note, SentCall, Step, StepKind, Steps};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub(super) struct Script {
    /// `None` behind the last step.
    steps: Option<Steps>,
    ahead: VecDeque<Line>,
    records: HashMap<u64, Record>,
    fault: Option<String>,
    breaks_off: Option<String>,
}

/// A line of a reconcile.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) at: Duration,
    pub(crate) number: u64,
    pub(crate) reconcile: u64,
    of: Arc<str>,
    pub(crate) kind: LineKind,
}

#[derive(Debug)]
pub(crate) enum LineKind {
    Began,
    /// It read these caches.
    Read(Vec<NotedRead>),
    /// A sleep of it was over.
    Awoke,
    /// It asked for the date, or sent a request.
    Acted,
    /// The request at this place was answered.
    Answered(usize),
    GaveUp,
    Ended,
}

/// All that the tape has of a reconcile.
#[derive(Debug)]
pub(crate) struct Record {
    pub(super) line: u64,
    pub(super) of: Arc<str>,
    pub(crate) key: String,
    pub(crate) attempt: u32,
    pub(crate) causes: Vec<String>,
    pub(crate) late: Vec<LateWrite>,
    pub(super) reads: VecDeque<NotedRead>,
    pub(super) dates: VecDeque<WallTime>,
    pub(super) calls: Vec<RecordedCall>,
    /// None if the tape ends first.
    pub(super) outcome: Option<String>,
    /// How many answers and sleeps it had.
    resumed: u64,
}

#[derive(Debug)]
pub(super) struct RecordedCall {
    pub(super) sent: SentCall,
    pub(super) reply: Option<Reply>,
    /// The replayed reconcile sent it.
    pub(super) is_made: bool,
    /// The replay has come to the answer.
    pub(super) is_answered: bool,
}

impl Script {
    pub(super) fn new(steps: Steps) -> Self {
        Self { steps: Some(steps), ahead: VecDeque::new(), records: HashMap::new(), fault: None, breaks_off: None }
    }

    /// The controller of the next line.
    pub(super) fn head(&mut self) -> Option<Arc<str>> {
        while self.ahead.is_empty() && self.read() {}
        self.ahead.front().map(|line| Arc::clone(&line.of))
    }

    pub(super) fn next(&mut self) -> Option<Line> {
        self.ahead.pop_front()
    }

    /// Takes all that the tape has of a reconcile that begins.
    pub(super) fn take(&mut self, reconcile: u64) -> Option<Record> {
        while self.records.get(&reconcile).is_some_and(|record| record.outcome.is_none()) && self.read() {}
        self.records.remove(&reconcile)
    }

    /// Whether a line before this read of a reconcile needs the cache at an earlier position, for another one.
    pub(super) fn is_needed_before(&self, reconcile: u64, read: &NotedRead) -> bool {
        let before = self.ahead.iter().take_while(|line| line.number < read.line);
        before.filter(|line| line.reconcile != reconcile).any(|line| match &line.kind {
            LineKind::Read(reads) => {
                reads.iter().any(|other| other.stream == read.stream && other.changes < read.changes)
            }
            _ => false,
        })
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.fault.clone()
    }

    /// Where the tape breaks off, if that was found.
    pub(super) fn breaks_off(&self) -> Option<&str> {
        self.breaks_off.as_deref()
    }

    /// Reads the next step. False at the end.
    fn read(&mut self) -> bool {
        match self.steps.as_mut().and_then(Iterator::next) {
            Some(Ok(step)) => self.add(step),
            Some(Err(error)) => {
                (self.fault, self.steps) = (Some(error.to_string()), None);
            }
            None => {
                let steps = self.steps.take();
                let breaks_off = steps.and_then(|steps| steps.breaks_off().map(str::to_owned));
                self.breaks_off = breaks_off.or_else(|| self.breaks_off.take());
            }
        }
        self.steps.is_some()
    }

    fn add(&mut self, step: Step) {
        let Step { at, line: number, reconcile, kind } = step;
        if let StepKind::Noted(note @ Note::Began { .. }) = kind {
            if let Some(record) = Record::begin(number, note) {
                let of = Arc::clone(&record.of);
                self.records.insert(reconcile, record);
                self.ahead.push_back(Line { at, number, reconcile, of, kind: LineKind::Began });
            }
            return;
        }
        // A request after the end of its reconcile is of nobody.
        let Some(record) = self.records.get_mut(&reconcile) else { return };
        let of = Arc::clone(&record.of);
        if let Some(kind) = record.add(number, kind) {
            self.ahead.push_back(Line { at, number, reconcile, of, kind });
        }
    }
}

impl Record {
    fn begin(line: u64, note: Note) -> Option<Self> {
        let Note::Began { of, key, attempt, causes, late, .. } = note else { return None };
        Some(Self {
            line,
            of: of.into(),
            key,
            attempt,
            causes,
            late,
            reads: VecDeque::new(),
            dates: VecDeque::new(),
            calls: Vec::new(),
            outcome: None,
            resumed: 0,
        })
    }

    fn add(&mut self, line: u64, kind: StepKind) -> Option<LineKind> {
        match kind {
            StepKind::Noted(Note::Began { .. }) => None,
            StepKind::Noted(Note::Read { at, .. }) if at.is_empty() => {
                self.resumed += 1;
                Some(LineKind::Awoke)
            }
            StepKind::Noted(Note::Read { at, .. }) => {
                let after = self.resumed;
                let reads = at.into_iter().map(|(stream, position)| {
                    let (changes, version, read) = (position.changes, position.version, position.read);
                    NotedRead { line, stream, changes, version, read, after }
                });
                let reads: Vec<_> = reads.collect();
                self.reads.extend(reads.iter().cloned());
                Some(LineKind::Read(reads))
            }
            StepKind::Noted(Note::Date { date, .. }) => {
                self.dates.push_back(date);
                Some(LineKind::Acted)
            }
            StepKind::Noted(Note::Ended { outcome, .. }) => {
                self.outcome = Some(outcome);
                Some(LineKind::Ended)
            }
            StepKind::Sent(sent) => {
                self.calls.push(RecordedCall { sent, reply: None, is_made: false, is_answered: false });
                Some(LineKind::Acted)
            }
            StepKind::Answered(id, reply) => {
                self.resumed += 1;
                let place = self.calls.iter().position(|call| call.sent.id == id)?;
                self.calls[place].reply = Some(reply);
                Some(LineKind::Answered(place))
            }
            StepKind::GivenUp(_) => Some(LineKind::GaveUp),
        }
    }
}
