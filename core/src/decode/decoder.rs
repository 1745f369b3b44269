use super::error::DecodeError;
use super::list::ListMeta;
use super::metadata::{DecodeOptions, Metadata};
use super::raw::MetadataOnly;
use super::reader::{Error, Reader};
use super::status::Status;
use super::tee::{Level, Tee};
use super::type_meta::TypeMeta;
use super::watch::{EventSeed, Parsed};
use crate::framing::EventType;
use crate::object::{Object, Version};
use crate::text::Printable;
use alloc::format;
use alloc::string::{String, ToString};
use core::marker::PhantomData;
use serde::de::{DeserializeOwned, DeserializeSeed};

/// How many characters of an unknown type are kept.
const QUOTED: usize = 512;

/// Decodes the frames of list and watch bodies into objects of any type that serde can read.
///
/// The type needs no metadata: the decoder reads it in the same pass. So the type may be one of the Kubernetes API, a
/// custom resource's, a struct with the few fields that are used, or [`serde_json::Value`].
/// [`Raw`](super::Raw) keeps the text, and [`MetadataOnly`] nothing but metadata.
///
/// ```
/// use listwatch_core::decode::{EventType, Decoder, WatchEvent};
///
/// #[derive(serde::Deserialize)]
/// struct Pod { spec: Spec }
/// #[derive(serde::Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec { node_name: String }
///
/// let frame = br#"{"type":"ADDED","object":{"metadata":{"namespace":"team-0","name":"web-1","resourceVersion":"7",
///     "labels":{"app":"web"}},"spec":{"nodeName":"node-1"}}}"#;
/// let WatchEvent::Object(EventType::Added, pod) = Decoder::default().watch_event::<Pod>(frame)? else { unreachable!() };
/// assert_eq!((pod.meta.key().as_str(), pod.meta.label("app")), ("team-0/web-1", Some("web")));
/// assert_eq!(pod.value.spec.node_name, "node-1");
/// # Ok::<(), listwatch_core::decode::DecodeError>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    metadata: Metadata,
}

/// A decoded watch event.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent<T> {
    /// An event about an object (`ADDED`, `MODIFIED`, `DELETED`).
    Object(EventType, Object<T>),
    /// The watch has sent every event up to this version (`BOOKMARK`).
    Bookmark {
        /// The version.
        version: Version,
        /// Whether the initial events of a watch-list are complete with it.
        initial_events_end: bool,
    },
    /// The server ends the watch (`ERROR`).
    Error(Status),
}

impl<T> WatchEvent<T> {
    /// The same event, with the object that `map` makes of its own.
    pub(super) fn map<U>(self, map: impl FnOnce(Object<T>) -> Object<U>) -> WatchEvent<U> {
        match self {
            Self::Object(event_type, object) => WatchEvent::Object(event_type, map(object)),
            Self::Bookmark { version, initial_events_end } => WatchEvent::Bookmark { version, initial_events_end },
            Self::Error(status) => WatchEvent::Error(status),
        }
    }
}

impl Decoder {
    /// A decoder with these options.
    #[must_use]
    pub fn new(keep: DecodeOptions) -> Self {
        Self { metadata: Metadata { keep, ..Metadata::default() } }
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> DecodeOptions {
        self.metadata.keep
    }

    /// Decodes one event of a watch.
    ///
    /// # Errors
    /// If the frame is no watch event of a `T`.
    pub fn watch_event<T: DeserializeOwned>(&mut self, frame: &[u8]) -> Result<WatchEvent<T>, DecodeError> {
        let mut event_type = None;
        let event = self.try_watch_event(frame, &mut event_type).map_err(|error| {
            self.metadata.lenient = true;
            let reread = self.parse_event::<MetadataOnly>(frame, &mut event_type);
            self.undecodable(reread.is_ok(), event_type, error)
        });
        self.metadata.start(false);
        event
    }

    /// Decodes one item of a list.
    ///
    /// # Errors
    /// If the frame is no `T`.
    pub fn item<T: DeserializeOwned>(&mut self, frame: &[u8], list: &ListMeta) -> Result<Object<T>, DecodeError> {
        let types = list.item_types();
        let item = self.try_item(frame, types).map_err(|error| {
            self.metadata.lenient = true;
            let reread = self.parse_item::<MetadataOnly>(frame, types);
            self.undecodable(reread.is_ok(), None, error)
        });
        self.metadata.start(false);
        item
    }

    /// Decodes the text of an object whose metadata are known.
    pub(super) fn value<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
        let keep = DecodeOptions { managed_fields: true, ..DecodeOptions::default() };
        Self::new(keep).parse_item(text, TypeMeta::default())
    }

