//! The driver: an informer and its transport, for any executor or none.

use super::{EventOf, InformerIn};
use crate::cache::Cache;
#[cfg(feature = "json")]
use crate::cache::Indexer;
use crate::decode::Decode;
#[cfg(feature = "json")]
use crate::decode::Json;
#[cfg(feature = "json")]
use crate::object::ObjectHandle;
use crate::reflector::Action;
#[cfg(feature = "json")]
use crate::storage::Heap;
use crate::storage::{Keyed, Mem};
use crate::time::{Instant, earliest};
use crate::transport::{Incoming, ListerWatcher, ReadContext};
use core::fmt;
use core::task::{Context, Poll};

/// Connects an informer to a [`ListerWatcher`]. Use it as `Driver`, or in fixed memory as it is.
///
/// It has no task, thread or timer. Under an executor, [`poll`](Self::poll) it in a task, together with a timer for
/// [`poll_timeout`](Self::poll_timeout). Without an executor, poll it in a loop with `Waker::noop()` and wait between
/// the calls. In a test, set `now` to `poll_timeout` instead of waiting.
pub struct DriverIn<D: Decode, L, C: Cache<D::Object>, M: Mem> {
    informer: InformerIn<D, C, M>,
    transport: L,
    /// When the transport has more, as it said.
    idle_until: Option<Instant>,
    /// Whether only the waker announces more input.
    is_pending: bool,
}

/// A [`DriverIn`] of an [`Informer`](super::Informer) of `T`.
#[cfg(feature = "json")]
pub type Driver<T, L, C = Indexer<ObjectHandle<T>>> = DriverIn<Json<T>, L, C, Heap>;

/// A [`Driver`] of a [`SharedInformer`](super::SharedInformer).
#[cfg(feature = "std")]
pub type SharedDriver<T, L> = Driver<T, L, crate::cache::StoreWriter<T>>;

/// The limit of reads in one [`DriverIn::poll`], so that other tasks run.
const BUDGET: usize = 64;

/// The result of one [`DriverIn::pump`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pumped {
    /// The transport brought something. It may have more.
    Progress,
    /// Nothing to do until the transport wakes its caller, or [`DriverIn::poll_timeout`] is due.
    Waiting,
    /// Back-pressure applies: take events first, or wait for [room](InformerIn::poll_room) in the cache.
    Backpressure,
}

impl<D: Decode, L: ListerWatcher, C: Cache<D::Object>, M: Mem> DriverIn<D, L, C, M> {
    /// Connects the two. [`InformerIn::start`] starts the informer; see [`informer_mut`](Self::informer_mut).
    pub fn new(informer: InformerIn<D, C, M>, transport: L) -> Self {
        Self { informer, transport, idle_until: None, is_pending: false }
    }

    /// The next event. If it is pending, the transport wakes the task of `cx`; so does the cache, where it had [no
    /// room](Cache::has_room) for the event. The caller also polls again when [`poll_timeout`](Self::poll_timeout) is
    /// due.
    pub fn poll(&mut self, now: Instant, cx: &mut Context<'_>) -> Poll<EventOf<D::Object>> {
        for _ in 0..BUDGET {
            if let Some(event) = self.informer.poll_event() {
                return Poll::Ready(event);
            }
            let pumped = self.pump(now, cx);
            if pumped == Pumped::Progress {
                continue;
            }
            if let Some(event) = self.informer.poll_event() {
                return Poll::Ready(event);
            }
            let is_held = self.informer.poll_room(cx).is_pending();
            if is_held || (pumped == Pumped::Waiting && self.informer.queued() == 0) {
                return Poll::Pending;
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Passes the informer's actions to the transport, and one piece from the transport to the informer. Takes no
    /// event.
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

    /// When the next poll is due; `None` while only the transport's waker matters.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        earliest(self.informer.poll_timeout(), self.idle_until)
    }

    /// Whether the transport's last read returned [`Poll::Pending`]. Then only its waker announces more input.
    pub fn is_pending(&self) -> bool {
        self.is_pending
    }
}

impl<D: Decode, L, C: Cache<D::Object>, M: Mem> DriverIn<D, L, C, M> {
    /// The informer.
    pub fn informer(&self) -> &InformerIn<D, C, M> {
        &self.informer
    }

    /// The informer, to start and stop it, and to add indexes.
    pub fn informer_mut(&mut self) -> &mut InformerIn<D, C, M> {
        &mut self.informer
    }

    /// The transport.
    pub fn transport(&self) -> &L {
        &self.transport
    }

    /// The transport, for its own settings.
    pub fn transport_mut(&mut self) -> &mut L {
        &mut self.transport
    }
}

summary!(
    impl[D: Decode<Object: Keyed<Key: fmt::Debug>>, L, C: Cache<D::Object>, M: Mem]
    "Driver" for DriverIn<D, L, C, M>, |it| {
        informer: it.informer,
        idle_until: it.idle_until,
        is_pending: it.is_pending,
    }
);
