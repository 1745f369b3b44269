//! What a stream writes, and its informer's handles read.

use super::audit::{AuditCounts, StreamAudit};
#[cfg(feature = "shards")]
use super::selection::{Selected, Selection};
use super::stream_status::{StreamError, StreamStatus};
use crate::clock::Clock;
use crate::mutex::Mutex;
use crate::names::StreamName;
use core::task::{Context, Poll, Waker};
use listwatch_core::decode::DecodeError;
use listwatch_core::informer::InformerStatus;
#[cfg(feature = "shards")]
use listwatch_core::object::Uid;
use listwatch_core::object::Version;
use listwatch_core::text::SharedText;
use listwatch_core::{Instant, Key};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a stream writes, and its informer's handles read.
#[derive(Debug)]
pub(super) struct Board {
    name: StreamName,
    clock: Clock,
    state: Mutex<Notes>,
    received_bytes: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Notes {
    /// Its own status is as of `at`; [`Board::status`] adds what depends on the time.
    status: StreamStatus,
    at: Instant,
    /// Whether the first state is in the cache, or why only a person can bring it there. A first state is for ever.
    synced: Poll<Result<(), InformerStatus>>,
    /// Since when a subscriber holds the stream back.
    held_since: Option<Instant>,
    /// When the last audit ended.
    audited: Option<Instant>,
    undecodable: Undecodable,
    /// In how many objects the last audit has found the store to differ, until the stream takes it.
    drift: Option<usize>,
    /// The stream's.
    drift_waker: Option<Waker>,
    #[cfg(feature = "shards")]
    selected: Selected,
    /// Of the tasks that wait for the next status.
    wakers: Vec<Waker>,
}

impl Board {
    pub(super) fn new(name: StreamName, clock: Clock) -> Self {
        let now = clock.now();
        let status = StreamStatus {
            name: name.clone(),
            status: InformerStatus::Idle,
            failure: None,
            undecodable: 0,
            panics: 0,
            panic: None,
            held_back: None,
            waits_for: None,
            failures: Vec::new(),
            lists: 0,
            objects: None,
            received_bytes: 0,
            received: None,
            applied: None,
            audit: None,
            audits: AuditCounts::default(),
            audit_age: None,
        };
        let state = Mutex::new(Notes {
            status,
            at: now,
            synced: Poll::Pending,
            held_since: None,
            audited: None,
            undecodable: Undecodable::default(),
            drift: None,
            drift_waker: None,
            #[cfg(feature = "shards")]
            selected: Selected::default(),
            wakers: Vec::new(),
        });
        Self { name, clock, state, received_bytes: Arc::default() }
    }

    pub(super) fn name(&self) -> &StreamName {
        &self.name
    }

    /// Where the transport adds up the bytes that it receives.
    pub(super) fn received_bytes(&self) -> &Arc<AtomicU64> {
        &self.received_bytes
    }

    /// The status now.
    pub(super) fn status(&self) -> StreamStatus {
        let (mut status, at, held_since, audited) = {
            let state = self.state.lock();
            (state.status.clone(), state.at, state.held_since, state.audited)
        };
        let now = self.clock.now();
        status.status = status.status.later(now.saturating_since(at));
        status.received_bytes = self.received_bytes.load(Ordering::Relaxed);
        status.held_back = held_since.map(|since| now.saturating_since(since));
        status.audit_age = audited.map(|at| now.saturating_since(at));
        status
    }

    /// The version up to which the store has every change. The objects up to there that could not be decoded are known.
    pub(super) fn applied(&self) -> Option<Version> {
        self.state.lock().status.applied.clone()
    }

    /// The version of the object's last state that could not be decoded.
    pub(super) fn undecodable(&self, key: &Key) -> Option<Version> {
        self.state.lock().undecodable.last(key).cloned()
    }

    /// Whether the stream does not go on.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.state.lock().status.status, InformerStatus::Stopped)
    }

