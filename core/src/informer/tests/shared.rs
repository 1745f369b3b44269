//! An informer whose store has subscribers, and several informers of one store.

use super::*;
use crate::cache::{AwaitError, Store, StoreWriter};
use crate::object::Key;
use crate::reflector::Failure;
use crate::sync::StdLock;
use crate::sync::wakers::tests::{Wakes, counting, panicking};
use crate::transport::{ListerWatcher, ReadContext};
use alloc::collections::VecDeque;
use core::pin::pin;
use core::task::{Context, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

type Pods = Subscriber<ObjectHandle<Pod>, StdLock>;

/// Answers each request with the next status and body; a body without its end is a watch.
#[derive(Default)]
struct Served {
    answers: VecDeque<(u16, String)>,
    parts: VecDeque<Incoming>,
    body: String,
}

impl ListerWatcher for Served {
    fn open(&mut self, id: RequestId, request: &Request) {
        let Some((status, body)) = self.answers.pop_front() else { return };
        let (head, len) = (ResponseHead { status, ..ResponseHead::default() }, body.len());
        self.parts.extend([Incoming::Head { id, head }, Incoming::Data { id, len }]);
        if !request.to_string().contains("watch=1") {
            self.parts.push_back(Incoming::End { id });
        }
        self.body = body;
    }

    fn poll_read(&mut self, _: ReadContext<'_, '_>, space: &mut [u8]) -> Poll<Incoming> {
        match self.parts.pop_front() {
            Some(Incoming::Data { id, len }) => {
                space[..len].copy_from_slice(self.body.as_bytes());
                Poll::Ready(Incoming::Data { id, len })
            }
            Some(incoming) => Poll::Ready(incoming),
            None => Poll::Pending,
        }
    }

    fn abort(&mut self, _: RequestId) {
        self.parts.clear();
    }
}

/// An informer that writes by `writer`, and its server.
fn driven(writer: StoreWriter<Pod>, answers: &[(u16, String)]) -> SharedDriver<Pod, Served> {
    driven_in(Order::Arrival, writer, answers)
}

fn driven_in(order: Order, writer: StoreWriter<Pod>, answers: &[(u16, String)]) -> SharedDriver<Pod, Served> {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    config.reflector.reconnect_jitter = Duration::ZERO;
    config.queue_limit = 3;
    config.order = order;
    let mut informer = Informer::with_cache(Resource::new("/pods"), config, writer);
    informer.start(Instant::ZERO);
    let answers = answers.iter().cloned().collect();
    Driver::new(informer, Served { answers, ..Served::default() })
}

/// The driver's events until it sleeps.
fn told_by(driver: &mut SharedDriver<Pod, Served>, now: Instant, waker: &Waker) -> Vec<String> {
    let mut cx = Context::from_waker(waker);
    let mut next = || match driver.poll(now, &mut cx) {
        Poll::Ready(event) => Some(show(&event)),
        Poll::Pending => None,
    };
    core::iter::from_fn(&mut next).collect()
}

/// Its events once the next request is due.
fn told_when_due(driver: &mut SharedDriver<Pod, Served>) -> Vec<String> {
    let due = driver.poll_timeout().unwrap();
    told_by(driver, due, Waker::noop())
}

/// One item of a subscriber.
fn next_of(pods: &mut Pods) -> Option<String> {
    match pods.poll_next(Instant::ZERO, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Told::Event(event))) => Some(show(&event)),
        Poll::Ready(Some(Told::Mark(mark))) => Some(mark.to_string()),
        Poll::Ready(Some(Told::MarksLost)) => Some("marks lost".into()),
        Poll::Ready(None) => Some("end".to_string()),
        Poll::Pending => None,
    }
}

fn all_of(pods: &mut Pods) -> Vec<String> {
    core::iter::from_fn(|| next_of(pods)).collect()
}

fn pods(count: u32) -> Vec<String> {
    (1..=count).map(|n| pod(&format!("p{n}"), "1", n, "0")).collect()
}

fn in_namespace(namespace: &str, name: &str, version: u32) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"{namespace}","name":"{name}","uid":"1","resourceVersion":"{version}"}},"n":0}}"#
    )
}

/// A driver that is held back: its waker, and how often that was called.
fn held_back() -> (SharedDriver<Pod, Served>, Pods, Arc<Wakes>, Waker) {
    let writer = StoreWriter::with_log_limit(Indexer::new(), 2);
    let slow = writer.store().subscribe(Instant::ZERO, Subscription::new().wait());
    let watch = (3..=9).map(|version| event("MODIFIED", &pod("p1", "1", version, "0"))).collect::<String>();
    let mut driver = driven(writer, &[(200, list(2, &pods(1))), (200, watch)]);
    let (wakes, waker) = counting();
    let told = told_by(&mut driver, Instant::ZERO, &waker);
    assert_eq!(told, ["initial p1@1", "synced", "updated p1@1 p1@3"]);
    (driver, slow, wakes, waker)
}

