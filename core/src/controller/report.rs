use crate::time::Instant;

/// How one key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyReport<K> {
    /// The key.
    pub key: K,
    /// Its state now or, once the controller drains, the state in which it was left.
    pub state: KeyState,
    /// The number of its failures since it last succeeded.
    pub failures: u32,
}

impl<K: Clone> KeyReport<&K> {
    /// The same of a key of its own.
    pub fn cloned(self) -> KeyReport<K> {
        let Self { key, state, failures } = self;
        KeyReport { key: key.clone(), state, failures }
    }
}

/// The states of a key that a controller has to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyState {
    /// It changed, and is ready at this time unless it changes again.
    Debounced {
        /// The time.
        until: Instant,
    },
    /// It waits for a worker. In a drain: it changed, and was not reconciled since.
    Ready,
    /// It is with a worker.
    Running {
        /// When the worker got it.
        since: Instant,
        /// When the reconcile should have ended.
        deadline: Option<Instant>,
    },
    /// Its reconcile is over, and waits for its writes to be seen.
    Held {
        /// When the reconcile ended.
        since: Instant,
        /// When the wait ends at the latest.
        until: Instant,
        /// The number of writes that were not seen.
        writes: usize,
    },
    /// It is reconciled again at this time, as its last reconcile requested.
    Delayed {
        /// The time.
        until: Instant,
    },
    /// It failed, and is reconciled again at this time.
    BackingOff {
        /// The time.
        until: Instant,
    },
    /// It failed too often, or for good, and is reconciled again when it changes.
    Parked,
    /// Its reconcile failed, or was dropped, while the controller was drained.
    Unfinished,
}

impl KeyState {
    /// Whether the last reconcile has succeeded, and requested the next one.
    pub fn is_requeued(&self) -> bool {
        matches!(self, Self::Delayed { .. })
    }
}
