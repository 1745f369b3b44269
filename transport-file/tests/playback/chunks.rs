//! How much comes at a time.

use crate::playback::support::{Player, data, end, request, response};
use listwatch_transport_file::{Chunks, Pace, PlaybackConfig};

fn lengths(config: PlaybackConfig, buffer: usize) -> Vec<usize> {
    let path = "/api/v1/pods";
    let lines = [
        request(0, 1, path),
        response(1, 1),
        data(2, 1, "abcde"),
        data(2, 1, ""),
        data(2, 1, "fgh"),
        data(9, 1, "ij"),
        end(9, 1, "eof"),
    ];
    let mut player = Player::of_lines(&lines, config);
    player.buffer = buffer;
    let played = player.ask(path);
    assert_eq!(played.text(), "abcdefghij");
    assert_eq!(player.playback.summary().body_bytes, 10);
    played.chunks.iter().map(|(len, _)| *len).collect()
}

#[test]
fn data_comes_in_the_chunks_of_the_recording_and_never_empty() {
    assert_eq!(lengths(PlaybackConfig::new(), 100), [5, 3, 2]);
}

#[test]
fn what_does_not_fit_the_buffer_comes_next() {
    assert_eq!(lengths(PlaybackConfig::new(), 2), [2, 2, 1, 2, 1, 2]);
    assert_eq!(lengths(PlaybackConfig::new().chunks(Chunks::Whole), 6), [6, 2, 2]);
}

#[test]
fn a_limit_cuts_chunks_and_joins_none() {
    assert_eq!(lengths(PlaybackConfig::new().chunks(Chunks::AtMost(4)), 100), [4, 1, 3, 2]);
    assert_eq!(lengths(PlaybackConfig::new().chunks(Chunks::AtMost(1)), 100), [1; 10]);
    assert_eq!(lengths(PlaybackConfig::new().chunks(Chunks::AtMost(0)), 100), [1; 10]);
}

#[test]
fn whole_joins_what_is_due_and_nothing_else() {
    let whole = PlaybackConfig::new().chunks(Chunks::Whole);
    assert_eq!(lengths(whole, 100), [8, 2]);
    assert_eq!(lengths(whole.pace(Pace::Immediate), 100), [10]);
}