#[test]
fn a_driver_sleeps_while_a_subscriber_holds_it_back_and_wakes_when_that_reads() {
    let (mut driver, mut slow, wakes, waker) = held_back();
    assert_eq!((wakes.count(), driver.informer().queued()), (0, 3), "it does not poll itself over and over");
    assert_eq!(next_of(&mut slow).as_deref(), Some("initial p1@1"));
    assert_eq!(wakes.count(), 1);
    assert_eq!(told_by(&mut driver, Instant::ZERO, &waker), ["updated p1@3 p1@4"]);
    let mut told = Vec::new();
    while let Some(next) = next_of(&mut slow) {
        told.push(next);
        let _ = told_by(&mut driver, Instant::ZERO, &waker);
    }
    assert_eq!(told.len(), 8, "every change, and that it is in sync");
    assert_eq!(told.last().map(String::as_str), Some("updated p1@8 p1@9"));
}

#[test]
fn no_deadline_runs_while_a_subscriber_holds_the_driver_back() {
    let (mut driver, mut slow, wakes, waker) = held_back();
    assert_eq!(driver.poll_timeout(), None);
    let later = Instant::ZERO + Duration::from_secs(3600);
    assert!(told_by(&mut driver, later, &waker).is_empty());
    assert_eq!(wakes.count(), 0);
    while next_of(&mut slow).is_some() {
        let told = told_by(&mut driver, later, &waker);
        assert!(told.iter().all(|event| event.starts_with("updated")), "the server was not silent: {told:?}");
    }
    assert!(driver.poll_timeout().is_some_and(|due| due > later), "the silence begins now");
}

#[test]
fn a_driver_that_is_held_back_wakes_when_the_subscriber_is_dropped() {
    let (mut driver, slow, wakes, waker) = held_back();
    drop(slow);
    assert_eq!(wakes.count(), 1);
    assert_eq!(told_by(&mut driver, Instant::ZERO, &waker).len(), 6);
}

/// The waker of a subscriber belongs to its executor.
#[test]
fn an_event_is_not_lost_where_the_waker_of_a_subscriber_panics() {
    let writer = StoreWriter::new(Indexer::new());
    let mut pods = writer.store().subscribe(Instant::ZERO, Subscription::new());
    assert!(pods.poll_next(Instant::ZERO, &mut Context::from_waker(&panicking())).is_pending());
    let mut driver = driven(writer, &[(200, list(2, &[pod("p1", "1", 1, "0"), pod("p2", "1", 2, "0")]))]);
    let poll = || told_by(&mut driver, Instant::ZERO, Waker::noop());
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err());
    assert_eq!(told_by(&mut driver, Instant::ZERO, Waker::noop()), ["initial p1@1", "initial p2@2", "synced"]);
    assert_eq!(all_of(&mut pods), ["initial p1@1", "initial p2@2", "synced"]);
}

