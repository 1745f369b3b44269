//! `listwatch diff`: what differs between two recordings.

mod generated;
mod groups;
mod inquiry;
mod reading;
mod stable;
mod steps;
mod survey;

use super::entry::Sort;
use crate::arguments::{DiffOptions, Format, hide_credentials};
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::changes::{Changes, Held, Look, Members};
use crate::output::text::write_json;
use crate::output::{self, messages};
use generated::{Place, Renamed};
use groups::{Difference, Groups, How, Line, What, lines};
use inquiry::{Inquiry, Stepped};
use listwatch::text::Counted;
use reading::Reading;
use serde::Serialize;
use stable::Stable;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use steps::{Unlike, unlike};
use survey::Survey;

/// The objects, and the steps, that are compared field by field. Those behind them are counted.
const MOST_COMPARED: usize = 20_000;
/// The groups that people get. Programs get all that are kept.
const SHOWN: usize = 100;
/// The fields of a write that are named.
const FIELDS: usize = 6;

/// Compares two recordings.
///
/// # Errors
/// They differ, or cannot be read.
pub(in crate::commands) fn diff(options: &DiffOptions) -> Result<(), CommandError> {
    let inputs = [Input::of(&options.first)?, Input::of(&options.selection.file)?];
    let groups = Groups::new(options.format);
    let found = Found { options, inputs: &inputs, groups, summary: Summary::default(), faults: [None, None] };
    found.run()
}

struct Found<'a> {
    options: &'a DiffOptions,
    inputs: &'a [Input; 2],
    groups: Groups,
    summary: Summary,
    faults: [Option<CommandError>; 2],
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    objects: Counts,
    /// Writes, or what is compared in their place.
    steps: Counts,
    /// Differences that are not told one by one.
    not_told: u64,
    /// Whether both recordings were read to their ends.
    whole: bool,
}

#[derive(Default, Serialize)]
struct Counts {
    same: u64,
    different: u64,
}

/// What is compared field by field.
struct Suspects {
    objects: Vec<[Option<Place>; 2]>,
    steps: Vec<(Sort, Place, Unlike)>,
}

