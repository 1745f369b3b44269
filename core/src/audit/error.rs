use crate::api::ApiError;
use core::fmt;

/// Why an [`Audit`](super::Audit) did not compare the store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditError {
    /// A request for the list failed.
    Failed(ApiError),
    /// The list expired between its pages, each time that it began again.
    Expired,
    /// The second list is older than the store, each time that it began again: the server does not answer with its newest
    /// state.
    BackInTime,
    /// The list has too many pages, or a page names itself as the next one.
    Endless,
    /// A version is not a decimal number, so nothing tells whether the store has reached it.
    Unordered,
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Expired => f.write_str("the list expired before its last page, again and again"),
            Self::BackInTime => {
                f.write_str("the server answers with lists that are older than the store, again and again")
            }
            Self::Endless => f.write_str("the list has no end: too many pages, or one that names itself as the next"),
            Self::Unordered => {
                f.write_str("the server's resource versions have no order, so the store cannot be compared")
            }
        }
    }
}

impl core::error::Error for AuditError {}
