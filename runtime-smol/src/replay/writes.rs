//! The writes of two builds of a controller, compared reconcile by reconcile.

use super::divergence::{Diverged, Findings, Found};
use super::matching::is_write;
use super::writes_file::{Line, Start};
use super::wrote::{MadeUp, Wrote};
use core::fmt;
use listwatch_core::text::Printable;
use listwatch_transport_file::{Note, Playback, Step, StepKind, Steps};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The longest line of a file of writes, in bytes.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The writes of a replay, which the replayed program wrote to the file that [`REPLAY_WRITES`](super::REPLAY_WRITES) named.
pub struct Writes {
    /// Which program it was, for messages.
    name: String,
    file: BufReader<File>,
    /// The number of the last line.
    line: u64,
    start: Start,
    /// The controllers that began and did not end.
    running: BTreeSet<String>,
    has_controllers: bool,
}

/// The reason why writes cannot be compared: one line, with the program that wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WritesError {
    name: String,
    why: String,
}

impl Writes {
    /// Opens the file. Messages call the program by this name.
    ///
    /// # Errors
    /// The file cannot be read, or is no file of writes.
    pub fn from_file(name: impl Into<String>, path: impl AsRef<Path>) -> Result<Self, WritesError> {
        let name = name.into();
        let error = |why: String| WritesError { name: name.clone(), why };
        let is_file = std::fs::symlink_metadata(&path).map(|metadata| metadata.is_file());
        let file = match is_file {
            Ok(true) => File::open(&path),
            Ok(false) => return Err(error("its writes are not in a regular file".to_owned())),
            Err(unreadable) => Err(unreadable),
        };
        let file = BufReader::new(file.map_err(|why| error(format!("its writes cannot be read: {why}")))?);
        let (running, start) = (BTreeSet::new(), Start::default());
        let mut writes = Self { name: name.clone(), file, line: 0, start, running, has_controllers: false };
        match writes.read_line()? {
            Some(Line::Start(start)) if start.is_known() => Ok(Self { start, ..writes }),
            _ => Err(error("its writes have another form; build both with one version of listwatch".to_owned())),
        }
    }

    /// The writes of the next reconcile that ended.
    fn read(&mut self) -> Result<Option<Wrote>, WritesError> {
        while let Some(line) = self.read_line()? {
            match line {
                Line::Reconcile(reconcile) => return Ok(Some(reconcile.read())),
                Line::Controller { controller } => {
                    self.has_controllers = true;
                    self.running.insert(controller);
                }
                Line::Over { over, error: None } => _ = self.running.remove(&over),
                Line::Over { over, error: Some(error) } => {
                    return Err(self.error(format!("the replay of {over} ended before its tape: {error}")));
                }
                Line::Start(_) => return Err(self.error(format!("line {} of its writes begins them again", self.line))),
            }
        }
        match self.running.first() {
            Some(controller) => Err(self.error(format!("its writes are cut: the replay of {controller} did not end"))),
            None if self.has_controllers => Ok(None),
            None => Err(self.error("its writes are cut: no controller began".to_owned())),
        }
    }

    fn read_line(&mut self) -> Result<Option<Line<'static>>, WritesError> {
        let (mut line, number) = (Vec::new(), self.line + 1);
        let read = (&mut self.file).take(LONGEST).read_until(b'\n', &mut line);
        match read {
            Err(why) => return Err(self.error(format!("line {number} of its writes cannot be read: {why}"))),
            Ok(0) => return Ok(None),
            Ok(_) if line.last() != Some(&b'\n') => {
                return Err(self.error(format!("its writes are cut in line {number}")));
            }
            Ok(_) => self.line = number,
        }
        let parsed = serde_json::from_slice(&line);
        parsed.map(Some).map_err(|_| self.error(format!("line {number} of its writes is none that a replay writes")))
    }

    /// Checks that the program replayed this tape.
    fn check(&self, tape: &Start) -> Result<(), WritesError> {
        let name = |cluster: &Option<String>| cluster.clone().unwrap_or_default();
        if tape.cluster != self.start.cluster && tape.cluster.is_some() && self.start.cluster.is_some() {
            let (tape, replayed) = (name(&tape.cluster), name(&self.start.cluster));
            let why = format!("it replayed a tape of the cluster {replayed}, and this one is of the cluster {tape}");
            return Err(self.error(why));
        }
        if *tape == self.start { Ok(()) } else { Err(self.another_tape()) }
    }

    fn another_tape(&self) -> WritesError {
        self.error("it replayed another tape; let it take the tape's path from its arguments".to_owned())
    }

    fn error(&self, why: String) -> WritesError {
        WritesError { name: self.name.clone(), why }
    }
}

