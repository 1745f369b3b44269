use super::*;
use crate::storage::Fixed;
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;

crate::storage::in_both_memories!(
    an_update_moves_the_object_between_values,
    what_was_indexed_is_remembered_not_computed_again,
    a_value_finds_the_objects_and_their_keys,
    an_update_of_many_values_is_as_exact_as_one_of_few,
    a_value_that_no_object_has_is_gone,
    an_object_may_have_no_value_and_a_value_twice,
    a_new_index_holds_the_present_objects,
    a_removed_index_finds_nothing_and_the_others_stay,
    an_update_that_leaves_a_value_leaves_the_place,
    a_cleared_store_keeps_its_indexes,
    the_known_objects_are_the_stored_ones,
    an_index_function_that_panics_leaves_the_store_as_it_was,
    a_new_index_whose_function_panics_is_none,
);

/// Of no key, of unknown ones, and of more than are read; known ones are in shards and segments.
#[test]
fn what_is_read_ahead_stays_as_it_was() {
    let mut numbers = Indexer::<Number>::new();
    let by_parity = numbers.add_index(|number: &Number, emit: &mut dyn FnMut(&str)| emit(number.parity()));
    for len in [0, 10, FEW_OBJECTS + 1, 5_000] {
        (numbers.len()..len).for_each(|n| _ = numbers.insert(Number(n)));
        let keys: Vec<usize> = (0..3 * AHEAD).map(|n| n * 7919 % (2 * len + 1)).collect();
        (0..keys.len()).for_each(|from| numbers.read_ahead(&keys[from..]));
        assert!(numbers.iter().map(|number| number.0).eq(0..len));
        assert_eq!(numbers.by_index(by_parity, "even").count(), len.div_ceil(2));
    }
    numbers.check();
}

#[derive(Debug, PartialEq)]
struct Number(usize);

impl Number {
    fn parity(&self) -> &'static str {
        if self.0.is_multiple_of(2) { "even" } else { "odd" }
    }
}

impl Keyed for Number {
    type Key = usize;

    fn key(&self) -> &usize {
        &self.0
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Pod {
    name: &'static str,
    node: &'static str,
    labels: &'static [&'static str],
}

impl Keyed for Pod {
    type Key = &'static str;

    fn key(&self) -> &&'static str {
        &self.name
    }
}

fn pod(name: &'static str, node: &'static str, labels: &'static [&'static str]) -> Pod {
    Pod { name, node, labels }
}

fn by_node(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    emit(pod.node);
}

fn by_label(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    pod.labels.iter().for_each(|label| emit(label));
}

type IndexFn = fn(&Pod, &mut dyn FnMut(&str));

/// How each memory stores an index function.
trait Function: Mem {
    fn function(function: IndexFn) -> Self::IndexFn<Pod>;
}

impl Function for Heap {
    fn function(function: IndexFn) -> Self::IndexFn<Pod> {
        Box::new(function)
    }
}

impl<const N: usize> Function for Fixed<N> {
    fn function(function: IndexFn) -> Self::IndexFn<Pod> {
        function
    }
}

struct Pods<M: Mem> {
    store: IndexerIn<Pod, M>,
    node: IndexId,
    label: IndexId,
}

impl<M: Function> Pods<M> {
    fn new() -> Self {
        let mut store = IndexerIn::new();
        let [node, label] = [by_node, by_label].map(|f: IndexFn| add_index(&mut store, f));
        Self { store, node, label }
    }

    fn insert(&mut self, pod: Pod) -> Option<Pod> {
        let old = self.store.try_insert(pod).ok().unwrap();
        self.store.check();
        old
    }

    fn on(&self, node: &str) -> Vec<&str> {
        self.store.index_keys(self.node, node).copied().collect()
    }

    fn labelled(&self, label: &str) -> Vec<&str> {
        self.store.index_keys(self.label, label).copied().collect()
    }

    fn labels(&self) -> Vec<&str> {
        self.store.index_values(self.label).collect()
    }
}

fn add_index<M: Function>(store: &mut IndexerIn<Pod, M>, function: IndexFn) -> IndexId {
    store.try_add_index(M::function(function)).ok().unwrap()
}

/// S1, S2
fn an_update_moves_the_object_between_values<M: Function>() {
    let mut pods = Pods::<M>::new();
    assert_eq!(pods.insert(pod("a", "n1", &["x", "y"])), None);
    let old = pods.insert(pod("a", "n2", &["y", "z"]));
    assert_eq!(old, Some(pod("a", "n1", &["x", "y"])));
    assert_eq!((pods.on("n1"), pods.on("n2")), (Vec::new(), ["a"].to_vec()));
    assert_eq!(["x", "y", "z"].map(|label| pods.labelled(label).len()), [0, 1, 1]);
    assert_eq!(pods.store.get("a"), Some(&pod("a", "n2", &["y", "z"])));
}

