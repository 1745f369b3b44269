//! The settings that a configuration contains, before files are read and plugins are run.

use crate::error::{ConfigError, ConfigWarning};
use crate::secret::{Material, Reloaded, Secret};
use std::path::PathBuf;

/// A server, the way to it, and the user's login.
#[derive(Default)]
pub(crate) struct Settings {
    pub(crate) server: String,
    /// The place of the server's entry, for errors.
    pub(crate) place: String,
    pub(crate) context: Option<String>,
    /// The namespace that the configuration names.
    pub(crate) namespace: Option<String>,
    pub(crate) trust: Trust,
    /// A client certificate and its key.
    pub(crate) identity: Option<(Material, Material)>,
    /// The URL of a proxy, and its place.
    pub(crate) proxy: Option<(String, String)>,
    pub(crate) login: Login,
    /// The place of the user's entry, for errors of credentials.
    pub(crate) user_place: String,
    /// The risks of the files that the settings come from.
    pub(crate) warnings: Vec<ConfigWarning>,
    /// The headers that impersonate another user.
    pub(crate) impersonate: Vec<(String, String)>,
}

impl Settings {
    /// A server without a login. As with kubectl, `HOST:PORT` is one over plain HTTP.
    pub(crate) fn of_server(server: String, place: String) -> Self {
        let server = if server.contains("://") { server } else { format!("http://{server}") };
        Self { server, user_place: place.clone(), place, ..Self::default() }
    }

    /// Whether requests go over TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.server.split_once("://").is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))
    }
}

/// What a program allows a configuration.
#[derive(Clone, Copy)]
pub(crate) struct Allowed {
    /// An exec plugin may prompt.
    pub(crate) prompts: bool,
    /// Credentials may be sent without TLS.
    pub(crate) over_http: bool,
}

/// How the certificate of a server is verified.
#[derive(Default)]
pub(crate) struct Trust {
    /// The certificate authorities; `None` for those of the system.
    pub(crate) authority: Option<Material>,
    /// Accepts any certificate.
    pub(crate) insecure: bool,
    /// The name to expect in the certificate, if not the host of the URL.
    pub(crate) server_name: Option<String>,
}

/// The login of a user, apart from a client certificate.
#[derive(Default)]
pub(crate) enum Login {
    #[default]
    None,
    /// `NAME:PASSWORD`.
    Basic(Secret),
    Token(Secret),
    /// A file that is read again when it changes, and a token for the time that it cannot be read.
    TokenFile(Reloaded, Option<Secret>),
    /// Reads the `id-token` of the provider `oidc`, as it is now.
    IdToken(ReadToken),
    Exec(Plugin),
}

/// Reads a token that another program renews.
pub(crate) type ReadToken = Box<dyn Fn() -> Result<Secret, ConfigError> + Send + Sync>;

/// An exec plugin.
pub(crate) struct Plugin {
    pub(crate) place: String,
    pub(crate) api_version: String,
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// Whether it may prompt at the terminal.
    pub(crate) may_prompt: bool,
    pub(crate) install_hint: Option<String>,
    /// The `spec.cluster` of its input, for a plugin with `provideClusterInfo`.
    pub(crate) cluster: Option<serde_json::Value>,
}

impl Plugin {
    /// The place of its entry, and its command, for errors.
    pub(crate) fn place(&self) -> String {
        format!("{}: exec plugin `{}`", self.place, self.command.display())
    }
}
