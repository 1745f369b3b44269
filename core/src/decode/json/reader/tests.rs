use super::Reader;
use crate::text::Printable;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::any::type_name;
use core::fmt::Debug;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

#[derive(Debug, PartialEq, Deserialize)]
struct Struct {
    a: u8,
    #[serde(default)]
    b: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
enum Enum {
    Unit,
    Newtype(u8),
    Tuple(u8, bool),
    Struct { a: Vec<u8> },
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Number(f64),
    Text(String),
    Several(Vec<Self>),
    Named { a: Box<Self> },
}

#[derive(Debug, PartialEq, Deserialize)]
struct Flat {
    a: Option<i8>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Deserialize)]
struct Newtype(Option<i16>);

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Name {
    A,
    B,
}

/// Texts that are JSON, nearly, or not at all.
const TEXTS: &[&str] = &[
    "",
    " ",
    "null",
    " null ",
    "nul",
    "nullx",
    "true",
    "false",
    "tru",
    "t",
    "f",
    "n",
    "x",
    ":",
    ",",
    "}",
    "]",
    "\"",
    "[",
    "{",
    "-",
    "0",
    "-0",
    "7",
    " 7 ",
    "255",
    "256",
    "-129",
    "007",
    "1.5",
    "1.",
    ".5",
    "1e3",
    "1e999",
    "-1.5E-3",
    "1e",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "1 2",
    "1,2",
    "1x",
    "340282366920938463463374607431768211455",
    r#""""#,
    r#""a""#,
    r#""a" "#,
    r#""ab""#,
    r#""é""#,
    r#""\u00e9""#,
    r#""\n\"\\\/""#,
    r#""\ud83d\ude42""#,
    r#""\ud83d""#,
    r#""\x""#,
    r#""\"#,
    r#""a"b"#,
    "\"a\nb\"",
    "\"\u{1f}\"",
    "\"\u{7f}\"",
    r#""unfinished"#,
    r#""Unit""#,
    r#""Newtype""#,
    r#""Else""#,
    r#"{"Unit":null}"#,
    r#"{"Unit":1}"#,
    r#"{"Newtype":7}"#,
    r#"{"Newtype":7,"Unit":null}"#,
    r#"{"Newtype":7"#,
    r#"{"Tuple":[1,true]}"#,
    r#"{"Tuple":[1]}"#,
    r#"{"Tuple":[1,true,2]}"#,
    r#"{"Struct":{"a":[1,2]}}"#,
    "[]",
    "[ ]",
    "[1]",
    "[1,2]",
    "[1,2,3]",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1",
    "[1,",
    "[1}",
    "[1]]",
    "[[1],[2,[3]]]",
    "[1,true]",
    "[1,\"x\"]",
    "{}",
    "{ }",
    r#"{"a":1}"#,
    r#"{ "a" : 1 }"#,
    r#"{"a":1,"b":"x"}"#,
    r#"{"a":1,"b":null}"#,
    r#"{"b":"x"}"#,
    r#"{"a":1,"a":2}"#,
    r#"{"a":1,"c":{"d":[1,"]"]}}"#,
    r#"{"\u0061":1}"#,
    r#"{"a":1,}"#,
    r#"{,"a":1}"#,
    r#"{"a"}"#,
    r#"{"a":}"#,
    r#"{"a":1"#,
    r#"{"a":"#,
    r#"{"a""#,
    r#"{"a"#,
    r#"{"a":1]"#,
    r#"{"a":1}}"#,
    r#"{a:1}"#,
    r#"{1:1}"#,
    r#"{"a" 1}"#,
    r#"{"a":1 "b":2}"#,
    r#"{"7":true}"#,
    r#"{"7":true,"8":false}"#,
    r#"{"07":true}"#,
    r#"{"7 ":true}"#,
    r#"{" 7":true}"#,
    r#"{"-7":true}"#,
    r#"{"70000":true}"#,
    r#"{"":true}"#,
    r#"{"\u0037":true}"#,
    r#"{"true":1}"#,
    r#"{"false":1}"#,
    r#"{"tru":1}"#,
    r#"{"a":{"a":{"a":"x"}}}"#,
    r#"{"a":300}"#,
    r#"{"a":"x"}"#,
    r#"{"a":-1,"é":"\u00e9"}"#,
    "{\n  \"a\": 1,\n  \"b\": 2\n}",
    "{\"a\":1,\n\"b\"\n:\"x\"}\n",
    "{\"a\":\n\"x\"}",
    "[\n1,\n\"\\x\"]",
];

