//! Credentials that a program gives: `client.authentication.k8s.io`, v1 and v1beta1.

use super::run::{Outcome, Run};
use super::timestamp;
use crate::cancel::CancelToken;
use crate::clock;
use crate::config::settings::Plugin;
use crate::error::ConfigError;
use crate::secret::Secret;
use serde::Deserialize;
use serde_json::json;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How long before it expires a credential is not used any more.
const MARGIN: Duration = Duration::from_secs(10);

/// A program, and what it gave last. It runs once for all who ask at the same time, and no longer than one of them waits.
pub(super) struct Exec {
    plugin: Plugin,
    limit: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: Option<Issued>,
    /// The run that is under way.
    run: Option<Arc<Run>>,
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
        Self { plugin, limit, state: Mutex::default() }
    }

    /// Where it is named, and which it is.
    pub(super) fn place(&self) -> String {
        format!("{}: exec plugin `{}`", self.plugin.place, self.plugin.command.display())
    }

    pub(super) fn may_ask(&self) -> bool {
        self.plugin.asks
    }

    /// What it gave, or gives when it is run now.
    pub(super) fn current(&self, caller: &CancelToken) -> Result<Issued, ConfigError> {
        let mut state = self.lock();
        if let Some(issued) = state.last.as_ref().filter(|issued| issued.is_good(clock::wall())) {
            return Ok(issued.clone());
        }
        let run = self.join(&mut state, caller)?;
        drop(state);
        match run.wait(caller) {
            Some(outcome) => self.on_over(&run, outcome),
            None => Err(self.fault("is not waited for any more")),
        }
    }

    /// Runs it again the next time.
    pub(super) fn doubt(&self) {
        self.lock().last = None;
    }

    /// Somebody has hung up: what nobody waits for any more is ended by the time that this returns.
    pub(super) fn on_cancelled(&self) {
        if let Some(run) = &self.lock().run {
            run.on_cancelled();
        }
    }

    /// The run that is under way, or one that begins. The caller holds the lock: a run does not begin after a hang-up, and
    /// a later hang-up finds the run that has begun.
    fn join(&self, state: &mut State, caller: &CancelToken) -> Result<Arc<Run>, ConfigError> {
        if caller.is_cancelled() {
            return Err(self.fault("is not started: nobody waits for it any more"));
        }
        if let Some(run) = state.run.as_ref().filter(|run| run.join(caller)) {
            return Ok(run.clone());
        }
        let run = Run::start(&mut self.command(), self.plugin.asks, self.limit, caller).map_err(|error| {
            let hint = self.plugin.install_hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            self.fault(&format!("cannot be started: {error}{hint}"))
        })?;
        state.run = Some(run.clone());
        Ok(run)
    }

    /// Whoever hears of it first keeps what it gave.
    fn on_over(&self, run: &Arc<Run>, outcome: Outcome) -> Result<Issued, ConfigError> {
        let issued = outcome.and_then(|output| read(&output, &self.plugin.api_version));
        let mut state = self.lock();
        if state.run.as_ref().is_some_and(|current| Arc::ptr_eq(current, run)) {
            state.run = None;
            state.last = issued.as_ref().ok().cloned();
        }
        issued.map_err(|what| self.fault(&what))
    }

    fn fault(&self, what: &str) -> ConfigError {
        ConfigError::new(format!("{} {what}", self.place()))
    }

    fn command(&self) -> Command {
        let mut spec = json!({ "interactive": self.plugin.asks });
        if let Some(cluster) = &self.plugin.cluster {
            spec["cluster"] = cluster.clone();
        }
        let info = json!({ "apiVersion": self.plugin.api_version, "kind": "ExecCredential", "spec": spec });
        let mut command = Command::new(&self.plugin.command);
        command.args(&self.plugin.args).envs(self.plugin.env.iter().map(|(name, value)| (name, value)));
        command.env("KUBERNETES_EXEC_INFO", info.to_string());
        // What it complains of goes to where this program's complaints go, as with kubectl.
        command.stdin(if self.plugin.asks { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::inherit());
        command
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Issued {
    fn is_good(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now + MARGIN < expires)
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
    if output.trim_ascii().is_empty() {
        return Err("printed nothing: try it by hand".to_owned());
    }
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
