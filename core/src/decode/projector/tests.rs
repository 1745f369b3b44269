mod panics;

use super::*;
use crate::framing::EventType;
use crate::object::Version;
use crate::projection;
use crate::projection::{Beginning, Text};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

projection! {
    struct Pod {
        node: Text<8> = "spec.nodeName",
        image: Beginning<8> = "spec.containers[1].image",
        ready: Option<Text<7>> = "status.conditions[type=Ready].status",
        reason: Text<16> = "status.conditions[type=Ready].reason",
        restarts: u16 = "status.restarts",
        host: Option<bool> = "spec.hostNetwork",
        zone: Option<Text<8>> = "metadata.labels['example.com/zone']",
        owner: Text<8> = "metadata.ownerReferences[controller=true].name",
        port: Option<i64> = "spec.containers[name=web].ports[name=http].port",
    }
}

/// The parts of `text`, and the ending, when it comes in pieces of `length`.
fn parts_of(body: Body, text: &[u8], length: usize) -> Vec<String> {
    let (mut projector, mut parts) = (Projector::<Pod, 24>::new(), Vec::new());
    projector.start(body);
    for mut piece in text.chunks(length) {
        while let Some(part) = projector.next_part(&mut piece) {
            parts.push(show(&part));
        }
    }
    parts.push(match projector.finish() {
        Ending::List { resource_version, continue_token } => format!("list {resource_version} {continue_token}"),
        Ending::Refusal(status) => format!("{status} {:?}", status.retry_after()),
        ending => format!("{ending:?}"),
    });
    parts
}

fn show(part: &Part<Projected<Pod, 24>>) -> String {
    match part {
        Part::Item(object) => show_object(object),
        Part::Event(event_type, object) => format!("{event_type:?} {}", show_object(object)),
        Part::Bookmark { version, initial_events_end } => format!("bookmark {version} {initial_events_end}"),
        Part::Error(status) => format!("{status} {:?} {}", status.retry_after(), status.is_version_too_large()),
        Part::Undecodable(refused) => {
            let version = refused.version.as_ref().map_or("", Version::as_str);
            let event_type = refused.event_type.map_or_else(String::new, |of| format!(" {of:?}"));
            format!("{refused}; {}", format!("{version}{event_type}").trim_start())
        }
        Part::NotAList => "no list".to_string(),
    }
}

/// The fields that are not absent.
fn show_object(object: &Projected<Pod, 24>) -> String {
    let Pod { node, image, ready, reason, restarts, host, zone, owner, port } = &object.value;
    let mut shown = format!("{} {} {}", object.key(), object.uid(), object.resource_version());
    let cut = if image.is_cut() { "…" } else { "" };
    let texts = [("node", node.to_string()), ("image", format!("{image}{cut}")), ("reason", reason.to_string())];
    for (name, text) in texts.into_iter().chain([("owner", owner.to_string())]).filter(|(_, text)| !text.is_empty()) {
        shown += &format!(" {name}={text}");
    }
    let options = [
        ("ready", ready.as_ref().map(|it| format!("{it:?}"))),
        ("host", host.map(|it| it.to_string())),
        ("zone", zone.as_ref().map(|it| format!("{it:?}"))),
        ("port", port.map(|it| it.to_string())),
        ("restarts", (*restarts > 0).then(|| restarts.to_string())),
    ];
    options.into_iter().for_each(|(name, it)| shown += &it.map_or_else(String::new, |it| format!(" {name}={it}")));
    shown
}

/// The same in whatever pieces the text comes.
fn parts(body: Body, text: impl AsRef<[u8]>) -> Vec<String> {
    let text = text.as_ref();
    let whole = parts_of(body, text, text.len().max(1));
    for length in (1..text.len()).take(70) {
        assert_eq!(parts_of(body, text, length), whole, "in pieces of {length}: {}", text.escape_ascii());
    }
    whole
}

