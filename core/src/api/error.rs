use crate::decode::Status;
use crate::queue::Outcome;
use crate::text::Printable;
use crate::transport::{ResponseHead, TransportError};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

/// Why a request did not bring what it was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiError {
    /// The server did not do it, and says why.
    Status {
        /// What it says.
        status: Box<Status>,
        /// How long it asks to wait, in a header; [`retry_after`](Self::retry_after) has a limit.
        retry_after: Option<Duration>,
    },
    /// The server could not be asked, or its answer did not come.
    Transport(TransportError),
    /// The server did it, but its answer is not of the type that was expected.
    Unreadable(String),
    /// The request could not be written: what was to be sent is no JSON, or a name is none.
    Unwritable(String),
}

impl ApiError {
    /// What the server says.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The object has changed meanwhile: read it again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.is(409, "Conflict") && !self.is_already_exists()
    }

    /// There is one of that name.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.reason() == Some("AlreadyExists")
    }

    /// There is none of that name, or no such resource.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.is(404, "NotFound")
    }

    /// The server does not let the user do this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.is(403, "Forbidden")
    }

    /// The server does not know the user.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.is(401, "Unauthorized")
    }

    /// The object is not as it should be.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.is(422, "Invalid")
    }

    /// The version or the continue token is gone.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// The server asks to come later.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.is(429, "TooManyRequests")
    }

    /// How long the server asks to wait, by a header or else by its status; at most an hour, the limit of the reflector
    /// too.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { status, retry_after } => {
                retry_after.or_else(|| status.retry_after()).map(|asked| asked.min(ResponseHead::MOST_ASKED))
            }
            _ => None,
        }
    }

    fn reason(&self) -> Option<&str> {
        self.status().map(|status| status.reason.as_str())
    }

    /// By its reason; where the server gives none, by its code.
    fn is(&self, code: u16, reason: &str) -> bool {
        self.status().is_some_and(
            |status| {
                if status.reason.is_empty() { status.code == code } else { status.reason == reason }
            },
        )
    }
}

impl From<TransportError> for ApiError {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

/// Of what was to be sent; what could not be read is told apart where it is read.
impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

/// The outcome of work that failed by this error: [`Outcome::RetryAfter`] if the server asks to wait (`Retry-After`, at
/// most an hour), [`Outcome::Retry`] otherwise.
///
/// ```
/// use listwatch_core::api::ApiError;
/// use listwatch_core::queue::Outcome;
///
/// fn outcome(reconciled: Result<(), ApiError>) -> Outcome {
///     match reconciled {
///         Ok(()) => Outcome::Done,
///         Err(error) => Outcome::from(&error),
///     }
/// }
///
/// assert_eq!(outcome(Ok(())), Outcome::Done);
/// assert_eq!(outcome(Err(ApiError::Unreadable("no JSON".to_owned()))), Outcome::Retry);
/// ```
impl From<&ApiError> for Outcome {
    fn from(error: &ApiError) -> Self {
        error.retry_after().map_or(Self::Retry, Self::RetryAfter)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, .. } => status.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Unreadable(why) => write!(f, "the answer cannot be read: {}", Printable::new(why)),
            Self::Unwritable(why) => write!(f, "the request cannot be written: {}", Printable::new(why)),
        }
    }
}

impl core::error::Error for ApiError {}
