use crate::error::ConfigError;
use std::fmt;
use std::path::{Path, PathBuf};

/// The origin of a kubeconfig.
pub(super) enum Origin {
    /// A file, and its permissions if others may write it.
    File(PathBuf, Option<u32>),
    /// A text, which has no folder.
    Text,
}

impl Origin {
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path),
            Self::Text => None,
        }
    }

    /// The folder that relative paths start from.
    pub(super) fn folder(&self) -> Option<&Path> {
        self.path().map(|path| path.parent().unwrap_or(path))
    }

    pub(super) fn fault(&self, line: usize, what: impl fmt::Display) -> ConfigError {
        ConfigError::new(format!("{self}:{line}: {what}"))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, _) => path.display().fmt(f),
            Self::Text => f.write_str("the given kubeconfig"),
        }
    }
}
