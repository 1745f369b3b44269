//! The kinds of faults.

use super::refusal::{Refusal, TooLarge};
use listwatch_core::request::Query;
use listwatch_core::transport::TransportErrorKind;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server refuses the request: 400.
    BadRequest,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 410, whatever was asked.
    Gone,
    /// 422.
    Unprocessable,
    /// 429 with a time to wait in the head.
    TooManyRequests,
    /// 429 with a time to wait in head and body.
    Throttled,
    /// 500.
    InternalError,
    /// 503.
    Unavailable,
    /// 504.
    GatewayTimeout,
    /// 409, which is no answer to a list or a watch.
    Conflict,
    /// The answer points somewhere else, where nobody goes.
    Redirected,
    /// 504, because a version is too large, by the type of a cause.
    TooLargeByType,
    /// Likewise, by the message of a cause.
    TooLargeByCause,
    /// Likewise, by the message alone.
    TooLargeByMessage,
    /// A proxy's page under 200.
    HtmlOk,
    /// A proxy's page under 502.
    HtmlBadGateway,
    /// Nothing under 200.
    EmptyBody,
    /// The server accepts the request and never answers.
    Silence,
    /// Nobody listens.
    ConnectionRefused,
    /// No trust in the TLS handshake.
    Untrusted,
    /// The answer comes seconds late.
    Delay,
    /// The answer breaks off with an error.
    CutByReset,
    /// The answer breaks off and looks complete.
    CutByEnd,
    /// The answer breaks off and nobody says so.
    CutBySilence,
    /// The connection is broken while nothing comes.
    Reset,
    /// The connection is dead while nothing comes, and nobody says so.
    HalfOpen,
    /// The end of an answer is reported twice.
    DuplicateClose,
    /// Bytes come under the number of an earlier request.
    LateBytes,
    /// A watch ends by an error event: 410.
    StreamGone,
    /// Likewise: 500.
    StreamError,
    /// Likewise: 429.
    StreamThrottled,
    /// A watch ends much too early.
    EarlyEnd,
    /// A watch ends after two seconds.
    ShortWatch,
    /// What a watch goes on from is gone.
    Compacted,
    /// What a continue token goes on from is gone.
    TokenExpired,
    /// A page of a list says to go on with itself.
    RepeatedPage,
    /// A list goes on and on, in pages without items.
    EmptyPages,
    /// A list goes on and on, with two tokens in turn.
    TokensInTurn,
    /// A list has always one page more.
    EndlessPages,
    /// The initial events have no end.
    NoInitialEnd,
    /// A watch gets no bookmarks.
    NoBookmarks,
    /// The request is served by a replica that is behind.
    StaleReplica,
    /// A list is older than it was asked to be.
    OldState,
    /// The store goes back to a backup.
    Restore,
    /// An object cannot be decoded.
    Undecodable,
    /// Not even an object's key can be read.
    Unreadable,
    /// The reader takes no events for a while, though there are some.
    SlowReader,
    /// The informer is stopped and started again.
    Restart,
    /// The process is killed, and begins again with what it saved.
    Killed,
    /// The clock goes back for a moment.
    ClockBack,
    /// An audit says that the cache differs.
    Drift,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 53] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::Gone,
        Self::Unprocessable,
        Self::TooManyRequests,
        Self::Throttled,
        Self::InternalError,
        Self::Unavailable,
        Self::GatewayTimeout,
        Self::Conflict,
        Self::Redirected,
        Self::TooLargeByType,
        Self::TooLargeByCause,
        Self::TooLargeByMessage,
        Self::HtmlOk,
        Self::HtmlBadGateway,
        Self::EmptyBody,
        Self::Silence,
        Self::ConnectionRefused,
        Self::Untrusted,
        Self::Delay,
        Self::CutByReset,
        Self::CutByEnd,
        Self::CutBySilence,
        Self::Reset,
        Self::HalfOpen,
        Self::DuplicateClose,
        Self::LateBytes,
        Self::StreamGone,
        Self::StreamError,
        Self::StreamThrottled,
        Self::EarlyEnd,
        Self::ShortWatch,
        Self::Compacted,
        Self::TokenExpired,
        Self::RepeatedPage,
        Self::EmptyPages,
        Self::TokensInTurn,
        Self::EndlessPages,
        Self::NoInitialEnd,
        Self::NoBookmarks,
        Self::StaleReplica,
        Self::OldState,
        Self::Restore,
        Self::Undecodable,
        Self::Unreadable,
        Self::SlowReader,
        Self::Restart,
        Self::Killed,
        Self::ClockBack,
        Self::Drift,
    ];

    /// What a server, or a proxy, says, if the fault is that it says it.
    #[must_use]
    pub fn refusal(self) -> Option<Refusal> {
        let too_large = |form| Refusal::too_large(form, 2, 1);
        Some(match self {
            Self::BadRequest => Refusal::of(400),
            Self::Unauthorized => Refusal::of(401),
            Self::Forbidden => Refusal::of(403),
            Self::NotFound => Refusal::of(404),
            Self::Gone | Self::StreamGone => Refusal::of(410),
            Self::Unprocessable => Refusal::of(422),
            Self::TooManyRequests | Self::StreamThrottled => Refusal::throttled(7, false),
            Self::Throttled => Refusal::throttled(3, true),
            Self::InternalError | Self::StreamError => Refusal::of(500),
            Self::Unavailable => Refusal::of(503),
            Self::GatewayTimeout => Refusal::of(504),
            Self::Conflict => Refusal::of(409),
            Self::TooLargeByType => too_large(TooLarge::CauseType),
            Self::TooLargeByCause => too_large(TooLarge::CauseMessage),
            Self::TooLargeByMessage => too_large(TooLarge::Message),
            Self::HtmlOk => Refusal::html(200),
            Self::HtmlBadGateway => Refusal::html(502),
            Self::EmptyBody => Refusal::empty(),
            _ => return None,
        })
    }

    /// Why no connection can be made, if the fault is that none can.
    #[must_use]
    pub fn barrier(self) -> Option<TransportErrorKind> {
        match self {
            Self::ConnectionRefused => Some(TransportErrorKind::Refused),
            Self::Untrusted => Some(TransportErrorKind::Tls),
            _ => None,
        }
    }

    /// Whether it can happen to such a request: to a page, if it is one.
    #[must_use]
    pub fn is_possible(self, query: Query, page: bool) -> bool {
        match self {
            Self::TokenExpired | Self::RepeatedPage => page,
            Self::OldState | Self::EmptyPages | Self::TokensInTurn | Self::EndlessPages => {
                query == Query::List && !page
            }
            Self::NoInitialEnd => query == Query::WatchList,
            Self::NoBookmarks | Self::Compacted | Self::ShortWatch => query == Query::Watch,
            Self::EarlyEnd | Self::StreamGone | Self::StreamError | Self::StreamThrottled => query != Query::List,
            _ => true,
        }
    }

    /// The token of the first page, if the fault is that pages have no end.
    #[must_use]
    pub fn endless(self) -> Option<&'static str> {
        match self {
            Self::EmptyPages => Some("empty:0"),
            Self::TokensInTurn => Some("turn:0"),
            Self::EndlessPages => Some("endless:0"),
            _ => None,
        }
    }

    /// Whether it ends a watch by an error event.
    #[must_use]
    pub fn is_in_stream(self) -> bool {
        matches!(self, Self::StreamGone | Self::StreamError | Self::StreamThrottled)
    }
}
