#[cfg(feature = "alloc")]
mod heap;
mod intake;
mod results;
mod stages;

use super::lifecycle::{Lifecycle, Sources, Stage};
use super::notes::Notes;
use super::record::{Debounce, HoldId, Phase, Record, Work, WorkItem};
use super::report::{KeyReport, KeyState};
use crate::queue::{Lanes, QueueMetrics, QueueStats, RateLimiter, WhileDelayed, WorkQueueIn};
use crate::random::Random;
use crate::storage::{Initially, Maybe, Mem, PassingTable, Slab, Slot, Timers};
use crate::time::{Instant, earliest, nanos};
use core::fmt;
use core::hash::Hash;
use core::time::Duration;

/// Decides which key of a controller is reconciled when, and why: the machine between a controller's sources and its
/// workers.
///
/// `Reconciler` lives on the heap, and `FixedReconciler` has room for a number of keys. Only the heap has the methods
/// without `try_`.
///
/// ```text
///    add      quiet      poll_item            finish              fulfil
///   ────▶ debounced ──▶ ready ──▶ running ────────────▶ held ──────────────▶ (ready, if it changed meanwhile)
///                         ▲          │ finish without writes
///                         │          ▼
///                         └── delayed, backing off, parked, or done
/// ```
///
/// * The order, the retries and the parking of keys are those of the [`WorkQueueIn`] inside. So a key is never with two
///   workers, and no change is missed.
/// * Each reconcile has its [causes](Self::causes). If it fails, its retry has them too.
/// * If a reconcile [awaits writes](Self::finish), its key is handed to no worker until all of them were
///   [seen](Self::fulfil). If they are not seen in time, the key is reconciled, and its reconcile has the
///   [late writes](Self::late_writes).
/// * Keys are handed out once all [sources](Self::try_add_source) have synced. A [drain](Self::drain) hands out no more,
///   and [`report`](Self::report) says how each key was left.
///
/// The types: `K` is the key, `C` the cause of a reconcile, `W` a write that is awaited, `L` the rate limiter.
///
/// ```
/// use listwatch_core::controller::{Ended, Reconciler};
/// use listwatch_core::queue::{Finished, Outcome, Priority};
/// use listwatch_core::Instant;
///
/// let now = Instant::ZERO;
/// let mut reconciler = Reconciler::<&str, &str, &str>::default();
/// reconciler.start(now, None);
/// reconciler.add(now, "web", Priority::Normal, "pod web-1 was deleted");
///
/// let item = reconciler.poll_item(now).unwrap();
/// assert_eq!((reconciler.key(&item), reconciler.causes(&item).count()), (&"web", 1));
/// let Ended::Held { hold, .. } = reconciler.finish(now, item, Outcome::Done, ["pod web-2 created"]) else {
///     unreachable!("the reconcile has written");
/// };
///
/// // The event of its own write wakes the key, once the store has it.
/// reconciler.add(now, "web", Priority::Normal, "pod web-2 was added");
/// assert!(reconciler.poll_item(now).is_none());
/// reconciler.fulfil(now, hold, 0);
/// # let item =
/// reconciler.poll_item(now).unwrap();
/// # assert_eq!(reconciler.finish(now, item, Outcome::Done, []), Ended::Finished(Finished::Done));
/// ```
#[must_use]
pub struct ReconcilerIn<K, C, W, L, M: Mem> {
    queue: WorkQueueIn<K, L, M, Lanes<K>>,
    /// Of each key that the queue knows, and perhaps of others.
    records: PassingTable<Record<K>, M>,
    /// The reconciles that are not over, or have left something.
    works: Slab<Work, M>,
    causes: Notes<(C, Instant), M>,
    /// The writes that are awaited or late, each with its number.
    writes: Notes<(usize, W), M>,
    /// The records whose changes are gathered.
    settling: Timers<M>,
    /// The works that are held.
    holds: Timers<M>,
    sources: Sources<M>,
    pub(super) stage: Stage,
    /// The latest time that the reconciler was given.
    now: Instant,
    /// The number of reconciles that were begun.
    begun: u64,
    random: Random,
    running: usize,
    debounce: Maybe<Debounce>,
    /// In nanoseconds.
    longest_hold: Initially<LONGEST_HOLD>,
    time_limit: Maybe<Duration>,
    period: Maybe<Duration>,
    next_period: Option<Instant>,
    is_period_due: bool,
}

