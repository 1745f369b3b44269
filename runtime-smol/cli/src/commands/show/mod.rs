//! `listwatch show`: what happened in a recording.

mod at;
pub(super) mod browse;
pub(super) mod diff;
mod entry;
mod event;
mod filter;
mod findings;
mod known;
mod lease;
mod lines;
mod names;
mod pager;
mod reading;
mod recording;
pub(super) mod report;
mod resource;
mod rules;
mod sequence;
mod state;
mod summary;
mod teller;
mod write;

use crate::arguments::{Format, SelectionOptions, ShowOptions, hide_credentials};
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::changes::{Look, Members};
use crate::output::messages;
use crate::output::text::write_json;
use crate::report::summary::mixed;
use entry::{Entry, Sort};
use filter::Filter;
use lines::Layout;
use listwatch::file::{CaptureError, Timeline};
use listwatch::text::Counted;
use listwatch::time::WallTime;
use pager::Pages;
use recording::Recording;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use teller::Teller;

/// The fields of an object that are listed in a line for people, and for programs.
const LISTED: [usize; 2] = [12, 1000];
/// The characters of a value.
const VALUE: [usize; 2] = [80, 1024];
/// So many entries are passed on at once, and the others after so many moments.
const AT_ONCE: u64 = 1000;
const OFTEN: u64 = 4096;

/// Shows the time line of a recording, or its objects at a moment.
///
/// # Errors
/// The recording cannot be read, or printed.
pub(super) fn show(options: &ShowOptions) -> Result<(), CommandError> {
    let input = Input::of(&options.file)?;
    let shown = match &options.at {
        Some(moment) => at::show_at(options, *moment, input.path()),
        None if options.summary => summary::show_summary(options, &input),
        None => Show::of(options, &input).and_then(Show::run),
    };
    shown.map_err(|error| input.command_error(error))
}

struct Show<'a> {
    options: &'a ShowOptions,
    timeline: Timeline,
    began: Option<WallTime>,
    teller: Teller,
    layout: Layout,
    pages: Pages,
    summary: Summary,
}

/// What was found, shown and left out.
#[derive(Default, Serialize)]
struct Summary {
    summary: Counts,
    #[serde(skip)]
    ends: Vec<String>,
}

#[derive(Default, Serialize)]
struct Counts {
    found: BTreeMap<Sort, u64>,
    shown: BTreeMap<Sort, u64>,
    /// The changes of other objects, parts or times, which were not even compared.
    passed_over: u64,
    bad_lines: u64,
    /// The events of several watches that are there twice, and count once.
    told_twice: u64,
    /// Whether the limit ended it before the end of the recording.
    limited: bool,
    /// Whether the recording was read to its end, and has one.
    whole: bool,
}

impl<'a> Show<'a> {
    fn of(options: &'a ShowOptions, input: &Input) -> Result<Self, CommandError> {
        let (Recording { timeline, began }, filter) = Recording::selected(options, input.path())?;
        let is_json = options.format == Format::Json;
        let look = look(options, is_json);
        Ok(Self {
            options,
            timeline,
            began: began.filter(|_| !options.relative),
            teller: Teller::new(filter, look),
            layout: Layout::of_stdout(),
            pages: Pages::start(!options.no_pager && !is_json),
            summary: Summary::default(),
        })
    }

