//! Objects in bodies: where each is, and in which version.

use crate::error::{CaptureErrorKind, Fault};
use crate::fields::{plain, values};
use crate::memory::{weight_of_bytes, weight_of_key, weight_of_text};
use crate::packed::{ObjectPacker, Text};
use core::fmt;
use listwatch_core::Key;
use listwatch_core::text::{Counted, Printable};
use memchr::{memchr, memmem};
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// An object as the text that a list or a watch told. Only its place and its version are read before it is needed.
#[derive(Clone, Debug)]
pub struct ObjectText {
    pub(crate) key: Key,
    pub(crate) version: u64,
    text: Text,
    /// The type that the page of a list says of its items, which leave it out.
    pub(crate) page: Option<Arc<TypeMeta<'static>>>,
}

/// What places an object, and tells it from others.
pub(crate) struct Outline<'a> {
    pub(crate) type_meta: TypeMeta<'a>,
    pub(crate) key: Key,
    pub(crate) version: u64,
    pub(crate) uid: Option<Cow<'a, str>>,
    /// The text of `managedFields`, if it is as a server writes it; else empty.
    managed: &'a str,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    resource_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    uid: Option<Cow<'a, str>>,
}

impl<'a> Outline<'a> {
    /// That of an object that has a name.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        Self::found(text).or_else(|| Self::read(text)).or_else(|| Self::parsed(text))
    }

    /// The text, of which it is the outline, without `managedFields`; `None` if it has none, as far as is known.
    fn unmanaged(&self, text: &str) -> Option<Arc<[u8]>> {
        without_member(text, self.managed, "\"managedFields\"")
    }

    /// That of an object with escapes, whatever else it has.
    fn read(text: &'a str) -> Option<Self> {
        let Whole { metadata: Metadata { name, namespace, resource_version, uid } } =
            serde_json::from_str(text).ok()?;
        let (type_meta, key) = (TypeMeta::in_text(text), Key::new(namespace.as_deref(), &name));
        Some(Self { type_meta, key, version: resource_version.as_deref().map_or(0, number), uid, managed: "" })
    }

    /// That of an object whose text is as a server writes it.
    fn found(text: &'a str) -> Option<Self> {
        let [api_version, kind, metadata] = values(text, ["apiVersion", "kind", "metadata"])?;
        let names = ["name", "namespace", "resourceVersion", "uid", "managedFields"];
        let [name, namespace, version, uid, managed] = values(metadata, names)?;
        let or_none = |value: &'a str| if matches!(value, "" | "null") { Some(None) } else { plain(value).map(Some) };
        let type_meta = TypeMeta {
            api_version: or_none(api_version)?.unwrap_or_default().into(),
            kind: or_none(kind)?.unwrap_or_default().into(),
        };
        let key = Key::new(or_none(namespace)?, plain(name)?);
        let version = or_none(version)?.map_or(0, number);
        Some(Self { type_meta, key, version, uid: or_none(uid)?.map(Cow::Borrowed), managed })
    }

    /// That of an object with fields of other types, or of the same name.
    fn parsed(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let (key, version) = (key_of(&value)?, version_of(&value));
        let uid = value["metadata"]["uid"].as_str().map(|uid| uid.to_owned().into());
        Some(Self { type_meta: TypeMeta::of(&value).into_owned(), key, version, uid, managed: "" })
    }
}

