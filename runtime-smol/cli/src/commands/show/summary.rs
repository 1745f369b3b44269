//! `listwatch show --summary`: the findings of a recording, each with its culprit and the command that shows more.

use super::entry::Sort;
use super::findings::{Finding, Findings, Span, Told};
use super::lines::shown;
use super::names::Names;
use super::pager::Pages;
use super::reading::{Read, read};
use super::recording::{Recording, moments};
use super::teller::Teller;
use super::{Filter, look};
use crate::arguments::{Format, ShowOptions, hide_credentials};
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::seconds::seconds;
use crate::output::text::write_json;
use crate::report::summary::mixed;
use listwatch::file::CaptureError;
use listwatch::text::{Counted, Printable};
use listwatch::time::WallTime;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The findings of a recording, and how they are told.
pub(super) struct Summary<'s> {
    pub(super) file: &'s Path,
    pub(super) began: Option<WallTime>,
    pub(super) told: Told,
}

/// A finding for programs.
#[derive(Serialize)]
struct Line<'f> {
    #[serde(flatten)]
    finding: &'f Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// Seconds since the recording began.
    after: [f64; 2],
    look: String,
}

/// What the recording has, beside the findings.
#[derive(Default)]
struct Counts {
    found: BTreeMap<Sort, u64>,
    failures: u64,
    last: Duration,
}

/// Prints the findings of a recording.
///
/// # Errors
/// The recording cannot be read, or the findings cannot be printed.
pub(super) fn show_summary(options: &ShowOptions, input: &Input) -> Result<(), CommandError> {
    let Recording { mut timeline, began } = Recording::open(options, input.path())?;
    let (since, until) = moments(options, began)?;
    let mut teller = Teller::of_all(Filter::of(options, since, until), look(options, false));
    let (mut findings, mut counts, mut names) = (Findings::default(), Counts::default(), Names::asked_for(options));
    let fault = read(&mut timeline, &mut teller, |read| match read {
        Read::Moment(moment) => {
            counts.last = counts.last.max(moment.at);
            findings.reach(moment.at);
            names.moment(moment);
        }
        Read::Any(entry) => {
            findings.take(entry);
            names.entry(entry);
        }
        Read::Entry(entry) => {
            *counts.found.entry(entry.what).or_default() += 1;
            counts.failures += u64::from(entry.failed);
        }
    });
    let began = began.filter(|_| !options.relative);
    let mut summary = Summary { file: &options.file, began, told: findings.told() };
    summary.told.note_unknown(names.unknown());
    let untold = "of which the next changes are not told field by field, for want of memory";
    summary.leave_out(teller.dropped(), ["state", "states"], untold);
    summary.leave_out(timeline.bad_lines(), ["broken line", "broken lines"], "");
    summary.told.left_out.extend(mixed(timeline.told_twice()));
    summary.told.left_out.extend(timeline.cut().map(|cut| format!("the recording breaks off: {}", cut.message())));
    if timeline.breaks_off() {
        summary
            .told
            .left_out
            .push("the tape has no last line: its recorder was killed, or the file was cut".to_owned());
    }
    summary.print(options, &counts, fault.as_ref()).map_err(CommandError::Output)?;
    fault.map_or(Ok(()), |fault| Err(fault.into()))
}