#[test]
fn a_version_is_awaited_by_a_bookmark_where_a_selector_excludes_the_object() {
    let writer = StoreWriter::new(Indexer::new());
    let (store, bookmark) = (writer.store(), event("BOOKMARK", r#"{"metadata":{"resourceVersion":"8"}}"#));
    let mut excluded = pin!(store.await_version(&Key::from("other"), "7"));
    let (wakes, waker) = counting();
    let mut cx = Context::from_waker(&waker);
    assert!(excluded.as_mut().poll(&mut cx).is_pending());
    let mut driver = driven(writer, &[(200, list(2, &pods(1))), (200, bookmark)]);
    let _ = told_by(&mut driver, Instant::ZERO, Waker::noop());
    assert!(wakes.count() > 0);
    assert_eq!(excluded.as_mut().poll(&mut cx), Poll::Ready(Ok(())));
    assert_eq!(store.streams()[0].applied.as_deref(), Some("8"));
    driver.informer_mut().stop(Instant::ZERO);
    let mut later = pin!(store.await_version(&Key::from("other"), "9"));
    assert_eq!(later.as_mut().poll(&mut cx), Poll::Ready(Err(AwaitError::Stopped)));
}

#[test]
fn a_store_has_applied_what_its_informer_has_applied_after_each_event() {
    for order in [Order::Arrival, Order::ByKey] {
        let writer = StoreWriter::new(Indexer::new());
        let store = writer.store();
        let bookmark = event("BOOKMARK", r#"{"metadata":{"resourceVersion":"9"}}"#);
        let change = |name: &str, version| event("MODIFIED", &pod(name, "1", version, "0"));
        let watch = [change("p2", 5), change("p1", 6), change("p2", 7), change("p1", 8), bookmark, change("p1", 10)];
        let answers = [(200, list(4, &pods(2))), (200, watch.concat())];
        let mut driver = driven_in(order, writer, &answers);
        let mut applied = Vec::new();
        while let Poll::Ready(told) = driver.poll(Instant::ZERO, &mut Context::from_waker(Waker::noop())) {
            let of_store = store.streams()[0].applied.clone();
            assert_eq!(of_store.as_deref(), driver.informer().applied_version(), "{order:?}, after {}", show(&told));
            applied.push(of_store);
        }
        assert_eq!(store.streams()[0].applied.as_deref(), Some("10"));
        applied.dedup();
        assert!(applied.len() > 3, "{applied:?}");
    }
}

/// Two namespaces in one store; the list of the second one is answered with the status.
fn two_namespaces(status: u16) -> (SharedDriver<Pod, Served>, SharedDriver<Pod, Served>, Store<Pod>, Pods) {
    let writer = StoreWriter::new(Indexer::new());
    let store = writer.store();
    let subscriber = store.subscribe(Instant::ZERO, Subscription::new());
    let mut writers = writer.split(["one", "two"]).into_iter();
    let expired = event("ERROR", r#"{"kind":"Status","code":410}"#);
    let relist = list(9, &[in_namespace("one", "b", 9)]);
    let one = driven(
        writers.next().unwrap(),
        &[(200, list(2, &[in_namespace("one", "a", 1)])), (200, expired), (200, relist)],
    );
    let listed = || list(3, &[in_namespace("two", "a", 3)]);
    let again = (200, if status == 200 { String::new() } else { listed() });
    let two = driven(writers.next().unwrap(), &[(status, listed()), again]);
    (one, two, store, subscriber)
}

#[test]
fn a_list_of_one_namespace_deletes_no_object_of_another() {
    let (mut one, mut two, store, mut subscriber) = two_namespaces(200);
    assert_eq!(told_by(&mut two, Instant::ZERO, Waker::noop()), ["initial two/a@3", "synced"]);
    let told = told_by(&mut one, Instant::ZERO, Waker::noop());
    assert_eq!(told, ["initial one/a@1", "synced", "failed Watch Relist"]);
    assert_eq!(told_when_due(&mut one), ["vanished one/a@1", "added one/b@9"]);
    assert_eq!(store.keys().iter().map(Key::as_str).collect::<Vec<_>>(), ["two/a", "one/b"]);
    let told = all_of(&mut subscriber);
    assert_eq!(told[0], "failed Watch Relist", "why nothing came");
    assert_eq!(told[1..], ["initial two/a@3", "initial one/a@1", "synced", "vanished one/a@1", "added one/b@9"]);
    drop(one);
    assert!(all_of(&mut subscriber).is_empty(), "the other namespace goes on");
    drop(two);
    assert_eq!(next_of(&mut subscriber).as_deref(), Some("end"));
}

#[test]
fn a_namespace_that_is_forbidden_is_named_and_the_others_go_on() {
    let (mut one, mut two, store, mut subscriber) = two_namespaces(403);
    let _ = told_by(&mut one, Instant::ZERO, Waker::noop());
    assert!(store.streams()[0].failure.is_some());
    let _ = told_when_due(&mut one);
    let _ = told_by(&mut two, Instant::ZERO, Waker::noop());
    let [of_one, of_two] = &store.streams()[..] else { panic!("two streams") };
    assert!(of_one.synced && of_one.failure.is_none(), "it has recovered from its relist");
    assert_eq!((of_two.namespace.as_deref(), of_two.synced, of_two.stopped), (Some("two"), false, false));
    assert!(of_two.failure.as_ref().is_some_and(|report| matches!(report.failure, Failure::Status(_))));
    assert!(!store.has_synced() && store.contains("one/b"));
    assert!(!all_of(&mut subscriber).contains(&"synced".to_string()), "the view is not complete");

    assert_eq!(told_when_due(&mut two), ["initial two/a@3", "synced"]);
    assert!(store.has_synced() && store.streams()[1].failure.is_none());
    assert_eq!(all_of(&mut subscriber), ["initial two/a@3", "synced"]);
}
