use super::*;
use crate::decode::{Decode, ProjectedJson, Tables};
use crate::fifo::Order;
use crate::projection::Text;
use crate::request::RequestId;
use crate::transport::{ResponseHead, TransportError, TransportErrorKind};
use alloc::sync::Arc;
use core::task::Poll;
use core::time::Duration;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

mod back_in_time;
mod bodies;
mod decoding;
mod pressure;
mod relists;
mod restored;
mod selection;
#[cfg(feature = "std")]
mod shared;
mod status;

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Pod {
    #[serde(deserialize_with = "number")]
    n: u32,
}

/// A type of the caller's that panics for one number.
const PANICS: &str = "13";

fn number<'de, D: serde::Deserializer<'de>>(json: D) -> Result<u32, D::Error> {
    let number = <u32 as serde::Deserialize>::deserialize(json)?;
    assert_ne!(number.to_string(), PANICS);
    Ok(number)
}

/// An informer and the server it talks to, by hand.
struct Talk {
    informer: Informer<Pod>,
    now: Instant,
    id: RequestId,
    /// What was told while nobody asked.
    told: Vec<String>,
}

fn talk(configure: impl FnOnce(&mut InformerConfig)) -> Talk {
    talk_of("/pods", configure)
}

fn talk_of(path: &str, configure: impl FnOnce(&mut InformerConfig)) -> Talk {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    config.reflector.watch_timeout = None;
    config.reflector.answer_timeout = None;
    config.reflector.reconnect_jitter = Duration::ZERO;
    configure(&mut config);
    let mut informer = Informer::new(Resource::new(path), config);
    informer.start(Instant::ZERO);
    Talk { informer, now: Instant::ZERO, id: RequestId(0), told: Vec::new() }
}

fn pod(name: &str, uid: &str, version: u32, n: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}","resourceVersion":"{version}"}},"n":{n}}}"#)
}

fn list(version: u32, items: &[String]) -> String {
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#, items.join(","))
}

fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

impl Talk {
    /// The next request; waits for a back-off.
    fn asked(&mut self) -> String {
        loop {
            match self.informer.poll_action() {
                Some(Action::Open(id, request)) => {
                    self.id = id;
                    return request.to_string();
                }
                Some(Action::Abort(_)) => {}
                None => {
                    self.told = self.told();
                    self.now = self.informer.poll_timeout().expect("something is asked, or waited for");
                    self.informer.handle_timeout(self.now);
                }
            }
        }
    }

    fn head(&mut self, status: u16) {
        let head = ResponseHead { status, ..ResponseHead::default() };
        self.informer.handle(self.now, Incoming::Head { id: self.id, head });
    }

    fn sends(&mut self, body: &str) {
        for chunk in body.as_bytes().chunks(1000) {
            self.informer.space()[..chunk.len()].copy_from_slice(chunk);
            self.informer.handle(self.now, Incoming::Data { id: self.id, len: chunk.len() });
        }
    }

    fn ends(&mut self) {
        self.informer.handle(self.now, Incoming::End { id: self.id });
    }

    fn breaks(&mut self) {
        let error = TransportError::new(TransportErrorKind::Reset, "");
        self.informer.handle(self.now, Incoming::Failed { id: self.id, error });
    }

    fn answers(&mut self, body: &str) {
        let _ = self.asked();
        self.head(200);
        self.sends(body);
        self.ends();
    }

    /// Answers a list and opens the watch after it.
    fn watching(mut self, items: &[String]) -> Self {
        self.answers(&list(1, items));
        assert!(self.asked().contains("watch=1"));
        self.head(200);
        let _ = self.told();
        self
    }

    fn told(&mut self) -> Vec<String> {
        let mut told = core::mem::take(&mut self.told);
        while let Some(event) = self.informer.poll_event() {
            told.push(show(&event));
        }
        told
    }

    fn status(&self) -> String {
        self.informer.status(self.now).to_string()
    }

