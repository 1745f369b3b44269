//! Several namespaces in one view.

use crate::informers::support::{Answers, Counts, SOON, no_client, with_informers};
use core::time::Duration;
use listwatch::decode::Raw;
use listwatch::informer::{EventOf, InformerStatus, Subscription, Told};
use listwatch::informers::{Subscriber, WaitFailure};
use listwatch::transport::ListerWatcher;
use listwatch::{Clock, InformerHandle, Informers, Key, Resource, World};
use listwatch_tests::sim::{ApiServer, Feed, Trace};
use serde_json::json;

fn widgets() -> Resource {
    Resource::named("example.com/v1/widgets").unwrap()
}

/// Widgets in several namespaces, of which `closed` is denied, and the transports to them.
struct Site {
    clock: Clock,
    server: ApiServer,
    counts: Counts,
    informers: Informers,
}

impl Site {
    fn new() -> Self {
        let clock = Clock::simulated();
        let server = ApiServer::new(widgets().path(), Trace::new(false));
        let (counts, feeds) = (Counts::default(), server.clone());
        let counted = counts.clone();
        let transports = move |resource: &Resource| -> Box<dyn ListerWatcher + Send> {
            match resource.path().contains("/namespaces/closed/") {
                true => Box::new(counted.count(Answers::denied("closed"))),
                false => Box::new(counted.count(Feed::new(&feeds))),
            }
        };
        let informers = Informers::new(World::from_parts(clock.clone(), no_client(&clock), transports));
        let site = Self { clock, server, counts, informers };
        ["one/a", "one/b", "two/a", "three/a"].into_iter().for_each(|key| site.put(key));
        site
    }

    fn path(key: &str) -> String {
        let key = Key::from(key);
        format!("{}/{}", widgets().in_namespace(key.namespace().unwrap()).path(), key.name())
    }

    fn put(&self, key: &str) {
        self.server.with(|inside| inside.store.put(self.clock.now(), &Self::path(key), json!({ "wanted": 1 })));
    }

    fn delete(&self, key: &str) {
        self.server.with(|inside| inside.store.delete(self.clock.now(), &Self::path(key)));
    }

    fn informer(&self, namespaces: &[&str]) -> InformerHandle<Raw> {
        self.informers.informer_in(widgets(), namespaces.iter().copied())
    }
}

fn keys(handle: &InformerHandle<Raw>) -> Vec<String> {
    let mut keys: Vec<String> = handle.keys().iter().map(ToString::to_string).collect();
    keys.sort();
    keys
}

#[test]
fn the_cache_has_the_objects_of_each_namespace_and_of_no_other() {
    let site = Site::new();
    let two = site.informer(&["two", "one", "two"]);
    let same = site.informer(&["one", "two"]);
    with_informers(&site.informers, async {
        two.synced().within(SOON).await.unwrap();
        assert_eq!((keys(&two), site.counts.made()), (["one/a", "one/b", "two/a"].map(Into::into).to_vec(), 2));
        assert!(same.has_synced());
        // A list of one namespace deletes nothing in the other.
        site.delete("two/a");
        site.server.with(|inside| {
            inside.store.compact();
            inside.restart(site.clock.now(), true);
        });
        site.put("one/c");
        site.clock.sleep(Duration::from_secs(600)).await;
        assert_eq!(keys(&two), ["one/a", "one/b", "one/c"]);
    });
    drop((two, same));
    assert_eq!(site.counts.open(), 0);
}

#[test]
fn a_denied_namespace_is_named_and_the_others_go_on() {
    let site = Site::new();
    let handle = site.informer(&["one", "closed", "two"]);
    with_informers(&site.informers, async {
        let error = handle.synced().within(SOON).await.unwrap_err();
        let denied = error.streams.iter().find(|stream| stream.name.namespace() == Some("closed")).unwrap();
        assert_eq!(denied.help().unwrap(), "check with `kubectl auth can-i watch widgets.example.com -n closed`");
        site.clock.sleep(SOON).await;
        site.put("two/b");
        site.clock.sleep(SOON).await;
        assert_eq!(keys(&handle), ["one/a", "one/b", "two/a", "two/b"]);
        let error = handle.synced().await.unwrap_err();
        let [denied] = &error.streams[..] else { panic!("the others have synced: {error}") };
        assert!(denied.to_string().contains("widgets is forbidden: User \"me\" cannot list"), "{denied}");
        assert!(!handle.has_synced());
        let states = handle.streams();
        let is_synced = |stream: &_| matches!(stream, InformerStatus::Synced { .. });
        assert_eq!(states.iter().map(|stream| is_synced(&stream.status)).collect::<Vec<_>>(), [false, true, true]);
    });
}

