//! Standard error without a reader, and a terminal that goes away.

use crate::command::command;
use crate::program;
use crate::watch::ends::{arguments, follow};
use crate::watch::errors::kubeconfig;
use crate::watch::following::{EVENTS, Following};
use crate::watch::server::{Server, refusal};
use listwatch_tests::scratch::{Scratch, gunzip};
use listwatch_tests::skipped::tell;
use listwatch_tests::wait::wait_until;
use std::io::{ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// A standard error with no room for a byte, as long as the other end is kept and not read from.
fn full() -> (OwnedFd, UnixStream) {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    writer.set_nonblocking(true).unwrap();
    let error = loop {
        if let Err(error) = writer.write(&[b'x'; 1024]) {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    writer.set_nonblocking(false).unwrap();
    (writer.into(), reader)
}

/// The status of a run, which is killed if it does not end by itself.
#[expect(clippy::disallowed_methods, reason = "another process keeps its own time")]
pub(crate) fn status(mut child: Child) -> ExitStatus {
    for _ in 0..1_200 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap()
}

fn signal(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

/// A server that refuses everything makes a run complain at once, again and again.
fn start(server: &Server, options: &str, stderr: OwnedFd) -> Child {
    let arguments = format!("watch v1/pods --server {} {options}", server.url);
    command(arguments.split(' ')).stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
}

/// Whether what these tests start hears a hang-up. `nohup` has it ignored, which every child inherits.
fn hears_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Of the hexadecimal digits, the last bit is the first signal.
    let hears = ignored.is_none_or(|signals| u64::from_str_radix(signals.trim(), 16).unwrap() & 1 == 0);
    if !hears {
        tell("SKIPPED: hang-ups, because these tests were started by nohup");
    }
    hears
}

#[test]
fn a_signal_ends_the_command_while_nobody_reads_standard_error() {
    for name in ["-INT", "-TERM", "-HUP"].into_iter().filter(|name| *name != "-HUP" || hears_hangups()) {
        let server = Server::of(|_| refusal(503, "ServiceUnavailable", "later"));
        let (stderr, reader) = full();
        let child = start(&server, "--for 1h", stderr);
        // The second request comes when the first complaint would have been made.
        wait_until(|| server.heads().len() > 1);
        signal(&child, name);
        assert_eq!(status(child).code(), Some(1), "{name}");
        drop(reader);
    }
}

#[test]
fn a_time_that_is_over_ends_it_while_nobody_reads_standard_error() {
    let server = Server::of(|_| refusal(503, "ServiceUnavailable", "later"));
    let (stderr, reader) = full();
    assert_eq!(status(start(&server, "--for 1s", stderr)).code(), Some(1));
    drop(reader);
}

/// A named pipe without a writer.
fn fifo() -> Scratch {
    let fifo = Scratch::path(".fifo");
    assert!(Command::new("mkfifo").arg(fifo.as_ref()).status().unwrap().success());
    fifo
}

#[test]
fn a_command_does_not_wait_for_a_named_pipe() {
    let pipe = fifo();
    let path = pipe.as_ref().display();
    let token = kubeconfig(&format!("server: '{}'", Server::nowhere()), &format!("tokenFile: {path}"));
    let authority = kubeconfig(&format!("server: 'https://localhost', certificate-authority: {path}"), "");
    for config in [pipe.as_ref(), token.as_ref(), authority.as_ref()] {
        let config = config.to_str().unwrap();
        let watch = ["watch", "v1/pods", "--for", "1s", "--credentials-over-http", "--kubeconfig", config];
        let child = command(watch).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(status(child).code(), Some(1), "{watch:?}");
    }
    let record = format!("record v1/pods --server {} --for 1h -o {path}", Server::nowhere());
    for arguments in [format!("replay {path}"), record] {
        let child = command(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(status(child).code(), Some(1), "{arguments}");
    }
}

/// The recording is whole, and what it amounts to is told.
#[test]
fn a_hangup_ends_a_recording_and_a_watch_as_ctrl_c_does() {
    if !hears_hangups() {
        return;
    }
    let server = Server::of_pods(3);
    let file = Scratch::path(".jsonl.gz");
    let record = format!("record v1/pods --no-watch-list --server {} -o {}", server.url, file.as_ref().display());
    let following = Following::start(record.split(' '));
    // It has the list when it asks for the watch.
    wait_until(|| server.heads().iter().any(|head| head.contains("watch=1")));
    let run = following.end_by("-HUP");
    assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    assert!(run.stdout.contains("  recorded     "), "{}", run.stdout);
    assert!(gunzip(file.as_ref()).contains("watch=1"));
    let mut following = follow(&server, EVENTS);
    following.read_lines(3);
    let run = following.end_by("-HUP");
    assert!(run.status == Some(0) && run.stdout.lines().last().unwrap().starts_with("{\"store\":"), "{run:?}");
}

/// As `nohup` starts it.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let server = Server::of_pods(3);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh", program()]);
    let child = shell.args(arguments(&server, &format!("{EVENTS} --for 2m")).split(' '));
    let child = child.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| server.heads().len() > 1);
    // Asked for the end twice, it would end at once.
    let kill = format!("kill -HUP {0}; kill -TERM {0}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(0) && told.contains("{\"store\":"), "{:?}: {told}", output.status);
}
