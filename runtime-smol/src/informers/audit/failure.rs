use core::fmt;
use listwatch_core::api::ApiError;
use listwatch_core::audit::AuditError;
use listwatch_core::text::Printable;
use std::sync::Arc;

/// Why a store was not compared. A later audit may be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditFailure {
    /// The list could not be read, or has no order that the store can be compared by.
    NotRead(AuditError),
    /// The program's own code panicked with this message: a transport, or the drop of an object.
    Panicked(Arc<str>),
    /// The informer has ended: its last handle was dropped.
    Stopped,
    /// The world is a recording, which has no list but those that its informers get.
    Recording,
}

impl AuditFailure {
    /// The failure of a request, if one failed.
    #[must_use]
    pub fn request(&self) -> Option<&ApiError> {
        match self {
            Self::NotRead(AuditError::Failed(error)) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for AuditFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRead(error) => error.fmt(f),
            Self::Panicked(message) => write!(f, "the program's own code panicked: {}", Printable::new(message)),
            Self::Stopped => f.write_str("the informer has ended"),
            Self::Recording => f.write_str("the world is a recording, which has no list of another time"),
        }
    }
}

impl core::error::Error for AuditFailure {}
