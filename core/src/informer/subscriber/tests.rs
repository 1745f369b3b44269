use super::super::{Event, EventOf, Subscription, Told};
use super::Subscriber;
use crate::cache::{Cache, Change, Indexer, Note, Store, StoreWriter};
use crate::fifo::Delta;
use crate::object::{MetaBuilder, Object, ObjectHandle};
use crate::sync::StdLock;
use crate::time::Instant;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use core::task::{Context, Poll, Waker};

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
    let writer = StoreWriter::new(Indexer::new());
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
fn line(told: &Told<Pod>) -> String {
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
