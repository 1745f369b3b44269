//! Faults of recordings, each reported in one line.

use crate::playback::support::{Ending, Player, data, end, exchange, file, gzip, refusal, request, response, text};
use flate2::Compression;
use flate2::write::GzEncoder;
use listwatch_transport_file::{CaptureErrorKind as Kind, History, Playback, PlaybackConfig};
use std::io::Write;
use std::path::Path;

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";

/// A list, then a watch with `bad` in the middle of its answer; the line is the seventh.
fn with_bad_line(bad: &str) -> Vec<String> {
    let mut lines = exchange(0, 1, PODS, "list").to_vec();
    lines.extend([request(1, 2, WATCH), response(1, 2), bad.into(), data(2, 2, "watch"), end(2, 2, "eof")]);
    lines
}

const BAD_LINES: [(Kind, &str, &str); 15] = [
    (Kind::Garbled, r#"{"t":2,"id":2,"data":"x"#, "the line breaks off at column 23"),
    (Kind::Garbled, "{\"t\":2,,", "not JSON at column 8: key must be a string"),
    (Kind::Garbled, "\u{0}", "not JSON at column 1: expected value"),
    (Kind::Record, "7", "not a record of a capture: invalid type: integer `7`, expected an object"),
    (Kind::Record, r#"{"t":2,"data":"x"}"#, "not a record of a capture: \"t\" and \"id\" are missing"),
    (
        Kind::Record,
        r#"{"t":18446744073709551615,"id":2,"data":"x"}"#,
        "not a record of a capture: \"t\" is more than a hundred years",
    ),
    (
        Kind::Record,
        r#"{"t":2,"id":2,"noise":"x"}"#,
        "not a record of a capture: none of \"request\", \"response\", \"data\", \"base64\" and \"end\" is there",
    ),
    (
        Kind::Record,
        r#"{"t":2,"id":2,"data":"x","end":"eof"}"#,
        "not a record of a capture: more than one of \"request\", \"response\", \"data\", \"base64\" and \"end\"",
    ),
    (Kind::Record, r#"{"t":2,"id":2,"base64":"?"}"#, "not a record of a capture: \"base64\" holds no base64"),
    (Kind::Order, r#"{"t":2,"id":9,"data":"x"}"#, "a record for request 9, which is not open"),
    (Kind::Order, r#"{"t":2,"id":1,"data":"x"}"#, "a record for request 1, which is not open"),
    (Kind::Order, r#"{"t":2,"id":2,"response":{"status":200}}"#, "a second response to the same request"),
    (Kind::Order, r#"{"t":2,"id":2,"request":{"method":"GET","path":"/"}}"#, "a second request under the same id"),
    (Kind::Order, r#"{"capture":1}"#, "the version of the capture belongs in the first line"),
    (Kind::Garbled, r#"{"t":2,"id":2,"data":"\ud800"}"#, "not JSON at column 29: unexpected end of hex escape"),
];

#[test]
fn everything_before_a_bad_line_is_played_and_then_it_is_named() {
    for (kind, line, what) in BAD_LINES {
        let path = file(text(&with_bad_line(line)));
        let mut player = Player::new(&path);
        assert_eq!(player.ask(PODS).text(), "list");
        assert_eq!(player.playback.error(), None, "not before the rest was played");
        let cut = player.ask(WATCH);
        assert_eq!((cut.status(), cut.text(), &cut.ending), (Some(200), "", &Ending::Over));
        let error = player.playback.error().unwrap();
        assert_eq!((error.kind(), error.line(), error.path()), (kind, Some(7), path.as_path()));
        let advice = "correct or delete the line, or skip bad lines";
        assert_eq!(error.to_string(), format!("{}:7: {what}; {advice}", path.display()));
    }
}

#[test]
fn bad_lines_are_counted_and_passed_over_where_that_is_asked_for() {
    let config = PlaybackConfig::new().skip_bad_lines(true);
    for (_, line, _) in BAD_LINES {
        let mut player = Player::of_lines(&with_bad_line(line), config);
        player.ask(PODS);
        let played = player.ask(WATCH);
        assert_eq!((played.text(), &played.ending), ("watch", &Ending::End), "{line}");
        assert_eq!(player.ask(WATCH).ending, Ending::Over);
        assert_eq!((player.playback.error(), player.playback.summary().bad_lines), (None, 1));
    }
}

#[test]
fn a_line_over_the_limit_is_an_error_and_not_memory() {
    let long = data(2, 2, &"x".repeat(1000));
    let lines = with_bad_line(&long);
    let config = PlaybackConfig::new().line_limit(long.len());
    assert_eq!(Player::of_lines(&lines, config).ask(WATCH).body.len(), 1005);

    let config = config.line_limit(long.len() - 1);
    let mut player = Player::of_lines(&lines, config);
    assert_eq!(player.ask(WATCH).ending, Ending::Over);
    let error = player.playback.error().unwrap();
    assert_eq!((error.kind(), error.line()), (Kind::TooLong, Some(7)));
    let message = format!(":7: the line is longer than the limit of {} bytes; ", long.len() - 1);
    assert!(error.to_string().contains(&message), "{error}");

    let mut player = Player::of_lines(&lines, config.skip_bad_lines(true));
    assert_eq!(player.ask(WATCH).text(), "watch");
    assert_eq!(player.playback.summary().bad_lines, 1);
}

#[test]
fn a_recording_that_breaks_off_within_its_last_line_is_played_up_to_there() {
    let lines = text(&exchange(0, 1, PODS, "list")) + &request(1, 2, WATCH)[..30];
    let mut player = Player::new(file(lines));
    assert_eq!(player.ask(PODS).text(), "list");
    assert_eq!(player.ask(WATCH).ending, Ending::Over);
    let error = player.playback.error().unwrap();
    assert_eq!((error.kind(), error.line()), (Kind::Garbled, Some(5)));
}

#[test]
fn a_capture_without_anything_before_its_first_bad_line_does_not_open() {
    let (error, message) = refusal("{\"t\":0,\"id\":1,\n");
    assert_eq!((error.kind(), error.line()), (Kind::Garbled, Some(1)));
    assert_eq!(message, ":1: the line breaks off at column 14; correct or delete the line, or skip bad lines");
    let (error, _) = refusal(data(0, 1, "x"));
    assert_eq!((error.kind(), error.line()), (Kind::Order, Some(1)));
    let (error, message) = refusal(text(&[request(0, 1, "/version"), data(0, 1, "x")]));
    assert_eq!(error.line(), Some(2));
    assert!(message.starts_with(":2: data before the response; "), "{message}");
}

#[test]
fn an_unknown_version_is_refused_even_where_bad_lines_are_skipped() {
    let capture = text(&[&[r#"{"capture":3}"#.to_owned()], &exchange(0, 1, PODS, "list")[..]].concat());
    let (error, message) = refusal(&capture);
    assert_eq!((error.kind(), error.line()), (Kind::Version, Some(1)));
    assert_eq!(message, ":1: version 3 of the capture format is unknown here; use a release that reads it");
    let skipping = Playback::with_config(file(capture), PlaybackConfig::new().skip_bad_lines(true));
    assert_eq!(skipping.unwrap_err().kind(), Kind::Version);
}

#[test]
fn a_capture_without_lists_and_watches_says_so() {
    let capture = text(&[exchange(0, 1, "/version", "{}"), exchange(0, 2, "/apis", "{}")].concat());
    for (bytes, others) in [(capture.as_str(), 2), (r#"{"capture":1}"#, 0)] {
        let (error, message) = refusal(bytes);
        assert_eq!((error.kind(), error.line()), (Kind::NothingToPlay, None));
        let found = format!(": the capture has neither lists nor watches (other requests: {others}, bad lines: 0); ");
        assert_eq!(message, found + "record a program that lists or watches");
    }
}

#[test]
fn what_is_not_there_or_no_regular_file_is_named() {
    for (path, from, to) in [
        ("/nonexistent/capture.jsonl", "cannot be opened: ", "; check the path and the permissions"),
        (env!("CARGO_TARGET_TMPDIR"), "is a folder", "; give a file"),
        ("/dev/null", "is no regular file", "; save it to one first"),
    ] {
        let error = Playback::from_file(path).unwrap_err();
        assert_eq!((error.kind(), error.line(), error.path()), (Kind::Io, None, Path::new(path)));
        let message = error.to_string();
        assert!(message.starts_with(&format!("{path}: {from}")) && message.ends_with(to), "{message}");
    }
}

#[test]
fn zipped_data_that_breaks_off_is_played_up_to_there() {
    let lists: Vec<_> = (0..2000).map(|n| exchange(n, n, PODS, &format!("list {n}"))).collect();
    let whole = gzip(text(&lists.concat()));
    let half = whole.len() / 2;
    let path = file(&whole[..half]);
    let mut player = Player::new(&path);
    let mut played = 0;
    while player.ask(PODS).ending == Ending::End {
        played += 1;
    }
    assert!(played > 100, "{played}");
    let error = player.playback.error().unwrap();
    assert_eq!(error.kind(), Kind::Compression);
    let line = error.line().unwrap();
    assert!(line > 4 * played, "{line}");
    let message = format!("{}:{line}: the gzip data breaks off at byte {half}; copy the file again, ", path.display());
    assert!(error.to_string().starts_with(&message), "{error}");
}

#[test]
fn damaged_zipped_data_is_an_error_that_says_where() {
    let lists: Vec<_> = (0..2000).map(|n| exchange(n, n, PODS, &format!("list {n}"))).collect();
    let mut bytes = gzip(text(&lists.concat()));
    let end = bytes.len() - 5;
    bytes[end] ^= 1;
    let mut player = Player::with_config(file(bytes), PlaybackConfig::new().skip_bad_lines(true));
    while player.ask(PODS).ending == Ending::End {}
    let error = player.playback.error().unwrap();
    assert_eq!(error.kind(), Kind::Compression);
    assert!(error.to_string().contains("the gzip data is damaged at byte "), "{error}");

    let (error, _) = refusal([0x1f, 0x8b, 0xff, 0xff, 0, 0]);
    assert_eq!(error.kind(), Kind::Compression);
    let numbers: String = (0..9999).map(|n| format!("{},", n * 7919)).collect();
    let before_its_kind_shows = &gzip(format!("{{\"metadata\":\"{numbers}\"}}"))[..5000];
    assert_eq!(refusal(before_its_kind_shows).0.kind(), Kind::Compression);
    let (error, message) = refusal([0x1f, 0x8b, 8]);
    assert_eq!(error.kind(), Kind::Compression);
    assert!(message.starts_with(": the gzip data breaks off at byte 3; copy the file again, "), "{message}");
}

#[test]
fn a_zipped_list_that_breaks_off_ends_the_playback_with_an_error() {
    let list = format!("{{\"items\":[{}]}}", (0..50_000).map(|n| format!("{},", n * 7919)).collect::<String>());
    let whole = gzip(list);
    let mut player = Player::new(file(&whole[..whole.len() / 2]));
    let played = player.ask(PODS);
    assert!(played.body.len() > 10_000);
    assert_eq!(played.ending, Ending::Over);
    assert_eq!(player.playback.error().map(|error| error.kind()), Some(Kind::Compression));
}

#[test]
fn a_file_that_shrinks_while_it_is_played_ends_the_playback_with_an_error() {
    let lines = exchange(0, 1, PODS, "list");
    let path = file(text(&lines));
    let mut player = Player::new(&path);
    std::fs::write(&path, text(&lines[..2])).unwrap();
    let played = player.ask(PODS);
    assert_eq!((played.status(), played.ending), (Some(200), Ending::Over));
    assert_eq!(player.playback.error().map(|error| error.kind()), Some(Kind::Io));
}

#[test]
fn compressed_data_that_breaks_off_behind_a_whole_line_counts_as_cut() {
    let list = r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}"#;
    let list = &list.replace('"', r#"\""#);
    for (lines, is_playable) in [(exchange(0, 1, PODS, list), true), (exchange(0, 1, "/version", "{}"), false)] {
        for (format, bytes) in breaking_off(text(&lines)) {
            let path = file(&bytes);
            let cut = format!("the {format} data breaks off at byte {}; copy the file again, unless ", bytes.len());
            if !is_playable {
                for (found, error) in [
                    ("lists nor watches", Playback::from_file(&path).unwrap_err()),
                    ("a whole list nor a watch", History::from_file(&path).unwrap_err()),
                ] {
                    let message = error.message();
                    assert!(message.contains(found) && message.contains(&format!(" before {cut}")), "{message}");
                }
                continue;
            }
            let (mut player, history) = (Player::new(&path), History::from_file(&path).unwrap());
            let unplayed = Playback::from_file(&path).unwrap();
            assert_eq!(player.ask(PODS).ending, Ending::End);
            assert_eq!(player.ask(PODS).ending, Ending::Over);
            for told in [player.playback.cut(), unplayed.cut(), history.cut()] {
                assert!(told.is_some_and(|told| told.message().starts_with(&cut)), "{format}: {told:?}");
            }
            assert_eq!((player.playback.error(), history.error()), (None, None));
        }
    }
    let whole = file(gzip(text(&exchange(0, 1, PODS, list))));
    assert_eq!(Playback::from_file(&whole).unwrap().cut(), None);
    assert_eq!(History::from_file(&whole).unwrap().cut(), None);
}

/// The text as a killed recorder leaves it, in both formats.
fn breaking_off(text: String) -> [(&'static str, Vec<u8>); 2] {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for out in [&mut gzip as &mut dyn Write, &mut zstd] {
        out.write_all(text.as_bytes()).unwrap();
        out.flush().unwrap();
    }
    [("gzip", gzip.get_ref().clone()), ("zstd", zstd.get_ref().clone())]
}