/// What is read of an object with these members besides `metadata`.
fn object(members: &str) -> String {
    let text = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"7"}},{members}}}"#);
    let shown = parts(Body::Object, text)[0].clone();
    shown.strip_prefix("a  7").map(|rest| rest.trim_start().to_string()).unwrap_or(shown)
}

#[test]
fn an_object_is_read_whatever_the_order_of_its_members() {
    let text = r#" { "spec" : { "containers":[{"image":"x"},{"image":"größe/latest"}], "hostNetwork":false,
        "nodeName":"node-1" }, "status":{"conditions":[{"status":"False","type":"Other"},
        {"status":"True","reason":"Fine","type":"Ready"},{"type":"Ready","status":"x"}],"restarts":3},
        "metadata":{"uid":"u-1","resourceVersion":"12","managedFields":[{"a":{}}],"name":"web","namespace":"team",
        "labels":{"example.com/zone":"z","example":{"com/zone":1}},"ownerReferences":[{"name":"no"},
        {"controller":true,"name":"rs"}]}}"#;
    let shown = "team/web u-1 12 node=node-1 image=größe/… reason=Fine owner=rs ready=\"True\" host=false zone=\"z\" restarts=3";
    assert_eq!(parts(Body::Object, text), [shown, "Watch"]);
}

