//! Memory that grows: the operations that are never full.

use super::{EventLogIn, SubscriberId, SubscriptionConfig, Transition};
use crate::storage::{Heap, Versioned, never_full};
use crate::time::Instant;

impl<V: Versioned<Key: Clone> + Clone> EventLogIn<V, Heap> {
    /// As [`try_subscribe`](Self::try_subscribe), which never fails here.
    pub fn subscribe<'a>(
        &mut self,
        now: Instant,
        config: SubscriptionConfig<V, Heap>,
        objects: impl Iterator<Item = &'a V>,
    ) -> SubscriberId
    where
        V: 'a,
    {
        never_full(self.try_subscribe(now, config, objects))
    }

    /// As [`try_push`](Self::try_push), which never fails here.
    pub fn push(&mut self, now: Instant, transition: Transition<V>) {
        never_full(self.try_push(now, transition));
    }

    /// As [`try_resync`](Self::try_resync), which never fails here.
    pub fn resync<'a>(&mut self, id: SubscriberId, objects: impl Iterator<Item = &'a V>)
    where
        V: 'a,
    {
        never_full(self.try_resync(id, objects));
    }
}
