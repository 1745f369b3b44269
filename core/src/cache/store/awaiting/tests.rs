use super::AwaitError;
use crate::cache::{Cache, Change, Indexer, Note, Store, StoreWriter};
use crate::fifo::Delta;
use crate::object::{Key, MetaBuilder, Object, ObjectHandle, Uid};
use crate::sync::wakers::tests::counting;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::vec::Vec;

type Pod = ObjectHandle<()>;

const REACHED: Poll<Result<(), AwaitError>> = Poll::Ready(Ok(()));

fn pod(key: &str, uid: &str, version: &str) -> MetaBuilder {
    let key = Key::from(key);
    let mut meta = MetaBuilder::default();
    key.namespace().iter().for_each(|namespace| meta.set_namespace(namespace));
    meta.set_name(key.name());
    meta.set_uid(uid);
    meta.set_resource_version(version);
    meta
}

fn put(writer: &mut StoreWriter<()>, mut pod: MetaBuilder) {
    let pod = Object { meta: pod.build().unwrap(), value: () };
    writer.apply(Change::new(&Delta::Updated(pod.into()), false));
    writer.wake();
}

fn delete(writer: &mut StoreWriter<()>, mut pod: MetaBuilder) {
    let pod = Object { meta: pod.build().unwrap(), value: () };
    writer.apply(Change::new(&Delta::Deleted(pod.into()), false));
    writer.wake();
}

fn note(writer: &mut StoreWriter<()>, note: Note<'_, Pod>) {
    writer.note(note);
    writer.wake();
}

fn written() -> (StoreWriter<()>, Store<()>) {
    let writer = StoreWriter::new(Indexer::new());
    let store = writer.store();
    (writer, store)
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

fn failed<R>(error: AwaitError) -> Poll<Result<R, AwaitError>> {
    Poll::Ready(Err(error))
}

#[test]
fn a_version_is_reached_by_the_object_and_only_its_own_changes_wake() {
    let (mut writer, store) = written();
    let ((wakes, waker), mut reached) = (counting(), store.await_version(&"ns/a".into(), "10"));
    assert!(poll(&mut reached, &waker).is_pending());
    put(&mut writer, pod("ns/b", "u", "11"));
    assert_eq!(wakes.count(), 0, "another object");
    put(&mut writer, pod("ns/a", "u", "9"));
    assert!(wakes.count() == 1 && poll(&mut reached, &waker).is_pending(), "numbers are compared, not texts");
    put(&mut writer, pod("ns/a", "u", "12"));
    assert_eq!((wakes.count(), poll(&mut reached, &waker)), (2, REACHED));
}

/// An object that a selector excludes never comes.
#[test]
fn a_version_is_reached_by_the_progress_of_the_informer_and_earlier_progress_does_not_wake() {
    let (mut writer, store) = written();
    let (early, late) = (counting(), counting());
    let mut waits = [store.await_version(&"a".into(), "10"), store.await_version(&"b".into(), "200")];
    assert!(poll(&mut waits[0], &early.1).is_pending() && poll(&mut waits[1], &late.1).is_pending());
    note(&mut writer, Note::Applied(&"9".into()));
    assert_eq!((early.0.count(), late.0.count()), (0, 0));
    note(&mut writer, Note::Applied(&"10".into()));
    assert_eq!((early.0.count(), late.0.count()), (1, 0));
    assert_eq!(poll(&mut waits[0], &early.1), REACHED);
    note(&mut writer, Note::Applied(&"1000".into()));
    assert_eq!((early.0.count(), late.0.count(), poll(&mut waits[1], &late.1)), (1, 1, REACHED));
}

#[test]
fn versions_without_an_order_are_reached_where_they_are_equal_and_are_an_error_otherwise() {
    let (mut writer, store) = written();
    let wait = |at_least| poll(&mut store.await_version(&"a".into(), at_least), Waker::noop());
    assert_eq!(wait("v1"), failed(AwaitError::Unordered));
    put(&mut writer, pod("a", "u", "v1"));
    assert_eq!((wait("v1"), wait("7")), (REACHED, failed(AwaitError::Unordered)));
    let mut other = store.await_version(&"b".into(), "7");
    let (wakes, waker) = counting();
    assert!(poll(&mut other, &waker).is_pending());
    note(&mut writer, Note::Applied(&"v2".into()));
    assert_eq!((wakes.count(), poll(&mut other, &waker)), (1, failed(AwaitError::Unordered)));
}

#[test]
fn an_object_is_gone_when_its_uid_is_or_when_it_is_being_deleted() {
    let (mut writer, store) = written();
    put(&mut writer, pod("a", "u", "1"));
    let gone = |uid: &str| store.await_gone(&"a".into(), Uid::from(uid));
    let ((wakes, waker), mut wait) = (counting(), gone("u"));
    assert!(poll(&mut wait, &waker).is_pending());
    assert_eq!(poll(&mut gone("before"), &waker), REACHED, "another object has the name");
    let mut terminating = pod("a", "u", "2");
    terminating.set_deletion_timestamp("2026-01-01T00:00:00Z");
    put(&mut writer, terminating);
    assert_eq!((wakes.count(), poll(&mut wait, &waker)), (1, REACHED));

    put(&mut writer, pod("a", "v", "3"));
    let mut wait = gone("v");
    assert!(poll(&mut wait, &waker).is_pending());
    delete(&mut writer, pod("a", "v", "4"));
    assert!(poll(&mut wait, &waker).is_pending(), "an object that was not listed yet may exist");
    note(&mut writer, Note::Synced);
    assert_eq!((wakes.count(), poll(&mut wait, &waker)), (3, REACHED));
}

#[test]
fn a_predicate_is_asked_about_no_object_only_after_the_first_list() {
    let (mut writer, store) = written();
    let mut seen = Vec::new();
    let mut wait = store.wait_for("a".into(), |pod| {
        seen.push(pod.map(|pod| pod.meta().resource_version().len()));
        pod.is_none()
    });
    let (wakes, waker) = counting();
    assert!(poll(&mut wait, &waker).is_pending());
    put(&mut writer, pod("a", "u", "1"));
    assert!(poll(&mut wait, &waker).is_pending());
    delete(&mut writer, pod("a", "u", "2"));
    assert!(poll(&mut wait, &waker).is_pending());
    note(&mut writer, Note::Synced);
    assert!(matches!(poll(&mut wait, &waker), Poll::Ready(Ok(None))));
    drop(wait);
    assert_eq!((wakes.count(), &seen[..]), (3, &[Some(1), None][..]));
}

#[test]
fn every_wait_ends_when_the_informer_is_stopped_or_dropped_and_begins_anew_when_it_is_started() {
    let (mut writer, store) = written();
    let ((wakes, waker), key) = (counting(), || Key::from("a"));
    let mut wait = store.wait_for(key(), |pod| pod.is_some());
    assert!(poll(&mut wait, &waker).is_pending());
    note(&mut writer, Note::Stopped);
    assert_eq!((wakes.count(), poll(&mut wait, &waker)), (1, failed(AwaitError::Stopped)));
    note(&mut writer, Note::Started);
    assert!(poll(&mut wait, &waker).is_pending());
    drop(writer);
    assert_eq!((wakes.count(), poll(&mut wait, &waker)), (2, failed(AwaitError::Stopped)));
    assert_eq!(poll(&mut store.await_version(&key(), "1"), &waker), failed(AwaitError::Stopped));
    assert_eq!(poll(&mut store.await_gone(&key(), Uid::from("u")), &waker), failed(AwaitError::Stopped));
}

#[test]
fn a_wait_that_is_dropped_leaves_nothing_behind() {
    let (mut writer, store) = written();
    let (wakes, waker) = counting();
    let mut waits: Vec<_> =
        (0..9).map(|version| store.await_version(&"a".into(), &std::format!("1{version}"))).collect();
    assert!(waits.iter_mut().all(|wait| poll(wait, &waker).is_pending()));
    put(&mut writer, pod("a", "u", "9"));
    assert!(wakes.count() == 9 && waits.iter_mut().all(|wait| poll(wait, &waker).is_pending()));
    drop(waits);
    assert!(store.cell.read(|contents| contents.has_no_waiting_tasks()));
    note(&mut writer, Note::Applied(&"30".into()));
    put(&mut writer, pod("a", "u", "31"));
    assert_eq!(wakes.count(), 9);
}

#[test]
fn a_predicate_that_panics_leaves_the_store_usable() {
    let (mut writer, store) = written();
    put(&mut writer, pod("a", "u", "1"));
    let mut wait = store.wait_for("a".into(), |_| panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut wait, Waker::noop()).is_ready())).is_err());
    put(&mut writer, pod("a", "u", "2"));
    drop(wait);
    assert!(store.cell.read(|contents| contents.has_no_waiting_tasks()));
}