    fn run(mut self) -> Result<(), CommandError> {
        let read = self.read().map_err(CommandError::Output)?;
        let error = self.report(read).map_err(CommandError::Output)?;
        self.pages.finish().map_err(CommandError::Output)?;
        error.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Reads and tells all, up to a fault of the recording.
    fn read(&mut self) -> io::Result<Option<CaptureError>> {
        let (mut fault, mut read) = (None, 0_u64);
        while let Some(moment) = self.timeline.next() {
            match moment {
                Ok(moment) if moment.at > self.teller.filter.until && self.teller.sequence.is_empty() => {
                    self.teller.end();
                    return self.tell_rest().map(|()| None);
                }
                Ok(moment) => self.teller.take(moment),
                Err(error) => fault = Some(error),
            }
            while let Some(entries) = self.teller.sequence.next() {
                self.tell(entries)?;
            }
            if self.is_over() {
                return Ok(None);
            }
            read += 1;
            if read.is_multiple_of(OFTEN) || self.shown() < AT_ONCE {
                self.pages.out().flush()?;
            }
        }
        self.note_end();
        self.teller.end();
        self.tell_rest().map(|()| fault)
    }

    fn tell_rest(&mut self) -> io::Result<()> {
        while let Some(entries) = self.teller.sequence.pop() {
            self.tell(entries)?;
        }
        Ok(())
    }

    /// Notes why the recording has no end.
    fn note_end(&mut self) {
        self.summary.ends = ends_of(&self.timeline, &self.options.file, self.teller.running());
        self.summary.summary.whole = self.summary.ends.is_empty();
    }

    fn is_over(&mut self) -> bool {
        let shown = self.shown();
        self.summary.summary.limited = self.options.limit.is_some_and(|limit| shown >= limit.get());
        self.summary.summary.limited
    }

    fn shown(&self) -> u64 {
        self.summary.summary.shown.values().sum()
    }

    fn tell(&mut self, entries: Vec<Entry>) -> io::Result<()> {
        for entry in entries {
            *self.summary.summary.found.entry(entry.what).or_default() += 1;
            for mut entry in self.teller.filter.selected(entry) {
                if self.is_over() {
                    return Ok(());
                }
                *self.summary.summary.shown.entry(entry.what).or_default() += 1;
                entry.date(self.began);
                match self.options.format {
                    Format::Json => write_json(&mut self.pages.out(), &entry)?,
                    Format::Table => {
                        for line in self.layout.lines(&entry) {
                            writeln!(self.pages.out(), "{}", hide_credentials(line))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Prints the summary, and returns the fault.
    fn report(&mut self, fault: Option<CaptureError>) -> io::Result<Option<CaptureError>> {
        let counts = &mut self.summary.summary;
        (counts.passed_over, counts.bad_lines) =
            (self.teller.passed_over + self.timeline.passed_over(), self.timeline.bad_lines());
        counts.told_twice = self.timeline.told_twice();
        counts.whole &= fault.is_none();
        match self.options.format {
            Format::Json => write_json(&mut self.pages.out(), &self.summary)?,
            Format::Table => {
                let dropped = self.teller.dropped();
                let lines = self.summary.lines(dropped);
                lines.iter().try_for_each(|line| writeln!(self.pages.out(), "{}", hide_credentials(line.clone())))?;
            }
        }
        if self.options.format == Format::Json {
            self.summary.ends.iter().for_each(messages::print);
        }
        Ok(fault)
    }
}

impl Summary {
    fn lines(&self, dropped: u64) -> Vec<String> {
        let Counts { found, shown, passed_over, bad_lines, limited, .. } = &self.summary;
        let counted = |counts: &BTreeMap<Sort, u64>| {
            let words = counts.iter().filter(|(_, count)| **count > 0);
            let words: Vec<String> =
                words.map(|(sort, count)| Counted(*count, sort.names().0, sort.names().1).to_string()).collect();
            if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
        };
        let left_out: BTreeMap<Sort, u64> =
            found.iter().map(|(sort, count)| (*sort, count.saturating_sub(*shown.get(sort).unwrap_or(&0)))).collect();
        let is_left_out = left_out.values().any(|count| *count > 0) || *passed_over > 0;
        let unread = (*passed_over > 0).then(|| Counted(*passed_over, "other event", "other events").to_string());
        let left: Vec<String> =
            [counted(&left_out)].into_iter().filter(|text| text != "nothing").chain(unread).collect();
        let left = if is_left_out { format!("; left out by the options: {}", left.join(", ")) } else { String::new() };
        let mut lines = vec![String::new(), format!("shown: {}{left}", counted(shown))];
        lines.extend(limited.then(|| "the limit was reached; the rest of the recording was not read".to_owned()));
        lines.extend(
            (*bad_lines > 0)
                .then(|| Counted(*bad_lines, "broken line was skipped", "broken lines were skipped").to_string()),
        );
        lines.extend((dropped > 0).then(|| {
            let states = Counted(dropped, "state", "states");
            format!("of {states} of objects, what changed next is not told field by field, for want of memory; give a key or --kind")
        }));
        lines.extend(mixed(self.summary.told_twice));
        lines.extend(self.ends.iter().map(|end| format!("the recording breaks off: {end}")));
        lines
    }
}

/// Why a recording has no end, in which so many reconciles run.
fn ends_of(timeline: &Timeline, file: &Path, running: usize) -> Vec<String> {
    let running = Counted(running, "reconcile has", "reconciles have");
    let cut = timeline.cut().map(|cut| format!("{}: {}", file.display(), cut.message()));
    let broken = timeline.breaks_off().then(|| {
        format!("the tape has no last line, and {running} no outcome: its recorder was killed, or the file was cut")
    });
    cut.into_iter().chain(broken).collect()
}

/// How the fields that changed are told.
fn look(options: &SelectionOptions, is_json: bool) -> Look {
    let left_out: &[&str] = if options.all_fields { &[] } else { &["managedFields", "resourceVersion"] };
    let form = usize::from(is_json);
    Look { listed: LISTED[form], value: VALUE[form], left_out, secrets: options.show_secrets, members: Members::OfLong }
}
