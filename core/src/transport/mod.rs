//! Transports: the trait [`ListerWatcher`], which feeds the machines with bytes, and adapters to it.
//!
//! | source | adapter |
//! |---|---|
//! | an `embedded_io::Read` that blocks, on bare metal | [`Blocking`] (feature `embedded-io`) |
//! | a `futures_core::Stream` of chunks | [`StreamTransport`] (feature `stream`) |
//! | HTTP | the crate `listwatch-transport-http` |
//! | a recording, a watch log, a saved list | the crate `listwatch-transport-file` |

#[cfg(feature = "embedded-io")]
mod blocking;
#[cfg(feature = "embedded-io")]
mod connection;
mod head;
#[cfg(feature = "stream")]
mod stream;

#[cfg(feature = "embedded-io")]
pub use blocking::{Blocking, BlockingSource};
pub use head::ResponseHead;
#[cfg(feature = "stream")]
pub use stream::{StreamPart, StreamTransport};

use crate::request::{Request, RequestId};
use crate::text::{Printable, SharedText};
use crate::time::Instant;
use core::fmt;
use core::task::{Context, Poll};
use core::time::Duration;

/// Carries lists and watches to a server or a recording, and brings back bytes (client-go `ListerWatcher`).
///
/// One transport serves one reflector, which has one request open at a time. A transport does not retry, has no
/// deadlines and does not look into bodies: the machines decide.
///
/// For one request the transport reports, in this order: [`Incoming::Head`], any number of [`Incoming::Data`], and
/// then [`Incoming::End`] or [`Incoming::Failed`]; `Failed` may come at any point. If the sender did not end a body
/// properly, the transport reports `Failed`, never `End`.
pub trait ListerWatcher {
    /// Starts a request without blocking. [`poll_read`](Self::poll_read) reports its failure.
    fn open(&mut self, id: RequestId, request: &Request);

    /// The next input. The transport writes bytes to the front of `buf`, which is never empty.
    ///
    /// * A transport under an executor registers the waker of `context.cx` and returns [`Poll::Pending`].
    /// * A transport that blocks may wait up to `context.max_wait`. Then it returns [`Incoming::Idle`] until `context.now`,
    ///   so the caller polls again at once.
    /// * A recording never waits: it returns [`Incoming::Idle`] with the moment of the next input.
    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming>;

    /// Ends a request early. The caller drops later input under its id.
    fn abort(&mut self, id: RequestId);

    /// What in this process the open request waits for before it is sent, for people; `None` if it does not wait.
    fn waits_for(&self) -> Option<SharedText> {
        None
    }
}

/// The time and the waker of one [`ListerWatcher::poll_read`].
#[derive(Debug)]
pub struct ReadContext<'a, 'b> {
    /// Holds the waker that the transport calls when it has more input.
    pub cx: &'a mut Context<'b>,
    /// The caller's time, and the only time that a transport may use.
    pub now: Instant,
    /// How long a transport that blocks may wait; `None` for no limit.
    pub max_wait: Option<Duration>,
}

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

/// The cause of a failure in the transport. Two are equal if kind and detail are.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TransportError {
    /// The kind of failure, by which the reflector reacts.
    pub kind: TransportErrorKind,
    /// The description for operators. It never holds a credential.
    pub detail: SharedText,
    /// The single request that failed. Boxed once more, an error is a word longer, and not two.
    #[cfg(feature = "alloc")]
    request: Option<alloc::boxed::Box<SharedText>>,
}

/// The kinds of transport failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum TransportErrorKind {
    /// No process listens at the address.
    Refused,
    /// The peer, or a device between, broke the connection.
    Reset,
    /// A time limit passed.
    Timeout,
    /// The name could not be resolved.
    Dns,
    /// The TLS handshake failed, or the peer is not trusted.
    Tls,
    /// The peer violated the protocol.
    Protocol,
    /// Credentials are unavailable or invalid: a file is missing, a plugin fails. Nothing was sent. The failure needs
    /// manual intervention.
    Credentials,
    /// The request makes no valid address. Nothing was sent. The failure needs manual intervention.
    Unsendable,
    /// The process has no resources for one more request: the request waited too long for others to end, or threads, files
    /// or memory are used up. Nothing was sent. The failure may pass.
    Exhausted,
    /// Any other failure.
    Other,
}

impl TransportErrorKind {
    /// All kinds, for readers that find one by its [`Display`](fmt::Display).
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
    pub fn new(kind: TransportErrorKind, detail: impl Into<SharedText>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            #[cfg(feature = "alloc")]
            request: None,
        }
    }

    /// Names the request that failed, such as `GET /api/v1/pods`, unless it is named already.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn of_request(mut self, request: impl fmt::Display) -> Self {
        self.request.get_or_insert_with(|| alloc::boxed::Box::new(alloc::string::ToString::to_string(&request).into()));
        self
    }

    /// The single request that failed, such as `GET /api/v1/pods`, if that is known.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn request(&self) -> Option<&str> {
        self.request.as_deref().map(|request| &**request)
    }
}

impl PartialEq for TransportError {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.detail == other.detail
    }
}

impl Eq for TransportError {}

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
        #[cfg(feature = "alloc")]
        if let Some(request) = &self.request {
            write!(f, "{}: ", Printable::new(request))?;
        }
        write!(f, "{}", self.kind)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", Printable::new(&self.detail)) }
    }
}

impl core::error::Error for TransportError {}

#[cfg(feature = "alloc")]
impl<L: ListerWatcher + ?Sized> ListerWatcher for alloc::boxed::Box<L> {
    fn open(&mut self, id: RequestId, request: &Request) {
        (**self).open(id, request);
    }

    fn poll_read(&mut self, context: ReadContext<'_, '_>, buf: &mut [u8]) -> Poll<Incoming> {
        (**self).poll_read(context, buf)
    }

    fn abort(&mut self, id: RequestId) {
        (**self).abort(id);
    }

    fn waits_for(&self) -> Option<SharedText> {
        (**self).waits_for()
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
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
