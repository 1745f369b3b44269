//! Credentials from exec plugins: `client.authentication.k8s.io`, v1 and v1beta1.

use super::run::{Outcome, Run};
use crate::cancel::CancelToken;
use crate::clock;
use crate::config::settings::Plugin;
use crate::config::yaml;
use crate::error::ConfigError;
use crate::lock::Lock;
use crate::secret::Secret;
use listwatch_core::time::WallTime;
use serde::Deserialize;
use serde_json::json;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long before its expiry a credential is renewed, as with client-go.
const MARGIN: Duration = Duration::from_secs(10);

/// Go's zero time, by which a plugin says that a credential does not expire: client-go takes it so.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// What was issued last, and is issued now. Concurrent callers share one run of a plugin, which ends when none of them
/// waits any more.
pub(super) struct Issuance {
    limit: Duration,
    state: Lock<State>,
}

#[derive(Default)]
struct State {
    last: Option<Issued>,
    /// The run under way.
    run: Option<Arc<Run>>,
}

/// A credential that somebody issued for a time.
#[derive(Clone)]
pub(super) struct Issued {
    pub(super) token: Option<Secret>,
    pub(super) identity: Option<(Secret, Secret)>,
    pub(super) expires: Option<SystemTime>,
}

impl Issued {
    pub(super) fn is_valid(&self, now: SystemTime) -> bool {
        self.expires.is_none_or(|expires| now + MARGIN < expires)
    }
}

impl Issuance {
    /// Limits the time of a run.
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, state: Lock::default() }
    }

    /// The last credential while it is valid, else the one that `read` returns.
    pub(super) fn or_read(&self, read: impl FnOnce() -> Result<Issued, ConfigError>) -> Result<Issued, ConfigError> {
        let mut state = self.state.lock();
        if let Some(issued) = state.current() {
            return Ok(issued.clone());
        }
        let issued = read()?;
        state.last = Some(issued.clone());
        Ok(issued)
    }

    /// The last credential while it is valid, else a new one from a run.
    pub(super) fn current(&self, plugin: &Plugin, cancel: &CancelToken) -> Result<Issued, ConfigError> {
        let mut state = self.state.lock();
        if let Some(issued) = state.current() {
            return Ok(issued.clone());
        }
        let run = self.join(&mut state, plugin, cancel)?;
        drop(state);
        match run.wait(cancel) {
            Some(outcome) => self.on_over(&run, plugin, outcome),
            None => Err(fault(plugin, "was cancelled")),
        }
    }

    /// Whether there is no valid credential.
    pub(super) fn is_due(&self) -> bool {
        self.state.lock().current().is_none()
    }

    /// Makes the next call ask for another credential.
    pub(super) fn invalidate(&self) {
        self.state.lock().last = None;
    }

    /// Handles the cancellation of a caller. When this returns, a run that no caller waits for was killed.
    pub(super) fn on_cancelled(&self) {
        if let Some(run) = &self.state.lock().run {
            run.on_cancelled();
        }
    }

    /// Joins the run under way, or starts one.
    ///
    /// The caller holds the lock: no run starts after a cancellation, and a later cancellation finds the started run.
    fn join(&self, state: &mut State, plugin: &Plugin, cancel: &CancelToken) -> Result<Arc<Run>, ConfigError> {
        if cancel.is_cancelled() {
            return Err(fault(plugin, "was cancelled before it started"));
        }
        if let Some(run) = state.run.as_ref().filter(|run| run.join(cancel)) {
            return Ok(run.clone());
        }
        let run = Run::start(&mut command(plugin), plugin.may_prompt, self.limit, cancel).map_err(|error| {
            let hint = plugin.install_hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            fault(plugin, &format!("cannot be started: {error}{hint}"))
        })?;
        state.run = Some(run.clone());
        Ok(run)
    }

    /// Takes the outcome of a run. The first caller that gets it stores the credential.
    fn on_over(&self, run: &Arc<Run>, plugin: &Plugin, outcome: Outcome) -> Result<Issued, ConfigError> {
        let issued = outcome.and_then(|output| read(&output, &plugin.api_version));
        let mut state = self.state.lock();
        if state.run.as_ref().is_some_and(|current| Arc::ptr_eq(current, run)) {
            state.run = None;
            state.last = issued.as_ref().ok().cloned();
        }
        issued.map_err(|what| fault(plugin, &what))
    }
}

