//! An informer in fixed memory: what it does when something is full, and beside one on the heap.

use listwatch_core::cache::{Cache, FixedIndexer, IndexerIn};
use listwatch_core::decode::ProjectedJson;
use listwatch_core::informer::{EventOf, InformerIn};
use listwatch_core::projection::{Projected, Text};
use listwatch_core::reflector::{Action, FailureClass};
use listwatch_core::request::RequestId;
use listwatch_core::storage::{Fixed, Indexed, Mem};
use listwatch_core::transport::{Incoming, ResponseHead};
use listwatch_core::{InformerConfig, Instant, Resource, projection};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

projection! {
    struct Line { node: Text<8> = "spec.nodeName" }
}

type Pod = Projected<Line, 32>;

const PODS: Resource = Resource::constant("/api/v1/pods", "", "");

/// An informer whose queue has memory `M`, and the requests that it makes.
struct Talk<C: Cache<Pod>, M: Mem> {
    informer: InformerIn<ProjectedJson<Line, 32, 256>, C, M>,
    now: Instant,
    told: Vec<(String, String)>,
    failed: Vec<FailureClass>,
}

impl<C: Cache<Pod>, M: Mem> Talk<C, M> {
    fn new(cache: C, watch_list: bool) -> Self {
        let mut config = InformerConfig::default();
        config.reflector.watch_list = watch_list;
        config.reflector.watch_timeout = None;
        let mut informer = InformerIn::with_decoder(PODS, config, ProjectedJson::new(), cache);
        informer.start(Instant::ZERO);
        Self { informer, now: Instant::ZERO, told: Vec::new(), failed: Vec::new() }
    }

    /// Answers the next request, once it is made, and takes every event. The answer ends, or breaks off.
    fn answers(&mut self, asked: &str, body: &str, is_whole: bool) {
        let id = self.brings(asked, body);
        if is_whole {
            self.informer.handle(self.now, Incoming::End { id });
        } else {
            let error = listwatch_core::transport::TransportErrorKind::Reset;
            let error = listwatch_core::transport::TransportError::new(error, "");
            self.informer.handle(self.now, Incoming::Failed { id, error });
        }
        self.take();
    }

    /// The same, but the answer does not end.
    fn brings(&mut self, asked: &str, body: &str) -> RequestId {
        let id = loop {
            match self.informer.poll_action() {
                Some(Action::Open(id, request)) => {
                    let request = request.to_string();
                    assert!(request.contains(asked), "{request} instead of {asked}");
                    let is_watch = asked.contains("watch=1") || asked.contains("sendInitialEvents");
                    assert_eq!(request.contains("watch=1"), is_watch, "{request} instead of {asked}");
                    assert!(!request.contains("limit=") || cfg!(feature = "alloc"), "{request}");
                    break id;
                }
                Some(Action::Abort(_)) => {}
                None => {
                    self.now = self.informer.poll_timeout().expect("a request follows");
                    self.informer.handle_timeout(self.now);
                    self.take();
                }
            }
        };
        let head = ResponseHead { status: 200, ..ResponseHead::default() };
        self.informer.handle(self.now, Incoming::Head { id, head });
        let mut body = body.as_bytes();
        while !body.is_empty() {
            let space = self.informer.space();
            let (piece, rest) = body.split_at(space.len().min(body.len()));
            space[..piece.len()].copy_from_slice(piece);
            self.informer.handle(self.now, Incoming::Data { id, len: piece.len() });
            self.take();
            body = rest;
        }
        id
    }

    fn take(&mut self) {
        while let Some(event) = self.informer.poll_event() {
            let key = event.key().map(ToString::to_string).unwrap_or_default();
            let told = match &event {
                EventOf::Added { object, initial } => format!("added {initial} {}", shown(object)),
                EventOf::Updated { old, new } => format!("updated {} {}", shown(old), shown(new)),
                EventOf::Recreated { old, new } => format!("recreated {} {}", shown(old), shown(new)),
                EventOf::Deleted { object, final_state_known } => {
                    format!("deleted {final_state_known} {}", shown(object))
                }
                EventOf::Synced => "synced".to_owned(),
                EventOf::Undecodable(error) => error.to_string(),
                EventOf::Failed(report) => {
                    self.failed.push(report.failure.class());
                    report.failure.to_string()
                }
                _ => panic!("an event of another kind"),
            };
            self.told.push((key, told));
        }
        assert!(self.informer.queued() == 0 && self.informer.wants_input());
    }

