use crate::clock;
use crate::error::ConfigError;
use crate::secret::Secret;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a file with the same time and length counts as unchanged.
const FRESH: Duration = Duration::from_secs(60);

/// The largest file that is read, in bytes. Certificates and tokens are smaller.
const MAX_FILE: u64 = 4 << 20;

/// A file that is read again when it changes. While it cannot be read, its last content counts: rotation replaces
/// files.
pub(crate) struct Reloaded {
    what: &'static str,
    path: PathBuf,
    last: Mutex<Option<Content>>,
}

struct Content {
    secret: Secret,
    stamp: Stamp,
    read: Instant,
}

/// Time and length of a file, which change with its content.
type Stamp = Option<(SystemTime, u64)>;

impl Reloaded {
    /// Takes a path. Errors name the file's purpose, `what`.
    pub(crate) fn new(what: &'static str, path: PathBuf) -> Self {
        Self { what, path, last: Mutex::new(None) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the current content.
    pub(crate) fn current(&self) -> Result<Secret, ConfigError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
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
                None => Err(ConfigError::unreadable(self.what, &self.path, &error)),
            },
        }
    }

    /// Makes the next call read the file, whatever its time.
    pub(crate) fn invalidate(&self) {
        if let Some(content) = self.last.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
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