    fn try_watch_event<T: DeserializeOwned>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
    ) -> Result<WatchEvent<T>, String> {
        match self.parse_event::<T>(frame, event_type)? {
            Parsed::Object(event_type, value) => {
                if !self.metadata.seen {
                    self.parse_event::<MetadataOnly>(frame, &mut None)?;
                }
                Ok(WatchEvent::Object(event_type, self.object(value, frame.len())?))
            }
            Parsed::Bookmark => Ok(WatchEvent::Bookmark {
                version: self.metadata.builder.resource_version().into(),
                initial_events_end: self.metadata.initial_events_end,
            }),
            Parsed::Error(status) => Ok(WatchEvent::Error(status)),
            Parsed::Repeated => Err("type or object comes twice".to_string()),
            Parsed::Unknown(name) => Err(format!("unknown type of event \"{}\"", Printable::new(name).at_most(QUOTED))),
        }
    }

    fn try_item<T: DeserializeOwned>(&mut self, frame: &[u8], types: TypeMeta<'_>) -> Result<Object<T>, String> {
        let value = self.parse_item(frame, types)?;
        if !self.metadata.seen {
            self.parse_item::<MetadataOnly>(frame, types)?;
        }
        self.object(value, frame.len())
    }

    fn parse_event<T: DeserializeOwned>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
    ) -> Result<Parsed<T>, String> {
        match self.parse_event_once(frame, event_type, false)? {
            Parsed::Repeated => self.parse_event_once(frame, event_type, true),
            parsed => Ok(parsed),
        }
    }

    fn parse_event_once<T: DeserializeOwned>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
        last: bool,
    ) -> Result<Parsed<T>, String> {
        self.read(frame, |reader, metadata| {
            EventSeed { metadata, event_type, last, target: PhantomData }.deserialize(reader)
        })
    }

    fn parse_item<T: DeserializeOwned>(&mut self, frame: &[u8], types: TypeMeta<'_>) -> Result<T, String> {
        self.read(frame, |reader, metadata| {
            metadata.start(false);
            T::deserialize(Tee { inner: reader, level: Level::Object, types, metadata })
        })
    }

    fn read<T>(
        &mut self,
        frame: &[u8],
        read: impl FnOnce(&mut Reader<'_>, &mut Metadata) -> Result<T, Error>,
    ) -> Result<T, String> {
        let text = core::str::from_utf8(frame).map_err(|error| error.to_string())?;
        let metadata = &mut self.metadata;
        metadata.failed_at = None;
        let checked = if metadata.keep.strict && !metadata.lenient { Reader::check(text) } else { Ok(()) };
        let read = checked.and_then(|()| Reader::read(text, |reader| read(reader, metadata)));
        read.map_err(|error| error.describe(text, metadata.failed_at))
    }

    fn object<T>(&mut self, value: T, len: usize) -> Result<Object<T>, String> {
        let Metadata { builder, keep, .. } = &mut self.metadata;
        if keep.annotations {
            builder.keep_annotations();
        }
        builder.set_json_len(len);
        let meta = builder.build().ok_or("the object has no metadata.name")?;
        Ok(Object { meta, value })
    }

    /// `reread` says whether `self.metadata` is complete.
    fn undecodable(&mut self, reread: bool, event_type: Option<EventType>, error: String) -> DecodeError {
        self.metadata.lenient = false;
        let builder = &self.metadata.builder;
        let version = Some(builder.resource_version()).filter(|version| reread && !version.is_empty());
        DecodeError {
            key: builder.key().filter(|_| reread),
            version: version.map(Version::from),
            event_type,
            error: error.into(),
        }
    }
}
