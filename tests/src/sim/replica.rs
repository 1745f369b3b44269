//! A server's own copy of the store: the writes that its watch cache has seen.

use super::log::Log;

/// A watch cache: it may lag behind the store, and remembers events from some revision on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replica {
    applied: u64,
    oldest: u64,
    frozen: bool,
}

impl Replica {
    /// Up to which revision it has seen the store.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// The oldest revision from which it can tell what happened.
    #[must_use]
    pub fn oldest(&self, log: &Log) -> u64 {
        self.oldest.max(log.compacted())
    }

    /// Whether it is behind the store.
    #[must_use]
    pub fn is_behind(&self, log: &Log) -> bool {
        self.applied < log.revision()
    }

    /// Sees what has happened, unless it is frozen.
    pub fn follow(&mut self, log: &Log) {
        if !self.frozen {
            self.applied = log.revision();
        }
    }

    /// Sees nothing more, or goes on.
    pub fn freeze(&mut self, frozen: bool) {
        self.frozen = frozen;
    }

    /// Begins anew with the store as it is, remembering nothing of what was before.
    pub fn restart(&mut self, log: &Log) {
        *self = Self { applied: log.revision(), oldest: log.revision(), frozen: false };
    }
}