#[test]
fn a_task_that_waited_before_the_split_waits_in_the_stream_of_its_namespace() {
    let (writer, store) = written();
    let ((wakes, waker), wait) = (counting(), |key: &str| store.await_version(&key.into(), "5"));
    let (mut one, mut two, mut other) = (wait("one/a"), wait("two/a"), wait("three/a"));
    assert!(poll(&mut one, &waker).is_pending() && poll(&mut two, &waker).is_pending());
    assert!(poll(&mut other, &waker).is_pending());
    let mut writers = writer.split(["one", "two", "one"]);
    assert_eq!(writers.iter().map(|writer| writer.namespace()).collect::<Vec<_>>(), [Some("one"), Some("two")]);
    assert_eq!(wakes.count(), 3, "each looks for its new stream");
    assert!(poll(&mut one, &waker).is_pending() && poll(&mut two, &waker).is_pending());
    assert_eq!(poll(&mut other, &waker), failed(AwaitError::NotCovered));
    note(&mut writers[1], Note::Applied(&"5".into()));
    assert_eq!((wakes.count(), poll(&mut two, &waker)), (4, REACHED));
    assert!(poll(&mut one, &waker).is_pending());
    drop(writers);
    assert_eq!(poll(&mut one, &waker), failed(AwaitError::Stopped));
}

#[test]
fn a_wait_can_be_sent_to_another_thread() {
    fn sent(_: impl Send + 'static) {}
    let (_writer, store) = written();
    sent(store.await_version(&"a".into(), "1"));
    sent(store.await_gone(&"a".into(), Uid::from("u")));
    sent(store.wait_for("a".into(), |pod| pod.is_some()));
}
