//! Watches that tell late, or no longer, what writes were answered with.

use super::super::entry::Entry;
use super::finding::{Group, Kind, Span};
use super::objects::name;
use crate::output::seconds::Roughly;
use crate::report::changed::within;
use listwatch::text::Counted;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// The most objects whose events are waited for, and the most resources.
const MOST: usize = 50_000;
/// An event that comes as long behind the answer is late.
const LATE: Duration = Duration::from_secs(1);
/// A write that is not told for so long at the end is lost.
const LOST: Duration = Duration::from_secs(10);
/// So many late events of a resource are worth a word.
const FEW: u64 = 3;

#[derive(Default)]
pub(super) struct Lag {
    objects: HashMap<(String, String), State>,
    /// The resources of which a list has told.
    listed: HashSet<String>,
    late: HashMap<String, Late>,
    /// The longest of what else may be slow: writes, reconciles, and what keys waited.
    longest: [Duration; 3],
    pub(super) uncounted: u64,
}

#[derive(Default)]
struct State {
    /// The version that a watch told last.
    told: u64,
    awaited: Option<Awaited>,
}

/// A write that no watch has told.
struct Awaited {
    version: u64,
    answered: Duration,
    is_selected: bool,
}

#[derive(Default)]
struct Late {
    count: u64,
    longest: Duration,
    span: Option<Span>,
    key: Option<String>,
}

impl Lag {
    /// A watch told a change, or a list the state of all objects.
    pub(super) fn told(&mut self, entry: &Entry) {
        if matches!(&*entry.event, "list" | "gap") {
            return self.listed(entry);
        }
        let (Some(version), Some(name)) = (version(entry), name(entry)) else { return };
        let Some(state) = within(&mut self.objects, name, MOST) else {
            self.uncounted += 1;
            return;
        };
        let is_first = state.told == 0;
        state.told = state.told.max(version);
        let Some(awaited) = state.awaited.take_if(|awaited| awaited.version <= version) else { return };
        // A watch may select an object only since a later version.
        if is_first && awaited.version < version {
            return;
        }
        let lag = entry.at.saturating_sub(awaited.answered);
        if lag < LATE {
            return;
        }
        let Some(late) = within(&mut self.late, entry.resource.clone().unwrap_or_default(), MOST) else { return };
        let is_selected = entry.is_selected || awaited.is_selected;
        late.note([awaited.answered, entry.at], is_selected, entry.key.as_deref());
    }

    /// No event follows of what a list shows.
    fn listed(&mut self, entry: &Entry) {
        let (Some(version), Some(resource)) = (version(entry), &entry.resource) else { return };
        let of_list = self.objects.iter_mut().filter(|((own, _), _)| own == resource);
        of_list.for_each(|(_, state)| _ = state.awaited.take_if(|awaited| awaited.version <= version));
        if self.listed.len() < MOST {
            self.listed.insert(resource.clone());
        }
    }

    /// A write was answered. Its event is waited for if a watch is there.
    pub(super) fn answered(&mut self, entry: &Entry) {
        self.longest[0] = self.longest[0].max(millis(entry));
        let (Some(version), Some(name)) = (version(entry), name(entry)) else { return };
        if entry.failed || entry.event == "DELETE" {
            return;
        }
        let state = match self.listed.contains(&name.0) {
            true => within(&mut self.objects, name, MOST),
            false => self.objects.get_mut(&name),
        };
        if let Some(state) = state.filter(|state| state.told < version) {
            let (answered, is_selected) = (entry.until(), entry.is_selected);
            state.awaited.get_or_insert(Awaited { version, answered, is_selected });
        }
    }

    pub(super) fn reconciled(&mut self, entry: &Entry) {
        self.longest[1] = self.longest[1].max(millis(entry));
        let causes = entry.reconcile.iter().flat_map(|own| &own.causes);
        self.longest[2] = causes.filter_map(|cause| waited(cause)).fold(self.longest[2], Duration::max);
    }

    /// What was not the reason, as a tape tells.
    fn others(&self) -> Option<String> {
        let [writes, reconciles, keys] = self.longest.map(Roughly);
        let is_fast = !reconciles.0.is_zero() && self.longest.iter().all(|longest| *longest < LATE);
        is_fast.then(|| {
            format!("not the reason: writes took up to {writes}, reconciles {reconciles}, and keys waited for {keys}")
        })
    }

    pub(super) fn groups(&self, end: Duration) -> Vec<Group> {
        let mut lost: HashMap<&str, Late> = HashMap::new();
        // Of an object that no watch has told of, there may be none.
        for ((resource, key), state) in self.objects.iter().filter(|(_, state)| state.told > 0) {
            let Some(awaited) = state.awaited.as_ref().filter(|it| it.answered + LOST <= end) else { continue };
            let late = lost.entry(resource.as_str()).or_default();
            late.note([awaited.answered, end], awaited.is_selected, Some(key));
        }
        let stopped = lost.iter().map(|(resource, late)| {
            let what = format!(
                "{} written, and no watch told of it up to the end, {:.0} s later",
                Counted(late.count, "object was", "objects were"),
                late.longest.as_secs_f64()
            );
            late.group(Kind::Stopped, resource, what)
        });
        let late = self.late.iter().filter(|(_, late)| late.count >= FEW).map(|(resource, late)| {
            let what = format!("events came up to {:.1} s behind the answers to writes", late.longest.as_secs_f64());
            let mut group = late.group(Kind::Lag, resource, what);
            group.notes.extend(self.others());
            group
        });
        stopped.chain(late).collect()
    }
}

impl Late {
    /// Counts an object whose event has not come for so long.
    fn note(&mut self, [from, until]: [Duration; 2], is_selected: bool, key: Option<&str>) {
        self.count += 1;
        self.span.get_or_insert_with(|| Span::at(from)).note_at(from, is_selected);
        self.span.iter_mut().for_each(|span| span.reach(until));
        let lag = until.saturating_sub(from);
        if lag > self.longest {
            (self.longest, self.key) = (lag, key.map(str::to_owned));
        }
    }

    fn group(&self, kind: Kind, resource: &str, what: String) -> Group {
        Group {
            kind,
            resource: resource.to_owned(),
            key: None,
            what,
            fields: Vec::new(),
            culprits: vec!["the API server, or the way from it".to_owned()],
            notes: self.key.iter().map(|key| format!("the longest: {key}")).collect(),
            count: self.count,
            span: self.span.unwrap_or_default(),
            alike: String::new(),
            parts: "changes writes",
        }
    }
}

fn version(entry: &Entry) -> Option<u64> {
    entry.version.as_ref()?.parse().ok()
}

fn millis(entry: &Entry) -> Duration {
    Duration::from_millis(entry.millis.unwrap_or_default())
}

/// How long a change waited for the reconcile that it caused: `Updated /api/v1/pods/web/a at version 17 after 120ms`.
fn waited(cause: &str) -> Option<Duration> {
    let (_, waited) = cause.rsplit_once(" after ").filter(|(cause, _)| cause.contains(" at version "))?;
    let (number, unit) = waited.split_at(waited.find(char::is_alphabetic)?);
    let unit = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        _ => 0.0,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * unit).ok()
}
