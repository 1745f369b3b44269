//! What an operator has to know of a recording first: loops, refusals, what was undone, what lags, and whose doing that is.

mod authors;
mod definitions;
mod finding;
mod lag;
mod objects;
mod requests;
mod rules;
mod warnings;

pub(super) use finding::{Finding, Span};

use super::entry::{Entry, Sort};
use authors::Authors;
use definitions::Definitions;
use finding::Group;
use lag::Lag;
use objects::Objects;
use requests::Requests;
use rules::Rules;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use warnings::Warnings;

/// The most findings of a kind that are told.
const TOLD: usize = 8;

/// What the entries of a time line add up to.
#[derive(Default)]
pub(super) struct Findings {
    authors: Authors,
    objects: Objects,
    requests: Requests,
    rules: Rules,
    definitions: Definitions,
    lag: Lag,
    warnings: Warnings,
    end: Duration,
}

/// The findings, the most important first, and what was not looked at.
pub(super) struct Told {
    pub(super) findings: Vec<Finding>,
    /// How many more there are of a kind, and what was not counted for want of memory.
    pub(super) left_out: Vec<String>,
    /// Whether there is none, also of what the options do not select.
    pub(super) is_all_clear: bool,
}

impl Told {
    /// What the options name, and the recording does not have, is no sign that all is well.
    pub(super) fn note_unknown(&mut self, unknown: Vec<String>) {
        self.is_all_clear &= unknown.is_empty();
        self.left_out.splice(0..0, unknown);
    }

    /// What is said if there are no findings.
    pub(super) fn clear(&self) -> Option<&'static str> {
        let text = match self.is_all_clear {
            true => "nothing stands out: no loop, no refusal, nothing undone, nothing late",
            false => "nothing that the options select stands out",
        };
        self.findings.is_empty().then_some(text)
    }
}

impl Findings {
    /// The recording goes on up to here.
    pub(super) fn reach(&mut self, at: Duration) {
        self.end = self.end.max(at);
    }

    /// Takes the next entry.
    pub(super) fn take(&mut self, entry: &Entry) {
        let until = entry.until();
        self.end = self.end.max(if until == Duration::MAX { entry.at } else { until });
        entry.writes.iter().for_each(|write| self.take(write));
        let author = self.authors.of(&entry.by);
        match entry.what {
            Sort::Change if entry.event == "gap" => {
                self.requests.take(entry, author);
                self.lag.told(entry);
            }
            Sort::Change => {
                self.warnings.take(entry);
                self.objects.change(entry, author);
                self.lag.told(entry);
            }
            Sort::Write => {
                self.objects.write(entry, author);
                self.requests.take(entry, author);
                self.lag.answered(entry);
            }
            Sort::Reconcile => {
                self.requests.take(entry, author);
                self.lag.reconciled(entry);
                entry.reconcile.iter().for_each(|own| self.objects.reconciled(own));
            }
            Sort::Failure => self.requests.take(entry, author),
            Sort::Lease => {}
        }
        self.rules.take(entry);
        self.definitions.take(entry);
    }

    /// All findings of which the options select something, at the end of the recording.
    pub(super) fn told(&self) -> Told {
        let (groups, others): (Vec<Group>, Vec<Group>) =
            self.groups().into_iter().partition(|group| group.span.selected > 0);
        let others: BTreeSet<&str> = others.iter().map(|group| group.kind.name()).collect();
        let others = (!others.is_empty()).then(|| others.into_iter().collect::<Vec<_>>().join(", "));
        let is_all_clear = groups.is_empty() && others.is_none();
        let mut findings = finding::grouped(groups, self.end);
        let mut kinds = BTreeMap::new();
        findings.retain(|finding| {
            let count = kinds.entry(finding.kind).or_insert(0);
            *count += 1;
            *count <= TOLD
        });
        let others = others.map(|kinds| format!("left out by the options: {kinds}"));
        let more = kinds.iter().filter(|(_, count)| **count > TOLD);
        let more = more.map(|(kind, count)| format!("{} more of the kind: {}", count - TOLD, kind.name()));
        let uncounted = [
            ("changes and writes of objects behind the first ones", self.objects.uncounted),
            ("requests of kinds behind the first ones", self.requests.uncounted),
            ("writes whose events were not waited for", self.lag.uncounted),
            ("Events of the type Warning behind the first ones", self.warnings.uncounted),
        ];
        let uncounted = uncounted.iter().filter(|(_, count)| *count > 0);
        let uncounted = uncounted.map(|(what, count)| format!("not looked at: {count} {what}"));
        Told { findings, left_out: more.chain(others).chain(uncounted).collect(), is_all_clear }
    }

    fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = self.definitions.groups(self.end);
        groups.extend(self.requests.groups(&self.authors, &self.rules, &self.definitions));
        groups.extend(self.objects.groups(&self.authors, self.end));
        groups.extend(self.lag.groups(self.end));
        groups.extend(self.warnings.groups());
        for group in &mut groups {
            group.notes.extend(self.authors.lack(&group.culprits));
        }
        groups
    }
}
