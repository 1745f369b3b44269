//! The leases that the processes of a run apply for.

use core::mem::take;
use core::time::Duration;
use listwatch::testing::{Commit, Sent};
use listwatch::time::Instant;
use serde_json::Value;
use std::collections::BTreeMap;

/// A candidate looks at a lease that has expired so soon.
const LOOK: Duration = Duration::from_secs(30);

/// The leases of a run, and how the present process stands to them.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// By their keys, such as `web/controller`.
    written: BTreeMap<String, Written>,
    /// Those that the present process applies for.
    applied: BTreeMap<String, Candidate>,
    /// Those of the first replica, while a second one runs.
    standing: BTreeMap<String, Candidate>,
}

/// A lease, as it was written last.
#[derive(Debug)]
struct Written {
    at: Instant,
    /// Empty for none.
    holder: String,
    /// Since when this holder has it.
    since: Instant,
    duration: Duration,
}

/// A process that applies for a lease.
#[derive(Debug)]
pub(crate) struct Candidate {
    since: Instant,
    /// Its name in the lease, once it has written one.
    identity: String,
}

impl Leases {
    /// Whether a lease was written in this run.
    pub(crate) fn knows(&self, key: &str) -> bool {
        self.written.contains_key(key)
    }

    /// The fixture has this lease.
    pub(crate) fn learn(&mut self, key: &str, lease: &Value) {
        self.write(key, Some(lease), Instant::ZERO);
    }

    /// A lease was stored.
    pub(crate) fn on_commit(&mut self, commit: &Commit, now: Instant) {
        self.write(&commit.key, commit.after.as_deref(), now);
    }

    fn write(&mut self, key: &str, lease: Option<&Value>, at: Instant) {
        let spec = lease.map_or(&Value::Null, |lease| &lease["spec"]);
        let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
        let before = self.written.remove(key).filter(|before| before.holder == holder);
        let duration = Duration::from_secs(spec["leaseDurationSeconds"].as_u64().unwrap_or_default());
        let since = before.map_or(at, |before| before.since);
        self.written.insert(key.to_owned(), Written { at, holder, since, duration });
    }

    /// The present process asks for a lease.
    pub(crate) fn apply(&mut self, key: &str, now: Instant) -> &mut Candidate {
        let candidate = || Candidate { since: now, identity: String::new() };
        self.applied.entry(key.to_owned()).or_insert_with(candidate)
    }

    /// The present process has written a lease: it takes or renews it, or leaves it free.
    pub(crate) fn on_answer(&mut self, sent: &Sent<'_>, now: Instant) {
        let body: Value = serde_json::from_slice(sent.body).unwrap_or_default();
        let Some(identity) = body["spec"]["holderIdentity"].as_str() else { return };
        match identity {
            "" => _ = self.applied.remove(&sent.key),
            identity => identity.clone_into(&mut self.apply(&sent.key, now).identity),
        }
    }

    /// The present process is gone.
    pub(crate) fn withdraw(&mut self) {
        self.applied.clear();
    }

    /// A second replica begins, while the first one stands still.
    pub(crate) fn begin_second(&mut self) {
        self.standing = take(&mut self.applied);
    }

    /// The second replica is gone, and the first one goes on. True if the second one has waited for a lease to the last.
    pub(crate) fn end_second(&mut self, now: Instant) -> bool {
        let has_waited = self.waits().next().is_some();
        self.applied = take(&mut self.standing);
        self.applied.values_mut().for_each(|it| it.since = now);
        has_waited
    }

    /// When the present process has taken a lease the last time.
    pub(crate) fn taken(&self) -> Instant {
        let own = self.known().filter(|(it, lease)| it.holds(lease));
        own.map(|(_, lease)| lease.since).max().unwrap_or(Instant::ZERO)
    }

    /// Until when the present process may have to wait for a lease that no living candidate holds, if it does.
    pub(crate) fn awaited(&self, now: Instant) -> Option<Instant> {
        // Another one that lives has renewed it since.
        let is_free = |(it, lease): &(&Candidate, &Written)| lease.holder.is_empty() || lease.at <= it.since;
        let until = |(it, lease): (&Candidate, &Written)| it.since.max(lease.at) + 2 * lease.duration + LOOK;
        self.waits().filter(is_free).map(until).max().filter(|until| now < *until)
    }

    /// The leases that the present process applies for, and does not hold.
    fn waits(&self) -> impl Iterator<Item = (&Candidate, &Written)> {
        self.known().filter(|(it, lease)| !it.holds(lease))
    }

    fn known(&self) -> impl Iterator<Item = (&Candidate, &Written)> {
        self.applied.iter().filter_map(|(key, it)| Some((it, self.written.get(key)?)))
    }
}

impl Candidate {
    fn holds(&self, lease: &Written) -> bool {
        !self.identity.is_empty() && self.identity == lease.holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn lease(holder: &str) -> Value {
        json!({ "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15 } })
    }

    #[test]
    fn a_candidate_is_awaited_unless_another_one_renews() {
        let mut leases = Leases::default();
        leases.learn("web/a", &lease("dead"));
        assert_eq!(leases.awaited(at(1)), None, "nobody applies");
        leases.apply("web/a", at(1));
        assert_eq!(leases.awaited(at(1)), Some(at(61)));
        assert_eq!(leases.awaited(at(61)), None, "it had its time");
        leases.write("web/a", Some(&lease("living")), at(5));
        assert_eq!(leases.awaited(at(6)), None);
        leases.write("web/a", Some(&lease("")), at(7));
        assert_eq!(leases.awaited(at(8)), Some(at(67)), "the lease is free");
    }
}
