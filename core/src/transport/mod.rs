//! Transports: the trait [`ListerWatcher`], which feeds the machines with bytes. Who has another source implements it, or
//! uses an adapter.
//!
//! | source | adapter |
//! |---|---|
//! | a `futures_core::Stream` of chunks | [`StreamTransport`] (feature `stream`) |
//! | HTTP | the crate `listwatch-transport-http` |
//! | a recording, a watch log, a saved list | the crate `listwatch-transport-file` |

mod error;
mod incoming;
#[cfg(feature = "stream")]
mod stream;

pub use error::{TransportError, TransportErrorKind};
pub use incoming::{Incoming, ResponseHead};
#[cfg(feature = "stream")]
pub use stream::{StreamPart, StreamTransport};

use crate::request::{Request, RequestId};
use crate::text::SharedText;
use crate::time::Instant;
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
