//! The bundled captures over HTTP, and what client-go told its handlers when it was played the same.

use crate::command::{Run, replay};
use crate::notifications::{Notifications, client_go};
use crate::watch::following::{EVENTS, Following};
use crate::watch::played::{CAPTURES, Capture, Played};
use listwatch_tests::scratch::Scratch;
use std::thread;

/// Runs `listwatch COMMAND` until it has printed every event of client-go, and the server has no more.
fn followed(capture: &Capture, command: &str) -> Option<Run> {
    let server = Played::start(capture)?;
    let mut following = Following::start(
        command.split_whitespace().chain(capture.arguments.split_whitespace()).chain(["--server", &server.url]),
    );
    following.read_lines(client_go(capture.name).all().count());
    server.wait_for_silence();
    Some(following.end_by("-INT"))
}

#[track_caller]
fn told(run: &Run) -> Notifications {
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    Notifications::read(&run.stdout)
}

/// All at once: most of the time goes into waiting for the next attempt.
fn with_each_capture(check: impl Fn(&Capture) + Sync) {
    let check = &check;
    thread::scope(|scope| CAPTURES.each_ref().map(|capture| drop(scope.spawn(move || check(capture)))));
}

/// The server refuses the watch-list that is asked for first.
#[test]
fn over_http_every_key_is_told_as_client_go_tells_it() {
    with_each_capture(|capture| {
        let Some(run) = followed(capture, &format!("watch {EVENTS}")) else { return };
        told(&run).assert_same(&client_go(capture.name), capture.name);
    });
}

/// Ctrl-C in the middle.
#[test]
fn what_was_told_before_an_interrupt_is_what_client_go_tells_first() {
    let capture = &CAPTURES[0];
    let Some(server) = Played::start(capture) else { return };
    let mut following =
        Following::start(format!("watch {} {EVENTS} --server {}", capture.arguments, server.url).split_whitespace());
    following.read_lines(1);
    told(&following.end_by("-INT")).assert_beginning_of(&client_go(capture.name));
}

#[test]
fn what_was_recorded_is_replayed_as_it_was_seen() {
    with_each_capture(|capture| {
        let file = Scratch::path(".jsonl.gz");
        let path = file.as_ref().to_str().unwrap();
        let Some(run) = followed(capture, &format!("record {EVENTS} -o {path}")) else { return };
        let seen = told(&run);
        seen.assert_same(&client_go(capture.name), capture.name);
        let replayed = Notifications::read(&replay(&file, EVENTS).output());
        replayed.assert_same(&seen, &format!("replay of {}", capture.name));
    });
}

/// A gap is closed by lists, which have most objects as they were.
#[test]
fn objects_that_a_list_found_unchanged_are_not_printed_for_people() {
    let told = client_go("gap");
    let unchanged = told.all().filter(|told| told["event"] == "update" && told["old_rv"] == told["rv"]).count();
    let changed = told.all().count() - unchanged;
    assert!(unchanged > 0);
    for output in ["table", "name"] {
        let gap = &CAPTURES[2];
        let Some(server) = Played::start(gap) else { return };
        let arguments = format!("watch {} -o {output} --server {}", gap.arguments, server.url);
        let mut following = Following::start(arguments.split_whitespace());
        let lines = changed + usize::from(output == "table");
        following.read_lines(lines);
        server.wait_for_silence();
        let run = following.end_by("-INT");
        assert_eq!(run.stdout.lines().count(), lines, "{output}: {}", run.stderr);
    }
}
