use super::node::Node;
use super::*;
use crate::storage::{Fixed, Heap, Keyed, KnownObjects, Mem};
use alloc::vec::Vec;
use std::collections::BTreeMap;

crate::storage::in_both_memories!(
    a_watch_event_before_any_list_counts_as_synced,
    the_initial_list_is_synced_with_its_last_pop,
    only_the_first_list_decides_what_is_initial,
    an_empty_first_list_is_synced_at_once,
    what_is_queued_is_delivered_after_close,
    by_key_a_queued_key_keeps_its_place,
    by_key_two_deletions_in_a_row_become_one,
    by_key_deleting_what_nobody_has_is_ignored,
    by_key_inferred_deletions_come_last_and_count_as_initial,
    by_key_a_pop_in_pieces_keeps_what_arrives_in_between,
    a_list_after_a_queued_deletion_brings_the_object_back,
    an_object_that_is_only_queued_gets_one_tombstone,
    by_arrival_every_delta_is_queued,
    by_arrival_inferred_deletions_come_before_the_items,
    by_arrival_a_key_listed_twice_is_delivered_twice,
    a_resync_leaves_out_what_is_queued,
    a_list_that_breaks_off_is_never_seen,
    a_queued_key_that_the_list_has_is_not_deleted,
    a_key_that_is_present_is_not_deleted,
    an_unreadable_item_forbids_inferring_deletions,
    a_streamed_list_shows_the_last_state_of_each_key,
    the_newest_object_is_the_staged_one,
    what_waits_alone_is_seen_as_any_other,
    what_waits_alone_keeps_its_place_before_what_comes,
    coalesced_the_newest_state_takes_the_oldest_place,
    coalesced_a_deletion_stays_before_what_came_after_it,
    coalesced_what_came_and_went_behind_a_deletion_is_never_told,
    coalesced_a_list_is_put_into_what_is_queued,
    coalesced_the_initial_list_keeps_its_end,
);

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pod(char, u32);

impl Keyed for Pod {
    type Key = char;

    fn key(&self) -> &char {
        &self.0
    }

    fn bytes(&self) -> usize {
        self.1 as usize
    }
}

#[derive(Default)]
struct Known(BTreeMap<char, Pod>);

impl KnownObjects<Pod> for Known {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a Pod>
    where
        Pod: 'a,
    {
        self.0.values()
    }

    fn is_known(&self, key: &char) -> bool {
        self.0.contains_key(key)
    }
}

fn known<const N: usize>(pods: [Pod; N]) -> Known {
    Known(pods.into_iter().map(|pod| (pod.0, pod)).collect())
}

/// The operations of the tests, checked, in memory that never is full here.
struct Fifo<M: Mem>(DeltaFifoIn<Pod, M>);

impl<M: Mem> Fifo<M> {
    fn new(order: Order) -> Self {
        Self(DeltaFifoIn::new(order))
    }

    fn coalescing(order: Order) -> Self {
        Self(DeltaFifoIn::new(order).coalescing())
    }

    fn add(&mut self, pod: Pod) {
        self.checked(|fifo| fifo.try_add(pod).is_ok());
    }

    fn update(&mut self, pod: Pod) {
        self.checked(|fifo| fifo.try_update(pod).is_ok());
    }

    fn delete(&mut self, pod: Pod, known: &Known) {
        self.checked(|fifo| fifo.try_delete(pod, known).is_ok());
    }

    fn stage(&mut self, pod: Pod) {
        self.checked(|fifo| fifo.try_stage(pod).is_ok());
    }

    fn restage(&mut self, pod: Pod) {
        self.checked(|fifo| fifo.try_restage(pod).is_ok());
    }

    fn stage_present(&mut self, key: char) {
        self.checked(|fifo| fifo.try_stage_present(&key).is_ok());
    }

    fn commit(&mut self, known: &Known) {
        self.checked(|fifo| fifo.try_commit_stage(known).is_ok());
    }

    fn replace<const N: usize>(&mut self, pods: [Pod; N], known: &Known) {
        pods.into_iter().for_each(|pod| self.stage(pod));
        self.commit(known);
    }

    fn resync(&mut self, known: &Known) {
        self.checked(|fifo| fifo.try_resync(known).is_ok());
    }

    fn checked(&mut self, operation: impl FnOnce(&mut DeltaFifoIn<Pod, M>) -> bool) {
        assert!(operation(&mut self.0), "there is room");
        self.0.check();
    }