/// S2: client-go computes the old values again, so an object that was changed in place stays under them for ever.
fn what_was_indexed_is_remembered_not_computed_again<M: Function>() {
    std::thread_local!(static MOVED: core::cell::Cell<bool> = const { core::cell::Cell::new(false) });

    let mut store = IndexerIn::<Pod, M>::new();
    let index = add_index(&mut store, |_, emit| emit(if MOVED.get() { "new" } else { "old" }));
    MOVED.set(false);
    assert!(store.try_insert(pod("a", "n1", &[])).is_ok());
    MOVED.set(true);
    assert!(store.try_insert(pod("a", "n1", &[])).is_ok());
    assert_eq!(store.index_values(index).collect::<Vec<_>>(), ["new"]);
    MOVED.set(false);
    store.remove("a");
    assert_eq!(store.index_values(index).count(), 0);
}

/// S6, but for the order, which is that of arrival; S12: what is read is what is stored, not a copy.
fn a_value_finds_the_objects_and_their_keys<M: Function>() {
    let mut pods = Pods::<M>::new();
    for name in ["c", "a", "b"] {
        pods.insert(pod(name, "n1", &["x"]));
    }
    assert_eq!(pods.on("n1"), ["c", "a", "b"]);
    let [found, stored] = [pods.store.by_index(pods.node, "n1").nth(1), pods.store.get("a")].map(Option::unwrap);
    assert!(core::ptr::eq(found, stored));
    assert_eq!((pods.on("n2").len(), pods.labels()), (0, ["x"].to_vec()));
}

/// Few values are compared, many are looked up.
fn an_update_of_many_values_is_as_exact_as_one_of_few<M: Function>() {
    const LABELS: &[&str] = &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let mut pods = Pods::<M>::new();
    for len in [7, 8, 7, 6, 9, 9, 8, 12, 0] {
        for from in [0, 1, 0] {
            let labels = LABELS.get(from..len).unwrap_or_default();
            pods.insert(pod("x", "n1", labels));
            let mut found = pods.labels();
            found.sort_unstable();
            assert_eq!(found, labels);
        }
    }
}

/// S3 (kubernetes#84959)
fn a_value_that_no_object_has_is_gone<M: Function>() {
    let mut pods = Pods::<M>::new();
    pods.insert(pod("a", "n1", &["x", "shared"]));
    pods.insert(pod("b", "n1", &["shared"]));
    pods.insert(pod("a", "n1", &["shared"]));
    assert_eq!(pods.labels(), ["shared"]);
    assert_eq!(pods.store.remove("a").unwrap().name, "a");
    assert_eq!(pods.labels(), ["shared"]);
    assert_eq!(pods.store.remove("a"), None);
    pods.store.remove("b");
    pods.store.check();
    assert!(pods.labels().is_empty());
}

/// S5
fn an_object_may_have_no_value_and_a_value_twice<M: Function>() {
    let mut pods = Pods::<M>::new();
    pods.insert(pod("a", "n1", &[]));
    pods.insert(pod("b", "n1", &["x", "x"]));
    pods.insert(pod("c", "n1", &["x"]));
    pods.insert(pod("c", "n1", &["x", "y", "x", "y"]));
    assert_eq!((pods.labelled("x"), pods.labelled("y")), (["b", "c"].to_vec(), ["c"].to_vec()));
    assert_eq!(pods.on("n1"), ["a", "b", "c"]);
}

/// S7
fn a_new_index_holds_the_present_objects<M: Function>() {
    let mut pods = Pods::<M>::new();
    pods.insert(pod("a", "n1", &["x"]));
    pods.insert(pod("b", "n2", &["x"]));
    let again = add_index(&mut pods.store, by_label);
    pods.store.check();
    assert_eq!(pods.store.by_index(again, "x").count(), 2);
    assert_eq!(pods.store.by_index(again, "n1").count(), 0, "a value belongs to its index");
}

/// S4: client-go's error about an unknown index.
fn a_removed_index_finds_nothing_and_the_others_stay<M: Function>() {
    let mut pods = Pods::<M>::new();
    pods.insert(pod("a", "n1", &["x"]));
    pods.store.remove_index(pods.label);
    pods.store.check();
    assert_eq!((pods.labelled("x").len(), pods.labels().len(), pods.on("n1")), (0, 0, ["a"].to_vec()));
    let other = add_index(&mut pods.store, by_label);
    assert_eq!((pods.labelled("x").len(), pods.store.by_index(other, "x").count()), (0, 1), "no id is used again");
}