/// What a subscriber is told next, until `count` items.
async fn take(subscriber: &mut Subscriber<Raw>, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        told.push(match subscriber.next().await {
            Some(Told::Event(EventOf::Added { object, initial })) => format!("added {} {initial}", object.key()),
            Some(Told::Event(EventOf::Updated { new, .. })) => format!("updated {}", new.key()),
            Some(Told::Event(EventOf::Deleted { object, .. })) => format!("deleted {}", object.key()),
            Some(Told::Event(EventOf::Synced)) => "synced".into(),
            Some(Told::Event(EventOf::Failed(_))) => continue,
            other => panic!("{other:?}"),
        });
    }
    told
}

#[test]
fn a_late_subscriber_of_all_namespaces_is_told_the_cache_and_then_each_change() {
    let site = Site::new();
    let handle = site.informer(&["one", "two"]);
    with_informers(&site.informers, async {
        handle.synced().within(SOON).await.unwrap();
        let mut late = handle.subscribe(Subscription::new().resync(Duration::from_secs(100)));
        drop(handle);
        let mut told = take(&mut late, 4).await;
        told.sort();
        assert_eq!(told, ["added one/a true", "added one/b true", "added two/a true", "synced"]);
        site.delete("one/b");
        assert_eq!(take(&mut late, 1).await, ["deleted one/b"], "a subscriber keeps the informer running");
        assert_eq!(late.backlog(), 0);
        let mut again = take(&mut late, 2).await;
        again.sort();
        assert_eq!(again, ["updated one/a", "updated two/a"], "the resync");
        assert!(site.clock.now().saturating_since(Default::default()) >= Duration::from_secs(100));
        drop(late);
        assert_eq!(site.counts.open(), 0);
    });
}

#[test]
fn a_wait_for_one_key_ends_by_its_change_at_its_deadline_or_at_once_where_no_stream_covers_it() {
    let site = Site::new();
    let handle = site.informer(&["one", "closed", "two"]);
    with_informers(&site.informers, async {
        let (found, ()) =
            smol::future::zip(handle.wait_for(&Key::from("two/b"), |object| object.is_some(), SOON), async {
                site.clock.sleep(Duration::from_secs(2)).await;
                site.put("two/b");
            })
            .await;
        assert_eq!(found.unwrap().unwrap().key().to_string(), "two/b");
        let late = handle.wait_for(&Key::from("closed/a"), |_| true, SOON).await.unwrap_err();
        assert_eq!(late.failure, WaitFailure::Late(SOON));
        assert!(late.to_string().contains("kubectl auth can-i watch widgets.example.com -n closed"), "{late}");
        let elsewhere = handle.wait_for(&Key::from("three/a"), |_| true, SOON).await.unwrap_err();
        assert_eq!(elsewhere.failure.to_string(), "no informer of the store covers the namespace");
    });
}

#[test]
fn an_index_of_a_handle_serves_every_user_and_its_panic_holds_up_its_own_stream_alone() {
    let site = Site::new();
    let handle = site.informer(&["one", "two"]);
    let by_name = handle.add_index(|widget, emit| emit(widget.meta().name()));
    let panicking = handle.add_index(|widget, _| assert_ne!(widget.key().to_string(), "one/b", "not this one"));
    with_informers(&site.informers, async {
        site.clock.sleep(SOON).await;
        let states = handle.streams();
        assert!(states[0].panics > 1 && states[1].panics == 0, "{states:?}");
        assert!(!handle.has_synced() && matches!(states[1].status, InformerStatus::Synced { .. }));
        handle.remove_index(panicking);
        handle.synced().within(Duration::from_secs(60)).await.unwrap();
        assert_eq!(site.informer(&["one", "two"]).by_index(by_name, "a").len(), 2);
    });
}
