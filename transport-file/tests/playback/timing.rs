//! When things come.

use crate::playback::support::{Ending, Player, data, end, exchange, request, response};
use core::time::Duration;
use listwatch_core::request::RequestId;
use listwatch_core::transport::Incoming;
use listwatch_core::{Instant, ListerWatcher};
use listwatch_transport_file::{Pace, PlaybackConfig};

const PATH: &str = "/api/v1/pods";

/// Two lists; the second was asked a second after the first.
fn two_lists() -> Vec<String> {
    vec![
        request(100, 1, PATH),
        response(110, 1),
        data(125, 1, "a"),
        end(130, 1, "eof"),
        request(1130, 2, PATH),
        response(1150, 2),
        data(1150, 2, "b"),
        end(1150, 2, "eof"),
    ]
}

#[test]
fn delays_count_from_the_request_and_not_from_the_recording() {
    let mut player = Player::of_lines(&two_lists(), PlaybackConfig::new());
    let first = player.ask(PATH);
    assert_eq!((first.chunks, first.took), (vec![(1, 25)], 30));
    player.now = player.now + Duration::from_secs(500);
    let second = player.ask(PATH);
    assert_eq!((second.chunks, second.took), (vec![(1, 20)], 20));
}

#[test]
fn nothing_comes_before_it_is_due_and_everything_at_that_moment() {
    let mut player = Player::of_lines(&two_lists(), PlaybackConfig::new());
    let began = player.now;
    let due = began + Duration::from_millis(10);
    let id = player.open(PATH);
    assert_eq!(player.poll(&mut [0; 8]), Incoming::Idle { until: Some(due) });
    player.now = Instant::from_nanos(due.as_nanos() - 1);
    assert_eq!(player.poll(&mut [0; 8]), Incoming::Idle { until: Some(due) });
    player.now = due;
    assert!(matches!(player.poll(&mut [0; 8]), Incoming::Head { id: of, .. } if of == id));
    player.now = began + Duration::from_secs(9);
    assert_eq!(player.poll(&mut [0; 8]), Incoming::Data { id, len: 1 });
    assert_eq!(player.poll(&mut [0; 8]), Incoming::End { id });
    assert_eq!(player.poll(&mut [0; 8]), Incoming::Idle { until: None });
    assert!(!player.playback.is_complete());
}

#[test]
fn an_immediate_pace_has_no_delays() {
    let mut player = Player::of_lines(&two_lists(), PlaybackConfig::new().pace(Pace::Immediate));
    let (first, second) = (player.ask(PATH), player.ask(PATH));
    assert_eq!((first.took, second.took), (0, 0));
    assert_eq!((first.text(), second.text()), ("a", "b"));
}

#[test]
fn a_recording_whose_time_goes_back_waits_for_nothing() {
    let lines = [request(100, 1, PATH), response(50, 1), data(40, 1, "a"), end(101, 1, "eof")];
    assert_eq!(Player::of_lines(&lines, PlaybackConfig::new()).ask(PATH).took, 1);
}

#[test]
fn an_aborted_request_is_silent_and_the_next_one_is_answered() {
    let mut player = Player::of_lines(&two_lists(), PlaybackConfig::new());
    let id = player.open(PATH);
    player.playback.abort(RequestId(99));
    assert!(matches!(player.poll(&mut [0; 8]), Incoming::Idle { until: Some(_) }), "that was another request");
    player.playback.abort(id);
    assert_eq!(player.poll(&mut [0; 8]), Incoming::Idle { until: None });
    let second = player.ask(PATH);
    assert_eq!((second.text(), &second.ending), ("b", &Ending::End));
}

#[test]
fn a_playback_from_a_moment_brings_the_state_at_once_and_what_follows_in_its_time() {
    let lines = [
        exchange(1_000, 1, "/api/v1/pods", "list").to_vec(),
        vec![
            request(2_000, 2, "/api/v1/pods?watch=1"),
            response(2_500, 2),
            data(9_000, 2, "before"),
            data(10_500, 2, "behind"),
            end(12_000, 2, "eof"),
        ],
        exchange(12_000, 3, "/api/v1/pods?watch=1", "later").to_vec(),
    ];
    let config = PlaybackConfig::new().from(Duration::from_secs(10));
    let mut player = Player::of_lines(&lines.concat(), config);
    assert_eq!(player.ask("/api/v1/pods").took, 0);
    let watch = player.ask("/api/v1/pods?watch=1");
    assert_eq!((watch.chunks, watch.took), (vec![(6, 0), (6, 500)], 2_000));
    assert_eq!(player.ask("/api/v1/pods?watch=1").text(), "later");
}
