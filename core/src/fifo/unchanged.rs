//! Items of a list that are as the cache has them: their places there take the place of nodes.
//!
//! Almost all items of a relist are. A run of them is one node, so that a relist takes memory for what has changed.

use super::node::{Arrival, Content, Folded, Node, Unfolded};
use super::{Delta, DeltaFifoIn, Order};
use crate::storage::{Keyed, Linked, Maybe, Mem, Slot};

impl<V: Keyed<Key: Clone> + Clone, M: Mem> DeltaFifoIn<V, M> {
    /// Stages an item that is the same state as the known object in a place of the consumer's cache. The delta is made
    /// when its turn comes, by [`unfold`](Self::unfold).
    ///
    /// It is for arrival order without coalescing. No delta of the key may be queued or staged, and no other item be
    /// staged for the place. The place must have that object until deltas behind this one are popped. When the stage is
    /// committed, the object must not be among the known ones, because the key is not found here. A resync before the
    /// place is unfolded tells its object once more.
    ///
    /// # Errors
    /// Where fixed memory is full.
    #[doc(hidden)]
    pub fn try_stage_known(&mut self, place: u32) -> Result<(), M::Full<()>> {
        debug_assert!(self.order == Order::Arrival && !self.coalescing, "each delta has to be found by its key");
        self.settle();
        if let Some(last) = self.staged.back()
            && let Content::Folded(run) = &mut self.nodes[last].content
            && run.first.checked_add(run.len) == Some(place)
        {
            run.len += 1;
            return Ok(());
        }
        let slot = self.try_insert_folded(Folded { first: place, len: 1 })?;
        self.staged.push_back(&mut self.nodes, slot);
        Ok(())
    }

    /// Takes a place out of the staged list. An object, if there is one, is staged where the place was; as the last item,
    /// if the place is not staged.
    ///
    /// # Errors
    /// The object, where fixed memory is full.
    #[doc(hidden)]
    pub fn try_unstage_known(&mut self, place: u32, instead: Option<V>) -> Result<(), M::Full<Option<V>>> {
        let Some((slot, run)) = self.staged_run(place) else { return self.try_stage_if_any(instead) };
        let [before, behind] = run.without(place);
        let room =
            self.nodes.try_room(|| self.nodes.len() + usize::from(instead.is_some()) + usize::from(behind.len > 0));
        if let Err(full) = room {
            return Err(M::map_full(full, |()| instead));
        }
        let mut last = slot;
        if let Some(object) = instead {
            let hash = self.nodes.hash(object.key());
            let found = self.nodes.find_hashed(hash, object.key());
            let node = Node::new(Content::Delta(Delta::Replaced(object)), hash);
            last =
                self.try_link_staged(found, node).map_err(|full| M::map_full(full, |node| Some(node.into_object())))?;
            self.staged.insert_behind(&mut self.nodes, slot, last);
        }
        if behind.len > 0 {
            let rest = self.try_insert_folded(behind).map_err(|full| M::map_full(full, |()| None))?;
            self.staged.insert_behind(&mut self.nodes, last, rest);
        }
        self.nodes[slot].content = Content::Folded(before);
        if before.len == 0 {
            self.staged.unlink(&mut self.nodes, slot);
            self.nodes.remove_unfound(slot);
        }
        Ok(())
    }

    fn try_stage_if_any(&mut self, object: Option<V>) -> Result<(), M::Full<Option<V>>> {
        object.map_or(Ok(()), |object| self.try_stage(object).map_err(|full| M::map_full(full, Some)))
    }

    /// Makes a delta of the first place, if the front of the queue is folded: [`front`](Self::front) and
    /// [`pop`](Self::pop) return `None` there. `known` gives the object in a place. One that is not there is left out.
    ///
    /// The delta needs no node, so fixed memory is never full. It is found by its key as little as a folded one.
    #[doc(hidden)]
    pub fn unfold(&mut self, known: impl Fn(u32) -> Option<V>) {
        while self.unfolded.as_ref().is_none()
            && let Some(slot) = self.queued.front()
            && let Content::Folded(run) = self.nodes[slot].content
        {
            let (object, arrival) = (known(run.first), self.arrival(slot));
            match object.zip(arrival) {
                Some((object, arrival)) => {
                    self.unfolded = Maybe::Just(Unfolded { delta: Delta::Replaced(object), arrival });
                }
                None => self.initial = self.initial.saturating_sub(1),
            }
            self.shorten(slot);
        }
    }

