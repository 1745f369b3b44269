use super::reader::{Given, OBJECT_TEXT};
use crate::framing::is_space;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use core::ops::Range;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, IgnoredAny, Visitor};

/// An object's JSON, to be decoded on demand: the cheapest cache that keeps every field.
///
/// The text is the server's, without `managedFields` (unless [`DecodeOptions`](super::DecodeOptions) keep them). It has
/// the `kind` and `apiVersion` that a list leaves out of its items, so that list and watch give equal objects.
///
/// Only this crate's decoder can create a `Raw`.
///
/// ```
/// use listwatch_core::decode::{Decoder, ListMeta, Raw};
///
/// let item = br#"{"metadata":{"name":"web-1"},"replicas":3}"#;
/// let object = Decoder::default().item::<Raw>(item, &ListMeta::default())?;
/// assert_eq!(object.value.as_str().as_bytes(), item);
/// # Ok::<(), listwatch_core::decode::DecodeError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Box<str>);

/// A type without fields, for caches that hold only the metadata of each [`Object`](crate::Object).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetadataOnly;

impl Raw {
    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Text that was a `Raw` before.
    pub(super) fn of(text: String) -> Self {
        Self(text.into_boxed_str())
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// If it is no `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(OBJECT_TEXT, RawVisitor)
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
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// The text of an object that begins at `start`, without the members at the places `hidden`, and with those that it is
/// given and does not have itself.
pub(super) fn rewrite(text: &str, start: usize, given: &Given<'_>, hidden: &[Range<usize>]) -> String {
    let inside = |member: &Range<usize>| Some(member.start.checked_sub(start)?..member.end.checked_sub(start)?);
    let cuts = hidden.iter().filter_map(inside).map(|member| with_comma(text, member));
    let mut members = String::new();
    for (name, json) in given.iter().filter(|(_, json)| !json.is_empty()) {
        members.extend(["\"", name, "\":", json, ","]);
    }
    assemble(text, cuts, &members)
}

/// A member of an object with the one comma that goes with it.
fn with_comma(text: &str, member: Range<usize>) -> Range<usize> {
    let left = text[..member.start].trim_end_matches(|c: char| c.is_ascii() && is_space(c as u8));
    if left.ends_with(',') {
        return left.len() - 1..member.end;
    }
    let right = &text[member.end..];
    let spaces = right.bytes().take_while(|byte| is_space(*byte)).count();
    let comma = usize::from(right[spaces..].starts_with(','));
    member.start..member.end + (spaces + 1) * comma
}

/// The text without the `cuts`, and with `given` in front, in memory of exactly its length.
fn assemble(text: &str, cuts: impl Iterator<Item = Range<usize>> + Clone, given: &str) -> String {
    let (open, body) = text.split_at(text.find('{').map_or(0, |at| at + 1));
    let given = if body.trim_start().starts_with('}') { given.trim_end_matches(',') } else { given };
    let kept = || {
        let end = text.len()..text.len();
        cuts.clone().chain([end]).scan(open.len(), |from, cut| {
            let kept = &text[*from..cut.start.max(*from)];
            *from = cut.end.max(*from);
            Some(kept)
        })
    };
    let len = open.len() + given.len() + kept().map(str::len).sum::<usize>();
    let mut whole = String::with_capacity(len);
    whole.extend([open, given]);
    whole.extend(kept());
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_managed_fields(text: &str) -> String {
        let member = text.find("\"managedFields").unwrap()..text.find("[M]").unwrap() + 3;
        assemble(text, [with_comma(text, member)].into_iter(), "")
    }

    fn with_types(text: &str) -> String {
        let given = [("kind", "\"P\\\"d\""), ("apiVersion", "\"v1\"")];
        rewrite(text, 0, &given.map(|(name, json)| (name, if text.contains(name) { "" } else { json })), &[])
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
        assert_eq!(with_types(r#"{"a":1}"#), r#"{"kind":"P\"d","apiVersion":"v1","a":1}"#);
        assert_eq!(with_types("{ }"), r#"{"kind":"P\"d","apiVersion":"v1" }"#);
        assert_eq!(with_types(r#"{"kind":"X"}"#), r#"{"apiVersion":"v1","kind":"X"}"#);
        assert_eq!(with_types(r#"{"kind":"X","apiVersion":"v2"}"#), r#"{"kind":"X","apiVersion":"v2"}"#);
    }
}
