use std::fmt;
use std::io;
use std::path::Path;

/// Why a cluster's configuration, or a credential that it names, cannot be used: where, what, and what to do about it.
/// It never quotes a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// A file that cannot be read, and what it is for.
    pub(crate) fn unreadable(what: &str, file: &Path, error: &io::Error) -> Self {
        Self(format!("{what} {} cannot be read: {error}", file.display()))
    }

    /// The same, within something larger.
    #[must_use]
    pub(crate) fn within(self, place: &str) -> Self {
        Self(format!("{place}: {}", self.0))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