impl Found<'_> {
    fn run(mut self) -> Result<(), CommandError> {
        let stable = Stable::of(&self.options.selection);
        let mut readings = self.open(&stable)?;
        let captures = readings.each_ref().map(Reading::is_capture);
        let surveys = readings.each_mut().map(|reading| Survey::of(reading, &stable));
        self.note_ends(&mut readings);
        let [a, b] = &surveys;
        let renamed = Renamed::between([&a.generated, &b.generated], [&a.objects, &b.objects]);
        let suspects = self.suspects(&surveys, &renamed, captures);
        drop(surveys);
        if !suspects.objects.is_empty() || !suspects.steps.is_empty() {
            let stables = [stable.clone(), stable.renaming(renamed.names)];
            let inquiries = self.inquire(&stables, &suspects)?;
            suspects.objects.iter().for_each(|places| self.object(places, &inquiries));
            suspects.steps.iter().for_each(|(sort, place, unlike)| self.step(*sort, place, *unlike, &inquiries));
        }
        self.summary.not_told += self.groups.others;
        self.report()
    }

    fn open(&self, stable: &Stable) -> Result<[Reading; 2], CommandError> {
        let open = |input: &Input| {
            Reading::open(&self.options.selection, stable.left_out(), input.path()).map_err(|error| match error {
                CommandError::Capture(error) => CommandError::Capture(input.error(error)),
                error => error,
            })
        };
        let [a, b] = self.inputs;
        Ok([open(a)?, open(b)?])
    }

    fn note_ends(&mut self, readings: &mut [Reading; 2]) {
        self.summary.whole = true;
        for (place, side) in ["A", "B"].into_iter().enumerate() {
            let notes = readings[place].notes();
            notes.iter().for_each(|note| messages::print(format_args!("{side}: {note}")));
            let fault = readings[place].fault();
            self.summary.whole &= notes.is_empty() && fault.is_none();
            self.faults[place] = fault.map(|fault| self.inputs[place].error(fault).into());
        }
    }

    /// The parts of the time line that are compared.
    fn sorts(&self, [a, b]: &[Survey<'_>; 2], captures: [bool; 2]) -> Vec<Sort> {
        let all: BTreeSet<Sort> = a.steps.keys().chain(b.steps.keys()).copied().collect();
        if !self.options.selection.whats().is_empty() {
            return all.into_iter().collect();
        }
        let has_writes = captures == [true; 2] && all.contains(&Sort::Write);
        vec![if has_writes { Sort::Write } else { Sort::Change }]
    }

    fn suspects(&mut self, surveys: &[Survey<'_>; 2], renamed: &Renamed, captures: [bool; 2]) -> Suspects {
        let mut suspects = Suspects { objects: Vec::new(), steps: Vec::new() };
        let [a, b] = surveys;
        if self.options.selection.selects_objects() {
            for [own, their] in joined(&a.objects, &b.objects, renamed).into_values() {
                match (own, their) {
                    (Some((_, own)), Some((_, their))) if own == their => self.summary.objects.same += 1,
                    _ if suspects.objects.len() >= MOST_COMPARED => {
                        self.summary.objects.different += 1;
                        self.summary.not_told += 1;
                    }
                    _ => suspects.objects.push([own, their].map(|it| it.map(|(place, _)| place.clone()))),
                }
            }
        }
        let none = BTreeMap::new();
        for sort in self.sorts(surveys, captures) {
            let [a, b] = surveys.each_ref().map(|survey| survey.steps.get(&sort).unwrap_or(&none));
            for (place, [own, their]) in joined(a, b, renamed) {
                let steps = [own, their].map(|it| it.map_or(&[][..], |(_, steps)| steps));
                let (found, same) = unlike(steps[0], steps[1]);
                self.summary.steps.same += same;
                let room = MOST_COMPARED.saturating_sub(suspects.steps.len());
                let more = found.len().saturating_sub(room) as u64;
                self.summary.steps.different += more;
                self.summary.not_told += more;
                suspects.steps.extend(found.into_iter().take(room).map(|unlike| (sort, place.clone(), unlike)));
            }
        }
        suspects
    }

    /// Reads both again.
    fn inquire<'s>(&self, stables: &'s [Stable; 2], suspects: &Suspects) -> Result<[Inquiry<'s>; 2], CommandError> {
        let mut readings = self.open(&stables[0])?;
        let mut inquiries = [0, 1].map(|side| {
            let places = suspects.objects.iter().filter_map(|places| places[side].clone());
            let others = suspects.objects.iter().filter_map(|places| places[1 - side].clone());
            let numbers = suspects.steps.iter().filter_map(|(_, _, unlike)| match (unlike, side) {
                (Unlike::Moved(numbers) | Unlike::Changed(numbers), side) => Some(numbers[side]),
                (Unlike::OnlyA(number), 0) | (Unlike::OnlyB(number), 1) => Some(*number),
                _ => None,
            });
            let places: HashSet<Place> = places.chain(others).collect();
            Inquiry::new(&stables[side], places, numbers.collect())
        });
        inquiries.iter_mut().zip(&mut readings).for_each(|(inquiry, reading)| inquiry.read(reading));
        Ok(inquiries)
    }

    fn object(&mut self, places: &[Option<Place>; 2], inquiries: &[Inquiry<'_>; 2]) {
        let Some(first) = places.iter().flatten().next() else { return };
        let place = |side: usize| places[side].as_ref().unwrap_or(first);
        let causes =
            |field: Option<&str>| [0, 1].map(|side| inquiries[side].cause(place(side), field, places[side].is_some()));
        let difference = |field: String, how: How| {
            let (what, event, resource) = (What::Object, String::new(), first.0.clone());
            Difference { what, field, how, event, resource }
        };
        let objects = [0, 1].map(|side| inquiries[side].object(places[side].as_ref()?));
        let (a, b) = match objects {
            [Some(a), Some(b)] => (a, b),
            _ => {
                let how = if places[0].is_some() { How::OnlyA } else { How::OnlyB };
                self.summary.objects.different += 1;
                return self.groups.add(difference(String::new(), how), &first.1, || causes(None));
            }
        };
        let value = self.groups.value();
        let secrets = self.options.selection.show_secrets;
        let look = Look { listed: 1000, value, left_out: &[], secrets, members: Members::OfLong };
        let changes = Changes::between(&a, &b, first.0.starts_with("secrets"), look);
        if changes.listed.is_empty() {
            self.summary.objects.same += 1;
            return;
        }
        self.summary.objects.different += 1;
        self.groups.others += changes.more as u64;
        for change in changes.listed {
            let [a, b] = change.held().map(|held| self.groups.told(Some(&held)));
            let difference = difference(change.field.clone(), How::Values { a, b });
            self.groups.add(difference, &first.1, || causes(Some(&change.field)));
        }
    }

    fn step(&mut self, sort: Sort, place: &Place, unlike: Unlike, inquiries: &[Inquiry<'_>; 2]) {
        let found = |side: usize, number: u64| inquiries[side].step(number);
        let (a, b, how) = match unlike {
            Unlike::OnlyA(number) => (found(0, number), None, How::OnlyA),
            Unlike::OnlyB(number) => (None, found(1, number), How::OnlyB),
            Unlike::Moved([a, b]) => (found(0, a), found(1, b), How::Order),
            Unlike::Changed([a, b]) => return self.changed(sort, place, [found(0, a), found(1, b)]),
        };
        self.summary.steps.different += 1;
        let Some(any) = a.or(b) else { return };
        let difference = Difference {
            what: What::Step(sort),
            field: self.named(any),
            how,
            event: any.cause.event.clone(),
            resource: place.0.clone(),
        };
        self.groups.add(difference, &place.1, || [a, b].map(|step| step.map(|step| step.cause.clone())));
    }

    /// The fields of a step with their values. Those of a new object are too many.
    fn named(&self, step: &Stepped) -> String {
        if step.cause.event == "POST" {
            return String::new();
        }
        let fields = step.fields.iter().map(|(field, held)| match held {
            Held::Nothing => format!("-{field}"),
            held => match self.groups.told(Some(held)) {
                groups::Told::Value(text) => format!("{field} {text}"),
                _ => field.clone(),
            },
        });
        let more = step.fields.len().saturating_sub(FIELDS);
        let more = (more > 0).then(|| format!("and {more} more"));
        fields.take(FIELDS).chain(more).collect::<Vec<_>>().join(", ")
    }

    /// Compares two steps of a kind field by field.
    fn changed(&mut self, sort: Sort, place: &Place, steps: [Option<&Stepped>; 2]) {
        let [Some(a), Some(b)] = steps else { return };
        let names: BTreeSet<&String> = a.fields.keys().chain(b.fields.keys()).collect();
        let mut is_same = true;
        for field in names {
            let held = [a.fields.get(field), b.fields.get(field)];
            if held[0] == held[1] {
                continue;
            }
            is_same = false;
            let [a_told, b_told] = held.map(|held| self.groups.told(held));
            let difference = Difference {
                what: What::Step(sort),
                field: field.clone(),
                how: How::Values { a: a_told, b: b_told },
                event: a.cause.event.clone(),
                resource: place.0.clone(),
            };
            self.groups.add(difference, &place.1, || [Some(a.cause.clone()), Some(b.cause.clone())]);
        }
        let counts = &mut self.summary.steps;
        *if is_same { &mut counts.same } else { &mut counts.different } += 1;
    }

    /// Prints what was found. The exit status counts for a reader that has read enough, too.
    fn report(self) -> Result<(), CommandError> {
        let mut text = Vec::new();
        let written = match self.options.format {
            Format::Json => self.write_json(&mut text),
            Format::Table => self.write_lines(&mut text),
        };
        let printed = written.and_then(|()| output::print(&text)).map_err(CommandError::Output);
        match printed {
            Err(error) if !error.is_closed_pipe() => return Err(error),
            _ => {}
        }
        let is_same = self.summary.objects.different + self.summary.steps.different == 0;
        match self.faults.into_iter().flatten().next() {
            Some(fault) => Err(fault),
            None if is_same => Ok(()),
            None => Err(CommandError::RecordingsDiffer),
        }
    }

    fn write_json(&self, out: &mut Vec<u8>) -> io::Result<()> {
        for (difference, group) in self.groups.sorted() {
            write_json(out, &Line { difference, group })?;
        }
        write_json(out, &serde_json::json!({ "summary": self.summary }))
    }

    fn write_lines(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let groups = self.groups.sorted();
        let mut told = None;
        let mut all = Vec::new();
        for (difference, group) in groups.iter().take(SHOWN) {
            if told.replace(difference.what) != Some(difference.what) {
                all.push(difference.what.title().to_owned());
            }
            all.extend(lines(difference, group));
        }
        let more = groups.len().saturating_sub(SHOWN);
        all.extend((more > 0).then(|| format!("and {more} more groups; -o json has up to ten thousand")));
        all.push(self.summary.line());
        all.into_iter().try_for_each(|line| io::Write::write_all(out, (hide_credentials(line) + "\n").as_bytes()))
    }
}

impl Summary {
    fn line(&self) -> String {
        let counted = |counts: &Counts, one, many| {
            let all = Counted(counts.same + counts.different, one, many);
            format!("{} of {all} differ", counts.different)
        };
        let (objects, steps) = (counted(&self.objects, "object", "objects"), counted(&self.steps, "step", "steps"));
        let told = if self.not_told > 0 { format!("; {} not told one by one", self.not_told) } else { String::new() };
        format!("{objects}, and {steps}{told}")
    }
}

/// What two recordings have in the same places.
type Joined<'m, T> = BTreeMap<Place, [Option<(&'m Place, &'m T)>; 2]>;

fn joined<'m, T>(a: &'m BTreeMap<Place, T>, b: &'m BTreeMap<Place, T>, renamed: &Renamed) -> Joined<'m, T> {
    let mut all: Joined<'m, T> = a.iter().map(|(place, it)| (place.clone(), [Some((place, it)), None])).collect();
    for (place, it) in b {
        all.entry(renamed.of(place)).or_default()[1] = Some((place, it));
    }
    all
}
