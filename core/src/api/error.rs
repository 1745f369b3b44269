use super::RequestLine;
use crate::decode::Status;
use crate::queue::Outcome;
use crate::random::Random;
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
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    /// The request that the server refused, where that is known.
    pub fn request(&self) -> Option<&RequestLine> {
        match self {
            Self::Status { request, .. } => request.as_deref(),
            _ => None,
        }
    }

    /// Whether the object has changed meanwhile: the caller reads it again. A conflict of field managers is one, too, and
    /// [lasts](Self::is_transient).
    pub fn is_conflict(&self) -> bool {
        self.is(409, "Conflict") && !self.is_already_exists()
    }

    /// Whether an object of that name exists already.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == Some("AlreadyExists")
    }

    /// Whether the object, or the resource, does not exist.
    pub fn is_not_found(&self) -> bool {
        self.is(404, "NotFound")
    }

    /// Whether the user may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.is(403, "Forbidden")
    }

    /// Whether the server does not know the user.
    pub fn is_unauthorized(&self) -> bool {
        self.is(401, "Unauthorized")
    }

    /// Whether the server found the object invalid.
    pub fn is_invalid(&self) -> bool {
        self.is(422, "Invalid")
    }

    /// Whether the version or the continue token has expired.
    pub fn is_expired(&self) -> bool {
        self.status().is_some_and(Status::is_expired)
    }

    /// Whether the server limits the rate of requests.
    pub fn is_too_many_requests(&self) -> bool {
        self.is(429, "TooManyRequests")
    }

    /// Whether the failure does not lie in the request: the server is unreachable or overloaded, or the object changed
    /// meanwhile. The same work may succeed later. Of a refusal, [`REFUSALS`] decides it.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => Prospect::of(status) == Passes,
            Self::Transport(error) => error.kind != TransportErrorKind::Unsendable,
            Self::Unreadable(_) | Self::Unwritable(_) => false,
        }
    }

    /// The delay that the server requests, by the header or else by the `Status`. It is at most an hour, as with the
    /// reflector.
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
        let is_it = |it: &Status| if it.reason.is_empty() { it.code == code } else { it.reason == reason };
        self.status().is_some_and(is_it)
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

/// How a refusal is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalSign {
    /// One of `details.causes` has this reason.
    Cause(&'static str),
    /// The `Status` names a time, in `details.retryAfterSeconds`.
    ///
    /// The header `Retry-After` is no sign, because a proxy adds it to any refusal. It is the least delay of the retry
    /// ([`ApiError::retry_after`]), whatever the prospect is.
    RetryAfterSeconds,
    /// The refusal has this code, and its message this text.
    Message(u16, &'static str),
    /// The `Status` has this reason.
    Reason(&'static str),
    /// The code is one of these; both ends belong to them.
    Codes(u16, u16),
}

/// What the same request may expect later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// The refusal passes by itself: it says nothing about the object.
    Passes,
    /// It lasts until somebody changes the object, the request or the cluster.
    Lasts,
}

use Prospect::{Lasts, Passes};
use RefusalSign::{Cause, Codes, Message, Reason, RetryAfterSeconds};

/// What a refusal says of a repetition. The first rule whose sign the refusal has counts.
///
/// | refusal | prospect | because |
/// |---|---|---|
/// | 409, a conflict of field managers | lasts | two managers want other values |
/// | 403, the namespace is being deleted | lasts | it never takes an object again |
/// | any with `retryAfterSeconds` in its body | passes | the server says when |
/// | 403, a quota is exceeded or not counted yet | passes | other objects go |
/// | 409 `AlreadyExists` | lasts | another object has the name |
/// | 409 otherwise | passes | the object has changed meanwhile |
/// | 410 | passes | a list begins anew |
/// | 429 | passes | the server is busy, or a disruption budget is spent |
/// | 501, 505 | lasts | the server cannot do it |
/// | 500 to 599 otherwise | passes | the server, its store or a webhook is in trouble |
/// | all others: 400, 401, 403, 404, 405, 413, 415, 422 | lasts | |
pub const REFUSALS: &[(RefusalSign, Prospect)] = &[
    (Cause("FieldManagerConflict"), Lasts),
    (Cause("NamespaceTerminating"), Lasts),
    (RetryAfterSeconds, Passes),
    (Message(403, "exceeded quota: "), Passes),
    (Message(403, "status unknown for quota: "), Passes),
    (Reason("AlreadyExists"), Lasts),
    (Reason("Conflict"), Passes),
    (Reason("TooManyRequests"), Passes),
    (Codes(409, 410), Passes),
    (Codes(429, 429), Passes),
    (Codes(501, 501), Lasts),
    (Codes(505, 505), Lasts),
    (Codes(500, 599), Passes),
];

impl RefusalSign {
    fn is_of(self, status: &Status) -> bool {
        match self {
            Cause(reason) => status.has_cause(reason),
            RetryAfterSeconds => status.retry_after().is_some(),
            Message(code, text) => status.code == code && status.message.contains(text),
            Reason(reason) => status.reason == reason,
            Codes(first, last) => (first..=last).contains(&status.code),
        }
    }
}

impl Prospect {
    /// What a refusal may expect.
    pub fn of(status: &Status) -> Self {
        REFUSALS.iter().find(|(sign, _)| sign.is_of(status)).map_or(Lasts, |(_, prospect)| *prospect)
    }
}

/// Delays and limits the repetition of a change after a conflict (client-go `retry.DefaultRetry`). The caller waits.
///
/// ```
/// use listwatch_core::api::{ApiError, ConflictRetry};
///
/// fn change_once() -> Result<(), ApiError> {
///     // Read the object, change it, replace it.
///     # Ok(())
/// }
///
/// let mut retry = ConflictRetry::new(7);
/// let result = loop {
///     match change_once() {
///         Err(error) => match retry.again(&error) {
///             Some(wait) => std::thread::sleep(wait),
///             None => break Err(error),
///         },
///         done => break done,
///     }
/// };
/// assert_eq!(result, Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct ConflictRetry {
    left: u32,
    wait: Duration,
    random: Random,
}

