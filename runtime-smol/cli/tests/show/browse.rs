//! `listwatch browse`, on a terminal.

use crate::command::{command, run};
use crate::show::recorded::{Capture, deployment};
use crate::watch::terminal::terminal;
use listwatch_tests::scratch::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

/// A terminal on which the command shows a file.
struct Shown {
    child: Child,
    screen: File,
    seen: String,
}

impl Shown {
    fn of(file: &Scratch) -> Self {
        let (screen, terminal): (File, File) = terminal(100);
        let mut command = command(["browse"]);
        command.arg(file.as_ref()).stdin(terminal.try_clone().unwrap()).stdout(terminal).env("TERM", "xterm");
        Self { child: command.spawn().unwrap(), screen, seen: String::new() }
    }

    /// Waits until the screen has had these words since the last key.
    fn wait_for(&mut self, words: &str) {
        let mut bytes = [0; 4096];
        while !self.seen.contains(words) {
            let read = self.screen.read(&mut bytes).unwrap();
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }

    fn press(&mut self, keys: &str) {
        self.seen.clear();
        self.screen.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until it has ended, and left the screen as it was.
    fn end(mut self) -> ExitStatus {
        self.wait_for("\u{1b}[?1049l");
        self.child.wait().unwrap()
    }
}

fn capture() -> Scratch {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let body = json!({ "user": "jane@example.com\u{1b}]0;", "body": deployment(11, 5) });
    capture.call("PUT", "/apis/apps/v1/namespaces/web/deployments/c500", &body, (200, &deployment(11, 5)));
    capture.event("MODIFIED", &deployment(11, 5));
    capture.file()
}

#[test]
fn a_cursor_goes_from_a_change_to_the_write_that_made_it() {
    let file = capture();
    let mut shown = Shown::of(&file);
    shown.wait_for("whole");
    assert!(!shown.seen.contains("\u{1b}]0;"), "text from outside is raw: {:?}", shown.seen);
    // The last row is the change, and its details have the number of its line.
    shown.press("G\r");
    shown.wait_for("spec.replicas");
    shown.press("y");
    shown.wait_for("PUT");
    shown.press("q");
    assert!(shown.end().success());
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_as_it_was() {
    let file = capture();
    let mut shown = Shown::of(&file);
    shown.wait_for("whole");
    kill_process(Pid::from_child(&shown.child), Signal::TERM).unwrap();
    assert!(shown.end().success());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a program ends in real time")]
fn it_ends_with_its_terminal() {
    let file = capture();
    let mut shown = Shown::of(&file);
    shown.wait_for("whole");
    drop(shown.screen);
    for _ in 0..1_000 {
        if shown.child.try_wait().unwrap().is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    shown.child.kill().unwrap();
    panic!("it goes on without a terminal");
}

#[test]
fn without_a_terminal_it_says_what_does_the_same() {
    let mut command = command(["browse"]);
    command.arg(capture().as_ref());
    let error = run(command).error(2).to_owned();
    assert!(error.contains("needs a terminal; `listwatch show` prints the same"), "{error}");
}
