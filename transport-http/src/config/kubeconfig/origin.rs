use crate::error::ConfigError;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a kubeconfig comes from.
pub(super) enum Origin {
    /// With its permissions, if others may write it.
    File(PathBuf, Option<u32>),
    /// It was given as it is, and so has no folder.
    Text,
}

impl Origin {
    /// From where its paths count.
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
