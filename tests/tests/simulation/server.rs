//! The simulated server is itself what a server is.

use listwatch_core::Instant;
use listwatch_tests::sim::{Answer, Ask, Health, Server, ServerConfig, TooLarge, WatchLists, Write};
use std::time::Duration;

const NOW: Instant = Instant::ZERO;

fn config() -> ServerConfig {
    ServerConfig {
        keys: 5,
        replicas: 2,
        watch_lists: WatchLists::Served,
        initial: Duration::ZERO,
        early_bookmarks: false,
        keeps_time: true,
        refuses_watches: true,
        waits_for_versions: false,
        too_large: TooLarge::CauseType,
        says_kinds: false,
    }
}

/// A server with three objects: at versions 2, 3 and 4, of the apps a, b and a.
fn stocked() -> Server {
    let mut server = Server::new(config());
    (0..3).for_each(|key| server.log.put(key, Write { app: key % 2, node: key, health: Health::Good }));
    server
}

fn open(server: &mut Server, target: &str) -> Answer {
    server.open(NOW, &Ask::parse(&format!("/api/v1/pods{target}"), "application/json"), 0)
}

/// The status, and everything that is said up to `now`.
fn said(server: &mut Server, answer: &mut Answer, now: Instant) -> (u16, String) {
    server.advance(now, answer);
    let mut bytes = vec![0; 10_000];
    let len = answer.read(&mut bytes);
    (answer.head().status, String::from_utf8_lossy(&bytes[..len]).into_owned())
}

fn asked(server: &mut Server, target: &str) -> (u16, String) {
    let mut answer = open(server, target);
    said(server, &mut answer, NOW)
}

/// The type of each event, and the name or the version that it is about.
fn events(body: &str) -> Vec<String> {
    let part = |line: &str, name: &str| {
        let after = line.split_once(&format!("\"{name}\":\"")).map_or("", |(_, after)| after);
        after.split('"').next().unwrap_or_default().to_owned()
    };
    body.lines()
        .map(|line| format!("{} {}@{}", part(line, "type"), part(line, "name"), part(line, "resourceVersion")))
        .collect()
}

