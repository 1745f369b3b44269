//! Which recorded answer a request gets.

use crate::playback::support::{Ending, Player, data, end, exchange, gzip, request, response, text};
use listwatch_core::transport::TransportErrorKind::{Other, Refused, Reset};
use listwatch_transport_file::PlaybackConfig;

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";

fn player<S: AsRef<str>>(lines: &[S]) -> Player {
    Player::of_lines(lines, PlaybackConfig::new())
}

fn kind(ending: &Ending) -> Option<listwatch_core::transport::TransportErrorKind> {
    match ending {
        Ending::Failed(error) => Some(error.kind),
        Ending::End | Ending::Over => None,
    }
}

#[test]
fn lists_and_watches_are_counted_apart() {
    let lines = [
        exchange(0, 1, WATCH, "w1"),
        exchange(1, 2, PODS, "l1"),
        exchange(2, 3, PODS, "l2"),
        exchange(3, 4, WATCH, "w2"),
    ];
    let mut player = player(&lines.concat());
    for (target, body) in [(PODS, "l1"), (WATCH, "w1"), (WATCH, "w2"), (PODS, "l2")] {
        assert_eq!(player.ask(target).text(), body);
    }
}

#[test]
fn path_and_selectors_must_be_those_of_the_recording_and_versions_need_not() {
    let lines = [
        exchange(0, 1, "/api/v1/pods?labelSelector=app%3Dweb&limit=50&resourceVersion=0", "web"),
        exchange(1, 2, "/api/v1/pods?fieldSelector=spec.nodeName%3Da", "node"),
        exchange(2, 3, "/api/v1/namespaces/x/pods", "x"),
        exchange(3, 4, PODS, "all"),
    ];
    let lines = lines.concat();
    let mut asked = player(&lines);
    for (target, body) in [
        ("/api/v1/pods?limit=7", "all"),
        ("/api/v1/namespaces/x/pods?resourceVersion=9", "x"),
        ("/api/v1/pods?labelSelector=app=web", "web"),
        ("/api/v1/pods?fieldSelector=spec.nodeName%3Da", "node"),
    ] {
        assert_eq!(asked.ask(target).text(), body);
    }
    assert_eq!(asked.playback.resources().len(), 4);
    assert_eq!(asked.playback.resource().unwrap().label_selector(), Some("app=web"));
    for target in ["/api/v1/pods?labelSelector=app%3Ddb", "/api/v1/namespaces/y/pods", WATCH] {
        assert_eq!(player(&lines).ask(target).ending, Ending::Over, "{target}");
    }
}

#[test]
fn pages_are_found_by_their_tokens_and_are_no_lists_of_their_own() {
    let page = "/api/v1/pods?limit=2&continue=";
    let lines = [
        exchange(0, 1, "/api/v1/pods?limit=2", "1a"),
        exchange(1, 2, &format!("{page}x"), "1b"),
        exchange(2, 3, &format!("{page}y"), "1c"),
        exchange(3, 4, PODS, "2"),
    ];
    let mut player = player(&lines.concat());
    assert_eq!(player.ask(PODS).text(), "1a");
    assert_eq!(player.ask(&format!("{page}y")).text(), "1c");
    assert_eq!(player.ask(PODS).text(), "2");
    assert_eq!(player.playback.summary().lists.left, 1);
    assert_eq!(player.ask(&format!("{page}y")).ending, Ending::Over);
}

#[test]
fn a_watch_list_is_refused_only_where_the_recorded_server_had_none() {
    let watch_list = "/api/v1/pods?watch=1&sendInitialEvents=true";
    let lines = [exchange(0, 1, watch_list, "a"), exchange(1, 2, "/api/v1/nodes", "n")].concat();
    let mut player = player(&lines);
    assert_eq!(player.ask("/api/v1/nodes?watch=1&sendInitialEvents=true").status(), Some(422));
    assert_eq!(player.ask(watch_list).text(), "a");
    assert_eq!(player.ask(watch_list).ending, Ending::Over);
    let tally = player.playback.summary().watch_lists;
    assert_eq!((tally.answered, tally.refused, tally.left), (1, 1, 0));
}