impl Summary<'_> {
    fn leave_out(&mut self, count: u64, [one, many]: [&'static str; 2], why: &str) {
        if count > 0 {
            let text = format!("not looked at: {} {why}", Counted(count, one, many));
            self.told.left_out.push(text.trim_end().to_owned());
        }
    }

    fn print(&self, options: &ShowOptions, counts: &Counts, fault: Option<&CaptureError>) -> io::Result<()> {
        let is_json = options.format == Format::Json;
        let mut pages = Pages::start(!options.no_pager && !is_json);
        if is_json {
            self.told.findings.iter().try_for_each(|it| write_json(&mut pages.out(), &self.line(it)))?;
            let (left_out, whole) = (&self.told.left_out, fault.is_none());
            let found =
                json!({ "found": counts.found, "failures": counts.failures, "left_out": left_out, "whole": whole });
            write_json(&mut pages.out(), &json!({ "summary": found }))?;
        } else {
            let lines = [self.head(counts)].into_iter().chain(self.lines());
            lines.into_iter().try_for_each(|line| writeln!(pages.out(), "{}", hide_credentials(line)))?;
        }
        pages.finish()
    }

    fn head(&self, counts: &Counts) -> String {
        let span = match self.began {
            Some(began) => format!("{began} to {}", began + counts.last),
            None => format!("{:.1} s", counts.last.as_secs_f64()),
        };
        let words =
            counts.found.iter().map(|(sort, count)| Counted(*count, sort.names().0, sort.names().1).to_string());
        let words: Vec<String> = words.collect();
        let words = if words.is_empty() { "nothing".to_owned() } else { words.join(", ") };
        format!("{}: {span}: {words}; {} failed", shown(&self.file.to_string_lossy()), counts.failures)
    }

    /// The findings for people, with what was left out.
    fn lines(&self) -> Vec<String> {
        let findings = &self.told.findings;
        let mut lines: Vec<String> =
            findings.iter().zip(1..).flat_map(|(it, number)| self.lines_of(it, number)).collect();
        lines.extend(self.told.clear().map(str::to_owned));
        lines.push(String::new());
        lines.extend(self.told.left_out.iter().map(|text| shown(text)));
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    fn lines_of(&self, finding: &Finding, number: usize) -> Vec<String> {
        let below = |name: &str, text: &str| format!("    {name:9}  {}", shown(text));
        let mut lines = vec![String::new(), format!("{number:2}  {}", shown(&finding.title()))];
        lines.push(below("when", &self.when(finding)));
        lines.extend(finding.fields.iter().map(|field| below("field", field)));
        lines.extend(finding.culprits.iter().map(|culprit| below("by", culprit)));
        lines.extend(finding.notes.iter().map(|note| below("", note)));
        lines.push(format!("    {:9}  {}", "look", Printable::new(self.look(finding))));
        lines
    }

    /// How often, and from when to when.
    pub(super) fn when(&self, finding: &Finding) -> String {
        let Span { from, until, .. } = finding.span;
        let times = Counted(finding.count, "time", "times");
        let span = match finding.count {
            1 => self.date(from),
            _ => format!("{times}, from {} to {}", self.date(from), self.date(until)),
        };
        let to_the_end = if finding.goes_on && finding.count > 1 { ", up to the end of the recording" } else { "" };
        let part = if finding.span.selected < finding.span.times { "; the options select a part of it" } else { "" };
        format!("{span}{to_the_end}{part}")
    }

    fn date(&self, at: Duration) -> String {
        self.began.map_or_else(|| format!("{:.3}s", at.as_secs_f64()), |began| (began + at).to_string())
    }

    /// The command that shows what the finding is made of.
    pub(super) fn look(&self, finding: &Finding) -> String {
        let Span { from, until, .. } = finding.span;
        // A date has seconds, and what came of it is behind it.
        let (from, until) = (from.saturating_sub(Duration::from_secs(1)), until + Duration::from_secs(2));
        let moment = |at: Duration| match self.began {
            Some(began) => (began + at).to_string(),
            None => format!("{}s", at.as_secs()),
        };
        let mut words =
            vec!["listwatch show".to_owned(), quoted(&self.file.to_string_lossy()), finding.parts.to_owned()];
        let resource = finding.resource.split(['/', ' ']).next().unwrap_or_default();
        let mut option = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
        if !resource.is_empty() {
            option("kind", resource);
        }
        finding.key.iter().for_each(|key| option("key", key));
        option("since", &moment(from));
        option("until", &moment(until));
        words.join(" ")
    }

    fn line<'f>(&self, finding: &'f Finding) -> Line<'f> {
        let Span { from, until, .. } = finding.span;
        let date = |at: Duration| self.began.map(|began| (began + at).to_string());
        let after = [from, until].map(seconds);
        Line { finding, from: date(from), until: date(until), after, look: self.look(finding) }
    }
}

impl Finding {
    /// What was found, and of what.
    pub(super) fn title(&self) -> String {
        let object: Vec<&str> =
            [&*self.resource].into_iter().chain(self.key.as_deref()).filter(|it| !it.is_empty()).collect();
        let others = match self.objects {
            0 | 1 => String::new(),
            objects => format!(" and {} alike", Counted(objects - 1, "object", "objects")),
        };
        let what = if self.what.is_empty() { String::new() } else { format!(": {}", self.what) };
        format!("{}: {}{others}{what}", self.kind.name(), object.join(" "))
    }
}

/// A word of a command, which no shell takes for anything else.
fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| "''".to_owned(), Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_stays_one_word() {
        for word in ["web/c-5.0", "a; rm -rf '$(x)'", "", "\"`x`\""] {
            assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_owned()]));
        }
        assert_eq!(quoted("web/c-5.0"), "web/c-5.0");
    }
}
