//! What each machine does when its fixed memory is full: a test for each row of the table of `storage::Fixed`.

use core::time::Duration;
use listwatch_core::Instant;
use listwatch_core::cache::{Capacity, FixedIndexer};
use listwatch_core::controller::{Ended, FixedReconciler};
use listwatch_core::decode::{Body, Part, Projector};
use listwatch_core::fanout::{FixedEventLog, Notice, SubscriberId, SubscriptionConfig, Transition, WhenBehind};
use listwatch_core::fifo::{Delta, FixedDeltaFifo, Order};
use listwatch_core::projection;
use listwatch_core::projection::{Beginning, Text};
use listwatch_core::queue::{
    Added, ExponentialBackoff, Finished, FixedWorkQueue, Lanes, Outcome, Priority, TokenBucket,
};
use listwatch_core::storage::{Fixed, Full, Indexed, Keyed, KnownObjects, Versioned};

/// A name, a version, and the node that it is on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pod(&'static str, &'static str, &'static str);

impl Keyed for Pod {
    type Key = &'static str;

    fn key(&self) -> &&'static str {
        &self.0
    }
}

impl Versioned for Pod {
    fn resource_version(&self) -> &str {
        self.1
    }

    fn is_same_object(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn is_same_state(&self, other: &Self) -> bool {
        self == other
    }
}

const NOW: Instant = Instant::ZERO;

/// A pod of version 1 on node n1.
fn pod(name: &'static str) -> Pod {
    Pod(name, "1", "n1")
}

fn by_node(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    emit(pod.2);
}

fn by_name(pod: &Pod, emit: &mut dyn FnMut(&str)) {
    emit(pod.0);
}

/// What a consumer knows.
struct Known<const N: usize>([Pod; N]);

impl<const N: usize> KnownObjects<Pod> for Known<N> {
    fn known<'a>(&'a self) -> impl Iterator<Item = &'a Pod>
    where
        Pod: 'a,
    {
        self.0.iter()
    }

    fn is_known(&self, key: &&'static str) -> bool {
        self.0.iter().any(|pod| pod.0 == *key)
    }
}

fn pop_all<const N: usize>(fifo: &mut FixedDeltaFifo<Pod, N>) -> Vec<Delta<Pod>> {
    core::iter::from_fn(|| fifo.pop()).map(|popped| popped.delta).collect()
}

#[test]
fn a_new_key_comes_back_from_a_full_work_queue() {
    let mut queue = FixedWorkQueue::<u8, 2>::new(ExponentialBackoff::DEFAULT);
    assert_eq!(
        (queue.try_add(1), queue.try_add_after(NOW, 2, Duration::from_secs(1))),
        (Ok(Added::Queued), Ok(Added::Delayed))
    );
    assert_eq!(queue.try_add(3), Err(Full(3)));
    assert_eq!(queue.try_add_after(NOW, 3, Duration::from_secs(1)), Err(Full(3)));
    assert_eq!(queue.try_add_rate_limited(NOW, 3), Err(Full(3)));
    assert_eq!((queue.try_add(1), queue.try_add(2)), (Ok(Added::Merged), Ok(Added::Queued)), "those that it knows");
}

#[test]
fn a_job_is_always_given_back_to_a_full_work_queue() {
    let mut queue = FixedWorkQueue::<u8, 2>::new(ExponentialBackoff::DEFAULT);
    assert_eq!((queue.try_add(1), queue.try_add(2)), (Ok(Added::Queued), Ok(Added::Queued)));
    let (one, two) = (queue.poll_job().unwrap(), queue.poll_job().unwrap());
    assert_eq!(queue.try_add(3), Err(Full(3)));
    queue.hold(NOW, &two, Outcome::Retry);
    assert!(matches!(queue.finish(NOW, one, Outcome::Retry), Finished::RetryAt(_)));
    queue.done(two);
    queue.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(queue.len(), 2);
}

#[test]
fn a_rate_limiter_has_room_for_any_number_of_keys() {
    let mut queue = FixedWorkQueue::<u16, 1, _>::new(TokenBucket::per_second(1, 1));
    for key in 0..1000 {
        assert!(queue.try_when(NOW, key).is_ok());
        queue.forget(&key);
    }
}

