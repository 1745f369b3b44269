//! An object that a watch told of.

use super::limits::TEXT;
use super::place::{TypeMeta, key_of, number, version_of};
use super::unreadable::Unreadable;
use listwatch_core::Key;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
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
        serde_json::from_str(self.text.get()).unwrap_or_else(|_| {
            self.value().map_or_else(|_| TypeMeta::default(), |object| TypeMeta::of(&object).into_owned())
        })
    }

    /// The whole object.
    ///
    /// # Errors
    /// The text is JSON, but no value: a number is out of range, it has half of a surrogate pair, or more than 127
    /// levels.
    pub(super) fn value(&self) -> Result<Value, Unreadable> {
        serde_json::from_str(self.text.get()).map_err(|error| Unreadable::new(&self.key, self.version, &error))
    }

    /// The memory that it takes as a text, and some of that of its value.
    pub(super) fn weight(&self) -> u64 {
        TEXT * self.text.get().len() as u64
    }

    /// The object by its place alone: what a deletion needs.
    pub(super) fn place(&self) -> Value {
        let TypeMeta { api_version, kind } = self.type_meta();
        let mut metadata = json!({ "name": self.key.name(), "resourceVersion": self.version.to_string() });
        if let Some(namespace) = self.key.namespace() {
            metadata["namespace"] = namespace.into();
        }
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
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
            assert!(seen.is_none_or(|seen| seen.value().is_ok_and(|it| it == value)), "{text}");
        }
    }
}