impl ObjectText {
    /// The object of a text, if it has a name.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let Outline { key, version, .. } = Outline::of(text)?;
        Some(Self { key, version, text: Text::Plain(text.as_bytes().into()), page: None })
    }

    /// The object of a text that is UTF-8, if it has a name.
    pub(crate) fn of_bytes(text: &[u8]) -> Option<Self> {
        Self::of(str::from_utf8(text).ok()?)
    }

    /// The object without its `managedFields`, if it has a name.
    pub(crate) fn unmanaged_of(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let outline = Outline::of(text)?;
        let unmanaged = outline.unmanaged(text).unwrap_or_else(|| text.as_bytes().into());
        Some(Self { key: outline.key, version: outline.version, text: Text::Plain(unmanaged), page: None })
    }

    /// The object of a line, if it has a name. Of one that begins as servers send their own kinds, the rest is not looked
    /// at, unless another event stands directly behind it: it may be no JSON, or no UTF-8. Braces within a text cost the
    /// full read.
    pub(crate) fn as_sent_or_of(text: &[u8]) -> Option<Self> {
        let is_one = || memmem::find(text, b"}{").is_none();
        Self::as_sent(text).filter(|_| is_one()).or_else(|| Self::of_bytes(text))
    }

    fn as_sent(text: &[u8]) -> Option<Self> {
        let mut rest = text;
        let mut next = |before: &str| {
            let value = rest.strip_prefix(before.as_bytes())?;
            let (value, behind) = value.split_at(memchr(b'"', value)?);
            let value = str::from_utf8(value).ok()?;
            rest = &behind[1..];
            Some(value)
        };
        let _kind = next("{\"kind\":\"")?;
        let _version = next(",\"apiVersion\":\"")?;
        let name = next(",\"metadata\":{\"name\":\"")?;
        let _generated = next(",\"generateName\":\"");
        let namespace = next(",\"namespace\":\"");
        let _uid = next(",\"uid\":\"");
        let version = number(next(",\"resourceVersion\":\"")?);
        Some(Self { key: Key::new(namespace, name), version, text: Text::Plain(text.into()), page: None })
    }

    /// The key of the object.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The version of the object; zero if it has none, or one that is no number.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The type of the object.
    pub(crate) fn type_meta(&self) -> TypeMeta<'static> {
        let TypeMeta { api_version, kind } = TypeMeta::in_text(&self.text()).into_owned();
        let Some(page) = &self.page else { return TypeMeta { api_version, kind } };
        let or = |own: Cow<'static, str>, page: &Cow<'static, str>| if own.is_empty() { page.clone() } else { own };
        TypeMeta { api_version: or(api_version, &page.api_version), kind: or(kind, &page.kind) }
    }

    /// The identity of the object, if it says one.
    #[must_use]
    pub fn uid(&self) -> Option<Box<str>> {
        Outline::of(&self.text())?.uid.map(Into::into)
    }

    /// The text as it was told. An item of a list may lack `kind` and `apiVersion`.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        // It was packed here. Without memory for it, it reads as an object that is no JSON.
        self.text.unpacked().unwrap_or_default()
    }

    /// The text with the type that its page says, if it does not say one itself.
    ///
    /// # Errors
    /// There is no memory to unpack it.
    pub(crate) fn with_type(&self) -> io::Result<Cow<'_, str>> {
        let whole = self.text.unpacked()?;
        let Some((page, rest)) = self.page.as_ref().zip(whole.trim_ascii_start().strip_prefix('{')) else {
            return Ok(whole);
        };
        let own = TypeMeta::in_text(&whole);
        let mut text = String::from("{");
        for (name, value) in page.fields().filter(|(name, _)| own.fields().all(|(known, _)| known != *name)) {
            text.extend(["\"", name, "\":", &Value::from(value).to_string(), ","]);
        }
        text.push_str(rest);
        Ok(text.into())
    }

    /// The whole object.
    ///
    /// # Errors
    /// The text is JSON, but no value: a number is out of range, it has half of a surrogate pair, or more than 127
    /// levels.
    pub fn value(&self) -> Result<Value, Unreadable> {
        let mut object: Value =
            serde_json::from_str(&self.text()).map_err(|error| Unreadable::new(&self.key, self.version, &error))?;
        if let (Some(page), Some(fields)) = (&self.page, object.as_object_mut()) {
            for (name, text) in page.fields() {
                fields.entry(name).or_insert_with(|| text.into());
            }
        }
        Ok(object)
    }

    /// The object without its `managedFields`, which are often half of the text, if that is as a server writes it.
    #[must_use]
    pub fn unmanaged(mut self) -> Self {
        let text = self.text();
        if let Some(text) = Outline::found(&text).and_then(|it| it.unmanaged(&text)) {
            self.text = Text::Plain(text);
        }
        self
    }

    /// The object with its text packed, which takes a few hundred bytes if it is like others of that packer.
    #[must_use]
    pub fn packed(self, packer: &mut ObjectPacker) -> Self {
        Self { text: packer.pack(self.text), ..self }
    }

    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.text, Text::Packed { .. })
    }

    /// How many bytes the text has.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The memory of the text and the key, about, in bytes.
    #[must_use]
    pub fn weight(&self) -> u64 {
        size_of::<Self>() as u64 + weight_of_key(&self.key) + weight_of_bytes(self.text.held())
    }

    /// The object by its place alone: what a deletion needs.
    pub(crate) fn place(&self) -> Value {
        let TypeMeta { api_version, kind } = self.type_meta();
        let mut metadata = json!({ "name": self.key.name(), "resourceVersion": self.version.to_string() });
        if let Some(namespace) = self.key.namespace() {
            metadata["namespace"] = namespace.into();
        }
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
    }
}

