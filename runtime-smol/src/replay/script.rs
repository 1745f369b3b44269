//! The tape, read as far ahead as a reconcile needs.

use super::NotedRead;
use super::divergence::Beginning;
use super::requests::is_write;
use super::wrote::{MadeUp, Wrote};
use core::time::Duration;
use listwatch_core::api::Reply;
use listwatch_core::time::WallTime;
use listwatch_transport_file::{LateWrite, Note, NoteKind, SentCall, Step, StepKind, Steps};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// How many bytes of a tape are read ahead for the end of one reconcile.
const MOST_AHEAD: usize = 64 * 1024 * 1024;

pub(super) struct Script {
    /// `None` behind the last step.
    steps: Option<Steps>,
    ahead: VecDeque<Line>,
    records: HashMap<u64, Record>,
    /// The memory of the lines and records, and how much it may be before no more is read ahead.
    held: usize,
    most: usize,
    fault: Option<String>,
    breaks_off: Option<String>,
    has_hashes: bool,
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
    pub(crate) beginning: Beginning,
    pub(crate) late: Vec<LateWrite>,
    pub(super) reads: VecDeque<NotedRead>,
    pub(super) dates: VecDeque<WallTime>,
    pub(super) calls: Vec<RecordedCall>,
    /// None if the tape ends first, or [too long](Self::is_too_long) goes on.
    pub(super) outcome: Option<String>,
    /// The end is so far behind on the tape that it was not looked for.
    pub(super) is_too_long: bool,
    /// The memory that it takes, about.
    weight: usize,
    /// How many answers and sleeps it had.
    resumed: u64,
}

/// The memory of what is small, about.
const ENTRY: usize = 128;

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
        let (ahead, records) = (VecDeque::new(), HashMap::new());
        Self {
            steps: Some(steps),
            ahead,
            records,
            held: 0,
            most: MOST_AHEAD,
            fault: None,
            breaks_off: None,
            has_hashes: false,
        }
    }

    /// The controller of the next line.
    pub(super) fn head(&mut self) -> Option<Arc<str>> {
        while self.ahead.is_empty() && self.read() {}
        self.ahead.front().map(|line| Arc::clone(&line.of))
    }

    pub(super) fn next(&mut self) -> Option<Line> {
        let line = self.ahead.pop_front()?;
        self.held -= line.weight();
        Some(line)
    }

    /// Takes all that the tape has of a reconcile that begins, unless its end is too far ahead.
    pub(super) fn take(&mut self, reconcile: u64) -> Option<Record> {
        let is_open = |script: &Self| script.records.get(&reconcile).is_some_and(|record| record.outcome.is_none());
        while is_open(self) && self.held <= self.most && self.read() {}
        let mut record = self.records.remove(&reconcile)?;
        self.held -= record.weight;
        record.is_too_long = record.outcome.is_none() && self.steps.is_some();
        Some(record)
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

    /// Whether keyed hashes stand for the values of Secrets, as far as the tape was read.
    pub(super) fn has_hashes(&self) -> bool {
        self.has_hashes || self.steps.as_ref().is_some_and(Steps::has_hashes)
    }

    /// Reads the next step. False at the end.
    fn read(&mut self) -> bool {
        match self.steps.as_mut().and_then(Iterator::next) {
            Some(Ok(step)) => self.add(step),
            Some(Err(error)) => {
                (self.fault, self.steps) = (Some(error.to_string()), None);
            }
            None => {
                self.has_hashes = self.has_hashes();
                let steps = self.steps.take();
                let breaks_off = steps.and_then(|steps| steps.breaks_off().map(str::to_owned));
                self.breaks_off = breaks_off.or_else(|| self.breaks_off.take());
            }
        }
        self.steps.is_some()
    }

    fn add(&mut self, step: Step) {
        let Step { at, line: number, reconcile, kind } = step;
        if let StepKind::Noted(Note { of, kind: NoteKind::Began { key, attempt, causes, late }, .. }) = kind {
            let of: Arc<str> = of.into();
            let beginning = Beginning { number: reconcile, line: number, of: Arc::clone(&of), key, attempt, causes };
            let record = Record::new(beginning, late);
            self.held += record.weight;
            self.records.insert(reconcile, record);
            return self.push(Line { at, number, reconcile, of, kind: LineKind::Began });
        }
        // A request after the end of its reconcile is of nobody.
        let Some(record) = self.records.get_mut(&reconcile) else { return };
        let (of, before) = (Arc::clone(&record.beginning.of), record.weight);
        let kind = record.add(number, kind);
        self.held += record.weight - before;
        if let Some(kind) = kind {
            self.push(Line { at, number, reconcile, of, kind });
        }
    }

    fn push(&mut self, line: Line) {
        self.held += line.weight();
        self.ahead.push_back(line);
    }
}

impl Line {
    /// The memory that it takes, about.
    fn weight(&self) -> usize {
        let reads = if let LineKind::Read(reads) = &self.kind { reads.iter().map(NotedRead::weight).sum() } else { 0 };
        size_of::<Self>() + reads
    }
}

