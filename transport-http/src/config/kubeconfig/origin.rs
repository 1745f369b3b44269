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
    /// The folder that relative paths start from.
    pub(super) fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path, _) => Some(path.parent().unwrap_or(path)),
            Self::Text => None,
        }
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
