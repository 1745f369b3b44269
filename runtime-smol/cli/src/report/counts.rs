//! Counts of events, failures and objects.

use super::reason::reason;
use super::summary::lines;
use listwatch::Event;
use listwatch::reflector::{FailureReport, Reaction};
use listwatch::text::{Counted, Printable};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// The characters of a decoder's error at the most.
const SENTENCE: usize = 300;

/// Events by kind, and failures by reason.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    added: u64,
    updated: u64,
    recreated: u64,
    deleted: u64,
    vanished: u64,
    pub(crate) undecodable: u64,
    /// Whether a whole list was received.
    pub(crate) synced: bool,
    /// The last failure.
    failure: Option<String>,
    /// The error of the last object that could not be decoded.
    undecoded: Option<String>,
    relists: Reasons,
    rewatches: Reasons,
}

/// How often each reason occurred. The first reasons are counted one by one, and the others together.
#[derive(Default)]
struct Reasons {
    counts: BTreeMap<String, u64>,
    others: u64,
}

impl Counts {
    pub(crate) fn note<T>(&mut self, event: &Event<T>) {
        self.events += u64::from(event.object().is_some());
        match event {
            Event::Added { .. } => self.added += 1,
            Event::Updated { .. } => self.updated += 1,
            Event::Recreated { .. } => self.recreated += 1,
            Event::Deleted { final_state_known: true, .. } => self.deleted += 1,
            Event::Deleted { final_state_known: false, .. } => self.vanished += 1,
            Event::Synced => self.synced = true,
            Event::Undecodable(undecodable) => {
                self.undecodable += 1;
                self.undecoded = Some(Printable::new(&undecodable.error).at_most(SENTENCE).to_string());
            }
            Event::Failed(failed) => self.note_failure(failed),
            _ => {}
        }
    }

    /// The reason why there was no state: the last failure, and the last object that could not be decoded.
    pub(crate) fn reason(&self) -> Option<String> {
        let undecoded = self.undecoded.as_ref().map(|error| format!("an object could not be decoded: {error}"));
        let reasons: Vec<_> = self.failure.clone().into_iter().chain(undecoded).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    fn note_failure(&mut self, failed: &FailureReport) {
        let reason = self.failure.insert(reason(failed)).clone();
        let counts = match failed.reaction {
            Reaction::Relist | Reaction::RelistByList | Reaction::RelistUnpaged => &mut self.relists,
            Reaction::Rewatch => &mut self.rewatches,
            Reaction::ListInstead | Reaction::Resume => return,
        };
        counts.note(reason);
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { added, updated, recreated, deleted, vanished, undecodable, .. } = self;
        let events =
            format!("{added} added, {updated} updated, {recreated} recreated, {deleted} deleted, {vanished} vanished");
        lines(f, "events", [events])?;
        lines(f, "relists", self.relists.lines())?;
        lines(f, "rewatches", self.rewatches.lines())?;
        let objects = Counted(*undecodable, "object", "objects");
        let kept = format!("{objects} could not be decoded; not in the cache, or as before");
        lines(f, "undecodable", (*undecodable > 0).then_some(kept))
    }
}

impl Reasons {
    /// The number of reasons that are counted one by one.
    const MOST: usize = 16;

    fn note(&mut self, reason: String) {
        let has_room = self.counts.len() < Self::MOST;
        match self.counts.entry(reason) {
            Entry::Occupied(mut count) => *count.get_mut() += 1,
            Entry::Vacant(free) if has_room => drop(free.insert(1)),
            Entry::Vacant(_) => self.others += 1,
        }
    }

    fn lines(&self) -> Vec<String> {
        let reasons = self.counts.iter().map(|(reason, count)| format!("{count} after {reason}"));
        let others = (self.others > 0).then(|| format!("{} after others", self.others));
        if self.counts.is_empty() { vec!["none".into()] } else { reasons.chain(others).collect() }
    }
}
