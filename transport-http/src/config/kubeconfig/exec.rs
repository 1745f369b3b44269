//! The exec plugin of a user.

use super::entry::Entry;
use crate::config::settings::Plugin;
use crate::config::yaml::Node;
use crate::error::ConfigError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};
use std::path::is_separator;
use std::sync::Arc;

const VERSIONS: [&str; 2] = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

pub(super) fn read(exec: &Entry<'_>, cluster: &Entry<'_>, interactive: bool) -> Result<Plugin, ConfigError> {
    let version = exec.text("apiVersion")?.filter(|version| VERSIONS.contains(version));
    let version = version.ok_or_else(|| {
        let [v1, v1beta1] = VERSIONS;
        exec.fault(format!("has an `exec` whose `apiVersion` is neither {v1} nor {v1beta1}"))
    })?;
    let command = exec.text("command")?.ok_or_else(|| exec.fault("has an `exec` without a `command`"))?;
    let is_path = command.contains(is_separator);
    let cluster = if exec.flag("provideClusterInfo")? { Some(cluster_info(cluster)?) } else { None };
    Ok(Plugin {
        place: exec.place(),
        api_version: version.to_owned(),
        command: if is_path { exec.resolve(command)? } else { command.into() },
        args: exec.texts("args")?.into_iter().map(str::to_owned).collect(),
        env: exec.parts("env").iter().map(variable).collect::<Result<_, _>>()?,
        may_prompt: may_prompt(exec, interactive)?,
        install_hint: exec.text("installHint")?.map(one_line),
        cluster,
    })
}

/// Whether the plugin may prompt at the terminal.
fn may_prompt(exec: &Entry<'_>, interactive: bool) -> Result<bool, ConfigError> {
    match exec.text("interactiveMode")? {
        Some("Never") => Ok(false),
        None | Some("IfAvailable") => Ok(interactive),
        Some("Always") if interactive => Ok(true),
        Some("Always") => Err(exec.fault(
            "has an `exec` that needs a terminal (`interactiveMode: Always`), and standard input is none, or in use",
        )),
        Some(_) => Err(exec.fault("has an `interactiveMode` that is neither Never nor IfAvailable nor Always")),
    }
}

/// Joins the lines of a hint, because an error has one line.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

fn variable(entry: &Entry<'_>) -> Result<(String, String), ConfigError> {
    let name = entry.text("name")?.filter(|name| !name.contains(['=', '\0']));
    let name = name.ok_or_else(|| entry.fault("has an `exec` with a variable without a proper `name`"))?;
    Ok((name.to_owned(), entry.text("value")?.unwrap_or_default().to_owned()))
}

/// The `spec.cluster` of the plugin's input.
fn cluster_info(cluster: &Entry<'_>) -> Result<Value, ConfigError> {
    let mut info = Map::new();
    for key in ["server", "tls-server-name", "proxy-url"] {
        if let Some(text) = cluster.text(key)? {
            info.insert(key.to_owned(), text.into());
        }
    }
    if let Some(authority) = cluster.material("certificate-authority")? {
        let authority = BASE64_STANDARD.encode(authority.current()?.reveal());
        info.insert("certificate-authority-data".to_owned(), authority.into());
    }
    for key in ["insecure-skip-tls-verify", "disable-compression"] {
        if cluster.flag(key)? {
            info.insert(key.to_owned(), true.into());
        }
    }
    if let Some(config) = extension(cluster)? {
        info.insert("config".to_owned(), config.to_json());
    }
    Ok(Value::Object(info))
}

fn extension<'a>(cluster: &Entry<'a>) -> Result<Option<&'a Arc<Node>>, ConfigError> {
    for extension in cluster.parts("extensions") {
        if extension.text("name")? == Some("client.authentication.k8s.io/exec") {
            return Ok(extension.node.entry("extension"));
        }
    }
    Ok(None)
}
