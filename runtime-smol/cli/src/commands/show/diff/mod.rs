//! `listwatch diff`: what differs between two recordings.

mod generated;
mod groups;
mod inquiry;
mod reading;
mod stable;
mod steps;
mod survey;

use super::entry::Sort;
use crate::arguments::{DiffOptions, Format, SelectionOptions, hide_credentials};
use crate::commands::input::Input;
use crate::error::CommandError;
use crate::output::changes::{Changes, Held, Look, Members};
use crate::output::text::write_json;
use crate::output::{self, messages};
use generated::{Place, Renamed};
use groups::{Difference, Groups, How, OBJECTS};
use inquiry::{Inquiry, Stepped};
use listwatch::text::Counted;
use reading::Reading;
use serde::Serialize;
use stable::Stable;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use steps::{Unlike, unlike};
use survey::Survey;

/// The objects, and the steps, that are compared field by field. Those behind them are counted.
const MOST_COMPARED: usize = 10_000;
/// The groups that people get. Programs get all that are kept.
const SHOWN: usize = 100;
/// The fields of a write that are named.
const FIELDS: usize = 6;
/// The fields of an object that are compared.
const LISTED: usize = 1000;

/// Compares two recordings.
///
/// # Errors
/// They differ, or cannot be read.
pub(in crate::commands) fn diff(options: &DiffOptions) -> Result<(), CommandError> {
    let inputs = [Input::of(&options.first)?, Input::of(&options.selection.file)?];
    let stable = Stable::of(&options.selection);
    let mut readings = open(&inputs, &options.selection, &stable)?;
    let surveys = readings.each_mut().map(|reading| Survey::of(reading, &stable));
    let mut found = Found::new(options);
    let renamed = Renamed::between(surveys.each_ref().map(|survey| (&survey.generated, &survey.objects)));
    let suspects = found.suspects(&surveys, &renamed, readings.iter().all(Reading::is_capture));
    drop(surveys);
    if !suspects.objects.is_empty() || !suspects.steps.is_empty() {
        let stables = [stable.clone(), stable.renaming(renamed.names)];
        let [a, b] = open(&inputs, &options.selection, &stables[0])?;
        let inquiries = [suspects.asked(0, a, &stables[0]), suspects.asked(1, b, &stables[1])];
        suspects.objects.iter().for_each(|places| found.object(places, &inquiries));
        suspects.steps.iter().for_each(|step| found.step(step, &inquiries));
    }
    let fault = found.note_ends(&mut readings, &inputs);
    found.print().or_else(|error| if error.is_closed_pipe() { Ok(()) } else { Err(error) })?;
    match fault {
        Some(fault) => Err(fault),
        None if found.objects.different + found.steps.different == 0 => Ok(()),
        None => Err(CommandError::RecordingsDiffer),
    }
}

fn open(inputs: &[Input; 2], options: &SelectionOptions, stable: &Stable) -> Result<[Reading; 2], CommandError> {
    let open = |input: &Input| {
        Reading::open(options, stable.left_out(), input.path()).map_err(|error| input.command_error(error))
    };
    Ok([open(&inputs[0])?, open(&inputs[1])?])
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found<'a> {
    #[serde(skip)]
    options: &'a DiffOptions,
    #[serde(skip)]
    groups: Groups,
    objects: Counts,
    /// Writes, or what is compared in their place.
    steps: Counts,
    /// The differences that are not told one by one.
    not_told: u64,
    /// What the steps are called.
    #[serde(skip)]
    steps_are: &'static str,
    /// Whether both recordings were read to their ends.
    whole: bool,
}

#[derive(Default, Serialize)]
struct Counts {
    same: u64,
    different: u64,
}

/// What is compared field by field.
#[derive(Default)]
struct Suspects {
    objects: Vec<[Option<Place>; 2]>,
    steps: Vec<(Sort, Place, Unlike)>,
}

impl Suspects {
    /// Reads a recording again.
    fn asked<'s>(&self, side: usize, reading: Reading, stable: &'s Stable) -> Inquiry<'s> {
        let places = self.objects.iter().flatten().flatten().cloned().collect();
        let numbers = self.steps.iter().filter_map(|(_, _, unlike)| unlike.numbers[side]).collect();
        Inquiry::of(reading, stable, places, numbers)
    }
}