/// The order that is promised.
fn an_update_that_leaves_a_value_leaves_the_place<M: Function>() {
    let mut pods = Pods::<M>::new();
    for name in ["a", "b", "c"] {
        pods.insert(pod(name, "n1", &["x"]));
    }
    pods.insert(pod("a", "n1", &["x", "y"]));
    assert_eq!((pods.on("n1"), pods.labelled("x")), (["a", "b", "c"].to_vec(), ["a", "b", "c"].to_vec()));
    pods.insert(pod("a", "n2", &["x"]));
    pods.insert(pod("a", "n1", &["x"]));
    assert_eq!((pods.on("n1"), pods.labelled("x")), (["b", "c", "a"].to_vec(), ["a", "b", "c"].to_vec()));
    assert_eq!(pods.store.iter().map(|pod| pod.name).collect::<Vec<_>>(), ["a", "b", "c"]);
}

fn a_cleared_store_keeps_its_indexes<M: Function>() {
    let mut pods = Pods::<M>::new();
    pods.insert(pod("a", "n1", &["x"]));
    pods.store.clear();
    pods.store.check();
    assert!(pods.store.is_empty() && pods.labels().is_empty());
    pods.insert(pod("a", "n1", &["x"]));
    assert_eq!(pods.labelled("x"), ["a"]);
}

fn the_known_objects_are_the_stored_ones<M: Function>() {
    let mut pods = Pods::<M>::new();
    pods.insert(pod("a", "n1", &[]));
    pods.insert(pod("b", "n1", &[]));
    assert_eq!(pods.store.known().map(|pod| pod.name).collect::<Vec<_>>(), ["a", "b"]);
    assert!(pods.store.is_known(&"b") && !pods.store.is_known(&"c"));
}

/// S9
#[test]
fn a_replace_drops_what_it_does_not_have() {
    let mut pods = Pods::<Heap>::new();
    for name in ["a", "b", "c"] {
        pods.insert(pod(name, "n1", &["x"]));
    }
    pods.store.replace([pod("d", "n2", &[]), pod("b", "n1", &["z"]), pod("b", "n1", &["y"])]);
    pods.store.check();
    assert_eq!(pods.store.iter().map(|pod| pod.name).collect::<Vec<_>>(), ["b", "d"]);
    assert_eq!((pods.labels(), pods.on("n1")), (["y"].to_vec(), ["b"].to_vec()));
    pods.store.replace([]);
    pods.store.check();
    assert!(pods.store.is_empty());
}

/// A label's name is only known at run time.
#[test]
fn an_index_function_on_the_heap_may_capture() {
    let mut store = IndexerIn::<Pod, Heap>::new();
    let wanted = alloc::string::String::from("x");
    let only = store.add_index(move |pod, emit| pod.labels.iter().filter(|l| **l == wanted).for_each(|l| emit(l)));
    store.insert(pod("a", "n1", &["x", "y"]));
    assert_eq!(store.index_values(only).collect::<Vec<_>>(), ["x"]);
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let mut pods = Pods::<Fixed<4>>::new();
    pods.insert(pod("a", "n1", &["x"]));
    assert!(pods.store.try_insert(pod("b", "n1", &["x", "y"])).is_err(), "two and three are more than four");
    pods.store.check();
    assert_eq!((pods.store.len(), pods.labels()), (1, ["x"].to_vec()));
    pods.insert(pod("b", "n1", &["x"]));
    assert_eq!(pods.insert(pod("b", "n2", &["z"])).unwrap().node, "n1", "the places of the old values are free");
    assert!(pods.store.try_insert(pod("b", "n2", &["z", "y"])).is_err());
    assert!(pods.store.try_add_index(by_node).is_err());
    pods.store.check();
    assert_eq!(pods.store.get("b").unwrap().labels, ["z"]);
}

#[test]
fn an_index_that_does_not_fit_leaves_nothing_behind() {
    let mut store = IndexerIn::<Pod, Fixed<3>>::new();
    for pod in [pod("a", "n1", &["x"]), pod("b", "n1", &["x", "y", "z"])] {
        assert!(store.try_insert(pod).is_ok());
    }
    assert!(store.try_add_index(by_label).is_err(), "the second object has one value too many");
    store.check();
    let by_node = store.try_add_index(by_node).ok().unwrap();
    assert_eq!(store.by_index(by_node, "n1").count(), 2);
    store.check();
}

#[test]
fn a_text_longer_than_fixed_memory_takes_is_refused() {
    const LONG: &str = "0123456789012345678901234567890123456789012345678901234567890123+";
    let mut pods = Pods::<Fixed<8>>::new();
    assert!(pods.store.try_insert(pod("a", &LONG[..64], &[])).is_ok());
    assert_eq!(pods.store.try_insert(pod("b", LONG, &[])).unwrap_err().0.name, "b");
    pods.store.check();
}

