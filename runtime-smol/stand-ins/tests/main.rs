//! Deployments, Jobs and pods in a simulated cluster with stand-ins.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod jobs;
mod pods;
mod rollouts;
mod sample;
#[path = "../../examples/sample-controller.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod sample_controller;
mod stage;
