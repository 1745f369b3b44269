use super::metadata::Metadata;
use super::tee::{Types, metadata_only};
use crate::wire::scan::is_space;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::ops::Range;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, Visitor};
use serde_json::value::RawValue;

/// An object's own JSON, to be decoded when somebody asks: the cheapest cache that loses nothing.
///
/// The text is the server's, without `managedFields` (unless they were asked for), and with the `kind` and
/// `apiVersion` that a list leaves out of its items, so that list and watch give equal objects.
///
/// Only this crate's decoder can make one.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Box<str>);

/// Nothing but the metadata, which every [`Object`](crate::Object) has anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataOnly;

impl Raw {
    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// Where it is no `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

/// By this name the decoder knows that [`Raw`] is asked for.
pub(super) const TOKEN: &str = "$listwatch::Raw";

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(TOKEN, RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, read by listwatch's decoder")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw(text.into()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Raw, E> {
        Ok(Raw(text.into_boxed_str()))
    }
}

impl<'de> Deserialize<'de> for MetadataOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Reads an object as text, for [`Raw`].
pub(super) fn deserialize<'de, D: Deserializer<'de>, V: Visitor<'de>>(
    inner: D,
    types: Types<'_>,
    metadata: &mut Metadata,
    visitor: V,
) -> Result<V::Value, D::Error> {
    let text = <&'de RawValue>::deserialize(inner)?.get();
    let first = metadata_only(&mut serde_json::Deserializer::from_str(text), metadata);
    first.map_err(D::Error::custom)?;
    let skipped = metadata.managed_fields.take().and_then(|range| {
        let base = text.as_ptr().addr();
        Some(range.start.checked_sub(base)?..range.end.checked_sub(base)?)
    });
    let cut = skipped.and_then(|value| member(text, value)).unwrap_or_default();
    visitor.visit_string(assemble(text, cut, types))
}

/// The text of a whole member, with the one comma that goes with it, given where its value is.
fn member(text: &str, value: Range<usize>) -> Option<Range<usize>> {
    const NAME: &str = "\"managedFields\"";
    let before = text.get(..value.start)?;
    let name = before.rfind(NAME)?;
    let left = before[..name].trim_end_matches(|c: char| c.is_ascii() && is_space(c as u8));
    if left.ends_with(',') {
        return Some(left.len() - 1..value.end);
    }
    let right = text.get(value.end..)?;
    let spaces = right.bytes().take_while(|byte| is_space(*byte)).count();
    let comma = usize::from(right[spaces..].starts_with(','));
    Some(name..value.end + (spaces + 1) * comma)
}

/// The text without what is cut out, and with the types in front that it does not have itself.
fn assemble(text: &str, cut: Range<usize>, types: Types<'_>) -> String {
    let mut whole = String::with_capacity(text.len() - cut.len() + types.kind.len() + types.api_version.len() + 40);
    let (open, body) = text.split_at(text.find('{').map_or(0, |at| at + 1));
    whole.push_str(open);
    if !types.kind.is_empty() && !has_kind(text) {
        for (name, value) in [("kind", types.kind), ("apiVersion", types.api_version)] {
            whole.extend(["\"", name, "\":\"", value, "\","]);
        }
        if body.trim_start().starts_with('}') {
            whole.pop();
        }
    }
    whole.push_str(&text[open.len()..cut.start.max(open.len())]);
    whole.push_str(&text[cut.end.max(open.len())..]);
    whole.shrink_to_fit();
    whole
}

/// Whether the object names its kind itself.
fn has_kind(text: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        kind: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str(text).is_ok_and(|Kind { kind }| kind.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_managed_fields(text: &str) -> String {
        let value = text.find("[M]").map(|at| at..at + 3).unwrap();
        assemble(text, member(text, value).unwrap(), Types::default())
    }

    #[test]
    fn a_member_goes_with_exactly_one_comma() {
        assert_eq!(without_managed_fields(r#"{"a":1,"managedFields":[M],"b":2}"#), r#"{"a":1,"b":2}"#);
        assert_eq!(without_managed_fields(r#"{"managedFields" : [M] , "b":2}"#), r#"{ "b":2}"#);
        assert_eq!(without_managed_fields(r#"{"a":1 ,"managedFields":[M]}"#), r#"{"a":1 }"#);
        assert_eq!(without_managed_fields(r#"{"managedFields":[M]}"#), "{}");
    }

    #[test]
    fn types_come_first_and_only_where_they_are_missing() {
        let types = Types { kind: "Pod", api_version: "v1" };
        assert_eq!(assemble(r#"{"a":1}"#, 0..0, types), r#"{"kind":"Pod","apiVersion":"v1","a":1}"#);
        assert_eq!(assemble("{ }", 0..0, types), r#"{"kind":"Pod","apiVersion":"v1" }"#);
        assert_eq!(assemble(r#"{"kind":"X"}"#, 0..0, types), r#"{"kind":"X"}"#);
    }
}
