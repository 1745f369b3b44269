//! How following a resource comes to its end.

use crate::command::{Run, listwatch};
use crate::notifications::Notifications;
use crate::watch::following::{EVENTS, Following, until_it_complains};
use crate::watch::server::Server;
#[cfg(unix)]
use crate::watch::server::{Firehose, Taken};

const PODS: usize = 3;

pub(crate) fn arguments(server: &Server, options: &str) -> String {
    format!("watch v1/pods --no-watch-list --server {} {options}", server.url)
}

pub(crate) fn follow(server: &Server, options: &str) -> Following {
    Following::start(arguments(server, options).split_whitespace())
}

/// A run that its time ends. Where a busy machine did not get to a state in it, it gets more.
pub(crate) fn run_for_seconds(run: impl Fn(&str) -> Run) -> Run {
    let mut ended = run("--for 3s");
    for time in ["--for 20s", "--for 90s"] {
        if !ended.stderr.contains("ended before the first state was complete") {
            break;
        }
        ended = run(time);
    }
    ended
}

#[track_caller]
fn assert_told_to_the_end(run: &Run) {
    assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    let told = Notifications::read(&run.stdout);
    assert_eq!(told.all().count(), PODS);
    assert_eq!(told.store["store"].as_array().unwrap().len(), PODS);
}

#[cfg(unix)]
#[test]
fn ctrl_c_and_a_signal_of_the_systems_end_it_with_its_cache_told() {
    let server = Server::of_pods(PODS);
    for signal in ["-INT", "-TERM"] {
        let mut following = follow(&server, EVENTS);
        following.read_lines(PODS);
        assert_told_to_the_end(&following.end_by(signal));
    }
}

#[test]
fn it_ends_when_its_time_is_over() {
    let server = Server::of_pods(PODS);
    let arguments = arguments(&server, EVENTS);
    assert_told_to_the_end(&run_for_seconds(|time| listwatch(&format!("{arguments} {time}"))));
}

/// Nothing can be printed any more.
#[cfg(unix)]
#[test]
fn who_asks_twice_for_the_end_does_not_wait_for_a_reader_that_does_not_read() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15)] {
        let firehose = Firehose::start();
        let mut following = follow(&firehose.server, EVENTS);
        following.read_lines(1);
        assert!(matches!(firehose.ended(), Taken::Up(_)));
        let status = following.insist_by(signal);
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(number));
    }
}

/// Far more than a pipe holds.
#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let server = Server::of_pods(5_000);
    for format in ["json", "table"] {
        let mut following = follow(&server, &format!("--print events --format {format}"));
        following.read_lines(1);
        let run = following.close_output();
        assert_eq!((run.status, &*run.stderr), (Some(0), ""));
    }
}

/// An empty cache would say that there is nothing.
#[test]
fn an_end_before_there_was_a_state_is_an_error_and_tells_no_cache() {
    let nowhere = Server::nowhere();
    for options in [EVENTS, "--print store --format json", "--print events", "--print store"] {
        let run = until_it_complains(&format!("watch v1/pods --server {nowhere} {options}"));
        assert_eq!((run.status, &*run.stdout), (Some(1), ""), "{}", run.stderr);
        let last = run.stderr.lines().last().unwrap();
        assert!(last.starts_with("listwatch: ended before the first state was complete: failing"), "{last}");
    }
}