    fn cache(&self) -> Vec<String> {
        self.informer.cache().iter().map(|pod| format!("{}@{}", pod.key(), pod.meta().resource_version())).collect()
    }
}

fn show(event: &Event<Pod>) -> String {
    let key = |object: &ObjectHandle<Pod>| format!("{}@{}", object.key(), object.meta().resource_version());
    match event {
        Event::Added { object, initial: true } => format!("initial {}", key(object)),
        Event::Added { object, .. } => format!("added {}", key(object)),
        Event::Updated { old, new } => format!("updated {} {}", key(old), key(new)),
        Event::Recreated { old, new } => format!("recreated {} {}", key(old), key(new)),
        Event::Deleted { object, final_state_known: true } => format!("deleted {}", key(object)),
        Event::Deleted { object, .. } => format!("vanished {}", key(object)),
        Event::Synced => "synced".to_string(),
        Event::Undecodable(undecodable) => format!("undecodable {:?}", undecodable.key),
        Event::Failed(failed) => format!("failed {:?} {:?}", failed.operation, failed.reaction),
    }
}

#[test]
fn a_list_and_its_watch_are_told_and_cached() {
    let mut talk = talk(|_| {});
    talk.answers(&list(5, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]));
    assert_eq!(talk.told(), ["initial a@3", "initial b@4", "synced"]);
    assert_eq!(talk.asked(), "/pods?watch=1&allowWatchBookmarks=true&resourceVersion=5");
    talk.head(200);
    talk.sends(&event("MODIFIED", &pod("a", "1", 6, "1")));
    talk.sends(&event("DELETED", &pod("b", "2", 7, "0")));
    talk.sends(&event("ADDED", &pod("c", "3", 8, "0")));
    assert_eq!(talk.told(), ["updated a@3 a@6", "deleted b@7", "added c@8"]);
    assert_eq!(talk.cache(), ["a@6", "c@8"]);
}

#[cfg(feature = "std")]
#[test]
fn a_store_has_each_object_before_its_event_is_returned() {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let (mut informer, store) = Informer::<Pod>::shared(Resource::new("/pods"), config);
    informer.start(Instant::ZERO);
    let Some(Action::Open(id, _)) = informer.poll_action() else { panic!("no request") };
    let list = list(5, &[pod("a", "1", 3, "0"), pod("b", "2", 4, "0")]);
    informer.handle(Instant::ZERO, Incoming::Head { id, head: ResponseHead { status: 200, ..Default::default() } });
    informer.space()[..list.len()].copy_from_slice(list.as_bytes());
    informer.handle(Instant::ZERO, Incoming::Data { id, len: list.len() });
    informer.handle(Instant::ZERO, Incoming::End { id });
    for len in 1..=2 {
        let event = informer.poll_event().unwrap();
        let object = event.object().unwrap();
        assert!(store.get(object.key()).unwrap().ptr_eq(object));
        assert_eq!(store.len(), len, "and nothing of the next event");
    }
    let by_n = informer.add_index(|pod, emit| emit(&pod.n.to_string()));
    assert_eq!(store.by_index(by_n, "0").len(), 2, "an index that is added later has the present objects");
}

#[cfg(feature = "std")]
#[test]
fn a_shared_cache_takes_the_namespace_index() {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = false;
    let (mut informer, store): (SharedInformer<Pod>, _) = Informer::shared(Resource::new("/pods"), config);
    let by_namespace = informer.add_namespace_index();
    informer.start(Instant::ZERO);
    let Some(Action::Open(id, _)) = informer.poll_action() else { panic!("no request") };
    let list = r#"{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","namespace":"n"},"n":0}]}"#;
    informer.handle(Instant::ZERO, Incoming::Head { id, head: ResponseHead { status: 200, ..Default::default() } });
    informer.space()[..list.len()].copy_from_slice(list.as_bytes());
    informer.handle(Instant::ZERO, Incoming::Data { id, len: list.len() });
    informer.handle(Instant::ZERO, Incoming::End { id });
    assert!(matches!(informer.poll_event(), Some(Event::Added { .. })));
    assert_eq!(store.by_index(by_namespace, "n").first(), store.get("n/a").as_ref());
    assert_eq!(informer.add_namespace_index(), by_namespace, "it is the index that `select_in` uses");
}