#[test]
fn the_first_element_that_fulfils_the_condition_counts() {
    let conditions = |list: &str| object(&format!(r#""status":{{"conditions":[{list}]}}"#));
    assert_eq!(conditions(r#"{"status":"x","type":"No"},{"type":"Ready","status":"y"}"#), "ready=\"y\"");
    assert_eq!(conditions(r#"{"type":"Ready"},{"type":"Ready","status":"y"}"#), "");
    assert_eq!(conditions(r#"7,"Ready",null,["Ready"],{"status":"x"},{"type":{"a":"Ready"}},{"type":"Read"}"#), "");
    assert_eq!(conditions(r#"{"type":"Readyy","status":"x"},{"typ":"Ready","status":"x"}"#), "");
    assert_eq!(conditions(r#"{"type":"Ready","status":"x","type":"No"},{"status":"z","type":"Ready"}"#), "ready=\"z\"");
    assert_eq!(conditions(r#"{"\u0074ype":"\u0052eady","status":"\u0041"}"#), "ready=\"A\"");
    let long = r#"{"status":"far too long","type":"No"},{"status":"ok","type":"Ready"}"#;
    assert_eq!(conditions(long), "ready=\"ok\"", "what does not count may be of any length");
    let owners = r#""x":0},"metadata":{"name":"a","ownerReferences":[{"name":"b","controller":false},{"name":"c","controller":"true"}]"#;
    assert_eq!(object(&format!("\"y\":{{{owners}}}")), "a   owner=c", "a word or a string");
}

#[test]
fn conditions_may_be_nested() {
    let ports = |list: &str| object(&format!(r#""spec":{{"containers":[{list}]}}"#));
    let (other, http) = (r#"{"port":1,"name":"other"}"#, r#"{"port":2,"name":"http"}"#);
    assert_eq!(ports(&format!(r#"{{"ports":[{other},{http}],"name":"web"}}"#)), "port=2");
    assert_eq!(
        ports(&format!(r#"{{"ports":[{http}],"name":"no"}},{{"name":"web","ports":[{other},{http}]}}"#)),
        "port=2"
    );
    assert_eq!(ports(&format!(r#"{{"ports":[{http}],"name":"no"}},{{"name":"web","ports":[{other}]}}"#)), "");
}

#[test]
fn of_two_members_of_one_name_the_last_one_counts_as_a_whole() {
    assert_eq!(object(r#""spec":{"nodeName":"x"},"spec":{"hostNetwork":true}"#), "host=true");
    assert_eq!(object(r#""spec":{"nodeName":"x","nodeName":"y"}"#), "node=y");
    assert_eq!(object(r#""spec":{"nodeName":7,"nodeName":"y"}"#), "node=y");
    assert_eq!(object(r#""spec":{"nodeName":"x","nodeName":null}"#), "");
    assert_eq!(object(r#""status":{"conditions":[{"type":"Ready","status":"x"}],"conditions":[]}"#), "");
    assert_eq!(object(r#""metadata":{"name":"b"}"#), "b  ");
    assert_eq!(object(r#""metadata":{"name":"b","name":"c","name":null}"#), "c  ", "as in Go");
    assert!(object(r#""metadata":null"#).contains("no metadata.name"));
}

#[test]
fn a_value_that_a_field_does_not_take_makes_the_object_undecodable() {
    assert_eq!(object(r#""spec":{"nodeName":"123456789"}"#), "a: spec.nodeName: longer than 8 bytes at byte 66; 7");
    assert_eq!(object(r#""spec":{"nodeName":"1234567é"}"#), "a: spec.nodeName: longer than 8 bytes at byte 66; 7");
    assert_eq!(object(r#""spec":{"nodeName":"123456\u00e9"}"#), "node=123456é", "eight bytes");
    assert_eq!(object(r#""spec":{"nodeName":5}"#), "a: spec.nodeName: an integer instead of a string at byte 66; 7");
    assert_eq!(object(r#""spec":[]"#), "a: spec.nodeName: an array instead of an object at byte 54; 7");
    assert_eq!(
        object(r#""spec":{"containers":{}}"#),
        "a: spec.containers[1].image: an object instead of an array at byte 68; 7"
    );
    let restarts = |value: &str| object(&format!(r#""status":{{"restarts":{value}}}"#));
    assert_eq!((restarts("65535"), restarts("null")), ("restarts=65535".to_string(), String::new()));
    assert_eq!(restarts("65536"), "a: status.restarts: the number is out of range at byte 68; 7");
    assert_eq!(restarts("99999999999999999999"), "a: status.restarts: the number is out of range at byte 68; 7");
    assert_eq!(restarts("-0"), "a: status.restarts: a floating-point number instead of an integer at byte 68; 7");
    assert_eq!(restarts("true"), "a: status.restarts: a boolean instead of an integer at byte 68; 7");
    assert_eq!(restarts("[1]"), "a: status.restarts: an array instead of an integer at byte 68; 7");
    assert_eq!(
        object(r#""spec":{"hostNetwork":"true"}"#),
        "a: spec.hostNetwork: a string instead of true or false at byte 69; 7"
    );
}

#[test]
fn a_problem_that_a_later_member_hides_is_none_and_another_one_stays() {
    let both = r#""spec":{"nodeName":5,"hostNetwork":5,"nodeName":"x"}"#;
    assert_eq!(object(both), "a: spec.hostNetwork: the value was refused at byte 100; 7");
}

#[test]
fn metadata_that_cannot_be_kept_is_said() {
    let named = |metadata: &str| parts(Body::Object, format!(r#"{{"metadata":{metadata}}}"#))[0].clone();
    let nameless = "an object without a readable name: ";
    assert_eq!(named("{}"), format!("{nameless}the object has no metadata.name at byte 15; "));
    assert_eq!(named(r#"{"name":null}"#), format!("{nameless}the object has no metadata.name at byte 26; "));
    assert_eq!(named("5"), format!("{nameless}metadata.name: an integer instead of an object at byte 12; "));
    assert_eq!(
        named(r#"{"name":5,"resourceVersion":"3"}"#),
        format!("{nameless}metadata.name: an integer instead of a string at byte 20; 3")
    );
    assert_eq!(
        named(r#"{"name":"1234567890123456789012345"}"#),
        format!("{nameless}metadata.name: longer than 24 bytes at byte 20; ")
    );
    assert_eq!(
        named(r#"{"namespace":"123456789012","name":"123456789012"}"#),
        format!("{nameless}longer than 24 bytes at byte 63; ")
    );
    assert_eq!(named(r#"{"namespace":"12345678901","name":"123456789012"}"#), "12345678901/123456789012  ");
    assert_eq!(
        named(r#"{"name":"a","resourceVersion":"123456789012345678901"}"#),
        "a: metadata.resourceVersion: longer than 20 bytes at byte 42; "
    );
}

#[test]
fn what_is_no_json_is_told_with_its_place_unless_it_is_passed_over() {
    let items = |item: &str| parts(Body::List, format!(r#"{{"items":[{item},{{"metadata":{{"name":"b"}}}}]}}"#));
    let broken = |item: &str| {
        let parts = items(item);
        assert_eq!(parts[1..], ["b  ", "list  "], "the next item is read: {item}");
        parts[0].strip_prefix("an object without a readable name: ").map(str::to_string).unwrap_or_default()
    };
    assert_eq!(broken(r#"{"metadata" "x"}"#), "expected a colon at byte 12; ");
    assert_eq!(broken(r#"{"metadata":{"name":"a",,"x":"]"}}"#), "expected a name in quotes at byte 24; ");
    assert_eq!(broken(r#"{"spec":{"nodeName":"\x"}}"#), "invalid escape at byte 22; ");
    assert_eq!(broken(r#"{"spec":{"nodeName":"\"\ud800\"}]"}}"#), "lone surrogate in an escape at byte 30; ");
    assert_eq!(broken(r#"{"status":{"restarts":1"},{"}}"#), "invalid number or word at byte 23; ");
    assert_eq!(broken(r#"{"status":{"restarts":tru}}"#), "invalid number or word at byte 25; ");
    assert_eq!(broken(r#"{"status":{"other":,"a":1}}"#), "expected a value at byte 19; ");
    assert_eq!(
        broken(r#"{"spec":{"containers":[{"image":"x"}}]}"#),
        "expected a comma or the end of the array at byte 36; "
    );
    assert_eq!(broken("nul"), "invalid number or word at byte 3; ");
    let skipped = r#"{"metadata":{"name":"a"},"x":{"y":[tru}}}"#;
    assert_eq!(items(skipped)[0], "a  ");
}

#[test]
fn invalid_utf_8_is_refused_where_it_is_read() {
    for (text, expected) in [
        (&b"{\"spec\":{\"nodeName\":\"a\xe5\x90\"}}"[..], "invalid UTF-8 in a string at byte 22; "),
        (b"{\"spec\":{\"node\xff\":\"a\"}}", "invalid UTF-8 in a string at byte 14; "),
    ] {
        assert_eq!(parts(Body::Object, text)[0], format!("an object without a readable name: {expected}"));
    }
    assert_eq!(parts(Body::Object, b"{\"metadata\":{\"name\":\"a\"},\"x\":\"\xff\"}")[0], "a  ");
}

#[test]
fn a_watch_is_divided_into_its_events() {
    let object = r#"{"metadata":{"name":"a","resourceVersion":"3"},"spec":{"nodeName":"n"}}"#;
    let mark = r#"{"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let status = r#"{"kind":"Status","metadata":{},"code":410,"reason":"Expired","message":"too old","details":{"retryAfterSeconds":5}}"#;
    let events = [
        format!(r#"{{"type":"ADDED","object":{object}}}"#),
        format!(r#"{{"object":{object},"type":"DELETED"}}"#),
        format!(r#"{{"type":"MODIFIED","object":{object},"object":{{"metadata":{{"name":"b"}}}}}}"#),
        format!(r#"{{"type":"BOOKMARK","object":{mark}}}"#),
        r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"10"}}}"#.to_string(),
        format!(r#"{{"object":{status},"type":"ERROR"}}"#),
        format!(r#"{{"type":"SYNC","object":{object}}}"#),
        r#"{"type":"ADDED"}"#.to_string(),
        format!(r#"{{"object":{object}}}"#),
        format!(r#"{{"type":"ADDED","object":{object},"type":7}}"#),
    ];
    let expected = [
        "Added a  3 node=n",
        "Deleted a  3 node=n",
        "Modified b  ",
        "bookmark 9 true",
        "bookmark 10 false",
        "status 410 Expired: too old Some(5s) false",
        "a: unknown type of event at byte 96; 3",
        "an object without a readable name: the event has no type or no object at byte 16; Added",
        "a: the event has no type or no object at byte 82; 3",
        "a: type: an integer instead of a string at byte 104; 3",
        "Watch",
    ];
    assert_eq!(parts(Body::Watch, events.join("\r\n\n ") + "\n{\"type\":\"ADDED\",\"obj"), expected);
    assert_eq!(parts(Body::Watch, events.concat()), expected);
    let on_lines: Vec<_> = events.iter().map(|event| event.replace(',', ",\n")).collect();
    let told = parts(Body::Watch, on_lines.concat());
    assert_eq!((&told[..6], told.len()), (&expected.map(String::from)[..6], expected.len()));
}

#[test]
fn a_line_that_is_no_event_does_not_hide_the_next_one() {
    let good = r#"{"type":"ADDED","object":{"metadata":{"name":"b"}}}"#;
    let bad = |line: &str| {
        let parts = parts(Body::Watch, format!("{line}\n{good}\n"));
        assert_eq!(parts[1..], ["Added b  ", "Watch"], "{line}");
        parts[0].strip_prefix("an object without a readable name: ").map(str::to_string).unwrap_or_default()
    };
    assert_eq!(bad(r#"{"type":"ADDED","object":{"a":1"#), "the event breaks off at byte 32; Added");
    assert_eq!(bad(r#"{"type":"ADDED","object":{"a":"\n","b"#), "control character in a string at byte 37; Added");
    assert_eq!(bad(r#"{"type":"ADDED","object":{"a":"b"#), "the line ends within a string at byte 33; Added");
    assert_eq!(bad("Error from server: x"), "expected an event at byte 0; ");
    assert_eq!(bad(r#"{"type":"ADDED","object":{"spec":{"nodeName":"\q"}}"#), "invalid escape at byte 47; Added");
}

#[test]
fn a_stray_line_is_told_with_its_own_problem() {
    let unnamed = |problem: &str| format!("an object without a readable name: {problem}; ");
    let told = [unnamed("expected a value at byte 8"), unnamed("expected an event at byte 0"), "Watch".to_string()];
    assert_eq!(parts(Body::Watch, "{\"type\":x}\noops\n"), told);
}

#[test]
fn an_error_and_a_bookmark_whose_object_is_none_are_undecodable() {
    for (event, problem) in [
        (r#"{"type":"ERROR","object":{"code":x}}"#, "expected a value at byte 33"),
        (r#"{"type":"BOOKMARK","object":[]}"#, "metadata.name: an array instead of an object at byte 28"),
    ] {
        let told = format!("an object without a readable name: {problem}; ");
        assert_eq!(parts(Body::Watch, format!("{event}\n")), [&told, "Watch"]);
    }
}

#[test]
fn a_list_is_read_wherever_its_fields_stand() {
    let [a, b] = ["a", "b"].map(|name| format!(r#"{{"metadata":{{"name":"{name}"}}}}"#));
    let meta = r#""metadata":{"resourceVersion":"12","continue":"abc","remainingItemCount":3}"#;
    let list = |fields: &str| parts(Body::List, format!(" {{{fields}}} \n"));
    assert_eq!(list(&format!(r#""kind":"PodList",{meta} , "items" : [ {a} , {b} ]"#)), ["a  ", "b  ", "list 12 abc"]);
    assert_eq!(list(&format!(r#""items":[{a}],{meta},"x":[{{}}]"#)), ["a  ", "list 12 abc"]);
    assert_eq!(list(r#""items":null,"metadata":{"resourceVersion":"1","continue":null}"#), ["list 1 "]);
    assert_eq!(list(r#""metadata":{"resourceVersion":"1"},"items":[],"metadata":{}"#), ["list  "]);
    assert_eq!(list(r#""metadata":{"resourceVersion":"1","continue":7},"items":[]"#), ["list  "]);
    assert_eq!(list(r#""metadata":5,"items":[]"#), ["list  "]);
    assert_eq!(parts(Body::List, format!(r#"{{"items":[{a},{{"metadata""#)), ["a  ", "TruncatedList"]);
}

#[test]
fn what_is_no_list_is_said_once_as_by_the_framer() {
    for text in [
        "<html></html>",
        r#"[{"a":1}]"#,
        "{}",
        r#"{"items":{}}"#,
        r#"{"it\u0065ms":[1]}"#,
        r#"{"items":"null"}"#,
        r#"{"items":5}"#,
    ] {
        assert_eq!(parts(Body::List, text), ["no list", "TruncatedList"], "{text}");
    }
    for no_value in ["", ",", "]"] {
        let body = format!(r#"{{"metadata":{no_value},"kind":"PodList","items":[]}}"#);
        assert_eq!(parts(Body::List, &body), ["no list", "TruncatedList"], "{body}");
    }
    let a = r#"{"metadata":{"name":"a"}}"#;
    assert_eq!(parts(Body::List, format!(r#"{{"items":[{a}],"items":[]}}"#)), ["a  ", "no list", "TruncatedList"]);
}

#[test]
fn a_list_whose_version_or_token_is_too_long_is_not_taken_for_a_complete_one() {
    let token = "x".repeat(513);
    let ending = |meta: &str| parts(Body::List, format!(r#"{{"items":[],"metadata":{{{meta}}}}}"#))[0].clone();
    assert!(ending(&format!(r#""continue":"{token}""#)) == "TruncatedList");
    assert_eq!(ending(&format!(r#""continue":"{}""#, &token[1..])), format!("list  {}", &token[1..]));
    assert!(ending(r#""resourceVersion":"123456789012345678901""#) == "TruncatedList");
}

#[test]
fn a_refusal_is_a_status_or_its_code() {
    let refusal = |text: &str| parts(Body::Refusal(403), text)[0].clone();
    assert_eq!(
        refusal(r#"{"kind":"Status","reason":"Forbidden","message":"no","code":403}"#),
        "status 403 Forbidden: no None"
    );
    assert_eq!(refusal(r#"{"reason":"Gone","message":7,"details":null}"#), "status 403 Gone None");
    for text in ["", "<html>403</html>", "{\"reason\":\"Gone\"", "[]", r#"{"reason":"Gone",}"#] {
        assert_eq!(refusal(text), "status 403 None", "{text}");
    }
    let causes = r#"{"code":504,"reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
    let event = format!("{{\"type\":\"ERROR\",\"object\":{causes}}}\n");
    assert_eq!(parts(Body::Watch, event)[0], "status 504 Timeout None true");
}

#[test]
fn a_projector_may_be_a_static_and_starts_over_whatever_came_before() {
    static NEW: Projector<Pod, 24> = Projector::new();
    let mut projector = NEW.clone();
    projector.start(Body::Watch);
    assert_eq!(projector.next_part(&mut &br#"{"type":"ADDED","object":{"spec":{"nodeName":"x"#[..]), None);
    projector.start(Body::List);
    let list = br#"{"items":[{"metadata":{"name":"a"}}]}"#;
    let Some(Part::Item(object)) = projector.next_part(&mut &list[..]) else { panic!() };
    assert_eq!((object.key(), &object.value, NEW.clone().finish()), ("a", &Pod::ABSENT, Ending::TruncatedList));
}

#[test]
fn an_object_of_which_nothing_is_projected_has_its_metadata() {
    let mut projector = Projector::<()>::new();
    projector.start(Body::Object);
    let mut text = &br#"{"metadata":{"name":"a","namespace":"n","uid":"u"},"spec":{}}"#[..];
    let Some(Part::Item(object)) = projector.next_part(&mut text) else { panic!() };
    assert_eq!((object.namespace(), object.name(), object.uid()), (Some("n"), "a", "u"));
}

#[test]
fn a_projector_is_small_whatever_passes_through() {
    assert!(size_of::<Projector<()>>() < 1900, "{}", size_of::<Projector<()>>());
    assert_eq!(size_of::<EventType>(), 1);
}
