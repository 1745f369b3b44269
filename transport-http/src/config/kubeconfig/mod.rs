//! Kubeconfigs: files are read and merged, and one context of them becomes settings.

mod entry;
mod exec;
mod files;
mod user;

pub(crate) use files::Kubeconfig;

use crate::config::settings::{Allowed, Settings, Trust};
use crate::error::{ConfigError, ConfigWarning};
use entry::Entry;

impl Kubeconfig {
    /// Reads the settings of the named context, or of the current one.
    pub(crate) fn settings(&self, context: Option<&str>, allowed: Allowed) -> Result<Settings, ConfigError> {
        let name = match context {
            Some(name) => name,
            None => self.current_context()?,
        };
        let context = self.context(name)?;
        let cluster = self.cluster(&context)?;
        let user = self.user(&context)?;
        let server = cluster.text("server")?.ok_or_else(|| cluster.fault("has no `server`"))?.to_owned();
        let mut settings = Settings::of_server(server, cluster.place());
        settings.context = Some(name.to_owned());
        settings.warnings = self.warnings();
        settings.namespace = namespace(&context)?.map(str::to_owned);
        settings.proxy = cluster.text("proxy-url")?.map(|url| (url.to_owned(), cluster.place()));
        if settings.is_https() {
            settings.trust = trust(&cluster)?;
        }
        match (user, context.text("user")?) {
            (Some(user), _) => user::read(&user, &cluster, allowed, &mut settings)?,
            (None, Some(user)) => {
                settings.warnings.push(ConfigWarning::MissingUser { place: context.place(), user: user.to_owned() });
            }
            (None, None) => {}
        }
        Ok(settings)
    }
}

/// The namespace of a context. In a path, one part of it and no other holds it.
fn namespace<'a>(context: &Entry<'a>) -> Result<Option<&'a str>, ConfigError> {
    let name = context.text("namespace")?;
    if name.is_some_and(|name| matches!(name, "." | "..") || name.contains(['/', '%'])) {
        return Err(context.fault("has a `namespace` that is no name"));
    }
    Ok(name)
}

fn trust(cluster: &Entry<'_>) -> Result<Trust, ConfigError> {
    let trust = Trust {
        authority: cluster.material("certificate-authority")?,
        insecure: cluster.flag("insecure-skip-tls-verify")?,
        server_name: cluster.text("tls-server-name")?.map(str::to_owned),
    };
    if trust.insecure && trust.authority.is_some() {
        return Err(cluster.fault("has a certificate authority and `insecure-skip-tls-verify`: remove one of them"));
    }
    Ok(trust)
}