/// A cache that records the changes as they are applied.
#[derive(Default)]
struct Recording(Indexer<ObjectHandle<Pod>>, Vec<(String, bool)>);

impl Cache<ObjectHandle<Pod>> for Recording {
    type Mem = Heap;

    fn read<R>(&self, f: impl FnOnce(&Indexer<ObjectHandle<Pod>>) -> R) -> R {
        f(&self.0)
    }

    fn write<R>(&mut self, f: impl FnOnce(&mut Indexer<ObjectHandle<Pod>>) -> R) -> R {
        f(&mut self.0)
    }

    fn try_apply(
        &mut self,
        change: Change<'_, ObjectHandle<Pod>>,
    ) -> Result<Option<ObjectHandle<Pod>>, <Heap as Mem>::Full<()>> {
        self.1.push((change.delta.object().key().to_string(), change.initial));
        self.0.try_apply(change)
    }
}

#[test]
fn managed_fields_that_the_decoder_leaves_out_are_not_asked_for() {
    for keeps in [false, true] {
        let mut config = InformerConfig::default();
        config.decode.managed_fields = keeps;
        let mut informer = Informer::<Pod>::new(Resource::new("/pods"), config);
        informer.start(Instant::ZERO);
        let Some(Action::Open(_, request)) = informer.poll_action() else { panic!("no request") };
        assert_eq!(request.resource.is_without_managed_fields(), !keeps, "{}", request.accept());
        let part = Selection::new(Resource::new("/v2/pods"), |_| true);
        informer.select(Instant::ZERO, part);
        let opened = core::iter::from_fn(|| informer.poll_action()).find_map(|action| match action {
            Action::Open(_, request) => Some(request.resource),
            Action::Abort(_) => None,
        });
        let found = opened.expect("the part is listed");
        assert_eq!((found.path(), found.is_without_managed_fields()), ("/v2/pods", !keeps));
        assert_eq!(Tables::<Pod>::new(config.decode).keeps_managed_fields(), keeps);
    }
    crate::projection! {
        struct Node { name: Text<63> = "spec.nodeName" }
    }
    crate::projection! {
        struct Manager { name: Text<63> = "metadata.managedFields[0].manager" }
    }
    crate::projection! {
        struct Managers { all: Text<63> = "metadata.managedFields" }
    }
    assert!(ProjectedJson::<Managers>::new().keeps_managed_fields());
    assert!(!ProjectedJson::<Node>::new().keeps_managed_fields());
    assert!(ProjectedJson::<Manager>::new().keeps_managed_fields());
}

#[test]
fn a_cache_is_told_which_changes_are_of_the_first_list() {
    let mut config = InformerConfig::default();
    config.reflector.watch_list = true;
    let mut informer = Informer::<Pod, _>::with_cache(Resource::new("/pods"), config, Recording::default());
    informer.start(Instant::ZERO);
    let Some(Action::Open(id, _)) = informer.poll_action() else { panic!("no request") };
    let end = r#"{"metadata":{"resourceVersion":"4","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let added = |name: &str| event("ADDED", &pod(name, name, 1, "0"));
    let watch = [added("a"), added("b"), event("BOOKMARK", end), added("c")].concat();
    informer.handle(Instant::ZERO, Incoming::Head { id, head: ResponseHead { status: 200, ..Default::default() } });
    informer.space()[..watch.len()].copy_from_slice(watch.as_bytes());
    informer.handle(Instant::ZERO, Incoming::Data { id, len: watch.len() });
    let mut initial = Vec::new();
    while let Some(event) = informer.poll_event() {
        if let Event::Added { object, initial: of_the_first_list } = event {
            initial.push((object.key().to_string(), of_the_first_list));
        }
    }
    assert_eq!(informer.cache().1, initial);
    assert_eq!(initial.iter().map(|(_, initial)| *initial).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn an_object_with_another_uid_is_a_recreation() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0")]);
    talk.sends(&event("MODIFIED", &pod("a", "2", 6, "0")));
    assert_eq!(talk.told(), ["recreated a@1 a@6"]);
}

/// R1 is mended here: the queue delivers the deletion of an object that nobody knew, the informer does not.
#[test]
fn the_deletion_of_an_unknown_object_is_not_told() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.sends(&event("DELETED", &pod("a", "1", 6, "0")));
    assert!(talk.told().is_empty());
    assert_eq!(talk.informer.received_version(), Some("6"));
}

