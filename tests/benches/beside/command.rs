//! The command beside a program on the library, which keeps the same of each pod: CPU time until the last change.

use crate::figures::{head, row};
use crate::process::{Cached, Load, Server, cpu_of, took};
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// What is kept of each pod, and whether its changes come one by one.
const CASES: [(&str, bool, &str); 4] = [
    ("meta", false, "metadata"),
    ("meta", true, "metadata, one change after the other"),
    ("raw", false, "`Raw`"),
    ("raw", true, "`Raw`, one change after the other"),
];

/// The least of all turns, as other work can only add.
pub(crate) fn table(settings: &Settings) -> String {
    let command = settings.command();
    let mut least = CASES.map(|_| [f64::MAX; 2]);
    for _ in 0..settings.turns {
        for ((kind, paced, title), least) in CASES.iter().zip(&mut least) {
            let load = load(settings, *paced);
            let turn = [by_command(settings, load, &command, kind), in_library(settings, load, kind)];
            eprintln!("{title}: {turn:?}");
            *least = [least[0].min(turn[0]), least[1].min(turn[1])];
        }
    }
    let rows = CASES.iter().zip(least).map(|((_, paced, title), [command, library])| {
        let Load { pods, changes, .. } = load(settings, *paced);
        let title = format!("{pods} pods listed, {changes} changed: {title}");
        row([title, format!("{command:.2}"), format!("{library:.2}"), format!("{:.2}", command / library)])
    });
    head(["CPU s", "`listwatch watch`", "library", "ratio"]) + &rows.collect::<String>()
}

/// Changes one by one take a millisecond each.
fn load(settings: &Settings, paced: bool) -> Load {
    let (pods, changes) = if paced { (1_000, 5_000) } else { (20_000, 40_000) };
    Load { pods: settings.size(pods, 500), changes: settings.size(changes, 1_000), paced, ..Load::default() }
}

fn in_library(settings: &Settings, load: Load, kind: &str) -> f64 {
    let server = Server::start(&settings.peers, load, false);
    took(load, &settings.ours, &["follow", kind, &server.url, &load.versions()[0]]).cpu
}

/// The command writes into a pipe. What it printed of each pod in the end has to be what the server has.
fn by_command(settings: &Settings, load: Load, command: &str, kind: &str) -> f64 {
    let server = Server::start(&settings.peers, load, false);
    let mut process = Command::new(command)
        .args(["watch", "v1/pods", "--server", &server.url, "--type", kind, "--for", "15m"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let printed = printed(&mut process, &load.versions()[0]);
    let cpu = cpu_of(process.id());
    process.kill().unwrap();
    process.wait().unwrap();
    let printed = printed.into_iter().map(|(key, version)| format!("{key}@{version}"));
    assert_eq!(Cached::sum(printed), load.cached(), "{command} printed something else than the server has");
    cpu
}

/// The versions that are printed last, by key, until this version comes.
fn printed(process: &mut Child, last: &str) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    for line in BufReader::new(process.stdout.take().unwrap()).lines().skip(1) {
        let line = line.unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        let [_event, key, version] = cells[..] else { panic!("no line of an event: {line}") };
        versions.insert(key.to_owned(), version.to_owned());
        if version == last {
            break;
        }
    }
    versions
}
