//! What feeds the machines: the one trait that a transport implements, and adapters to it.

#[cfg(feature = "embedded-io")]
mod blocking;
mod head;
#[cfg(feature = "stream")]
mod stream;

#[cfg(feature = "embedded-io")]
pub use blocking::{Blocking, BlockingSource};
pub use head::ResponseHead;
#[cfg(feature = "stream")]
pub use stream::{StreamPart, StreamTransport};

use crate::request::{Request, RequestId};
use crate::text::Printable;
use crate::time::Instant;
use alloc::sync::Arc;
use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;

/// Carries requests to a server, or to a recording of one, and brings back bytes.
///
/// One transport object serves one reflector, which has one request open at a time. Nothing here is decided: a
/// transport does not retry, does not time out by itself, and does not look into bodies.
///
/// For one request the transport reports, in this order: [`Incoming::Head`], any number of [`Incoming::Data`], and
/// then [`Incoming::End`] or [`Incoming::Failed`]; `Failed` may come at any point. A body that the sender did not end
/// properly is `Failed`, never `End`.
pub trait ListerWatcher {
    /// Starts a request. Must not block: what goes wrong is reported by [`poll_read`](Self::poll_read).
    fn open(&mut self, id: RequestId, request: &Request);

    /// What came in next. Bytes are written to the front of `buf`, which is never empty.
    ///
    /// * A transport with an executor behind it registers the waker of `turn.cx` and returns [`Poll::Pending`].
    /// * A blocking one, or one on bare metal, may wait up to `turn.max_wait` and then returns [`Incoming::Idle`] until
    ///   `turn.now`: ask again at once.
    /// * A recording never waits: it returns [`Incoming::Idle`] with the moment from which there is more.
    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming>;

    /// Ends a request early. What still comes in under its id is dropped by the caller.
    fn abort(&mut self, id: RequestId);
}

/// The circumstances of one [`ListerWatcher::poll_read`].
#[derive(Debug)]
pub struct ReadContext<'a, 'b> {
    /// Whom to wake when there is more.
    pub cx: &'a mut Context<'b>,
    /// The caller's time: the only one that a transport may decide by.
    pub now: Instant,
    /// How long a transport that blocks may wait; `None` for as long as it likes.
    pub max_wait: Option<Duration>,
}

/// What a transport brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// The answer has begun.
    Head {
        /// Which request's.
        id: RequestId,
        /// Status and headers.
        head: ResponseHead,
    },
    /// Bytes of the body.
    Data {
        /// Which request's.
        id: RequestId,
        /// How many were written to the buffer; at least one.
        len: usize,
    },
    /// The body ended as it should.
    End {
        /// Which request's.
        id: RequestId,
    },
    /// The request failed, or its answer broke off.
    Failed {
        /// Which request's.
        id: RequestId,
        /// Why.
        error: TransportError,
    },
    /// Nothing now; ask again at the latest when `until` has come, or after the next request.
    Idle {
        /// When there may be more; `None` for never.
        until: Option<Instant>,
    },
}

/// Why a transport could not carry on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError {
    /// What happened, as far as the reaction depends on it.
    pub kind: TransportErrorKind,
    /// What happened, for a person. Never holds a credential.
    pub detail: Arc<str>,
}

/// The kinds of trouble that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// Nobody listens there.
    Refused,
    /// The other side, or something between, broke the connection.
    Reset,
    /// It took too long.
    Timeout,
    /// The name could not be resolved.
    Dns,
    /// No trust, or no understanding, in the TLS handshake.
    Tls,
    /// What came was not what the protocol allows.
    Protocol,
    /// What shows who asks cannot be had or used: a file that is missing, a program that fails. Nothing was sent, and
    /// somebody has to mend it.
    Credentials,
    /// The request cannot be sent as it is: what it asks for makes no address. Nothing was sent, and somebody has to
    /// mend it.
    Unsendable,
    /// This process has no room for one more request: as many as it may have are open, or threads, files or memory are
    /// used up. Nothing was sent, and it may pass.
    Exhausted,
    /// Anything else.
    Other,
}

impl TransportErrorKind {
    /// All of them, for who reads one back by what it is called.
    pub const ALL: [Self; 10] = [
        Self::Refused,
        Self::Reset,
        Self::Timeout,
        Self::Dns,
        Self::Tls,
        Self::Protocol,
        Self::Credentials,
        Self::Unsendable,
        Self::Exhausted,
        Self::Other,
    ];
}

impl TransportError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: TransportErrorKind, detail: impl Into<Arc<str>>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl fmt::Display for TransportErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "connection refused",
            Self::Reset => "connection broken",
            Self::Timeout => "timed out",
            Self::Dns => "name not resolved",
            Self::Tls => "TLS failed",
            Self::Protocol => "protocol violated",
            Self::Credentials => "credentials cannot be used",
            Self::Unsendable => "request cannot be sent",
            Self::Exhausted => "no room for a request",
            Self::Other => "failed",
        })
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", Printable::new(&self.detail)) }
    }
}

impl core::error::Error for TransportError {}

impl<L: ListerWatcher + ?Sized> ListerWatcher for alloc::boxed::Box<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        (**self).open(id, request);
    }

    fn poll_read(&mut self, turn: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        (**self).poll_read(turn, buf)
    }

    fn abort(&mut self, id: RequestId) {
        (**self).abort(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_trouble_is_among_all_and_named_apart() {
        // The last one: a kind that is added behind the others is missed here.
        assert_eq!(TransportErrorKind::ALL.len(), TransportErrorKind::Other as usize + 1);
        for (place, kind) in TransportErrorKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            let name = alloc::string::ToString::to_string(&kind);
            let alike = |other: &TransportErrorKind| name.starts_with(&alloc::string::ToString::to_string(other));
            assert_eq!(TransportErrorKind::ALL.iter().filter(|other| alike(other)).count(), 1, "{name}");
        }
    }
}
