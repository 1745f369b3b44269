//! Lines on a terminal.

use crate::command::command;
use crate::show::recorded::{Capture, deployment};
use crate::watch::terminal::terminal;
use listwatch_tests::scratch::Scratch;
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use unicode_width::UnicodeWidthStr;

/// What the command prints on a terminal of so many columns.
fn printed(file: &Scratch, columns: u16, options: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
    let (screen, stdout): (File, File) = terminal(columns);
    let path: &Path = file.as_ref();
    let mut command = command(["show".as_ref(), path.as_os_str()]);
    command.args(options).stdout(stdout).env("TERM", "xterm").env_remove("NO_COLOR").envs(environment.iter().copied());
    let mut child = command.spawn().unwrap();
    drop(command);
    let lines = BufReader::new(screen).lines().map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success());
    lines
}

fn capture() -> Scratch {
    let mut capture = Capture::new().watched("/apis/apps/v1/deployments", "Deployment", &[deployment(9, 3)]);
    let body = json!({ "user": "jane@example.com", "body": deployment(11, 5) });
    capture.call("PUT", "/apis/apps/v1/namespaces/web/deployments/c500", &body, (200, &deployment(11, 5)));
    capture.event("MODIFIED", &deployment(11, 5));
    capture.file()
}

#[test]
fn no_line_is_wider_than_the_terminal_and_the_author_is_not_cut() {
    let lines = printed(&capture(), 70, &["--no-pager", "web/c500"], &[("NO_COLOR", "1")]);
    assert!(lines.iter().all(|line| line.width() <= 70), "{lines:?}");
    let changed = lines.iter().position(|line| line.contains("MODIFIED")).unwrap();
    assert!(lines[changed + 1].ends_with("  by jane@example.com") && lines[changed + 1].contains('…'), "{lines:?}");
}

#[test]
fn a_terminal_has_colours_and_a_pager() {
    let plain = printed(&capture(), 200, &["--no-pager"], &[]);
    assert!(plain.iter().any(|line| line.contains("\u{1b}[33mMODIFIED")), "{plain:?}");
    let paged = printed(&capture(), 200, &[], &[("PAGER", "sed s/MODIFIED/paged/")]);
    assert!(paged.iter().any(|line| line.contains("paged")), "{paged:?}");
    let without = printed(&capture(), 200, &[], &[("PAGER", "/no/such/pager")]);
    assert_eq!(without, plain, "a pager that cannot be started is none");
}