fn ours<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    Reader::value(text).map_err(|error| error.describe(text))
}

fn serdes<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| Printable::new(error).to_string())
}

/// A line for each text that a `T` is not read from as serde_json reads it. serde_json leaves some places out.
fn differences<T: DeserializeOwned + Debug + PartialEq>(with_messages: bool) -> String {
    let read = TEXTS.iter().map(|text| (text, ours::<T>(text), serdes::<T>(text)));
    let differ = read.filter(|(text, ours, serdes)| match (ours, serdes) {
        (Err(ours), Err(serdes)) => with_messages && !is_worded_otherwise(text) && !ours.starts_with(serdes),
        _ => ours != serdes,
    });
    differ.map(|(text, ours, serdes)| format!("{text:?} as {}: {ours:?}, not {serdes:?}\n", type_name::<T>())).collect()
}

/// Whether an error names a string that is none, a control character, or a number that is no integer of 64 bits.
fn is_worded_otherwise(text: &str) -> bool {
    let is_number = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let is_integer = serdes::<u64>(text).is_ok() || serdes::<i64>(text).is_ok();
    let is_string = text.trim_end().starts_with('"') && text.trim_end().ends_with('"');
    let is_plain = serdes::<String>(text).is_ok_and(|text| !text.contains('\u{7f}'));
    is_number && !is_integer || is_string && !is_plain
}

#[test]
fn values_and_messages_are_those_of_serde_json() {
    let differences = [
        differences::<Value>(true),
        differences::<Struct>(true),
        differences::<Enum>(true),
        differences::<Untagged>(true),
        differences::<Flat>(true),
        differences::<Unit>(true),
        differences::<Newtype>(true),
        differences::<()>(true),
        differences::<bool>(true),
        differences::<(u8, bool)>(true),
        differences::<(u8, u8)>(true),
        differences::<[u64; 2]>(true),
        differences::<Vec<f32>>(true),
        differences::<Vec<Vec<u8>>>(true),
        differences::<(i8, i16, i32, i64)>(true),
        differences::<i8>(true),
        differences::<u64>(true),
        differences::<u128>(true),
        differences::<i128>(true),
        differences::<f64>(true),
        differences::<char>(true),
        differences::<String>(true),
        differences::<Option<u16>>(true),
        differences::<Option<Struct>>(true),
        differences::<BTreeMap<String, Value>>(true),
    ];
    assert!(differences.concat().is_empty(), "{}", differences.concat());
}

/// serde_json quotes a name that is no boolean without its first character.
#[test]
fn names_that_are_numbers_and_booleans_are_those_of_serde_json() {
    let differences = [
        differences::<BTreeMap<u16, bool>>(false),
        differences::<BTreeMap<i64, bool>>(false),
        differences::<BTreeMap<bool, u8>>(false),
        differences::<BTreeMap<char, u8>>(false),
        differences::<BTreeMap<Option<u8>, bool>>(false),
        differences::<BTreeMap<Name, u8>>(false),
    ];
    assert!(differences.concat().is_empty(), "{}", differences.concat());
}

#[test]
fn text_is_borrowed_where_serde_json_borrows_it() {
    for text in TEXTS {
        if !is_worded_otherwise(text) {
            assert_eq!(ours::<&str>(text), serdes::<&str>(text), "{text}");
            assert_eq!(ours::<&[u8]>(text), serdes::<&[u8]>(text), "{text}");
        }
        assert_eq!(ours::<&str>(text).ok(), serdes::<&str>(text).ok(), "{text}");
        assert_eq!(ours::<&[u8]>(text).ok(), serdes::<&[u8]>(text).ok(), "{text}");
        assert_eq!(ours::<&RawValue>(text).map(RawValue::get), serdes::<&RawValue>(text).map(RawValue::get), "{text}");
        let ours = ours::<Vec<Box<RawValue>>>(text).map(|values| format!("{values:?}"));
        let serdes = serdes::<Vec<Box<RawValue>>>(text).map(|values| format!("{values:?}"));
        assert!(
            ours == serdes || is_worded_otherwise(text) && ours.is_err() && serdes.is_err(),
            "{ours:?}, {serdes:?}"
        );
    }
}