    fn pop(&mut self) -> Option<Popped<Pod>> {
        let popped = self.0.pop();
        self.0.check();
        popped
    }

    fn drain(&mut self) -> Vec<Delta<Pod>> {
        core::iter::from_fn(|| self.pop()).map(|popped| popped.delta).collect()
    }
}

use Delta::{Added, Deleted, Replaced, Sync, Tombstone, Updated};

const BOTH: [Order; 2] = [Order::Arrival, Order::ByKey];

/// A2
fn a_watch_event_before_any_list_counts_as_synced<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        assert!(!fifo.0.has_synced());
        fifo.add(Pod('a', 1));
        assert!(fifo.0.has_synced());
        let mut fifo = Fifo::<M>::new(order);
        fifo.delete(Pod('a', 1), &known([]));
        assert!(fifo.0.has_synced(), "even one that was ignored (D5)");
    }
}

/// A2, A4
fn the_initial_list_is_synced_with_its_last_pop<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.replace([Pod('a', 1), Pod('b', 2)], &known([]));
        fifo.add(Pod('c', 3));
        let flags = [(); 3].map(|()| (fifo.pop().unwrap().initial, fifo.0.has_synced()));
        assert_eq!(flags, [(true, false), (true, true), (false, true)], "{order:?}");
    }
}

/// A3
fn only_the_first_list_decides_what_is_initial<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.replace([Pod('a', 1)], &known([]));
        fifo.replace([Pod('b', 2), Pod('c', 3)], &known([]));
        while fifo.pop().unwrap().more {}
        assert!(fifo.0.has_synced() && !fifo.0.is_empty(), "{order:?}");
    }
}

/// A2
fn an_empty_first_list_is_synced_at_once<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.replace([], &known([]));
        assert!(fifo.0.has_synced());
    }
}

/// A5
fn what_is_queued_is_delivered_after_close<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.add(Pod('a', 1));
        fifo.0.close();
        assert!(fifo.0.is_closed());
        assert_eq!(fifo.drain(), [Added(Pod('a', 1))]);
    }
}

fn what_waits_alone_is_seen_as_any_other<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.add(Pod('a', 1));
        fifo.0.check();
        assert_eq!((fifo.0.len(), fifo.0.is_empty(), fifo.0.bytes()), (1, false, 1));
        assert_eq!((fifo.0.oldest(), fifo.0.oldest_after_pop()), (Some(1), None));
        assert_eq!((fifo.0.newest(&'a'), fifo.0.newest(&'b')), (Some(&Pod('a', 1)), None));
        assert_eq!(fifo.0.front(), Some(&Added(Pod('a', 1))));
        assert!(fifo.0.waiting().eq([&Added(Pod('a', 1))]));
        assert_eq!(fifo.drain(), [Added(Pod('a', 1))]);
        assert_eq!((fifo.0.len(), fifo.0.is_empty(), fifo.0.bytes(), fifo.0.oldest()), (0, true, 0, None));
    }
}

fn what_waits_alone_keeps_its_place_before_what_comes<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.add(Pod('a', 1));
        fifo.add(Pod('b', 2));
        assert!(fifo.0.waiting().eq([&Added(Pod('a', 1)), &Added(Pod('b', 2))]));
        assert_eq!((fifo.0.oldest(), fifo.0.oldest_after_pop(), fifo.0.bytes()), (Some(1), Some(2), 3));
        assert_eq!(fifo.drain(), [Added(Pod('a', 1)), Added(Pod('b', 2))]);
        fifo.add(Pod('c', 3));
        assert!(fifo.0.try_stage(Pod('d', 4)).is_ok());
        assert_eq!((fifo.0.len(), fifo.0.bytes()), (1, 3), "what is staged does not wait");
        assert!(fifo.0.waiting().eq([&Added(Pod('c', 3))]));
        fifo.0.check();
    }
}

/// D1, D2, D3
fn by_key_a_queued_key_keeps_its_place<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::ByKey);
    fifo.add(Pod('a', 1));
    fifo.add(Pod('b', 2));
    fifo.update(Pod('a', 3));
    let popped = [(); 3].map(|()| fifo.pop().map(|popped| (popped.delta, popped.more)).unwrap());
    assert_eq!(popped, [(Added(Pod('a', 1)), true), (Updated(Pod('a', 3)), false), (Added(Pod('b', 2)), false)]);
    fifo.add(Pod('b', 4));
    fifo.add(Pod('a', 5));
    assert_eq!(fifo.drain(), [Added(Pod('b', 4)), Added(Pod('a', 5))], "popped and added again is last");
}

