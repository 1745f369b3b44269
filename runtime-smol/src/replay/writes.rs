//! The writes of two builds of a controller, compared reconcile by reconcile, and the file in which a replay keeps them.
//!
//! The file has a line that tells the tape, and one for each reconcile, each controller that begins and each that ends.
//!
//! ```text
//! {"writes":3,"started":"2026-11-20T10:41:52.123Z","server":"https://…","cluster":"<uid>","seed":42}
//! {"controller":"foos"}
//! {"reconcile":12,"line":340,"of":"foos","key":"web/a","attempt":1,"causes":["…"],"sent":[{"method":"PATCH","target":"/…","body":"{…}",…}],"outcome":"done",…}
//! {"over":"foos"}
//! ```
//!
//! In the body of a write of a Secret or a token, hashes stand for the values, unless the tape has these. Their key is in
//! the environment variable [`REPLAY_KEY`](super::REPLAY_KEY). Without it, `withheld` stands for the body.

use super::divergence::{Beginning, Diverged, Findings, Found};
use super::script::{LineKind, Script};
use super::wrote::Wrote;
use core::fmt;
use listwatch_core::text::Printable;
use listwatch_transport_file::{Playback, TapeStart};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
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
            Some(Line::Start(start)) if start.writes == VERSION => Ok(Self { start, ..writes }),
            _ => Err(error("its writes have another form; build both with one version of listwatch".to_owned())),
        }
    }

    /// The writes of the next reconcile that ended.
    fn read(&mut self) -> Result<Option<Wrote>, WritesError> {
        while let Some(line) = self.read_line()? {
            match line {
                Line::Reconcile(wrote) => return Ok(Some(*wrote)),
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

    fn read_line(&mut self) -> Result<Option<Line>, WritesError> {
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
        if let (Some(tape), Some(replayed)) = (&tape.tape.cluster, &self.start.tape.cluster)
            && tape != replayed
        {
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
        let mut script = Script::new(tape.steps());
        let mut waiting = Waiting { recorded: HashMap::new(), built: builds.iter().map(|_| HashMap::new()).collect() };
        let (mut findings, mut diverged) = (Self::default(), Diverged::default());
        loop {
            let next = next_recorded(&mut script)?;
            let mut numbers: Vec<u64> = next.iter().map(|wrote| wrote.beginning.number).collect();
            waiting.recorded.extend(next.map(|wrote| (wrote.beginning.number, wrote)));
            for (build, waiting) in builds.iter_mut().zip(&mut waiting.built) {
                let Some(wrote) = build.read()? else { continue };
                numbers.push(wrote.beginning.number);
                if waiting.insert(wrote.beginning.number, wrote).is_some() {
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
        let (breaks_off, has_hashes) = (script.breaks_off().map(str::to_owned), script.has_hashes());
        waiting.check_over(&builds).map(|()| Self { breaks_off, has_hashes, ..findings })
    }
}

impl WritesError {
    /// The name of the program, as [`Writes::from_file`] got it.
    pub fn program(&self) -> &str {
        &self.name
    }

    /// The reason, without the program.
    pub fn why(&self) -> &str {
        &self.why
    }
}

/// The version of the form.
const VERSION: u32 = 3;

/// A line of the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Line {
    Start(Start),
    Reconcile(Box<Wrote>),
    Controller {
        controller: String,
    },
    Over {
        over: String,
        /// Why the replay ended before its tape did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// The tape, as its first line tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Start {
    writes: u32,
    #[serde(flatten)]
    tape: TapeStart,
}

/// The file of a replay that goes on.
pub(super) struct WritesFile(BufWriter<File>);

impl WritesFile {
    /// Creates the file, which only its owner may read.
    pub(super) fn create(path: &Path, start: Option<&TapeStart>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = Self(BufWriter::new(options.open(path)?));
        file.write(&Line::Start(Start::of(start)))?;
        Ok(file)
    }

    /// Writes a line. Those that begin or end something are in the file at once.
    pub(super) fn write(&mut self, line: &Line) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, line)?;
        self.0.write_all(b"\n")?;
        if matches!(line, Line::Reconcile(_)) { Ok(()) } else { self.0.flush() }
    }
}

impl Start {
    fn of(start: Option<&TapeStart>) -> Self {
        Self { writes: VERSION, tape: start.cloned().unwrap_or_default() }
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
            if wrote.beginning != recorded.beginning {
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
            let left = self.recorded.iter().filter(|(number, _)| !waiting.contains_key(number));
            if let Some((number, Wrote { beginning: Beginning { of, key, .. }, .. })) =
                left.min_by_key(|(number, _)| **number)
            {
                return Err(build.error(format!("its writes lack reconcile {number} of {of}, {key}")));
            }
        }
        Ok(())
    }
}

/// What the next reconcile on the tape wrote, up to its end or that of the tape.
fn next_recorded(script: &mut Script) -> Result<Option<Wrote>, WritesError> {
    while script.head().is_some()
        && let Some(line) = script.next()
    {
        if let LineKind::Began = line.kind
            && let Some(mut record) = script.take(line.reconcile)
        {
            return Ok(Some(record.take_writes()));
        }
    }
    script.fault().map_or(Ok(None), |why| Err(WritesError { name: "the tape".to_owned(), why }))
}

impl fmt::Display for WritesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Printable::new(&self.name), Printable::new(&self.why))
    }
}

impl core::error::Error for WritesError {}

listwatch_core::summary!("Writes" for Writes, |it| { name: it.name, line: it.line });
