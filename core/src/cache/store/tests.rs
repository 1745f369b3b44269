use super::{Observer, Snapshot, Store, StoreIn, StoreWriter, StoreWriterIn, StreamProgress};
use crate::cache::{Cache, Change, IndexId, Indexer};
use crate::fifo::Delta;
use crate::object::{LabelSelector, MetaBuilder, Object, ObjectHandle};
use crate::storage::{Keyed, Versioned};
use crate::sync::{CellLock, Lock, StdLock};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Pod = ObjectHandle<&'static str>;

fn pod(namespace: &str, name: &str, node: &'static str) -> Pod {
    let mut meta = MetaBuilder::default();
    meta.set_namespace(namespace);
    meta.set_name(name);
    meta.add_label("node", node);
    Object { meta: meta.build().unwrap(), value: node }.into()
}

fn by_node(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    emit(pod);
}

/// A cache of three pods, with an index by node.
fn pods<L: Lock>() -> (StoreWriterIn<Pod, L>, StoreIn<Pod, L>, IndexId) {
    let mut pods = Indexer::new();
    let by_node = pods.add_index(by_node);
    for pod in [pod("a", "web-1", "n1"), pod("b", "web-2", "n2"), pod("a", "web-3", "n2")] {
        pods.insert(pod);
    }
    let writer = StoreWriterIn::new(pods);
    let store = writer.store();
    (writer, store, by_node)
}

fn names<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Vec<&'a str> {
    pods.into_iter().map(|pod| pod.meta().name()).collect()
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| _ = call())).is_err()
}

/// Calls `$test` with each lock.
macro_rules! behind_every_lock {
    ($test:ident) => {
        $test::<CellLock>();
        $test::<StdLock>();
        #[cfg(feature = "critical-section")]
        $test::<crate::sync::CriticalSectionLock>();
        #[cfg(feature = "spin")]
        $test::<crate::sync::SpinLock>();
    };
}

#[test]
fn every_read_shows_what_the_writer_wrote_behind_every_lock() {
    fn reads<L: Lock>() {
        let (mut writer, pods, by_node) = pods::<L>();
        let selector = LabelSelector::parse("node=n2").unwrap();
        assert_eq!((pods.len(), pods.is_empty()), (3, false));
        assert_eq!(pods.get("a/web-1").as_deref(), Some(&"n1"));
        assert!(pods.contains("b/web-2") && !pods.contains("b/web-9") && pods.get("b/web-9").is_none());
        assert_eq!(names(&pods.list()), ["web-1", "web-2", "web-3"]);
        assert_eq!(names(&pods.list_in("a")), ["web-1", "web-3"]);
        assert_eq!(names(&pods.list_in(crate::object::Key::from("a/db").namespace())), ["web-1", "web-3"]);
        assert_eq!((pods.list_in(None).len(), pods.list_in("").len()), (3, 3));
        assert_eq!(names(&pods.by_index(by_node, "n2")), ["web-2", "web-3"]);
        assert_eq!(names(&pods.select(&selector)), ["web-2", "web-3"]);
        assert_eq!(names(&pods.select_in("a", &selector)), ["web-3"]);
        assert_eq!(
            pods.keys().iter().map(crate::object::Key::as_str).collect::<Vec<_>>(),
            ["a/web-1", "b/web-2", "a/web-3"]
        );

        writer.write(|pods| pods.remove("a/web-1"));
        assert_eq!((pods.len(), pods.contains("a/web-1")), (2, false));
    }
    behind_every_lock!(reads);
}

#[test]
fn a_store_shares_the_objects_and_does_not_copy_them() {
    let (_writer, pods, _) = pods::<StdLock>();
    let (one, other) = (pods.get("a/web-1").unwrap(), pods.clone().get("a/web-1").unwrap());
    assert!(one.ptr_eq(&other));
    assert!(pods.read(|pods| pods.get("a/web-1").unwrap().ptr_eq(&one)));
}

#[test]
fn a_snapshot_stays_as_it_was_while_the_cache_changes() {
    let (mut writer, pods, _) = pods::<StdLock>();
    let before = pods.list();
    writer.write(|pods| {
        pods.remove("b/web-2");
        pods.insert(pod("a", "web-1", "n9"));
    });
    assert_eq!(before.iter().map(|pod| **pod).collect::<Vec<_>>(), ["n1", "n2", "n2"]);
    assert_eq!(pods.list().into_iter().map(|pod| *pod).collect::<Vec<_>>(), ["n9", "n2"]);
}

std::thread_local!(static CLONES: core::cell::Cell<usize> = const { core::cell::Cell::new(0) });