/// The longest wait for writes to be seen, unless configured, in nanoseconds.
const LONGEST_HOLD: u64 = nanos(Duration::from_secs(30));

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter, M: Mem> ReconcilerIn<K, C, W, L, M> {
    /// The number of causes that are kept for each key, the newest ones.
    pub const MAX_CAUSES: usize = 16;

    /// A reconciler around a queue, whose settings hold for the reconciler: the rate limiter, aging and groups,
    /// [`with_while_delayed`](WorkQueueIn::with_while_delayed), [`with_max_retries`](WorkQueueIn::with_max_retries) and
    /// [`with_metrics`](WorkQueueIn::with_metrics). The queue must be new. `seed` is that of
    /// [`with_seed`](WorkQueueIn::with_seed), and of the [jitter](Self::jittered).
    pub const fn new(queue: WorkQueueIn<K, L, M, Lanes<K>>, seed: u64) -> Self {
        Self {
            queue,
            records: PassingTable::<_, M>::with_seed(seed),
            works: Slab::EMPTY,
            causes: Notes::EMPTY,
            writes: Notes::EMPTY,
            settling: Timers::EMPTY,
            holds: Timers::EMPTY,
            sources: Sources::EMPTY,
            stage: Stage::Created,
            now: Instant::ZERO,
            begun: 0,
            random: Random::new(seed),
            running: 0,
            debounce: Maybe::Nothing,
            longest_hold: Initially::new(LONGEST_HOLD),
            time_limit: Maybe::Nothing,
            period: Maybe::Nothing,
            next_period: None,
            is_period_due: false,
        }
    }

    /// Gathers the changes of a key before it is ready. By default a key is ready at once.
    ///
    /// Keys that are added as [`Urgent`](crate::queue::Priority::Urgent) do not wait. A key that waits for another
    /// reason, as for a worker, is not debounced on top of it.
    pub const fn with_debounce(mut self, debounce: Debounce) -> Self {
        self.debounce = Maybe::Just(debounce);
        self
    }

    /// Waits so long at most for the writes of a reconcile to be seen. The default is 30 s.
    pub const fn with_longest_hold(mut self, longest: Duration) -> Self {
        self.longest_hold = Initially::new(nanos(longest));
        self
    }

    /// Gives each reconcile a [deadline](Self::deadline), so long after its begin. By default there is none.
    pub const fn with_time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Maybe::Just(limit);
        self
    }

    /// Lets [`poll_period`](Self::poll_period) return true after each `period` of running. By default it never does.
    /// A period of zero counts as none.
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = if period.is_zero() { Maybe::Nothing } else { Maybe::Just(period) };
        self
    }

    /// Hands out the next key, if one is ready and the controller is [running](Lifecycle::Running). Its reconcile decides
    /// anew when it is next due; only under [`WhileDelayed::RunTwice`], a delay goes on.
    #[must_use = "the key stays with its worker until the item is given back"]
    pub fn poll_item(&mut self, now: Instant) -> Option<WorkItem> {
        self.note_time(now);
        if self.stage != Stage::Running {
            return None;
        }
        let job = self.queue.poll_job()?;
        if self.queue.while_delayed() != WhileDelayed::RunTwice {
            self.queue.end_delay(&job);
        }
        let record = self.records.find(self.queue.key(&job)).expect("each key of the queue has a record");
        Some(WorkItem { id: self.on_begun(record), job })
    }

    /// The item's key.
    ///
    /// # Panics
    /// If the item is another reconciler's.
    pub fn key(&self, item: &WorkItem) -> &K {
        self.queue.key(&item.job)
    }

    /// The newest events that woke the item's reconcile, the oldest first, each with its time; at most
    /// [`MAX_CAUSES`](Self::MAX_CAUSES).
    ///
    /// If the reconcile is a retry, these are the events of the failed one too.
    pub fn causes(&self, item: &WorkItem) -> impl Iterator<Item = (&C, Instant)> {
        let work = self.find(item.id).into_iter();
        work.flat_map(|work| self.causes.iter(&work.causes)).map(|(cause, at)| (cause, *at))
    }

    /// The number of further events that woke the item's reconcile.
    pub fn dropped_causes(&self, item: &WorkItem) -> u64 {
        self.find(item.id).map_or(0, |work| work.causes.dropped)
    }

    /// The writes of the key's last reconcile that were not seen in time.
    pub fn late_writes(&self, item: &WorkItem) -> impl Iterator<Item = &W> {
        let work = self.find(item.id).into_iter();
        work.flat_map(|work| self.writes.iter(&work.late)).map(|(_, write)| write)
    }

    /// When the item's reconcile should have ended. A worker drops a reconcile that takes longer, and gives the item
    /// back with [`Outcome::Retry`](crate::queue::Outcome::Retry).
    pub fn deadline(&self, item: &WorkItem) -> Option<Instant> {
        self.deadline_of(self.find(item.id)?)
    }

    /// The number of a key's failures since it last succeeded: client-go's `NumRequeues`.
    pub fn failures(&self, key: &K) -> u32 {
        self.queue.num_requeues(key)
    }

    /// A delay between `period` and 1.1 × `period`, so that keys that were reconciled together are repeated apart:
    /// client-go's `wait.Jitter(period, 0.1)`. Two reconcilers of one seed give the same delays, one after the other.
    #[doc(alias = "Jitter")]
    #[must_use]
    pub fn jittered(&mut self, period: Duration) -> Duration {
        period.saturating_add(self.random.below(period / 10))
    }

    /// Adds the keys that are due, ends the waits for writes that are due, and moves on to the next stage of the
    /// [lifecycle](Self::lifecycle) if its time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.note_time(now);
        self.queue.handle_timeout(self.now);
        self.settle_due();
        self.release_due();
        self.pass_period();
        self.pass_stage();
    }

    /// The next time at which [`handle_timeout`](Self::handle_timeout) changes something.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let ends = [self.settling.next(), self.holds.next(), self.next_period, self.stage.timeout()];
        ends.into_iter().fold(self.queue.poll_timeout(), earliest)
    }

    /// The stage of the controller's life.
    pub fn lifecycle(&self) -> Lifecycle {
        self.stage.lifecycle()
    }

    /// Whether a worker that asks now gets a key.
    pub fn has_item(&self) -> bool {
        self.stage == Stage::Running && !self.queue.is_empty()
    }

    /// The latest time that the reconciler was given.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Each key that is not done: how it stands or, once the controller [drains](Self::drain), how it was left. In no
    /// particular order.
    ///
    /// The cost grows with the number of keys.
    pub fn report(&self) -> impl Iterator<Item = KeyReport<&K>> {
        self.records.iter().filter_map(|(slot, record)| {
            let failures = self.queue.num_requeues(&record.key);
            Some(KeyReport { key: &record.key, state: self.state(slot)?, failures })
        })
    }

    /// The counters of the queue. Keys that are debounced are not in the queue yet.
    pub fn stats(&self) -> QueueStats {
        self.queue.stats()
    }

    /// The times of the queue; see [`WorkQueueIn::metrics`]. A key that waits for its writes to be seen is not at work.
    pub fn metrics(&self, now: Instant) -> Option<QueueMetrics> {
        self.queue.metrics(now)
    }

    /// The parked keys, in no particular order.
    pub fn parked(&self) -> impl Iterator<Item = &K> {
        self.queue.parked()
    }

    /// The state of a key; `None` if it is done.
    fn state(&self, slot: Slot) -> Option<KeyState> {
        let record = &self.records[slot];
        let work = record.work.map(|work| &self.works[work]);
        match work.map(|work| (&work.phase, work)) {
            Some((Phase::Running, work)) => {
                return Some(KeyState::Running { since: work.since, deadline: self.deadline_of(work) });
            }
            Some((Phase::Held(_), work)) => {
                let until = work.timer.map_or(self.now, |place| self.holds.due(place));
                return Some(KeyState::Held { since: work.since, until, writes: work.writes.len() });
            }
            Some((Phase::Over, _)) | None => {}
        }
        if record.left.is_some() {
            return record.left;
        }
        let standing = self.queue.standing(&record.key).unwrap_or_default();
        match (record.timer, standing.due) {
            _ if standing.is_dirty => Some(KeyState::Ready),
            (Some(place), _) => Some(KeyState::Debounced { until: self.settling.due(place) }),
            (None, Some(until)) if standing.is_backing_off => Some(KeyState::BackingOff { until }),
            (None, Some(until)) => Some(KeyState::Delayed { until }),
            (None, None) => standing.is_parked.then_some(KeyState::Parked),
        }
    }

    fn deadline_of(&self, work: &Work) -> Option<Instant> {
        self.time_limit.as_ref().map(|limit| work.since + *limit)
    }

    pub(super) fn note_time(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.queue.note_time(self.now);
    }

    /// The work of this id.
    fn find(&self, id: HoldId) -> Option<&Work> {
        self.works.get(id.work).filter(|work| work.number == id.number)
    }

    /// The reconcile of the key begins.
    fn on_begun(&mut self, slot: Slot) -> HoldId {
        let slot = self.work_of(slot);
        let work = &mut self.works[slot];
        let record = &mut self.records[work.record];
        self.begun += 1;
        self.running += 1;
        (work.number, work.phase, work.since) = (self.begun, Phase::Running, self.now);
        work.causes = core::mem::take(&mut record.causes);
        if let Some(place) = record.timer {
            // Its reconcile sees the changes that were to be gathered.
            self.settling.disarm(&mut self.records, place);
        }
        HoldId { work: slot, number: self.begun }
    }

    /// The work of the key, which is over.
    fn work_of(&mut self, record: Slot) -> Slot {
        if let Some(work) = self.records[record].work {
            return work;
        }
        let Ok(work) = self.works.try_insert(Work::new(record)) else { unreachable!("no more works than keys") };
        self.records[record].work = Some(work);
        work
    }

    /// Forgets a key of which nothing is left to know.
    fn remove_if_blank(&mut self, slot: Slot) {
        let record = &self.records[slot];
        if record.is_blank() && !self.queue.knows(&record.key) {
            self.records.discard_hashed(record.hash, slot);
        }
        if self.records.len() == 0 {
            self.records.release();
            self.works.release();
            self.settling.release();
            self.holds.release();
        }
    }
}

impl<K: Hash + Eq + Clone, C, W, L: RateLimiter + Default, M: Mem> Default for ReconcilerIn<K, C, W, L, M> {
    /// A reconciler with the limiter's default, priorities without groups, and [`WhileDelayed::Promote`].
    /// [`ExponentialBackoff`](crate::queue::ExponentialBackoff) retries for ever, after 5 ms to 1000 s.
    fn default() -> Self {
        Self::new(WorkQueueIn::default().with_while_delayed(WhileDelayed::Promote), 0)
    }
}

summary!(impl[K: fmt::Debug, C, W, L: fmt::Debug, M: Mem] "Reconciler" for ReconcilerIn<K, C, W, L, M>, |it| {
    stage: it.stage, queue: it.queue,
});

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
