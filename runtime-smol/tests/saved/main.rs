//! Caches that are saved to a file, and restored by the next run of their program.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

mod files;
mod kills;
mod restarts;
#[path = "../support/scratch.rs"]
#[expect(dead_code, reason = "other suites use more of it")]
mod scratch;
mod shelf;
