//! Watch logs and lists that break off or are garbled.

use crate::playback::support::{Ending, Played, Player, file, gzip};
use listwatch_transport_file::{CaptureErrorKind as Kind, Chunks, PlaybackConfig};

const PODS: &str = "/api/v1/pods";
const WATCH: &str = "/api/v1/pods?watch=1";
const ADVICE: &str = "; correct or delete the line, or skip bad lines";

/// An event in one line.
fn line(name: &str) -> String {
    format!("{{\"type\":\"ADDED\",\"object\":{{\"name\":\"{name}\"}}}}\n")
}

/// An event as kubectl prints it, in six lines.
fn pretty(name: &str) -> String {
    format!("{{\n    \"type\": \"ADDED\",\n    \"object\": {{\n        \"name\": \"{name}\"\n    }}\n}}\n")
}

fn skipping() -> PlaybackConfig {
    PlaybackConfig::new().skip_bad_lines(true)
}

/// Plays `bytes`, as they are and zipped, as the answer to `target`. Returns the part before the error, and the error.
fn broken(bytes: &str, target: &str, config: PlaybackConfig) -> (Played, Kind, String) {
    let [plain, zipped] = [bytes.into(), gzip(bytes)].map(|bytes| {
        let path = file(bytes);
        let mut player = Player::with_config(&path, config);
        let played = player.ask(target);
        assert_eq!((played.status(), &played.ending), (Some(200), &Ending::Over));
        let error = player.playback.error().unwrap();
        assert_eq!(error.path(), path);
        let message = error.to_string().split_off(path.to_str().unwrap().len());
        assert!(message.starts_with(&format!(":{}: ", error.line().unwrap())), "{message}");
        assert_eq!(player.playback.summary().bad_lines, 0);
        (played, error.kind(), message)
    });
    assert_eq!((plain.0.text(), plain.1, &plain.2), (zipped.0.text(), zipped.1, &zipped.2));
    plain
}

/// Plays a watch log without its bad lines, and counts those.
fn skipped(bytes: &str, config: PlaybackConfig) -> (String, u64) {
    let mut player = Player::with_config(file(bytes), config.skip_bad_lines(true));
    let played = player.ask(WATCH);
    assert_eq!((&played.ending, player.playback.error()), (&Ending::End, None));
    (played.text().to_owned(), player.playback.summary().bad_lines)
}

