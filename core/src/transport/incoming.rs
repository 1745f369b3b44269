//! What a transport brings.

use super::error::TransportError;
use crate::request::RequestId;
use crate::text::SharedText;
use crate::time::{Instant, MAX_RETRY_AFTER, retry_after};
use core::time::Duration;

/// Input of a transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// The answer has begun.
    Head {
        /// The request.
        id: RequestId,
        /// Status and headers.
        head: ResponseHead,
    },
    /// Bytes of the body.
    Data {
        /// The request.
        id: RequestId,
        /// The number of bytes in the buffer; at least one.
        len: usize,
    },
    /// The body ended properly.
    End {
        /// The request.
        id: RequestId,
    },
    /// The request failed, or its answer broke off.
    Failed {
        /// The request.
        id: RequestId,
        /// The reason.
        error: TransportError,
    },
    /// No input now. The caller polls again at `until` at the latest, or after the next request.
    Idle {
        /// When more input may come; `None` for never.
        until: Option<Instant>,
    },
}

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

    /// How many bytes of the body are kept if the response is a refusal: 64 KiB.
    pub const MAX_REFUSAL: usize = 64 * 1024;

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
