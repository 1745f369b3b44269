use crate::decode::*;
use crate::object::Object;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::boxed::Box;
use std::collections::BTreeMap;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

const POD: &str = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-1","namespace":"team-0","uid":"u-1",
    "resourceVersion":"7","generation":2,"labels":{"app":"web","größe":"\u00e4"},"annotations":{"note":"n"},
    "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u-0","controller":true}],
    "finalizers":["f"],"managedFields":[{"manager":"m","fieldsV1":{"f:x":{}}}]},"spec":{"nodeName":"node-1"}}"#;

fn event(kind: &str, object: &str) -> String {
    format!(r#"{{"type":"{kind}","object":{object}}}"#)
}

fn decode<T: DeserializeOwned>(frame: &str) -> Object<T> {
    decode_keeping(DecodeOptions::default(), frame)
}

fn decode_keeping<T: DeserializeOwned>(keep: DecodeOptions, frame: &str) -> Object<T> {
    match Decoder::new(keep).watch_event::<T>(frame.as_bytes()) {
        Ok(Part::Event(_, object)) => object,
        Ok(_) => panic!("no object: {frame}"),
        Err(error) => panic!("{error}: {frame}"),
    }
}

fn item<T: DeserializeOwned>(frame: &str) -> Object<T> {
    let mut list = ListMeta::default();
    list.read_field(b"kind", b"\"PodList\"");
    list.read_field(b"apiVersion", b"\"v1\"");
    Decoder::default().item::<T>(frame.as_bytes(), &list).unwrap()
}

fn assert_metadata(meta: &crate::object::Meta) {
    assert_eq!((meta.key().as_str(), meta.uid(), meta.resource_version()), ("team-0/web-1", Some("u-1".into()), "7"));
    assert_eq!(meta.labels().collect::<Vec<_>>(), [("app", "web"), ("größe", "ä")]);
    assert_eq!(meta.owner_references().map(|owner| owner.name).collect::<Vec<_>>(), ["web"]);
    assert_eq!((meta.generation(), meta.finalizers().collect::<Vec<_>>()), (2, Vec::from(["f"])));
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    node_name: String,
}

#[test]
fn a_struct_that_knows_nothing_of_metadata_gets_its_fields() {
    #[derive(Deserialize)]
    struct Mine {
        spec: Spec,
    }
    let object = decode::<Mine>(&event("ADDED", POD));
    assert_eq!(object.value.spec.node_name, "node-1");
    assert_metadata(&object.meta);
}

#[test]
fn a_type_with_metadata_of_its_own_sees_all_but_managed_fields() {
    #[derive(Deserialize)]
    struct Mine {
        metadata: Option<Value>,
    }
    let object = decode::<Mine>(&event("ADDED", POD));
    let mut expected = serde_json::from_str::<Value>(POD).unwrap()["metadata"].take();
    expected.as_object_mut().unwrap().remove("managedFields");
    assert_eq!(object.value.metadata, Some(expected));
    assert_metadata(&object.meta);
}

#[test]
fn shapes_that_buffer_or_hide_the_map_are_decoded_all_the_same() {
    #[derive(Deserialize)]
    struct Flat {
        #[serde(flatten)]
        rest: Value,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Other { nothing: u8 },
        Pod { spec: Spec },
    }
    #[derive(Deserialize)]
    struct Wrapper(Value);
    #[derive(Deserialize)]
    struct Text(Box<serde_json::value::RawValue>);

    let frame = event("ADDED", POD);
    let flat = decode::<Flat>(&frame);
    assert_eq!(flat.value.rest["spec"]["nodeName"], "node-1");
    assert_metadata(&flat.meta);
    let untagged = decode::<Untagged>(&frame);
    assert!(matches!(&untagged.value, Untagged::Pod { spec } if spec.node_name == "node-1"));
    assert!(!matches!(untagged.value, Untagged::Other { nothing: 0 }));
    assert_metadata(&untagged.meta);
    let wrapper = decode::<Wrapper>(&frame);
    assert_eq!(wrapper.value.0["kind"], "Pod");
    assert_metadata(&wrapper.meta);
    let text = decode::<Text>(&frame);
    assert_eq!(text.value.0.get(), POD);
    assert_metadata(&text.meta);
}

/// A controller that looks for its own finalizer before it adds it would add it for ever.
#[test]
fn finalizers_are_always_kept() {
    let object = decode::<MetadataOnly>(&event("ADDED", POD));
    assert_eq!(object.meta.finalizers().collect::<Vec<_>>(), ["f"]);
}

#[test]
fn annotations_that_are_not_kept_are_told_from_none() {
    for (keep, annotations, kept) in [(true, r#"{"note":"n"}"#, Some(1)), (true, "{}", Some(0)), (false, "{}", None)] {
        let mut decoder = Decoder::new(DecodeOptions { annotations: keep, ..DecodeOptions::default() });
        for annotations in ["null", annotations] {
            let frame = format!(r#"{{"metadata":{{"name":"a","annotations":{annotations}}}}}"#);
            let object = decoder.item::<MetadataOnly>(frame.as_bytes(), &ListMeta::default()).unwrap();
            let expected = if annotations == "null" { kept.map(|_| 0) } else { kept };
            assert_eq!(object.meta.annotations().map(Iterator::count), expected, "{keep}: {frame}");
        }
    }
}

#[test]
fn managed_fields_and_annotations_are_kept_on_request() {
    let keep = DecodeOptions { annotations: true, managed_fields: true, ..DecodeOptions::default() };
    let frame = event("ADDED", POD);
    let event = Decoder::new(keep).watch_event::<Value>(frame.as_bytes()).unwrap();
    let Part::Event(EventType::Added, object) = event else { panic!("no object") };
    assert_eq!(object.meta.annotations().unwrap().collect::<Vec<_>>(), [("note", "n")]);
    assert_eq!(object.value, serde_json::from_str::<Value>(POD).unwrap());
}

#[test]
fn list_and_watch_give_equal_objects() {
    let in_list = POD.replacen(r#""kind":"Pod","apiVersion":"v1","#, "", 1);
    assert_eq!(item::<Value>(&in_list), decode::<Value>(&event("ADDED", POD)));
    assert_eq!(item::<Raw>(&in_list), decode::<Raw>(&event("ADDED", POD)));
    assert_eq!(item::<MetadataOnly>(&in_list), decode::<MetadataOnly>(&event("ADDED", POD)));
    assert_eq!(item::<Raw>(POD), decode::<Raw>(&event("ADDED", POD)), "an item that names its own kind");
}

#[test]
fn kind_and_api_version_of_a_list_read_as_option_or_newtype() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Newtype(String);
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Types {
        kind: Option<String>,
        api_version: Newtype,
    }
    let in_list = POD.replacen(r#""kind":"Pod","apiVersion":"v1","#, "", 1);
    let object = item::<Types>(&in_list);
    assert_eq!(object, decode::<Types>(&event("ADDED", POD)));
    assert_eq!(object.value, Types { kind: Some("Pod".into()), api_version: Newtype("v1".into()) });
}

#[test]
fn names_in_the_metadata_read_as_a_newtype_or_an_option() {
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    struct Name(Option<String>);
    #[derive(Deserialize)]
    struct Mine {
        metadata: BTreeMap<Name, Value>,
    }
    let metadata = decode::<Mine>(&event("ADDED", r#"{"metadata":{"name":"a","n\u006fte":7}}"#)).value.metadata;
    let name = |name: &str| Name(Some(name.into()));
    assert_eq!(metadata, [(name("name"), json!("a")), (name("note"), json!(7))].into());
}

#[test]
fn raw_is_the_servers_text_without_managed_fields() {
    let object = decode::<Raw>(&event("ADDED", POD));
    assert_metadata(&object.meta);
    assert_eq!(object.value.decode::<Value>().unwrap(), decode::<Value>(&event("ADDED", POD)).value);
    let (before, _) = POD.split_once(r#","managedFields""#).unwrap();
    assert!(object.value.as_str().starts_with(before));
}

#[test]
fn only_the_decoder_makes_raw() {
    assert!(serde_json::from_str::<Raw>(POD).is_err());
}

#[test]
fn the_type_of_an_event_may_come_behind_its_object() {
    let frame = format!(r#"{{"object":{POD},"type":"DELETED"}}"#);
    let event = Decoder::default().watch_event::<Value>(frame.as_bytes()).unwrap();
    assert!(matches!(event, Part::Event(EventType::Deleted, object) if object.meta.uid() == Some("u-1".into())));
}

#[test]
fn a_bookmark_has_a_version_and_may_end_the_initial_events() {
    let bookmark = |value: &str| {
        let object = json!({"kind": "Pod", "metadata": {"resourceVersion": "9",
            "annotations": {"k8s.io/initial-events-end": value}}});
        Decoder::default().watch_event::<Value>(event("BOOKMARK", &object.to_string()).as_bytes()).unwrap()
    };
    assert_eq!(bookmark("true"), Part::Bookmark { version: "9".into(), initial_events_end: true });
    assert_eq!(bookmark("false"), Part::Bookmark { version: "9".into(), initial_events_end: false });
}

#[test]
fn an_annotation_of_an_object_never_ends_the_initial_events() {
    let mut decoder = Decoder::default();
    let pod = json!({"metadata": {"name": "a", "annotations": {"k8s.io/initial-events-end": "true"}}});
    decoder.watch_event::<Value>(event("ADDED", &pod.to_string()).as_bytes()).unwrap();
    let bookmark = event("BOOKMARK", r#"{"metadata":{"resourceVersion":"9"}}"#);
    let decoded = decoder.watch_event::<Value>(bookmark.as_bytes()).unwrap();
    assert_eq!(decoded, Part::Bookmark { version: "9".into(), initial_events_end: false });
}

#[test]
fn an_error_event_is_a_status() {
    let frame = event("ERROR", r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old"}"#);
    let decoded = Decoder::default().watch_event::<Value>(frame.as_bytes()).unwrap();
    assert!(matches!(decoded, Part::Error(status) if status.is_expired() && status.message == "too old"));
}

#[test]
fn what_cannot_be_decoded_still_says_which_object_it_was() {
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "never read: it cannot be decoded")]
    struct Strict {
        replicas: u32,
    }
    let frame = event("DELETED", POD);
    let failed = Decoder::default().watch_event::<Strict>(frame.as_bytes()).map(|_| ()).unwrap_err();
    assert_eq!((failed.key, failed.version.as_deref()), (Some("team-0/web-1".into()), Some("7")));
    assert_eq!(failed.event_type, Some(EventType::Deleted));
    assert!(failed.error.to_string().contains("replicas"), "{}", failed.error);
}

#[test]
fn what_is_no_event_is_an_error_and_never_a_panic() {
    let too_deep = format!(r#"{{"type":"ADDED","object":{}"#, "[".repeat(5000));
    let frames = [
        "",
        "null",
        "{}",
        "[]",
        "<html>",
        r#"{"type":"ADDED"}"#,
        r#"{"type":"ADDED","object":{}}"#,
        r#"{"type":"ADDED","object":{"metadata":{"name":7}}}"#,
        r#"{"type":"ADDED","object":null}"#,
        r#"{"type":"NEWS","object":{"metadata":{"name":"a"}}}"#,
        r#"{"object":{}}"#,
        "{\"type\":\"\u{0}",
        r#"{"type":"ADDED","object":{"metadata":{"name":"a"}}} trailing"#,
        &too_deep,
    ];
    for frame in frames {
        assert!(Decoder::default().watch_event::<Value>(frame.as_bytes()).is_err(), "{frame}");
    }
    assert!(Decoder::default().watch_event::<Value>(b"{\"type\":\"\xff\"}").is_err());
}

#[test]
fn an_item_with_something_behind_it_is_none() {
    let item = br#"{"metadata":{"name":"a"}} {}"#;
    assert!(Decoder::default().item::<Value>(item, &ListMeta::default()).is_err());
}

#[test]
fn metadata_that_is_null_is_absent() {
    let pod = r#"{"metadata":{"name":"a","namespace":null,"labels":null,"ownerReferences":null,"uid":null}}"#;
    let object = decode::<MetadataOnly>(&event("ADDED", pod));
    assert_eq!((object.meta.key().as_str(), object.meta.labels().count()), ("a", 0));
}

#[test]
fn metadata_that_the_type_takes_as_text_is_noted_all_the_same() {
    #[derive(Deserialize)]
    struct Mine {
        metadata: Box<serde_json::value::RawValue>,
    }
    let object = decode::<Mine>(&event("ADDED", POD));
    assert!(object.value.metadata.get().starts_with('{'));
    assert_metadata(&object.meta);
}

#[test]
fn of_two_metadata_the_last_one_counts() {
    let pod = r#"{"metadata":{"name":"a","labels":{"k":"1"}},"metadata":{"name":"b","labels":{"k":"2"}}}"#;
    let object = decode::<Value>(&event("ADDED", pod));
    assert_eq!((object.meta.name(), object.meta.labels().collect::<Vec<_>>()), ("b", [("k", "2")].to_vec()));
    assert_eq!(object.value["metadata"]["name"], "b");
}

/// A controller reads the owners and finalizers that every other reader of the object sees.
#[test]
fn of_two_equal_fields_of_the_metadata_the_last_one_counts() {
    let twice = r#"{"metadata":{"name":"a","labels":{"k":"1","l":"1"},"labels":{"k":"2"},
        "annotations":{"m":"1"},"annotations":{"n":"2"},"finalizers":["f"],"finalizers":["g"],
        "ownerReferences":[{"uid":"u-1"}],"ownerReferences":[{"uid":"u-2"}]}}"#;
    let frame = event("ADDED", twice);
    let keep = DecodeOptions { annotations: true, ..DecodeOptions::default() };
    let (value, raw) = (decode_keeping::<Value>(keep, &frame), decode_keeping::<Raw>(keep, &frame));
    let only = decode_keeping::<MetadataOnly>(keep, &frame);
    for meta in [&value.meta, &raw.meta, &only.meta] {
        assert_eq!(meta.labels().collect::<Vec<_>>(), [("k", "2")]);
        assert_eq!(meta.annotations().unwrap().collect::<Vec<_>>(), [("n", "2")]);
        assert_eq!(meta.finalizers().collect::<Vec<_>>(), ["g"]);
        assert_eq!(meta.owner_references().map(|owner| owner.uid).collect::<Vec<_>>(), [Some("u-2".into())]);
    }
    let seen: Value = raw.value.decode().unwrap();
    assert_eq!((&seen, &seen["metadata"]["labels"]), (&value.value, &json!({ "k": "2" })));
    let emptied = r#"{"metadata":{"name":"a","labels":{"k":"1"},"labels":null}}"#;
    assert_eq!(decode::<Value>(&event("ADDED", emptied)).meta.labels().count(), 0);
}

#[test]
fn of_two_annotations_of_a_bookmark_the_last_one_counts() {
    let end = r#"{"k8s.io/initial-events-end":"true"}"#;
    for (annotations, ends) in [(["{}", end], true), ([end, "{}"], false), ([end, "null"], false)] {
        let [first, last] = annotations;
        let bookmark = format!(r#"{{"metadata":{{"annotations":{first},"annotations":{last}}}}}"#);
        let told = Decoder::default().watch_event::<Value>(event("BOOKMARK", &bookmark).as_bytes()).unwrap();
        assert!(matches!(told, Part::Bookmark { initial_events_end, .. } if initial_events_end == ends), "{told:?}");
    }
}

#[test]
fn metadata_that_do_not_count_end_no_initial_events() {
    let bookmark = r#"{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}},"metadata":{}}"#;
    let told = Decoder::default().watch_event::<Value>(event("BOOKMARK", bookmark).as_bytes()).unwrap();
    assert_eq!(told, Part::Bookmark { version: "".into(), initial_events_end: false });
}

/// The text of managed fields is cut out of `Raw` unread.
#[test]
fn managed_fields_without_a_value_make_the_object_undecodable() {
    for managed_fields in [",", ":", "x", "1:"] {
        let pod = format!(r#"{{"metadata":{{"managedFields":{managed_fields}"name":"a","name":"b"}}}}"#);
        let decoded = Decoder::default().watch_event::<Raw>(event("ADDED", &pod).as_bytes());
        assert!(decoded.is_err(), "{pod}: {decoded:?}");
    }
}

#[test]
fn raw_stays_json_whatever_managed_fields_look_like() {
    let odd = [
        r#"{"metadata":{"name":"a","labels":{"managedFields":"x"},"managed\u0046ields":[1]}}"#,
        r#"{"metadata":{"managedFields":[1],"name":"a","managedFields":[2]}}"#,
        r#"{"metadata":{"name":"a","managedFields":[1]},"metadata":{"managedFields":[2],"name":"b"}}"#,
    ];
    for pod in odd {
        let raw = decode::<Raw>(&event("ADDED", pod));
        assert_eq!(raw.value.decode::<Value>().unwrap(), decode::<Value>(&event("ADDED", pod)).value, "{pod}");
    }
}

/// As the decoder of apimachinery, which tells names apart by case; Go's encoding/json does not.
#[test]
fn of_two_members_of_an_event_the_last_one_counts() {
    let told = |frame: &str| match Decoder::default().watch_event::<Value>(frame.as_bytes()) {
        Ok(Part::Event(event_type, object)) => {
            format!("{event_type:?} {} {}", object.meta.key(), object.value["n"])
        }
        Ok(Part::Bookmark { version, .. }) => format!("bookmark {version}"),
        Ok(Part::Error(status)) => format!("error {}", status.code),
        Ok(part) => panic!("{part:?} is no event"),
        Err(undecodable) => format!("undecodable {:?} {:?}", undecodable.key, undecodable.event_type),
    };
    let [a, b] = ["a", "b"].map(|name| format!(r#"{{"metadata":{{"name":"{name}","resourceVersion":"7"}},"n":1}}"#));
    for (frame, expected) in [
        (format!(r#"{{"type":"ADDED","object":{a},"object":{b}}}"#), "Added b 1"),
        (format!(r#"{{"object":{a},"object":{b},"type":"ADDED"}}"#), "Added b 1"),
        (format!(r#"{{"type":"ADDED","object":{a},"ob\u006aect":{b}}}"#), "Added b 1"),
        (format!(r#"{{"type":"ADDED","object":{a},"type":"DELETED"}}"#), "Deleted a 1"),
        (format!(r#"{{"type":"ADDED","type":"DELETED","object":{a}}}"#), "Deleted a 1"),
        (format!(r#"{{"type":"ADDED","object":{a},"type":"BOOKMARK"}}"#), "bookmark 7"),
        (format!(r#"{{"type":"BOOKMARK","object":{a},"type":"MODIFIED","object":{b}}}"#), "Modified b 1"),
        (format!(r#"{{"type":"ADDED","object":{a},"object":{{"code":410}},"type":"ERROR"}}"#), "error 410"),
        (format!(r#"{{"type":"ADDED","object":{a},"Object":{b},"TYPE":"DELETED"}}"#), "Added a 1"),
        (format!(r#"{{"type":"ADDED","Object":{b}}}"#), "undecodable None Some(Added)"),
        (
            format!(r#"{{"type":"DELETED","object":{a},"object":{{"metadata":{{"name":7}}}}}}"#),
            "undecodable None Some(Deleted)",
        ),
        (format!(r#"{{"type":"DELETED","object":{a},"object":null}}"#), "undecodable None Some(Deleted)"),
    ] {
        assert_eq!(told(&frame), expected, "{frame}");
    }
}
