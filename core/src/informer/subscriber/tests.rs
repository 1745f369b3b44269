use super::super::{Event, EventOf, Subscription, Told};
use super::Subscriber;
use crate::cache::{AwaitError, Cache, Change, Indexer, Note, Store, StoreWriter};
use crate::fifo::Delta;
use crate::object::{MetaBuilder, Object, ObjectHandle};
use crate::sync::StdLock;
use crate::sync::wakers::tests::{counting, panicking};
use crate::time::Instant;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::task::{Context, Poll, Waker};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Pod = ObjectHandle<u32>;
type Pods = Subscriber<Pod, StdLock>;

const NOW: Instant = Instant::ZERO;

/// A state of a pod: its name, its version, and the number in it.
fn pod(name: &str, version: u32, number: u32) -> Pod {
    pod_with_uid(name, "u", version, number)
}

fn pod_with_uid(name: &str, uid: &str, version: u32, number: u32) -> Pod {
    let mut meta = MetaBuilder::default();
    meta.set_name(name);
    meta.set_uid(uid);
    meta.set_resource_version(&version.to_string());
    Object { meta: meta.build().unwrap(), value: number }.into()
}

/// An informer's writer, by hand.
struct Written {
    writer: StoreWriter<u32>,
    store: Store<u32>,
}

fn written() -> Written {
    written_with_limit(1024)
}

/// Its log keeps so many changes.
fn written_with_limit(limit: usize) -> Written {
    let writer = StoreWriter::with_log_limit(Indexer::new(), limit);
    Written { store: writer.store(), writer }
}

impl Written {
    fn apply(&mut self, delta: &Delta<Pod>) {
        self.writer.apply(Change::new(delta, false).at(NOW));
        self.writer.wake();
    }

    fn put(&mut self, pod: Pod) {
        self.apply(&Delta::Updated(pod));
    }

    fn note(&mut self, note: Note<'_, Pod>) {
        self.writer.note(note);
        self.writer.wake();
    }

    fn subscribe(&self, subscription: Subscription<Pod>) -> Pods {
        self.store.subscribe(NOW, subscription)
    }
}

fn state(pod: &Pod) -> String {
    format!("{}@{}", pod.meta().name(), pod.meta().resource_version())
}

/// An item as a line.
fn line(told: &Told<Event<u32>>) -> String {
    match told {
        Told::Event(Event::Added { object, initial: true }) => format!("initially {}", state(object)),
        Told::Event(Event::Added { object, .. }) => format!("added {}", state(object)),
        Told::Event(Event::Updated { old, new }) => format!("updated {} {}", state(old), state(new)),
        Told::Event(Event::Recreated { old, new }) => format!("recreated {} {}", state(old), state(new)),
        Told::Event(Event::Deleted { object, final_state_known: true }) => format!("deleted {}", state(object)),
        Told::Event(Event::Deleted { object, .. }) => format!("lost {}", state(object)),
        Told::Event(Event::Synced) => "synced".into(),
        Told::Event(EventOf::Failed(report)) => format!("failed {}", report.attempts),
        Told::Event(EventOf::Undecodable(undecodable)) => format!("undecodable {:?}", undecodable.version),
        Told::Mark(mark) => format!("mark {mark}"),
        Told::MarksLost => "marks lost".into(),
    }
}

/// All that a subscriber is told at `now`, and `end` where it ends.
fn told_at(pods: &mut Pods, now: Instant) -> Vec<String> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut lines = Vec::new();
    loop {
        match pods.poll_next(now, &mut cx) {
            Poll::Ready(Some(told)) => lines.push(line(&told)),
            Poll::Ready(None) => {
                lines.push("end".into());
                return lines;
            }
            Poll::Pending => return lines,
        }
    }
}

fn told(pods: &mut Pods) -> Vec<String> {
    told_at(pods, NOW)
}

#[test]
fn every_subscriber_is_told_every_change_and_a_late_one_each_object_once() {
    let mut pods = written();
    let mut early = pods.subscribe(Subscription::new());
    pods.put(pod("a", 1, 0));
    pods.put(pod("b", 2, 0));
    let mut late = pods.subscribe(Subscription::new());
    pods.put(pod("a", 3, 0));
    pods.note(Note::Synced);
    pods.put(pod_with_uid("a", "v", 4, 0));
    pods.apply(&Delta::Tombstone(pod("b", 2, 0)));
    let changes = ["updated a@1 a@3", "synced", "recreated a@3 a@4", "lost b@2"];
    assert_eq!(told(&mut early), [&["added a@1", "added b@2"], &changes[..]].concat());
    assert_eq!(told(&mut late), ["initially a@4", "synced"], "changes since it joined are folded");
    assert!(late.has_synced() && pods.store.has_synced());
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| _ = call())).is_err()
}

