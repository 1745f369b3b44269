use super::folded::Folded;
use super::queues::Queues;
use super::ring::Ring;
use super::subscriber::Subscriber;
use super::{Notice, SubscriberId, SubscriptionConfig, Transition, WhenBehind};
#[cfg(feature = "alloc")]
use crate::storage::{Heap, never_full};
use crate::storage::{Initially, Keyed, List, Mem, Slab, Slot, Versioned};
use crate::time::{Instant, earliest};
use core::time::Duration;

/// The changes of an informer, kept for its subscribers; use it as [`EventLog`](crate::fanout::EventLog) or
/// [`FixedEventLog`](crate::fanout::FixedEventLog).
///
/// A subscriber follows the log with a cursor, and is told every change. One that joins late is first told the objects
/// that the cache has, each once. One that falls behind the limit waits by key, as [`WhenBehind`] says. No subscriber
/// misses the newest state of a key, is told a change twice, or is told an older state after a newer one.
///
/// The caller changes cache and log together, under one lock, and wakes subscribers after it.
///
/// A change costs the same however many subscribers follow the log. Those that are behind cost more: each folds each
/// change once.
///
/// In fixed memory the capacity counts three things apart: entries, keys that wait for subscribers, and marks.
///
/// ```
/// use listwatch_core::Instant;
/// use listwatch_core::fanout::{EventLog, Notice, SubscriptionConfig, Transition};
/// use listwatch_core::storage::{Keyed, Versioned};
///
/// /// A name and a version.
/// #[derive(Clone, Debug, PartialEq)]
/// struct Pod(&'static str, &'static str);
///
/// impl Keyed for Pod {
///     type Key = &'static str;
///     fn key(&self) -> &&'static str {
///         &self.0
///     }
/// }
///
/// impl Versioned for Pod {
///     fn resource_version(&self) -> &str {
///         self.1
///     }
///     fn is_same_object(&self, other: &Self) -> bool {
///         self.0 == other.0
///     }
///     fn is_same_state(&self, other: &Self) -> bool {
///         self == other
///     }
/// }
///
/// let mut log = EventLog::new(2);
/// log.push_synced();
/// let id = log.subscribe(Instant::ZERO, SubscriptionConfig::new(), [Pod("a", "1")].iter());
/// let added = Transition::Added { object: Pod("a", "1"), initial: true };
/// assert_eq!(log.poll_next(id), Some(Notice::Changed(added)));
/// assert_eq!(log.poll_next(id), Some(Notice::Synced));
///
/// // The subscriber falls behind: what it was last told and what is newest are told.
/// for (old, new) in [("1", "2"), ("2", "3"), ("3", "4")] {
///     log.push(Instant::ZERO, Transition::Updated { old: Pod("a", old), new: Pod("a", new) });
/// }
/// let updated = Transition::Updated { old: Pod("a", "1"), new: Pod("a", "4") };
/// assert_eq!(log.poll_next(id), Some(Notice::Changed(updated)));
/// assert_eq!(log.poll_next(id), None);
/// log.unsubscribe(id);
/// ```
///
/// [`WhenBehind`]: crate::fanout::WhenBehind
pub struct EventLogIn<V: Keyed, M: Mem> {
    limit: Initially<{ DEFAULT_LIMIT as u64 }>,
    pub(super) ring: Ring<V, M>,
    /// The keys of subscribers that are behind.
    pub(super) backlog: Queues<V::Key, Folded<V>, M>,
    /// The marks of states that subscribers are not told.
    pub(super) marks: Queues<M::Text, (), M>,
    pub(super) subscribers: Slab<Subscriber<V, M>, M>,
    subscribed: u64,
    /// The number of the first entry after the first list.
    synced_at: Option<u64>,
    pub(super) now: Instant,
}

/// See [`EventLogIn::DEFAULT_LIMIT`].
const DEFAULT_LIMIT: usize = 1024;

impl<V: Versioned<Key: Clone> + Clone, M: Mem> EventLogIn<V, M> {
    /// The limit of a log that is made by `default`. A `static` log with this limit takes no flash.
    pub const DEFAULT_LIMIT: usize = DEFAULT_LIMIT;

    /// A log that keeps `limit` entries, at least one, for subscribers that follow it.
    pub const fn new(limit: usize) -> Self {
        Self::with_seed(limit, 0)
    }

