//! A store: its writer, its subscribers, and the tasks that wait for its objects.

use crate::{LoomLock, check};
use core::future::poll_fn;
use core::task::{Context, Poll, Waker};
use listwatch_core::cache::{AwaitError, Cache, Change, Indexer, Note, StoreIn, StoreWriterIn};
use listwatch_core::fifo::Delta;
use listwatch_core::informer::{EventOf, Subscriber, Subscription, Told};
use listwatch_core::object::{MetaBuilder, Object, ObjectHandle};
use listwatch_core::{Instant, Key};
use loom::future::block_on;
use loom::thread;

type Pod = ObjectHandle<()>;
type Writer = StoreWriterIn<Pod, LoomLock>;
type Pods = Subscriber<Pod, LoomLock>;

const NOW: Instant = Instant::ZERO;

fn pod(name: &str, version: u32) -> Pod {
    let mut meta = MetaBuilder::default();
    meta.set_name(name);
    meta.set_uid("u");
    meta.set_resource_version(&version.to_string());
    Object { meta: meta.build().unwrap(), value: () }.into()
}

/// A writer whose log has the limit, and its store.
fn written(limit: usize) -> (Writer, StoreIn<Pod, LoomLock>) {
    let writer = Writer::with_log_limit(Indexer::new(), limit);
    let store = writer.store();
    (writer, store)
}

/// What an informer does with a change, once there is room for it.
fn put(writer: &mut Writer, pod: Pod) {
    block_on(poll_fn(|cx| writer.poll_room(cx)));
    writer.apply(Change::new(&Delta::Updated(pod), false));
    writer.wake();
}

fn note(writer: &mut Writer, note: Note<'_, Pod>) {
    writer.note(note);
    writer.wake();
}

/// The name and the version of the pod that a subscriber is told; none for a mark or a notice.
fn named(told: &Told<EventOf<Pod>>) -> Option<(String, String)> {
    let Told::Event(event) = told else { return None };
    let meta = event.object()?.meta();
    Some((meta.name().to_owned(), meta.resource_version().to_owned()))
}

/// All that a subscriber is told until the writer is dropped.
fn told(mut pods: Pods) -> Vec<Told<EventOf<Pod>>> {
    let next = |pods: &mut Pods| block_on(poll_fn(|cx| pods.poll_next(NOW, cx)));
    std::iter::from_fn(|| next(&mut pods)).collect()
}

/// A lost wake-up would leave the subscriber asleep.
#[test]
fn a_subscriber_is_woken_by_every_change_and_by_the_end() {
    check(|| {
        let (mut writer, store) = written(4);
        let pods = store.subscribe(NOW, Subscription::new());
        let reader = thread::spawn(move || told(pods));
        put(&mut writer, pod("a", 1));
        put(&mut writer, pod("a", 2));
        drop(writer);
        let told = reader.join().unwrap();
        assert!(matches!(&told[..], [Told::Event(EventOf::Added { .. }), Told::Event(EventOf::Updated { .. })]));
    });
}

#[test]
fn a_late_joiner_is_told_each_object_once_and_then_its_changes() {
    check(|| {
        let (mut writer, store) = written(4);
        let joiner = thread::spawn(move || told(store.subscribe(NOW, Subscription::new())));
        put(&mut writer, pod("a", 1));
        put(&mut writer, pod("b", 2));
        put(&mut writer, pod("a", 3));
        drop(writer);
        let told = joiner.join().unwrap();
        for (name, newest) in [("a", "3"), ("b", "2")] {
            let of_name = || told.iter().filter(|told| named(told).is_some_and(|(told, _)| told == name));
            let is_added = |told: &Told<EventOf<Pod>>| matches!(told, Told::Event(EventOf::Added { .. }));
            assert_eq!(of_name().filter(|told| is_added(told)).count(), 1, "{told:?}");
            assert!(is_added(of_name().next().unwrap()), "{told:?}");
            assert_eq!(of_name().next_back().and_then(named).unwrap().1, newest, "{told:?}");
        }
    });
}

