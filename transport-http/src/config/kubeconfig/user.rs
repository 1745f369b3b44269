//! The credentials of a kubeconfig's user.

use super::entry::Entry;
use super::exec;
use super::files::Kubeconfig;
use crate::config::settings::{Allowed, Login, ReadToken, Settings};
use crate::error::{ConfigError, ConfigWarning};
use crate::exchange::is_token;
use crate::secret::{Reloaded, Secret};
use std::path::Path;

/// The entries whose credential goes into a header.
const HEADERS: [&str; 5] = ["token", "tokenFile", "username", "auth-provider", "exec"];

pub(super) fn read(
    user: &Entry<'_>,
    cluster: &Entry<'_>,
    allowed: Allowed,
    settings: &mut Settings,
) -> Result<(), ConfigError> {
    settings.user_place = user.place();
    settings.impersonate = impersonate(user)?;
    if !settings.is_https() && !allowed.over_http {
        if HEADERS.iter().any(|key| user.has(key)) {
            let (place, server) = (user.place(), settings.server.clone());
            settings.warnings.push(ConfigWarning::WithheldCredential { place, server });
        }
        return Ok(());
    }
    settings.identity = match (user.material("client-certificate")?, user.material("client-key")?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (Some(_), None) => return Err(user.fault("has a `client-certificate` without a `client-key`")),
        // As with kubectl, a key alone is not used.
        (None, _) => None,
    };
    settings.login = match login(user, cluster, allowed.prompts)? {
        // As with kubectl, a plugin does not run beside a client certificate.
        Login::Exec(_) if settings.identity.is_some() => Login::None,
        login => login,
    };
    Ok(())
}

fn login(user: &Entry<'_>, cluster: &Entry<'_>, interactive: bool) -> Result<Login, ConfigError> {
    let token = user.text("token")?.map(Secret::new);
    let file = user.path("tokenFile")?;
    let (name, password) = (user.text("username")?, user.text("password")?);
    if name.is_some() && (token.is_some() || file.is_some()) {
        return Err(user.fault("has a token and a `username`: remove one of them"));
    }
    if password.is_some() && token.is_some() {
        return Err(user.fault("has a token and a `password`: remove one of them"));
    }
    match (file, token, name) {
        (Some(file), token, _) => Ok(Login::TokenFile(Reloaded::new("token file", file), token)),
        (None, Some(token), _) => Ok(Login::Token(token)),
        (None, None, Some(name)) => Ok(Login::Basic(Secret::new(format!("{name}:{}", password.unwrap_or_default())))),
        (None, None, None) => match (user.part("auth-provider"), user.part("exec")) {
            (Some(_), Some(_)) => Err(user.fault("has an `auth-provider` and an `exec`: remove one of them")),
            (Some(provider), None) => provided(user, &provider).map(Login::IdToken),
            (None, Some(exec)) => exec::read(&exec, cluster, interactive).map(Login::Exec),
            (None, None) => Ok(Login::None),
        },
    }
}

/// The token of an `auth-provider`. kubectl renews it in the file, so a file is read again.
fn provided(user: &Entry<'_>, provider: &Entry<'_>) -> Result<ReadToken, ConfigError> {
    match provider.text("name")? {
        Some("oidc") => {}
        name => {
            let name = name.unwrap_or_default();
            return Err(user.fault(format!(
                "uses the `auth-provider` `{name}`, which Kubernetes has removed: use the exec plugin of your provider"
            )));
        }
    }
    let first = id_token(user)?;
    let (file, name) = (user.file.path().map(Path::to_owned), user.name.to_owned());
    Ok(Box::new(move || match &file {
        Some(file) => match Kubeconfig::of(file)?.find("users", "user", &name)? {
            Some(user) => id_token(&user),
            None => Ok(first.clone()),
        },
        None => Ok(first.clone()),
    }))
}

fn id_token(user: &Entry<'_>) -> Result<Secret, ConfigError> {
    let config = user.part("auth-provider").and_then(|provider| provider.part("config"));
    let token = config.as_ref().map_or(Ok(None), |config| config.text("id-token"))?;
    token
        .map(Secret::new)
        .ok_or_else(|| user.fault("has an `auth-provider` without an `id-token`: log in, or run kubectl once"))
}

/// The headers that impersonate another user.
fn impersonate(user: &Entry<'_>) -> Result<Vec<(String, String)>, ConfigError> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    if let Some(name) = user.text("as")? {
        add("impersonate-user", name);
    }
    if let Some(uid) = user.text("as-uid")? {
        add("impersonate-uid", uid);
    }
    for group in user.texts("as-groups")? {
        add("impersonate-group", group);
    }
    if let Some(extra) = user.part("as-user-extra") {
        for key in extra.keys() {
            for value in extra.texts(key)? {
                add(&format!("impersonate-extra-{}", header_key(key)), value);
            }
        }
    }
    if !headers.is_empty() && !user.has("as") {
        return Err(user.fault("has `as-uid`, `as-groups` or `as-user-extra` without `as`"));
    }
    Ok(headers)
}

/// Percent-encodes a key as a part of a header's name.
fn header_key(key: &str) -> String {
    let encoded = |byte| match byte {
        b'%' => "%25".to_owned(),
        _ if is_token(byte) => char::from(byte).to_string(),
        _ => format!("%{byte:02x}"),
    };
    key.to_ascii_lowercase().bytes().map(encoded).collect()
}