impl Findings {
    /// Compares the writes of two builds that replayed one tape, or those of one build with the tape's own, if there is no
    /// `old` one. In the result, the tape is the old build.
    ///
    /// # Errors
    /// The tape or a file cannot be read, a replay did not come to the end of its tape, or had another one. There are no
    /// findings then.
    pub fn of_writes(tape: &Playback, old: Option<Writes>, new: Writes) -> Result<Self, WritesError> {
        let start = Start::of(tape.start());
        let mut builds: Vec<Writes> = old.into_iter().chain([new]).collect();
        builds.iter().try_for_each(|build| build.check(&start))?;
        let mut recorded =
            Recorded { steps: Some(tape.steps()), breaks_off: None, has_hashes: false, running: BTreeMap::new() };
        let mut waiting = Waiting { recorded: HashMap::new(), built: builds.iter().map(|_| HashMap::new()).collect() };
        let (mut findings, mut diverged) = (Self::default(), Diverged::default());
        loop {
            let next = recorded.read()?;
            let mut numbers: Vec<u64> = next.iter().map(|wrote| wrote.number).collect();
            waiting.recorded.extend(next.map(|wrote| (wrote.number, wrote)));
            for (build, waiting) in builds.iter_mut().zip(&mut waiting.built) {
                let Some(wrote) = build.read()? else { continue };
                numbers.push(wrote.number);
                if waiting.insert(wrote.number, wrote).is_some() {
                    return Err(build.error(format!("line {} of its writes has a reconcile again", build.line)));
                }
            }
            if numbers.is_empty() {
                break;
            }
            for number in numbers {
                waiting.take(number, &builds)?.into_iter().for_each(|found| findings.add(found, &mut diverged));
            }
        }
        let Recorded { breaks_off, has_hashes, .. } = recorded;
        waiting.check_over(&builds).map(|()| Self { breaks_off, has_hashes, ..findings })
    }
}

impl WritesError {
    /// The name of the program, as [`Writes::from_file`] got it.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.name
    }

    /// The reason, without the program.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }
}

/// The reconciles that are not on every side yet.
struct Waiting {
    recorded: HashMap<u64, Wrote>,
    built: Vec<HashMap<u64, Wrote>>,
}

impl Waiting {
    /// Compares the reconcile of this number, if each side has it.
    fn take(&mut self, number: u64, builds: &[Writes]) -> Result<Option<Found>, WritesError> {
        if !self.built.iter().all(|waiting| waiting.contains_key(&number)) {
            return Ok(None);
        }
        let Some(recorded) = self.recorded.remove(&number) else { return Ok(None) };
        let mut last = None;
        for (build, waiting) in builds.iter().zip(&mut self.built) {
            let Some(wrote) = waiting.remove(&number) else { continue };
            if !wrote.is_same(&recorded) {
                return Err(build.another_tape());
            }
            let before = last.take().map_or_else(|| recorded.clone(), |(_, before)| before);
            last = Some((before, wrote));
        }
        Ok(last.map(|(old, new)| old.compare(new)))
    }

    /// Checks that each side had the same reconciles.
    fn check_over(&self, builds: &[Writes]) -> Result<(), WritesError> {
        for (build, waiting) in builds.iter().zip(&self.built) {
            if waiting.keys().any(|number| !self.recorded.contains_key(number)) {
                return Err(build.another_tape());
            }
            if let Some(left) =
                self.recorded.values().filter(|left| !waiting.contains_key(&left.number)).min_by_key(by_number)
            {
                return Err(
                    build.error(format!("its writes lack reconcile {} of {}, {}", left.number, left.of, left.key))
                );
            }
        }
        Ok(())
    }
}

/// The writes on the tape.
struct Recorded {
    /// `None` behind the last step.
    steps: Option<Steps>,
    /// Where the tape breaks off, behind the last step.
    breaks_off: Option<String>,
    has_hashes: bool,
    /// The reconciles that began and did not end.
    running: BTreeMap<u64, Wrote>,
}

impl Recorded {
    /// The writes of the next reconcile that ended, or was cut off with the tape.
    fn read(&mut self) -> Result<Option<Wrote>, WritesError> {
        while let Some(step) = self.steps.as_mut().and_then(Iterator::next) {
            let step = step.map_err(|error| WritesError { name: "the tape".to_owned(), why: error.to_string() })?;
            if let Some(ended) = self.add(step) {
                return Ok(Some(ended));
            }
        }
        if let Some(steps) = self.steps.take() {
            self.has_hashes = steps.has_hashes();
            self.breaks_off = steps.breaks_off().map(str::to_owned);
        }
        Ok(self.running.pop_first().map(|(_, wrote)| wrote))
    }

    fn add(&mut self, step: Step) -> Option<Wrote> {
        let Step { line, reconcile: number, kind, .. } = step;
        match kind {
            StepKind::Noted(Note::Began { of, key, attempt, causes, .. }) => {
                let (of, sent) = (of.into(), Vec::new());
                let (outcome, made_up, is_inexact, is_too_long) = (None, MadeUp::default(), false, false);
                let wrote =
                    Wrote { number, line, of, key, attempt, causes, sent, outcome, made_up, is_inexact, is_too_long };
                self.running.insert(number, wrote);
                None
            }
            StepKind::Noted(Note::Ended { outcome, .. }) => {
                let wrote = self.running.remove(&number)?;
                Some(Wrote { outcome: Some(outcome), ..wrote })
            }
            StepKind::Sent(call) if is_write(&call) => {
                self.running.get_mut(&number)?.sent.push(call);
                None
            }
            _ => None,
        }
    }
}

fn by_number(wrote: &&Wrote) -> u64 {
    wrote.number
}

impl fmt::Display for WritesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Printable::new(&self.name), Printable::new(&self.why))
    }
}

impl core::error::Error for WritesError {}

impl fmt::Debug for Writes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writes").field("name", &self.name).field("line", &self.line).finish_non_exhaustive()
    }
}