/// The subscriber reads at most once and leaves, before the informer waits or after it.
#[test]
fn an_informer_that_is_held_back_goes_on_when_the_subscriber_reads_or_leaves() {
    check(|| {
        let (mut writer, store) = written(1);
        let mut pods = store.subscribe(NOW, Subscription::new().wait());
        let reader = thread::spawn(move || {
            let _first = pods.poll_next(NOW, &mut Context::from_waker(Waker::noop()));
        });
        (1..=3).for_each(|version| put(&mut writer, pod("a", version)));
        reader.join().unwrap();
        assert_eq!(store.get("a").unwrap().meta().resource_version(), "3");
    });
}

/// The quiet subscriber is told the object, and passes the reports of what has not changed. It reads to the end.
#[test]
fn an_informer_that_is_held_back_goes_on_when_a_quiet_subscriber_is_told_nothing() {
    check(|| {
        let (mut writer, store) = written(1);
        let pods = store.subscribe(NOW, Subscription::new().wait().quiet());
        let reader = thread::spawn(move || told(pods));
        (1..=3).for_each(|_| put(&mut writer, pod("a", 1)));
        drop(writer);
        let told = reader.join().unwrap();
        assert!(matches!(&told[..], [Told::Event(EventOf::Added { .. })]), "{told:?}");
    });
}

#[test]
fn a_task_that_waits_for_a_version_is_woken_by_the_object() {
    check(|| {
        let (mut writer, store) = written(4);
        let waiter = thread::spawn(move || block_on(store.await_version(&Key::from("a"), "2")));
        put(&mut writer, pod("a", 1));
        put(&mut writer, pod("a", 2));
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_task_that_waits_for_a_version_is_woken_by_the_progress_of_the_informer() {
    check(|| {
        let (mut writer, store) = written(4);
        let waiter = thread::spawn(move || block_on(store.await_version(&Key::from("a"), "2")));
        note(&mut writer, Note::Applied(&"1".into()));
        note(&mut writer, Note::Applied(&"2".into()));
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
}

/// Two tasks wait for one object. One of them leaves after its first look.
#[test]
fn a_task_that_waits_for_an_object_hears_that_the_informer_has_stopped() {
    check(|| {
        let (mut writer, store) = written(4);
        let key = || Key::from("a");
        let other = store.clone();
        let fickle = thread::spawn(move || {
            let mut wait = other.wait_for(key(), |pod| pod.is_some());
            block_on(poll_fn(|cx| Poll::Ready(std::pin::Pin::new(&mut wait).poll(cx).is_ready())))
        });
        let waiter = thread::spawn(move || block_on(store.wait_for(key(), |pod| pod.is_some())).map(|_| ()));
        put(&mut writer, pod("b", 1));
        drop(writer);
        assert_eq!(waiter.join().unwrap(), Err(AwaitError::Stopped));
        fickle.join().unwrap();
    });
}

#[test]
fn a_task_is_told_that_a_subscriber_of_another_task_is_in_sync_or_gone() {
    check(|| {
        let (mut writer, store) = written(4);
        let mut pods = store.subscribe(NOW, Subscription::new());
        let synced = pods.synced();
        let waiter = thread::spawn(move || block_on(synced));
        note(&mut writer, Note::Synced);
        let read = pods.poll_next(NOW, &mut Context::from_waker(Waker::noop()));
        assert!(matches!(read, Poll::Ready(Some(Told::Event(EventOf::Synced)))));
        let _last_look = pods.has_synced();
        assert!(waiter.join().unwrap().is_ok());
    });
}

/// Two readers list while the writer writes: each list is one moment, none goes back, and none is an earlier one that a
/// reader has kept.
#[test]
fn lists_that_readers_share_are_never_behind_the_writer() {
    check(|| {
        let (mut writer, store) = written(4);
        let all = store.add_index(|_: &Pod, emit: &mut dyn FnMut(&str)| emit("all"));
        let versions = move |store: &StoreIn<Pod, LoomLock>| {
            let version = |pod: &Pod| pod.meta().resource_version().parse::<u32>().unwrap();
            [store.list(), store.by_index(all, "all")].map(|pods| pods.iter().map(version).collect::<Vec<_>>())
        };
        let readers = [store.clone(), store.clone()].map(|store| {
            thread::spawn(move || {
                let (first, second) = (versions(&store), versions(&store));
                assert!(first.iter().zip(&second).all(|(first, second)| first <= second), "{first:?} {second:?}");
            })
        });
        for version in 1..=2 {
            put(&mut writer, pod("a", version));
            assert_eq!(versions(&store), [[version], [version]]);
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}