    /// Takes the first place out of the run at the front.
    fn shorten(&mut self, slot: Slot) {
        let Content::Folded(run) = &mut self.nodes[slot].content else { return };
        (run.first, run.len) = (run.first + 1, run.len - 1);
        if run.len > 0 {
            self.folded -= 1;
            return;
        }
        self.queued.unlink(&mut self.nodes, slot);
        self.nodes.remove_unfound(slot);
        self.release_if_empty();
    }

    /// Lets a staged run wait; says whether it is one.
    pub(super) fn attach_folded(&mut self, slot: Slot) -> bool {
        let Some(run) = self.nodes[slot].folded() else { return false };
        self.nodes[slot].arrival = Some(Arrival::new(self.arrived));
        self.folded += run.len() - 1;
        true
    }

    fn try_insert_folded(&mut self, run: Folded) -> Result<Slot, M::Full<()>> {
        let node = Linked::new(Node::new(Content::Folded(run), 0));
        self.nodes.try_insert_unfound(node).map_err(|full| M::map_full(full, drop))
    }

    fn staged_run(&self, place: u32) -> Option<(Slot, Folded)> {
        let mut runs = self.staged.iter(&self.nodes).filter_map(|slot| Some((slot, self.nodes[slot].folded()?)));
        runs.find(|(_, run)| (run.first..run.first + run.len).contains(&place))
    }
}

#[cfg(test)]
#[cfg(all(feature = "alloc", feature = "fixed"))]
mod tests {
    use super::*;
    use crate::fifo::Order;
    use alloc::vec::Vec;

    crate::storage::in_both_memories!(
        a_relist_makes_one_node_for_all_that_has_not_changed,
        what_is_folded_has_its_place_between_changed_items,
        a_place_leaves_the_staged_list_wherever_it_is,
        a_place_without_an_object_is_left_out_and_counts_for_the_sync,
        what_came_after_a_folded_delta_stays_behind_it,
        a_list_that_breaks_off_forgets_what_was_folded,
        a_run_is_unfolded_although_fixed_memory_is_full,
        a_panic_in_the_middle_of_unfolding_leaves_no_key_behind,
    );

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Pod(u32, char);

    impl Keyed for Pod {
        type Key = u32;

        fn key(&self) -> &u32 {
            &self.0
        }

        fn bytes(&self) -> usize {
            1
        }
    }

    /// What the cache has in a place.
    fn known(place: u32) -> Option<Pod> {
        Some(Pod(place, 'k'))
    }

    struct Fifo<M: Mem>(DeltaFifoIn<Pod, M>);

    impl<M: Mem> Fifo<M> {
        fn new() -> Self {
            Self(DeltaFifoIn::new(Order::Arrival))
        }

        fn known(&mut self, places: core::ops::Range<u32>) {
            places.for_each(|place| assert!(self.0.try_stage_known(place).is_ok()));
            self.0.check();
        }

        fn instead(&mut self, place: u32, pod: Option<Pod>) {
            assert!(self.0.try_unstage_known(place, pod).is_ok());
            self.0.check();
        }

        fn stage(&mut self, pod: Pod) {
            assert!(self.0.try_stage(pod).is_ok());
        }

        fn commit(&mut self) {
            assert!(self.0.try_commit_stage(&()).is_ok());
            self.0.check();
        }

        fn unfold(&mut self) {
            self.0.unfold(known);
            self.0.check();
        }

        fn drain(&mut self) -> Vec<Delta<Pod>> {
            self.drain_of(known)
        }

        fn drain_of(&mut self, known: impl Fn(u32) -> Option<Pod>) -> Vec<Delta<Pod>> {
            let mut popped = Vec::new();
            loop {
                self.0.unfold(&known);
                let Some(next) = self.0.pop() else { return popped };
                assert_eq!((next.more, next.initial), (false, next.initial));
                self.0.check();
                popped.push(next.delta);
            }
        }

        /// The keys of all that is popped.
        fn keys(&mut self) -> Vec<u32> {
            self.drain().iter().map(|delta| *delta.object().key()).collect()
        }
    }

