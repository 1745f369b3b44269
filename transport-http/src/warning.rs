use listwatch_core::text::Printable;
use std::fmt;
use std::path::PathBuf;

/// What is risky about a configuration that can be used. [`Cluster::warnings`](crate::Cluster::warnings) has them; this
/// library prints nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigWarning {
    /// The credential goes over plain HTTP to another machine.
    PlainCredential {
        /// Where the user is named.
        place: String,
        /// The address of the server.
        server: String,
    },
    /// Others than its owner may change a kubeconfig: its group, unless that has the owner's number and so is the owner's
    /// own, or everybody. Only Unix has such permissions.
    WritableKubeconfig {
        /// The file.
        file: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PlainCredential { place, server } => {
                let (place, server) = (Printable::new(place), Printable::new(server));
                write!(
                    f,
                    "{place}: the credential is sent to {server} without TLS: everybody on the way can take it; "
                )?;
                f.write_str("use an https address")
            }
            Self::WritableKubeconfig { file, mode } => {
                let file = Printable::new(file.display());
                write!(
                    f,
                    "kubeconfig {file} can be changed by others (mode {mode:04o}), who then choose the server, "
                )?;
                f.write_str("and the program that is run for a credential: chmod go-w")
            }
        }
    }
}
