//! Credentials that a program gives: `client.authentication.k8s.io`, v1 and v1beta1.

use super::running::Running;
use super::timestamp;
use crate::clock;
use crate::config_error::ConfigError;
use crate::secret::Secret;
use crate::settings::Plugin;
use serde::Deserialize;
use serde_json::json;
use std::io::Read;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// More than this no plugin has to say.
const MAX_OUTPUT: u64 = 1 << 20;

/// How long before it expires a credential is not used any more.
const MARGIN: Duration = Duration::from_secs(10);

/// A program, and what it gave last. It runs once for all who ask at the same time.
pub(super) struct Exec {
    plugin: Plugin,
    limit: Duration,
    /// How often it has run.
    runs: AtomicU64,
    last: Mutex<Option<Result<Issued, ConfigError>>>,
}

/// What it gave.
#[derive(Clone)]
pub(super) struct Issued {
    pub(super) token: Option<Secret>,
    pub(super) identity: Option<(Secret, Secret)>,
    expires: Option<SystemTime>,
}

impl Exec {
    pub(super) fn new(plugin: Plugin, limit: Duration) -> Self {
        Self { plugin, limit, runs: AtomicU64::new(0), last: Mutex::new(None) }
    }

    pub(super) fn place(&self) -> &str {
        &self.plugin.place
    }

    /// What it gave, or gives when it is run now.
    pub(super) fn current(&self) -> Result<Issued, ConfigError> {
        let before = self.runs.load(Ordering::Acquire);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(Ok(issued)) if issued.is_good(clock::wall()) => return Ok(issued.clone()),
            // It was run, and failed, while this one waited.
            Some(Err(error)) if before != self.runs.load(Ordering::Acquire) => return Err(error.clone()),
            _ => {}
        }
        let result = self.run();
        self.runs.fetch_add(1, Ordering::Release);
        *last = Some(result.clone());
        result
    }

    /// Runs it again the next time.
    pub(super) fn doubt(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn run(&self) -> Result<Issued, ConfigError> {
        let name = self.plugin.command.display();
        let place = format!("{}: exec plugin `{name}`", self.plugin.place);
        let deadline = clock::steady() + self.limit;
        let child = Running::start(&mut self.command()).map_err(|error| {
            let hint = self.plugin.install_hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            ConfigError::new(format!("{place} cannot be started: {error}{hint}"))
        })?;
        let issued = finish(child, deadline, self.limit).and_then(|output| read(&output, &self.plugin.api_version));
        issued.map_err(|what| ConfigError::new(format!("{place} {what}")))
    }

    fn command(&self) -> Command {
        let mut spec = json!({ "interactive": false });
        if let Some(cluster) = &self.plugin.cluster {
            spec["cluster"] = cluster.clone();
        }
        let info = json!({ "apiVersion": self.plugin.api_version, "kind": "ExecCredential", "spec": spec });
        let mut command = Command::new(&self.plugin.command);
        command.args(&self.plugin.args).envs(self.plugin.env.iter().map(|(name, value)| (name, value)));
        command.env("KUBERNETES_EXEC_INFO", info.to_string());
        // What it complains of goes to where this program's complaints go, as with kubectl.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }
}

impl Issued {
    fn is_good(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now + MARGIN < expires)
    }
}

/// What it prints, once it has ended well and in time.
fn finish(mut child: Running, deadline: Instant, limit: Duration) -> Result<Vec<u8>, String> {
    let too_slow = || format!("took longer than {limit:?}: try it by hand");
    let stdout = child.stdout().ok_or("has no output")?;
    let output = collect(stdout).ok_or("cannot be read: there is no thread for it")?;
    let left = deadline.saturating_duration_since(clock::steady());
    let output = output.recv_timeout(left).map_err(|_| too_slow())?;
    if output.len() as u64 > MAX_OUTPUT {
        return Err(format!("printed more than {MAX_OUTPUT} bytes"));
    }
    let status = wait(&mut child, deadline).ok_or_else(too_slow)?;
    if status.success() { Ok(output) } else { Err(format!("failed ({status}): try it by hand")) }
}

/// Reads in a thread, because a pipe has no time limit.
fn collect(stdout: ChildStdout) -> Option<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    let reader = move || {
        let mut output = Vec::new();
        // What is missing of an output that cannot be read, is missing in the JSON.
        let _ = stdout.take(MAX_OUTPUT + 1).read_to_end(&mut output);
        let _ = sender.send(output);
    };
    thread::Builder::new().name("listwatch-exec".into()).stack_size(64 << 10).spawn(reader).ok()?;
    Some(receiver)
}

/// It has closed its output, so it is about to end.
fn wait(child: &mut Running, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Some(status) = child.status().ok()? {
            return Some(status);
        }
        if clock::steady() >= deadline {
            return None;
        }
        thread::park_timeout(Duration::from_millis(2));
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    api_version: String,
    kind: String,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<String>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// What it printed means. Nothing of it is quoted.
fn read(output: &[u8], api_version: &str) -> Result<Issued, String> {
    let credential: ExecCredential = serde_json::from_slice(output).map_err(|error| {
        format!("printed no ExecCredential: see line {}, column {} of its output", error.line(), error.column())
    })?;
    if credential.kind != "ExecCredential" || credential.api_version != api_version {
        return Err(format!("printed something other than an ExecCredential of {api_version}"));
    }
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let status = credential.status;
    let (token, expires) = (text(status.token).map(Secret::new), text(status.expiration_timestamp));
    let identity = match (text(status.client_certificate_data), text(status.client_key_data)) {
        (Some(certificate), Some(key)) => Some((Secret::new(certificate), Secret::new(key))),
        (None, None) if token.is_none() => return Err("gave neither a token nor a client certificate".to_owned()),
        (None, None) => None,
        _ => return Err("gave a client certificate without its key, or a key without a certificate".to_owned()),
    };
    let moment = |text: String| timestamp::parse(&text).ok_or("gave an `expirationTimestamp` that is no RFC 3339 date");
    Ok(Issued { token, identity, expires: expires.map(moment).transpose()? })
}
