//! Why a command ended before it was done.

use crate::outlet::Amount;
use crate::resource::ResourceError;
use listwatch_runtime_smol::file::{CaptureError, CaptureErrorKind};
use listwatch_runtime_smol::http::ConfigError;
use std::fmt;
use std::path::PathBuf;

/// Why a command ended before it was done: one line.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Nothing can be printed.
    Output(std::io::Error),
    /// Nobody can read what would be printed.
    Closed,
    /// So much was printed that nobody took.
    Unread(Amount),
    Capture(CaptureError),
    /// No list of a recording came whole, so there was nothing to tell; and why.
    NothingListed(PathBuf, Option<String>),
    Config(ConfigError),
    /// The address that was typed is none.
    Address(ConfigError),
    Resource(ResourceError),
    /// The server refuses, and will until somebody changes something.
    Refused(String),
    /// It ended before there was a state; and what it was doing.
    NeverSynced(String),
    Signals(std::io::Error),
    /// The system starts no more threads.
    Threads(std::io::Error),
    /// Nothing can be waited for.
    Reactor(String),
}

impl From<CaptureError> for CommandError {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

impl CommandError {
    /// Whether it is by what was typed, whatever the cluster has.
    pub(crate) fn is_wrong_usage(&self) -> bool {
        match self {
            Self::Resource(error) => matches!(error, ResourceError::NotAResource(_)),
            Self::Capture(error) => error.kind() == CaptureErrorKind::Secrets,
            Self::Address(_) => true,
            _ => false,
        }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<ResourceError> for CommandError {
    fn from(error: ResourceError) -> Self {
        Self::Resource(error)
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
            Self::Closed => f.write_str(
                "standard output is closed (or /dev/null, opened for reading too); where nothing is to be printed, \
                 give `> /dev/null`",
            ),
            Self::Unread(Amount { lines, bytes }) => {
                write!(f, "nobody reads standard output: the last {lines} lines ({bytes} bytes) were not printed")
            }
            Self::Capture(error) if error.kind() == CaptureErrorKind::Secrets => {
                f.write_str("this would write Secrets into a file; if that is meant, give --include-secrets")
            }
            Self::Capture(error) => error.fmt(f),
            Self::NothingListed(file, reason) => {
                write!(f, "{}: no list in it came to its end", file.display())?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({reason})"))?;
                f.write_str("; record or save it again, from its beginning")
            }
            Self::Config(error) if error.is_missing() => {
                write!(
                    f,
                    "{error}; or give --kubeconfig FILE, or --server URL (http://127.0.0.1:8001 is `kubectl proxy`)"
                )
            }
            Self::Config(error) | Self::Address(error) => error.fmt(f),
            Self::Resource(error) => error.fmt(f),
            Self::Refused(reason) => write!(f, "{reason} (with --keep-trying, this would not be the end)"),
            Self::NeverSynced(status) => write!(f, "ended before there was a state: {status}"),
            Self::Signals(error) => write!(f, "cannot listen to Ctrl-C: {error}"),
            Self::Threads(error) => {
                write!(f, "no thread can be started: {error}; raise the limit on processes or memory")
            }
            Self::Reactor(reason) => {
                write!(f, "too few file descriptors: {reason}; raise the limit on open files (`ulimit -n`)")
            }
        }
    }
}
