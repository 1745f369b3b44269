use super::EventOf;
use super::subscription::{Filter, Subscription, Told, accepted, pass};
use crate::cache::{AwaitError, Contents, StoreIn};
use crate::decode::DecodeError;
use crate::fanout::{Notice, SubscriberId};
use crate::reflector::FailureReport;
use crate::storage::{Heap, Keyed, Slot, Versioned, never_full};
use crate::sync::Lock;
use crate::sync::wakers::wake_each;
use crate::time::Instant;
use alloc::vec::Vec;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use core::time::Duration;

/// One of many consumers of an informer's changes, each at its own pace (client-go's registered handler).
/// [`StoreIn::subscribe`] returns it.
///
/// It is first told the objects that the store has, then each change after that. Dropping it unsubscribes.
///
/// ```
/// use core::task::{Context, Poll, Waker};
/// use listwatch_core::cache::{Cache, Change, Indexer, StoreWriter};
/// use listwatch_core::fifo::Delta;
/// use listwatch_core::informer::{EventOf, Subscription, Told};
/// use listwatch_core::object::{MetaBuilder, Object, ObjectHandle};
/// use listwatch_core::Instant;
///
/// // An informer owns the writer; here the example does.
/// let mut writer = StoreWriter::<()>::new(Indexer::new());
/// let mut pods = writer.store().subscribe(Instant::ZERO, Subscription::new());
///
/// let mut web = MetaBuilder::default();
/// web.set_name("web-1");
/// let web = Delta::Added(ObjectHandle::from(Object { meta: web.build().unwrap(), value: () }));
/// writer.apply(Change::new(&web, true));
/// writer.wake();
///
/// let mut cx = Context::from_waker(Waker::noop());
/// let told = pods.poll_next(Instant::ZERO, &mut cx);
/// assert!(matches!(told, Poll::Ready(Some(Told::Event(EventOf::Added { initial: true, .. })))));
/// assert!(pods.poll_next(Instant::ZERO, &mut cx).is_pending());
/// drop(writer);
/// assert_eq!(pods.poll_next(Instant::ZERO, &mut cx), Poll::Ready(None));
/// ```
pub struct Subscriber<V: Versioned<Key: Clone> + Clone, L: Lock> {
    store: StoreIn<V, L>,
    id: SubscriberId,
    filter: Option<Filter<V>>,
    resync: Option<Resync>,
    /// The numbers of the last failure and the last undecodable object that were told.
    seen: [u64; 2],
    /// The item that was read, held while functions of the caller's run: a panic of one does not lose it.
    read: Option<Item<V>>,
    /// The place among the subscribers that sleep.
    place: Option<Slot>,
}

/// A future that waits until a subscriber has been told the first state. [`Subscriber::synced`] returns it.
#[must_use = "a future does nothing unless it is polled"]
pub struct SubscriberSynced<V: Keyed, L: Lock> {
    store: StoreIn<V, L>,
    id: SubscriberId,
    place: Option<Slot>,
}

/// The next resync.
#[derive(Clone, Copy)]
struct Resync {
    period: Duration,
    due: Instant,
}

