use super::*;
use std::format;
use std::string::String;
use std::vec::Vec;

/// The frames of `body` when it arrives `chunk` bytes at a time, and whether it was complete at its end.
fn frames(framing: Framing, limit: usize, body: &[u8], chunk: usize) -> (Vec<String>, bool) {
    let (mut framer, mut buffer, mut seen) = (Framer::new(framing, limit), Vec::new(), Vec::new());
    for piece in body.chunks(chunk) {
        buffer.extend_from_slice(piece);
        while let Some(frame) = framer.next_frame(&buffer) {
            seen.push(show(frame));
        }
        let count = framer.reclaim();
        buffer.drain(..count);
        assert!(buffer.len() <= limit + chunk, "{} bytes kept", buffer.len());
    }
    (seen, framer.is_complete())
}

fn show(frame: Frame<'_>) -> String {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    match frame {
        Frame::Value(value) => text(value),
        Frame::Item(item) => format!("item {}", text(item)),
        Frame::Row(row) => format!("row {}", text(row)),
        Frame::Field { name, value } => format!("{}={}", text(name), text(value)),
        other => format!("{other:?}"),
    }
}

/// The frames of `body`, which are the same in whatever pieces it arrives.
fn all(framing: Framing, limit: usize, body: &str) -> (Vec<String>, bool) {
    let whole = frames(framing, limit, body.as_bytes(), body.len());
    for chunk in 1..body.len().min(40) {
        assert_eq!(frames(framing, limit, body.as_bytes(), chunk), whole, "in pieces of {chunk}");
    }
    whole
}

#[test]
fn a_watch_is_divided_into_its_values_and_an_unfinished_one_is_no_frame() {
    let (seen, complete) = all(Framing::Values, 100, "{\"a\":1}\n\n \r\n{\"b\":\"\\n\"}\n{\"cut");
    assert_eq!(seen, ["{\"a\":1}", "{\"b\":\"\\n\"}"]);
    assert!(!complete);
    assert!(all(Framing::Values, 100, "{}\n").1);
}

#[test]
fn a_value_that_breaks_off_does_not_swallow_those_behind_it() {
    for (broken, ends_with_its_line) in [
        ("{\"a\":{\"b\":1}", false),
        ("{\"a\":{\"b\":[1\n\n \"c\"]", false),
        ("{\"a\":\"b", true),
        ("{\"a\":\"b\\", true),
    ] {
        let (seen, complete) = all(Framing::Values, 100, &format!("{{}}\n{broken}\n  {{\"c\":1}}\n{{}}"));
        let gap = if ends_with_its_line { "\n" } else { "\n  " };
        assert_eq!(seen, ["{}", &*format!("{broken}{gap}"), "{\"c\":1}", "{}"]);
        assert!(complete);
    }
}

#[test]
fn a_line_of_a_value_may_begin_with_a_brace_where_a_value_may_begin() {
    let value = "{\"a\":\n{\"b\":[\n{},\n\n{}\n]}}";
    assert_eq!(all(Framing::Values, 100, value).0, [value]);
}

/// What a decoder with one value for each line is told, and the frames behind the first line that is none.
fn guessed(body: &str, chunk: usize) -> Vec<String> {
    let (mut framer, mut buffer, mut seen) = (Framer::new(Framing::Values, 30), Vec::new(), Vec::new());
    for piece in body.as_bytes().chunks(chunk) {
        buffer.extend_from_slice(piece);
        while let Some(line) = framer.guess_line(&buffer) {
            let line = String::from_utf8(line.to_vec()).unwrap();
            if !framer.misguessed(&buffer) {
                seen.push(line.trim_end().into());
            }
        }
        seen.extend(core::iter::from_fn(|| framer.next_frame(&buffer).map(show)));
        buffer.drain(..framer.reclaim());
    }
    seen
}

#[test]
fn guessed_lines_are_the_frames() {
    for body in [
        "{\"a\":1}\n{\"b\":2} \r\n\n {\"c\":3}\n{\"d",
        "{\"a\":1}\n{\"b\":2}{\"c\":3}\n{\"d\":4}\n",
        "{\"a\":1}\n{\n\"b\":2\n}\n{\"d\":4}\n",
        "{\"a\":1}\n{\"b\":{\n{\"d\":4}\n",
        "{\"a\":1}\nno value\n{\"d\":4}",
        "{\"a\":1} no value\n{\"d\":4}",
        "{\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n{\"d\":4}\n",
        "{\"a\":1} {\"b\":2} {\"c\":3} {\"d\":4} {\"e\":5}\n",
    ] {
        let expected = all(Framing::Values, 30, body).0;
        for chunk in 1..=body.len() {
            assert_eq!(guessed(body, chunk), expected, "{body:?} in pieces of {chunk}");
        }
    }
}

#[test]
fn values_may_be_laid_out_in_any_way() {
    let (seen, complete) = all(Framing::Values, 100, " {\n \"a\": \"}\"\n}{}\n\n{\"b\":[{}]}\n");
    assert_eq!(seen, ["{\n \"a\": \"}\"\n}", "{}", "{\"b\":[{}]}"]);
    assert!(complete);
}

#[test]
fn a_line_among_values_that_is_none_becomes_a_frame_of_its_own() {
    let (seen, _) = all(Framing::Values, 100, "{}\nError from server\n{\"a\":1}");
    assert_eq!(seen, ["{}", "Error from server", "{\"a\":1}"]);
}