#[test]
fn pages_lead_to_each_other_and_show_one_version() {
    let mut server = stocked();
    let (_, first) = asked(&mut server, "?limit=2");
    assert!(first.contains(r#""resourceVersion":"4","continue":"v1:4:2","remainingItemCount":1"#), "{first}");
    server.log.delete(2);
    let (_, second) = asked(&mut server, "?limit=2&continue=v1:4:2");
    assert!(second.contains(r#""resourceVersion":"4"}"#) && second.contains("pod-002"), "{second}");
    server.compact(5);
    let (status, expired) = asked(&mut server, "?limit=2&continue=v1:4:2");
    assert!(status == 410 && expired.contains(r#""continue":"v1:-1:2""#), "{expired}");
    let (status, inconsistent) = asked(&mut server, "?limit=2&continue=v1:-1:0");
    assert!(status == 200 && inconsistent.contains(r#""resourceVersion":"5""#), "{inconsistent}");
}

#[test]
fn a_list_of_an_exact_version_is_refused_when_that_is_gone() {
    let mut server = stocked();
    let target = "?resourceVersion=3&resourceVersionMatch=Exact";
    let (status, body) = asked(&mut server, target);
    assert!(status == 200 && !body.contains("pod-002"), "{body}");
    server.compact(4);
    assert_eq!(asked(&mut server, target).0, 410);
}

#[test]
fn a_replica_that_lags_answers_from_what_it_has_or_not_at_all() {
    let mut server = stocked();
    server.follow();
    server.replicas[0].freeze(true);
    server.log.delete(0);
    assert!(asked(&mut server, "?resourceVersion=0").1.contains("pod-000"));
    assert!(!asked(&mut server, "").1.contains("pod-000"), "the most recent state comes from the store");
    let (status, body) = asked(&mut server, "?resourceVersion=5&resourceVersionMatch=NotOlderThan");
    assert!(status == 504 && body.contains("ResourceVersionTooLarge") && body.contains(r#""retryAfterSeconds":1"#));
    let mut watch = open(&mut server, "?watch=1&resourceVersion=4");
    assert_eq!(said(&mut server, &mut watch, NOW).1, "");
    server.replicas[0].freeze(false);
    assert_eq!(events(&said(&mut server, &mut watch, NOW).1), ["DELETED pod-000@5"]);
}

#[test]
fn what_ceases_to_match_is_deleted_and_what_begins_to_is_added() {
    let mut server = stocked();
    for target in [
        "?labelSelector=app%3Da&watch=1&resourceVersion=4",
        "?fieldSelector=spec.nodeName%3Dn0&watch=1&resourceVersion=4",
    ] {
        let from = server.log.revision();
        let mut watch = open(&mut server, &target.replace("=4", &format!("={from}")));
        server.log.put(0, Write { app: 1, node: 1, health: Health::Good });
        server.log.put(1, Write { app: 1, node: 1, health: Health::Good });
        server.log.put(0, Write { app: 0, node: 0, health: Health::Good });
        let expected = [format!("DELETED pod-000@{}", from + 1), format!("ADDED pod-000@{}", from + 3)];
        assert_eq!(events(&said(&mut server, &mut watch, NOW).1), expected);
    }
}

#[test]
fn a_watch_gets_bookmarks_and_ends_when_it_was_asked_to() {
    let mut server = stocked();
    let mut watch = open(&mut server, "?watch=1&resourceVersion=4&timeoutSeconds=90&allowWatchBookmarks=true");
    server.log.skip(5);
    let mut heard = Vec::new();
    while let Some(due) = watch.poll_timeout() {
        let body = said(&mut server, &mut watch, due).1;
        heard.push((due.as_nanos() / 1_000_000_000, events(&body)));
    }
    let bookmark = vec!["BOOKMARK @9".to_owned()];
    assert_eq!(heard, [(60, bookmark.clone()), (88, bookmark), (90, Vec::new())]);
}

#[test]
fn initial_events_are_followed_by_the_bookmark_that_ends_them() {
    let mut server = stocked();
    let (_, body) = asked(&mut server, "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    assert_eq!(events(&body), ["ADDED pod-000@2", "ADDED pod-001@3", "ADDED pod-002@4", "BOOKMARK @4"]);
    assert!(body.contains(r#""annotations":{"k8s.io/initial-events-end":"true"}"#), "{body}");
}

#[test]
fn a_version_that_is_gone_is_refused_at_once_or_in_the_stream() {
    let mut server = stocked();
    server.compact(4);
    assert_eq!(asked(&mut server, "?watch=1&resourceVersion=2").0, 410);
    let mut server = Server::new(ServerConfig { refuses_watches: false, ..config() });
    server.log.put(0, Write::default());
    server.compact(2);
    let (status, body) = asked(&mut server, "?watch=1&resourceVersion=1");
    assert!(status == 200 && body.starts_with(r#"{"type":"ERROR""#) && body.contains("410"), "{body}");
}

#[test]
fn metadata_alone_has_no_spec() {
    let mut server = stocked();
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    let mut answer = server.open(NOW, &Ask::parse("/api/v1/pods", accept), 0);
    let (_, body) = said(&mut server, &mut answer, NOW);
    assert!(body.contains("PartialObjectMetadataList") && body.contains("pod-002") && !body.contains("spec"), "{body}");
}

#[test]
fn what_makes_no_sense_is_a_bad_request() {
    let mut server = stocked();
    for target in
        ["?continue=next", "?resourceVersion=latest", "?labelSelector=a%20b", "?fieldSelector=status.phase%3DRunning"]
    {
        assert_eq!(asked(&mut server, target).0, 400, "{target}");
    }
}
