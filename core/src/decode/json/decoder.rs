use super::super::answer::{DecodeError, Part, Reason};
use super::list::ListMeta;
use super::metadata::{DecodeOptions, Metadata};
use super::raw::MetadataOnly;
use super::reader::{Access, Error, Given, OBJECT, Reader, Text, Watch, read};
use super::status::Status;
use crate::framing::{EventKind, EventType};
use crate::object::{Key, Meta, Object, ObjectHandle, Version};
use crate::storage::Keyed;
use crate::text::Printable;
use alloc::format;
use alloc::string::{String, ToString};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess};

/// How many characters of an unknown type are kept.
const QUOTED: usize = 512;

/// Decodes the frames of list and watch bodies into objects of any type that serde can read.
///
/// The type needs no metadata: the decoder reads it in the same pass. So the type may be one of the Kubernetes API, a
/// custom resource's, a struct with the few fields that are used, or [`serde_json::Value`].
/// [`Raw`](super::Raw) keeps the text, and [`MetadataOnly`] nothing but metadata.
///
/// ```
/// use listwatch_core::decode::{Decoder, EventType, Part};
///
/// #[derive(serde::Deserialize)]
/// struct Pod { spec: Spec }
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec { node_name: String }
///
/// let frame = br#"{"type":"ADDED","object":{"metadata":{"namespace":"team-0","name":"web-1","resourceVersion":"7",
///     "labels":{"app":"web"}},"spec":{"nodeName":"node-1"}}}"#;
/// let Part::Event(EventType::Added, pod) = Decoder::default().watch_event::<Pod>(frame)? else { unreachable!() };
/// assert_eq!((pod.meta.key().as_str(), pod.meta.label("app")), ("team-0/web-1", Some("web")));
/// assert_eq!(pod.value.spec.node_name, "node-1");
/// # Ok::<(), listwatch_core::decode::DecodeError>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    metadata: Metadata,
}

impl Decoder {
    /// A decoder with these options.
    pub fn new(keep: DecodeOptions) -> Self {
        Self { metadata: Metadata::new(keep) }
    }

    /// The options.
    pub fn options(&self) -> DecodeOptions {
        self.metadata.keep
    }

    /// Decodes one event of a watch.
    ///
    /// # Errors
    /// If the frame is no watch event of a `T`.
    pub fn watch_event<T: DeserializeOwned>(&mut self, frame: &[u8]) -> Result<Part<Object<T>>, DecodeError> {
        self.read_event(frame, |object| object)
    }

    /// Decodes one item of a list.
    ///
    /// # Errors
    /// If the frame is no `T`.
    pub fn item<T: DeserializeOwned>(&mut self, frame: &[u8], list: &ListMeta) -> Result<Object<T>, DecodeError> {
        self.read_item(frame, list, |item| item)
    }

    /// Decodes the text of an object whose metadata are known.
    pub(super) fn value<T: DeserializeOwned>(text: &[u8]) -> Result<T, Reason> {
        let keep = DecodeOptions { managed_fields: true, ..DecodeOptions::default() };
        Self::new(keep).parse_item(text, Given::default())
    }

    /// Decodes one event of a watch, of whose object `make` makes it. Objects may be kilobytes large, so they are put
    /// where they stay before the results of all the callers have them.
    fn read_event<T: DeserializeOwned, V: Keyed<Key = Key>>(
        &mut self,
        frame: &[u8],
        make: impl FnOnce(Object<T>) -> V,
    ) -> Result<Part<V>, DecodeError> {
        let mut event_type = None;
        let event = self.try_event(frame, &mut event_type, make).map_err(|error| {
            self.metadata.lenient = true;
            let reread = self.parse_event(frame, &mut event_type, &mut None::<MetadataOnly>);
            self.undecodable(reread.is_ok(), event_type, error)
        });
        self.metadata.start(false);
        event
    }