impl ConflictRetry {
    /// Five attempts, 10 to 11 ms apart. Clients that collide need different seeds.
    pub fn new(seed: u64) -> Self {
        Self { left: 4, wait: Duration::from_millis(10), random: Random::new(seed) }
    }

    /// `attempts` in all, `wait` and up to a tenth more apart.
    pub fn with(attempts: u32, wait: Duration, seed: u64) -> Self {
        Self { left: attempts.saturating_sub(1), wait, random: Random::new(seed) }
    }

    /// The time to wait before the next attempt. `None` if no attempt is left, or if the error is not a conflict, or is
    /// one of field managers.
    pub fn again(&mut self, error: &ApiError) -> Option<Duration> {
        if !(error.is_conflict() && error.is_transient()) {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(self.wait + self.random.below(self.wait / 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::string::ToString;

    /// A refusal as a kube-apiserver words it.
    fn prospect(code: u16, reason: &str, message: &str, details: Value) -> Prospect {
        let body = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
            "details": details });
        Prospect::of(&Status::read(code, body.to_string().as_bytes()))
    }

    fn cause(reason: &str) -> Value {
        json!({ "causes": [{ "reason": "Other", "field": ".spec" }, { "reason": reason, "field": ".data.k" }] })
    }

    #[test]
    fn what_a_refusal_says_decides_whether_it_lasts() {
        let wait = || json!({ "retryAfterSeconds": 2 });
        let quota = r#"pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"#;
        let uncounted = r#"pods "a" is forbidden: status unknown for quota: q, resources: pods"#;
        for (code, reason, message, details, expected) in [
            (400, "BadRequest", "", json!({}), Lasts),
            (401, "Unauthorized", "", json!({}), Lasts),
            (403, "Forbidden", r#"User "u" cannot create resource "pods""#, json!({}), Lasts),
            (403, "Forbidden", quota, json!({}), Passes),
            (403, "Forbidden", uncounted, json!({}), Passes),
            (403, "Forbidden", "because it is being terminated", cause("NamespaceTerminating"), Lasts),
            (404, "NotFound", r#"namespaces "web" not found"#, json!({ "name": "web", "kind": "namespaces" }), Lasts),
            (404, "NotFound", r#"pods "a" not found"#, json!({ "name": "a" }), Lasts),
            (405, "MethodNotAllowed", "", json!({}), Lasts),
            (406, "NotAcceptable", "", json!({}), Lasts),
            (409, "Conflict", "Operation cannot be fulfilled on pods", json!({ "name": "a" }), Passes),
            (409, "Conflict", "Apply failed with 1 conflict", cause("FieldManagerConflict"), Lasts),
            (409, "AlreadyExists", "", json!({ "name": "a" }), Lasts),
            (409, "AlreadyExists", "the server was not able to generate a unique name", wait(), Passes),
            (409, "", "", json!({}), Passes),
            (410, "Expired", "", json!({}), Passes),
            (410, "Gone", "", json!({}), Passes),
            (413, "RequestEntityTooLarge", "", json!({}), Lasts),
            (415, "UnsupportedMediaType", "", json!({}), Lasts),
            (422, "Invalid", "", cause("FieldValueInvalid"), Lasts),
            (429, "TooManyRequests", "", json!({}), Passes),
            (429, "TooManyRequests", "Cannot evict pod", cause("DisruptionBudget"), Passes),
            (500, "InternalError", "failed calling webhook", json!({}), Passes),
            (500, "ServerTimeout", "", wait(), Passes),
            (501, "", "", json!({}), Lasts),
            (503, "ServiceUnavailable", "", json!({}), Passes),
            (504, "Timeout", "", json!({}), Passes),
            (504, "Timeout", "Too large resource version", cause("ResourceVersionTooLarge"), Passes),
        ] {
            assert_eq!(prospect(code, reason, message, details), expected, "{code} {reason} {message}");
        }
        for (code, expected) in [(403, Lasts), (404, Lasts), (409, Passes), (429, Passes), (502, Passes)] {
            assert_eq!(Prospect::of(&Status::of_code(code)), expected, "a proxy's {code}");
        }
    }
}