/// D4
fn by_key_two_deletions_in_a_row_become_one<M: Mem>() {
    let all = known([Pod('a', 0)]);
    let mut fifo = Fifo::<M>::new(Order::ByKey);
    fifo.delete(Pod('a', 1), &all);
    fifo.delete(Pod('a', 2), &all);
    assert_eq!(fifo.drain(), [Deleted(Pod('a', 1))], "of two that were seen, the first");
    fifo.replace([], &all);
    fifo.delete(Pod('a', 3), &all);
    assert_eq!(fifo.drain(), [Deleted(Pod('a', 3))], "seen after inferred");
    fifo.delete(Pod('a', 4), &all);
    fifo.replace([], &all);
    assert_eq!(fifo.drain(), [Deleted(Pod('a', 4))], "inferred after seen");
    fifo.update(Pod('a', 5));
    fifo.update(Pod('a', 5));
    assert_eq!(fifo.drain().len(), 2, "nothing else is merged");
}

/// D5
fn by_key_deleting_what_nobody_has_is_ignored<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::ByKey);
    fifo.delete(Pod('a', 1), &known([]));
    assert!(fifo.0.is_empty());
    fifo.delete(Pod('a', 1), &known([Pod('a', 0)]));
    fifo.add(Pod('b', 2));
    fifo.delete(Pod('b', 3), &known([]));
    assert_eq!(fifo.drain(), [Deleted(Pod('a', 1)), Added(Pod('b', 2)), Deleted(Pod('b', 3))]);
}

/// A1 (a tombstone has its object's key), D6, D9
fn by_key_inferred_deletions_come_last_and_count_as_initial<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::ByKey);
    fifo.replace([Pod('c', 3), Pod('c', 4)], &known([Pod('a', 1), Pod('c', 2)]));
    let popped: Vec<_> = core::iter::from_fn(|| fifo.pop()).map(|popped| (popped.delta, popped.initial)).collect();
    assert_eq!(popped, [(Replaced(Pod('c', 3)), true), (Replaced(Pod('c', 4)), true), (Tombstone(Pod('a', 1)), true)]);
    assert!(fifo.0.has_synced(), "two keys, three deltas");
}

/// What client-go cannot be asked: its pop takes all deltas of a key at once.
fn by_key_a_pop_in_pieces_keeps_what_arrives_in_between<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::ByKey);
    fifo.add(Pod('a', 1));
    fifo.update(Pod('a', 2));
    fifo.add(Pod('b', 3));
    assert!(fifo.pop().unwrap().more);
    fifo.update(Pod('a', 4));
    fifo.resync(&known([Pod('a', 1)]));
    assert_eq!(fifo.drain(), [Updated(Pod('a', 2)), Updated(Pod('a', 4)), Added(Pod('b', 3))]);
}

/// D8 (kubernetes#83810)
fn a_list_after_a_queued_deletion_brings_the_object_back<M: Mem>() {
    for order in BOTH {
        let all = known([Pod('a', 0)]);
        let mut fifo = Fifo::<M>::new(order);
        fifo.delete(Pod('a', 1), &all);
        fifo.replace([Pod('a', 2)], &all);
        assert_eq!(fifo.drain(), [Deleted(Pod('a', 1)), Replaced(Pod('a', 2))], "{order:?}");
    }
}

/// D6, D7, R3: `ReplaceMakesDeletionsForObjectsOnlyInQueue`
fn an_object_that_is_only_queued_gets_one_tombstone<M: Mem>() {
    for order in BOTH {
        let none = known([]);
        let mut fifo = Fifo::<M>::new(order);
        fifo.add(Pod('a', 1));
        fifo.delete(Pod('a', 2), &none);
        fifo.add(Pod('a', 3));
        fifo.replace([], &none);
        fifo.replace([], &none);
        let expected = [Added(Pod('a', 1)), Deleted(Pod('a', 2)), Added(Pod('a', 3)), Tombstone(Pod('a', 3))];
        assert_eq!(fifo.drain(), expected, "{order:?}");
    }
}

