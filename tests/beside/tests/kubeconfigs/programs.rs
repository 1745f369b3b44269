//! kubectl and the command, each at the server of a row.

use crate::kubeconfigs::certificates::certificates;
use crate::kubeconfigs::draft::Draft;
use crate::kubeconfigs::rows::Row;
use crate::kubeconfigs::seen::{Log, Seen};
use crate::kubeconfigs::server::Ports;
use listwatch_tests::scratch::Scratch;
use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// What both programs did with one kubeconfig.
pub(super) struct Compared {
    pub(super) kubectl: Seen,
    pub(super) ours: Seen,
    /// What they said on standard error.
    pub(super) said: [String; 2],
}

pub(super) fn compare(row: &Row, kubectl: &Path) -> Compared {
    let folder = Scratch::path(".kubeconfigs");
    let folder = folder.as_ref();
    fs::create_dir(folder).unwrap();
    let ports = Ports::bind();
    let mut draft = Draft::new(folder, ports.server(), ports.proxy());
    row.choices.iter().for_each(|choice| (choice.apply)(&mut draft));
    let listed = draft.write();
    // Where no authority is named, that of the system counts: one that issued nothing.
    let other = draft.file("other.crt", &certificates().other);
    let log = Arc::new(Log::default());
    let start = |program: &Path| {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", folder).env("KUBECONFIG", &listed);
        command.env("SSL_CERT_FILE", &other).env("SSL_CERT_DIR", folder).envs(draft.env.iter().cloned());
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        command
    };
    let mut kubectl = start(kubectl);
    kubectl.args(["get", "configmaps", "-o", "name", "--request-timeout=5s", "--cache-dir"]).arg(folder.join("cache"));
    let mut ours = start(crate::program());
    ours.args(["watch", "v1/configmaps"]);
    let compared = ports.serve(draft.role, &log, || {
        let (kubectl, kubectl_said) = run(kubectl, &ports, &log, folder);
        let (ours, ours_said) = run(ours, &ports, &log, folder);
        Compared { kubectl, ours, said: [kubectl_said, ours_said] }
    });
    fs::remove_dir_all(folder).unwrap();
    compared
}

/// Runs a program until it ends, has asked for the objects, or has failed and would try again.
#[expect(clippy::disallowed_methods, reason = "processes keep real time")]
fn run(mut command: Command, ports: &Ports, log: &Log, folder: &Path) -> (Seen, String) {
    const PAUSE: Duration = Duration::from_millis(2);
    let said = folder.join("said");
    let mut child = command.stderr(File::create(&said).unwrap()).spawn().unwrap();
    let mut left = Duration::from_secs(30);
    let is_over = || log.note().resource().is_some() || fs::read(&said).unwrap().windows(8).any(|it| it == b"failing:");
    while child.try_wait().unwrap().is_none() && !is_over() {
        left = left.checked_sub(PAUSE).expect("it neither ends, nor asks, nor fails");
        std::thread::sleep(PAUSE);
    }
    let _has_ended = child.kill();
    child.wait().unwrap();
    ports.settle(log);
    let told = folder.join("told");
    let plugin = fs::read_to_string(&told).map(|told| told_to_plugin(&told)).unwrap_or_default();
    let _no_plugin_ran = fs::remove_file(&told);
    let said = String::from_utf8_lossy(&fs::read(&said).unwrap()).into_owned();
    (Seen::new(&log.take(), plugin), said)
}

/// What a plugin was told at first, without what is null.
fn told_to_plugin(told: &str) -> String {
    let mut parts = told.lines().next().unwrap_or_default().split('\t');
    let mut info = serde_json::from_str(parts.next().unwrap_or_default()).unwrap_or(Value::Null);
    drop_nulls(&mut info);
    format!("{info} {:?}", parts.collect::<Vec<_>>())
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(entries) = value {
        entries.retain(|_, value| !value.is_null());
        entries.values_mut().for_each(drop_nulls);
    }
}
