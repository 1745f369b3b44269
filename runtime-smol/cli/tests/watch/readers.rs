//! Readers of the output that are slow, or stop.

use crate::command::{Run, command};
use crate::watch::ends::{arguments, follow, run_for_seconds};
use crate::watch::following::EVENTS;
use crate::watch::server::{Firehose, Server, Taken};
use std::io::Read;
use std::process::Stdio;

/// More than a pipe holds, and less than the command buffers for a slow reader.
const PODS: usize = 1_500;

/// The output is not read until the end, and then it is read whole.
#[cfg(unix)]
#[test]
fn one_ctrl_c_is_enough_where_nobody_reads() {
    for signal in ["-INT", "-TERM"] {
        let firehose = Firehose::start();
        let mut following = follow(&firehose.server, EVENTS);
        following.read_lines(1);
        assert!(matches!(firehose.ended(), Taken::Up(_)));
        assert_unread(&following.end_unread_by(signal));
    }
}

/// There is no reader that reads so little: a pipe that is kept open.
#[test]
fn a_time_that_is_over_ends_the_command_where_nobody_reads() {
    let server = Server::of_pods(PODS);
    let run = run_for_seconds(|time| {
        let mut command = command(arguments(&server, &format!("{EVENTS} {time}")).split(' '));
        let (mut reader, writer) = std::io::pipe().unwrap();
        let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        // It holds the other end of the pipe too.
        drop(command);
        let mut run = Run { status: output.status.code(), stdout: String::new(), stderr: text(output.stderr) };
        reader.read_to_string(&mut run.stdout).unwrap();
        run
    });
    let lines = assert_unread(&run);
    assert_eq!(run.stdout.matches('\n').count() + lines, PODS + 1, "every pod, and then the cache");
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// The number of lines that were not read, as the run reports it.
#[track_caller]
fn assert_unread(run: &Run) -> usize {
    let error = run.error(1);
    let said = error
        .strip_prefix("the reader of standard output stopped before the last ")
        .unwrap_or_else(|| panic!("{error}"));
    let numbers: Vec<usize> = said.split([' ', '(']).filter_map(|word| word.parse().ok()).collect();
    let [lines, bytes] = numbers[..] else { panic!("{error}") };
    assert!(lines > 0 && bytes > lines && !run.stdout.is_empty(), "{error}");
    lines
}

/// The reader takes longer than the command waits for a reader that takes nothing.
#[cfg(unix)]
#[test]
fn who_reads_slowly_gets_all_of_it() {
    use std::time::Duration;
    let pods = 10_000;
    let server = Server::of_pods(pods);
    let read = |_| {
        let mut following = follow(&server, EVENTS);
        following.read_lines(pods);
        following.end_slowly_by("-INT", 4096, Duration::from_millis(200))
    };
    // Where this process was kept from reading for nearly as long as a reader is waited for, it proves nothing.
    let is_evidence = |(run, longest): &(Run, Duration)| run.status == Some(0) || *longest < Duration::from_secs(2);
    let (run, _) = (0..5).map(read).find(is_evidence).unwrap();
    assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    let store: serde_json::Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(store["store"].as_array().map(Vec::len), Some(pods));
}

/// When the reader goes on, nothing is missing.
#[test]
fn a_server_has_to_wait_while_nobody_reads() {
    let firehose = Firehose::start();
    let mut following = follow(&firehose.server, EVENTS);
    following.read_lines(1);
    let taken = firehose.ended();
    let Taken::Up(events) = taken else { panic!("{taken:?}") };
    following.read_lines(events + 100);
    let versions: Vec<usize> = following.told().map(|event| event["rv"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(versions, Vec::from_iter(10..10 + versions.len()));
    following.close_output();
}