    /// As [`new`](Self::new), with hashes that depend on `seed`, for keys that an adversary may choose. No order
    /// depends on it.
    pub const fn with_seed(limit: usize, seed: u64) -> Self {
        Self {
            limit: Initially::new(if limit == 0 { 1 } else { limit as u64 }),
            ring: Ring::EMPTY,
            backlog: Queues::with_seed(seed),
            marks: Queues::with_seed(seed),
            subscribers: Slab::EMPTY,
            subscribed: 0,
            synced_at: None,
            now: Instant::ZERO,
        }
    }

    /// Makes the hashes depend on `seed`, if nothing waits by key now.
    pub fn seed_if_idle(&mut self, seed: u64) {
        if self.backlog.len() == 0 && self.subscribers.iter().all(|(_, subscriber)| subscriber.marks.is_empty()) {
            self.backlog.set_seed(seed);
            self.marks.set_seed(seed);
        }
    }

    /// Adds a subscriber, which is told `objects` first: those that the cache has now.
    ///
    /// # Errors
    /// The configuration, where fixed memory has no room for the subscriber or for an object.
    pub fn try_subscribe<'a>(
        &mut self,
        now: Instant,
        config: SubscriptionConfig<V, M>,
        objects: impl Iterator<Item = &'a V>,
    ) -> Result<SubscriberId, M::Full<SubscriptionConfig<V, M>>>
    where
        V: 'a,
    {
        self.now = self.now.max(now);
        self.subscribed += 1;
        let (generation, cursor, backlog, marks) = (self.subscribed, self.ring.end(), List::EMPTY, List::EMPTY);
        let (marks_panicked, marks_lost, has_synced) = (false, None, false);
        let subscriber =
            Subscriber { generation, config, cursor, backlog, marks, marks_panicked, marks_lost, has_synced };
        let slot = self.subscribers.try_insert(subscriber).map_err(|full| M::map_full(full, |it| it.config))?;
        self.ring.join();
        for object in objects {
            if let Err(full) = self.try_add(slot, Folded::initial(object.clone())) {
                return Err(M::map_full(full, |()| self.remove(slot, &mut drop).config));
            }
        }
        Ok(SubscriberId { slot, generation: self.subscribed })
    }

    /// Removes a subscriber and all that waits for it.
    pub fn unsubscribe(&mut self, id: SubscriberId) {
        drop(self.unsubscribe_freeing(id, &mut drop));
    }

    /// As [`unsubscribe`](Self::unsubscribe), and gives the marks' function and the states that nobody needs any more.
    /// Their drop may call code of the caller's, so a caller with a lock drops them after it.
    pub(crate) fn unsubscribe_freeing(&mut self, id: SubscriberId, freed: &mut impl FnMut(V)) -> Option<M::IndexFn<V>> {
        let slot = self.find(id)?;
        self.remove(slot, freed).config.marks
    }

    /// Whether the next change stays within the limit: no subscriber that [waits](crate::fanout::WhenBehind::Wait)
    /// holds the oldest entry of a full log, and fixed memory is not used up.
    ///
    /// It is true again when a subscriber has read or has left. In fixed memory, marks can find no room even so: then
    /// [`try_push`](Self::try_push) gives the change back.
    pub fn has_room(&self) -> bool {
        let Some(last) = self.last_overrun() else { return true };
        let mut behind = self.subscribers.iter().filter(|(_, subscriber)| subscriber.cursor <= last);
        let records = behind.try_fold(self.backlog.len(), |records, (slot, subscriber)| {
            let coalesces = subscriber.config.when_behind == WhenBehind::Coalesce;
            coalesces.then(|| records + usize::from(self.folds_apart(slot, subscriber)))
        });
        records.is_some_and(|records| self.backlog.try_room(records).is_ok())
    }

    /// Appends a change. Without subscribers, nothing is kept.
    ///
    /// Where there is no [room](Self::has_room), the limit is exceeded as far as there is memory.
    ///
    /// # Errors
    /// The change, where fixed memory is full: of entries, or of keys or marks that wait for a subscriber behind the
    /// limit. It can be tried again when a subscriber has read or has left.
    ///
    /// # Panics
    /// Where the marks of a subscriber panic. Nothing has changed then, and the same call can be made again. The marks
    /// of that subscriber are not asked again, so they hold the others up once at most.
    pub fn try_push(&mut self, now: Instant, transition: Transition<V>) -> Result<(), M::Full<Transition<V>>> {
        self.try_push_freeing(now, transition, &mut drop)
    }

    /// As [`try_push`](Self::try_push), and gives the states that nobody needs any more.
    pub(crate) fn try_push_freeing(
        &mut self,
        now: Instant,
        transition: Transition<V>,
        freed: &mut impl FnMut(V),
    ) -> Result<(), M::Full<Transition<V>>> {
        self.now = self.now.max(now);
        if self.subscribers.len() == 0 {
            return Ok(());
        }
        match self.try_make_room(freed) {
            Ok(()) => self.ring.try_push(transition, self.now),
            Err(full) => Err(M::map_full(full, |()| transition)),
        }
    }

    /// Notes that every object of the informer's first list has been pushed. Later calls change nothing.
    pub fn push_synced(&mut self) {
        self.synced_at.get_or_insert_with(|| self.ring.end());
    }

    /// The next item for a subscriber: marks first, then changes in their order.
    #[must_use = "an item is told once"]
    pub fn poll_next(&mut self, id: SubscriberId) -> Option<Notice<V, M>> {
        self.poll_next_freeing(id, &mut drop)
    }

    /// As [`poll_next`](Self::poll_next), and gives the states that nobody needs any more.
    pub(crate) fn poll_next_freeing(&mut self, id: SubscriberId, freed: &mut impl FnMut(V)) -> Option<Notice<V, M>> {
        let slot = self.find(id)?;
        loop {
            self.catch_up(slot, freed);
            if let Some(notice) = self.poll_waiting(slot) {
                return Some(notice);
            }
            if let Some(transition) = self.read(slot, freed)? {
                return Some(Notice::Changed(transition));
            }
        }
    }

    /// Whether the subscriber has not unsubscribed.
    pub fn is_subscribed(&self, id: SubscriberId) -> bool {
        self.find(id).is_some()
    }

    /// Whether something waits for the subscriber. If it is only changes that cancel out, or that a quiet subscriber is
    /// not told, [`poll_next`](Self::poll_next) gives nothing.
    pub fn has_next(&self, id: SubscriberId) -> bool {
        self.backlog(id) > 0 || self.find(id).is_some_and(|slot| self.is_newly_synced(&self.subscribers[slot]))
    }

    /// Announces every object again (client-go's resync of a handler): as an update whose states are equal, or with the
    /// change of the object that waits.
    ///
    /// # Errors
    /// Where fixed memory has no room. Then no object is announced by itself.
    pub fn try_resync<'a>(&mut self, id: SubscriberId, objects: impl Iterator<Item = &'a V>) -> Result<(), M::Full<()>>
    where
        V: 'a,
    {
        self.try_resync_freeing(id, objects, &mut drop)
    }

    /// As [`try_resync`](Self::try_resync), and gives the states that nobody needs any more.
    pub(crate) fn try_resync_freeing<'a>(
        &mut self,
        id: SubscriberId,
        objects: impl Iterator<Item = &'a V>,
        freed: &mut impl FnMut(V),
    ) -> Result<(), M::Full<()>>
    where
        V: 'a,
    {
        let Some(slot) = self.find(id) else { return Ok(()) };
        while self.try_fold(slot, freed)? {}
        let kept = self.subscribers[slot].backlog.len();
        for object in objects {
            if let Err(full) = self.try_add(slot, Folded::resync(object.clone(), self.ring.end())) {
                self.backlog.truncate(&mut self.subscribers[slot].backlog, kept, |folded| folded.change.free(freed));
                return Err(full);
            }
        }
        Ok(())
    }

    /// How many items wait for a subscriber at most: changes that are not folded yet count each. Marks that a fold is
    /// yet to leave are not counted.
    pub fn backlog(&self, id: SubscriberId) -> usize {
        self.find(id).map_or(0, |slot| {
            let subscriber = &self.subscribers[slot];
            let marks = subscriber.marks.len() + usize::from(subscriber.marks_lost.is_some());
            marks + subscriber.backlog.len() + (self.ring.end() - subscriber.cursor) as usize
        })
    }

    /// For how long the oldest item has waited for a subscriber; zero where none waits.
    pub fn lag(&self, id: SubscriberId, now: Instant) -> Duration {
        let oldest = self.find(id).and_then(|slot| self.oldest_of(&self.subscribers[slot]));
        oldest.map_or(Duration::ZERO, |oldest| now.saturating_since(oldest))
    }

    /// The number of subscribers.
    pub fn subscribers(&self) -> usize {
        self.subscribers.len()
    }

    /// Whether a subscriber has been told every object of the first list (client-go `HasSynced` of a handler's
    /// registration).
    pub fn has_synced(&self, id: SubscriberId) -> bool {
        self.find(id).is_some_and(|slot| self.subscribers[slot].has_synced)
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.get() as usize
    }

    fn find(&self, id: SubscriberId) -> Option<Slot> {
        self.subscribers.get(id.slot).filter(|found| found.generation == id.generation).map(|_| id.slot)
    }

    fn remove(&mut self, slot: Slot, freed: &mut impl FnMut(V)) -> Subscriber<V, M> {
        let mut subscriber = self.subscribers.remove(slot);
        self.ring.leave(subscriber.cursor, freed);
        self.backlog.truncate(&mut subscriber.backlog, 0, |folded| folded.change.free(freed));
        self.marks.truncate(&mut subscriber.marks, 0, drop);
        subscriber
    }

    /// What a subscriber is told before the entry at its cursor.
    fn poll_waiting(&mut self, slot: Slot) -> Option<Notice<V, M>> {
        let is_synced = self.is_newly_synced(&self.subscribers[slot]);
        let subscriber = &mut self.subscribers[slot];
        if let Some((text, ())) = self.marks.pop(&mut subscriber.marks) {
            return Some(Notice::Mark(text));
        }
        if subscriber.marks_lost.take().is_some() {
            return Some(Notice::MarksLost);
        }
        if is_synced {
            subscriber.has_synced = true;
            return Some(Notice::Synced);
        }
        let front = subscriber.backlog.front().filter(|front| self.backlog.get(*front).number <= subscriber.cursor)?;
        Some(Notice::Changed(self.backlog.remove(&mut subscriber.backlog, front).1.change))
    }

    /// Passes the entry at a subscriber's cursor, and tells it unless it is silent.
    fn read(&mut self, slot: Slot, freed: &mut impl FnMut(V)) -> Option<Option<Transition<V>>> {
        let subscriber = &mut self.subscribers[slot];
        let next = &self.ring.get(subscriber.cursor)?.transition;
        let told = (!(subscriber.config.quiet && next.is_silent())).then(|| next.clone());
        // The one that is told keeps the states itself.
        self.ring.advance(&mut subscriber.cursor, &mut |state| {
            if told.is_none() {
                freed(state);
            }
        });
        Some(told)
    }

    /// Whether a subscriber has been told, as the last before now, the last change before the end of the first list.
    fn is_newly_synced(&self, subscriber: &Subscriber<V, M>) -> bool {
        let front = self.backlog.iter(&subscriber.backlog).next().map(|record| record.content.number);
        let told = |at| subscriber.cursor >= at && front.is_none_or(|front| front >= at);
        !subscriber.has_synced && self.synced_at.is_some_and(told)
    }

    fn oldest_of(&self, subscriber: &Subscriber<V, M>) -> Option<Instant> {
        let mark = earliest(self.marks.iter(&subscriber.marks).next().map(|mark| mark.arrived), subscriber.marks_lost);
        let record = self.backlog.iter(&subscriber.backlog).next().map(|record| record.arrived);
        let entry = self.ring.get(subscriber.cursor).map(|entry| entry.arrived);
        earliest(earliest(mark, record), entry)
    }
}

