//! The orders in which ready keys are handed out.

use self::sealed::Sealed;
use super::record::Record;
use crate::storage::sealed::Empty;
use crate::storage::{Initially, Keyed, Linked, List, Mem, PassingTable, Slot};
use core::hash::{BuildHasher, Hasher};
use foldhash::fast::FixedState;

/// The order in which a queue hands out ready keys: [`Fifo`] or [`Lanes`]. Sealed.
///
/// The counterpart of client-go's `Queue[T]` interface. It is a type, so that a queue pays only for its own discipline.
pub trait Discipline<K>: Sealed {
    /// The discipline's part of a key's record.
    #[doc(hidden)]
    type Mark: Default;
    /// The ready keys.
    #[doc(hidden)]
    type Ready<M: Mem>: Empty;

    /// The mark of a key of which nothing is known yet.
    #[doc(hidden)]
    fn mark(&self, key: &K) -> Self::Mark;

    #[doc(hidden)]
    fn len<M: Mem>(ready: &Self::Ready<M>) -> usize;

    /// Adds a key that is not ready yet.
    #[doc(hidden)]
    fn push<M: Mem>(&self, ready: &mut Self::Ready<M>, records: &mut Records<K, Self::Mark, M>, slot: Slot);

    /// Takes the next key out.
    #[doc(hidden)]
    fn pop<M: Mem>(&self, ready: &mut Self::Ready<M>, records: &mut Records<K, Self::Mark, M>) -> Option<Slot>;
}

/// The records of a queue whose discipline marks them.
pub(super) type Records<K, T, M> = PassingTable<Linked<Record<K, T>, <M as Mem>::Slot>, M>;

/// First come, first served: client-go's default queue.
///
/// ```
/// use listwatch_core::WorkQueue;
///
/// let mut queue = WorkQueue::<&str>::default();
/// ["b", "a", "b"].into_iter().for_each(|key| _ = queue.add(key));
/// let order = std::iter::from_fn(|| {
///     let job = queue.poll_job()?;
///     let key = *queue.key(&job);
///     queue.done(job);
///     Some(key)
/// });
/// assert!(order.eq(["b", "a"]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fifo;

impl Sealed for Fifo {}

impl<K> Discipline<K> for Fifo {
    type Mark = ();
    type Ready<M: Mem> = List;

    #[inline]
    fn mark(&self, _: &K) {}

    #[inline]
    fn len<M: Mem>(ready: &List) -> usize {
        ready.len()
    }

    #[inline]
    fn push<M: Mem>(&self, ready: &mut List, records: &mut Records<K, (), M>, slot: Slot) {
        ready.push_back(records, slot);
    }

    #[inline]
    fn pop<M: Mem>(&self, ready: &mut List, records: &mut Records<K, (), M>) -> Option<Slot> {
        ready.pop_front(records)
    }
}

/// Keys by priority, and by turns between groups of keys. Neither a busy group nor a busy priority starves the others.
///
/// The next key is chosen by these rules:
///
/// 1. Of the priorities that have ready keys, the highest is served. A priority counts as one higher for every
///    [`aging`](Self::with_aging) keys that were handed out since it was last served or empty. If two count the same,
///    the lower one goes first. With the default of 16, each 17th key has the next lower priority, if both always have
///    some.
/// 2. Within a priority, the [groups](Self::with_groups) that have ready keys take turns, one key a turn. A group that
///    had none joins behind the others.
/// 3. Within a group it is first come, first served. A key that is
///    [raised](crate::queue::WorkQueueIn::try_add_with_priority) while it is ready joins its new priority as if it came
///    then.
///
/// Without groups it is priority alone, and without priorities turns alone; without both it is [`Fifo`].
///
/// ```
/// use core::hash::Hash;
/// use listwatch_core::queue::{ExponentialBackoff, Lanes, Priority};
/// use listwatch_core::{Key, WorkQueue};
///
/// let by_namespace = Lanes::<Key>::default().with_groups(|key, mut group| key.namespace().hash(&mut group));
/// let mut queue = WorkQueue::with_discipline(ExponentialBackoff::default(), by_namespace, 0);
/// for key in ["busy/a", "busy/b", "busy/c", "calm/a"] {
///     queue.add(Key::from(key));
/// }
/// queue.add_with_priority(Key::from("busy/c"), Priority::High);
///
/// let mut order = Vec::new();
/// while let Some(job) = queue.poll_job() {
///     order.push(queue.key(&job).to_string());
///     queue.done(job);
/// }
/// assert_eq!(order, ["busy/c", "busy/a", "calm/a", "busy/b"]);
/// ```
#[derive(Clone, Copy)]
pub struct Lanes<K> {
    aging: Initially<16>,
    group: Option<fn(&K, &mut dyn Hasher)>,
}

/// The priority of a key in [`Lanes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// For work that can wait, such as the objects of an initial list or a resync.
    Low,
    /// For keys without another priority.
    #[default]
    Normal,
    /// For work that should not wait for most other keys.
    High,
    /// For work that comes first.
    Urgent,
}

impl<K> Lanes<K> {
    /// Priorities that age by 16 keys, and no groups.
    pub const fn new() -> Self {
        Self { aging: Initially::new(16), group: None }
    }

    /// Raises a priority by one for every `keys` keys of other priorities that were handed out meanwhile. The default
    /// is 16; zero counts as one.
    #[must_use]
    pub const fn with_aging(mut self, keys: u32) -> Self {
        self.aging = Initially::new(if keys == 0 { 1 } else { keys as u64 });
        self
    }