/// Whether a function of the caller's panics.
fn switch() -> (Arc<AtomicBool>, impl Fn() + Send + Sync + 'static) {
    let is_on = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_on);
    (is_on, move || assert!(!asked.load(Relaxed), "on purpose"))
}

#[test]
fn an_object_that_begins_to_pass_the_filter_is_added_and_one_that_ceases_to_is_deleted() {
    let mut pods = written();
    pods.put(pod("old", 1, 0));
    let mut odd = pods.subscribe(Subscription::new().filter(|pod: &Pod| **pod % 2 == 1));
    assert!(told(&mut odd).is_empty());
    for (version, number) in [(2, 0), (3, 1), (4, 3), (5, 4), (6, 6), (7, 7)] {
        pods.put(pod("a", version, number));
    }
    assert_eq!(told(&mut odd), ["added a@3", "updated a@3 a@4", "deleted a@4", "added a@7"]);
    pods.put(pod_with_uid("a", "v", 8, 9));
    assert_eq!(told(&mut odd), ["recreated a@7 a@8"]);
    pods.put(pod_with_uid("a", "w", 9, 0));
    assert_eq!(told(&mut odd), ["deleted a@8"]);
}

/// The final state may have changed with the deletion. What counts is whether the object was told.
#[test]
fn a_deletion_is_told_if_the_object_was_told_whatever_its_final_state_is() {
    let mut pods = written();
    let mut odd = pods.subscribe(Subscription::new().filter(|pod: &Pod| **pod % 2 == 1));
    pods.put(pod("odd", 1, 1));
    pods.put(pod("even", 2, 0));
    pods.apply(&Delta::Deleted(pod("odd", 3, 0)));
    pods.apply(&Delta::Deleted(pod("even", 4, 1)));
    assert_eq!(told(&mut odd), ["added odd@1", "deleted odd@3"]);
}

#[test]
fn each_subscriber_has_its_own_resync_and_only_a_resync_tells_a_quiet_one_what_has_not_changed() {
    let at = |seconds| NOW + Duration::from_secs(seconds);
    let mut pods = written();
    pods.put(pod("a", 1, 0));
    let mut quiet = pods.subscribe(Subscription::new().resync(Duration::from_secs(10)).quiet());
    let mut loud = pods.subscribe(Subscription::new().resync(Duration::ZERO));
    assert_eq!((quiet.poll_timeout(), loud.poll_timeout()), (Some(at(10)), None));
    assert_eq!(
        (told(&mut quiet), told(&mut loud)),
        (Vec::from(["initially a@1".into()]), Vec::from(["initially a@1".into()]))
    );
    pods.put(pod("a", 1, 0));
    assert!(told_at(&mut quiet, at(9)).is_empty());
    assert_eq!(told_at(&mut loud, at(9)), ["updated a@1 a@1"]);
    assert_eq!(told_at(&mut quiet, at(10)), ["updated a@1 a@1"], "due at that moment, and not after it");
    assert_eq!(quiet.poll_timeout(), Some(at(20)));
    assert!(told_at(&mut quiet, at(19)).is_empty() && told_at(&mut loud, at(99)).is_empty());
}

#[test]
fn a_subscriber_that_is_behind_is_told_one_change_for_each_key_and_the_marks_of_swallowed_states() {
    let mut pods = written_with_limit(2);
    let marks = |pod: &Pod, mark: &mut dyn FnMut(&str)| mark(&format!("owner-{}", **pod));
    let mut behind = pods.subscribe(Subscription::new().marks(marks));
    (1..=4).for_each(|version| pods.put(pod("a", version, version)));
    pods.put(pod("b", 5, 5));
    pods.apply(&Delta::Deleted(pod("b", 6, 6)));
    assert!(behind.backlog() > 0);
    let mut told = told(&mut behind);
    told.retain(|line| line != "mark owner-6");
    assert_eq!(
        told,
        ["mark owner-1", "mark owner-2", "mark owner-3", "mark owner-5", "added a@4"],
        "the last state is told, and the others are named"
    );
    assert_eq!(behind.backlog(), 0);
}