    /// What was told since the last call, in its order.
    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told).into_iter().map(|(_, told)| told).collect()
    }

    fn cached(&self) -> Vec<String> {
        let mut cached: Vec<String> = self.informer.cache().read(|cache| cache.iter().map(shown).collect());
        cached.sort_unstable();
        cached
    }
}

fn shown(pod: &Pod) -> String {
    format!("{}@{} {}", pod.key(), pod.resource_version(), pod.value.node)
}

fn pod(name: &str, version: u64) -> String {
    let node = version % 7;
    format!(
        r#"{{"metadata":{{"name":"{name}","uid":"u-{name}","resourceVersion":"{version}"}},"spec":{{"nodeName":"n{node}"}}}}"#
    )
}

fn list(version: u64, pods: &[String]) -> String {
    format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{}]}}"#, pods.join(","))
}

fn event(event_type: &str, object: &str) -> String {
    format!("{{\"type\":\"{event_type}\",\"object\":{object}}}\n")
}

fn gone() -> String {
    event("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired"}"#)
}

type Small<const OBJECTS: usize, const QUEUE: usize> = Talk<FixedIndexer<Pod, OBJECTS>, Fixed<QUEUE>>;

fn small<const OBJECTS: usize, const QUEUE: usize>() -> Small<OBJECTS, QUEUE> {
    Talk::new(IndexerIn::new(), false)
}

#[test]
fn a_list_that_is_longer_than_the_queue_is_told_in_parts_and_synced_at_its_end() {
    let mut talk = small::<8, 2>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    let mut expected: Vec<String> = (1..=5).map(|n| format!("added true p{n}@{n} n{n}")).collect();
    expected.push("synced".to_owned());
    assert_eq!(talk.told(), expected);
    assert_eq!(talk.informer.applied_version(), Some("9"));
    talk.answers("watch=1&allowWatchBookmarks=true&resourceVersion=9", &event("DELETED", &pod("p2", 12)), true);
    assert_eq!(talk.told(), ["deleted true p2@12 n5"]);
}

#[test]
fn more_deletions_than_the_queue_holds_come_in_parts_once_the_list_has_ended() {
    let mut talk = small::<8, 2>();
    let pods: Vec<String> = (1..=7).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    let _ = talk.told();
    talk.answers("watch=1", &gone(), true);
    talk.answers("/api/v1/pods", &list(20, &[pods[3].clone()]), true);
    let told = talk.told();
    let deleted = told.iter().filter(|told| told.starts_with("deleted false")).count();
    assert_eq!((deleted, talk.cached()), (6, vec!["p4@4 n4".to_owned()]), "{told:?}");
    assert_eq!(talk.informer.applied_version(), Some("20"));
}