/// Memory that grows: the operations that are never full.
#[cfg(feature = "alloc")]
impl<V: Versioned<Key: Clone> + Clone> EventLogIn<V, Heap> {
    /// As [`try_subscribe`](Self::try_subscribe), which never fails here.
    pub fn subscribe<'a>(
        &mut self,
        now: Instant,
        config: SubscriptionConfig<V, Heap>,
        objects: impl Iterator<Item = &'a V>,
    ) -> SubscriberId
    where
        V: 'a,
    {
        never_full(self.try_subscribe(now, config, objects))
    }

    /// As [`try_push`](Self::try_push), which never fails here.
    pub fn push(&mut self, now: Instant, transition: Transition<V>) {
        never_full(self.try_push(now, transition));
    }

    /// As [`try_resync`](Self::try_resync), which never fails here.
    pub fn resync<'a>(&mut self, id: SubscriberId, objects: impl Iterator<Item = &'a V>)
    where
        V: 'a,
    {
        never_full(self.try_resync(id, objects));
    }
}

impl<V: Versioned<Key: Clone> + Clone, M: Mem> Default for EventLogIn<V, M> {
    /// A log of the [default limit](Self::DEFAULT_LIMIT).
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

summary!(impl[V: Keyed, M: Mem] "EventLog" for EventLogIn<V, M>, |it| {
    limit: it.limit, entries: it.ring.len(), subscribers: it.subscribers.len(),
});
