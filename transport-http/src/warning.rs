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
            Self::WritableKubeconfig { file, mode } => {
                let file = Printable::new(file.display());
                write!(f, "other users can change kubeconfig {file} (mode {mode:04o}), and with it the server ")?;
                f.write_str("and the exec plugin; remove their permission: chmod go-w")
            }
        }
    }
}
