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
use crate::object::{Meta, Object, Version};
use crate::text::Printable;
use alloc::format;
use alloc::string::{String, ToString};
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

/// A watch event about no object, as those of [`WatchEvent`].
pub(super) enum Notice {
    Bookmark { version: Version, initial_events_end: bool },
    Error(Status),
}

impl<T> From<Notice> for WatchEvent<T> {
    fn from(notice: Notice) -> Self {
        match notice {
            Notice::Bookmark { version, initial_events_end } => Self::Bookmark { version, initial_events_end },
            Notice::Error(status) => Self::Error(status),
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
        self.read_event(frame, WatchEvent::Object)
    }

    /// Decodes one item of a list.
    ///
    /// # Errors
    /// If the frame is no `T`.
    pub fn item<T: DeserializeOwned>(&mut self, frame: &[u8], list: &ListMeta) -> Result<Object<T>, DecodeError> {
        self.read_item(frame, list, |item| item)
    }

    /// Decodes the text of an object whose metadata are known.
    pub(super) fn value<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
        let keep = DecodeOptions { managed_fields: true, ..DecodeOptions::default() };
        Self::new(keep).parse_item(text, TypeMeta::default())
    }

    /// Decodes one event of a watch, of whose object `make` makes it. Objects may be kilobytes large, so they are put
    /// where they stay before the results of all the callers have them.
    pub(super) fn read_event<T: DeserializeOwned, E: From<Notice>>(
        &mut self,
        frame: &[u8],
        make: impl FnOnce(EventType, Object<T>) -> E,
    ) -> Result<E, DecodeError> {
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
    pub(super) fn read_item<T: DeserializeOwned, I>(
        &mut self,
        frame: &[u8],
        list: &ListMeta,
        make: impl FnOnce(Object<T>) -> I,
    ) -> Result<I, DecodeError> {
        let types = list.item_types();
        let item = self.try_item(frame, types, make).map_err(|error| {
            self.metadata.lenient = true;
            let reread = self.parse_item::<MetadataOnly>(frame, types);
            self.undecodable(reread.is_ok(), None, error)
        });
        self.metadata.start(false);
        item
    }

    fn try_event<T: DeserializeOwned, E: From<Notice>>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
        make: impl FnOnce(EventType, Object<T>) -> E,
    ) -> Result<E, String> {
        let mut value = None;
        match self.parse_event(frame, event_type, &mut value)? {
            Parsed::Object(event_type) => {
                if !self.metadata.seen {
                    self.parse_event(frame, &mut None, &mut None::<MetadataOnly>)?;
                }
                let meta = self.meta(frame.len())?;
                Ok(make(event_type, Object { meta, value: value.ok_or("the event has no object")? }))
            }
            Parsed::Bookmark => Ok(E::from(Notice::Bookmark {
                version: self.metadata.builder.resource_version().into(),
                initial_events_end: self.metadata.initial_events_end,
            })),
            Parsed::Error(status) => Ok(E::from(Notice::Error(status))),
            Parsed::Repeated => Err("type or object comes twice".to_string()),
            Parsed::Unknown(name) => Err(format!("unknown type of event \"{}\"", Printable::new(name).at_most(QUOTED))),
        }
    }

    fn try_item<T: DeserializeOwned, I>(
        &mut self,
        frame: &[u8],
        types: TypeMeta<'_>,
        make: impl FnOnce(Object<T>) -> I,
    ) -> Result<I, String> {
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
    ) -> Result<Parsed, String> {
        match self.parse_event_once(frame, event_type, value, false)? {
            Parsed::Repeated => self.parse_event_once(frame, event_type, value, true),
            parsed => Ok(parsed),
        }
    }

    fn parse_event_once<T: DeserializeOwned>(
        &mut self,
        frame: &[u8],
        event_type: &mut Option<EventType>,
        value: &mut Option<T>,
        last: bool,
    ) -> Result<Parsed, String> {
        self.read(frame, |reader, metadata| EventSeed { metadata, event_type, last, value }.deserialize(reader))
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

    /// The metadata of an object that took so many bytes.
    fn meta(&mut self, len: usize) -> Result<Meta, String> {
        let Metadata { builder, keep, .. } = &mut self.metadata;
        if keep.annotations {
            builder.keep_annotations();
        }
        builder.set_json_len(len);
        Ok(builder.build().ok_or("the object has no metadata.name")?)
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