/// R1
fn by_arrival_every_delta_is_queued<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::Arrival);
    fifo.delete(Pod('a', 1), &known([]));
    fifo.add(Pod('b', 2));
    fifo.delete(Pod('a', 3), &known([]));
    fifo.update(Pod('b', 4));
    let expected = [Deleted(Pod('a', 1)), Added(Pod('b', 2)), Deleted(Pod('a', 3)), Updated(Pod('b', 4))];
    assert_eq!(fifo.drain(), expected);
}

/// R3, T7
fn by_arrival_inferred_deletions_come_before_the_items<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::Arrival);
    for pod in [Pod('y', 1), Pod('x', 2), Pod('y', 3)] {
        fifo.add(pod);
    }
    fifo.replace([Pod('d', 5), Pod('c', 4)], &known([Pod('a', 0), Pod('b', 0), Pod('x', 0), Pod('c', 0)]));
    let tail = fifo.drain().split_off(3);
    let buried = [Tombstone(Pod('y', 3)), Tombstone(Pod('x', 2)), Tombstone(Pod('a', 0)), Tombstone(Pod('b', 0))];
    assert_eq!(tail[..4], buried, "the queued keys as they came, then the known ones");
    assert_eq!(tail[4..], [Replaced(Pod('d', 5)), Replaced(Pod('c', 4))]);
}

/// R4
fn by_arrival_a_key_listed_twice_is_delivered_twice<M: Mem>() {
    let mut fifo = Fifo::<M>::new(Order::Arrival);
    fifo.replace([Pod('a', 1), Pod('a', 2)], &known([Pod('b', 0)]));
    let synced = [(); 3].map(|()| (fifo.pop().unwrap().delta, fifo.0.has_synced()));
    let expected = [(Tombstone(Pod('b', 0)), false), (Replaced(Pod('a', 1)), false), (Replaced(Pod('a', 2)), true)];
    assert_eq!(synced, expected);
}

/// D11, R5
fn a_resync_leaves_out_what_is_queued<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.delete(Pod('a', 2), &known([Pod('a', 1)]));
        fifo.resync(&known([Pod('a', 1), Pod('b', 1)]));
        assert_eq!(fifo.drain(), [Deleted(Pod('a', 2)), Sync(Pod('b', 1))], "{order:?}");
    }
}

fn a_list_that_breaks_off_is_never_seen<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.update(Pod('a', 1));
        for pod in [Pod('a', 2), Pod('b', 3), Pod('b', 4)] {
            fifo.stage(pod);
        }
        fifo.stage_present('c');
        fifo.0.stage_unreadable();
        fifo.checked(|fifo| {
            fifo.discard_stage();
            true
        });
        fifo.replace([], &known([Pod('c', 0)]));
        assert_eq!(fifo.drain(), [Updated(Pod('a', 1)), Tombstone(Pod('a', 1)), Tombstone(Pod('c', 0))], "{order:?}");
    }
}

fn a_queued_key_that_the_list_has_is_not_deleted<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.update(Pod('a', 1));
        fifo.replace([Pod('a', 2)], &known([]));
        assert_eq!(fifo.drain(), [Updated(Pod('a', 1)), Replaced(Pod('a', 2))], "{order:?}");
    }
}

fn a_key_that_is_present_is_not_deleted<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.stage_present('a');
        fifo.stage(Pod('b', 2));
        fifo.stage_present('b');
        fifo.stage_present('c');
        fifo.stage(Pod('c', 3));
        fifo.commit(&known([Pod('a', 1), Pod('b', 1)]));
        let popped = [(); 2].map(|()| (fifo.pop().unwrap().delta, fifo.0.has_synced()));
        assert_eq!(popped, [(Replaced(Pod('b', 2)), false), (Replaced(Pod('c', 3)), true)], "{order:?}");
        assert!(fifo.pop().is_none());
    }
}

fn an_unreadable_item_forbids_inferring_deletions<M: Mem>() {
    for order in BOTH {
        let all = known([Pod('a', 1)]);
        let mut fifo = Fifo::<M>::new(order);
        fifo.0.stage_unreadable();
        fifo.replace([Pod('b', 2)], &all);
        assert_eq!(fifo.drain(), [Replaced(Pod('b', 2))]);
        fifo.replace([Pod('b', 2)], &all);
        assert_eq!(fifo.drain().len(), 2, "the next list infers again");
    }
}

