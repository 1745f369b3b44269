//! The end of a queue.

use super::WorkQueueIn;
use crate::queue::record::{Phase, Then};
use crate::queue::{Added, Discipline, Drained, RateLimiter};
use crate::storage::Mem;
use crate::time::Instant;
use core::hash::Hash;
use core::time::Duration;

/// The stages of a queue's shut-down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    Open,
    ShutDown,
    DrainUntil(Instant),
    /// The deadline of the drain is over.
    Over,
    /// A panic left a change unfinished.
    #[cfg_attr(not(feature = "alloc"), allow(dead_code, reason = "machines are shared on the heap"))]
    Failed,
}

impl<K: Hash + Eq, L: RateLimiter, M: Mem, D: Discipline<K>> WorkQueueIn<K, L, M, D> {
    /// Refuses all further additions and drops the delayed keys: client-go's `ShutDown`.
    ///
    /// Keys that are ready, or were added while a worker had them, are still handed out. The deadline of a
    /// [drain](Self::shut_down_with_drain) that is under way stays. (client-go's `ShutDown` releases the caller that
    /// waits in `ShutDownWithDrain`; a caller of this queue waits for [`drained`](Self::drained), and can stop by
    /// itself.)
    pub fn shut_down(&mut self) {
        self.close(Closing::ShutDown);
    }

    /// As [`shut_down`](Self::shut_down), and the keys that are still ready when `grace` is over are dropped too.
    ///
    /// The deadline is a [`poll_timeout`](Self::poll_timeout), and [`drained`](Self::drained) returns the result. Of
    /// two drains the earlier deadline counts. client-go's `ShutDownWithDrain` has no deadline, and waits only for keys
    /// that are with a worker.
    ///
    /// ```
    /// use core::time::Duration;
    /// use listwatch_core::{Instant, WorkQueue};
    ///
    /// let mut queue = WorkQueue::<&str>::default();
    /// queue.add("web");
    /// queue.shut_down_with_drain(Instant::ZERO, Duration::from_secs(30));
    /// let job = queue.poll_job().unwrap();
    /// assert_eq!(queue.drained(), None);
    /// queue.done(job);
    /// assert_eq!(queue.drained(), Some(Default::default()));
    /// ```
    pub fn shut_down_with_drain(&mut self, now: Instant, grace: Duration) {
        self.now = self.now.max(now);
        self.close(Closing::DrainUntil(self.now + grace));
    }

    /// Whether the queue is shut down, with or without a drain.
    pub fn is_shutting_down(&self) -> bool {
        self.closing != Closing::Open
    }

    /// Whether the queue is shut down, nothing is ready and no worker has a key or holds it, so that nothing will come
    /// out again.
    ///
    /// Stricter than client-go's `ShutDownWithDrain`, which does not wait for ready keys.
    pub fn is_drained(&self) -> bool {
        self.is_shutting_down() && self.is_empty() && self.running + self.stats.held == 0
    }

    /// The keys that were left undone, once the queue [is drained](Self::is_drained) or the drain's deadline has
    /// passed.
    pub fn drained(&self) -> Option<Drained> {
        let is_over = self.closing == Closing::Over || self.is_drained();
        is_over.then_some(Drained { running: self.running, ..self.left })
    }

    pub(super) fn refuse(&mut self) -> Added {
        self.left.refused += 1;
        Added::Closed
    }

    /// Drops the delayed keys. No deadline is lost or moved out.
    fn close(&mut self, closing: Closing) {
        self.closing = match (self.closing, closing) {
            (last @ (Closing::Over | Closing::Failed), _) => last,
            (Closing::DrainUntil(first), Closing::DrainUntil(second)) => Closing::DrainUntil(first.min(second)),
            (Closing::DrainUntil(deadline), _) => Closing::DrainUntil(deadline),
            (Closing::Open | Closing::ShutDown, closing) => closing,
        };
        let end_of_time = Instant::from_nanos(u64::MAX);
        while let Some(slot) = self.delays.pop_due(&mut self.records, end_of_time) {
            self.left.delayed += 1;
            self.remove_if_blank(slot);
        }
    }

    /// Drops the ready and the deferred keys.
    pub(super) fn drop_ready(&mut self) {
        self.left.ready += core::mem::take(&mut self.deferred);
        let mut at = None;
        while let Some(slot) = self.records.next_used(at) {
            at = Some(slot);
            if let Phase::Running { then, .. } = &mut self.records[slot].phase
                && *then == Then::Again
            {
                *then = Then::Rest;
            }
        }
        while let Some(slot) = self.discipline.pop(&mut self.ready, &mut self.records) {
            self.left.ready += 1;
            self.records[slot].phase = Phase::Idle;
            self.remove_if_blank(slot);
        }
    }

    #[cfg(feature = "alloc")]
    pub(crate) fn has_failed(&self) -> bool {
        self.closing == Closing::Failed
    }
}