    /// Ready once the stream does not go on.
    pub(super) fn poll_stopped(&self, cx: &Context<'_>) -> Poll<()> {
        self.poll_status(cx, |state| matches!(state.status.status, InformerStatus::Stopped))
    }

    /// Notes the result of an audit. If the store differs, the stream is woken.
    pub(super) fn note_audit(&self, audit: &Arc<StreamAudit>) {
        let now = self.clock.now();
        let waker = {
            let mut state = self.state.lock();
            state.status.audits.add(audit);
            (state.status.audit, state.audited) = (Some(Arc::clone(audit)), Some(now));
            state.drift = audit.drift();
            if state.drift.is_some() { state.drift_waker.take() } else { None }
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// In how many objects an audit has found the store to differ, once.
    pub(super) fn poll_drift(&self, cx: &Context<'_>) -> Option<usize> {
        let waker = cx.waker().clone();
        let (drift, _last) = {
            let mut state = self.state.lock();
            (state.drift.take(), state.drift_waker.replace(waker))
        };
        drift
    }

    /// Lets the stream keep other objects, unless another one selects.
    #[cfg(feature = "shards")]
    pub(super) fn select(&self, selection: &Selection) -> bool {
        let (may, waker) = {
            let mut state = self.state.lock();
            (state.selected.select(selection), state.drift_waker.take())
        };
        waker.into_iter().for_each(Waker::wake);
        may
    }

    /// The selection that the stream has not taken.
    #[cfg(feature = "shards")]
    pub(super) fn take_selection(&self) -> Option<Selection> {
        self.state.lock().selected.take()
    }

    /// The cache has the objects of this selection.
    #[cfg(feature = "shards")]
    pub(super) fn note_selected(&self, selection: &Selection) {
        self.state.lock().selected.note(selection);
    }

    /// The numbers of the selection, and of the last one whose objects the cache has.
    #[cfg(feature = "shards")]
    pub(super) fn selected(&self) -> [u64; 2] {
        self.state.lock().selected.numbers()
    }

    #[cfg(not(feature = "shards"))]
    #[expect(clippy::unused_self, reason = "all objects are kept")]
    pub(super) fn selected(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Whether the stream is to keep an object.
    #[cfg(feature = "shards")]
    pub(super) fn keeps(&self, namespace: Option<&str>, uid: &Uid) -> bool {
        self.state.lock().selected.keeps(namespace, uid)
    }

    /// Ready once the first state is in the cache. A failure that needs a person is pending if `is_no_end` says so.
    pub(super) fn poll_synced(
        &self,
        cx: &Context<'_>,
        is_no_end: impl FnOnce(&InformerStatus) -> bool,
    ) -> Poll<Result<(), InformerStatus>> {
        let mut synced = Poll::Pending;
        let waits = self.poll_status(cx, |state| {
            synced.clone_from(&state.synced);
            match &synced {
                Poll::Ready(Err(status)) => !is_no_end(status),
                polled => polled.is_ready(),
            }
        });
        if waits.is_ready() { synced } else { Poll::Pending }
    }

    /// Ready once a status of `since` or later says that requests do not fail.
    pub(super) fn poll_recovered(&self, since: Instant, cx: &Context<'_>) -> Poll<()> {
        self.poll_status(cx, |state| state.at >= since && matches!(state.status.status, InformerStatus::Synced { .. }))
    }

    /// Ready once `is_it` says so of the state, which is looked at after each status.
    fn poll_status(&self, cx: &Context<'_>, is_it: impl FnOnce(&Notes) -> bool) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        if is_it(&state) {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|known| known.will_wake(&waker)) {
            state.wakers.push(waker);
        }
        Poll::Pending
    }

    pub(super) fn has_synced(&self) -> bool {
        matches!(self.state.lock().synced, Poll::Ready(Ok(())))
    }

    /// Notes what the informer does.
    pub(super) fn note(&self, synced: Poll<Result<(), InformerStatus>>, status: InformerStatus) {
        let now = self.clock.now();
        let wakers = {
            let mut state = self.state.lock();
            state.status.set(status);
            state.at = now;
            if !matches!(state.synced, Poll::Ready(Ok(()))) {
                state.synced = synced;
            }
            // Nobody waits for a list that goes on.
            if state.synced.is_ready() { core::mem::take(&mut state.wakers) } else { Vec::new() }
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Notes how many objects the store has, if all of them are of this stream.
    pub(super) fn note_objects(&self, objects: usize) {
        self.state.lock().status.objects = Some(objects);
    }

    /// Notes how many lists are complete.
    pub(super) fn note_lists(&self, lists: u32) {
        self.state.lock().status.lists = lists;
    }

    /// Notes whether a subscriber holds the stream back.
    pub(super) fn note_held(&self, is_held: bool) {
        let now = self.clock.now();
        let mut state = self.state.lock();
        state.held_since = is_held.then(|| state.held_since.unwrap_or(now));
    }

    /// Notes what the open request waits for, before it is sent.
    pub(super) fn note_waits_for(&self, waits_for: Option<SharedText>) {
        self.state.lock().status.waits_for = waits_for;
    }

    /// Notes what went wrong.
    pub(super) fn note_error(&self, error: &StreamError<'_>) {
        let mut state = self.state.lock();
        match error {
            StreamError::Failed(report) => {
                state.status.count(report);
                state.status.failure = Some(Arc::new((*report).clone()));
            }
            StreamError::Undecodable(error) => {
                state.status.undecodable += 1;
                state.undecodable.note(error);
            }
            StreamError::Panicked(message) => {
                state.status.panics += 1;
                state.status.panic = Some((*message).into());
            }
        }
    }

    /// The stream does not go on.
    pub(super) fn note_stopped(&self) {
        self.note_held(false);
        self.note_waits_for(None);
        self.note(Poll::Ready(Err(InformerStatus::Stopped)), InformerStatus::Stopped);
    }
}

/// The last state of each object that could not be decoded, of so many objects as a program may have.
#[derive(Debug, Default)]
pub(super) struct Undecodable {
    versions: HashMap<Key, Version>,
    /// The keys, the oldest first.
    order: VecDeque<Key>,
}

/// How many objects are remembered.
const MOST: usize = 10_000;

impl Undecodable {
    /// Remembers a state. If there are too many, the object that was first is forgotten.
    pub(super) fn note(&mut self, error: &DecodeError<Key>) {
        let (Some(key), Some(version)) = (&error.key, &error.version) else { return };
        if self.versions.insert(key.clone(), version.clone()).is_none() {
            self.order.push_back(key.clone());
        }
        if self.order.len() > MOST {
            self.order.pop_front().iter().for_each(|oldest| _ = self.versions.remove(oldest));
        }
    }

    /// The version of the object's last state that could not be decoded.
    pub(super) fn last(&self, key: &Key) -> Option<&Version> {
        self.versions.get(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(key: String, version: &str) -> DecodeError<Key> {
        DecodeError { key: Some(Key::from(key)), version: Some(version.into()), event_type: None, error: "no".into() }
    }

    #[test]
    fn the_memory_of_undecodable_objects_is_bounded_and_has_the_last_state_of_each() {
        let mut known = Undecodable::default();
        for number in 0..2 * MOST {
            known.note(&error(number.to_string(), "1"));
            known.note(&error(number.to_string(), "2"));
        }
        let has = |number: usize, version| known.last(&Key::from(number.to_string())) == Some(&Version::from(version));
        assert!(has(2 * MOST - 1, "2") && has(MOST, "2") && !has(MOST, "1") && !has(MOST - 1, "2"));
        assert_eq!((known.versions.len(), known.order.len()), (MOST, MOST));
    }
}