#[test]
fn what_the_cache_has_no_room_for_is_told_with_the_capacity_that_it_wanted() {
    let mut talk = small::<3, 2>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    let told = talk.told();
    let failure = "the cache has no room for 5 objects and their index values";
    assert_eq!(told[3..], [failure, "synced"]);
    assert_eq!(talk.cached(), ["p1@1 n1", "p2@2 n2", "p3@3 n3"]);
    assert!(talk.informer.status(talk.now).to_string().contains("does not fit"));

    // The state is read again. Room that a list in parts makes at its end serves the next one.
    talk.brings("watch=1", "");
    talk.answers("/api/v1/pods", &list(30, &pods[2..]), true);
    assert_eq!((talk.cached(), talk.informer.wanted()), (vec!["p3@3 n3".to_owned()], Some(3)));
    talk.brings("watch=1", "");
    talk.answers("/api/v1/pods", &list(30, &pods[2..]), true);
    assert_eq!(talk.cached(), ["p3@3 n3", "p4@4 n4", "p5@5 n5"]);
    assert_eq!((talk.informer.wanted(), &talk.failed[..]), (None, &[FailureClass::DoesNotFit][..]));

    // An object that a watch adds beyond that is not lost silently either.
    let _ = talk.told();
    talk.brings("watch=1", &event("ADDED", &pod("p6", 31)));
    assert_eq!(talk.told(), ["the cache has no room for 4 objects and their index values"]);
    talk.answers("/api/v1/pods", &list(40, &[pod("p6", 31)]), true);
    talk.brings("watch=1", "");
    talk.answers("/api/v1/pods", &list(40, &[pod("p6", 31)]), true);
    assert_eq!(talk.cached(), ["p6@31 n3"]);
}

#[test]
fn an_object_that_never_fits_leads_to_no_list_for_ten_minutes() {
    let mut talk = small::<3, 2>();
    let pods: Vec<String> = (1..=4).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    let listed = talk.now;
    for version in 10..30 {
        // Each watch ends by itself, and another follows: no list does.
        let changes = event("MODIFIED", &pod("p4", 2 * version)) + &event("MODIFIED", &pod("p1", 2 * version + 1));
        talk.answers("watch=1", &changes, true);
        talk.now = talk.now + Duration::from_secs(20);
    }
    assert_eq!(talk.cached(), ["p1@59 n3", "p2@2 n2", "p3@3 n3"]);
    assert_eq!((talk.informer.wanted(), &talk.failed[..]), (Some(4), &[FailureClass::DoesNotFit][..]));
    assert_eq!(talk.informer.saveable_version(), None, "a watch from there would not bring the fourth object");

    // Slowly it is tried again: an index value may have made room.
    talk.brings("watch=1", "");
    let pods = [pod("p1", 59), pod("p2", 2), pod("p3", 3), pod("p4", 58)];
    talk.answers("/api/v1/pods", &list(70, &pods), true);
    assert!(talk.now.saturating_since(listed) >= Duration::from_secs(600), "{:?}", talk.now);
    assert_eq!((talk.informer.wanted(), talk.failed.len()), (Some(4), 1));
}

#[test]
fn room_that_a_deletion_makes_is_used_within_seconds_and_then_less_and_less_often() {
    let mut talk = small::<3, 2>();
    let mut pods: Vec<String> = (1..=8).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    let mut waited = Vec::new();
    for n in 1..=5 {
        assert_eq!(talk.informer.wanted(), Some(pods.len()));
        let gone = pods.remove(0);
        talk.brings("watch=1", &event("DELETED", &gone));
        let before = talk.now;
        talk.answers("/api/v1/pods", &list(10 + n, &pods), true);
        waited.push(talk.now.saturating_since(before).as_millis());
    }
    assert_eq!(talk.cached(), ["p6@6 n6", "p7@7 n0", "p8@8 n1"]);
    let status = talk.informer.status(talk.now).to_string();
    assert!(talk.informer.wanted().is_none() && status.starts_with("synced"), "{status}");
    let within = [(800, 1600), (1600, 3200), (3200, 6400), (3200, 6400), (3200, 6400)];
    assert!(waited.iter().zip(within).all(|(waited, (least, most))| (least..=most).contains(waited)), "{waited:?}");
    assert_eq!(talk.failed, [FailureClass::DoesNotFit]);
}

#[test]
fn room_that_a_list_uses_leads_to_no_list_for_ten_minutes() {
    let mut talk = small::<3, 16>();
    let pods: Vec<String> = (1..=9).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods[..5]), true);
    talk.answers("watch=1", &gone(), true);
    talk.answers("/api/v1/pods", &list(20, &pods[5..]), true);
    let listed = talk.now;
    assert_eq!(
        (talk.cached(), talk.informer.wanted()),
        (["p6@6 n6", "p7@7 n0", "p8@8 n1"].map(str::to_owned).into(), Some(4))
    );
    talk.brings("watch=1", "");
    talk.answers("/api/v1/pods", &list(20, &pods[5..]), true);
    assert!(talk.now.saturating_since(listed) >= Duration::from_secs(600), "{:?}", talk.now);
}

