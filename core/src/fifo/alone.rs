//! A delta that waits alone, which is the usual one: it needs no node, no hash and no place in an index.

use super::DeltaFifoIn;
use crate::storage::sealed::Optional;
use crate::storage::{Keyed, Mem};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Whether nothing waits and nothing is staged, and there is room for a delta.
    pub(super) fn is_idle(&self) -> bool {
        self.alone.get().is_none() && self.nodes.len() == 0 && self.nodes.has_room()
    }

    /// Puts a delta that waits alone into a node: another one comes.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.alone.get().is_some() {
            self.queue_alone();
        }
    }

    /// The caller's code may panic before the delta is taken, and is not called from then on: no other key is there.
    #[cold]
    fn queue_alone(&mut self) {
        let Some((hash, bytes)) = self.alone.get().map(|delta| self.hash_and_bytes(delta)) else { return };
        let Some(delta) = self.alone.take() else { return };
        let inserted = self.try_insert_hashed(delta, self.arrived, hash, bytes);
        let Ok(slot) = inserted else { unreachable!("there was room when it came") };
        self.queued.push_back(&mut self.nodes, slot);
    }
}

#[cfg(test)]
#[cfg(feature = "alloc")]
mod tests {
    use crate::fifo::{DeltaFifo, Order};
    use crate::storage::Keyed;
    use core::cell::Cell;
    use core::panic::AssertUnwindSafe;

    std::thread_local! {
        static PANICS: Cell<bool> = const { Cell::new(false) };
    }

    #[derive(Clone)]
    struct Pod(u32);

    impl Keyed for Pod {
        type Key = u32;

        fn key(&self) -> &u32 {
            &self.0
        }

        fn bytes(&self) -> usize {
            assert!(!PANICS.get());
            1
        }
    }

    #[test]
    fn a_delta_that_waited_alone_was_lost_by_a_panic_when_the_next_one_came() {
        let mut fifo = DeltaFifo::new(Order::Arrival);
        fifo.add(Pod(1));
        PANICS.set(true);
        assert!(std::panic::catch_unwind(AssertUnwindSafe(|| fifo.add(Pod(2)))).is_err());
        PANICS.set(false);
        fifo.check();
        fifo.add(Pod(3));
        let keys = core::iter::from_fn(|| fifo.pop()).map(|popped| *popped.delta.object().key());
        assert!(keys.eq([1, 3]));
    }
}
