use listwatch_core::text::Printable;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The longest message in characters. A message may name several paths.
const MOST: usize = 8 * 1024;

/// An unusable configuration or credential: the place, the fault, and a remedy.
///
/// The message never contains a credential. It has one line; control characters of quoted text are escaped.
/// [`Debug`](fmt::Debug) equals [`Display`](fmt::Display), because a `main` that returns the error prints the former.
#[derive(Clone, PartialEq, Eq)]
pub struct ConfigError {
    message: String,
    missing: bool,
}

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), missing: false }
    }

    /// No configuration was found.
    pub(crate) fn missing(message: String) -> Self {
        Self { message, missing: true }
    }

    /// Returns whether no configuration was found: neither a kubeconfig nor the service account of a pod.
    ///
    /// A program that works without a cluster too can ignore such an error.
    pub fn is_missing(&self) -> bool {
        self.missing
    }

    /// A file that cannot be read. `what` names its purpose.
    pub(crate) fn unreadable(what: &str, file: &Path, error: &io::Error) -> Self {
        Self::new(format!("{what} {} cannot be read: {error}", file.display()))
    }

    /// The same fault, with `place` in front.
    #[must_use]
    pub(crate) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable::new(&self.message).at_most(MOST).fmt(f)
    }
}

impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for ConfigError {}

/// A risk of a usable configuration. [`Cluster::warnings`](crate::Cluster::warnings) returns them; the crate prints
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// Requests carry a credential over plain HTTP to another machine.
    PlainCredential {
        /// File, line and name of the user entry.
        place: String,
        /// The URL of the server.
        server: String,
    },
    /// A credential is not sent, because the server has no TLS.
    /// [`credentials_over_http`](crate::ClusterOptions::credentials_over_http) allows it.
    WithheldCredential {
        /// File, line and name of the user entry.
        place: String,
        /// The URL of the server.
        server: String,
    },
    /// A context names a user that is not there. Requests carry no credential.
    MissingUser {
        /// File, line and name of the context.
        place: String,
        /// The name of the user.
        user: String,
    },
    /// Other users than its owner may change a kubeconfig. Only Unix has such permissions.
    ///
    /// A group with the number of the owner counts as the owner's own.
    WritableKubeconfig {
        /// The file.
        file: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlainCredential { place, server } => {
                let (place, server) = (Printable::new(place), Printable::new(server));
                write!(f, "{place}: the credential is sent to {server} without TLS, and can be read on the way; ")?;
                f.write_str("use an https address")
            }
            Self::WithheldCredential { place, server } => {
                let (place, server) = (Printable::new(place), Printable::new(server));
                write!(f, "{place}: the credential is not sent, because {server} has no TLS; ")?;
                f.write_str("use an https address, or allow credentials over HTTP")
            }
            Self::MissingUser { place, user } => {
                let (place, user) = (Printable::new(place), Printable::new(user));
                write!(f, "{place} names the user `{user}`, which is not there: requests carry no credential")
            }
            Self::WritableKubeconfig { file, mode } => {
                let file = Printable::new(file.display());
                write!(f, "other users can change kubeconfig {file} (mode {mode:04o}), and with it the server ")?;
                f.write_str("and the exec plugin; remove their permission: chmod go-w")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_main_that_returns_the_error_prints_its_message() {
        let error = ConfigError::new("the context \"a\" is not there");
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