#[test]
fn a_relist_tells_what_vanished_and_holds_what_stayed_only_once() {
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "0"), pod("b", "2", 1, "0")]);
    let held = talk.informer.cache().get("b").cloned().unwrap();
    talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
    talk.answers(&list(9, &[pod("b", "2", 1, "0"), pod("c", "3", 8, "0")]));
    assert_eq!(talk.told(), ["failed Watch Relist", "vanished a@1", "updated b@1 b@1", "added c@8"]);
    assert!(held.ptr_eq(talk.informer.cache().get("b").unwrap()));
}

/// Aggregated API servers may serve objects without versions, or without uids.
#[test]
fn a_relist_brings_new_contents_without_versions_or_uids() {
    for identity in ["", r#","uid":"1""#, r#","resourceVersion":"5""#] {
        let item = |n: u32| format!(r#"{{"metadata":{{"name":"a"{identity}}},"n":{n}}}"#);
        let n = |talk: &Talk| talk.informer.cache().get("a").unwrap().n;
        let mut talk = talk(|_| {}).watching(&[item(1)]);
        talk.sends(&event("ERROR", r#"{"kind":"Status","code":410}"#));
        talk.answers(&list(9, &[item(2)]));
        let _ = talk.told();
        assert_eq!(n(&talk), 2, "with {identity:?}");
    }
}

#[test]
fn a_watch_list_is_told_when_it_is_complete_with_what_changed_meanwhile() {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    assert!(talk.asked().contains("sendInitialEvents=true"));
    talk.head(200);
    talk.sends(&event("ADDED", &pod("a", "1", 1, "0")));
    talk.sends(&event("ADDED", &pod("b", "2", 2, "0")));
    talk.sends(&event("MODIFIED", &pod("a", "1", 3, "0")));
    talk.sends(&event("DELETED", &pod("b", "2", 4, "0")));
    assert!(talk.told().is_empty());
    let end = r#"{"metadata":{"resourceVersion":"4","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    talk.sends(&event("BOOKMARK", end));
    assert_eq!(talk.told(), ["initial a@3", "synced"]);
    talk.sends(&event("DELETED", &pod("a", "1", 5, "0")));
    assert_eq!(talk.told(), ["deleted a@5"]);
}

#[test]
fn stopping_in_the_middle_of_a_list_forgets_it_and_starting_begins_anew() {
    let mut talk = talk(|_| {});
    let _ = talk.asked();
    talk.head(200);
    talk.sends(r#"{"items":[{"metadata":{"name":"old"},"n":1},"#);
    talk.informer.stop(talk.now);
    talk.sends(r#"{"metadata":{"name":"older"},"n":1}]}"#);
    talk.ends();
    assert!(talk.told().is_empty());
    talk.informer.start(talk.now);
    talk.answers(&list(5, &[pod("a", "1", 3, "0")]));
    assert_eq!(talk.told(), ["initial a@3", "synced"]);
    assert_eq!(talk.now, Instant::ZERO + Duration::ZERO);
}

#[test]
fn what_comes_after_a_stop_has_no_effect() {
    let mut talk = talk(|_| {}).watching(&[]);
    talk.informer.stop(talk.now);
    talk.sends("garbage\n");
    talk.ends();
    assert!(talk.told().is_empty() && talk.informer.wants_input());
}

#[test]
fn every_failure_is_told_even_if_the_next_one_comes_at_once() {
    let mut talk = talk(|config| config.reflector.watch_list = true);
    let _ = talk.asked();
    talk.head(422);
    talk.ends();
    assert!(!talk.informer.wants_input(), "nothing more is read before the first is told");
    assert_eq!(talk.told(), ["failed WatchList ListInstead"]);
    let _ = talk.asked();
    talk.head(403);
    talk.ends();
    assert_eq!(talk.told(), ["failed List Relist"]);
}

#[test]
fn a_seed_counts_unless_the_configuration_has_one_or_the_informer_was_started() {
    let asked = |chosen: Option<u64>, before: u64, after: u64| {
        let mut config = InformerConfig::default();
        config.reflector.seed = chosen;
        let mut informer = Informer::<Pod>::new(Resource::new("/pods"), config);
        informer.seed_unless_chosen(before);
        informer.start(Instant::ZERO);
        informer.seed_unless_chosen(after);
        informer.poll_action()
    };
    assert_ne!(asked(None, 1, 1), asked(None, 2, 1));
    assert_eq!(asked(None, 1, 1), asked(None, 1, 2), "after the start");
    assert_eq!(asked(Some(7), 1, 1), asked(Some(7), 2, 2), "chosen");
    assert_eq!(asked(Some(7), 1, 1), asked(None, 7, 1));
}

#[test]
fn a_delta_is_not_lost_where_an_index_function_panics_over_it() {
    use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let mut talk = talk(|_| {}).watching(&[pod("a", "1", 1, "1")]);
    let flawed = Arc::new(AtomicBool::new(true));
    let calls = Arc::clone(&flawed);
    talk.informer.add_index(move |pod: &ObjectHandle<Pod>, emit: &mut dyn FnMut(&str)| {
        assert!(!calls.load(Relaxed) || pod.n < 2, "on purpose");
        emit("one");
    });
    talk.sends(&event("MODIFIED", &pod("a", "1", 2, "2")));
    talk.sends(&event("DELETED", &pod("a", "1", 3, "2")));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| talk.informer.poll_event())).is_err();
    assert!(panicked);
    talk.informer.cache().check();
    assert_eq!((talk.informer.queued(), talk.informer.cache().get("a").unwrap().n), (2, 1));
    flawed.store(false, Relaxed);
    assert_eq!(talk.told().len(), 2, "the update, and the deletion after it");
}

/// A type of the user's that is neither `Clone` nor `Debug`, in events that share it.
#[test]
fn events_are_clone_and_debug_whatever_their_objects_are() {
    #[derive(serde::Deserialize)]
    struct Plain {}
    fn same<T: Clone + fmt::Debug>(event: &T) -> String {
        format!("{:?}", event.clone())
    }
    let mut informer = Informer::<Plain>::new(Resource::new("/pods"), InformerConfig::default());
    informer.start(Instant::ZERO);
    assert!(format!("{informer:?}").contains("DeltaFifo"));
    let object = |version: u32| {
        let item = pod("a", "1", version, "0");
        ObjectHandle::from(
            crate::decode::Decoder::default().item::<Plain>(item.as_bytes(), &Default::default()).unwrap(),
        )
    };
    let shown = |version: u32| format!(r#"Meta {{ key: "a", uid: "1", resource_version: "{version}", .. }}"#);
    let events = [
        (Event::Added { object: object(1), initial: true }, format!("Added {{ object: {}, initial: true }}", shown(1))),
        (
            Event::Updated { old: object(1), new: object(2) },
            format!("Updated {{ old: {}, new: {} }}", shown(1), shown(2)),
        ),
        (
            Event::Recreated { old: object(1), new: object(2) },
            format!("Recreated {{ old: {}, new: {} }}", shown(1), shown(2)),
        ),
        (
            Event::Deleted { object: object(2), final_state_known: false },
            format!("Deleted {{ object: {}, final_state_known: false }}", shown(2)),
        ),
        (Event::Synced, "Synced".into()),
    ];
    for (event, shown) in events {
        assert_eq!(same(&event), shown);
    }
}
