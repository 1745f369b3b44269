use core::fmt;
use listwatch_core::saved::SavedError;
use listwatch_core::text::Printable;
use std::path::PathBuf;

/// Why a saved cache was not restored, or the cache is not saved. The informer goes on without.
///
/// [`Display`](fmt::Display) says it in one line:
/// `/var/lib/agent/pods.json: it is of another server: https://a, and this is https://b; the cache begins with a list`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SaveProblem {
    /// The cache begins with a list.
    NotRestored {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: SavedError,
    },
    /// The resource may have secrets, which are saved only on [request](super::SaveTo::include_secrets), but a file is there.
    /// It may have those of an earlier run.
    SecretsLeft {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: SavedError,
    },
    /// Another informer saves to the file, in this process or another one. The cache begins with a list. It is saved once
    /// the other one has ended, which is tried at each save.
    InUse {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: SavedError,
    },
    /// The last whole state stays, and the next save is due after the usual time.
    NotSaved {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: SavedError,
    },
}

impl fmt::Display for SaveProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, error, result) = match self {
            Self::NotRestored { path, error } => (path, error, "the cache begins with a list"),
            Self::InUse { path, error } => {
                (path, error, "the cache begins with a list, and is not saved until the other one has ended")
            }
            Self::SecretsLeft { path, error } => (
                path,
                error,
                "the cache is not saved, but this file is there, perhaps with those of an earlier run: delete it",
            ),
            Self::NotSaved { path, error } => (path, error, "the cache is not saved"),
        };
        write!(f, "{}: {error}; {result}", Printable::new(path.display()))
    }
}

impl core::error::Error for SaveProblem {}
