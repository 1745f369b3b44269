//! Informers of others that follow a served capture from its start.

use crate::notifications::{Notifications, client_go};
use crate::serve::child::Program;
use crate::serve::serving::Serving;
use listwatch_tests::cargo::cargo;
use listwatch_tests::go;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The captures, the resource of each, and its kind.
const CAPTURES: [(&str, &str, &str); 3] =
    [("pods-rollout", "pods", "Pod"), ("chaos", "pods", "Pod"), ("gap", "configmaps", "ConfigMap")];

/// The captures, each in a thread: most of the time goes into their gaps.
fn with_each_capture(check: impl Fn(&'static str, &'static str, &'static str) + Sync) {
    let check = &check;
    thread::scope(|scope| {
        for (name, resource, kind) in CAPTURES {
            scope.spawn(move || check(name, resource, kind));
        }
    });
}

/// client-go was told the same when it followed the recorded exchange.
#[test]
fn a_shared_informer_of_client_go_is_told_each_notification_of_the_recording() {
    let Some(peers) = go::client_go() else { return };
    with_each_capture(|name, resource, _| {
        let mut server = Serving::capture(name, "--speed 20");
        let mut notify = Command::new(peers);
        notify.args(["notify", &server.url, resource]);
        let mut informer = Program::start(notify);
        let expected = client_go(name);
        informer.wait_for_lines(expected.all().count());
        server.wait_for_the_end();
        let lines = informer.end_of_input().join("\n");
        Notifications::read(&lines).assert_same(&expected, name);
    });
}

/// kube-rs's reflector.
fn kube_rs() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/kube-rs");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kube-rs");
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--locked", "--bin", "follow"]).current_dir(folder);
    let built = cargo.env("CARGO_TARGET_DIR", &target).status().unwrap();
    assert!(built.success(), "the follower with kube-rs cannot be built");
    target.join("debug/follow")
}

#[test]
#[ignore = "on demand: the follower takes two minutes and 1 GB to build"]
fn the_reflector_of_kube_rs_is_told_each_change_and_has_the_last_state() {
    let follow = kube_rs();
    with_each_capture(|name, _, kind| {
        let mut server = Serving::capture(name, "--speed 20");
        let mut command = Command::new(&follow);
        command.args([&server.url, kind]);
        let mut reflector = Program::start(command);
        let expected = client_go(name);
        let stored: Vec<String> = expected.store["store"].as_array().unwrap().iter().map(stored_line).collect();
        // A relist tells of all objects again, and of none that is gone.
        let known: Vec<String> = expected.all().filter(|it| it["event"] != "delete").map(applied_line).collect();
        let last = expected.all().max_by_key(|it| it["rv"].as_str().unwrap().parse::<u64>().unwrap()).unwrap();
        let (last, gone) = (applied_line(last), format!("deleted {}", named(last)));
        reflector.wait_for(|line| line == last || line == gone);
        server.wait_for_the_end();
        let lines = reflector.end_of_input();
        let told = |line: &String| lines.contains(line);
        assert_eq!(known.iter().find(|line| !told(line)), None, "{name}");
        let in_store: Vec<&String> = lines.iter().filter(|line| line.starts_with("stored ")).collect();
        assert_eq!(in_store, stored.iter().collect::<Vec<_>>(), "{name}");
    });
}

fn stored_line(entry: &serde_json::Value) -> String {
    format!("stored {}", entry.as_str().unwrap())
}

fn applied_line(notification: &serde_json::Value) -> String {
    format!("applied {}", named(notification))
}

fn named(notification: &serde_json::Value) -> String {
    format!("{} {}", notification["key"].as_str().unwrap(), notification["rv"].as_str().unwrap())
}