#[test]
fn an_object_comes_back_from_a_full_delta_fifo() {
    let mut fifo = FixedDeltaFifo::<Pod, 2>::new(Order::Arrival);
    assert!(fifo.try_stage(pod("a")).is_ok() && fifo.try_add(pod("b")).is_ok());
    assert_eq!(fifo.try_add(pod("c")), Err(Full(pod("c"))));
    assert_eq!(fifo.try_update(pod("b")), Err(Full(pod("b"))));
    assert_eq!(fifo.try_delete(pod("b"), &()), Err(Full(pod("b"))));
    assert_eq!(pop_all(&mut fifo), [Delta::Added(pod("b"))]);

    let mut fifo = FixedDeltaFifo::<Pod, 1>::new(Order::Arrival).coalescing();
    assert!(fifo.try_add(pod("a")).is_ok());
    assert_eq!(fifo.try_update(Pod("a", "2", "n1")), Ok(()), "for a key that waits there is room");
    assert_eq!(pop_all(&mut fifo), [Delta::Added(Pod("a", "2", "n1"))]);
}

#[test]
fn a_list_that_does_not_fit_shows_no_deletion() {
    let known = Known([pod("a"), pod("z")]);
    let mut fifo = FixedDeltaFifo::<Pod, 1>::new(Order::Arrival);
    assert!(fifo.try_stage(pod("a")).is_ok());
    assert_eq!(fifo.try_stage(pod("b")), Err(Full(pod("b"))));
    assert_eq!(fifo.try_restage(pod("c")), Err(Full(pod("c"))));
    assert_eq!(fifo.try_stage_present(&"d"), Err(Full(())));
    fifo.discard_stage();
    assert!(fifo.is_empty() && !fifo.has_synced());
    assert!(fifo.try_stage(pod("z")).is_ok(), "the next list begins anew");
    assert_eq!(fifo.try_commit_stage(&Known([pod("z")])), Ok(()));
    assert_eq!(pop_all(&mut fifo), [Delta::Replaced(pod("z"))]);
    assert!(known.is_known(&"a"));
}

#[test]
fn a_commit_without_room_for_its_tombstones_is_tried_again() {
    let known = Known([pod("a"), pod("b")]);
    let mut fifo = FixedDeltaFifo::<Pod, 3>::new(Order::Arrival);
    assert!(fifo.try_add(pod("c")).is_ok() && fifo.try_stage(pod("c")).is_ok());
    assert_eq!(fifo.try_commit_stage(&known), Err(Full(())));
    assert_eq!(pop_all(&mut fifo), [Delta::Added(pod("c"))], "nothing of the list");
    assert_eq!(fifo.try_commit_stage(&known), Ok(()));
    let [a, b] = known.0.map(Delta::Tombstone);
    assert_eq!(pop_all(&mut fifo), [a, b, Delta::Replaced(pod("c"))]);
}

#[test]
fn a_resync_without_room_queues_nothing() {
    let mut fifo = FixedDeltaFifo::<Pod, 2>::new(Order::Arrival);
    assert_eq!(fifo.try_resync(&Known([pod("a"), pod("b"), pod("c")])), Err(Full(())));
    assert!(fifo.is_empty());
}

#[test]
fn an_object_that_exceeds_a_capacity_comes_back_from_an_indexer() {
    type Pods = FixedIndexer<Pod, 3, Indexed<2, 4, 3, 8>>;
    let mut pods = Pods::new();
    let node = pods.try_add_index(by_node).unwrap();
    let name = pods.try_add_index(by_name).unwrap();
    let refused = |pods: &mut Pods, pod: Pod, capacity| {
        assert_eq!(pods.lacking(&pod), Some(capacity), "{pod:?}");
        assert_eq!(pods.try_insert(pod), Err(Full(pod)));
        pods.check();
    };
    assert_eq!(pods.try_insert(pod("a")), Ok(None));
    refused(&mut pods, Pod("b", "1", "n2"), Capacity::Values);
    refused(&mut pods, Pod("a", "2", "a-long-name"), Capacity::Text);
    assert_eq!(pods.try_insert(pod("b")), Ok(None));
    refused(&mut pods, pod("c"), Capacity::Postings);
    assert!(pods.by_index(node, "n1").eq([&pod("a"), &pod("b")]), "what was refused changed nothing");

    pods.remove_index(name);
    assert_eq!(pods.try_insert(pod("c")), Ok(None));
    refused(&mut pods, pod("d"), Capacity::Objects);
    assert_eq!(pods.try_insert(Pod("c", "2", "n2")), Ok(Some(pod("c"))), "a stored object has its place");
}

