//! Readers that go away.

use crate::command::{Run, bundled, command, run};
use listwatch_tests::scratch::Scratch;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// A pipe whose reader is gone.
fn closed() -> Stdio {
    std::io::pipe().unwrap().1.into()
}

/// A list of so many small objects.
fn list(objects: usize) -> Scratch {
    let item = |number| format!(r#"{{"metadata":{{"name":"pod-{number}","namespace":"n","resourceVersion":"1"}}}}"#);
    let items: Vec<String> = (0..objects).map(item).collect();
    Scratch::new(format!(r#"{{"kind":"List","metadata":{{}},"items":[{}]}}"#, items.join(",")))
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let capture = bundled("gap.jsonl.gz");
    for options in ["", "--print store", "--print store --format json", "--print events", "--print events --speed 200"]
    {
        let mut command = command(["replay"]);
        command.arg(&capture).args(options.split_whitespace()).stdout(closed());
        run(command).output();
    }
    for argument in ["--help", "--version"] {
        let mut command = command([argument]);
        command.stdout(closed());
        run(command).output();
    }
}

/// Far more than a pipe holds.
#[test]
fn a_reader_that_has_seen_enough_ends_the_playback() {
    let list = list(5_000);
    for format in ["json", "table"] {
        let mut command = command(["replay", "--print", "events", "--format", format]);
        let mut child = command.arg(list.as_ref()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut head = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut head).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
        assert!(head.ends_with('\n'));
    }
}

/// The recording goes on for 20 seconds after its first list.
#[test]
fn in_real_time_events_are_printed_when_they_happen() {
    let mut command = command(["replay", "--speed", "1", "--print", "events", "--format", "json"]);
    let mut child = command.arg(bundled("gap.jsonl.gz")).stdout(Stdio::piped()).spawn().unwrap();
    let (mut output, mut first, mut rest) =
        (BufReader::new(child.stdout.take().unwrap()), String::new(), String::new());
    output.read_line(&mut first).unwrap();
    child.kill().unwrap();
    output.read_to_string(&mut rest).unwrap();
    child.wait().unwrap();
    assert!(first.contains(r#""event":"add""#) && !rest.contains(r#""store":"#), "it came with all the rest: {rest}");
}

#[test]
fn complaints_that_nobody_reads_do_not_change_the_status() {
    for (arguments, status) in [(&["replay", "/nonexistent"][..], 1), (&["replay"], 2)] {
        let mut command = command(arguments);
        command.stderr(closed());
        let Run { status: ended, .. } = run_without_stderr(command);
        assert_eq!(ended, Some(status));
    }
}

fn run_without_stderr(mut command: std::process::Command) -> Run {
    let status = command.stdout(Stdio::null()).status().unwrap().code();
    Run { status, stdout: String::new(), stderr: String::new() }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error() {
    for options in ["", "--print events", "--print store --format json"] {
        let mut command = command(["replay"]);
        command.arg(bundled("gap.jsonl.gz")).args(options.split_whitespace());
        command.stdout(std::fs::File::create("/dev/full").unwrap());
        let run = run(command);
        assert!(run.error(1).starts_with("cannot write to standard output: "), "{}", run.stderr);
    }
}
