//! The refusals of servers, and of the proxies before them.

use std::time::Duration;

/// An answer that is not what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The media type.
    pub content_type: &'static str,
    /// What follows.
    pub body: String,
}

/// How servers of different ages say that a version is larger than theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooLarge {
    /// By the type of a cause.
    CauseType,
    /// By the message of a cause.
    CauseMessage,
    /// By their own message alone.
    Message,
}

impl Refusal {
    /// A status object with nothing in it but the code and its usual reason.
    #[must_use]
    pub fn of(code: u16) -> Self {
        Self::status(code, reason(code), "no", "")
    }

    /// There is one of that name.
    #[must_use]
    pub fn already_exists() -> Self {
        Self::status(409, "AlreadyExists", "already exists", "")
    }

    /// There is no such object, as a server says it.
    #[must_use]
    pub fn missing(name: &str) -> Self {
        Self::status(404, reason(404), "no", &format!(r#","details":{{"name":"{name}"}}"#))
    }

    /// The version, or the token, is gone; where it was a token, another one is offered.
    #[must_use]
    pub fn expired(offered: &str) -> Self {
        let more = if offered.is_empty() {
            String::new()
        } else {
            format!(r#","metadata":{{"continue":"{offered}","resourceVersion":""}}"#)
        };
        Self::status(410, "Expired", "The provided continue parameter is too old", &more)
    }

    /// The version asked for is larger than the server's own.
    #[must_use]
    pub fn too_large(form: TooLarge, asked: u64, current: u64) -> Self {
        let causes = match form {
            TooLarge::CauseType => {
                r#""causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"#
            }
            TooLarge::CauseMessage => r#""causes":[{"message":"Too large resource version"}],"#,
            TooLarge::Message => "",
        };
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::status(504, "Timeout", &message, &format!(r#","details":{{{causes}"retryAfterSeconds":1}}"#))
    }

    /// Too many requests: come back after so many seconds, said in the head, and in the body too if `both`.
    #[must_use]
    pub fn throttled(seconds: u64, both: bool) -> Self {
        let details = if both { format!(r#","details":{{"retryAfterSeconds":{seconds}}}"#) } else { String::new() };
        let retry_after = Some(Duration::from_secs(seconds));
        Self { retry_after, ..Self::status(429, "TooManyRequests", "slow down", &details) }
    }

    /// A proxy's page.
    #[must_use]
    pub fn html(status: u16) -> Self {
        let body = format!("<html>\n<head><title>{status}</title></head>\n<body>a proxy says so</body>\n</html>\n");
        Self { status, retry_after: None, content_type: "text/html", body }
    }

    /// Nothing at all under a status that promises something.
    #[must_use]
    pub fn empty() -> Self {
        Self { status: 200, retry_after: None, content_type: "application/json", body: String::new() }
    }

    fn status(code: u16, reason: &str, message: &str, more: &str) -> Self {
        let body = format!(
            r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{message}","reason":"{reason}","code":{code}{more}}}"#
        );
        Self { status: code, retry_after: None, content_type: "application/json", body }
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}