#[test]
fn a_subscriber_that_waits_is_told_every_change_and_holds_the_informer_back() {
    let mut pods = written_with_limit(2);
    let mut slow = pods.subscribe(Subscription::new().wait());
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    (1..=2).for_each(|version| pods.put(pod("a", version, 0)));
    assert!(!pods.writer.has_room() && pods.writer.poll_room(&mut cx).is_pending());
    let first = slow.poll_next(NOW, &mut Context::from_waker(Waker::noop()));
    assert!(matches!(first, Poll::Ready(Some(told)) if line(&told) == "added a@1"));
    assert_eq!(wakes.count(), 1);
    assert!(pods.writer.has_room() && pods.writer.poll_room(&mut cx).is_ready());
    pods.put(pod("a", 3, 0));
    assert_eq!(told(&mut slow), ["updated a@1 a@2", "updated a@2 a@3"]);
}

/// The quiet subscriber passes what it is not told, and is told nothing. The log has room all the same.
#[test]
fn an_informer_that_is_held_back_is_woken_by_a_quiet_subscriber_that_is_told_nothing() {
    let mut pods = written_with_limit(2);
    pods.put(pod("a", 1, 0));
    let mut slow = pods.subscribe(Subscription::new().wait().quiet());
    assert_eq!(told(&mut slow), ["initially a@1"]);
    (1..=2).for_each(|_| pods.put(pod("a", 1, 0)));
    let (wakes, waker) = counting();
    assert!(pods.writer.poll_room(&mut Context::from_waker(&waker)).is_pending());
    assert!(told(&mut slow).is_empty());
    assert_eq!((wakes.count(), slow.backlog()), (1, 0), "everything is read");
    assert!(pods.writer.has_room());
}

#[test]
fn a_subscriber_that_is_dropped_holds_nothing_back() {
    let mut pods = written_with_limit(1);
    let slow = pods.subscribe(Subscription::new().wait());
    pods.put(pod("a", 1, 0));
    let (wakes, waker) = counting();
    assert!(pods.writer.poll_room(&mut Context::from_waker(&waker)).is_pending());
    drop(slow);
    assert_eq!((wakes.count(), pods.writer.has_room()), (1, true));
}

#[test]
fn the_end_comes_once_the_writer_is_dropped_and_everything_was_read() {
    let mut pods = written();
    let mut early = pods.subscribe(Subscription::new());
    let (wakes, waker) = counting();
    assert!(early.poll_next(NOW, &mut Context::from_waker(&waker)).is_pending());
    pods.put(pod("a", 1, 0));
    assert_eq!(wakes.count(), 1);
    let Written { writer, store } = pods;
    drop(writer);
    assert_eq!(told(&mut early), ["added a@1", "end"]);
    assert_eq!(told(&mut early), ["end"]);
    let mut late = store.subscribe(NOW, Subscription::new());
    assert_eq!(told(&mut late), ["initially a@1", "end"], "the store keeps its last state");
    drop(store);
    assert_eq!(told(&mut late), ["end"], "a subscriber keeps the cache by itself");
}

#[test]
fn the_end_wakes_a_subscriber_that_sleeps() {
    let pods = written();
    let mut sleeper = pods.subscribe(Subscription::new());
    let (wakes, waker) = counting();
    assert!(sleeper.poll_next(NOW, &mut Context::from_waker(&waker)).is_pending());
    drop(pods.writer);
    assert_eq!((wakes.count(), told(&mut sleeper)), (1, Vec::from(["end".into()])));
}

#[test]
fn a_subscriber_is_in_sync_once_it_was_told_so() {
    let mut pods = written();
    pods.put(pod("a", 1, 0));
    let mut subscriber = pods.subscribe(Subscription::new());
    let ((wakes, waker), mut synced) = (counting(), subscriber.synced());
    pods.note(Note::Synced);
    assert!(pods.store.has_synced() && !subscriber.has_synced() && poll(&mut synced, &waker).is_pending());
    assert_eq!(told(&mut subscriber), ["initially a@1", "synced"]);
    assert_eq!((wakes.count(), subscriber.has_synced()), (1, true));
    assert_eq!(poll(&mut synced, &waker), Poll::Ready(Ok(())));
}