#[test]
fn a_lack_of_room_that_a_list_ends_is_not_told() {
    let mut talk = small::<2, 3>();
    talk.answers("/api/v1/pods", &list(9, &[pod("p1", 1), pod("p2", 2)]), true);
    let id = talk.brings("watch=1", "");
    let changes = event("ADDED", &pod("p3", 10));
    for text in [changes, gone()] {
        talk.informer.space()[..text.len()].copy_from_slice(text.as_bytes());
        talk.informer.handle(talk.now, Incoming::Data { id, len: text.len() });
    }
    talk.take();
    assert_eq!((talk.informer.wanted(), &talk.failed[..]), (Some(3), &[FailureClass::Expired][..]));
    talk.answers("/api/v1/pods", &list(20, &[pod("p1", 1), pod("p3", 10)]), true);
    assert_eq!((talk.informer.wanted(), &talk.failed[..]), (None, &[FailureClass::Expired][..]));
}

#[test]
fn an_object_that_cannot_be_decoded_is_not_deleted_by_a_list_in_parts() {
    let mut talk = small::<8, 2>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    talk.answers("watch=1", &gone(), true);
    let mut again = pods;
    again[0] = again[0].replace("\"n1\"", "\"too long for the field\"");
    again.remove(2);
    talk.answers("/api/v1/pods", &list(20, &again), true);
    assert_eq!(talk.cached(), ["p1@1 n1", "p2@2 n2", "p4@4 n4", "p5@5 n5"]);
}

#[test]
fn a_list_in_parts_that_breaks_off_deletes_nothing() {
    let mut talk = small::<8, 1>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    talk.answers("watch=1", &gone(), true);
    let changed: Vec<String> = (1..=4).map(|n| pod(&format!("p{n}"), 10 + n)).collect();
    let whole = list(20, &changed);
    talk.answers("/api/v1/pods", &whole[..whole.len() - 20], false);
    assert_eq!(talk.cached().len(), 5);
    talk.answers("/api/v1/pods", &whole, true);
    assert_eq!(talk.cached(), ["p1@11 n4", "p2@12 n5", "p3@13 n6", "p4@14 n0"]);
}

#[test]
fn a_list_in_parts_replaces_old_objects_after_a_restore() {
    let mut talk = small::<8, 2>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), 150 + n)).collect();
    talk.answers("/api/v1/pods", &list(200, &pods), true);
    talk.answers("watch=1", &gone(), true);
    // The store went back to version 100, and has come further than before since.
    let restored: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), 90 + n)).collect();
    for _ in 0..3 {
        talk.answers("/api/v1/pods", &list(300, &restored), true);
    }
    assert_eq!(talk.cached(), (1..=5).map(|n| format!("p{n}@{} n{}", 90 + n, (90 + n) % 7)).collect::<Vec<_>>());
    talk.brings("watch=1", "");
}

#[test]
fn a_list_in_parts_keeps_an_object_whose_state_does_not_fit() {
    type Narrow = FixedIndexer<Pod, 8, Indexed<1, 8, 8, 1>>;
    let mut talk = Talk::<Narrow, Fixed<2>>::new(Narrow::new(), false);
    assert!(talk.informer.try_add_index(|pod, emit| emit(pod.value.node.strip_prefix('n').unwrap_or("long"))).is_ok());
    let pods: Vec<String> = (1..=3).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    talk.answers("watch=1", &gone(), true);
    let mut changed: Vec<String> = (1..=3).map(|n| pod(&format!("p{n}"), 10 + n)).collect();
    changed[0] = changed[0].replace("\"n4\"", "\"x4\"");
    talk.answers("/api/v1/pods", &list(20, &changed), true);
    assert_eq!(talk.cached(), ["p1@1 n1", "p2@12 n5", "p3@13 n6"]);
    assert_eq!(talk.failed.last(), Some(&FailureClass::DoesNotFit));
}

