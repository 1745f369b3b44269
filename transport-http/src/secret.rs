//! Credentials and certificates, and files that hold them.

use crate::clock;
use crate::error::ConfigError;
use crate::lock::Lock;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// A credential. Its `Debug` hides the content.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<[u8]>);

impl Secret {
    pub(crate) fn new(content: impl Into<Vec<u8>>) -> Self {
        Self(content.into().into())
    }

    /// The content, to send it.
    pub(crate) fn reveal(&self) -> &[u8] {
        &self.0
    }

    /// The content as text, without the white space that files end with.
    pub(crate) fn reveal_text(&self) -> Option<&str> {
        str::from_utf8(&self.0).ok().map(str::trim)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// A certificate or a key.
#[derive(Clone)]
pub(crate) enum Material {
    /// The content, and its place.
    Data(Secret, String),
    File(Arc<Reloaded>),
}

impl Material {
    /// The content of a file, for a purpose.
    pub(crate) fn file(what: impl Into<String>, path: PathBuf) -> Self {
        Self::File(Arc::new(Reloaded::new(what, path)))
    }

    /// Returns the current content.
    pub(crate) fn current(&self) -> Result<Secret, ConfigError> {
        match self {
            Self::Data(content, _) => Ok(content.clone()),
            Self::File(file) => file.current(),
        }
    }

    /// Where it is, for errors.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Data(_, place) => place.clone(),
            Self::File(file) => file.path().display().to_string(),
        }
    }
}

/// How long a file with the same time and length counts as unchanged.
const FRESH: Duration = Duration::from_secs(60);

/// The largest file that is read, in bytes. Certificates and tokens are smaller.
const MAX_FILE: u64 = 4 << 20;

/// A file that is read again when it changes. While it cannot be read, its last content counts: rotation replaces
/// files.
pub(crate) struct Reloaded {
    /// Its purpose, for errors.
    what: String,
    path: PathBuf,
    last: Lock<Option<Content>>,
}

struct Content {
    secret: Secret,
    stamp: Stamp,
    read: Instant,
}

/// Time and length of a file, which change with its content.
type Stamp = Option<(SystemTime, u64)>;

impl Reloaded {
    pub(crate) fn new(what: impl Into<String>, path: PathBuf) -> Self {
        Self { what: what.into(), path, last: Lock::new(None) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current content.
    pub(crate) fn current(&self) -> Result<Secret, ConfigError> {
        let mut last = self.last.lock();
        let (stamp, now) = (stamp(&self.path), clock::steady());
        if let Some(content) = last.as_ref()
            && content.stamp == stamp
            && now.duration_since(content.read) < FRESH
        {
            return Ok(content.secret.clone());
        }
        match read(&self.path) {
            Ok(secret) => {
                *last = Some(Content { secret: secret.clone(), stamp, read: now });
                Ok(secret)
            }
            Err(error) => match last.as_ref() {
                Some(content) => Ok(content.secret.clone()),
                None => Err(ConfigError::unreadable(&self.what, &self.path, &error)),
            },
        }
    }

    /// Makes the next call read the file, whatever its time.
    pub(crate) fn invalidate(&self) {
        if let Some(content) = self.last.lock().as_mut() {
            content.stamp = None;
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(path: &Path) -> io::Result<Secret> {
    let mut content = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 4 MiB"));
    }
    Ok(Secret::new(content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_neither_its_content_nor_its_length() {
        assert_eq!(format!("{:?} {:#?}", Secret::new("hunter2"), Secret::new("")), "(secret) (secret)");
    }
}
