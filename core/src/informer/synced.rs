use super::InformerStatus;
use crate::reflector::Failure;
use crate::storage::Slot;
use crate::sync::wakers::{Wakers, wake_each};
use crate::sync::{Lock, Shared};
use crate::time::Instant;
use alloc::sync::Arc;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

/// Notifies tasks when an informer has its first state: client-go's `synctrack`, and the writing half of
/// `WaitForCacheSync`.
///
/// The task that drives the informer has the tracker, and [updates](Self::update) it after each poll. Any other task
/// [subscribes](Self::subscribe) and awaits. A subscriber is woken by the first state, by a failure that needs manual
/// intervention, and by the drop of the tracker. The tracker keeps one waker for each subscriber.
///
/// Wakers are called after the lock is released. If a subscriber's waker panics, the other subscribers are woken, and the
/// call panics. If another waker panics too, a second panic begins while the first one unwinds, which ends the process.
///
/// The tracker reads no clock and names no executor. A runtime adds the deadline: [`Synced::not_synced`] is its error.
///
/// ```
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::decode::MetadataOnly;
/// use listwatch_core::informer::SyncTracker;
/// use listwatch_core::sync::StdLock;
/// use listwatch_core::{Informer, InformerConfig, Instant, Resource};
/// use std::pin::pin;
///
/// let informer = Informer::<MetadataOnly>::new(Resource::new("/api/v1/pods"), InformerConfig::default());
/// let now = Instant::ZERO;
/// let tracker = SyncTracker::<StdLock>::new(now);
/// let mut synced = pin!(tracker.subscribe());
/// tracker.update(now, informer.poll_synced(now), informer.status(now));
///
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(synced.as_mut().poll(&mut cx).is_pending());
/// drop(tracker);
/// let Poll::Ready(Err(error)) = synced.as_mut().poll(&mut cx) else { unreachable!() };
/// assert_eq!(error.to_string(), "not synced: stopped");
/// ```
pub struct SyncTracker<Lk: Lock> {
    state: Arc<Shared<Awaited, Lk>>,
}

/// A future that waits for an informer's first state. [`SyncTracker::subscribe`] returns it.
///
/// The answer stays: a later poll returns it again.
#[must_use = "a future does nothing unless it is polled"]
pub struct Synced<Lk: Lock> {
    state: Arc<Shared<Awaited, Lk>>,
    /// The place among the tasks that wait.
    place: Option<Slot>,
}

/// The reason why an informer has no first state. [`Debug`](fmt::Debug) is the same as [`Display`](fmt::Display), for a
/// `main` that returns it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSynced {
    /// The informer's present work.
    pub status: InformerStatus,
    /// The last failure of a request, with the server's message.
    pub failure: Option<Failure>,
}

/// The first state, as far as it is known, and who waits for it.
struct Awaited {
    synced: Poll<Result<(), InformerStatus>>,
    /// As of `at`.
    status: InformerStatus,
    at: Instant,
    failure: Option<Failure>,
    subscribers: Wakers,
}

impl<Lk: Lock> SyncTracker<Lk> {
    /// A tracker of an informer that has not started.
    pub fn new(now: Instant) -> Self {
        let (synced, status, subscribers) = (Poll::Pending, InformerStatus::Idle, Wakers::default());
        Self { state: Arc::new(Shared::new(Awaited { synced, status, at: now, failure: None, subscribers })) }
    }

    /// A future that completes with the first state, or with a failure that needs manual intervention.
    pub fn subscribe(&self) -> Synced<Lk> {
        Synced { state: Arc::clone(&self.state), place: None }
    }

    /// Whether there is a first state: client-go's `HasSynced`. Further updates change nothing then.
    pub fn has_synced(&self) -> bool {
        self.state.read(Awaited::has_synced)
    }

