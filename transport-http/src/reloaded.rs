use crate::clock;
use crate::error::ConfigError;
use crate::secret::Secret;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long a file counts as unchanged if its time and its length say so.
const FRESH: Duration = Duration::from_secs(60);

/// No certificate and no token is larger than this.
const MAX_FILE: u64 = 4 << 20;

/// A file that is read again when it has changed. What was read once stays good while it cannot be read: rotation
/// replaces files.
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

/// What shows that a file has changed.
type Stamp = Option<(SystemTime, u64)>;

impl Reloaded {
    /// A file, and what it is for.
    pub(crate) fn new(what: &'static str, path: PathBuf) -> Self {
        Self { what, path, last: Mutex::new(None) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
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

    /// Reads the file the next time, whatever its time says.
    pub(crate) fn doubt(&self) {
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