#[test]
fn deleted_objects_go_although_an_undecodable_item_meets_a_full_stage() {
    let mut talk = small::<8, 2>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), n)).collect();
    talk.answers("/api/v1/pods", &list(9, &pods), true);
    talk.answers("watch=1", &gone(), true);
    let mut again: Vec<String> = [1, 2, 3, 5].map(|n| pod(&format!("p{n}"), 10 + n)).into();
    again[2] = again[2].replace("\"n6\"", "\"too long for the field\"");
    talk.answers("/api/v1/pods", &list(20, &again), true);
    assert_eq!(talk.cached(), ["p1@11 n4", "p2@12 n5", "p3@3 n3", "p5@15 n1"]);
}

#[test]
fn a_list_that_broke_off_leaves_no_lack_of_room_behind() {
    let mut talk = small::<3, 1>();
    let pods: Vec<String> = (1..=5).map(|n| pod(&format!("p{n}"), n)).collect();
    let whole = list(9, &pods);
    talk.answers("/api/v1/pods", &whole[..whole.len() - 10], false);
    talk.answers("/api/v1/pods", &list(10, &pods[..3]), true);
    assert_eq!((talk.cached().len(), &talk.failed[..]), (3, &[FailureClass::Unreachable][..]));
}

/// Its version counts as applied, so a cache that is saved then must have no deleted object.
#[test]
fn the_deletions_of_a_list_outlast_a_stop_before_the_next_list() {
    for stops in [1, 2] {
        let mut talk = small::<8, 2>();
        let pods: Vec<String> = (1..=7).map(|n| pod(&format!("p{n}"), n)).collect();
        talk.answers("/api/v1/pods", &list(9, &pods), true);
        talk.answers("watch=1", &gone(), true);
        let id = talk.brings("/api/v1/pods", &list(20, &[pod("p4", 12)]));
        talk.informer.handle(talk.now, Incoming::End { id });
        assert_eq!(talk.informer.received_version(), Some("20"));
        talk.informer.stop(talk.now);
        for _ in 1..stops {
            talk.informer.start(talk.now);
            talk.informer.stop(talk.now);
        }
        talk.take();
        assert_eq!((talk.cached(), talk.informer.applied_version()), (vec!["p4@12 n5".to_owned()], Some("20")));
    }
}

#[test]
fn an_informer_whose_queue_has_no_place_caches_nothing() {
    let mut talk = small::<3, 0>();
    talk.answers("/api/v1/pods", &list(9, &[pod("p1", 1)]), true);
    assert_eq!(talk.cached(), [""; 0]);
}

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// What a server answers: a state, then changes that end in a 410, again and again.
struct Rounds(Vec<Round>);

struct Round {
    state: String,
    changes: String,
}

fn rounds(seed: u64, watch_list: bool) -> Rounds {
    let (mut random, version, mut pods) = (Random(seed), Cell::new(10), BTreeMap::<u64, u64>::new());
    let change = |random: &mut Random, pods: &mut BTreeMap<u64, u64>| {
        let (name, known) = (random.below(9), pods.len());
        let version = version.replace(version.get() + 1) + 1;
        if pods.contains_key(&name) && random.below(3) == 0 {
            pods.remove(&name);
            event("DELETED", &pod(&format!("p{name}"), version))
        } else {
            pods.insert(name, version);
            event(if known < pods.len() { "ADDED" } else { "MODIFIED" }, &pod(&format!("p{name}"), version))
        }
    };
    let rounds = (0..6).map(|_| {
        (0..random.below(12)).for_each(|_| drop(change(&mut random, &mut pods)));
        let shown: Vec<String> = pods.iter().map(|(name, version)| pod(&format!("p{name}"), *version)).collect();
        let start = random.below(1 + shown.len() as u64) as usize;
        let shown = [&shown[start..], &shown[..start]].concat();
        let state = if watch_list {
            let mut stream: String = shown.iter().map(|pod| event("ADDED", pod)).collect();
            (0..random.below(5)).for_each(|_| stream += &change(&mut random, &mut pods));
            stream + &end_of_stream(version.get())
        } else {
            list(version.get(), &shown)
        };
        let changes: String = (0..random.below(9)).map(|_| change(&mut random, &mut pods)).collect();
        Round { state, changes: changes + &gone() }
    });
    Rounds(rounds.collect())
}

