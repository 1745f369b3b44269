//! Coalescing: a consumer that falls behind misses intermediate states, never the last one.
//!
//! With it a key has at most two deltas: `[X]`, or `[deletion, X]` where the object is there again. A newer state takes
//! the place of an older one, so the order between keys is that of their first deltas.

use super::node::{Content, Node};
use super::{Delta, DeltaFifoIn};
use crate::storage::{Keyed, Mem, Slot};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// The same queue, but with at most two deltas a key, so that the number of keys bounds it.
    ///
    /// Of the waiting states of an object only the newest stays, under the name of the oldest. So an object that was
    /// added and then changed is added. A deletion stays before the object that replaced it, so that a consumer sees
    /// the replacement. An object that was created and deleted while its predecessor's deletion waited is not reported.
    ///
    /// ```
    /// # use listwatch_core::fifo::{Delta, Order};
    /// # use listwatch_core::storage::Keyed;
    /// # use listwatch_core::DeltaFifo;
    /// # #[derive(Clone, Debug, PartialEq)]
    /// # struct Pod(&'static str, u64);
    /// # impl Keyed for Pod {
    /// #     type Key = &'static str;
    /// #     fn key(&self) -> &&'static str {
    /// #         &self.0
    /// #     }
    /// # }
    /// let mut fifo = DeltaFifo::new(Order::Arrival).coalescing();
    /// for version in 1..1000 {
    ///     fifo.update(Pod("a", version));
    /// }
    /// fifo.delete(Pod("a", 1000), &());
    /// fifo.add(Pod("a", 1001));
    /// assert_eq!(fifo.pop().unwrap().delta, Delta::Deleted(Pod("a", 1000)));
    /// assert_eq!(fifo.pop().unwrap().delta, Delta::Added(Pod("a", 1001)));
    /// assert!(fifo.is_empty());
    /// ```
    pub fn coalescing(mut self) -> Self {
        self.set_coalescing();
        self
    }

    /// As [`coalescing`](Self::coalescing), for a queue in a `static`. The queue must be empty.
    pub fn set_coalescing(&mut self) {
        debug_assert!(self.is_empty(), "coalescing begins with an empty queue");
        self.coalescing = true;
    }

    /// Puts a delta into the newest queued one of its key; gives it back where it needs a place of its own.
    pub(super) fn coalesce(&mut self, newest: Slot, delta: Delta<V>) -> Option<Delta<V>> {
        self.bytes -= self.nodes[newest].bytes();
        let own = self.merge(newest, delta);
        self.bytes += self.nodes.get(newest).map_or(0, |node| node.bytes());
        own
    }

    fn merge(&mut self, newest: Slot, delta: Delta<V>) -> Option<Delta<V>> {
        let node = &mut *self.nodes[newest];
        let (Content::Delta(held), before) = (&mut node.content, node.chain) else { return Some(delta) };
        match (held.is_deletion(), delta.is_deletion()) {
            (true, false) => return Some(delta),
            (true, true) => held.merge_deletion(delta),
            (false, false) => held.merge_state(delta),
            (false, true) => match before {
                Some(deletion) => self.withdraw(newest, deletion),
                None => *held = delta,
            },
        }
        None
    }

    /// Forgets an object that came and went after the deletion that waits before it.
    fn withdraw(&mut self, newest: Slot, deletion: Slot) {
        self.queued.unlink(&mut self.nodes, newest);
        let Node { hash, staged, .. } = self.nodes.remove_unfound(newest).into_record();
        self.nodes.redirect(hash, newest, Some(deletion));
        (self.nodes[deletion].chain, self.nodes[deletion].staged) = (None, staged);
    }
}

impl<V> Delta<V> {
    /// Of two deletions in a row one stays: the one that was seen rather than inferred, else the first.
    pub(super) fn merge_deletion(&mut self, newer: Self) {
        if let Self::Tombstone(_) = self {
            *self = newer;
        }
    }

    /// Takes over a newer state of an object that is there.
    fn merge_state(&mut self, newer: Self) {
        let of_kind = match self {
            Self::Added(_) => Self::Added,
            Self::Updated(_) => Self::Updated,
            Self::Replaced(_) => Self::Replaced,
            Self::Sync(_) | Self::Deleted(_) | Self::Tombstone(_) => return *self = newer,
        };
        *self = of_kind(newer.into_object());
    }
}