    fn a_relist_makes_one_node_for_all_that_has_not_changed<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..1000);
        assert_eq!(fifo.0.nodes.len(), 1);
        fifo.commit();
        assert_eq!((fifo.0.len(), fifo.0.nodes.len(), fifo.0.bytes(), fifo.0.is_empty()), (1000, 1, 0, false));
        assert!(fifo.0.front().is_none() && fifo.0.pop().is_none(), "it is folded");
        assert_eq!(fifo.0.oldest(), Some(1));
    }

    fn what_is_folded_has_its_place_between_changed_items<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..2);
        fifo.stage(Pod(7, 'n'));
        fifo.known(5..6);
        fifo.known(3..5);
        fifo.commit();
        assert_eq!(fifo.0.len(), 6);
        fifo.unfold();
        assert_eq!((fifo.0.front(), fifo.0.len()), (Some(&Delta::Replaced(Pod(0, 'k'))), 6));
        assert_eq!(fifo.keys(), [0, 1, 7, 5, 3, 4]);
        assert!(fifo.0.has_synced() && fifo.0.is_empty());
    }

    fn a_place_leaves_the_staged_list_wherever_it_is<M: Mem>() {
        let new = |place| Some(Pod(place, 'n'));
        for (place, instead, left) in [
            (0, None, [1, 2, 3].as_slice()),
            (1, None, &[0, 2, 3]),
            (3, None, &[0, 1, 2]),
            (0, new(0), &[0, 1, 2, 3]),
            (2, new(2), &[0, 1, 2, 3]),
            (3, new(3), &[0, 1, 2, 3]),
            (9, None, &[0, 1, 2, 3]),
            (9, new(9), &[0, 1, 2, 3, 9]),
        ] {
            let mut fifo = Fifo::<M>::new();
            fifo.known(0..4);
            fifo.instead(place, instead);
            assert_eq!(fifo.0.newest(&place), instead.as_ref());
            fifo.commit();
            assert_eq!(fifo.keys(), left, "without {place}");
        }
        let mut fifo = Fifo::<M>::new();
        fifo.known(4..5);
        fifo.instead(4, None);
        fifo.commit();
        assert!(fifo.0.is_empty() && fifo.0.has_synced());
    }

    fn a_place_without_an_object_is_left_out_and_counts_for_the_sync<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..3);
        fifo.commit();
        let popped = fifo.drain_of(|place| known(place).filter(|_| place != 1));
        let keys: Vec<u32> = popped.iter().map(|delta| *delta.object().key()).collect();
        assert_eq!((keys, fifo.0.has_synced()), ([0, 2].to_vec(), true));
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..3);
        fifo.commit();
        fifo.0.unfold(|_| None);
        assert!(fifo.0.is_empty() && fifo.0.has_synced());
    }

    fn what_came_after_a_folded_delta_stays_behind_it<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..2);
        fifo.commit();
        assert!(fifo.0.try_update(Pod(0, 'n')).is_ok());
        fifo.stage(Pod(1, 'n'));
        fifo.unfold();
        assert_eq!(fifo.0.newest(&1), Some(&Pod(1, 'n')), "what is staged is newer");
        assert_eq!(
            fifo.drain(),
            [Delta::Replaced(Pod(0, 'k')), Delta::Replaced(Pod(1, 'k')), Delta::Updated(Pod(0, 'n'))]
        );
        fifo.commit();
        assert_eq!(fifo.drain(), [Delta::Replaced(Pod(1, 'n'))]);
    }

    fn a_list_that_breaks_off_forgets_what_was_folded<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..5);
        fifo.stage(Pod(9, 'n'));
        fifo.known(5..9);
        fifo.0.discard_stage();
        fifo.0.check();
        assert_eq!((fifo.0.nodes.len(), fifo.0.len()), (0, 0));
    }

    fn a_run_is_unfolded_although_fixed_memory_is_full<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..1000);
        fifo.commit();
        (1000..1063).for_each(|key| assert!(fifo.0.try_update(Pod(key, 'n')).is_ok()));
        assert!(fifo.keys().into_iter().eq(0..1063));
        assert!(fifo.0.has_synced() && fifo.0.is_empty());
    }

    fn a_panic_in_the_middle_of_unfolding_leaves_no_key_behind<M: Mem>() {
        let mut fifo = Fifo::<M>::new();
        fifo.known(0..3);
        fifo.commit();
        fifo.unfold();
        assert!(fifo.0.pop().is_some());
        let unfold = || fifo.0.unfold(|_| panic!("a clone that fails"));
        assert!(std::panic::catch_unwind(core::panic::AssertUnwindSafe(unfold)).is_err());
        fifo.0.check();
        assert_eq!((fifo.keys(), fifo.0.nodes.len()), ([1, 2].to_vec(), 0));
    }
}
