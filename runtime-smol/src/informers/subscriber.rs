//! A subscriber of an informer, as a stream.

use super::shared::SharedState;
use crate::budget::Budget;
use crate::clock::{Clock, Sleep};
use core::fmt;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use futures_core::Stream;
use listwatch_core::informer::{self, SubscriberSynced, Subscription, Told};
use listwatch_core::object::ObjectHandle;
use listwatch_core::sync::StdLock;
use std::sync::Arc;

/// One of many consumers of an informer's changes, each at its own pace (client-go's registered handler).
/// [`InformerHandle::subscribe`](crate::InformerHandle::subscribe) returns it.
///
/// It is told the objects of the cache first, then each change after that. It is a user of the informer, as a handle is:
/// the drop of the last one stops the watch. After 64 items that were ready at once, it returns [`Poll::Pending`] and
/// wakes its task, so that other tasks run.
#[must_use = "the drop of a subscriber unsubscribes it"]
pub struct Subscriber<T> {
    /// Before the share, whose drop may stop the informer.
    subscriber: informer::Subscriber<ObjectHandle<T>, StdLock>,
    clock: Clock,
    sleep: Option<Sleep>,
    budget: Budget,
    _informer: Arc<SharedState<T>>,
}

impl<T> Subscriber<T> {
    pub(super) fn new(informer: Arc<SharedState<T>>, subscription: Subscription<ObjectHandle<T>>) -> Self {
        let clock = informer.registry.world.clock().clone();
        let subscriber = informer.store.subscribe(clock.now(), subscription);
        Self { subscriber, clock, sleep: None, budget: Budget::new(), _informer: informer }
    }

    /// The next item. It is the stream's `next`, without an extension trait to import. A stream that is shared does not
    /// end while it has a subscriber, so `None` does not come.
    ///
    /// No item is lost if the future is dropped before it is ready.
    pub async fn next(&mut self) -> Option<Told<ObjectHandle<T>>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Whether the subscriber has been told every object of the first list (client-go `HasSynced` of a handler's
    /// registration).
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.subscriber.has_synced()
    }

    /// Waits until [`has_synced`](Self::has_synced), for a task other than the one that takes the items.
    pub fn synced(&self) -> SubscriberSynced<ObjectHandle<T>, StdLock> {
        self.subscriber.synced()
    }

    /// How many items wait at most.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.subscriber.backlog()
    }

    /// For how long the oldest item has waited; zero where none waits.
    #[must_use]
    pub fn lag(&self) -> Duration {
        self.subscriber.lag(self.clock.now())
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for Subscriber<T> {}

impl<T> Stream for Subscriber<T> {
    type Item = Told<ObjectHandle<T>>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Told<ObjectHandle<T>>>> {
        let this = &mut *self;
        if this.budget.poll_spend(cx).is_pending() {
            return Poll::Pending;
        }
        loop {
            let told = this.subscriber.poll_next(this.clock.now(), cx);
            if told.is_ready() {
                return told;
            }
            this.budget.refill();
            // Resyncs alone are due at a moment.
            if this.clock.poll_at(&mut this.sleep, this.subscriber.poll_timeout(), cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl<T> fmt::Debug for Subscriber<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriber").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}
