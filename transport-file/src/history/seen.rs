//! An object that a watch told of.

use super::place::{TypeMeta, key_of, number, version_of};
use listwatch_core::Key;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// An object as the text that a watch told. Only its place and its version are read before it is needed.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) key: Key,
    pub(super) version: u64,
    text: Box<RawValue>,
}

/// The part of an object that places it.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Option<Cow<'a, str>>,
}

impl Seen {
    /// The object, if it has a name.
    pub(super) fn of(text: &RawValue) -> Option<Self> {
        let outline = serde_json::from_str::<Outline<'_>>(text.get());
        let (key, version) = outline.map_or_else(|_| place_of(text), |outline| Some(outline.metadata.place()))?;
        Some(Self { key, version, text: text.to_owned() })
    }

    /// The type of the object.
    pub(super) fn type_meta(&self) -> TypeMeta<'_> {
        serde_json::from_str(self.text.get()).unwrap_or_default()
    }

    /// The whole object, if all of its text can be a value.
    pub(super) fn value(&self) -> Option<Value> {
        serde_json::from_str(self.text.get()).ok()
    }
}

impl Metadata<'_> {
    fn place(&self) -> (Key, u64) {
        (Key::new(self.namespace.as_deref(), &self.name), self.resource_version.as_deref().map_or(0, number))
    }
}

/// The place of an object with fields of other types, or of the same name.
fn place_of(text: &RawValue) -> Option<(Key, u64)> {
    let value = serde_json::from_str(text.get()).ok()?;
    Some((key_of(&value)?, version_of(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_a_text_is_that_of_its_value() {
        let metadata = [
            r#"{"name":"a","namespace":"web","resourceVersion":"12"}"#,
            r#"{"resourceVersion":"x","name":"\u0061\"b"}"#,
            r#"{"name":"a","namespace":null,"resourceVersion":7}"#,
            r#"{"name":"a","name":"b","resourceVersion":"1","namespace":{"name":"x"}}"#,
            r#"{"name":1}"#,
            r#"{"namespace":"a"}"#,
            "null",
        ];
        for metadata in metadata {
            let text = format!(r#"{{"spec":{{"metadata":{{"name":"no"}}}},"metadata":{metadata}}}"#);
            let (text, value): (Box<RawValue>, Value) =
                (serde_json::from_str(&text).unwrap(), serde_json::from_str(&text).unwrap());
            let seen = Seen::of(&text);
            assert_eq!(seen.as_ref().map(|seen| seen.key.clone()), key_of(&value), "{text}");
            assert_eq!(seen.as_ref().map(|seen| seen.version), seen.as_ref().map(|_| version_of(&value)), "{text}");
            assert!(seen.is_none_or(|seen| seen.value() == Some(value)), "{text}");
        }
    }
}
