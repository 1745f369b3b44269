//! The cluster of the pod that runs this program.

use crate::config::settings::{Login, Settings};
use crate::error::ConfigError;
use crate::secret::{Material, Reloaded};
use std::fs;
use std::path::Path;

/// The folder of a pod's service account.
pub(crate) const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The settings of a pod; `None` outside of a pod.
pub(crate) fn settings(account: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Option<Settings>, ConfigError> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let (Some(host), Some(port)) = (set("KUBERNETES_SERVICE_HOST"), set("KUBERNETES_SERVICE_PORT")) else {
        return Ok(None);
    };
    let token = account.join("token");
    if !token.exists() {
        return Err(ConfigError::new(format!(
            "this is a pod, but there is no {}: give it a service account (automountServiceAccountToken)",
            token.display()
        )));
    }
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let mut settings = Settings::of_server(format!("https://{host}:{port}"), "the pod's service account".to_owned());
    settings.trust.authority = Some(Material::file("certificate authority", account.join("ca.crt")));
    settings.login = Login::TokenFile(Reloaded::new("token file", token), None);
    settings.namespace = fs::read_to_string(account.join("namespace")).ok().map(|name| name.trim().to_owned());
    Ok(Some(settings))
}
