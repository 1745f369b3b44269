use super::stream::{Scope, Stream, StreamProgress};
use super::waiting::{Registration, Waiting};
use crate::cache::change::{Change, Note, transition};
use crate::cache::indexer::Indexer;
use crate::decode::DecodeErrorOf;
use crate::fanout::EventLog;
use crate::reflector::FailureReport;
use crate::storage::{Keyed, Versioned, never_full};
use crate::sync::wakers::Wakers;
use alloc::vec;
use alloc::vec::Vec;
use core::task::Waker;

/// All that is behind the lock of a store. Cache and log change together, so a subscriber joins between two changes.
///
/// Wakers come out of the methods, to be called after the lock.
pub(crate) struct Contents<V: Keyed> {
    pub(crate) objects: Indexer<V>,
    pub(crate) log: EventLog<V>,
    pub(super) streams: Vec<Stream<V::Key>>,
    /// The tasks that wait for an object.
    waiting: Waiting<V::Key>,
    /// The tasks of subscribers that have read everything.
    pub(crate) readers: Wakers,
    /// The tasks that wait until a subscriber is in sync.
    pub(crate) joining: Wakers,
    /// The tasks of informers that a subscriber holds back.
    pub(super) held: Wakers,
    pub(crate) failed: Last<FailureReport>,
    pub(crate) undecodable: Last<DecodeErrorOf<V::Key>>,
}

/// The last of many, and their number.
pub(crate) struct Last<T> {
    pub(crate) number: u64,
    pub(crate) last: Option<T>,
}

/// What a task that waits for an object looks at.
pub(super) struct Sight<V> {
    pub(super) object: Option<V>,
    /// The stream that covers the key; `None` where none does.
    pub(super) stream: Option<StreamProgress>,
}

impl<V: Versioned<Key: Clone> + Clone> Contents<V> {
    /// The contents of a store with one stream, which covers every object.
    pub(super) fn new(objects: Indexer<V>, limit: usize) -> Self {
        Self {
            objects,
            log: EventLog::new(limit),
            streams: vec![Stream::new(None)],
            waiting: Waiting::default(),
            readers: Wakers::default(),
            joining: Wakers::default(),
            held: Wakers::default(),
            failed: Last::default(),
            undecodable: Last::default(),
        }
    }

    /// Makes the hashes of everything that is empty depend on `seed`, unless the cache was made with a seed.
    pub(super) fn seed_unless_chosen(&mut self, seed: u64) {
        self.objects.seed_unless_chosen(seed);
        self.log.seed_if_idle(seed);
        self.waiting.seed_if_idle(seed);
    }

    /// Brings the cache up to date, and appends the change to the log. If a function of the caller's panics, neither
    /// has changed. States that nobody needs any more come out, to be dropped after the lock.
    pub(super) fn apply(
        &mut self,
        stream: usize,
        change: Change<'_, V>,
        (woken, freed): (&mut Vec<Waker>, &mut Vec<V>),
    ) -> Option<V> {
        let mut free = |state| freed.push(state);
        // Marks and index functions may panic, so each of them runs before its part changes.
        never_full(self.log.try_make_room(&mut free));
        let known = never_full(self.objects.try_change(change));
        let key = change.delta.object().key();
        if self.log.subscribers() > 0
            && let Some(transition) = transition(change.delta.clone(), change.initial, known.clone())
        {
            never_full(self.log.try_push_freeing(change.at, transition, &mut free));
            woken.append(&mut self.readers.take_all());
        }
        self.waiting.wake(key, woken);
        if let Some(stream) = self.streams.get_mut(stream) {
            stream.progress.changes += 1;
            change.applied.into_iter().for_each(|version| stream.advance(version, woken));
        }
        known
    }

    /// Replaces the only stream by one for each scope.
    pub(super) fn split(&mut self, scopes: &[Scope<V::Key>]) {
        let streams = scopes.iter().map(|scope| Stream::new(Some(scope.clone()))).collect();
        let whole = core::mem::replace(&mut self.streams, streams).into_iter().next();
        if let (Some(first), Some(whole)) = (self.streams.first_mut(), whole) {
            first.adopt(whole);
        }
    }
}