#[test]
fn an_end_says_how_the_answer_broke_off() {
    let rest = exchange(90, 90, "/api/v1/nodes", "");
    for (lines, ending) in [
        (vec![request(0, 1, WATCH), end(1, 1, "error: ConnectionRefusedError")], Some(Refused)),
        (vec![request(0, 1, WATCH), end(1, 1, "error: no route to host")], Some(Other)),
        (vec![request(0, 1, WATCH), end(1, 1, "cut")], Some(Other)),
        (vec![request(0, 1, WATCH)], Some(Reset)),
        (vec![request(0, 1, WATCH), response(1, 1), data(2, 1, "x")], Some(Reset)),
        (vec![request(0, 1, WATCH), response(1, 1), data(2, 1, "x"), end(3, 1, "cut")], Some(Reset)),
        (vec![request(0, 1, WATCH), response(1, 1), data(2, 1, "x"), end(3, 1, "error: refused")], Some(Reset)),
        (vec![request(0, 1, WATCH), response(1, 1), data(2, 1, "x"), end(3, 1, "eof")], None),
    ] {
        let lines = [lines, rest.to_vec()].concat();
        let mut player = player(&lines);
        assert_eq!(kind(&player.ask(WATCH).ending), ending, "{lines:?}");
        assert!(!player.playback.is_complete());
    }
}

#[test]
fn a_failure_says_what_was_recorded() {
    let lines = [request(0, 1, WATCH), end(1, 1, "error: ConnectionRefusedError")];
    let Ending::Failed(error) = player(&lines).ask(WATCH).ending else { panic!() };
    assert_eq!(error.to_string(), "connection refused: recorded: error: ConnectionRefusedError");
}

#[test]
fn an_answer_that_the_recording_cut_off_completes_the_playback_after_its_last_byte() {
    let lines = [exchange(0, 1, PODS, "l").to_vec(), vec![request(5, 2, WATCH), response(6, 2), data(9, 2, "w")]];
    let mut player = player(&lines.concat());
    player.ask(PODS);
    assert!(!player.playback.is_complete());
    let cut = player.ask(WATCH);
    assert_eq!((cut.text(), cut.took, &cut.ending), ("w", 4, &Ending::Over));
    assert_eq!(player.playback.error(), None);
    assert_eq!(player.ask(PODS).ending, Ending::Over, "it stays complete");
}

#[test]
fn an_exchange_before_the_current_place_is_read_again() {
    let nodes = "/api/v1/nodes";
    let lines = vec![
        request(0, 1, PODS),
        request(0, 2, nodes),
        response(1, 2),
        response(1, 1),
        data(2, 1, "p1"),
        data(3, 2, "n1"),
        data(4, 1, "p2"),
        end(5, 1, "eof"),
        data(6, 2, "n2"),
        end(7, 2, "eof"),
    ];
    for bytes in [text(&lines).into_bytes(), gzip(text(&lines))] {
        let mut player = Player::new(crate::playback::support::file(bytes));
        assert_eq!(player.ask(nodes).text(), "n1n2");
        let played = player.playback.summary().file_bytes_played;
        assert_eq!(player.ask(PODS).text(), "p1p2");
        assert!(player.playback.summary().file_bytes_played >= played, "progress never goes back");
    }
}

#[test]
fn writes_discovery_and_single_objects_are_neither_lists_nor_resources() {
    let write = r#"{"t":0,"id":1,"request":{"method":"POST","path":"/api/v1/pods","body":"{}"}}"#;
    let mut lines = vec![write.to_owned(), response(0, 1), data(0, 1, "created"), end(0, 1, "eof")];
    lines.extend(
        [exchange(1, 2, "/apis", "g"), exchange(2, 3, "/api/v1/nodes/a", "o"), exchange(3, 4, PODS, "l")].concat(),
    );
    let mut player = player(&lines);
    assert_eq!(player.playback.resources().len(), 1);
    assert_eq!(player.ask(PODS).text(), "l");
    assert_eq!(player.playback.summary().others, 3);
}

#[test]
fn a_request_for_metadata_only_gets_what_was_recorded() {
    let mut player = player(&exchange(0, 1, PODS, "l1"));
    let mut request = listwatch_core::request::Request::parse(PODS);
    request.resource = request.resource.metadata_only();
    listwatch_core::ListerWatcher::open(&mut player.playback, listwatch_core::request::RequestId(1), &request);
    let mut buf = [0; 8];
    assert!(
        matches!(player.poll(&mut buf), listwatch_core::transport::Incoming::Head { head, .. } if head.status == 200)
    );
    assert!(matches!(player.poll(&mut buf), listwatch_core::transport::Incoming::Data { len: 2, .. }));
}