/// F7: what changes or goes within the initial events of a watch-list is honoured.
fn a_streamed_list_shows_the_last_state_of_each_key<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        for pod in [Pod('a', 1), Pod('b', 2), Pod('a', 3), Pod('c', 4)] {
            fifo.restage(pod);
        }
        fifo.checked(|fifo| {
            fifo.unstage(&'b');
            fifo.unstage(&'z');
            true
        });
        fifo.commit(&known([]));
        assert_eq!(fifo.drain(), [Replaced(Pod('a', 3)), Replaced(Pod('c', 4))], "{order:?}");
    }
}

fn the_newest_object_is_the_staged_one<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::new(order);
        fifo.update(Pod('a', 1));
        fifo.update(Pod('a', 2));
        assert_eq!((fifo.0.newest(&'a'), fifo.0.newest(&'b')), (Some(&Pod('a', 2)), None));
        fifo.stage(Pod('a', 3));
        assert_eq!(fifo.0.newest(&'a'), Some(&Pod('a', 3)));
        fifo.0.discard_stage();
        fifo.stage_present('a');
        assert_eq!(fifo.0.newest(&'a'), Some(&Pod('a', 2)), "a key alone has no object");
    }
}

fn coalesced_the_newest_state_takes_the_oldest_place<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::coalescing(order);
        fifo.add(Pod('a', 1));
        fifo.update(Pod('b', 2));
        fifo.update(Pod('a', 3));
        fifo.update(Pod('b', 4));
        assert_eq!(fifo.drain(), [Added(Pod('a', 3)), Updated(Pod('b', 4))], "{order:?}");
        fifo.resync(&known([Pod('a', 3)]));
        fifo.update(Pod('a', 5));
        assert_eq!(fifo.drain(), [Updated(Pod('a', 5))], "a change is more than a resync");
    }
}

fn coalesced_a_deletion_stays_before_what_came_after_it<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::coalescing(order);
        fifo.update(Pod('a', 1));
        fifo.delete(Pod('a', 2), &known([]));
        fifo.add(Pod('a', 3));
        fifo.update(Pod('a', 4));
        let popped = [(); 2].map(|()| fifo.pop().map(|popped| (popped.delta, popped.more)).unwrap());
        assert_eq!(popped, [(Deleted(Pod('a', 2)), order == Order::ByKey), (Added(Pod('a', 4)), false)]);
        fifo.delete(Pod('a', 5), &known([Pod('a', 4)]));
        fifo.add(Pod('a', 6));
        assert_eq!(fifo.pop().unwrap().delta, Deleted(Pod('a', 5)));
        fifo.delete(Pod('a', 7), &known([]));
        assert_eq!(fifo.drain(), [Deleted(Pod('a', 7))], "what was popped is told apart from what waits");
    }
}

/// The consumer had the first object, so that one's deletion is told.
fn coalesced_what_came_and_went_behind_a_deletion_is_never_told<M: Mem>() {
    for order in BOTH {
        let all = known([Pod('a', 0)]);
        let mut fifo = Fifo::<M>::coalescing(order);
        fifo.delete(Pod('a', 1), &all);
        fifo.add(Pod('b', 2));
        fifo.add(Pod('a', 3));
        fifo.delete(Pod('a', 4), &all);
        fifo.delete(Pod('a', 5), &all);
        assert_eq!(fifo.drain(), [Deleted(Pod('a', 1)), Added(Pod('b', 2))], "{order:?}");
    }
}

fn coalesced_a_list_is_put_into_what_is_queued<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::coalescing(order);
        for pod in [Pod('a', 1), Pod('b', 2), Pod('c', 3)] {
            fifo.update(pod);
        }
        fifo.delete(Pod('c', 4), &known([]));
        fifo.replace([Pod('c', 5), Pod('a', 6), Pod('a', 7)], &known([Pod('c', 0)]));
        let mut deltas = fifo.drain();
        deltas.sort_by_key(|delta| delta.object().0);
        let expected = [Updated(Pod('a', 7)), Tombstone(Pod('b', 2)), Deleted(Pod('c', 4)), Replaced(Pod('c', 5))];
        assert_eq!(deltas, expected, "{order:?}");
    }
}