impl<V: Keyed> Contents<V> {
    /// Notes the progress of a stream.
    pub(super) fn note(&mut self, stream: usize, note: Note<'_, V>, woken: &mut Vec<Waker>)
    where
        V: Versioned<Key: Clone> + Clone,
    {
        let Some(noted) = self.streams.get_mut(stream) else { return };
        match note {
            Note::Started => noted.progress.stopped = false,
            Note::Applied(version) => noted.advance(version, woken),
            Note::Recovered => noted.progress.failure = None,
            Note::Synced => {
                noted.progress.synced = true;
                self.waiting.wake_all(woken);
                if self.has_synced() {
                    self.log.push_synced();
                    woken.append(&mut self.readers.take_all());
                }
            }
            Note::Failed(report) => {
                noted.progress.failure = Some(report.clone());
                self.failed.push(report.clone());
                woken.append(&mut self.readers.take_all());
            }
            Note::Undecodable(undecodable) => {
                self.undecodable.push(undecodable.clone());
                woken.append(&mut self.readers.take_all());
            }
            Note::Stopped => {
                noted.progress.stopped = true;
                self.waiting.wake_all(woken);
            }
        }
    }

    /// Notes that the writer of a stream was dropped.
    pub(super) fn leave(&mut self, stream: usize, woken: &mut Vec<Waker>) {
        let Some(left) = self.streams.get_mut(stream) else { return };
        (left.progress.stopped, left.is_gone) = (true, true);
        self.waiting.wake_all(woken);
        if self.is_over() {
            woken.append(&mut self.readers.take_all());
            woken.append(&mut self.joining.take_all());
        }
    }

    /// Whether every stream has synced.
    pub(crate) fn has_synced(&self) -> bool {
        !self.streams.is_empty() && self.streams.iter().all(|stream| stream.progress.synced)
    }

    /// Whether no writer is left.
    pub(crate) fn is_over(&self) -> bool {
        self.streams.iter().all(|stream| stream.is_gone)
    }

    /// The tasks that are held back, if the log has room again.
    pub(crate) fn take_held(&mut self) -> Vec<Waker>
    where
        V: Versioned<Key: Clone> + Clone,
    {
        if self.held.is_empty() || !self.log.has_room() { Vec::new() } else { self.held.take_all() }
    }

    /// Every task that waits for an object.
    pub(super) fn take_waiting(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        self.waiting.wake_all(&mut woken);
        woken
    }

    pub(super) fn look(&self, key: &V::Key) -> Sight<V>
    where
        V: Clone,
    {
        let stream = self.stream_of(key).map(|stream| self.streams[stream].progress.clone());
        Sight { object: self.objects.get(key).cloned(), stream }
    }

    /// Lets a task sleep until something about `key` changes; with a version, also until its
    /// stream has applied that version. The wakers that come out are the task's last ones.
    #[must_use]
    pub(super) fn sleep(&mut self, key: &V::Key, registration: &mut Registration, waker: &Waker) -> [Option<Waker>; 2]
    where
        V::Key: Clone,
    {
        let stream = self.stream_of(key);
        let elsewhere = registration.stream.filter(|at| Some(*at) != stream);
        let last = elsewhere.and_then(|at| self.streams.get_mut(at)?.remove(registration));
        let by_version = stream.and_then(|at| self.streams[at].register(at, registration, waker));
        [self.waiting.register(key, registration, waker), by_version.or(last)]
    }

    /// Takes out a task.
    #[must_use]
    pub(super) fn rise(&mut self, registration: &mut Registration) -> [Option<Waker>; 2] {
        let by_version = registration.stream.and_then(|at| self.streams.get_mut(at)?.remove(registration));
        [self.waiting.remove(registration), by_version]
    }

    /// Whether no task waits for an object.
    #[cfg(test)]
    pub(super) fn has_no_waiting_tasks(&self) -> bool {
        self.waiting.has_no_tasks() && self.streams.iter().all(Stream::has_no_tasks)
    }

    fn stream_of(&self, key: &V::Key) -> Option<usize> {
        self.streams.iter().position(|stream| stream.covers(key))
    }
}

impl<T> Last<T> {
    fn push(&mut self, next: T) {
        self.number += 1;
        self.last = Some(next);
    }

    /// The last one, if there was one after the number `seen`, which is brought up to date.
    pub(crate) fn since(&self, seen: &mut u64) -> Option<&T> {
        let is_new = core::mem::replace(seen, self.number) != self.number;
        self.last.as_ref().filter(|_| is_new)
    }
}

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self { number: 0, last: None }
    }
}
