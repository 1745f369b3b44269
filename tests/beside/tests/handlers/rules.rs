//! Rules of client-go's handlers that no exchange shows.

use listwatch_core::Instant;
use listwatch_core::cache::{Cache, Change, Indexer, Store, StoreWriter};
use listwatch_core::fifo::Delta;
use listwatch_core::informer::{Subscription, Told};
use listwatch_core::object::{MetaBuilder, Object, ObjectHandle};
use std::task::{Context, Poll, Waker};

type Pod = ObjectHandle<()>;

fn pod(name: &str, version: &str) -> Pod {
    let mut meta = MetaBuilder::default();
    meta.set_name(name);
    meta.set_resource_version(version);
    Object { meta: meta.build().unwrap(), value: () }.into()
}

fn put(writer: &mut StoreWriter<()>, pod: Pod) {
    writer.apply(Change::new(&Delta::Updated(pod), false));
    writer.wake();
}

fn told(pods: &mut listwatch_core::informer::Subscriber<Pod, listwatch_core::sync::StdLock>) -> Vec<Pod> {
    let mut objects = Vec::new();
    while let Poll::Ready(Some(Told::Event(event))) =
        pods.poll_next(Instant::ZERO, &mut Context::from_waker(Waker::noop()))
    {
        objects.extend(event.object().cloned());
    }
    objects
}

#[test]
fn the_store_has_each_change_before_a_subscriber_is_told_of_it() {
    let mut writer = StoreWriter::new(Indexer::new());
    let store: Store<()> = writer.store();
    let mut pods = store.subscribe(Instant::ZERO, Subscription::new().wait());
    for version in ["1", "2"] {
        put(&mut writer, pod("a", version));
        let [one] = &told(&mut pods)[..] else { panic!("one change is told") };
        assert_eq!(store.get(one.key()).as_ref(), Some(one));
    }
    writer.apply(Change::new(&Delta::Deleted(pod("a", "3")), false));
    let gone = told(&mut pods);
    assert_eq!((gone.len(), store.len()), (1, 0));
}

#[test]
fn a_filter_may_subscribe_and_drop_subscribers_of_its_own_store() {
    let mut writer = StoreWriter::new(Indexer::new());
    let store: Store<()> = writer.store();
    put(&mut writer, pod("a", "1"));
    let inside = store.clone();
    let subscribes = move |_: &Pod| {
        let mut other = inside.subscribe(Instant::ZERO, Subscription::new());
        told(&mut other).len() == inside.len()
    };
    let mut pods = store.subscribe(Instant::ZERO, Subscription::new().wait().filter(subscribes));
    put(&mut writer, pod("b", "2"));
    assert_eq!(told(&mut pods), [pod("a", "1"), pod("b", "2")]);
}