    /// Decodes one item of a list, of which `make` makes the result.
    fn read_item<T: DeserializeOwned, I>(
        &mut self,
        frame: &[u8],
        list: &ListMeta,
        make: impl FnOnce(Object<T>) -> I,
    ) -> Result<I, DecodeError> {
        let item = self.try_item(frame, list.item_types(), make).map_err(|error| {
            self.metadata.lenient = true;
            let reread = self.parse_item::<MetadataOnly>(frame, Given::default());
            self.undecodable(reread.is_ok(), None, error)
        });
        self.metadata.start(false);
        item
    }

    /// The part of an answer that is an item of a list. `map` makes the object that is kept.
    pub(super) fn item_part<T: DeserializeOwned, U>(
        &mut self,
        item: &[u8],
        list: &ListMeta,
        map: impl FnOnce(Object<T>) -> Object<U>,
    ) -> Part<ObjectHandle<U>> {
        let part = self.read_item(item, list, |object| Part::Item(map(object).into()));
        part.unwrap_or_else(Part::Undecodable)
    }

    /// The part of an answer that is an event of a watch.
    pub(super) fn event_part<T: DeserializeOwned, U>(
        &mut self,
        event: &[u8],
        map: impl FnOnce(Object<T>) -> Object<U>,
    ) -> Part<ObjectHandle<U>> {
        self.read_event(event, |object| map(object).into()).unwrap_or_else(Part::Undecodable)
    }

    fn try_event<T: DeserializeOwned, V: Keyed<Key = Key>>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
        make: impl FnOnce(Object<T>) -> V,
    ) -> Result<Part<V>, Reason> {
        let mut value = None;
        match self.parse_event(frame, event_type, &mut value)? {
            Parsed::Object(event_type) => {
                if !self.metadata.seen {
                    self.parse_event(frame, &mut None, &mut None::<MetadataOnly>)?;
                }
                let meta = self.meta(frame.len())?;
                Ok(Part::Event(event_type, make(Object { meta, value: value.ok_or("the event has no object")? })))
            }
            Parsed::Bookmark => Ok(Part::Bookmark {
                version: self.metadata.builder.resource_version().into(),
                initial_events_end: self.metadata.initial_events_end,
            }),
            Parsed::Error(status) => Ok(Part::Error(status)),
            Parsed::Repeated => Err("type or object comes twice".into()),
            Parsed::Unknown(name) => {
                Err(format!("unknown type of event \"{}\"", Printable::new(name).at_most(QUOTED)).into())
            }
        }
    }

    fn try_item<T: DeserializeOwned, I>(
        &mut self,
        frame: &[u8],
        types: Given<'_>,
        make: impl FnOnce(Object<T>) -> I,
    ) -> Result<I, Reason> {
        let value = self.parse_item(frame, types)?;
        if !self.metadata.seen {
            self.parse_item::<MetadataOnly>(frame, types)?;
        }
        Ok(make(Object { meta: self.meta(frame.len())?, value }))
    }

    fn parse_event<T: DeserializeOwned>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
        value: &mut Option<T>,
    ) -> Result<Parsed, Reason> {
        let mut parse = |last| {
            self.read(frame, ".object", Given::default(), |reader| match reader.peek() {
                Some(b'{') => read(reader, &OBJECT, |event| parse_event(event, event_type, value, last)),
                _ => Err(reader.refused(&"a watch event")),
            })
        };
        match parse(false)? {
            Parsed::Repeated => parse(true),
            parsed => Ok(parsed),
        }
    }

    fn parse_item<T: DeserializeOwned>(&mut self, frame: &[u8], types: Given<'_>) -> Result<T, Reason> {
        self.read(frame, "", types, |reader| T::deserialize(reader.watched(false)))
    }

    /// Reads a frame, whose object has the path `within`.
    fn read<'a, T>(
        &'a mut self,
        frame: &'a [u8],
        within: &str,
        types: Given<'a>,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<T, Reason> {
        let text = core::str::from_utf8(frame).map_err(|error| error.to_string())?;
        let metadata = &mut self.metadata;
        let checked = if metadata.keep.strict && !metadata.lenient { Reader::check(text) } else { Ok(()) };
        let read = checked.and_then(|()| Reader::watching(text, metadata, types, read));
        read.map_err(|error| match error.field(text, within) {
            Some([path, why]) => Reason::Field(path.into(), why.into()),
            None => error.describe(text).into(),
        })
    }

    /// The metadata of an object that took so many bytes.
    fn meta(&mut self, len: usize) -> Result<Meta, Reason> {
        let Metadata { builder, keep, .. } = &mut self.metadata;
        if keep.annotations {
            builder.keep_annotations();
        }
        builder.set_json_len(len);
        builder.build().ok_or_else(|| "the object has no metadata.name".into())
    }

    /// `reread` says whether `self.metadata` is complete.
    fn undecodable(&mut self, reread: bool, event_type: Option<EventType>, error: Reason) -> DecodeError {
        self.metadata.lenient = false;
        let builder = &self.metadata.builder;
        let version = Some(builder.resource_version()).filter(|version| reread && !version.is_empty());
        DecodeError { key: builder.key().filter(|_| reread), version: version.map(Version::from), event_type, error }
    }
}

