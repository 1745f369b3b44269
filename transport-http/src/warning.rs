use listwatch_core::text::Printable;
use std::fmt;
use std::path::PathBuf;

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