    /// Notes the informer's [`poll_synced`](crate::Informer::poll_synced) and [`status`](crate::Informer::status) of
    /// `now`. If this completes their wait, subscribers are woken.
    pub fn update(&self, now: Instant, synced: Poll<Result<(), InformerStatus>>, status: InformerStatus) {
        self.change(|state| {
            if !state.has_synced() {
                (state.synced, state.status, state.at) = (synced, status, now);
            }
        });
    }

    /// Notes the last failure of a request, for the errors of subscribers. After the first state this has no effect.
    pub fn note_failure(&self, failure: &Failure) {
        self.change(|state| {
            if !state.has_synced() {
                state.failure = Some(failure.clone());
            }
        });
    }

    /// Changes the state under the lock, and wakes the subscribers that have an answer after it.
    fn change(&self, change: impl FnOnce(&mut Awaited)) {
        let woken = self.state.with(|state| {
            change(state);
            if state.synced.is_ready() { state.subscribers.take_all() } else { alloc::vec::Vec::new() }
        });
        wake_each(woken);
    }
}

impl<Lk: Lock> Drop for SyncTracker<Lk> {
    fn drop(&mut self) {
        self.change(|state| {
            if !state.has_synced() {
                state.status = InformerStatus::Stopped;
                state.synced = Poll::Ready(Err(InformerStatus::Stopped));
            }
        });
    }
}

impl<Lk: Lock> Synced<Lk> {
    /// The error of a caller that stops waiting at `now`.
    pub fn not_synced(&self, now: Instant) -> NotSynced {
        self.state.read(|state| state.not_synced(state.status.clone().later(now.saturating_since(state.at))))
    }
}

impl<Lk: Lock> Future for Synced<Lk> {
    type Output = Result<(), NotSynced>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { state, place } = &mut *self;
        let (answer, _waker) = state.with(|state| match state.synced.clone() {
            Poll::Ready(synced) => {
                (Poll::Ready(synced.map_err(|status| state.not_synced(status))), state.subscribers.remove(place))
            }
            Poll::Pending => (Poll::Pending, state.subscribers.register(place, cx.waker())),
        });
        answer
    }
}

impl<Lk: Lock> Drop for Synced<Lk> {
    fn drop(&mut self) {
        let Self { state, place } = self;
        let _waker = state.with(|state| state.subscribers.remove(place));
    }
}

impl Awaited {
    fn has_synced(&self) -> bool {
        matches!(self.synced, Poll::Ready(Ok(())))
    }

    fn not_synced(&self, status: InformerStatus) -> NotSynced {
        NotSynced { status, failure: self.failure.clone() }
    }
}

impl fmt::Display for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not synced: {}", self.status)?;
        self.failure.iter().try_for_each(|failure| write!(f, "; the last failure: {failure}"))
    }
}

impl fmt::Debug for NotSynced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for NotSynced {}

summary!(impl[Lk: Lock] "SyncTracker" for SyncTracker<Lk>);

summary!(impl[Lk: Lock] "Synced" for Synced<Lk>);

#[cfg(test)]
#[cfg(feature = "std")]
mod tests {
    use super::*;
    use crate::sync::wakers::tests::counting;
    use crate::sync::{CellLock, StdLock};
    use core::task::Waker;
    use core::time::Duration;

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn listing(elapsed: u64) -> InformerStatus {
        InformerStatus::Listing { elapsed: Duration::from_secs(elapsed), items: 1, synced: false }
    }

    fn poll<Lk: Lock>(synced: &mut Synced<Lk>, waker: &Waker) -> Poll<Result<(), NotSynced>> {
        Pin::new(synced).poll(&mut Context::from_waker(waker))
    }

    fn waiting<Lk: Lock>(tracker: &SyncTracker<Lk>) -> usize {
        tracker.state.with(|state| state.subscribers.take_all()).len()
    }

