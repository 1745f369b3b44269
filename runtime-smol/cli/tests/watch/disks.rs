//! A disk that is full.
#![cfg(target_os = "linux")]

use crate::command::{Run, command, run};
use crate::watch::ends::{arguments, run_for_seconds};
use crate::watch::following::EVENTS;
use crate::watch::server::Server;
use listwatch_tests::scratch::Scratch;

/// No signal ends it: it has to notice by itself.
#[test]
fn a_full_disk_is_noticed_at_once() {
    let server = Server::of_pods(3);
    for options in [EVENTS, "--print events"] {
        assert_full(&on_a_full_disk(&arguments(&server, &format!("{options} --for 1h"))));
    }
}

#[test]
fn a_disk_that_is_full_only_at_the_end_is_told_at_the_end() {
    let server = Server::of_pods(3);
    let file = Scratch::path(".jsonl");
    let record = format!("record v1/pods --server {} -o {}", server.url, file.as_ref().display());
    for arguments in [arguments(&server, "--print store"), record] {
        assert_full(&run_for_seconds(|time| on_a_full_disk(&format!("{arguments} {time}"))));
    }
}

fn on_a_full_disk(arguments: &str) -> Run {
    let mut command = command(arguments.split(' '));
    command.stdout(std::fs::File::create("/dev/full").unwrap());
    run(command)
}

#[track_caller]
fn assert_full(run: &Run) {
    assert!(run.error(1).starts_with("cannot write to standard output: No space left"), "{}", run.stderr);
}
