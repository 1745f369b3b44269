//! Explorations of small programs, of models of public bugs, and of the examples: each fault is found, and each program
//! without it is clean.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
#[path = "../../examples/finalizer.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod finalizer;
mod found;
#[path = "../../examples/leader-election.rs"]
#[expect(dead_code, reason = "its `main` needs a cluster")]
mod leader_election;
mod leases;
mod models;
mod planted;
#[expect(dead_code, reason = "its own tests use the rest")]
mod ports;
#[path = "../../examples/restart-on-configmap-change.rs"]
#[expect(dead_code, reason = "its `main` needs a cluster")]
mod restart_on_configmap_change;
mod rules;
mod sample;
#[path = "../../examples/sample-controller.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod sample_controller;
mod saved;
mod seeds;
mod servers;
mod shards;
mod shrunk;
mod stand_ins;
mod story;
mod undisturbed;
#[path = "../../examples/workqueue.rs"]
#[expect(dead_code, reason = "its `main` has one line")]
mod workqueue;