enum Item<V: Keyed> {
    Notice(Notice<V, Heap>),
    Failed(FailureReport),
    Undecodable(DecodeError<V::Key>),
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> StoreIn<V, L> {
    /// Adds a subscriber (client-go `AddEventHandlerWithOptions`). It is first told the objects of this moment, as
    /// initial additions.
    ///
    /// After the informer is dropped, a subscriber is still told the objects that the store has.
    pub fn subscribe(&self, now: Instant, subscription: Subscription<V>) -> Subscriber<V, L> {
        let Subscription { config, filter, resync } = subscription;
        let (id, seen) = self.cell.with(|contents| {
            let Contents { log, objects, failed, undecodable, .. } = contents;
            (log.subscribe(now, config, objects.iter()), [failed.number, undecodable.number])
        });
        let resync = resync.map(|period| Resync { period, due: now + period });
        Subscriber { store: self.clone(), id, filter, resync, seen, read: None, place: None }
    }
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> Subscriber<V, L> {
    /// The next item. If it is pending, the informer's next change wakes the task of `cx`. The caller also polls again
    /// when [`poll_timeout`](Self::poll_timeout) is due.
    ///
    /// `None` is the end: the informer was dropped, and everything has been told.
    pub fn poll_next(&mut self, now: Instant, cx: &mut Context<'_>) -> Poll<Option<Told<EventOf<V>>>> {
        loop {
            if let Some(told) = self.tell() {
                return Poll::Ready(Some(told));
            }
            match self.read(now, cx.waker()) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// When the next resync is due; `None` without resync.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.resync.map(|resync| resync.due)
    }

    /// Whether the subscriber has been told every object of the first list (client-go `HasSynced` of a handler's
    /// registration).
    pub fn has_synced(&self) -> bool {
        self.store.cell.read(|contents| contents.log.has_synced(self.id))
    }

    /// Waits until [`has_synced`](Self::has_synced), for a task other than the one that polls the subscriber.
    ///
    /// The wait fails if the subscriber or the informer is dropped before.
    pub fn synced(&self) -> SubscriberSynced<V, L> {
        SubscriberSynced { store: self.store.clone(), id: self.id, place: None }
    }

    /// How many items wait at most. Changes that are not coalesced yet count each, and so do those that the filter
    /// leaves out. Marks that coalescing is yet to leave are not counted.
    pub fn backlog(&self) -> usize {
        self.store.cell.read(|contents| contents.log.backlog(self.id)) + usize::from(self.read.is_some())
    }

    /// For how long the oldest item has waited; zero where none waits.
    pub fn lag(&self, now: Instant) -> Duration {
        self.store.cell.read(|contents| contents.log.lag(self.id, now))
    }

    /// Takes the item that was read, unless the filter leaves it out.
    fn tell(&mut self) -> Option<Told<EventOf<V>>> {
        let accepted = match (&self.read, &self.filter) {
            (Some(Item::Notice(Notice::Changed(transition))), Some(filter)) => accepted(transition, filter),
            _ => [true; 2],
        };
        match self.read.take()? {
            Item::Notice(Notice::Changed(transition)) => pass(transition, accepted).map(|it| Told::Event(it.into())),
            Item::Notice(Notice::Mark(mark)) => Some(Told::Mark(mark)),
            Item::Notice(Notice::MarksLost) => Some(Told::MarksLost),
            Item::Notice(Notice::Synced) => Some(Told::Event(EventOf::Synced)),
            Item::Failed(report) => Some(Told::Event(EventOf::Failed(report))),
            Item::Undecodable(undecodable) => Some(Told::Event(EventOf::Undecodable(undecodable))),
        }
    }

    /// Reads the next item; false at the end. Otherwise the task sleeps.
    fn read(&mut self, now: Instant, waker: &Waker) -> Poll<bool> {
        let Self { store, id, resync, seen, read, place, .. } = self;
        // Dropped after the lock, and after all are woken.
        let mut states = Vec::new();
        let mut freed = |state| states.push(state);
        let (answer, woken, _waker) = store.cell.with(|contents| {
            if let Some(resync) = resync.as_mut().filter(|resync| resync.due <= now) {
                never_full(contents.log.try_resync_freeing(*id, contents.objects.iter(), &mut freed));
                resync.due = now + resync.period;
            }
            *read = next(contents, *id, seen, &mut freed);
            let (answer, last) = match read {
                Some(_) => (Poll::Ready(true), None),
                None if contents.is_over() => (Poll::Ready(false), contents.readers.remove(place)),
                None => (Poll::Pending, contents.readers.register(place, waker)),
            };
            (answer, released(contents, read.as_ref()), last)
        });
        wake_each(woken);
        answer
    }
}

/// The next item of a subscriber. A failure explains why no change comes, so it is told first.
fn next<V: Versioned<Key: Clone> + Clone>(
    contents: &mut Contents<V>,
    id: SubscriberId,
    [failures, undecodables]: &mut [u64; 2],
    freed: &mut impl FnMut(V),
) -> Option<Item<V>> {
    if let Some(report) = contents.failed.since(failures) {
        return Some(Item::Failed(report.clone()));
    }
    if let Some(undecodable) = contents.undecodable.since(undecodables) {
        return Some(Item::Undecodable(undecodable.clone()));
    }
    contents.log.poll_next_freeing(id, freed).map(Item::Notice)
}

/// The tasks that waited for a subscriber to read as far as this item. Without an item, it may have passed changes that
/// it is not told, so there may be room too.
fn released<V: Versioned<Key: Clone> + Clone>(contents: &mut Contents<V>, item: Option<&Item<V>>) -> Vec<Waker> {
    let mut woken = contents.take_held();
    if matches!(item, Some(Item::Notice(Notice::Synced))) {
        woken.append(&mut contents.joining.take_all());
    }
    woken
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> Drop for Subscriber<V, L> {
    fn drop(&mut self) {
        let Self { store, id, place, .. } = self;
        // Dropped after the lock, and after all are woken.
        let mut states = Vec::new();
        let (woken, _waker, _marks) = store.cell.with(|contents| {
            let marks = contents.log.unsubscribe_freeing(*id, &mut |state| states.push(state));
            let mut woken = contents.take_held();
            woken.append(&mut contents.joining.take_all());
            (woken, contents.readers.remove(place), marks)
        });
        wake_each(woken);
    }
}

impl<V: Versioned<Key: Clone> + Clone, L: Lock> Future for SubscriberSynced<V, L> {
    type Output = Result<(), AwaitError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { store, id, place } = &mut *self;
        let (answer, _waker) = store.cell.with(|contents| {
            let may_come = contents.log.is_subscribed(*id) && (contents.has_synced() || !contents.is_over());
            if contents.log.has_synced(*id) {
                (Poll::Ready(Ok(())), contents.joining.remove(place))
            } else if may_come {
                (Poll::Pending, contents.joining.register(place, cx.waker()))
            } else {
                (Poll::Ready(Err(AwaitError::Stopped)), contents.joining.remove(place))
            }
        });
        answer
    }
}

impl<V: Keyed, L: Lock> Drop for SubscriberSynced<V, L> {
    fn drop(&mut self) {
        let Self { store, place, .. } = self;
        let _waker = store.cell.with(|contents| contents.joining.remove(place));
    }
}

summary!(impl[V: Versioned<Key: Clone> + Clone, L: Lock] "Subscriber" for Subscriber<V, L>, |it| { id: it.id });

summary!(impl[V: Keyed, L: Lock] "SubscriberSynced" for SubscriberSynced<V, L>, |it| { id: it.id });

#[cfg(test)]
#[cfg(feature = "std")]
mod tests;
