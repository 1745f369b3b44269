//! `listwatch report`: a recording as one page.

mod page;
mod plots;
mod series;
mod tally;

use super::findings::Findings;
use super::names::Names;
use super::reading::{Read, read};
use super::recording::{Recording, moments};
use super::summary::Summary;
use super::teller::Teller;
use super::{Filter, look};
use crate::arguments::ReportOptions;
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::messages;
use crate::report::summary::mixed;
use listwatch::file::Timeline;
use listwatch::text::{Counted, Printable};
use listwatch::time::WallTime;
use page::{HEAD, Page};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;
use tally::Tally;

/// Writes the page of a recording.
///
/// # Errors
/// The recording cannot be read, or the page cannot be written.
pub(in crate::commands) fn report(options: &ReportOptions) -> Result<(), CommandError> {
    check_output(&options.output)?;
    let input = Input::of(&options.selection.file)?;
    let written = Report::of(options, input.path()).and_then(Report::write);
    written.map_err(|error| input.command_error(error))
}

struct Report<'a> {
    options: &'a ReportOptions,
    timeline: Timeline,
    began: Option<WallTime>,
    teller: Teller,
    tally: Tally,
    findings: Findings,
    names: Names,
}

impl<'a> Report<'a> {
    fn of(options: &'a ReportOptions, file: &Path) -> Result<Self, CommandError> {
        let Recording { timeline, began } = Recording::open(&options.selection, file)?;
        let (since, until) = moments(&options.selection, began)?;
        let filter = Filter::of(&options.selection, since, until);
        let teller = Teller::of_all(filter, look(&options.selection, false));
        let (findings, names) = (Findings::default(), Names::asked_for(&options.selection));
        Ok(Self { options, timeline, began, teller, tally: Tally::default(), findings, names })
    }

    fn write(mut self) -> Result<(), CommandError> {
        let (tally, findings, names) = (&mut self.tally, &mut self.findings, &mut self.names);
        let fault = read(&mut self.timeline, &mut self.teller, |read| match read {
            Read::Moment(moment) => {
                tally.stream(moment);
                findings.reach(moment.at);
                names.moment(moment);
            }
            Read::Any(entry) => {
                findings.take(entry);
                names.entry(entry);
            }
            Read::Entry(entry) => tally.take(entry),
        });
        let mut notes: Vec<String> = fault.iter().map(ToString::to_string).collect();
        notes.extend(self.timeline.cut().map(ToString::to_string));
        if self.timeline.breaks_off() {
            notes.push("the tape has no last line: its recorder was killed, or the file was cut".to_owned());
        }
        let dropped = Counted(self.teller.dropped(), "state", "states");
        if dropped.0 > 0 {
            notes.push(format!(
                "of {dropped} of objects, the next changes are not told field by field, for want of memory"
            ));
        }
        let file = &self.options.selection.file;
        let file =
            file.file_name().map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into_owned());
        notes.extend(mixed(self.timeline.told_twice()));
        let mut told = self.findings.told();
        told.note_unknown(self.names.unknown());
        let summary = Summary { file: &self.options.selection.file, began: self.began, told };
        notes.extend(summary.told.left_out.iter().cloned());
        let page = Page { file: &file, began: self.began, tally: &self.tally, summary: &summary, notes: &notes };
        self.save(&page).map_err(|error| CommandError::Unwritten(self.options.output.clone(), error))?;
        messages::print(format_args!("{} is the page of {file}", Printable::new(self.options.output.display())));
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }

    fn save(&self, page: &Page<'_>) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut out = BufWriter::new(options.open(&self.options.output)?);
        write!(out, "{page}")?;
        out.flush()
    }
}

/// Checks that nothing but a page is replaced, before a long recording is read: the file may be that.
fn check_output(path: &Path) -> Result<(), CommandError> {
    if is_replaceable(path) {
        return Ok(());
    }
    let message = "the file is there, and is no page; name another one, or delete it";
    Err(CommandError::Unwritten(path.to_owned(), io::Error::new(io::ErrorKind::AlreadyExists, message)))
}

/// Whether a page may be written there: nothing, a page, or no file of data is there.
fn is_replaceable(path: &Path) -> bool {
    let mut head = Vec::new();
    match File::open(path) {
        Ok(file) if file.metadata().is_ok_and(|it| it.is_file()) => {
            let read = file.take(HEAD.len() as u64).read_to_end(&mut head);
            read.is_ok() && (head.is_empty() || head == HEAD.as_bytes())
        }
        _ => true,
    }
}
