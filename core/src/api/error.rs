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
    /// meanwhile. The same work may succeed later.
    ///
    /// Of a refusal, the first row that fits decides it:
    ///
    /// | refusal | passes | because |
    /// |---|---|---|
    /// | 409, a conflict of field managers | no | two managers want other values |
    /// | 403, the namespace is being deleted | no | it never takes an object again |
    /// | any with `retryAfterSeconds` | yes | the server says when |
    /// | 403, a quota is exceeded or not counted yet | yes | other objects go |
    /// | 409 `AlreadyExists` | no | another object has the name |
    /// | 409 otherwise | yes | the object has changed meanwhile |
    /// | 410 | yes | a list begins anew |
    /// | 429 | yes | the server is busy, or a disruption budget is spent |
    /// | 501, 505 | no | the server cannot do it |
    /// | 500 to 599 otherwise | yes | the server, its store or a webhook is in trouble |
    /// | all others: 400, 401, 403, 404, 405, 413, 415, 422 | no | |
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Status { status, .. } => passes(status),
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

/// Whether the same request may succeed after this refusal: the table of [`ApiError::is_transient`].
fn passes(status: &Status) -> bool {
    let is_of_quota =
        || ["exceeded quota: ", "status unknown for quota: "].iter().any(|said| status.message.contains(said));
    match (status.code, status.reason.as_str()) {
        _ if ["FieldManagerConflict", "NamespaceTerminating"].iter().any(|cause| status.has_cause(cause)) => false,
        _ if status.retry_after().is_some() => true,
        (403, _) if is_of_quota() => true,
        (_, "AlreadyExists") => false,
        (_, "Conflict" | "TooManyRequests") | (409 | 410 | 429, _) => true,
        (501 | 505, _) => false,
        (code, _) => (500..=599).contains(&code),
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
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { left: 4, wait: Duration::from_millis(10), random: Random::new(seed) }
    }

    /// `attempts` in all, `wait` and up to a tenth more apart.
    #[must_use]
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

    const PASSES: bool = true;
    const LASTS: bool = false;

    /// Whether a refusal passes, as a kube-apiserver words it.
    fn prospect(code: u16, reason: &str, message: &str, details: Value) -> bool {
        let body = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
            "details": details });
        passes(&Status::read(code, body.to_string().as_bytes()))
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
            (400, "BadRequest", "", json!({}), LASTS),
            (401, "Unauthorized", "", json!({}), LASTS),
            (403, "Forbidden", r#"User "u" cannot create resource "pods""#, json!({}), LASTS),
            (403, "Forbidden", quota, json!({}), PASSES),
            (403, "Forbidden", uncounted, json!({}), PASSES),
            (403, "Forbidden", "because it is being terminated", cause("NamespaceTerminating"), LASTS),
            (404, "NotFound", r#"namespaces "web" not found"#, json!({ "name": "web", "kind": "namespaces" }), LASTS),
            (404, "NotFound", r#"pods "a" not found"#, json!({ "name": "a" }), LASTS),
            (405, "MethodNotAllowed", "", json!({}), LASTS),
            (406, "NotAcceptable", "", json!({}), LASTS),
            (409, "Conflict", "Operation cannot be fulfilled on pods", json!({ "name": "a" }), PASSES),
            (409, "Conflict", "Apply failed with 1 conflict", cause("FieldManagerConflict"), LASTS),
            (409, "AlreadyExists", "", json!({ "name": "a" }), LASTS),
            (409, "AlreadyExists", "the server was not able to generate a unique name", wait(), PASSES),
            (409, "", "", json!({}), PASSES),
            (410, "Expired", "", json!({}), PASSES),
            (410, "Gone", "", json!({}), PASSES),
            (413, "RequestEntityTooLarge", "", json!({}), LASTS),
            (415, "UnsupportedMediaType", "", json!({}), LASTS),
            (422, "Invalid", "", cause("FieldValueInvalid"), LASTS),
            (429, "TooManyRequests", "", json!({}), PASSES),
            (429, "TooManyRequests", "Cannot evict pod", cause("DisruptionBudget"), PASSES),
            (500, "InternalError", "failed calling webhook", json!({}), PASSES),
            (500, "ServerTimeout", "", wait(), PASSES),
            (501, "", "", json!({}), LASTS),
            (503, "ServiceUnavailable", "", json!({}), PASSES),
            (504, "Timeout", "", json!({}), PASSES),
            (504, "Timeout", "Too large resource version", cause("ResourceVersionTooLarge"), PASSES),
        ] {
            assert_eq!(prospect(code, reason, message, details), expected, "{code} {reason} {message}");
        }
        for (code, expected) in [(403, LASTS), (404, LASTS), (409, PASSES), (429, PASSES), (502, PASSES)] {
            assert_eq!(passes(&Status::of_code(code)), expected, "a proxy's {code}");
        }
    }
}
