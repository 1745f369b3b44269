use super::{Prospect, RequestLine};
use crate::decode::Status;
use crate::queue::Outcome;
use crate::text::Printable;
use crate::transport::{ResponseHead, TransportError, TransportErrorKind};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

/// The cause of a failed [`ApiCall`](super::ApiCall).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApiError {
    /// The server refused the request, with a `Status`.
    Status {
        /// The `Status` in the body. If the body has none, it is made from the status code and the body's text.
        status: Box<Status>,
        /// The request; `None` if the error was made by another than an [`ApiCall`](super::ApiCall).
        request: Option<Box<RequestLine>>,
        /// The time to wait by the header `Retry-After`, without a limit; [`retry_after`](Self::retry_after) has one.
        retry_after: Option<Duration>,
    },
    /// The request was not sent, or its answer did not arrive complete.
    Transport(TransportError),
    /// The server processed the request, but its answer is not of the expected type.
    Unreadable(String),
    /// The request was not sent: its body cannot be written as JSON, or a name is invalid.
    Unwritable(String),
}

impl ApiError {
    /// The `Status` that the server answered with.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The request that the server refused, where that is known.
    #[must_use]
    pub fn request(&self) -> Option<&RequestLine> {
        match self {
            Self::Status { request, .. } => request.as_deref(),
            _ => None,
        }
    }

    /// Whether the object has changed meanwhile: the caller reads it again. A conflict of field managers is one, too, and
    /// [lasts](Self::is_transient).
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.is(409, "Conflict") && !self.is_already_exists()
    }

    /// Whether an object of that name exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.reason() == Some("AlreadyExists")
    }

    /// Whether the object, or the resource, does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.is(404, "NotFound")
    }

    /// Whether the user may not do this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.is(403, "Forbidden")
    }

    /// Whether the server does not know the user.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.is(401, "Unauthorized")
    }

    /// Whether the server found the object invalid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.is(422, "Invalid")
    }

    /// Whether the version or the continue token has expired.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// Whether the server limits the rate of requests.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.is(429, "TooManyRequests")
    }

    /// Whether the failure does not lie in the request: the server is unreachable or overloaded, or the object changed
    /// meanwhile. The same work may succeed later. Of a refusal, [`REFUSALS`](super::REFUSALS) decides it.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => Prospect::of(status) == Prospect::Passes,
            Self::Transport(error) => error.kind != TransportErrorKind::Unsendable,
            Self::Unreadable(_) | Self::Unwritable(_) => false,
        }
    }

    /// The delay that the server requests, by the header or else by the `Status`. It is at most an hour, as with the
    /// reflector.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { status, retry_after, .. } => {
                retry_after.or_else(|| status.retry_after()).map(|asked| asked.min(ResponseHead::MAX_RETRY_AFTER))
            }
            _ => None,
        }
    }

    fn reason(&self) -> Option<&str> {
        self.status().map(|status| status.reason.as_str())
    }

    /// Compares the reason or, if the server gives none, the code.
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

/// An error of writing a body; errors of reading one are [`ApiError::Unreadable`].
impl From<serde_json::Error> for ApiError {
    fn from(error: serde_json::Error) -> Self {
        Self::Unwritable(error.to_string())
    }
}

/// The outcome of work that failed with this error. If the error [is transient](ApiError::is_transient), it is
/// [`Outcome::Transient`], otherwise [`Outcome::RetryAfter`] or [`Outcome::Retry`]. The delay is the one that the server
/// requests (`Retry-After`, at most an hour).
///
/// ```
/// use listwatch_core::api::ApiError;
/// use core::time::Duration;
/// use listwatch_core::queue::Outcome;
/// use listwatch_core::transport::{TransportError, TransportErrorKind};
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
/// let refused = TransportError::new(TransportErrorKind::Refused, "no process listens");
/// assert_eq!(outcome(Err(refused.into())), Outcome::Transient(Duration::ZERO));
/// ```
impl From<&ApiError> for Outcome {
    fn from(error: &ApiError) -> Self {
        match error.retry_after() {
            least if error.is_transient() => Self::Transient(least.unwrap_or_default()),
            Some(least) => Self::RetryAfter(least),
            None => Self::Retry,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, request: Some(request), .. } => write!(f, "{request}: {status}"),
            Self::Status { status, request: None, .. } => status.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Unreadable(why) => write!(f, "the response cannot be decoded: {}", Printable::new(why)),
            Self::Unwritable(why) => write!(f, "the request cannot be encoded: {}", Printable::new(why)),
        }
    }
}

impl core::error::Error for ApiError {}
