use crate::text::SharedText;
use crate::time::{MAX_RETRY_AFTER, retry_after};
use core::time::Duration;

/// The status of a response, and the headers that the machines use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The HTTP status code.
    pub status: u16,
    /// The delay that the server requests (`Retry-After`). A transport converts a date to a duration by the response's
    /// `Date`.
    pub retry_after: Option<Duration>,
    /// The media type, in lower case and without parameters.
    ///
    /// Without the feature `alloc`, a media type that the machines do not tell apart is `None`.
    pub content_type: Option<SharedText>,
}

impl ResponseHead {
    /// The limit of [`retry_after`](Self::retry_after): an hour. It replaces longer times.
    pub const MAX_RETRY_AFTER: Duration = MAX_RETRY_AFTER;

    /// Makes the head from the status and the headers. `header` is called with names in lower case.
    pub fn from_headers<'a>(status: u16, header: impl Fn(&str) -> Option<&'a str>) -> Self {
        Self {
            status,
            retry_after: header("retry-after").and_then(|value| retry_after(value, header("date"))),
            content_type: header("content-type").and_then(media_type),
        }
    }
}

/// The media type, in lower case and without parameters.
#[cfg(feature = "alloc")]
#[expect(clippy::unnecessary_wraps, reason = "without a heap there are few")]
fn media_type(value: &str) -> Option<SharedText> {
    Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase().into())
}

/// The media type without parameters, if it is one that the machines tell apart.
#[cfg(not(feature = "alloc"))]
fn media_type(value: &str) -> Option<SharedText> {
    let end = value.bytes().position(|byte| byte == b';').unwrap_or(value.len());
    let value = value.get(..end)?.trim_ascii();
    value.eq_ignore_ascii_case("application/json").then(|| SharedText::constant("application/json"))
}