#[test]
fn the_events_before_a_bad_line_are_played_and_then_it_is_named() {
    let [a, b] = ["a", "b"].map(line);
    for (bad, kind, what) in [
        (r#"{"type":"ADDED","object":{"#, Kind::Garbled, "the line breaks off at column 26"),
        (r#"{"type":"ADDED",,"#, Kind::Garbled, "not JSON at column 17: key must be a string"),
        ("error: the server is gone", Kind::Garbled, "not JSON at column 1: expected value"),
        (&format!("{} {}", a.trim(), b.trim()), Kind::Garbled, "not JSON at column 40: trailing characters"),
        (r#"{"object":{}}"#, Kind::Record, "not a watch event: missing field `type`"),
        (r#"{"type":"ADDED"}"#, Kind::Record, "not a watch event: missing field `object`"),
        (r#"["ADDED",{}]"#, Kind::Record, "not a watch event: invalid type: sequence, expected a map"),
    ] {
        let log = format!("{a}\n{bad}\n{b}");
        let (played, found, message) = broken(&log, WATCH, PlaybackConfig::new());
        assert_eq!((played.text(), found), (a.as_str(), kind));
        assert_eq!(message, format!(":3: {what}{ADVICE}"));
        assert_eq!(skipped(&log, skipping()), (format!("{a}{b}"), 1));
    }
}

#[test]
fn a_line_that_is_not_utf_8_is_a_bad_line() {
    for (first, bad, number) in [(line("a"), line("?"), 2), (pretty("a"), pretty("?"), 10)] {
        let log = format!("{first}{bad}{}", line("b")).replace('?', "\u{1}").into_bytes();
        let log: Vec<u8> = log.into_iter().map(|byte| if byte == 1 { 0xff } else { byte }).collect();
        let mut player = Player::new(file(&log));
        assert_eq!(player.ask(WATCH).text(), first);
        let error = player.playback.error().unwrap();
        assert_eq!((error.kind(), error.line()), (Kind::Garbled, Some(number)));
        let column = if number == 2 { 35 } else { 18 };
        assert!(error.to_string().contains(&format!(": not UTF-8 at column {column}; ")), "{error}");
        let mut player = Player::with_config(file(&log), skipping());
        assert_eq!(player.ask(WATCH).text(), format!("{first}{}", line("b")));
    }
}

#[test]
fn the_last_line_may_lack_its_end_but_not_more() {
    let (a, b) = (line("a"), line("b"));
    let log = format!("{a}{b}");
    assert_eq!(skipped(log.trim_end(), PlaybackConfig::new()), (log.clone(), 0));
    let (played, kind, message) = broken(log.trim_end().strip_suffix('}').unwrap(), WATCH, PlaybackConfig::new());
    assert_eq!((played.text(), kind), (a.as_str(), Kind::Garbled));
    assert_eq!(message, format!(":2: the line breaks off at column {}{ADVICE}", b.len() - 2));
}

#[test]
fn a_line_of_a_watch_log_over_the_limit_is_a_bad_line() {
    let (a, long, b) = (line("a"), line(&"x".repeat(200_000)), line("b"));
    let log = format!("{a}{long}{b}");
    let config = PlaybackConfig::new().line_limit(1000);
    let (played, kind, message) = broken(&log, WATCH, config);
    assert_eq!((played.text(), kind), (a.as_str(), Kind::TooLong));
    assert_eq!(message, format!(":2: the line is longer than the limit of 1000 bytes{ADVICE}"));
    assert_eq!(skipped(&log, config), (format!("{a}{b}"), 1));
}

#[test]
fn a_watch_log_with_a_bad_first_line_is_played_from_the_second_on() {
    let log = format!("{{\"type\":\"ADDED\",\"obj\n{}{}", line("a"), line("b"));
    let (played, kind, message) = broken(&log, WATCH, PlaybackConfig::new());
    assert_eq!((played.text(), kind), ("", Kind::Garbled));
    assert!(message.starts_with(":1: not JSON at the end of the line: control character "), "{message}");
    assert_eq!(skipped(&log, skipping()), (format!("{}{}", line("a"), line("b")), 1));
}

#[test]
fn what_stands_between_events_of_several_lines_is_a_bad_line() {
    let [a, b] = ["a", "b"].map(pretty);
    for stray in ["error: the server is gone", "Unable to connect to the server: EOF", "}", "null"] {
        for log in [format!("{a}{stray}\n{b}"), format!("{a}{stray}\n"), format!("{a}{stray}")] {
            let (played, _, message) = broken(&log, WATCH, PlaybackConfig::new());
            assert_eq!(played.text(), a);
            assert!(message.starts_with(":7: not ") && message.ends_with(ADVICE), "{message}");
            assert_eq!(skipped(&log, skipping()), (if log.ends_with(&b) { format!("{a}{b}") } else { a.clone() }, 1));
        }
    }
}

#[test]
fn an_event_of_several_lines_that_breaks_off_is_told_where_the_next_one_begins() {
    let [a, b, c] = ["a", "b", "c"].map(pretty);
    let not_json = |number| format!(":{number}: not JSON at column 1: ");
    let broken_off = |number| format!(":{number}: the line breaks off at the end of the line; ");
    for (lines, expected) in
        [(1, broken_off(7)), (2, not_json(9)), (3, broken_off(9)), (4, broken_off(10)), (5, broken_off(11))]
    {
        let part: String = b.split_inclusive('\n').take(lines).collect();
        let log = format!("{a}{part}{c}");
        let (played, kind, message) = broken(&log, WATCH, PlaybackConfig::new());
        assert_eq!((played.text(), kind), (a.as_str(), Kind::Garbled));
        assert!(message.starts_with(&expected), "{message}");
        assert_eq!(skipped(&log, skipping()), (format!("{a}{c}"), 1));
    }
    // Without its value, a field takes the whole next event for it.
    for (part, message_start) in [
        (&b[..b.len() - 11], ":10: not JSON at column 17: control character "),
        (&b[..b.len() - 12], ":16: the file ends within the event that begins in line 7; "),
    ] {
        let log = format!("{a}{part}\n{c}");
        let (_, _, message) = broken(&log, WATCH, PlaybackConfig::new());
        assert!(message.starts_with(message_start), "{message}");
        assert_eq!(skipped(&log, skipping()), (format!("{a}{c}"), 1));
    }
}

#[test]
fn a_file_that_ends_within_an_event_names_its_last_line_and_where_the_event_begins() {
    let [a, b] = ["a", "b"].map(pretty);
    for (left, number) in [(1, 7), (2, 7), (10, 8), (b.len() - 2, 11)] {
        let log = format!("{a}{}", &b[..left]);
        let (played, kind, message) = broken(&log, WATCH, PlaybackConfig::new());
        assert_eq!((played.text(), kind), (a.as_str(), Kind::Garbled));
        let what = "the file ends within the event that begins in line 7; correct or delete it, or skip bad lines";
        assert_eq!(message, format!(":{number}: {what}"));
        assert_eq!(skipped(&log, skipping()), (a.clone(), 1));
    }
}

#[test]
fn an_event_of_several_lines_that_is_none_is_left_out_alone() {
    let [a, b] = ["a", "b"].map(pretty);
    let log = format!("{a}{}{b}", b.replace("type", "kind"));
    let (played, kind, message) = broken(&log, WATCH, PlaybackConfig::new());
    assert_eq!((played.text(), kind), (a.as_str(), Kind::Record));
    assert!(message.contains(": not a watch event: missing field `type`; "), "{message}");
    assert_eq!(skipped(&log, skipping()), (format!("{a}{b}"), 1));
}

#[test]
fn events_may_share_a_line() {
    let [a, b] = ["a", "b"].map(line);
    let log = format!("{}{}", a.trim_end(), b.trim_end());
    assert_eq!(skipped(&log, PlaybackConfig::new()), (format!("{a}{b}"), 0));
}

#[test]
fn an_event_of_several_lines_over_the_limit_is_bad_and_what_broke_off_is_not_too_long() {
    let [a, b] = ["a", "b"].map(pretty);
    let config = PlaybackConfig::new().line_limit(1000);
    for size in [1000, 300_000] {
        let long = pretty(&"x".repeat(size));
        let log = format!("{a}{long}{b}");
        let (played, kind, message) = broken(&log, WATCH, config);
        assert_eq!((played.text(), kind), (a.as_str(), Kind::TooLong));
        assert_eq!(message, format!(":7: the event is longer than the limit of 1000 bytes{ADVICE}"));
        assert_eq!(skipped(&log, config), (format!("{a}{b}"), 1));
    }
    let many = b.repeat(10_000);
    let log = format!("{a}{{\n    \"type\": \"ADDED\",\n{many}");
    for config in [config, PlaybackConfig::new()] {
        let (_, kind, message) = broken(&log, WATCH, config);
        assert_eq!(kind, Kind::Garbled);
        assert!(message.starts_with(":9: not JSON at column 1: "), "{message}");
        assert_eq!(skipped(&log, config), (format!("{a}{many}"), 1));
    }
}

#[test]
fn a_list_that_breaks_off_is_played_up_to_there_and_says_in_which_line() {
    let list = "{\n  \"kind\": \"List\",\n  \"items\": [\n    {\"a\": \"}]}\"},\n    {}\n  ]\n}\n";
    for len in list.find("items").unwrap() + 6..list.len() - 1 {
        let part = &list[..len];
        for config in [PlaybackConfig::new(), skipping().chunks(Chunks::AtMost(1))] {
            let (played, kind, message) = broken(part, PODS, config);
            assert_eq!((played.text(), kind), (part, Kind::Garbled));
            let last = part.lines().count();
            assert_eq!(message, format!(":{last}: the file ends within the list; save it again"));
        }
    }
}

#[test]
fn what_stands_behind_a_list_is_named_and_not_played() {
    let list = "{\n\"items\": []\n}\n";
    for (white, more, number) in [("", "error: gone\n", 4), ("\n \r\n", "[]", 6), ("", "]", 4)] {
        let (played, kind, message) = broken(&format!("{list}{white}{more}"), PODS, PlaybackConfig::new());
        assert_eq!((played.text(), kind), (format!("{list}{white}").as_str(), Kind::Garbled));
        let what = "there is more text behind the list; delete it";
        assert_eq!(message, format!(":{number}: {what}"));
    }
    let (_, _, message) = broken("{\"items\":[]}}", PODS, PlaybackConfig::new());
    assert!(message.starts_with(":1: there is more text behind the list; "), "{message}");
}

#[test]
fn a_zipped_watch_log_that_breaks_off_is_played_up_to_there() {
    for event in [line, pretty] {
        let log: String = (0..20_000).map(|n| event(&(n * 7919).to_string())).collect();
        let whole = gzip(&log);
        let mut player = Player::new(file(&whole[..whole.len() / 2]));
        let played = player.ask(WATCH);
        assert!(played.body.len() > 10_000 && log.starts_with(played.text()));
        assert_eq!(played.ending, Ending::Over);
        let error = player.playback.error().unwrap();
        assert_eq!(error.kind(), Kind::Compression);
        assert!(error.line().unwrap() as usize > played.text().lines().count());
    }
}
