//! Explorations of small programs: each kind of fault is found, and the program without it is clean.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod found;
mod models;
mod sample;
#[path = "../../examples/sample-controller.rs"]
#[expect(dead_code, reason = "its `main` reads the arguments of the process")]
mod sample_controller;
mod undisturbed;
