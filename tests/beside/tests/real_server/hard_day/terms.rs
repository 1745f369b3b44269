//! Whether replicas write in their terms alone, by the logs of the servers' writes.
//!
//! All servers have one etcd, whose revisions order the writes of all. So the leader at a write is the holder in the last
//! change of the lease that has a smaller revision.

use super::replica::LEASE;
use super::{NAMESPACE, REPLICAS};
use crate::real_server::audit::{Write, read};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// A change of the lease.
#[derive(Clone, Debug, Default)]
struct Term {
    holder: String,
    /// When the server received it.
    received: String,
}

/// What the logs have shown so far.
#[derive(Default)]
pub(super) struct Terms {
    logs: Vec<BufReader<File>>,
    term: Term,
    /// How many terms each kind of replica had.
    pub(super) led: BTreeMap<String, u64>,
    /// How many writes each kind of replica made.
    pub(super) writes: BTreeMap<String, u64>,
    /// Writes that a server had received before it received the acquisition of the next leader, and that etcd has after it.
    pub(super) overtaken: u64,
    /// Writes of replicas without an answer in the log.
    pub(super) unanswered: u64,
    /// Writes that a server received after the acquisition of another leader.
    pub(super) outside: Vec<String>,
}

impl Terms {
    pub(super) fn of(logs: impl IntoIterator<Item = PathBuf>) -> Self {
        let logs = logs.into_iter().map(|log| BufReader::new(File::open(log).unwrap())).collect();
        Self { logs, ..Self::default() }
    }

    /// Reads the logs on. All writes up to now are answered.
    pub(super) fn read(&mut self) {
        let writes: Vec<_> = self.logs.iter_mut().flat_map(read).collect();
        self.note(&writes);
    }

    fn note(&mut self, writes: &[Write]) {
        let mut by_revision = BTreeMap::<u64, Vec<&Write>>::new();
        for write in writes.iter().filter(|write| write.namespace == NAMESPACE) {
            let is_ours = write.user.starts_with(REPLICAS);
            let revision = write.response["metadata"]["resourceVersion"].as_str().and_then(|it| it.parse().ok());
            match revision.filter(|_| write.is_made()) {
                Some(revision) => by_revision.entry(revision).or_default().push(write),
                None => self.unanswered += u64::from(is_ours && write.code.is_none()),
            }
        }
        for writes in by_revision.values() {
            if let Some(lease) = writes.iter().find(|write| write.resource == "leases" && write.name == LEASE) {
                self.on_lease(lease);
            } else {
                self.on_writes(writes);
            }
        }
    }

    fn on_lease(&mut self, lease: &Write) {
        let holder = lease.response["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
        if holder != self.term.holder {
            if !holder.is_empty() {
                *self.led.entry(kind_of(&holder)).or_default() += 1;
            }
            self.term = Term { holder, received: lease.received.clone() };
        }
    }

    /// The writes of one revision: one of them made it, and the others changed nothing.
    fn on_writes(&mut self, writes: &[&Write]) {
        let is_of_a_replica = |write: &&&Write| write.user.starts_with(REPLICAS) && write.resource != "events";
        for write in writes.iter().filter(is_of_a_replica) {
            *self.writes.entry(kind_of(&write.user)).or_default() += 1;
        }
        let is_outside = |write: &&Write| write.user.starts_with(REPLICAS) && write.user != self.term.holder;
        if !writes.iter().all(|write| is_outside(write) && write.resource != "events") {
            return;
        }
        for write in writes {
            if write.received < self.term.received {
                self.overtaken += 1;
            } else {
                let Write { user, verb, resource, name, received, .. } = write;
                let Term { holder, received: since } = &self.term;
                self.outside.push(format!("{user}: {verb} {resource} {name} at {received}; {holder:?} since {since}"));
            }
        }
    }
}

/// The identity without the number of a life.
fn kind_of(identity: &str) -> String {
    identity.trim_start_matches(REPLICAS).trim_end_matches(|it: char| it.is_ascii_digit() || it == '-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn write(user: &str, resource: &str, revision: u64, received: &str) -> Write {
        let response =
            json!({ "metadata": { "resourceVersion": revision.to_string() }, "spec": { "holderIdentity": user } });
        Write {
            id: String::new(),
            user: user.to_owned(),
            agent: String::new(),
            verb: "patch".to_owned(),
            resource: resource.to_owned(),
            namespace: NAMESPACE.to_owned(),
            name: LEASE.to_owned(),
            number: None,
            code: Some(200),
            request: json!(null),
            response,
            received: received.to_owned(),
        }
    }

    #[test]
    fn a_write_after_the_acquisition_of_another_is_outside_unless_it_was_received_before() {
        let [one, other] = ["one-1", "other-1"].map(|name| format!("{REPLICAS}{name}"));
        let mut terms = Terms::default();
        terms.note(&[
            write(&one, "deployments", 7, "t4"),
            write(&other, "leases", 6, "t3"),
            write(&one, "deployments", 5, "t1"),
            write(&one, "leases", 4, "t0"),
            write(&one, "foos/status", 8, "t2"),
            write(&other, "deployments", 9, "t5"),
            write("admin", "deployments", 10, "t6"),
        ]);
        assert_eq!((terms.outside.len(), terms.overtaken), (1, 1), "{:?}", terms.outside);
        assert!(terms.outside[0].contains("at t4"), "{:?}", terms.outside);
        assert_eq!(terms.led.into_values().collect::<Vec<_>>(), [1, 1]);
    }
}