fn end_of_stream(version: u64) -> String {
    let annotations = r#""annotations":{"k8s.io/initial-events-end":"true"}"#;
    event("BOOKMARK", &format!(r#"{{"metadata":{{"resourceVersion":"{version}",{annotations}}}}}"#))
}

/// What is told of each key, and the cache after each state.
type Told = (BTreeMap<String, Vec<String>>, Vec<Vec<String>>);

fn play<C: Cache<Pod>, M: Mem>(rounds: &Rounds, cache: C, watch_list: bool) -> Told {
    let mut talk = Talk::<C, M>::new(cache, watch_list);
    let mut cached = Vec::new();
    for Round { state, changes } in &rounds.0 {
        if watch_list {
            talk.answers("sendInitialEvents", &(state.clone() + changes), true);
        } else {
            talk.answers("/api/v1/pods", state, true);
            cached.push(talk.cached());
            talk.answers("watch=1", changes, true);
        }
        cached.push(talk.cached());
    }
    let mut told = BTreeMap::<String, Vec<String>>::new();
    talk.told.into_iter().for_each(|(key, event)| told.entry(key).or_default().push(event));
    (told, cached)
}

/// By many histories: the caches after each state, and for lists the events of each key. A stream in parts tells states
/// between.
#[test]
fn a_full_queue_tells_what_one_on_the_heap_tells() {
    use listwatch_core::Indexer;
    use listwatch_core::storage::Heap;

    for (seed, watch_list) in (0..100).flat_map(|seed| [(seed, false), (seed, true)]) {
        let rounds = rounds(seed, watch_list);
        let expected = play::<_, Heap>(&rounds, Indexer::<Pod>::new(), watch_list);
        let played = [
            play::<_, Fixed<1>>(&rounds, FixedIndexer::<Pod, 9>::new(), watch_list),
            play::<_, Fixed<2>>(&rounds, FixedIndexer::<Pod, 9>::new(), watch_list),
            play::<_, Fixed<3>>(&rounds, FixedIndexer::<Pod, 16>::new(), watch_list),
            play::<_, Fixed<5>>(&rounds, FixedIndexer::<Pod, 16>::new(), watch_list),
        ];
        for (size, (told, cached)) in [1, 2, 3, 5].into_iter().zip(played) {
            assert_eq!(cached, expected.1, "seed {seed}, a queue of {size}");
            if !watch_list {
                assert_eq!(told, expected.0, "seed {seed}, a queue of {size}");
            }
        }
    }
}

#[test]
fn an_older_event_takes_no_object_back_in_fixed_memory_either() {
    let mut talk = small::<4, 1>();
    talk.answers("/pods", &list(1, &[pod("a", 1), pod("b", 1)]), true);
    let _ = talk.told();
    let events = [event("MODIFIED", &pod("a", 9)), event("MODIFIED", &pod("a", 7)), event("DELETED", &pod("b", 1))];
    talk.brings("watch=1", &events.concat().replace('\n', " "));
    assert_eq!(talk.told(), ["updated a@1 n1 a@9 n2", "deleted true b@1 n1"], "events of one line, too");
    assert_eq!((talk.cached(), talk.informer.received_version()), (vec!["a@9 n2".to_owned()], Some("9")));
    talk.answers("resourceVersion=9", &list(9, &[pod("a", 9)]), true);
    assert_eq!(talk.failed, [FailureClass::BackInTime]);
}