#[test]
fn an_index_that_does_not_fit_comes_back() {
    let mut pods = FixedIndexer::<Pod, 3, Indexed<2, 3, 3>>::new();
    assert!(["a", "b"].into_iter().all(|name| pods.try_insert(pod(name)).is_ok()));
    let node = pods.try_add_index(by_node).unwrap();
    assert!(pods.try_add_index(by_name).is_err(), "four pairs");
    pods.check();
    assert!(pods.remove("b").is_some());
    assert!(pods.try_add_index(by_name).is_ok());
    assert!(pods.try_add_index(by_name).is_err(), "three indexes");
    assert!(pods.index_values(node).eq(["n1"]));
    pods.check();
}

type Log = FixedEventLog<Pod, 2>;

fn subscribe(log: &mut Log, config: SubscriptionConfig<Pod, Fixed<2>>, pods: &[Pod]) -> SubscriberId {
    log.try_subscribe(NOW, config, pods.iter()).expect("there is room")
}

fn change(name: &'static str, old: &'static str, new: &'static str) -> Transition<Pod> {
    Transition::Updated { old: Pod(name, old, "n1"), new: Pod(name, new, "n1") }
}

/// The changes that wait.
fn told(log: &mut Log, id: SubscriberId) -> Vec<Transition<Pod>> {
    let changes = core::iter::from_fn(|| log.poll_next(id)).filter_map(|notice| match notice {
        Notice::Changed(change) => Some(change),
        _ => None,
    });
    changes.collect()
}

#[test]
fn a_subscriber_behind_a_full_event_log_is_told_one_change_for_each_key() {
    let mut log = Log::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    for (old, new) in [("1", "2"), ("2", "3"), ("3", "4"), ("4", "5")] {
        assert_eq!(log.try_push(NOW, change("a", old, new)), Ok(()));
    }
    assert_eq!(told(&mut log, id), [change("a", "1", "5")]);
}

#[test]
fn a_change_without_room_comes_back_until_a_subscriber_has_read() {
    let mut log = Log::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new().when_behind(WhenBehind::Wait), &[]);
    for name in ["a", "b"] {
        assert_eq!((log.has_room(), log.try_push(NOW, change(name, "1", "2"))), (true, Ok(())));
    }
    let third = change("c", "1", "2");
    assert_eq!((log.has_room(), log.try_push(NOW, third.clone())), (false, Err(Full(third.clone()))));
    assert_eq!(told(&mut log, id).len(), 2);
    assert_eq!((log.has_room(), log.try_push(NOW, third)), (true, Ok(())));
}

#[test]
fn a_mark_without_room_holds_the_change_back() {
    let mut log = FixedEventLog::<Pod, 1>::new(1);
    fn two_marks(_: &Pod, mark: &mut dyn FnMut(&str)) {
        ["x", "y"].into_iter().for_each(mark);
    }
    let config = SubscriptionConfig::<_, Fixed<1>>::new().marks(two_marks);
    let id = log.try_subscribe(NOW, config, [].iter()).unwrap();
    assert_eq!(log.try_push(NOW, change("a", "1", "2")), Ok(()));
    assert_eq!(log.try_push(NOW, change("a", "2", "3")), Ok(()));
    let third = change("a", "3", "4");
    assert_eq!(log.try_push(NOW, third.clone()), Err(Full(third.clone())));
    assert!(log.poll_next(id).is_some() && log.poll_next(id).is_some());
    assert_eq!(log.try_push(NOW, third), Ok(()));
}

#[test]
fn a_subscriber_without_room_gets_its_configuration_back() {
    let mut log = Log::new(8);
    let objects = [pod("a"), pod("b"), pod("c")];
    assert!(log.try_subscribe(NOW, SubscriptionConfig::new(), objects.iter()).is_err(), "for its objects");
    assert_eq!(log.subscribers(), 0);
    for _ in 0..2 {
        subscribe(&mut log, SubscriptionConfig::new(), &[]);
    }
    assert!(log.try_subscribe(NOW, SubscriptionConfig::new(), [].iter()).is_err());
    assert_eq!(log.subscribers(), 2);
}

