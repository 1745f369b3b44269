//! Lists after the first one: what has not changed is held once, and told all the same.

use super::*;

const GONE: &str = r#"{"kind":"Status","code":410}"#;

/// Three pods, which a watch follows until it expires.
fn expired(configure: impl FnOnce(&mut InformerConfig)) -> Talk {
    let pods = ["a", "b", "c", "d", "e"].map(|name| pod(name, name, 1, "0"));
    let mut talk = talk(configure).watching(&pods);
    talk.sends(&event("ERROR", GONE));
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    talk
}

/// The same, where the relist comes as a stream.
fn streamed() -> Talk {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    assert!(talk.asked().contains("sendInitialEvents=true"));
    talk.head(200);
    ["a", "b", "c", "d", "e"].iter().for_each(|name| talk.sends(&event("ADDED", &pod(name, name, 1, "0"))));
    talk.sends(&end_of_stream(1));
    assert_eq!(talk.told().len(), 6);
    talk.sends(&event("ERROR", GONE));
    assert_eq!(talk.told(), ["failed Watch Relist"]);
    assert!(talk.asked().contains("sendInitialEvents=true"));
    talk.head(200);
    talk
}

fn end_of_stream(version: u32) -> String {
    let annotations = r#""annotations":{"k8s.io/initial-events-end":"true"}"#;
    event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}",{annotations}}}}}"#))
}

#[test]
fn unchanged_objects_are_told_in_the_order_of_the_list() {
    for order in [Order::Arrival, Order::ByKey] {
        let mut talk = expired(|config| config.order = order);
        let changed = pod("b", "b", 8, "1");
        let again = |name: &str| pod(name, name, 1, "0");
        talk.answers(&list(9, &[again("e"), changed, again("c"), again("a"), pod("x", "x", 7, "0")]));
        let mut told =
            ["updated e@1 e@1", "updated b@1 b@8", "updated c@1 c@1", "updated a@1 a@1", "added x@7"].to_vec();
        told.insert(if order == Order::Arrival { 0 } else { 5 }, "vanished d@1");
        assert_eq!(talk.told(), told);
        assert_eq!(talk.informer.queued(), 0);
    }
}

#[test]
fn a_relist_that_broke_off_forgets_what_had_not_changed() {
    let mut talk = expired(|_| {});
    let _ = talk.asked();
    talk.head(200);
    talk.sends(&list(9, &[pod("a", "a", 1, "0"), pod("b", "b", 1, "0")])[..100]);
    talk.breaks();
    talk.answers(&list(9, &[pod("b", "b", 1, "0")]));
    let told = talk.told();
    let vanished: Vec<_> = told.iter().filter(|event| event.starts_with("vanished")).collect();
    assert_eq!(vanished, ["vanished a@1", "vanished c@1", "vanished d@1", "vanished e@1"]);
    assert_eq!(talk.cache(), ["b@1"]);
}

#[test]
fn an_unchanged_object_that_the_list_has_twice_is_told_twice() {
    let mut talk = expired(|_| {});
    let again = |name: &str| pod(name, name, 1, "0");
    talk.answers(&list(9, &[again("a"), again("b"), again("a"), again("c"), again("d"), again("e")]));
    let told = ["a", "b", "a", "c", "d", "e"].map(|name| format!("updated {name}@1 {name}@1"));
    assert_eq!(talk.told(), told);
}

#[test]
fn what_changes_while_a_relist_streams_takes_its_place_in_it() {
    let mut talk = streamed();
    ["a", "b", "c", "d"].iter().for_each(|name| talk.sends(&event("ADDED", &pod(name, name, 1, "0"))));
    talk.sends(&event("ADDED", &pod("c", "c", 1, "0")));
    talk.sends(&event("MODIFIED", &pod("b", "b", 5, "0")));
    talk.sends(&event("DELETED", &pod("c", "c", 6, "0")));
    talk.sends(&event("MODIFIED", &pod("b", "b", 7, "0")));
    assert!(talk.told().is_empty());
    talk.sends(&end_of_stream(8));
    let told = ["vanished c@1", "vanished e@1", "updated a@1 a@1", "updated b@1 b@7", "updated d@1 d@1"];
    assert_eq!(talk.told(), told);
    assert_eq!(talk.cache(), ["a@1", "b@7", "d@1"]);
}