/// A3: what is withdrawn is not of the initial list.
fn coalesced_the_initial_list_keeps_its_end<M: Mem>() {
    for order in BOTH {
        let mut fifo = Fifo::<M>::coalescing(order);
        fifo.replace([Pod('a', 1), Pod('b', 2)], &known([]));
        fifo.delete(Pod('b', 3), &known([]));
        fifo.add(Pod('c', 4));
        fifo.add(Pod('b', 5));
        fifo.delete(Pod('b', 6), &known([]));
        let flags = [(); 3].map(|()| (fifo.pop().unwrap().initial, fifo.0.has_synced()));
        assert_eq!(flags, [(true, false), (true, true), (false, true)], "{order:?}");
        assert!(fifo.pop().is_none());
    }
}

/// With a bound on the keys, a queue of fixed size takes any number of changes.
#[test]
fn a_coalescing_fifo_of_twice_as_many_deltas_as_keys_is_never_full() {
    let mut fifo = DeltaFifoIn::<Pod, Fixed<4>>::new(Order::Arrival).coalescing();
    for version in 0..100 {
        for key in ['a', 'b'] {
            fifo.try_add(Pod(key, version)).unwrap();
            fifo.try_delete(Pod(key, version), &()).unwrap();
            fifo.try_update(Pod(key, version)).unwrap();
            fifo.check();
        }
    }
    assert_eq!(fifo.len(), 4);
}

/// R7
#[test]
fn the_queue_keeps_no_object_alive_that_it_has_let_go() {
    use alloc::sync::Arc;

    #[derive(Clone)]
    struct Held(Arc<u32>);

    impl Keyed for Held {
        type Key = u32;

        fn key(&self) -> &u32 {
            &self.0
        }
    }

    let object = Held(Arc::new(1));
    let mut fifo = DeltaFifoIn::<Held, Fixed<8>>::new(Order::Arrival);
    fifo.try_add(object.clone()).ok().unwrap();
    fifo.try_stage(object.clone()).ok().unwrap();
    assert_eq!(Arc::strong_count(&object.0), 3);
    fifo.discard_stage();
    fifo.pop();
    assert_eq!(Arc::strong_count(&object.0), 1);
    let mut fifo = fifo.coalescing();
    for _ in 0..3 {
        fifo.try_update(object.clone()).ok().unwrap();
    }
    assert_eq!(Arc::strong_count(&object.0), 2);
}

#[test]
fn a_full_fifo_gives_the_object_back_and_changes_nothing() {
    let mut fifo = DeltaFifoIn::<Pod, Fixed<2>>::new(Order::Arrival);
    assert!(!fifo.has_synced());
    fifo.try_stage(Pod('a', 1)).unwrap();
    fifo.try_stage(Pod('a', 2)).unwrap();
    assert_eq!(fifo.try_add(Pod('b', 3)).unwrap_err().0, Pod('b', 3));
    assert!(fifo.try_stage(Pod('b', 3)).is_err() && fifo.try_stage_present(&'b').is_err());
    assert!(!fifo.has_synced(), "what did not fit did not happen");
    fifo.check();
}

#[test]
fn a_commit_that_does_not_fit_is_not_half_done() {
    let all = known([Pod('a', 0), Pod('b', 0)]);
    let mut fifo = DeltaFifoIn::<Pod, Fixed<3>>::new(Order::Arrival);
    fifo.try_update(Pod('a', 1)).unwrap();
    fifo.try_stage(Pod('c', 2)).unwrap();
    assert!(fifo.try_commit_stage(&all).is_err());
    assert!(fifo.try_resync(&known([Pod('d', 0), Pod('e', 0)])).is_err());
    fifo.check();
    assert_eq!(fifo.pop().unwrap().delta, Updated(Pod('a', 1)));
    assert!(fifo.pop().is_none());
    fifo.try_commit_stage(&all).unwrap();
    let deltas: Vec<_> = core::iter::from_fn(|| fifo.pop()).map(|popped| popped.delta).collect();
    assert_eq!(deltas, [Tombstone(Pod('a', 0)), Tombstone(Pod('b', 0)), Replaced(Pod('c', 2))]);
}

#[test]
fn a_delta_costs_32_bytes_beside_the_handle_and_a_key_nothing() {
    use crate::object::ObjectHandle;
    use crate::storage::Linked;
    assert_eq!(size_of::<Linked<Node<ObjectHandle<()>, Heap>>>(), size_of::<ObjectHandle<()>>() + 32);
}
