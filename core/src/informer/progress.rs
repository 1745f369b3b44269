//! How far an informer has come, and what it is doing.

use super::{Informer, InformerStatus};
use crate::fifo::Order;
use crate::reflector::{Outage, Phase};
use crate::time::Instant;
use alloc::sync::Arc;
use core::task::Poll;

/// How far what was received has been applied.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// Items of the list, or initial events, that is being read.
    pub(super) staged: usize,
    applied: Option<Arc<str>>,
    /// The next version that will have been applied, after so many deltas.
    next: Option<(Arc<str>, usize)>,
}

impl<T, C> Informer<T, C> {
    /// What the informer is doing at `now`.
    #[must_use]
    pub fn status(&self, now: Instant) -> InformerStatus {
        let elapsed = now.saturating_since(self.reflector.began());
        let (items, synced) = (self.progress.staged, self.fifo.has_synced());
        if let Some(outage) = self.reflector.outage() {
            return self.failing(outage, now);
        }
        match self.reflector.phase() {
            Phase::Idle => InformerStatus::Idle,
            Phase::Stopped => InformerStatus::Stopped,
            Phase::Listing if self.reflector.is_streaming() => InformerStatus::Streaming { elapsed, items, synced },
            Phase::Listing => InformerStatus::Listing { elapsed, items, synced },
            Phase::Watching | Phase::BackingOff if !synced => InformerStatus::Delivering { queued: self.fifo.len() },
            Phase::Watching | Phase::BackingOff => InformerStatus::Synced {
                age: now.saturating_since(self.reflector.heard()),
                overdue: self.reflector.is_overdue(now),
                received: self.reflector.version().cloned(),
                applied: self.progress.applied.clone(),
            },
        }
    }

    /// Whether the first state has been told and is in the cache. An error where it cannot be had before somebody helps
    /// ([`FailureClass::needs_help`](crate::FailureClass::needs_help)), or where the informer was stopped before. To be
    /// asked again whenever events were taken.
    ///
    /// # Errors
    /// What the informer is doing instead.
    pub fn poll_synced(&self, now: Instant) -> Poll<Result<(), InformerStatus>> {
        if self.fifo.has_synced() {
            return Poll::Ready(Ok(()));
        }
        match self.status(now) {
            status @ InformerStatus::Stopped => Poll::Ready(Err(status)),
            status @ InformerStatus::Failing { class, .. } if class.needs_help() => Poll::Ready(Err(status)),
            _ => Poll::Pending,
        }
    }

    /// The version up to which everything was told and is in the cache. It may lag behind what is there, but never says
    /// too much; when nothing is queued, it is [`received_version`](Self::received_version).
    #[must_use]
    pub fn applied_version(&self) -> Option<&str> {
        self.progress.applied.as_deref()
    }

    fn failing(&self, outage: Outage, now: Instant) -> InformerStatus {
        let next = self.reflector.poll_timeout().filter(|_| self.reflector.phase() == Phase::BackingOff);
        InformerStatus::Failing {
            class: outage.class,
            status: outage.status,
            attempts: outage.attempts,
            elapsed: now.saturating_since(outage.since),
            next_try: next.map(|next| next.saturating_since(now)),
            synced: self.fifo.has_synced(),
        }
    }

    /// A delta was applied, or something was received.
    pub(super) fn note_applied(&mut self, deltas: usize) {
        if self.fifo.is_empty() {
            self.progress.applied = self.reflector.version().cloned();
            self.progress.next = None;
            return;
        }
        // Deltas of one key overtake those of others.
        if self.order != Order::Arrival {
            return;
        }
        match &mut self.progress.next {
            Some((_, left)) if *left > deltas => *left -= deltas,
            Some((version, _)) => {
                self.progress.applied = Some(Arc::clone(version));
                self.progress.next = None;
            }
            None => self.progress.next = self.reflector.version().map(|version| (Arc::clone(version), self.fifo.len())),
        }
    }
}
