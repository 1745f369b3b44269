//! What an audit may report, and what it has to, by the log of all writes.

use crate::sim::client::Client;
use crate::sim::fault::Fault;
use crate::sim::log::{Entry, Log};
use crate::sim::object::{Health, KeyNumber, Stored, key_of};
use crate::sim::selector::Selector;
use crate::sim::tier::Seen;
use listwatch_core::Resource;
use listwatch_core::audit::{AuditReport, DifferenceKind, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;

/// What is to be compared.
#[derive(Debug)]
pub(super) struct Truth {
    selector: Selector,
    metadata_only: bool,
    /// The store's era when the audit began.
    era: u32,
    /// Each object and revision that the store had when a page came. What goes after that, the next audit finds.
    had: BTreeSet<(KeyNumber, u64)>,
}

/// The cache when the audit decided which suspicions stand.
#[derive(Debug)]
pub(super) struct Judged {
    /// The revision of the server.
    revision: u64,
    /// The revision of each object.
    cache: BTreeMap<KeyNumber, u64>,
    /// The store's era of the cache.
    era: u32,
}

impl Judged {
    pub(super) fn of(client: &Client, log: &Log) -> Self {
        Self { revision: log.revision(), cache: cache(client), era: client.observer.era() }
    }
}

fn cache(client: &Client) -> BTreeMap<KeyNumber, u64> {
    client.informer.cache().iter().map(|object| (object.place(), object.revision())).collect()
}

impl Truth {
    pub(super) fn new(resource: &Resource, log: &Log) -> Self {
        let selector = Selector::of(resource).unwrap_or_else(|| panic!("{resource:?} cannot be selected"));
        Self { selector, metadata_only: resource.is_metadata_only(), era: log.era(), had: BTreeSet::new() }
    }

    /// A page comes, with which the audit compares the store.
    pub(super) fn note_page(&mut self, client: &Client) {
        self.had.extend(cache(client));
    }

    /// Checks a report, and returns the number of differences that it owed. None where nothing can be said: the store
    /// went back to a backup, or the report is of suspicions.
    ///
    /// # Panics
    /// Where the report has a difference that is not there, or lacks one that is.
    pub(super) fn check(&self, report: &AuditReport, judged: &Judged, client: &Client, log: &Log) -> Option<usize> {
        let is_one_era = log.era() == self.era && judged.era == self.era && client.observer.era() == self.era;
        if !is_one_era || report.verdict() == Verdict::Behind {
            return None;
        }
        let listed = report.version.parse().unwrap_or_else(|error| panic!("{}: {error}", report.version));
        let after = cache(client);
        // A state that cannot be decoded may be lost by the proxy, and a client that begins with a saved state forgets it.
        let may_not_know = client.observer.is_lossy || client.tally.faults[Fault::Killed as usize] > 0;
        let mut owed = 0;
        for key in 0..log.keys() {
            let found = report.differences.iter().find(|it| key_of(it.key.name()) == Some(key));
            let after = after.get(&key).copied();
            let view = View { key, listed, judged, after, log, truth: self, may_not_know };
            if let Some(found) = found {
                assert!(view.may_be(found.kind()), "{found} is reported, and it is explained: {view:?}");
            } else {
                assert!(!view.has_to_be(), "pod {key} is not reported by {report}: {view:?}");
            }
            owed += usize::from(view.has_to_be());
        }
        Some(owed)
    }

    fn selected(&self, key: KeyNumber, state: Option<Stored>) -> Option<Stored> {
        state.filter(|state| self.selector.matches(key, state))
    }

    fn is_readable(&self, state: &Stored) -> bool {
        state.health == Health::Good || self.metadata_only && !state.health.is_blinding()
    }
}

/// One object, as the log and the cache have it.
struct View<'v> {
    key: KeyNumber,
    /// The revision of the list.
    listed: u64,
    judged: &'v Judged,
    /// The revision in the cache at the end.
    after: Option<u64>,
    log: &'v Log,
    truth: &'v Truth,
    /// The store may not know that a state cannot be decoded.
    may_not_know: bool,
}

impl View<'_> {
    /// Each state that the object had from the list until `until`; None where it was not there.
    fn states(&self, until: u64) -> impl Iterator<Item = Option<Stored>> {
        let of_it = move |entry: &&Entry| entry.key == self.key && entry.revision <= until;
        let later = self.log.since(self.listed).iter().filter(of_it).map(|entry| entry.after);
        once(self.log.state(self.key, self.listed)).chain(later).map(|state| self.truth.selected(self.key, state))
    }

    /// The state in the list.
    fn at_list(&self) -> Option<Stored> {
        self.states(self.listed).next().flatten()
    }

    /// The revision in the cache when the audit decided.
    fn cached(&self) -> Option<u64> {
        self.judged.cache.get(&self.key).copied()
    }

    /// Whether a cache with every change up to some revision from the list on has this.
    fn is_explained(&self, cached: Option<u64>, until: u64) -> bool {
        self.states(until).any(|state| state.map(|state| state.revision) == cached)
    }

    fn may_be(&self, kind: DifferenceKind) -> bool {
        let at_list = self.at_list();
        let is_decodable = self.may_not_know || at_list.is_none_or(|state| self.truth.is_readable(&state));
        let is_wrong = !self.is_explained(self.cached(), self.judged.revision);
        // It may be deleted after the second list, which proves that it was there when the audit decided.
        is_decodable && is_wrong && (kind != DifferenceKind::Missing || self.after.is_none())
    }

    /// Whether an audit has to tell. Of an object that is missing and changes meanwhile, it cannot.
    fn has_to_be(&self) -> bool {
        let until = self.log.revision();
        let at_list = self.at_list();
        let is_all_readable = self.states(until).flatten().all(|state| self.truth.is_readable(&state));
        // An item without a name may be any.
        let has_unnamed = self.log.states(self.listed).any(|(_, state)| state.health.is_blinding());
        let changes = self.states(until).any(|state| state != at_list);
        let was_right = at_list.is_some_and(|state| self.truth.had.contains(&(self.key, state.revision)));
        let is_wrong = !was_right && !self.is_explained(self.cached(), self.judged.revision);
        // A state of another era passes for one that is later than the list.
        let is_wrong = is_wrong && self.cached().is_none_or(|cached| cached <= until);
        let stays = self.cached().is_some() || !changes && self.after.is_none();
        is_wrong && stays && is_all_readable && !has_unnamed
    }
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let states: Vec<_> = self.states(self.log.revision()).collect();
        f.debug_struct("View")
            .field("key", &self.key)
            .field("listed", &self.listed)
            .field("cached", &self.cached())
            .field("after", &self.after)
            .field("judged at", &self.judged.revision)
            .field("states", &states)
            .finish_non_exhaustive()
    }
}