impl State {
    /// The last credential while it is valid.
    fn current(&self) -> Option<&Issued> {
        self.last.as_ref().filter(|issued| issued.is_valid(clock::wall()))
    }
}

fn fault(plugin: &Plugin, what: &str) -> ConfigError {
    ConfigError::new(format!("{} {what}", plugin.place()))
}

fn command(plugin: &Plugin) -> Command {
    let mut spec = json!({ "interactive": plugin.may_prompt });
    if let Some(cluster) = &plugin.cluster {
        spec["cluster"] = cluster.clone();
    }
    let info = json!({ "apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec });
    let mut command = Command::new(&plugin.command);
    command.args(&plugin.args).envs(plugin.env.iter().map(|(name, value)| (name, value)));
    command.env("KUBERNETES_EXEC_INFO", info.to_string());
    // As with kubectl, its standard error is that of this program.
    command.stdin(if plugin.may_prompt { Stdio::inherit() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    command
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    api_version: String,
    kind: Option<String>,
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

/// Parses the output of a plugin: JSON or YAML. As with kubectl, its kind may be absent. Errors do not quote it.
fn read(output: &[u8], api_version: &str) -> Result<Issued, String> {
    if output.trim_ascii().is_empty() {
        return Err("printed nothing: run it by hand".to_owned());
    }
    let text = yaml::text(output.to_vec()).map_err(|error| format!("printed no ExecCredential: {error}"))?;
    let text = text.trim_start_matches('\u{feff}');
    // As with kubectl, what begins with a brace is JSON, and nothing else is behind it.
    let parse = if text.trim_start().starts_with('{') { of_json } else { of_yaml };
    let credential = parse(text)?;
    let ExecCredential { kind, .. } = &credential;
    if kind.as_ref().is_some_and(|kind| kind != "ExecCredential") || credential.api_version != api_version {
        return Err(format!("printed something other than an ExecCredential of {api_version}"));
    }
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    let status = credential.status;
    let expires = status.expiration_timestamp.filter(|text| text != NEVER);
    let token = text(status.token).map(Secret::new);
    let identity = match (text(status.client_certificate_data), text(status.client_key_data)) {
        (Some(certificate), Some(key)) => Some((Secret::new(certificate), Secret::new(key))),
        (None, None) if token.is_none() => return Err("gave neither a token nor a client certificate".to_owned()),
        (None, None) => None,
        _ => return Err("gave a client certificate without its key, or a key without a certificate".to_owned()),
    };
    let moment = |text: String| date(&text).ok_or("gave an `expirationTimestamp` that is no RFC 3339 date");
    Ok(Issued { token, identity, expires: expires.map(moment).transpose()? })
}

fn of_json(text: &str) -> Result<ExecCredential, String> {
    serde_json::from_str(text).map_err(|error| unreadable(error.line()))
}

fn of_yaml(text: &str) -> Result<ExecCredential, String> {
    let root = yaml::parse(text).map_err(|(line, _what)| unreadable(line))?.ok_or("printed no ExecCredential")?;
    serde_json::from_value(root.to_json()).map_err(|_| "printed no ExecCredential".to_owned())
}

fn unreadable(line: usize) -> String {
    format!("printed no ExecCredential: see line {line} of its output")
}

/// Parses a date by RFC 3339, such as `2026-11-20T10:43:37Z`. Returns `None` for any other text and for dates before
/// 1970. Plugins write the last second of the year 9999 for "never": whatever its offset, it is the last time there is.
fn date(text: &str) -> Option<SystemTime> {
    let since_epoch = text.parse::<WallTime>().ok()?.as_unix_micros();
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(since_epoch.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_prints_is_json_or_yaml_in_any_unicode() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let json = r#"{"apiVersion":"v1","kind":"ExecCredential","status":{"token":"t"}}"#;
        let yaml = "---\napiVersion: v1\nkind: ExecCredential\nstatus:\n  token: t\n  expirationTimestamp: 2999-01-01T00:00:00Z\n";
        for output in [
            json.into(),
            json.replace(',', ",\n\t").into_bytes(),
            format!("\u{feff}{json}\r\n").into_bytes(),
            utf16(&format!("\u{feff}{json}")),
            yaml.into(),
            utf16(&format!("\u{feff}{yaml}")),
            br#"{"apiVersion":"v1","status":{"token":"t"}}"#.into(),
        ] {
            let token = read(&output, "v1").map(|issued| issued.token);
            assert_eq!(token, Ok(Some(Secret::new("t"))), "{}", String::from_utf8_lossy(&output));
        }
        for output in ["status: {token: t}", "apiVersion: v2\nstatus: {token: t}", "kind: Config\napiVersion: v1"] {
            assert!(read(output.as_bytes(), "v1").is_err(), "{output}");
        }
    }

    /// Go's zero time, as client-go takes it.
    #[test]
    fn a_credential_whose_expiry_is_the_zero_time_never_expires() {
        let output = br#"{"apiVersion":"v1","kind":"ExecCredential",
            "status":{"token":"t","expirationTimestamp":"0001-01-01T00:00:00Z"}}"#;
        let issued = read(output, "v1").map(|issued| issued.expires);
        assert_eq!(issued, Ok(None));
    }

    fn seconds(text: &str) -> Option<u64> {
        date(text).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn dates_are_read_with_and_without_fraction_and_offset() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2024-02-29T23:59:59Z", 1_709_251_199),
            ("2000-03-01T00:00:00Z", 951_868_800),
            ("2026-11-20T10:43:07Z", 1_795_171_387),
            ("2026-11-20T10:43:07.123456Z", 1_795_171_387),
            ("2026-11-20T10:43:07.1234567890123Z", 1_795_171_387),
            ("2026-11-20 10:43:07z", 1_795_171_387),
            ("2016-12-31T23:59:60Z", 1_483_228_799),
            ("2026-11-20T12:43:07+02:00", 1_795_171_387),
            ("2026-11-20t09:13:07-01:30", 1_795_171_387),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("9999-12-31T23:59:59-10:00", 253_402_300_799),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn forms_that_rfc_3339_does_not_have_are_no_dates() {
        for text in [
            "+002026-11-20T10:43Z",
            "+002026-11-20T10:43:07Z",
            "2026-11-20T10:43:07+25:59",
            "2026-11-20T10:43:07-24:00",
            "2026-11-20T10:43:07+25:59:59",
            "2026-11-20T10:43:07+02",
            "2026-11-20T10:43:07+0200",
            "2026-11-20T10:43:07Z[UTC]",
            "2026-11-20T10:43:07,5Z",
            "2026-11-20T10:43:07.Z",
            "20261120T10:43:07Z",
            "2026-11-20T10:43:07+02:60",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(seconds("2026-11-20T10:43:07+23:59"), Some(1_795_171_387 - (23 * 60 + 59) * 60));
        assert_eq!(seconds("2026-11-20T10:43:07-00:00"), Some(1_795_171_387));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in ["", "soon", "2026-11-20", "2026-13-20T10:43:07Z", "2026-00-20T10:43:07Z", "2026-11-20T10:43:07"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        for text in [
            "2026-11-20T10:43:07+99:00",
            "1960-11-20T10:43:07Z",
            "2026-11-20T10:43Z",
            "2026-11-20T10:43:07+",
            "2026-02-30T10:43:07Z",
            "99999-11-20T10:43:07Z",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn a_credential_is_renewed_ten_seconds_before_it_expires() {
        let moment = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let is_valid = |expires| Issued { token: None, identity: None, expires }.is_valid(moment(100));
        assert!(is_valid(Some(moment(111))) && !is_valid(Some(moment(110))) && is_valid(None));
    }
}
