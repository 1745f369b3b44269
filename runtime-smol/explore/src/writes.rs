//! The writes of a run, and the changes that they make.

use crate::place::is_work;
use crate::plan::Trouble;
use listwatch::testing::{Commit, Sent};
use listwatch::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// What was written so far.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// The requests to write what is work.
    pub(crate) requests: u32,
    /// When the last change of what is work was stored.
    pub(crate) last: Instant,
    /// How often each request has changed nothing, while nothing disturbed the program. It is compared with the undisturbed
    /// run; the `LoopDetector` of core has one limit for all programs, and sees the writes of its own controller alone.
    idle: BTreeMap<String, u32>,
    /// What the program has created.
    pub(crate) created: BTreeSet<String>,
    /// The versions and the resources of all changes of what is work.
    versions: Vec<(u64, String)>,
    /// The object of the last one.
    latest: String,
    changes: u64,
    /// What happens to the answers of these places, and how many changes there were at their requests.
    awaited: BTreeMap<String, (Option<Trouble>, u64)>,
}

impl Writes {
    /// A change was stored.
    pub(crate) fn on_commit(&mut self, commit: &Commit, now: Instant) {
        self.changes += 1;
        if is_work(&commit.resource) {
            self.versions.push((commit.version, commit.resource.clone()));
            self.latest = format!("{} {}", commit.resource, commit.key);
            self.last = now;
        }
    }

    /// This happens to the answer of a request.
    pub(crate) fn await_answer(&mut self, at: &str, trouble: Option<Trouble>) {
        self.awaited.insert(at.to_owned(), (trouble, self.changes));
    }

    /// A request was answered: what happens to its answer.
    pub(crate) fn answer(&mut self, sent: &Sent<'_>, at: &str, status: u16, is_calm: bool) -> Option<Trouble> {
        // Another request of the name may have taken it: one of a second replica, or one that overtook this one.
        let (trouble, changes) = self.awaited.remove(at).unwrap_or((None, u64::MAX));
        let is_change = matches!(sent.method, "PATCH" | "PUT") && (200..300).contains(&status);
        if is_change && is_calm && changes == self.changes && is_work(&sent.resource) {
            *self.idle.entry(at.to_owned()).or_default() += 1;
        }
        if sent.method == "POST" && status == 201 && is_work(&sent.resource) {
            self.created.insert(format!("{} {}", sent.resource, sent.key));
        }
        trouble
    }

    /// The most frequent write that changed nothing.
    pub(crate) fn idlest(&self) -> Option<(String, u32)> {
        self.idle.iter().max_by_key(|(_, count)| **count).map(|(at, count)| (at.clone(), *count))
    }

    /// The object that was changed last.
    pub(crate) fn latest(&self) -> &str {
        &self.latest
    }

    /// The version before the last changes, of a resource or of all: so many are hidden.
    pub(crate) fn version_before(&self, changes: u32, resource: Option<&str>) -> u64 {
        let is_of = |(_, it): &&(u64, String)| resource.is_none_or(|resource| resource == it);
        let hidden = self.versions.iter().rev().filter(is_of).nth(changes.saturating_sub(1) as usize);
        // The fixture was there before the program.
        let first = || self.versions.first().map_or(u64::MAX, |(version, _)| version - 1);
        hidden.map_or_else(first, |(version, _)| version - 1)
    }
}
