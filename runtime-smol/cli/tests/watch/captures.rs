//! A recording, and what was told while it was made.

use crate::command::{Run, replay};
use crate::notifications::Notifications;
use crate::watch::following::{EVENTS, Following};
use crate::watch::server::Server;
use listwatch_tests::scratch::Scratch;

#[track_caller]
fn told(run: &Run) -> Notifications {
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    Notifications::read(&run.stdout)
}

/// However it is asked for then.
#[test]
fn a_recording_of_metadata_alone_is_replayed_as_it_was_seen() {
    let server = Server::of_pods(3);
    let file = Scratch::path(".jsonl");
    let path = file.as_ref().display();
    let arguments = format!("record v1/pods --type meta --no-watch-list {EVENTS} -o {path} --server {}", server.url);
    let mut following = Following::start(arguments.split(' '));
    following.read_lines(3);
    let seen = told(&following.end_by("-INT"));
    assert!(server.heads().iter().all(|head| head.contains("as=PartialObjectMetadata")), "{:?}", server.heads());
    for options in ["", "--type raw", "--type meta", "--type value"] {
        let replayed = Notifications::read(&replay(&file, &format!("{EVENTS} {options}")).output());
        replayed.assert_same(&seen, options);
    }
}
