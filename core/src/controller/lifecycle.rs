use crate::storage::{Mem, Slab, Slot};
use crate::time::Instant;

/// The stages in the life of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Lifecycle {
    /// It waits for its sources to be synced, and hands out no keys.
    Starting,
    /// It hands out keys.
    Running,
    /// It hands out no keys any more, and waits for those that are with workers.
    Draining,
    /// No key is with a worker, or the deadline of the drain has passed.
    Stopped,
    /// It has never run: the deadline of the start passed before all sources had synced.
    NotSynced,
    /// The program's code [panicked](crate::sync) in it, so its keys are lost.
    Failed,
}

/// The id of a source of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceId {
    slot: Slot,
    number: u32,
}

/// [`Lifecycle`], with the times. The first one is zero in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Stage {
    Created,
    /// The deadline, if there is one.
    Starting(Option<Instant>),
    Running,
    Draining(Instant),
    Stopped,
    NotSynced,
    #[cfg_attr(not(feature = "alloc"), allow(dead_code, reason = "machines are shared on the heap"))]
    Failed,
}

impl Stage {
    pub(super) fn lifecycle(self) -> Lifecycle {
        match self {
            Self::Created | Self::Starting(_) => Lifecycle::Starting,
            Self::Running => Lifecycle::Running,
            Self::Draining(_) => Lifecycle::Draining,
            Self::Stopped => Lifecycle::Stopped,
            Self::NotSynced => Lifecycle::NotSynced,
            Self::Failed => Lifecycle::Failed,
        }
    }

    pub(super) fn timeout(self) -> Option<Instant> {
        match self {
            Self::Starting(deadline) => deadline,
            Self::Draining(deadline) => Some(deadline),
            Self::Created | Self::Running | Self::Stopped | Self::NotSynced | Self::Failed => None,
        }
    }

    /// Whether additions are refused, and no key is handed out any more.
    pub(super) fn is_closed(self) -> bool {
        matches!(self, Self::Draining(_)) || self.is_over()
    }

    /// Whether no reconcile is waited for any more.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Stopped | Self::NotSynced | Self::Failed)
    }
}

/// The sources of a controller's keys.
pub(super) struct Sources<M: Mem> {
    sources: Slab<Source, M>,
    /// The number of the source that was added last.
    last: u32,
    unsynced: usize,
}

struct Source {
    number: u32,
    is_synced: bool,
}

impl<M: Mem> Sources<M> {
    pub(super) const EMPTY: Self = Self { sources: Slab::EMPTY, last: 0, unsynced: 0 };

    pub(super) fn try_add(&mut self) -> Result<SourceId, M::Full<()>> {
        self.last = self.last.wrapping_add(1);
        let source = Source { number: self.last, is_synced: false };
        let slot = self.sources.try_insert(source).map_err(|full| M::map_full(full, drop))?;
        self.unsynced += 1;
        Ok(SourceId { slot, number: self.last })
    }

    pub(super) fn on_synced(&mut self, id: SourceId) {
        if self.find(id).is_some_and(|source| !source.is_synced) {
            self.sources[id.slot].is_synced = true;
            self.unsynced -= 1;
        }
    }

    pub(super) fn remove(&mut self, id: SourceId) {
        if self.find(id).is_some() {
            self.unsynced -= usize::from(!self.sources.remove(id.slot).is_synced);
        }
    }

    pub(super) fn have_synced(&self) -> bool {
        self.unsynced == 0
    }

    pub(super) fn unsynced(&self) -> impl Iterator<Item = SourceId> {
        let unsynced = self.sources.iter().filter(|(_, source)| !source.is_synced);
        unsynced.map(|(slot, source)| SourceId { slot, number: source.number })
    }

    fn find(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.slot).filter(|source| source.number == id.number)
    }
}