#[test]
fn a_list_is_divided_into_items_wherever_its_fields_stand() {
    let body = r#" {"items" : [ {"a":"]"} , {"b":[1]} ],"kind":"PodList","metadata":{"resourceVersion":"7"}} "#;
    let (seen, complete) = all(Framing::List, 100, body);
    let expected = [
        r#"item {"a":"]"}"#,
        r#"item {"b":[1]}"#,
        r#"kind="PodList""#,
        r#"metadata={"resourceVersion":"7"}"#,
        "ListEnd",
    ];
    assert_eq!(seen, expected);
    assert!(complete);
}

#[test]
fn a_list_without_items_has_none() {
    assert_eq!(all(Framing::List, 100, r#"{"items":null}"#).0, ["items=null", "ListEnd"]);
    assert_eq!(all(Framing::List, 100, r#"{"items":[]}"#).0, ["ListEnd"]);
}

#[test]
fn a_list_that_breaks_off_is_not_complete() {
    let body = r#"{"items":[{"a":1},{"b":2}]}"#;
    for cut in 1..body.len() {
        assert!(!all(Framing::List, 100, &body[..cut]).1, "{}", &body[..cut]);
    }
}

#[test]
fn what_is_no_list_is_said_once() {
    assert_eq!(all(Framing::List, 100, "<html></html>").0, ["NotAList"]);
    assert_eq!(all(Framing::List, 100, r#"[{"a":1}]"#).0, ["NotAList"]);
    assert_eq!(all(Framing::List, 100, r#"{"items":[}"#).0, ["NotAList"]);
    assert_eq!(all(Framing::List, 100, "{}").0, ["NotAList"]);
    assert_eq!(all(Framing::List, 100, r#"{"items":{}}"#).0, ["NotAList"]);
    assert_eq!(all(Framing::List, 100, r#"{"code":500}"#).0, ["code=500", "NotAList"]);
    assert_eq!(all(Framing::List, 100, r#"{"it\u0065ms":[1]}"#).0, ["NotAList"]);
    assert_eq!(all(Framing::List, 100, r#"{"items":[1],"items":[2]}"#).0, ["item 1", "NotAList"]);
    let other = r#"{"\u0069tem":1,"items\u0073":2,"\u00g9tems":3,"\u006":4,"Items":5,"items":[6]}"#;
    assert_eq!(all(Framing::List, 100, other).0.len(), 7, "names of other fields, and of none");
}

#[test]
fn a_field_without_a_value_makes_the_body_no_list() {
    for no_value in ["", ",", "]"] {
        let body = format!(r#"{{"metadata":{no_value},"kind":"PodList","items":[1]}}"#);
        assert_eq!(all(Framing::List, 100, &body).0, ["NotAList"], "{body}");
    }
    assert_eq!(all(Framing::List, 100, r#"{"items":[1],"kind":}"#).0, ["item 1", "NotAList"]);
}

#[test]
fn a_frame_over_the_limit_is_skipped_and_the_next_one_is_read() {
    let long = "x".repeat(200);
    let lines = format!("{{\"a\":\"{long}\"}}\n{{}}\n");
    assert_eq!(all(Framing::Values, 20, &lines).0, ["TooLong", "{}"]);
    let values = format!("{{\"a\":\"{long}\"}}{{}}");
    assert_eq!(all(Framing::Values, 20, &values).0, ["TooLong", "{}"]);
    let list = format!(r#"{{"note":"{long}","items":[{{"a":"{long}"}},{{"b":2}}],"{long}":1}}"#);
    assert_eq!(all(Framing::List, 20, &list).0, ["TooLong", "TooLong", r#"item {"b":2}"#, "TooLong", "ListEnd"]);
}

#[test]
fn a_frame_as_long_as_the_limit_is_read() {
    assert_eq!(all(Framing::Values, 7, "{\"a\":1}\n").0, ["{\"a\":1}"]);
    assert_eq!(all(Framing::Values, 6, "{\"a\":1}\n").0, ["TooLong"]);
}

#[test]
fn a_name_with_escapes_does_not_end_early() {
    let (seen, complete) = all(Framing::List, 100, r#"{"a\"b":{"x":1},"items":[{"a":1}]}"#);
    assert_eq!(seen, [r#"a\"b={"x":1}"#, r#"item {"a":1}"#, "ListEnd"]);
    assert!(complete);
}

#[test]
fn blank_lines_are_nothing_however_long() {
    let lines = format!("{}\n\n{{}}\n", " ".repeat(100));
    assert_eq!(all(Framing::Values, 20, &lines).0, ["{}"]);
}

#[test]
fn a_table_is_divided_into_its_rows_and_a_list_into_its_items() {
    let (seen, complete) = all(Framing::Table, 100, r#"{"kind":"Table","columnDefinitions":[1],"rows":[{"a":1},{}]}"#);
    assert_eq!(seen, [r#"kind="Table""#, "columnDefinitions=[1]", r#"row {"a":1}"#, "row {}", "ListEnd"]);
    assert!(complete);
    assert_eq!(all(Framing::Table, 100, r#"{"items":[{}]}"#).0, ["item {}", "ListEnd"]);
    assert_eq!(all(Framing::Table, 100, r#"{"rows":null}"#).0, ["rows=null", "ListEnd"]);
    assert_eq!(all(Framing::List, 100, r#"{"rows":[{}]}"#).0, ["rows=[{}]", "NotAList"]);
}

#[test]
fn a_body_with_rows_and_items_is_no_list() {
    for body in [r#"{"rows":[{}],"items":[]}"#, r#"{"items":[],"rows":[]}"#, r#"{"r\u006fws":[]}"#, r#"{"rows":{}}"#] {
        assert_eq!(all(Framing::Table, 100, body).0.last().unwrap(), "NotAList", "{body}");
    }
}