#[test]
fn a_resync_of_a_subscriber_without_room_announces_nothing() {
    let mut log = Log::new(8);
    let id = subscribe(&mut log, SubscriptionConfig::new(), &[]);
    assert_eq!(log.try_resync(id, [pod("a"), pod("b"), pod("c")].iter()), Err(Full(())));
    assert_eq!(told(&mut log, id), []);
}

type Reconciler = FixedReconciler<u8, &'static str, &'static str, 2>;

fn reconciler() -> Reconciler {
    let queue = FixedWorkQueue::with_discipline(ExponentialBackoff::DEFAULT, Lanes::new(), 0);
    let mut reconciler = Reconciler::new(queue, 0);
    reconciler.start(NOW, None);
    reconciler
}

fn add(reconciler: &mut Reconciler, key: u8, cause: &'static str) -> Result<Added, Full<u8>> {
    reconciler.try_add(NOW, key, Priority::Normal, cause)
}

#[test]
fn a_new_key_comes_back_from_a_full_reconciler() {
    let mut reconciler = reconciler();
    assert_eq!((add(&mut reconciler, 1, "a"), add(&mut reconciler, 2, "b")), (Ok(Added::Queued), Ok(Added::Queued)));
    assert_eq!((add(&mut reconciler, 3, "c"), add(&mut reconciler, 1, "d")), (Err(Full(3)), Ok(Added::Merged)));
}

#[test]
fn the_oldest_cause_is_dropped_and_counted() {
    let mut reconciler = reconciler();
    for cause in ["a", "b", "c"] {
        assert!(add(&mut reconciler, 1, cause).is_ok());
    }
    let item = reconciler.poll_item(NOW).unwrap();
    assert!(reconciler.causes(&item).map(|(cause, _)| *cause).eq(["b", "c"]));
    assert_eq!(reconciler.dropped_causes(&item), 1);
    assert_eq!(reconciler.finish(NOW, item, Outcome::Done, []), Ended::Finished(Finished::Done));
}

#[test]
fn a_write_without_room_holds_its_key_until_the_hold_is_over() {
    let mut reconciler = reconciler();
    assert!(add(&mut reconciler, 1, "a").is_ok());
    let item = reconciler.poll_item(NOW).unwrap();
    let Ended::Held { hold, until } = reconciler.finish(NOW, item, Outcome::Done, ["x", "y", "z"]) else {
        panic!("it has written")
    };
    assert!(reconciler.fulfil(NOW, hold, 0) && reconciler.fulfil(NOW, hold, 1), "the third is not seen");
    assert!(reconciler.poll_item(NOW).is_none());
    reconciler.handle_timeout(until);
    let item = reconciler.poll_item(until).expect("it is reconciled");
    assert_eq!(*reconciler.key(&item), 1);
    assert_eq!(reconciler.finish(until, item, Outcome::Done, []), Ended::Finished(Finished::Done));
}

#[test]
fn a_source_without_room_is_an_error() {
    let mut reconciler =
        Reconciler::new(FixedWorkQueue::with_discipline(ExponentialBackoff::DEFAULT, Lanes::new(), 0), 0);
    assert!(reconciler.try_add_source().is_ok() && reconciler.try_add_source().is_ok());
    assert_eq!(reconciler.try_add_source(), Err(Full(())));
}

#[test]
fn a_field_that_is_too_long_is_refused_or_cut_as_declared() {
    projection! {
        struct Door { lock: Text<4> = "status.lock", note: Beginning<4> = "status.note" }
    }
    let list = br#"{"kind":"DoorList","metadata":{"resourceVersion":"1"},"items":[
        {"metadata":{"name":"a"},"status":{"lock":"jammed"}},{"metadata":{"name":"b"},"status":{"note":"jammed"}}]}"#;
    let mut projector = Projector::<Door>::new();
    projector.start(Body::List);
    let mut bytes = &list[..];
    assert!(
        matches!(projector.next_part(&mut bytes), Some(Part::Undecodable(problem)) if problem.to_string().contains("4"))
    );
    let Some(Part::Item(door)) = projector.next_part(&mut bytes) else { panic!("the list goes on") };
    assert_eq!((door.value.note.as_str(), door.value.note.is_cut()), ("jamm", true));
}
