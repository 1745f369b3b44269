//! The state of a stream as everybody reads it while the stream runs.

use super::audit::{AuditCounts, StreamAudit};
use super::stream_name::StreamName;
use super::stream_status::{StreamError, StreamStatus};
use super::undecodable::Undecodable;
use crate::clock::Clock;
use core::mem;
use core::task::{Context, Poll, Waker};
use listwatch_core::informer::{InformerStatus, SyncTracker, Synced};
use listwatch_core::object::Version;
use listwatch_core::reflector::FailureClass;
use listwatch_core::sync::StdLock;
use listwatch_core::text::SharedText;
use listwatch_core::{Instant, Key};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a stream writes, and its informer's handles read.
pub(super) struct Board {
    name: StreamName,
    clock: Clock,
    tracker: SyncTracker<StdLock>,
    /// The same for those that wait for a resource that is not there yet.
    patient: SyncTracker<StdLock>,
    state: Mutex<State>,
    received_bytes: Arc<AtomicU64>,
}

struct State {
    /// Its own status is as of `at`, and `held_back` is `held_since`.
    status: StreamStatus,
    at: Instant,
    /// Since when a subscriber holds the stream back.
    held_since: Option<Instant>,
    undecodable: Undecodable,
    /// In how many objects the last audit has found the store to differ, until the stream takes it.
    drift: Option<usize>,
    /// The stream's.
    drift_waker: Option<Waker>,
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
            objects: None,
            received_bytes: 0,
            received: None,
            applied: None,
            audit: None,
            audits: AuditCounts::default(),
            audit_age: None,
        };
        let undecodable = Undecodable::default();
        let state = Mutex::new(State {
            status,
            at: now,
            held_since: None,
            undecodable,
            drift: None,
            drift_waker: None,
            wakers: Vec::new(),
        });
        Self {
            name,
            clock,
            tracker: SyncTracker::new(now),
            patient: SyncTracker::new(now),
            state,
            received_bytes: Arc::default(),
        }
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
        let (mut status, at, held_since) = {
            let state = self.lock();
            (state.status.clone(), state.at, state.held_since)
        };
        let now = self.clock.now();
        status.status = status.status.later(now.saturating_since(at));
        status.received_bytes = self.received_bytes.load(Ordering::Relaxed);
        status.held_back = held_since.map(|since| now.saturating_since(since));
        if let Some((at, audit)) = status.audits.last() {
            (status.audit, status.audit_age) = (Some(Arc::clone(audit)), Some(now.saturating_since(*at)));
        }
        status
    }

    /// The version up to which the store has every change. The objects up to there that could not be decoded are known.
    pub(super) fn applied(&self) -> Option<Version> {
        let state = self.lock();
        match &state.status.status {
            InformerStatus::Synced { applied, .. } => applied.clone(),
            _ => state.status.applied.clone(),
        }
    }

    /// The version of the object's last state that could not be decoded.
    pub(super) fn undecodable(&self, key: &Key) -> Option<Version> {
        self.lock().undecodable.last(key).cloned()
    }

    /// Whether the stream does not go on.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.lock().status.status, InformerStatus::Stopped)
    }

    /// Ready once the stream does not go on.
    pub(super) fn poll_stopped(&self, cx: &Context<'_>) -> Poll<()> {
        self.poll_status(cx, |state| matches!(state.status.status, InformerStatus::Stopped))
    }

    /// Notes the result of an audit. If the store differs, the stream is woken.
    pub(super) fn note_audit(&self, audit: &Arc<StreamAudit>) {
        let now = self.clock.now();
        let waker = {
            let mut state = self.lock();
            state.status.audits.add(now, audit);
            state.drift = audit.drift();
            if state.drift.is_some() { state.drift_waker.take() } else { None }
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// In how many objects an audit has found the store to differ, once.
    pub(super) fn poll_drift(&self, cx: &Context<'_>) -> Option<usize> {
        let waker = cx.waker().clone();
        let (drift, _last) = {
            let mut state = self.lock();
            (state.drift.take(), state.drift_waker.replace(waker))
        };
        drift
    }

    pub(super) fn synced(&self) -> Synced<StdLock> {
        self.tracker.subscribe()
    }

    /// The same, but a resource that the server does not know is no failure.
    pub(super) fn patiently_synced(&self) -> Synced<StdLock> {
        self.patient.subscribe()
    }

    /// Ready once a status of `since` or later says that requests do not fail.
    pub(super) fn poll_recovered(&self, since: Instant, cx: &Context<'_>) -> Poll<()> {
        self.poll_status(cx, |state| state.at >= since && matches!(state.status.status, InformerStatus::Synced { .. }))
    }

    /// Ready once `is_it` says so of the state, which is looked at after each status.
    fn poll_status(&self, cx: &Context<'_>, is_it: impl FnOnce(&State) -> bool) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.lock();
        if is_it(&state) {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|known| known.will_wake(&waker)) {
            state.wakers.push(waker);
        }
        Poll::Pending
    }

    pub(super) fn has_synced(&self) -> bool {
        self.tracker.has_synced()
    }

    /// Notes what the informer does.
    pub(super) fn note(&self, synced: Poll<Result<(), InformerStatus>>, status: InformerStatus) {
        let now = self.clock.now();
        let wakers = {
            let mut state = self.lock();
            let before = mem::replace(&mut state.status.status, status.clone());
            state.at = now;
            state.status.keep_versions(before);
            mem::take(&mut state.wakers)
        };
        let patiently = if is_not_found(&synced) { Poll::Pending } else { synced.clone() };
        self.patient.update(now, patiently, status.clone());
        self.tracker.update(now, synced, status);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Notes how many objects the store has, if all of them are of this stream.
    pub(super) fn note_objects(&self, objects: usize) {
        self.lock().status.objects = Some(objects);
    }

    /// Notes whether a subscriber holds the stream back.
    pub(super) fn note_held(&self, is_held: bool) {
        let now = self.clock.now();
        let mut state = self.lock();
        state.held_since = is_held.then(|| state.held_since.unwrap_or(now));
    }

    /// Notes what the open request waits for, before it is sent.
    pub(super) fn note_waits_for(&self, waits_for: Option<SharedText>) {
        self.lock().status.waits_for = waits_for;
    }

    /// Notes what went wrong.
    pub(super) fn note_error(&self, error: &StreamError<'_>) {
        if let StreamError::Failed(report) = error {
            self.tracker.note_failure(&report.failure);
        }
        let mut state = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_not_found(synced: &Poll<Result<(), InformerStatus>>) -> bool {
    matches!(synced, Poll::Ready(Err(InformerStatus::Failing { class: FailureClass::NotFound, .. })))
}
