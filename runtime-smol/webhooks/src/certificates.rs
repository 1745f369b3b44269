//! Where certificates come from.

use super::keyring::Identity;
use core::time::Duration;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "managed")]
pub(crate) mod issue;
#[cfg(feature = "managed")]
pub(crate) mod managed;
#[cfg(feature = "managed")]
pub(crate) mod rotation;

/// Where the certificates of webhooks come from.
#[derive(Clone, Debug)]
pub struct Certificates(pub(crate) Source);

#[derive(Clone, Debug)]
pub(crate) enum Source {
    Folder(PathBuf),
    #[cfg(feature = "managed")]
    Managed {
        namespace: String,
        secret: String,
        lifetime: Duration,
    },
}

impl Certificates {
    /// The files `tls.crt` and `tls.key` of a folder, such as a mounted Secret of cert-manager. They are read again every
    /// five seconds. If the folder has a `ca.crt` too, the configuration gets it as `caBundle`.
    #[must_use]
    pub fn from_folder(folder: impl AsRef<Path>) -> Self {
        Self(Source::Folder(folder.as_ref().to_owned()))
    }

    /// Certificates that the program makes and rotates, in a Secret that all its replicas share.
    ///
    /// Each certificate is good for 90 days, and has an authority of its own, whose key is thrown away. After half of that
    /// time the next one is made, and the `caBundle` has both authorities. Once it has had them for five minutes, all
    /// replicas take the next certificate within a minute. The old authority stays until the next rotation.
    #[cfg(feature = "managed")]
    #[cfg_attr(docsrs, doc(cfg(feature = "managed")))]
    #[must_use]
    pub fn managed(namespace: &str, secret: &str) -> Self {
        const LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);
        Self(Source::Managed { namespace: namespace.to_owned(), secret: secret.to_owned(), lifetime: LIFETIME })
    }

    /// The time that a certificate of [`managed`](Self::managed) is good for.
    #[cfg(feature = "managed")]
    #[cfg_attr(docsrs, doc(cfg(feature = "managed")))]
    #[must_use]
    pub fn lasting(self, lifetime: Duration) -> Self {
        match self.0 {
            Source::Managed { namespace, secret, .. } => Self(Source::Managed { namespace, secret, lifetime }),
            folder @ Source::Folder(_) => Self(folder),
        }
    }
}

impl Source {
    /// How long to wait before the certificates are looked at again.
    pub(crate) fn period(&self) -> Duration {
        match self {
            Self::Folder(_) => Duration::from_secs(5),
            #[cfg(feature = "managed")]
            Self::Managed { lifetime, .. } => (*lifetime / 40).min(Duration::from_secs(60)),
        }
    }
}

/// The certificate of a folder, and the authorities beside it.
pub(crate) async fn read_folder(folder: &Path) -> Result<(Identity, Option<String>), String> {
    let read = async |name: &str| smol::fs::read(folder.join(name)).await;
    let needed = |name: &str, error: io::Error| format!("{}: {error}", folder.join(name).display());
    let chain = read("tls.crt").await.map_err(|error| needed("tls.crt", error))?;
    let key = read("tls.key").await.map_err(|error| needed("tls.key", error))?;
    let authorities = match read("ca.crt").await {
        Ok(pem) => Some(String::from_utf8(pem).map_err(|_| "ca.crt is no text".to_owned())?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(needed("ca.crt", error)),
    };
    Ok((Identity { chain, key }, authorities))
}