#[test]
fn an_unchanged_object_that_cannot_be_decoded_later_in_the_stream_stays() {
    let mut talk = streamed();
    ["a", "b", "c", "d", "e"].iter().for_each(|name| talk.sends(&event("ADDED", &pod(name, name, 1, "0"))));
    talk.sends(&event("MODIFIED", &pod("b", "b", 5, "{}")));
    assert_eq!(talk.told().len(), 1, "it is told");
    talk.sends(&event("MODIFIED", &pod("b", "b", 6, "0")));
    talk.sends(&end_of_stream(8));
    assert_eq!(talk.told()[..2], ["updated a@1 a@1", "updated b@1 b@6"]);
}

#[test]
fn a_watch_goes_on_behind_what_a_relist_has_folded() {
    let mut talk = expired(|config| config.queue_limit = 100);
    let again = |name: &str| pod(name, name, 1, "0");
    talk.answers(&list(9, &[again("a"), again("b"), again("c"), again("d"), again("e")]));
    assert_eq!(talk.informer.queued(), 5);
    assert!(matches!(talk.informer.poll_action(), Some(Action::Open(id, _)) if { talk.id = id; true }));
    talk.head(200);
    talk.sends(&event("MODIFIED", &pod("a", "a", 10, "0")));
    talk.sends(&event("DELETED", &pod("b", "b", 11, "0")));
    let told = talk.told();
    assert_eq!(told[..5], ["a", "b", "c", "d", "e"].map(|name| format!("updated {name}@1 {name}@1")));
    assert_eq!(told[5..], ["updated a@1 a@10", "deleted b@11"]);
}

std::thread_local! {
    /// Whether a cache of this thread is read.
    static READING: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// An object whose end would wait for a reader of the cache.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Heavy {}

impl Drop for Heavy {
    fn drop(&mut self) {
        assert!(!READING.get());
    }
}

#[derive(Default)]
struct Locked(Indexer<ObjectHandle<Heavy>>);

impl Cache<ObjectHandle<Heavy>> for Locked {
    type Mem = Heap;

    fn read<R>(&self, f: impl FnOnce(&Indexer<ObjectHandle<Heavy>>) -> R) -> R {
        READING.set(true);
        let result = f(&self.0);
        READING.set(false);
        result
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<ObjectHandle<Heavy>>) -> R) -> R {
        f(&mut self.0)
    }
}

#[test]
fn an_unchanged_item_is_dropped_outside_of_the_lock_of_the_cache() {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let mut informer = Informer::<Heavy, Locked>::with_cache(Resource::new("/pods"), config, Locked::default());
    informer.start(Instant::ZERO);
    let heard = |informer: &mut Informer<Heavy, Locked>, body: &str| {
        let id = loop {
            match informer.poll_action() {
                Some(Action::Open(id, _)) => break id,
                Some(Action::Abort(_)) => {}
                None => informer.handle_timeout(informer.poll_timeout().expect("a request is waited for")),
            }
        };
        informer.handle(Instant::ZERO, Incoming::Head { id, head: ResponseHead { status: 200, ..Default::default() } });
        informer.space()[..body.len()].copy_from_slice(body.as_bytes());
        informer.handle(Instant::ZERO, Incoming::Data { id, len: body.len() });
        informer.handle(Instant::ZERO, Incoming::End { id });
        core::iter::from_fn(|| informer.poll_event()).count()
    };
    let pods = list(1, &["a", "b"].map(|name| pod(name, name, 1, "0")));
    assert_eq!(heard(&mut informer, &pods), 3);
    assert_eq!(heard(&mut informer, &event("ERROR", GONE)), 1);
    assert_eq!(heard(&mut informer, &pods), 2);
}

/// A custom resource may come back in another version of its kind.
#[test]
fn an_informer_can_go_on_with_another_collection_of_the_same_objects() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    talk.ends();
    let _ = talk.asked();
    talk.head(404);
    talk.ends();
    talk.informer.set_resource(Resource::new("/v2/pods"));
    assert!(talk.asked().starts_with("/v2/pods?"));
    talk.head(200);
    talk.sends(&list(9, &[pod("a", "1", 1, "2")]));
    talk.ends();
    assert_eq!(talk.told().split_off(2), ["vanished b@1", "updated a@1 a@1"]);
    assert_eq!(talk.informer.cache().get("a").unwrap().n, 2, "the state of one version has two forms");
}
