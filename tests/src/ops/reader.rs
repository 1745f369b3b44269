//! A JSON text, read by the decoder and by serde_json.

use listwatch_core::Object;
use listwatch_core::decode::{Decode, DecodeError, DecodeOptions, Decoder, Json, ListMeta, MetadataOnly, Raw};
use listwatch_core::framing::Scanner;
use listwatch_core::request::Query;
use listwatch_core::transport::ResponseHead;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Reads the text that `data` holds behind two bytes: the type, and whether it is an object, or a value in one.
///
/// # Panics
/// If a value is not serde_json's. If one of them refuses the text and the other does not, unless the text is no JSON
/// where the type does not read it, and the decoder is not strict. If the metadata cannot be read, it may refuse too.
pub fn run(data: &[u8]) {
    let Some((&[header, kind], text)) = data.split_first_chunk::<2>() else { return };
    let mut options = DecodeOptions::default();
    (options.strict, options.managed_fields) = (header & 1 == 1, true);
    let wrapped;
    let frame = if header & 2 == 0 {
        text
    } else {
        wrapped = [br#"{"metadata":{"name":"a"},"value":"#, text, b"}"].concat();
        &wrapped
    };
    let length = 1 + usize::from(header >> 2);
    match kind % 16 {
        0 => check::<Value>(frame, options, false),
        1 => check::<Pod>(frame, options, true),
        2 => check::<Partial>(frame, options, true),
        3 => check::<Wrapped<Value>>(frame, options, true),
        4 => check::<Wrapped<Flat>>(frame, options, true),
        5 => check::<Wrapped<Untagged>>(frame, options, true),
        6 => check::<Wrapped<Option<Enum>>>(frame, options, true),
        7 => check::<Wrapped<BTreeMap<i16, Number>>>(frame, options, true),
        8 => check::<Wrapped<Vec<(i8, String)>>>(frame, options, true),
        9 => check::<Wrapped<f32>>(frame, options, true),
        10 => check::<Wrapped<Text>>(frame, options, true),
        11 => check::<BTreeMap<String, Text>>(frame, options, false),
        12 => check_raw(frame, options),
        13 => check_pieces(frame, options, length),
        _ => check_scanner(text, length),
    }
}

/// A text that differs from `text` in one or a few places. `random` returns a number below its argument.
#[must_use]
pub fn neighbour(text: &[u8], mut random: impl FnMut(usize) -> usize) -> Vec<u8> {
    const BYTES: &[u8] = b"\"\"\\\\{}[]:,,0179-+.eEtrufalsn \n\t\x00\x1f/u\xc3\xa9\xf0";
    let mut text = text.to_vec();
    for _ in 0..1 + random(3) / 2 {
        let (at, byte) = (random(text.len() + 1), BYTES[random(BYTES.len())]);
        let most = if random(4) == 0 { 100 } else { 3 };
        let end = (at + 1 + random(most)).min(text.len());
        match random(6) {
            0 | 1 => text.insert(at, byte),
            2 if at < text.len() => text[at] = byte,
            3 if at < end => drop(text.drain(at..end)),
            4 if at < end => text.extend_from_within(at..end),
            5 if random(4) == 0 => text.truncate(at),
            _ => text.insert(at, byte),
        }
    }
    text
}

fn check<T: DeserializeOwned + Debug + PartialEq>(frame: &[u8], options: DecodeOptions, skips: bool) {
    let ours: Result<Object<T>, DecodeError> = Decoder::new(options).item(frame, &ListMeta::default());
    match (ours, serde_json::from_slice::<T>(frame)) {
        (Ok(ours), Ok(expected)) => assert_eq!(ours.value, expected, "{}", frame.escape_ascii()),
        (Ok(ours), Err(error)) => {
            let may_differ = skips && !options.strict && serde_json::from_slice::<IgnoredAny>(frame).is_err();
            assert!(may_differ, "{ours:?}, but {error}: {}", frame.escape_ascii());
        }
        (Err(error), Ok(expected)) => {
            let metadata = Decoder::new(options).item::<MetadataOnly>(frame, &ListMeta::default());
            assert!(metadata.is_err(), "{error}, but {expected:?}: {}", frame.escape_ascii());
        }
        (Err(_), Err(_)) => {}
    }
}

/// Whatever is kept of a text is JSON.
fn check_raw(frame: &[u8], mut options: DecodeOptions) {
    options.managed_fields = false;
    if let Ok(raw) = Decoder::new(options).item::<Raw>(frame, &ListMeta::default()) {
        let text = raw.value.as_str();
        assert!(serde_json::from_str::<IgnoredAny>(text).is_ok(), "{text}: {}", frame.escape_ascii());
        assert!(!options.strict || serde_json::from_slice::<IgnoredAny>(frame).is_ok(), "{}", frame.escape_ascii());
    }
}

/// A list of it decodes to the same objects, however it is divided.
fn check_pieces(frame: &[u8], options: DecodeOptions, length: usize) {
    let body = [br#"{"kind":"PodList","items":["#, frame, b",", frame, br#"],"apiVersion":"v1"}"#].concat();
    assert_eq!(parts(&body, options, length), parts(&body, options, body.len()), "{}", frame.escape_ascii());
}

/// The parts of a list that arrives `length` bytes at a time.
fn parts(body: &[u8], options: DecodeOptions, length: usize) -> Vec<String> {
    let (mut json, mut parts) = (Json::<Value>::new(options), Vec::new());
    json.start(Query::List, &ResponseHead { status: 200, ..ResponseHead::default() });
    let mut rest = body;
    while !rest.is_empty() {
        let space = json.space();
        let (piece, behind) = rest.split_at(space.len().min(rest.len()).min(length));
        space[..piece.len()].copy_from_slice(piece);
        json.take(piece.len());
        rest = behind;
        while let Some(part) = json.next_part() {
            parts.push(format!("{part:?}"));
        }
    }
    parts.push(format!("{:?}", json.finish()));
    parts
}

/// The end of a value does not depend on pieces, and is serde_json's.
fn check_scanner(text: &[u8], length: usize) {
    let whole = Scanner::default().end_of_value(text);
    let (mut scanner, mut before) = (Scanner::default(), 0);
    let divided = text.chunks(length).find_map(|piece| {
        before += piece.len();
        scanner.end_of_value(piece).map(|end| before - piece.len() + end)
    });
    assert_eq!(divided, whole, "in pieces of {length}: {}", text.escape_ascii());
    let structured = text.first().is_some_and(|byte| b"{[\"".contains(byte));
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    if let (true, Some(Ok(_))) = (structured, values.next()) {
        assert_eq!(whole, Some(values.byte_offset()), "{}", text.escape_ascii());
    }
}

#[derive(Debug, PartialEq, Deserialize)]
struct Wrapped<T> {
    value: T,
}

/// Fields of a pod, some of them deep.
#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Pod {
    kind: Option<String>,
    metadata: Metadata,
    spec: Spec,
    status: BTreeMap<String, Text>,
}

#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    labels: Option<BTreeMap<String, String>>,
    managed_fields: Vec<Value>,
    generation: Option<i64>,
}

#[derive(Debug, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
    containers: Vec<Container>,
    termination_grace_period_seconds: Option<u32>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    ports: Vec<Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Partial {
    api_version: Option<String>,
    status: Option<Status>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Status {
    phase: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flat {
    a: Option<bool>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Several(Vec<Self>),
    Named { a: Value },
    Text(String),
}

#[derive(Debug, PartialEq, Deserialize)]
enum Enum {
    A,
    B(u8),
    C(u8, Value),
    D { a: Vec<i8> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// A `RawValue` with an equality.
#[derive(Debug, Deserialize)]
struct Text(Box<RawValue>);

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}
