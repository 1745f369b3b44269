//! Leader election between processes: ours, and client-go's.
#![cfg(unix)]

#[path = "../../../../runtime-smol/examples/leader-election.rs"]
#[expect(dead_code, reason = "its `main` takes client-go's periods")]
mod program;

use crate::real_server::audit::{AuditLog, Write};
use crate::real_server::plane::{Plane, own_plane, plane};
use crate::real_server::sample_controller::stage::until;
use listwatch::election::Election;
use listwatch_core::Resource;
use listwatch_tests::go;
use listwatch_transport_http::Cluster;
use serde_json::{Value, json};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The namespace and the identity of a child that is a candidate.
const CANDIDATE: &str = "LISTWATCH_CANDIDATE";

/// In a child, this is the example, with periods that are shorter than client-go's.
#[test]
fn the_process_of_a_candidate() {
    let Ok(candidate) = std::env::var(CANDIDATE) else { return };
    let (namespace, identity) = candidate.split_once(' ').unwrap();
    let election = Election::new("counter").identity(identity).lease_duration(Duration::from_secs(4));
    let election = election.renew_deadline(Duration::from_secs(3)).retry_period(Duration::from_millis(500));
    let election = election.request_timeout(Duration::from_secs(1));
    let ended = program::count(Cluster::infer().unwrap(), namespace, election, Duration::from_millis(50));
    std::process::exit(match ended {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("Error: {error}");
            1
        }
    });
}

/// A namespace with a counter and a lease.
struct Stage {
    plane: Plane,
    namespace: String,
    peers: Option<&'static std::path::Path>,
}

/// A process that is a candidate; killed when it is dropped.
struct Candidate(Child);

impl Stage {
    fn new(mut plane: Plane, name: &str) -> Self {
        let namespace = plane.namespace(name);
        let maps = Resource::named("v1/configmaps").unwrap().in_namespace(&namespace);
        plane.create(&maps, &json!({ "metadata": { "name": "counter" } }));
        Self { plane, namespace, peers: None }
    }

    /// A candidate of ours.
    fn start(&self, identity: &str) -> Candidate {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "real_server::election::the_process_of_a_candidate", "--nocapture", "--quiet"]);
        command.env(CANDIDATE, format!("{} {identity}", self.namespace)).env("KUBECONFIG", self.plane.kubeconfig());
        Candidate(command.stdout(Stdio::null()).spawn().unwrap())
    }

    /// A candidate that client-go drives. It ends with its input.
    fn start_peer(&self, identity: &str) -> Candidate {
        let mut command = Command::new(self.peers.as_ref().unwrap());
        command.arg("lead").arg(self.plane.kubeconfig()).args([&self.namespace, "counter", identity]);
        Candidate(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn get(&self, resource: &str) -> Value {
        let resource = Resource::named(resource).unwrap().in_namespace(&self.namespace);
        self.plane.get(&resource, "counter").unwrap_or_default()
    }

    fn lease(&self) -> Value {
        self.get("coordination.k8s.io/v1/leases")["spec"].clone()
    }

    fn term(&self) -> String {
        self.get("v1/configmaps")["data"]["term"].as_str().unwrap_or_default().to_owned()
    }

    /// Waits until this candidate holds the lease, and returns how many had it before.
    #[track_caller]
    fn until_held_by(&self, identity: &str) -> u64 {
        until(|| self.lease()["holderIdentity"] == identity);
        self.lease()["leaseTransitions"].as_u64().unwrap()
    }

    /// Waits until this candidate leads, and has counted in its term.
    #[track_caller]
    fn until_counted_by(&self, identity: &str) -> u64 {
        let transitions = self.until_held_by(identity);
        until(|| self.term().starts_with(&format!("{transitions}-")));
        transitions
    }
}

impl Candidate {
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until it has ended, after its input has.
    fn wait(mut self) -> ExitStatus {
        drop(self.0.stdin.take());
        let mut ended = None;
        until(|| {
            ended = self.0.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        let _has_ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// The terms in which the counter was written, each beside the term that the lease had by then.
fn terms(writes: &[Write]) -> Vec<(u64, u64)> {
    let mut leading = None;
    let mut terms = Vec::new();
    for write in writes.iter().filter(|write| write.is_made() && write.name == "counter") {
        let (spec, data) = (&write.response["spec"], &write.response["data"]);
        match &*write.resource {
            "leases" if spec["holderIdentity"] != "" => leading = spec["leaseTransitions"].as_u64(),
            "configmaps" => {
                let term = data["term"].as_str().and_then(|term| term.split_once('-')).map(|(term, _)| term.parse());
                terms.extend(term.map(|term| (term.unwrap(), leading.unwrap())));
            }
            _ => {}
        }
    }
    terms
}

#[test]
fn no_write_of_a_leader_that_was_killed_stopped_or_ended_comes_after_the_next_ones_acquisition() {
    let Some(mut plane) = own_plane() else { return };
    let mut log = AuditLog::begin(&mut plane);
    let mut stage = Stage::new(plane, "election");
    let a = stage.start("a");
    assert_eq!(stage.until_counted_by("a"), 0);
    let b = stage.start("b");
    a.kill();
    assert_eq!(stage.until_counted_by("b"), 1);

    // Its clock goes on while it stands still.
    let c = stage.start("c");
    b.signal("-STOP");
    assert_eq!(stage.until_counted_by("c"), 2);
    b.signal("-CONT");
    assert_eq!(b.wait().code(), Some(1), "it has lost its term");

    let d = stage.start("d");
    c.signal("-TERM");
    assert_eq!(c.wait().code(), Some(0));
    assert_eq!(stage.until_counted_by("d"), 3);
    d.signal("-TERM");
    assert_eq!(d.wait().code(), Some(0));
    assert_eq!(stage.lease()["holderIdentity"], "", "it is released");

    stage.plane.control().audit(false);
    let writes: Vec<_> = log.read().into_iter().filter(|write| write.namespace == stage.namespace).collect();
    let terms = terms(&writes);
    println!("{} counts in {:?}", terms.len(), terms.last());
    assert!((0..=3).all(|term| terms.contains(&(term, term))), "{terms:?}");
    assert!(terms.iter().all(|(written, leading)| written == leading), "{terms:?}");
}

#[test]
fn candidates_of_client_go_and_ours_take_turns_by_release_and_by_expiry() {
    let Some(peers) = go::client_go() else { return };
    let Some(plane) = plane() else { return };
    let stage = Stage { peers: Some(peers), ..Stage::new(plane, "turns") };
    let go = stage.start_peer("go-1");
    assert_eq!(stage.until_held_by("go-1"), 0);
    let ours = stage.start("ours-1");
    assert!(go.wait().success());
    assert_eq!(stage.until_counted_by("ours-1"), 1, "client-go has released it");
    let go = stage.start_peer("go-2");
    ours.signal("-TERM");
    assert_eq!(ours.wait().code(), Some(0));
    assert_eq!(stage.until_held_by("go-2"), 2, "we have released it");
    let ours = stage.start("ours-2");
    go.kill();
    assert_eq!(stage.until_counted_by("ours-2"), 3, "client-go was killed");
    let go = stage.start_peer("go-3");
    ours.kill();
    assert_eq!(stage.until_held_by("go-3"), 4, "we were killed");
    let lease = stage.lease();
    assert_eq!(lease["leaseDurationSeconds"], 4);
    assert!(go.wait().success());
}