/// `metav1.TypeMeta`; what an object does not say is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TypeMeta<'a> {
    #[serde(borrow)]
    pub(crate) api_version: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) kind: Cow<'a, str>,
}

impl<'a> TypeMeta<'a> {
    pub(crate) fn of(object: &'a Value) -> Self {
        let text = |name: &str| object[name].as_str().unwrap_or_default().into();
        Self { api_version: text("apiVersion"), kind: text("kind") }
    }

    /// The type that the text of an object says.
    pub(crate) fn in_text(text: &'a str) -> Self {
        let found = || {
            let [api_version, kind] = values(text, ["apiVersion", "kind"])?;
            let or_none = |value: &'a str| if value.is_empty() { Some("") } else { plain(value) };
            Some(Self { api_version: or_none(api_version)?.into(), kind: or_none(kind)?.into() })
        };
        let parsed = || {
            serde_json::from_str::<Value>(text).map_or_else(|_| Self::default(), |it| TypeMeta::of(&it).into_owned())
        };
        found().unwrap_or_else(parsed)
    }

    pub(crate) fn into_owned(self) -> TypeMeta<'static> {
        TypeMeta { api_version: self.api_version.into_owned().into(), kind: self.kind.into_owned().into() }
    }

    /// Takes a field of a list, if it says the type of the items.
    pub(crate) fn take_of_list(&mut self, name: &[u8], value: &[u8]) {
        let text = || serde_json::from_slice::<String>(value).unwrap_or_default();
        match name {
            b"kind" => self.kind = text().strip_suffix("List").unwrap_or_default().to_owned().into(),
            b"apiVersion" => self.api_version = text().into(),
            _ => {}
        }
    }

    /// Its fields that say something.
    fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fields = [("apiVersion", &*self.api_version), ("kind", &*self.kind)];
        fields.into_iter().filter(|(_, text)| !text.is_empty())
    }

    pub(crate) fn weight(&self) -> u64 {
        self.fields().map(|(_, text)| weight_of_text(text)).sum()
    }
}

/// A text without a member, of which `value` is the part with its value.
fn without_member(text: &str, value: &str, name: &str) -> Option<Arc<[u8]>> {
    let start = (value.as_ptr() as usize).checked_sub(text.as_ptr() as usize).filter(|_| !value.is_empty())?;
    let (before, behind) = (text.get(..start)?, text.get(start + value.len()..)?);
    let before = before.trim_ascii_end().strip_suffix(':')?.trim_ascii_end().strip_suffix(name)?.trim_ascii_end();
    let rest = match before.strip_suffix(',') {
        Some(before) => [before, behind],
        None => [before, behind.trim_ascii_start().strip_prefix(',').unwrap_or(behind)],
    };
    Some(rest.concat().into_bytes().into())
}

/// The largest version of an API server.
const MAX_VERSION: u64 = i64::MAX as u64;

/// The key of an object; `None` if it has no name.
pub(crate) fn key_of(object: &Value) -> Option<Key> {
    let metadata = &object["metadata"];
    Some(Key::new(metadata["namespace"].as_str(), metadata["name"].as_str()?))
}

/// The version of an object; zero if it has none, or one that is no number.
pub(crate) fn version_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().map_or(0, number)
}

pub(crate) fn number(version: &str) -> u64 {
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    // One that does not fit is refused by its check.
    if is_number { version.parse().unwrap_or(u64::MAX) } else { 0 }
}

/// Refuses a version from which a cluster cannot go on.
pub(crate) fn check_version(version: u64) -> Result<(), Fault> {
    if version <= MAX_VERSION {
        return Ok(());
    }
    let message = format!("a resourceVersion is above {MAX_VERSION}, the largest of an API server");
    Err(Fault::of_line(CaptureErrorKind::Record, message))
}

