//! What a configuration says, before anything of it is read or run.

use crate::error::ConfigError;
use crate::reloaded::Reloaded;
use crate::secret::Secret;
use crate::warning::ConfigWarning;
use std::path::PathBuf;

/// Which server, and how it is talked to.
pub(crate) struct Settings {
    pub(crate) server: String,
    /// Where the server is named, for errors.
    pub(crate) place: String,
    pub(crate) context: Option<String>,
    pub(crate) namespace: String,
    pub(crate) trust: Trust,
    /// A client certificate and its key.
    pub(crate) identity: Option<(Material, Material)>,
    /// A proxy, and where it is named.
    pub(crate) proxy: Option<(String, String)>,
    pub(crate) login: Login,
    /// Where the user is named, for errors of credentials.
    pub(crate) user_place: String,
    /// What is risky about where it comes from.
    pub(crate) warnings: Vec<ConfigWarning>,
    /// Headers by which requests are made in another's name.
    pub(crate) impersonate: Vec<(String, String)>,
}

impl Settings {
    /// A server that is asked by nobody in particular.
    pub(crate) fn of_server(server: String, place: String) -> Self {
        Self {
            server,
            user_place: place.clone(),
            place,
            context: None,
            namespace: "default".to_owned(),
            trust: Trust::default(),
            identity: None,
            proxy: None,
            login: Login::Nobody,
            warnings: Vec::new(),
            impersonate: Vec::new(),
        }
    }
}

/// How a server shows that it is the right one.
#[derive(Default)]
pub(crate) struct Trust {
    /// Who vouches for it; `None` for whom the system trusts.
    pub(crate) authority: Option<Material>,
    /// Nobody needs to.
    pub(crate) insecure: bool,
    /// The name that its certificate is for, if not that of the address.
    pub(crate) server_name: Option<String>,
}

/// A certificate or a key.
pub(crate) enum Material {
    /// As it is, and where it stands.
    Data(Secret, String),
    File(PathBuf),
}

impl Material {
    /// What it is now; `what` it is, for an error.
    pub(crate) fn read(self, what: &'static str) -> Result<Secret, ConfigError> {
        match self {
            Self::Data(content, _) => Ok(content),
            Self::File(path) => Reloaded::new(what, path).current(),
        }
    }
}

/// How a request says who makes it, if not by a client certificate.
pub(crate) enum Login {
    Nobody,
    /// `NAME:PASSWORD`.
    Basic(Secret),
    Token(Secret),
    /// A file that is read again, and a token for as long as it cannot be.
    TokenFile(PathBuf, Option<Secret>),
    Exec(Plugin),
}

/// A program that says who the user is.
pub(crate) struct Plugin {
    pub(crate) place: String,
    pub(crate) api_version: String,
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    /// It may ask somebody at the terminal.
    pub(crate) asks: bool,
    pub(crate) install_hint: Option<String>,
    /// What it is told of the cluster.
    pub(crate) cluster: Option<serde_json::Value>,
}
