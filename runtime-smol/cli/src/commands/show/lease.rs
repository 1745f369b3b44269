//! Leases: the terms of their holders, with renewals folded.

use super::entry::{By, Entry, Sort};
use listwatch::text::Counted;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The leases that a recording tells of, by their keys.
#[derive(Default)]
pub(super) struct Leases(BTreeMap<String, Term>);

/// What is known of a lease.
struct Term {
    /// Empty if nobody holds it.
    holder: String,
    version: u64,
    renewals: u64,
    first: Duration,
    last: Duration,
}

/// A state of a lease that was told.
pub(super) struct Seen<'a> {
    pub(super) at: Duration,
    pub(super) line: Option<u64>,
    pub(super) key: &'a str,
    pub(super) lease: &'a Value,
    /// The author of the state, if it is a write of the recording.
    pub(super) by: Option<By>,
}

/// Whether a collection is that of leases.
pub(super) fn are_leases(collection: &str) -> bool {
    collection.starts_with("coordination.k8s.io/") && collection.ends_with("/leases")
}

impl Leases {
    /// Takes a state, and returns what it tells.
    pub(super) fn see(&mut self, seen: Seen<'_>) -> Vec<Entry> {
        let holder = seen.lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        let version = seen.lease["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let version: u64 = version.unwrap_or_default();
        let term = Term { holder: holder.to_owned(), version, renewals: 0, first: seen.at, last: seen.at };
        let Some(known) = self.0.get_mut(seen.key) else {
            let (event, is_empty) = (if seen.by.is_none() { "held" } else { "took" }, holder.is_empty());
            let entry = entry(&seen, if is_empty { "free" } else { event }, holder.to_owned());
            self.0.insert(seen.key.to_owned(), term);
            return vec![entry];
        };
        if version > 0 && version <= known.version {
            return Vec::new();
        }
        if known.holder == holder {
            (known.renewals, known.last, known.version) =
                (known.renewals + u64::from(!holder.is_empty()), seen.at, version);
            return Vec::new();
        }
        let before = std::mem::replace(known, term);
        let folded = before.folded(seen.key);
        let told = match (&*before.holder, holder) {
            (old, "") => entry(&seen, "released", old.to_owned()),
            ("", new) => entry(&seen, "took", new.to_owned()),
            (old, new) => {
                let since = seen.at.saturating_sub(before.last);
                let lost = format!("{new}, from {old}, which lost it: its last renewal was {since:?} before");
                entry(&seen, "took over", lost)
            }
        };
        folded.into_iter().chain([told]).collect()
    }

    /// A lease was deleted.
    pub(super) fn gone(&mut self, seen: &Seen<'_>) -> Vec<Entry> {
        let Some(before) = self.0.remove(seen.key) else { return Vec::new() };
        let folded = before.folded(seen.key);
        folded.into_iter().chain([entry(seen, "deleted", before.holder)]).collect()
    }

    /// The renewals that are not told yet, at the end.
    pub(super) fn end(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.0).into_iter().filter_map(|(key, term)| term.folded(&key)).collect()
    }
}

impl Term {
    /// Its renewals as one entry.
    fn folded(&self, key: &str) -> Option<Entry> {
        let Self { holder, renewals, first, last, .. } = self;
        let times = Counted(*renewals, "time", "times");
        let message = format!("{holder}, {times} in {:?}", last.saturating_sub(*first));
        (*renewals > 0).then(|| Entry { at: *last, event: "renewed".to_owned(), message: Some(message), ..of(key) })
    }
}

fn of(key: &str) -> Entry {
    Entry {
        what: Sort::Lease,
        resource: Some("leases.coordination.k8s.io".to_owned()),
        collection: Some("coordination.k8s.io/v1/leases".to_owned()),
        key: Some(key.to_owned()),
        is_labelled: true,
        ..Entry::default()
    }
}

fn entry(seen: &Seen<'_>, event: &str, message: String) -> Entry {
    let Seen { at, line, key, by, .. } = seen;
    let message = Some(message).filter(|message| !message.is_empty());
    Entry { at: *at, line: *line, event: event.to_owned(), message, by: by.clone().unwrap_or_default(), ..of(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn renewals_are_folded_and_changes_of_the_holder_are_told() {
        let (mut leases, mut told) = (Leases::default(), Vec::new());
        let states = [("a", 1), ("a", 2), ("a", 2), ("a", 3), ("b", 4), ("", 5), ("c", 6), ("c", 7)];
        for (second, (holder, version)) in (0..).zip(states) {
            let lease =
                json!({ "metadata": { "resourceVersion": version.to_string() }, "spec": { "holderIdentity": holder } });
            let at = Duration::from_secs(second);
            told.extend(leases.see(Seen { at, line: None, key: "web/x", lease: &lease, by: None }));
        }
        told.extend(leases.end());
        let told: Vec<String> =
            told.into_iter().map(|entry| format!("{} {}", entry.event, entry.message.unwrap_or_default())).collect();
        assert_eq!(
            told,
            [
                "held a",
                "renewed a, 2 times in 3s",
                "took over b, from a, which lost it: its last renewal was 1s before",
                "released b",
                "took c",
                "renewed c, 1 time in 1s"
            ]
        );
    }
}