    #[test]
    fn a_synced_keeps_the_waker_of_the_last_task_alone() {
        let tracker = SyncTracker::<StdLock>::new(at(0));
        let mut synced = tracker.subscribe();
        let last = counting();
        for _ in 0..100 {
            assert!(poll(&mut synced, &counting().1).is_pending());
        }
        assert!(poll(&mut synced, &last.1).is_pending());
        tracker.update(at(1), Poll::Ready(Ok(())), InformerStatus::Idle);
        assert_eq!((last.0.count(), waiting(&tracker)), (1, 0));
    }

    #[test]
    fn a_subscriber_that_leaves_takes_its_waker_with_it() {
        let tracker = SyncTracker::<StdLock>::new(at(0));
        let (mut one, mut other) = (tracker.subscribe(), tracker.subscribe());
        assert!(poll(&mut one, &counting().1).is_pending() && poll(&mut other, &counting().1).is_pending());
        drop(one);
        assert_eq!(waiting(&tracker), 1);
    }

    #[test]
    fn every_subscriber_is_woken_by_the_first_state_and_by_nothing_before() {
        let tracker = SyncTracker::<CellLock>::new(at(0));
        let (mut synced, wakers) = ([tracker.subscribe(), tracker.subscribe()], [counting(), counting()]);
        let mut poll_both = || {
            synced
                .iter_mut()
                .zip(&wakers)
                .map(|(synced, (_, waker))| poll(synced, waker))
                .collect::<alloc::vec::Vec<_>>()
        };
        assert_eq!(poll_both(), [Poll::Pending, Poll::Pending]);
        tracker.update(at(1), Poll::Pending, listing(1));
        assert_eq!(wakers.each_ref().map(|(wakes, _)| wakes.count()), [0, 0]);
        tracker.update(at(2), Poll::Ready(Ok(())), InformerStatus::Idle);
        assert_eq!(wakers.each_ref().map(|(wakes, _)| wakes.count()), [1, 1]);
        assert_eq!(poll_both(), [Poll::Ready(Ok(())), Poll::Ready(Ok(()))]);
        drop(tracker);
        assert_eq!(poll_both(), [Poll::Ready(Ok(())), Poll::Ready(Ok(()))], "the first state was there");
    }

    #[test]
    fn a_subscriber_hears_that_only_a_person_can_help_and_a_later_one_waits_again_after_recovery() {
        let tracker = SyncTracker::<StdLock>::new(at(0));
        let ((wakes, waker), mut synced) = (counting(), tracker.subscribe());
        assert!(poll(&mut synced, &waker).is_pending());
        tracker.update(at(1), Poll::Ready(Err(listing(1))), listing(1));
        assert_eq!(wakes.count(), 1);
        assert_eq!(poll(&mut synced, &waker), Poll::Ready(Err(NotSynced { status: listing(1), failure: None })));
        tracker.update(at(2), Poll::Pending, listing(2));
        assert!(poll(&mut tracker.subscribe(), &waker).is_pending() && !tracker.has_synced());
    }

    #[test]
    fn a_tracker_that_is_dropped_tells_that_the_informer_has_stopped() {
        let tracker = SyncTracker::<StdLock>::new(at(0));
        let ((wakes, waker), mut synced) = (counting(), tracker.subscribe());
        assert!(poll(&mut synced, &waker).is_pending());
        drop(tracker);
        let stopped = NotSynced { status: InformerStatus::Stopped, failure: None };
        assert_eq!((wakes.count(), poll(&mut synced, &waker)), (1, Poll::Ready(Err(stopped))));
    }

    #[test]
    fn a_caller_that_stops_waiting_is_told_the_status_of_that_moment() {
        let tracker = SyncTracker::<StdLock>::new(at(0));
        tracker.update(at(5), Poll::Pending, listing(2));
        assert_eq!(tracker.subscribe().not_synced(at(8)).status, listing(5));
    }

    #[test]
    fn the_error_can_be_sent_and_boxed() {
        fn check<E: core::error::Error + Send + Sync + 'static>() {}
        check::<NotSynced>();
        fn shared<T: Send + Sync + 'static>() {}
        shared::<SyncTracker<StdLock>>();
        shared::<Synced<StdLock>>();
    }
}
