//! A finding: what happened, to what, how often, from when to when, and whose doing that is.

use super::super::entry::Entry;
use crate::output::seconds::Roughly;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

/// The most fields, culprits and notes of a finding.
const TEXTS: usize = 6;

/// What was found, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Kind {
    DefinitionDeleted,
    Refused,
    Fight,
    Loop,
    Stopped,
    Lag,
    Slow,
    Failing,
    ReconcilesFail,
    Missing,
    Conflicts,
    Undone,
    StreamsBreak,
    Warnings,
}

/// From the first to the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in super::super) struct Span {
    pub(in super::super) from: Duration,
    pub(in super::super) until: Duration,
    /// How many times there are, and how many of them the options select.
    pub(in super::super) times: u64,
    pub(in super::super) selected: u64,
}

/// What was found of one object or one kind of requests.
pub(super) struct Group {
    pub(super) kind: Kind,
    /// Such as `deployments.apps`; empty for all.
    pub(super) resource: String,
    /// The object; `None` for requests of any.
    pub(super) key: Option<String>,
    /// What is found, behind the kind.
    pub(super) what: String,
    pub(super) fields: Vec<String>,
    pub(super) culprits: Vec<String>,
    /// What may have led to it, or what came of it.
    pub(super) notes: Vec<String>,
    pub(super) count: u64,
    pub(super) span: Span,
    /// What objects have in common that are told as one finding, beside the kind, the resource and the culprits.
    pub(super) alike: String,
    /// The parts of the time line that show it.
    pub(super) parts: &'static str,
}

/// A finding, of one object or of several alike.
#[derive(Clone, Debug, Serialize)]
pub(in super::super) struct Finding {
    pub(in super::super) kind: Kind,
    pub(in super::super) resource: String,
    /// The object with the most of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in super::super) key: Option<String>,
    /// How many objects are alike.
    pub(in super::super) objects: u64,
    pub(in super::super) what: String,
    pub(in super::super) fields: Vec<String>,
    pub(in super::super) culprits: Vec<String>,
    pub(in super::super) notes: Vec<String>,
    pub(in super::super) count: u64,
    #[serde(skip)]
    pub(in super::super) span: Span,
    /// Whether it goes on up to the end of the recording.
    pub(in super::super) goes_on: bool,
    #[serde(skip)]
    pub(in super::super) parts: &'static str,
}

impl Kind {
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Self::DefinitionDeleted => "definition deleted",
            Self::Refused => "not permitted",
            Self::Fight => "two writers undo each other",
            Self::Loop => "loop",
            Self::Stopped => "watch that stopped",
            Self::Lag => "watch that lags",
            Self::Slow => "slow answers",
            Self::Failing => "requests that fail",
            Self::ReconcilesFail => "reconciles that fail",
            Self::Missing => "not found",
            Self::Conflicts => "conflicts",
            Self::Undone => "undone",
            Self::StreamsBreak => "lists and watches that break",
            Self::Warnings => "warnings",
        }
    }
}

impl Span {
    pub(super) fn at(at: Duration) -> Self {
        Self { from: at, until: at, ..Self::default() }
    }

    pub(super) fn note(&mut self, entry: &Entry) {
        self.note_at(entry.at, entry.is_selected);
    }

    pub(super) fn note_at(&mut self, at: Duration, is_selected: bool) {
        self.reach(at);
        self.times += 1;
        self.selected += u64::from(is_selected);
    }

    /// It lasts up to here at least.
    pub(super) fn reach(&mut self, at: Duration) {
        (self.from, self.until) = (self.from.min(at), self.until.max(at));
    }

    pub(super) fn and(self, other: Self) -> Self {
        let (times, selected) = (self.times + other.times, self.selected + other.selected);
        Self { from: self.from.min(other.from), until: self.until.max(other.until), times, selected }
    }

    /// How often it comes.
    pub(super) fn rate(self) -> Option<String> {
        let others = u32::try_from(self.times.checked_sub(1)?).ok()?;
        let interval = self.until.saturating_sub(self.from).checked_div(others)?;
        let in_second = Duration::from_secs(1).as_nanos().checked_div(interval.as_nanos())?;
        Some(match in_second {
            0 | 1 => format!("about once each {}", Roughly(interval)),
            times => format!("about {times} times a second"),
        })
    }

    /// Whether it lasts up to about the end.
    fn goes_on(self, end: Duration) -> bool {
        let near = (end / 20).clamp(Duration::from_secs(2), Duration::from_secs(60));
        self.until + near >= end
    }
}

/// The findings of groups, of which those that are alike are one.
pub(super) fn grouped(groups: Vec<Group>, end: Duration) -> Vec<Finding> {
    let mut alike: BTreeMap<(Kind, String, Vec<String>, String), Vec<Group>> = BTreeMap::new();
    for group in groups {
        let of = (group.kind, group.resource.clone(), group.culprits.clone(), group.alike.clone());
        alike.entry(of).or_default().push(group);
    }
    let mut findings: Vec<Finding> = alike.into_values().filter_map(|groups| finding(groups, end)).collect();
    // What goes on is what is wrong now.
    findings.sort_by(|a, b| {
        let rank = |it: &Finding| (!it.goes_on, it.kind, Reverse(it.count));
        rank(a).cmp(&rank(b)).then_with(|| a.key.cmp(&b.key))
    });
    findings
}

fn finding(mut groups: Vec<Group>, end: Duration) -> Option<Finding> {
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
    let (objects, count) = (groups.len() as u64, groups.iter().map(|group| group.count).sum());
    let span = groups.iter().map(|group| group.span).reduce(Span::and)?;
    let Group { kind, resource, key, what, mut fields, mut culprits, mut notes, parts, .. } = groups.swap_remove(0);
    [&mut fields, &mut culprits, &mut notes].into_iter().for_each(|texts| texts.truncate(TEXTS));
    let goes_on = span.goes_on(end);
    Some(Finding { kind, resource, key, objects, what, fields, culprits, notes, count, span, goes_on, parts })
}
