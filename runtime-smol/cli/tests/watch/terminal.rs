//! The command on a terminal.

use crate::command::command;
use crate::watch::tables::{Tables, pod, server};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use unicode_width::UnicodeWidthStr;

/// A terminal of so many columns: its screen, and the end of a program.
pub(crate) fn terminal(columns: u16) -> (File, File) {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    // A program that had the screen itself would never see it go.
    fcntl_setfd(&terminal, FdFlags::CLOEXEC).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let size = Winsize { ws_row: 25, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let stdout = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    (File::from(terminal), stdout)
}

/// What the command prints on a terminal of so many columns, up to so many lines.
fn printed(arguments: &str, columns: u16, environment: &[(&str, &str)], lines: usize) -> String {
    let (terminal, stdout) = terminal(columns);
    let mut command = command(arguments.split_whitespace());
    command.args(["--for", "2m"]).stdout(stdout).stderr(Stdio::piped()).env("TERM", "xterm").env_remove("NO_COLOR");
    command.envs(environment.iter().copied());
    let mut child = command.spawn().unwrap();
    // The terminal hangs up when its last writer is gone, so the command alone may have it.
    drop(command);
    let mut reader = BufReader::new(terminal);
    let mut text = String::new();
    for _ in 0..lines {
        assert!(reader.read_line(&mut text).unwrap() > 0, "it ended: {text}");
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success() && child.wait().unwrap().success());
    text.replace("\r\n", "\n")
}

fn watch(options: &str, columns: u16, environment: &[(&str, &str)], lines: usize) -> String {
    let changed = |version: &str, ready: &str, phase: &str| {
        let (mut pod, cells) = pod("größe-日本", version, ready);
        pod["status"] = serde_json::json!({ "phase": phase });
        (pod, cells)
    };
    let events = vec![("MODIFIED", changed("10", "1/1", "Running"))];
    let server = server(Tables::Sent, vec![changed("7", "0/1", "Pending")], events);
    printed(&format!("watch v1/pods --no-watch-list --server {} {options}", server.url), columns, environment, lines)
}

/// The text without its colours.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or(part, |(_code, rest)| rest))
}

#[test]
fn a_terminal_gets_a_table_with_the_time_of_the_day_and_colours() {
    let text = watch("", 200, &[], 3);
    assert!(text.contains("\u{1b}[32madded") && text.contains("\u{1b}[33mupdated"), "{text:?}");
    let lines: Vec<String> = plain(&text).lines().map(|line| line.get(8..).unwrap_or_default().to_owned()).collect();
    assert_eq!(
        lines,
        [
            "  EVENT      NAMESPACE  NAME        READY  AGE  CHANGES",
            "  added      n          größe-日本  0/1    5d",
            "  updated    n          größe-日本  1/1    5d   status.phase Pending → Running",
        ]
    );
}

#[test]
fn no_color_and_a_dumb_terminal_leave_out_colours() {
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let text = watch("", 200, &[environment], 3);
        assert!(text.contains("updated") && !text.contains('\u{1b}'), "{text:?}");
    }
}

#[test]
fn on_a_narrow_terminal_changes_get_a_line_of_their_own_and_no_line_wraps() {
    let text = plain(&watch("", 60, &[], 4));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].ends_with("  1/1    5d") && lines[3] == "          status.phase Pending → Running", "{text}");
    let text = plain(&watch("", 30, &[], 4));
    let widths: Vec<usize> = text.lines().map(UnicodeWidthStr::width).collect();
    assert!(widths.iter().all(|width| *width <= 30), "{widths:?} {text}");
    assert_eq!(text.lines().nth(3).unwrap(), "          status.phase Pendin…");
    let wide = plain(&watch("-o wide", 30, &[], 3));
    assert!(wide.lines().last().unwrap().ends_with("node-1  status.phase Pending → Running"), "{wide}");
}