/// The states of objects that a [`History`](crate::History) leaves out, because they are JSON and no
/// [`Value`]: a number is out of range, a text has half of a surrogate pair, or there are more than 127
/// levels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unreadable {
    /// How many.
    pub count: u64,
    /// The first one: its object, its version, and why it cannot be read.
    pub first: Box<str>,
}

impl Unreadable {
    pub(crate) fn new(key: &Key, version: u64, error: &serde_json::Error) -> Self {
        let (key, error) = (Printable::new(key.as_str()), Printable::new(error));
        Self { count: 1, first: format!("{key} at version {version}: {error}").into() }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, first } = self;
        let states =
            Counted(*count, "state of objects cannot be read and is", "states of objects cannot be read and are");
        write!(f, "{states} left out; the first is {first}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    #[test]
    fn the_beginning_of_a_text_tells_what_the_whole_one_does() {
        for metadata in [
            r#""name":"a","namespace":"web","uid":"u","resourceVersion":"7""#,
            r#""name":"a-x","generateName":"a-","namespace":"web","uid":"u","resourceVersion":"7""#,
            r#""name":"a","uid":"u","resourceVersion":"7""#,
            r#""name":"a","resourceVersion":"x""#,
        ] {
            let text = format!(r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{{metadata},"labels":{{}}}},"x":1}}"#);
            let [sent, whole] =
                [ObjectText::as_sent, ObjectText::of_bytes].map(|read| format!("{:?}", read(text.as_bytes())));
            assert_eq!(sent, whole);
            assert!(sent.contains("Some"), "{text}");
        }
        for other in [
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","resourceVersion":"7"}}"#,
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":{"name":"b"},"name":"a","resourceVersion":"7"}}"#,
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{},"resourceVersion":"7"}}"#,
        ] {
            assert!(ObjectText::as_sent(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_text_with_other_bytes_behind_its_beginning_reads_with_a_mark_in_their_place() {
        let begin = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"},"x":""#;
        let text = [begin.as_bytes(), b"x\xff\"}"].concat();
        let object = ObjectText::as_sent_or_of(&text).unwrap();
        let read = |object: &ObjectText| object.text().into_owned();
        assert!(read(&object).ends_with("x\u{fffd}\"}"), "{}", read(&object));
        assert_eq!(read(&object.clone().packed(&mut ObjectPacker::default())), read(&object));
        assert!(ObjectText::of_bytes(&text).is_none());
        let other = [begin.replace("\"resource", "\"namespace\":\"@\",\"resource").as_bytes(), b"\"}"].concat();
        let other: Vec<u8> = other.into_iter().map(|byte| if byte == b'@' { 0xFF } else { byte }).collect();
        assert!(ObjectText::as_sent_or_of(&other).is_none(), "its key is not known");
    }

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
            let seen = ObjectText::of(text.get());
            assert_eq!(seen.as_ref().map(|seen| seen.key.clone()), key_of(&value), "{text}");
            assert_eq!(seen.as_ref().map(|seen| seen.version), seen.as_ref().map(|_| version_of(&value)), "{text}");
            assert!(seen.is_none_or(|seen| seen.value().is_ok_and(|it| it == value)), "{text}");
        }
    }

    #[test]
    fn an_object_goes_on_without_its_managed_fields_wherever_they_stand() {
        let managed = r#""managedFields" : [{"manager":"],","fieldsV1":{"f:a":{}}}]"#;
        for metadata in [
            r#"{"name":"a",@,"labels":{"managedFields":"x"}}"#,
            r#"{@,"name":"a"}"#,
            r#"{ "name":"a" , @ }"#,
            r#"{"name":"a"}"#,
        ] {
            let text = |managed: &str| {
                let metadata = metadata.replace('@', managed);
                format!(r#"{{"kind":"Pod","metadata":{metadata},"spec":{{"managedFields":[1]}}}}"#)
            };
            let mut expected: Value = serde_json::from_str(&text(r#""managedFields":[]"#)).unwrap();
            expected["metadata"].as_object_mut().unwrap().remove("managedFields");
            assert_eq!(ObjectText::of(&text(managed)).unwrap().unmanaged().value().unwrap(), expected, "{metadata}");
        }
    }
}