impl NotedRead {
    /// The memory that it takes, about.
    fn weight(&self) -> usize {
        size_of::<Self>() + self.stream.len() + self.version.as_ref().map_or(0, String::len)
    }
}

impl Record {
    fn new(beginning: Beginning, late: Vec<LateWrite>) -> Self {
        let causes = beginning.causes.iter().map(String::len);
        let texts = causes.chain(late.iter().map(|late| late.source.len() + late.object.len()));
        let weight = size_of::<Self>() + beginning.key.len() + texts.map(|len| ENTRY + len).sum::<usize>();
        Self {
            beginning,
            late,
            reads: VecDeque::new(),
            dates: VecDeque::new(),
            calls: Vec::new(),
            outcome: None,
            is_too_long: false,
            weight,
            resumed: 0,
        }
    }

    /// What it wrote. Its calls go.
    pub(super) fn take_writes(&mut self) -> Wrote {
        let sent = self.calls.drain(..).map(|call| call.sent).filter(is_write).collect();
        let (beginning, outcome, is_too_long) = (self.beginning.clone(), self.outcome.clone(), self.is_too_long);
        let made_up = MadeUp::default();
        Wrote { beginning, sent, outcome, made_up, is_inexact: false, is_too_long, is_of_tape: true }
    }

    fn add(&mut self, line: u64, kind: StepKind) -> Option<LineKind> {
        self.weight += match &kind {
            StepKind::Sent(sent) => size_of::<RecordedCall>() + sent.target.len() + sent.body.len(),
            StepKind::Answered(_, Reply::Answered(answer)) => answer.body.len(),
            StepKind::Noted(Note { kind: NoteKind::Read { at }, .. }) => {
                at.keys().map(|stream| ENTRY + stream.len()).sum()
            }
            _ => ENTRY,
        };
        match kind {
            StepKind::Noted(note) => self.on_note(line, note.kind),
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

    fn on_note(&mut self, line: u64, note: NoteKind) -> Option<LineKind> {
        match note {
            NoteKind::Began { .. } => None,
            NoteKind::Read { at } if at.is_empty() => {
                self.resumed += 1;
                Some(LineKind::Awoke)
            }
            NoteKind::Read { at } => {
                let after = self.resumed;
                let reads = at.into_iter().map(|(stream, position)| {
                    let (changes, version, read) = (position.changes, position.version, position.read);
                    NotedRead { line, stream, changes, version, read, after }
                });
                let reads: Vec<_> = reads.collect();
                self.reads.extend(reads.iter().cloned());
                Some(LineKind::Read(reads))
            }
            NoteKind::Date { date } => {
                self.dates.push_back(date.0);
                Some(LineKind::Acted)
            }
            NoteKind::Ended { outcome } => {
                self.outcome = Some(outcome);
                Some(LineKind::Ended)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use listwatch_transport_file::Playback;

    #[test]
    fn little_of_a_tape_is_held_for_a_reconcile_without_an_end() {
        let mut lines = vec![
            r#"{"capture":1,"seed":1}"#.to_owned(),
            r#"{"t":0,"id":1,"request":{"method":"GET","path":"/api/v1/nodes","headers":{}}}"#.to_owned(),
            r#"{"t":1,"reconcile":1,"of":"foos","key":"a","attempt":1,"causes":[],"note":1}"#.to_owned(),
        ];
        for number in 2..1_002_u64 {
            let (began, ended) = (2 * number - 2, 2 * number - 1);
            lines.push(format!(
                r#"{{"t":1,"reconcile":{number},"of":"foos","key":"b","attempt":1,"causes":[],"note":{began}}}"#
            ));
            lines.push(format!(r#"{{"t":1,"reconcile":{number},"of":"foos","outcome":"done","note":{ended}}}"#));
        }
        let path = std::env::temp_dir().join(format!("listwatch-script-ahead-{}.jsonl", std::process::id()));
        std::fs::write(&path, lines.join("\n")).unwrap();
        let steps = Playback::from_file(&path).unwrap().steps();
        let mut script = Script { most: 10_000, ..Script::new(steps) };
        script.head().unwrap();
        let record = script.take(1).unwrap();
        assert!(script.ahead.len() < 200, "{} lines are held", script.ahead.len());
        assert!(record.is_too_long && script.held <= 11_000, "{} bytes are held", script.held);
        let (mut began, mut ended) = (0, 0);
        while script.head().is_some() {
            match script.next().unwrap() {
                Line { kind: LineKind::Began, reconcile, .. } if reconcile > 1 => {
                    began += 1;
                    ended += u64::from(script.take(reconcile).unwrap().outcome.is_some());
                }
                _ => {}
            }
        }
        assert_eq!((began, ended, script.held), (1000, 1000, 0));
        std::fs::remove_file(path).unwrap();
    }
}
