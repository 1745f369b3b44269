//! The pump between an informer and a transport, for any executor or none.

use super::{EventOf, InformerIn};
use crate::cache::{Cache, Indexer};
use crate::decode::{Decode, Json};
use crate::object::ObjectHandle;
use crate::reflector::Action;
use crate::storage::Keyed;
use crate::time::{Instant, earliest};
use crate::transport::{Incoming, ListerWatcher, ReadContext};
use core::fmt;
use core::task::{Context, Poll};

/// Connects an [`Informer`](super::Informer) to a [`ListerWatcher`].
///
/// It holds no task, thread or timer. Under an executor, [`poll`](Self::poll) it in a task together with a timer set to
/// [`poll_timeout`](Self::poll_timeout); without one, call it in a loop with `Waker::noop()` and wait between the
/// calls; in a test, set `now` to `poll_timeout` instead of waiting.
pub struct DriverIn<D: Decode, L, C = Indexer<<D as Decode>::Object>> {
    informer: InformerIn<D, C>,
    transport: L,
    /// When the transport said it has more.
    idle_until: Option<Instant>,
    /// Whether the transport has nothing but the waker to tell by that it has more.
    is_pending: bool,
}

/// A [`DriverIn`] of an [`Informer`](super::Informer) of `T`.
pub type Driver<T, L, C = Indexer<ObjectHandle<T>>> = DriverIn<Json<T>, L, C>;

/// How many times the transport is asked in one [`DriverIn::poll`], so that others get their turn.
const BUDGET: usize = 64;

/// What came of one [`DriverIn::pump`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pumped {
    /// Something came in, or went out; there may be more.
    Progress,
    /// Nothing to do until the transport wakes its caller, or [`DriverIn::poll_timeout`] has come.
    Waiting,
    /// Events are to be taken before anything more is read.
    Backpressure,
}

impl<D: Decode, L: ListerWatcher, C: Cache<D::Object>> DriverIn<D, L, C> {
    /// Connects the two. The informer begins when it is told to; see [`informer_mut`](Self::informer_mut).
    #[must_use]
    pub fn new(informer: InformerIn<D, C>, transport: L) -> Self {
        Self { informer, transport, idle_until: None, is_pending: false }
    }

    /// The next event, as far as it can be had at `now`. Pending means that the task of `cx` is woken by the transport,
    /// and that it is to be polled again when [`poll_timeout`](Self::poll_timeout) has come.
    pub fn poll(&mut self, now: Instant, cx: &mut Context<'_>) -> Poll<EventOf<D::Object>> {
        for _ in 0..BUDGET {
            if let Some(event) = self.informer.poll_event() {
                return Poll::Ready(event);
            }
            if self.pump(now, cx) == Pumped::Waiting {
                return self.informer.poll_event().map_or(Poll::Pending, Poll::Ready);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Carries one piece from the transport to the informer, and its requests back, and takes no event out.
    pub fn pump(&mut self, now: Instant, cx: &mut Context<'_>) -> Pumped {
        self.is_pending = false;
        self.informer.handle_timeout(now);
        while let Some(action) = self.informer.poll_action() {
            match action {
                Action::Open(id, request) => self.transport.open(id, &request),
                Action::Abort(id) => self.transport.abort(id),
            }
        }
        if !self.informer.wants_input() {
            return Pumped::Backpressure;
        }
        let max_wait = self.informer.poll_timeout().map(|deadline| deadline.saturating_since(now));
        self.idle_until = None;
        match self.transport.poll_read(ReadContext { cx, now, max_wait }, self.informer.space()) {
            Poll::Pending => {
                self.is_pending = true;
                Pumped::Waiting
            }
            Poll::Ready(Incoming::Idle { until }) => {
                self.idle_until = until;
                Pumped::Waiting
            }
            Poll::Ready(incoming) => {
                self.informer.handle(now, incoming);
                Pumped::Progress
            }
        }
    }

    /// When to poll again at the latest.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.informer.poll_timeout(), self.idle_until)
    }

    /// Whether the transport returned [`Poll::Pending`] when it was last asked: it wakes the caller, and names no time.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// The informer.
    #[must_use]
    pub fn informer(&self) -> &InformerIn<D, C> {
        &self.informer
    }

    /// The informer, to start and stop it, and to add indexes.
    pub fn informer_mut(&mut self) -> &mut InformerIn<D, C> {
        &mut self.informer
    }

    /// The transport.
    #[must_use]
    pub fn transport(&self) -> &L {
        &self.transport
    }

    /// The transport, for what it does beside carrying requests.
    pub fn transport_mut(&mut self) -> &mut L {
        &mut self.transport
    }
}

impl<D: Decode<Object: Keyed<Key: fmt::Debug>>, L, C> fmt::Debug for DriverIn<D, L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("informer", &self.informer)
            .field("idle_until", &self.idle_until)
            .field("is_pending", &self.is_pending)
            .finish_non_exhaustive()
    }
}
