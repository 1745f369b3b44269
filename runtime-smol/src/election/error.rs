use super::lost::write_reason;
use core::fmt;
use listwatch_core::election::{ElectionConfigError, StopReason};
use listwatch_core::text::Printable;

/// Why an election did not begin, or ended although the program did not ask for that.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionError {
    /// The configuration cannot be used.
    Config(ElectionConfigError),
    /// The lease has no namespace: neither a pod nor a kubeconfig says one.
    NoNamespace,
    /// The term was lost.
    Lost(StopReason),
    /// The leader's work panicked with this message.
    Panicked(String),
}

impl From<ElectionConfigError> for ElectionError {
    fn from(error: ElectionConfigError) -> Self {
        Self::Config(error)
    }
}

impl fmt::Display for ElectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => write!(f, "the election cannot begin: {error}"),
            Self::NoNamespace => f.write_str(
                "the election cannot begin: the world says no namespace for the lease; set one by Election::namespace",
            ),
            Self::Lost(reason) => {
                f.write_str("leader election lost: ")?;
                write_reason(f, reason)
            }
            Self::Panicked(message) => write!(f, "the leader's work panicked: {}", Printable::new(message)),
        }
    }
}

impl core::error::Error for ElectionError {}