impl<'a> Found<'a> {
    fn new(options: &'a DiffOptions) -> Self {
        let (objects, steps, groups) = (Counts::default(), Counts::default(), Groups::new(options.format));
        Self { options, groups, objects, steps, not_told: 0, steps_are: "steps", whole: true }
    }

    /// Compares hashes.
    fn suspects(&mut self, surveys: &[Survey<'_>; 2], renamed: &Renamed, are_captures: bool) -> Suspects {
        let mut suspects = Suspects::default();
        if self.options.selection.selects_objects() {
            let [a, b] = surveys.each_ref().map(|survey| &survey.objects);
            for pair in joined(a, b, renamed).into_values() {
                match pair {
                    [Some((_, own)), Some((_, their))] if own == their => self.objects.same += 1,
                    _ => suspects.objects.push(pair.map(|it| it.map(|(place, _)| place.clone()))),
                }
            }
        }
        let none = BTreeMap::new();
        let sorts = self.sorts(surveys, are_captures);
        if let [sort] = sorts.iter().collect::<Vec<_>>()[..] {
            self.steps_are = sort.names().1;
        }
        for sort in sorts {
            let [a, b] = surveys.each_ref().map(|survey| survey.steps.get(&sort).unwrap_or(&none));
            for (place, pair) in joined(a, b, renamed) {
                let [a, b] = pair.map(|it| it.map_or(&[][..], |(_, steps)| steps));
                let (found, same) = unlike(a, b);
                self.steps.same += same;
                suspects.steps.extend(found.into_iter().map(|unlike| (sort, place.clone(), unlike)));
            }
        }
        for (len, counts) in [(suspects.objects.len(), &mut self.objects), (suspects.steps.len(), &mut self.steps)] {
            let more = len.saturating_sub(MOST_COMPARED) as u64;
            counts.different += more;
            self.not_told += more;
        }
        suspects.objects.truncate(MOST_COMPARED);
        suspects.steps.truncate(MOST_COMPARED);
        suspects
    }

    /// The parts of the time line that are compared.
    fn sorts(&self, surveys: &[Survey<'_>; 2], are_captures: bool) -> BTreeSet<Sort> {
        let all = surveys.iter().flat_map(|survey| survey.steps.keys().copied()).collect::<BTreeSet<_>>();
        if !self.options.selection.whats().is_empty() {
            return all;
        }
        [if are_captures && all.contains(&Sort::Write) { Sort::Write } else { Sort::Change }].into()
    }

    fn object(&mut self, places: &[Option<Place>; 2], inquiries: &[Inquiry<'_>; 2]) {
        let Some(first) = places.iter().flatten().next() else { return };
        let causes = |field: Option<&str>| {
            let cause = |side: usize| {
                let place = places[side].as_ref();
                inquiries[side].cause(place.unwrap_or(first), field, place.is_some())
            };
            [cause(0), cause(1)]
        };
        let of = Difference { what: OBJECTS, resource: first.0.clone(), ..Difference::default() };
        let objects = [0, 1].map(|side| places[side].as_ref().and_then(|place| inquiries[side].object(place)));
        let [Some(a), Some(b)] = objects else {
            self.objects.different += 1;
            let difference = if places[0].is_some() { How::OnlyA } else { How::OnlyB };
            return self.groups.add(Difference { difference, ..of }, &first.1, causes(None));
        };
        let (value, secrets) = (self.groups.value(), self.options.selection.show_secrets);
        let look = Look { listed: LISTED, value, left_out: &[], secrets, members: Members::OfLong };
        let changes = Changes::between(&a, &b, first.0.starts_with("secrets"), look);
        *if changes.listed.is_empty() { &mut self.objects.same } else { &mut self.objects.different } += 1;
        self.groups.others += changes.more as u64;
        for change in changes.listed {
            let [a, b] = change.held().map(|held| self.groups.told(Some(&held)));
            let causes = causes(Some(&change.field));
            self.groups.add(Difference { field: change.field.clone(), a, b, ..of.clone() }, &first.1, causes);
        }
    }

    fn step(&mut self, (sort, place, unlike): &(Sort, Place, Unlike), inquiries: &[Inquiry<'_>; 2]) {
        let steps = [0, 1].map(|side| inquiries[side].step(unlike.numbers[side]?));
        let Some(any) = steps.into_iter().flatten().next() else { return };
        let (what, event, resource) = (sort.names().1, any.entry.event.clone(), place.0.clone());
        let of = Difference { what, event, resource, ..Difference::default() };
        let causes = steps.map(|step| step.map(|step| &step.entry));
        let difference = match unlike.numbers {
            _ if unlike.has_moved => How::Order,
            [Some(_), None] => How::OnlyA,
            [None, _] => How::OnlyB,
            _ => {
                let is_same = self.fields(&of, &place.1, steps);
                *if is_same { &mut self.steps.same } else { &mut self.steps.different } += 1;
                return;
            }
        };
        self.steps.different += 1;
        self.groups.add(Difference { field: self.named(any), difference, ..of }, &place.1, causes);
    }

    /// The fields of a step with their values. Those of a new object are too many. The status comes last.
    fn named(&self, step: &Stepped) -> String {
        let is_word = |name: &str| name.starts_with('(');
        let mut fields: Vec<_> =
            step.fields.iter().filter(|(name, _)| step.entry.event != "POST" || is_word(name)).collect();
        fields.sort_by_key(|(name, _)| is_word(name));
        let words = fields.into_iter().map(|(field, held)| match held {
            Held::Nothing => format!("-{field}"),
            held => format!("{field} {}", self.groups.told(Some(held)).unwrap_or_default()),
        });
        let mut words: Vec<String> = words.collect();
        let more = words.len().saturating_sub(FIELDS);
        words.truncate(FIELDS);
        words.extend((more > 0).then(|| format!("and {more} more")));
        words.join(", ")
    }

    /// Compares two steps of a kind field by field. Returns whether they are the same.
    fn fields(&mut self, of: &Difference, key: &str, steps: [Option<&Stepped>; 2]) -> bool {
        let [Some(a), Some(b)] = steps else { return true };
        let names: BTreeSet<&String> = a.fields.keys().chain(b.fields.keys()).collect();
        let mut is_same = true;
        for field in names {
            let held = [a, b].map(|step| step.fields.get(field));
            if held[0] != held[1] {
                is_same = false;
                let [a_told, b_told] = held.map(|held| self.groups.told(held));
                let difference = Difference { field: field.clone(), a: a_told, b: b_told, ..of.clone() };
                self.groups.add(difference, key, [Some(&a.entry), Some(&b.entry)]);
            }
        }
        is_same
    }

    /// Says what the recordings lack, and returns the first fault.
    fn note_ends(&mut self, readings: &mut [Reading; 2], inputs: &[Input; 2]) -> Option<CommandError> {
        let mut first = None;
        for ((side, reading), input) in ["A", "B"].into_iter().zip(readings).zip(inputs) {
            let (notes, fault) = (reading.notes(), reading.fault());
            notes.iter().for_each(|note| messages::print(format_args!("{side}: {note}")));
            self.whole &= notes.is_empty() && fault.is_none();
            first = first.or_else(|| Some(input.error(fault?).into()));
        }
        self.not_told += self.groups.others;
        first
    }

    fn print(&self) -> Result<(), CommandError> {
        let mut text = Vec::new();
        let written = match self.options.format {
            Format::Json => {
                let lines = self.groups.sorted();
                let written = lines.iter().try_for_each(|line| write_json(&mut text, line));
                written.and_then(|()| write_json(&mut text, &serde_json::json!({ "summary": self })))
            }
            Format::Table => self.write_lines(&mut text),
        };
        written.and_then(|()| output::print(&text)).map_err(CommandError::Output)
    }

    fn write_lines(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let groups = self.groups.sorted();
        let mut what = "";
        for group in groups.iter().take(SHOWN) {
            if what != group.difference.what {
                what = group.difference.what;
                writeln!(out, "{what}:")?;
            }
            group.lines().into_iter().try_for_each(|line| writeln!(out, "{}", hide_credentials(line)))?;
        }
        let more = groups.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(out, "and {more} more groups, which -o json has")?;
        }
        let all = |counts: &Counts| counts.same + counts.different;
        let (objects, steps) = (Counted(all(&self.objects), "object", "objects"), all(&self.steps));
        let (objects_differ, steps_differ) = (self.objects.different, self.steps.different);
        writeln!(out, "{objects_differ} of {objects} and {steps_differ} of {steps} {} differ", self.steps_are)?;
        if self.not_told > 0 { writeln!(out, "{} more differences are not told", self.not_told) } else { Ok(()) }
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