/// Panics for one node.
fn by_sound_node(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    emit(pod.node);
    assert_ne!(pod.node, "flawed", "on purpose");
}

/// Whether `call` panics.
fn panics<R>(call: impl FnOnce() -> R) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| _ = call())).is_err()
}

fn an_index_function_that_panics_leaves_the_store_as_it_was<M: Function>() {
    let mut pods = IndexerIn::<Pod, M>::new();
    let label = pods.try_add_index(M::function(by_label)).ok().unwrap();
    let node = pods.try_add_index(M::function(by_sound_node)).ok().unwrap();
    assert!(pods.try_insert(pod("a", "n1", &["x"])).is_ok());
    assert!(panics(|| pods.try_insert(pod("b", "flawed", &["x"]))), "a new object");
    assert!(panics(|| pods.try_insert(pod("a", "flawed", &["y"]))), "another state of an object");
    pods.check();
    assert_eq!((pods.len(), pods.get("a"), pods.get("b")), (1, Some(&pod("a", "n1", &["x"])), None));
    assert!(pods.index_keys(label, "x").eq([&"a"]) && pods.index_keys(node, "n1").eq([&"a"]));
    assert!(pods.index_values(label).eq(["x"]) && pods.index_values(node).eq(["n1"]));
    assert!(matches!(pods.try_insert(pod("b", "n1", &["x"])), Ok(None)), "it is new when it is stored");
    pods.check();
}

fn a_new_index_whose_function_panics_is_none<M: Function>() {
    let mut pods = IndexerIn::<Pod, M>::new();
    for (name, node) in [("a", "n1"), ("b", "flawed")] {
        assert!(pods.try_insert(pod(name, node, &[])).is_ok());
    }
    assert!(panics(|| pods.try_add_index(M::function(by_sound_node)).is_ok()));
    pods.check();
    assert!(pods.indexes.len() == 0 && pods.postings.values.len() == 0);
    assert!(matches!(pods.try_insert(pod("b", "flawed", &[])), Ok(Some(_))), "no function is left that panics");
}

#[test]
fn a_new_index_whose_function_panics_at_any_of_its_calls_leaves_nothing() {
    let mut pods = Indexer::new();
    for name in ["a", "b", "c"] {
        pods.insert(pod(name, "n1", &[]));
    }
    for sound in 0..3 {
        let left = core::sync::atomic::AtomicU32::new(sound);
        let flawed = move |pod: &Pod, emit: &mut dyn FnMut(&str)| {
            emit(pod.node);
            left.store(left.load(Relaxed).checked_sub(1).expect("on purpose"), Relaxed);
        };
        assert!(panics(|| pods.add_index(flawed)), "{sound} calls");
        pods.check();
        assert!(pods.indexes.len() == 0 && pods.postings.values.len() == 0, "{sound} calls");
    }
    let by_node = pods.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| emit(pod.node));
    assert_eq!(pods.index_keys(by_node, "n1").count(), 3);
}

/// A closure may panic at any of its calls, also for an object for which it did not a moment ago.
#[test]
fn an_index_closure_that_panics_now_and_then_leaves_the_store_as_it_was() {
    for sound in 0..12 {
        let (left, mut pods) = (alloc::sync::Arc::new(core::sync::atomic::AtomicU32::new(u32::MAX)), Indexer::new());
        let calls = alloc::sync::Arc::clone(&left);
        let id = pods.add_index(move |pod: &Pod, emit: &mut dyn FnMut(&str)| {
            let left = calls.load(Relaxed);
            calls.store(left.checked_sub(1).expect("on purpose"), Relaxed);
            by_label(pod, emit);
        });
        pods.insert(pod("a", "", &["x", "y"]));
        left.store(sound, Relaxed);
        let steps = [pod("a", "", &["y", "z"]), pod("b", "", &["x", "z"]), pod("a", "", &["x"])];
        let mut stored = alloc::vec![pod("a", "", &["x", "y"])];
        for step in steps {
            if !panics(|| pods.insert(step.clone())) {
                stored.retain(|pod| pod.name != step.name);
                stored.push(step);
            }
        }
        left.store(u32::MAX, Relaxed);
        pods.check();
        assert_eq!(pods.len(), stored.len(), "{sound} calls");
        assert!(stored.iter().all(|pod| pods.get(pod.name) == Some(pod)), "{sound} calls");
        assert!(pods.index_keys(id, "x").all(|name| stored.iter().any(|pod| pod.name == *name)));
    }
}