/// A watch event. Its object is where the caller wants it, and the metadata are in [`Metadata`].
enum Parsed {
    Object(EventType),
    Bookmark,
    Error(Status),
    /// A `type` that no server sends today.
    Unknown(String),
    /// `type` or `object` comes twice.
    Repeated,
}

/// Reads the members of `{"type":…,"object":…}`, in either order. The object is put into `value`: it may be kilobytes
/// large. Of two members of one name the last one counts, as in Go. `last` says that there are such members, so that the
/// object is read at the end.
fn parse_event<T: DeserializeOwned>(
    mut event: Access<'_, '_>,
    event_type: &mut Option<EventType>,
    value: &mut Option<T>,
    last: bool,
) -> Result<Parsed, Error> {
    let (mut kind, mut unread, mut parsed, mut is_repeated) = (None, None, None, false);
    while let Some(name) = event.next_key::<Text<'_>>()? {
        let member = event.value()?;
        match name.as_str() {
            "type" => {
                is_repeated |= kind.is_some();
                let name = Text::deserialize(member)?;
                let known = EventKind::of(name.as_str()).ok_or_else(|| String::from(name.as_str()));
                *event_type = if let Ok(EventKind::Object(known)) = known { Some(known) } else { None };
                kind = Some(known);
            }
            "object" => {
                is_repeated |= unread.is_some() || parsed.is_some();
                match &kind {
                    Some(kind) if !last && !is_repeated => parsed = Some(parse_object(member, kind, value)?),
                    _ => {
                        member.peek();
                        unread = Some(member.at());
                        member.pass_over()?;
                    }
                }
            }
            _ => _ = member.pass_over()?,
        }
    }
    match (parsed, kind, unread) {
        _ if is_repeated && !last => Ok(Parsed::Repeated),
        (Some(parsed), ..) => Ok(parsed),
        (None, Some(kind), Some(object)) => event.at(object, |reader| parse_object(reader, &kind, value)),
        (None, None, _) => Err(Error::missing_field("type")),
        (None, Some(_), None) => Err(Error::missing_field("object")),
    }
}

/// Reads the object of an event, which is of a known kind or of one of that name.
fn parse_object<T: DeserializeOwned>(
    reader: &mut Reader<'_>,
    kind: &Result<EventKind, String>,
    value: &mut Option<T>,
) -> Result<Parsed, Error> {
    Ok(match kind {
        Ok(EventKind::Object(event_type)) => {
            *value = Some(T::deserialize(reader.watched(false))?);
            Parsed::Object(*event_type)
        }
        Ok(EventKind::Bookmark) => {
            IgnoredAny::deserialize(reader.watched(true))?;
            Parsed::Bookmark
        }
        Ok(EventKind::Error) => Parsed::Error(Status::parse(reader.pass_over()?)),
        Err(name) => {
            reader.pass_over()?;
            Parsed::Unknown(name.clone())
        }
    })
}