    /// Puts keys in one group if `group` feeds the hasher the same for them. The groups take turns.
    ///
    /// The function is called for a key that is new to the queue, under the lock of a shared queue.
    #[must_use]
    pub const fn with_groups(mut self, group: fn(&K, &mut dyn Hasher)) -> Self {
        self.group = Some(group);
        self
    }

    /// Takes a ready key out.
    fn remove<M: Mem>(ready: &mut ReadyLanes<M>, records: &mut Records<K, Mark, M>, slot: Slot) {
        let Some(lane) = records[slot].mark.lane.take() else { return };
        ready.lanes[lane].keys.unlink(records, slot);
        ready.len -= 1;
        if ready.lanes[lane].keys.is_empty() {
            let level = &mut ready.levels[ready.lanes[lane].id.0 as usize];
            level.turns.unlink(&mut ready.lanes, lane);
            if level.turns.is_empty() {
                level.passed = 0;
            }
            ready.lanes.remove(lane);
        }
        if ready.lanes.len() == 0 {
            ready.lanes.release();
        }
    }

    /// Gives a key another priority, also if it is ready.
    pub(in crate::queue) fn prioritize<M: Mem>(
        &self,
        ready: &mut ReadyLanes<M>,
        records: &mut Records<K, Mark, M>,
        slot: Slot,
        priority: Priority,
    ) {
        let mark = &mut records[slot].mark;
        if mark.lane.is_none() || mark.priority == priority {
            mark.priority = priority;
            return;
        }
        Self::remove(ready, records, slot);
        records[slot].mark.priority = priority;
        self.push(ready, records, slot);
    }
}

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self::new()
    }
}

summary!(impl[K] "Lanes" for Lanes<K>, |it| { aging: it.aging });

impl<K> Sealed for Lanes<K> {}

impl<K> Discipline<K> for Lanes<K> {
    type Mark = Mark;
    type Ready<M: Mem> = ReadyLanes<M>;

    fn mark(&self, key: &K) -> Mark {
        let mut hasher = FixedState::with_seed(0).build_hasher();
        if let Some(group) = self.group {
            group(key, &mut hasher);
        }
        Mark { group: hasher.finish(), ..Mark::default() }
    }

    fn len<M: Mem>(ready: &ReadyLanes<M>) -> usize {
        ready.len
    }

    fn push<M: Mem>(&self, ready: &mut ReadyLanes<M>, records: &mut Records<K, Mark, M>, slot: Slot) {
        let Mark { priority, group, .. } = records[slot].mark;
        let lane = ready.lane((priority, group));
        ready.lanes[lane].keys.push_back(records, slot);
        records[slot].mark.lane = Some(lane);
        ready.len += 1;
    }

    fn pop<M: Mem>(&self, ready: &mut ReadyLanes<M>, records: &mut Records<K, Mark, M>) -> Option<Slot> {
        let level = ready.next_level(self.aging.get() as u32)?;
        let turns = &mut ready.levels[level].turns;
        let lane = turns.pop_front(&mut ready.lanes)?;
        turns.push_back(&mut ready.lanes, lane);
        let slot = ready.lanes[lane].keys.front()?;
        Self::remove(ready, records, slot);
        Some(slot)
    }
}

/// The lanes' part of a key's record.
#[derive(Debug, Default)]
pub struct Mark {
    pub(in crate::queue) priority: Priority,
    group: u64,
    /// Where the key is while it is ready.
    lane: Option<Slot>,
}

/// The ready keys, by priority and group. There are never more lanes than keys, so they always find room.
#[derive(Debug)]
pub struct ReadyLanes<M: Mem> {
    lanes: PassingTable<Linked<Lane>, M>,
    levels: [Level; 4],
    len: usize,
}

/// The ready keys of one group at one priority; there is at least one.
#[derive(Debug)]
struct Lane {
    id: (Priority, u64),
    keys: List,
}

/// The lanes of one priority in the order of their turns.
#[derive(Debug)]
struct Level {
    turns: List,
    /// How many keys others were handed out since this one was served or empty.
    passed: u32,
}

impl<M: Mem> ReadyLanes<M> {
    fn lane(&mut self, id: (Priority, u64)) -> Slot {
        if let Some(lane) = self.lanes.find(&id) {
            return lane;
        }
        let lane = Lane { id, keys: List::EMPTY };
        let Ok(lane) = self.lanes.try_insert(Linked::new(lane)) else { unreachable!("no more lanes than keys") };
        self.levels[id.0 as usize].turns.push_back(&mut self.lanes, lane);
        lane
    }

    /// The number of the priority that is served next; it counts as served.
    fn next_level(&mut self, aging: u32) -> Option<usize> {
        let mut next = None;
        for (level, Level { turns, passed }) in self.levels.iter_mut().enumerate() {
            if turns.is_empty() {
                continue;
            }
            let counts_as = level as u32 + *passed / aging;
            *passed = passed.saturating_add(1);
            if next.is_none_or(|(highest, _)| counts_as > highest) {
                next = Some((counts_as, level));
            }
        }
        let (_, level) = next?;
        self.levels[level].passed = 0;
        Some(level)
    }
}

impl<M: Mem> Empty for ReadyLanes<M> {
    const EMPTY: Self = Self {
        lanes: PassingTable::<_, M>::with_seed(0),
        levels: [const { Level { turns: List::EMPTY, passed: 0 } }; 4],
        len: 0,
    };
}

impl Keyed for Lane {
    type Key = (Priority, u64);

    fn key(&self) -> &Self::Key {
        &self.id
    }
}

mod sealed {
    #[allow(missing_debug_implementations, reason = "never constructed")]
    pub trait Sealed {}
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests;