/// One difference: what no type reads is not checked, but for its end.
#[test]
fn an_unwanted_value_is_passed_over_if_its_brackets_and_strings_end() {
    for text in TEXTS {
        let (skipped, checked) = (ours::<IgnoredAny>(text).is_ok(), serdes::<IgnoredAny>(text).is_ok());
        assert!(skipped || !checked, "{text}");
        let unread = Reader::read(text, Reader::pass_over);
        assert_eq!(unread.ok(), skipped.then_some(text.trim()), "{text}");
    }
    let differs = TEXTS.iter().filter(|text| ours::<IgnoredAny>(text).is_ok() && serdes::<IgnoredAny>(text).is_err());
    assert!(differs.clone().any(|text| *text == "[1}") && !differs.clone().any(|text| *text == "tru"));
    assert_eq!(ours::<Struct>(r#"{"a":1,"c":[tru}}"#), Ok(Struct { a: 1, b: None }));
    assert_eq!(ours::<Struct>("{\"a\":1,\"c\":\"\\x\n\"}"), Ok(Struct { a: 1, b: None }));
}

#[test]
fn unwanted_brackets_may_be_nested_without_end_and_wanted_ones_as_in_serde_json() {
    let nested = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    assert!(ours::<IgnoredAny>(&nested(100_000)).is_ok() && ours::<IgnoredAny>(&nested(100_000)[1..]).is_err());
    for depth in [126, 127, 128, 129, 1000] {
        let text = nested(depth);
        assert_eq!(ours::<Value>(&text), serdes::<Value>(&text), "{depth}");
    }
}

/// One difference: the brackets around an enum do not count in it.
#[test]
fn an_enum_is_nested_as_deeply_as_serde_json_reads_one_by_itself() {
    #[derive(Debug, PartialEq, Deserialize)]
    enum Tree {
        Leaf,
        Branch(Box<Self>),
    }
    let tree = |depth| [r#"{"Branch":"#.repeat(depth), "\"Leaf\"".into(), "}".repeat(depth)].concat();
    for depth in [0, 1, 126, 127, 128] {
        let text = tree(depth);
        assert_eq!(ours::<Tree>(&text), serdes::<Tree>(&text), "{depth}");
        assert_eq!(ours::<Vec<Tree>>(&format!("[{text}]")).is_ok(), serdes::<Tree>(&text).is_ok(), "{depth}");
    }
}

#[test]
fn a_text_that_breaks_off_anywhere_is_refused_as_by_serde_json() {
    let text = r#" {"a":1,"b":"a long text, longer than a block of 64 bytes, with \u0065scapes and \"quotes\" in it, é",
        "c":{"d":[1,2.5,null,true,{"e":"\\"}]}} "#;
    for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let text = &text[..end];
        assert_eq!(ours::<Value>(text), serdes::<Value>(text), "{text}");
        assert_eq!(ours::<Struct>(text).ok(), serdes::<Struct>(text).ok(), "{text}");
    }
}

#[test]
fn a_vector_has_no_room_beyond_its_elements() {
    for text in ["[]", "[[1]]", "[[1,2],[],[3,4,5,6,7]]", r#"[ [1] , [2] ]"#] {
        let read: Vec<Vec<u8>> = Reader::value(text).unwrap();
        assert_eq!(read.capacity(), read.len(), "{text}");
        assert!(read.iter().all(|inner| inner.capacity() == inner.len()), "{text}");
    }
}

#[test]
fn an_array_tells_its_length_before_its_first_value_alone() {
    struct Hints(Vec<Option<usize>>);
    impl<'de> Deserialize<'de> for Hints {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Asks;
            impl<'de> serde::de::Visitor<'de> for Asks {
                type Value = Hints;

                fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.write_str("an array")
                }

                fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut array: A) -> Result<Hints, A::Error> {
                    let mut hints = Vec::from([array.size_hint()]);
                    while array.next_element::<IgnoredAny>()?.is_some() {
                        hints.push(array.size_hint());
                    }
                    Ok(Hints(hints))
                }
            }
            deserializer.deserialize_seq(Asks)
        }
    }
    let hints = |text| ours::<Hints>(text).unwrap().0;
    assert_eq!(hints("[1,2,3]"), [Some(3), None, None, None]);
    assert_eq!((hints("[]"), hints("[ ]")), ([Some(0)].to_vec(), [Some(0)].to_vec()));
}