#[test]
fn a_wait_for_a_subscriber_to_be_in_sync_ends_with_the_subscriber_or_with_the_informer() {
    let pods = written();
    let (one, other) = (pods.subscribe(Subscription::new()), pods.subscribe(Subscription::new()));
    let (wakes, waker) = counting();
    let (mut gone, mut stopped) = (one.synced(), other.synced());
    assert!(poll(&mut gone, &waker).is_pending() && poll(&mut stopped, Waker::noop()).is_pending());
    drop(one);
    assert_eq!((wakes.count(), poll(&mut gone, &waker)), (1, Poll::Ready(Err(AwaitError::Stopped))));
    assert!(poll(&mut stopped, &waker).is_pending());
    drop(pods.writer);
    assert_eq!((wakes.count(), poll(&mut stopped, &waker)), (2, Poll::Ready(Err(AwaitError::Stopped))));
}

#[test]
fn a_change_whose_index_function_panics_is_told_to_nobody_and_can_be_applied_again() {
    let mut pods = written();
    let (panics_now, check) = switch();
    pods.writer.write(|objects| objects.add_index(move |_, _| check()));
    pods.put(pod("a", 1, 0));
    let mut subscriber = pods.subscribe(Subscription::new());
    assert_eq!(told(&mut subscriber), ["initially a@1"]);
    panics_now.store(true, Relaxed);
    assert!(panics(|| pods.put(pod("a", 2, 0))));
    assert!(told(&mut subscriber).is_empty());
    panics_now.store(false, Relaxed);
    pods.put(pod("a", 2, 0));
    assert_eq!(told(&mut subscriber), ["updated a@1 a@2"]);
}

/// The log is full, so it folds what the subscriber has not read, and calls `marks`.
#[test]
fn a_change_whose_marks_panic_is_in_neither_cache_nor_log_and_can_be_applied_again() {
    let changes = [
        (Delta::Updated(pod("a", 6, 0)), "marks lost, updated a@1 a@6"),
        (Delta::Deleted(pod("a", 6, 0)), "marks lost, deleted a@6"),
        (Delta::Added(pod("b", 6, 0)), "marks lost, updated a@1 a@5, added b@6"),
    ];
    for (delta, expected) in changes {
        let (panics_now, check) = switch();
        let mut pods = written_with_limit(2);
        pods.put(pod("a", 1, 0));
        let mut subscriber = pods.subscribe(Subscription::new().marks(move |_, _| check()));
        assert_eq!(told(&mut subscriber), ["initially a@1"]);
        (2..=5).for_each(|version| pods.put(pod("a", version, 0)));
        panics_now.store(true, Relaxed);
        assert!(panics(|| pods.apply(&delta)));
        assert_eq!(pods.store.list().iter().map(state).collect::<Vec<_>>(), ["a@5"]);
        panics_now.store(false, Relaxed);
        pods.apply(&delta);
        assert_eq!(told(&mut subscriber).join(", "), expected);
        pods.store.read(Indexer::check);
    }
}

#[test]
fn marks_that_always_panic_hold_the_other_subscribers_up_once() {
    let mut pods = written_with_limit(1);
    let always = |_: &Pod, _: &mut dyn FnMut(&str)| panic!("on purpose");
    let (mut bad, mut good) = (pods.subscribe(Subscription::new().marks(always)), pods.subscribe(Subscription::new()));
    let mut count = 0;
    for version in 1..=6 {
        while count < 9 && panics(|| pods.put(pod("a", version, 0))) {
            count += 1;
        }
    }
    assert_eq!((count, told(&mut good)), (1, Vec::from(["added a@6".into()])));
    assert_eq!(told(&mut bad), ["marks lost", "added a@6"]);
}

#[test]
fn a_change_whose_filter_panics_is_the_next_one_again() {
    let (panics_now, check) = switch();
    let mut pods = written();
    let mut subscriber = pods.subscribe(Subscription::new().filter(move |_| {
        check();
        true
    }));
    pods.put(pod("a", 1, 0));
    panics_now.store(true, Relaxed);
    assert!(panics(|| told(&mut subscriber)) && panics(|| told(&mut subscriber)));
    assert_eq!(subscriber.backlog(), 1);
    panics_now.store(false, Relaxed);
    assert_eq!(told(&mut subscriber), ["added a@1"]);
}