/// A key and a version. It counts its clones.
#[derive(Debug)]
struct Counted(u32, &'static str);

impl Clone for Counted {
    fn clone(&self) -> Self {
        CLONES.set(CLONES.get() + 1);
        Self(self.0, self.1)
    }
}

impl Keyed for Counted {
    type Key = u32;

    fn key(&self) -> &u32 {
        &self.0
    }
}

impl Versioned for Counted {
    fn resource_version(&self) -> &str {
        self.1
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn is_same_state(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

/// The clones of each list are made under the lock: the writer waits for them.
#[test]
fn a_list_after_a_change_clones_only_the_changed_chunks() {
    let mut writer = StoreWriterIn::<Counted, CellLock>::default();
    let items = writer.store();
    let index = items.add_index(|_: &Counted, emit: &mut dyn FnMut(&str)| emit("all"));
    writer.write(|items| items.replace((0..10_000).map(|key| Counted(key, "1"))));
    let clones = |list: &dyn Fn() -> Snapshot<Counted>| {
        let before = CLONES.get();
        assert_eq!(list().len(), 10_000);
        CLONES.get() - before
    };
    let lists: [&dyn Fn() -> Snapshot<Counted>; 2] = [&|| items.list(), &|| items.by_index(index, "all")];
    assert_eq!(lists.map(clones), [10_000; 2], "the first list");
    assert_eq!(lists.map(clones), [0; 2], "nothing has changed");
    writer.apply(Change::new(&Delta::Updated(Counted(5_000, "2")), false));
    assert!(lists.map(clones).iter().all(|clones| *clones <= 128), "one object has changed");
    writer.write(|items| (items.remove(&7_000), items.insert(Counted(10_000, "2"))));
    assert!(lists.map(clones).iter().all(|clones| *clones <= 2 * 128), "one was deleted, one was added");
}

#[test]
fn a_store_keeps_the_last_state_when_its_writer_is_gone() {
    let (writer, pods, _) = pods::<StdLock>();
    drop(writer);
    assert_eq!(pods.len(), 3);
}

#[test]
fn a_store_crosses_threads() {
    let pods: Store<&'static str> = pods::<StdLock>().1;
    std::thread::scope(|s| {
        s.spawn(|| assert_eq!(pods.len(), 3));
    });
}

/// An index function that reads the cache it indexes would wait for itself.
#[test]
fn an_index_function_that_reads_its_own_cache_is_told_so() {
    let mut writer = StoreWriter::<&'static str>::default();
    let store = writer.store();
    writer.write(|pods| {
        pods.add_index(move |pod: &Pod, emit: &mut dyn FnMut(&str)| {
            emit(if store.contains(pod.key()) { "known" } else { "new" });
        })
    });
    assert!(panics(|| writer.write(|pods| pods.insert(pod("a", "web-1", "n1")))));
    assert!(writer.store().is_empty());
}

#[test]
fn an_index_function_that_panics_leaves_the_cache_open_and_exact() {
    fn panics_once<L: Lock>() {
        let mut writer = StoreWriterIn::<Pod, L>::default();
        let by_node = writer.write(|pods| {
            pods.add_index(|pod: &Pod, emit: &mut dyn FnMut(&str)| {
                emit(pod);
                assert_ne!(**pod, "flawed", "on purpose");
            })
        });
        writer.write(|pods| pods.insert(pod("a", "web-1", "n1")));
        assert!(panics(|| writer.write(|pods| pods.insert(pod("a", "web-2", "flawed")))));
        writer.store().read(|pods| {
            pods.check();
            let values: Vec<String> = pods.index_values(by_node).map(String::from).collect();
            assert_eq!((pods.len(), values), (1, ["n1".into()].to_vec()));
        });
    }
    behind_every_lock!(panics_once);
}

/// Notes what it hears.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<String>>);

impl Observer for Heard {
    fn before_read(&self) {
        self.0.lock().unwrap().push("before".into());
    }

    fn on_read(&self, streams: &mut dyn Iterator<Item = &StreamProgress>) {
        let positions =
            streams.map(|at| alloc::format!("{}@{}", at.changes, at.applied.as_deref().unwrap_or_default()));
        self.0.lock().unwrap().extend(positions);
    }
}

#[test]
fn an_observer_hears_each_read_at_the_position_that_it_sees_and_none_of_the_writer() {
    let heard = Arc::<Heard>::default();
    let mut writer = StoreWriter::new(Indexer::new()).observed_by(heard.clone());
    let pods: Store<&'static str> = writer.store();
    let take = || core::mem::take(&mut *heard.0.lock().unwrap());
    assert!(pods.is_empty());
    assert_eq!(take(), ["before", "0@"]);
    for (version, delta) in
        ["5", "7"].into_iter().zip([Delta::Added(pod("a", "web-1", "n1")), Delta::Deleted(pod("a", "web-1", "n1"))])
    {
        let version = version.into();
        writer.apply(Change::new(&delta, false).applying(Some(&version)));
        assert!(writer.read(Indexer::len) < 2 && take().is_empty());
    }
    assert_eq!(pods.clone().list().len(), 0);
    assert_eq!(take(), ["before", "2@7"]);
    assert_eq!(pods.streams()[0].changes, 2);
}