#[test]
fn a_waker_that_panics_keeps_no_other_task_asleep_and_loses_no_change() {
    let mut pods = written_with_limit(1);
    let (mut bad, mut good) = (pods.subscribe(Subscription::new().wait()), pods.subscribe(Subscription::new().wait()));
    let (wakes, waker) = counting();
    assert!(bad.poll_next(NOW, &mut Context::from_waker(&panicking())).is_pending());
    assert!(good.poll_next(NOW, &mut Context::from_waker(&waker)).is_pending());
    assert!(panics(|| pods.put(pod("a", 1, 0))));
    assert_eq!(wakes.count(), 1);
    assert_eq!((told(&mut bad), told(&mut good)), (Vec::from(["added a@1".into()]), Vec::from(["added a@1".into()])));

    pods.put(pod("a", 2, 0));
    assert_eq!(told(&mut good), ["updated a@1 a@2"]);
    assert!(pods.writer.poll_room(&mut Context::from_waker(&panicking())).is_pending());
    assert!(panics(|| told(&mut bad)), "the informer's waker");
    assert_eq!(told(&mut bad), ["updated a@1 a@2"], "what was read before the panic");
}

/// An object whose drop reads the store that it is in.
struct Reading {
    store: Option<Store<Self>>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let store = self.store.take().filter(|_| !std::thread::panicking());
        store.map(|store| store.len());
    }
}

/// The writer of a store whose first object reads the store when it is freed.
fn reading_with_limit(limit: usize) -> (StoreWriter<Reading>, Store<Reading>) {
    let mut writer = StoreWriter::<Reading>::with_log_limit(Indexer::new(), limit);
    let store = writer.store();
    put_reading(&mut writer, 1, Some(store.clone()));
    (writer, store)
}

fn put_reading(writer: &mut StoreWriter<Reading>, version: u32, store: Option<Store<Reading>>) {
    let meta = pod("a", version, 0).meta().clone();
    let delta = Delta::Updated(ObjectHandle::from(Object { meta, value: Reading { store } }));
    writer.apply(Change::new(&delta, false));
    writer.wake();
}

#[test]
fn marks_and_states_of_a_subscriber_that_is_dropped_are_freed_after_the_lock() {
    let (mut writer, store) = reading_with_limit(8);
    let in_marks = Reading { store: Some(store.clone()) };
    let marks = move |_: &ObjectHandle<Reading>, _: &mut dyn FnMut(&str)| _ = &in_marks;
    let with_marks = store.subscribe(NOW, Subscription::new().marks(marks));
    let other = store.subscribe(NOW, Subscription::new());
    put_reading(&mut writer, 2, None);
    assert!(!panics(|| drop(with_marks)), "the marks");
    assert!(!panics(|| drop(other)), "entries and keys");
    assert_eq!(store.len(), 1);
}

#[test]
fn the_folded_changes_of_a_subscriber_that_is_dropped_are_freed_after_the_lock() {
    let (mut writer, store) = reading_with_limit(1);
    let mut behind = store.subscribe(NOW, Subscription::new());
    assert!(behind.poll_next(NOW, &mut Context::from_waker(Waker::noop())).is_ready());
    (2..4).for_each(|version| put_reading(&mut writer, version, None));
    assert!(!panics(|| drop(behind)), "the first state is known to nobody else");
}

#[test]
fn a_state_that_a_change_folds_away_is_freed_after_the_lock() {
    let (mut writer, store) = reading_with_limit(1);
    let _behind = store.subscribe(NOW, Subscription::new());
    put_reading(&mut writer, 2, None);
    assert!(!panics(|| put_reading(&mut writer, 3, None)));
}

#[test]
fn a_state_that_a_subscriber_passes_or_folds_while_it_reads_is_freed_after_the_lock() {
    for quiet in [true, false] {
        let (mut writer, store) = reading_with_limit(8);
        let subscription = if quiet { Subscription::new().wait().quiet() } else { Subscription::new() };
        let mut subscriber = store.subscribe(NOW, subscription);
        let mut cx = Context::from_waker(Waker::noop());
        let first = quiet.then(|| subscriber.poll_next(NOW, &mut cx));
        drop(first);
        (0..2).for_each(|_| put_reading(&mut writer, 1, None));
        assert!(!panics(|| while subscriber.poll_next(NOW, &mut cx).is_ready() {}), "quiet: {quiet}");
    }
}

#[test]
fn a_subscriber_can_be_sent_to_another_thread() {
    fn sent<T: Send + 'static>() {}
    sent::<Pods>();
    sent::<Subscription<Pod>>();
    sent::<super::SubscriberSynced<Pod, StdLock>>();
}
