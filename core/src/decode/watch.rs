use super::metadata::Metadata;
use super::reader::{Reader, Unread};
use super::status::{Status, lenient};
use super::tee::{Level, Tee, metadata_only};
use super::text::Text;
use super::type_meta::TypeMeta;
use crate::framing::{EventKind, EventType};
use alloc::string::String;
use core::fmt;
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

/// A watch event. Its object is where the seed has put it, and the metadata are in [`Metadata`].
pub(super) enum Parsed {
    Object(EventType),
    Bookmark,
    Error(Status),
    /// A `type` that no server sends today.
    Unknown(String),
    /// `type` or `object` comes twice: decode again with [`EventSeed::last`].
    Repeated,
}

/// The kind of an event's `object`, by its `type`.
enum Kind {
    Known(EventKind),
    Unknown(String),
}

impl Kind {
    fn of(text: &str) -> Self {
        EventKind::of(text).map_or_else(|| Self::Unknown(text.into()), Self::Known)
    }
}

/// Reads `{"type":…,"object":…}`, in either order. Of two members of one name the last one counts, as in Go. The last
/// one is known at the end of the event only, so such an event is decoded twice.
pub(super) struct EventSeed<'a, T> {
    pub(super) metadata: &'a mut Metadata,
    pub(super) event_type: &'a mut Option<EventType>,
    /// Decodes the last object by the last type, at the end of the event.
    pub(super) last: bool,
    /// Where the object comes. It may be kilobytes large, so it is not returned through all the callers.
    pub(super) value: &'a mut Option<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for EventSeed<'_, T> {
    type Value = Parsed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Parsed, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for EventSeed<'_, T> {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a watch event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parsed, A::Error> {
        let (mut kind, mut early, mut parsed) = (None, None::<Unread<'de>>, None);
        let mut repeated = false;
        while let Some(name) = map.next_key::<Text<'de>>()? {
            match name.as_str() {
                "type" | "object" if repeated => {
                    map.next_value::<IgnoredAny>()?;
                }
                "type" => {
                    repeated = !self.last && (kind.is_some() || parsed.is_some());
                    kind = Some(Kind::of(map.next_value::<Text<'de>>()?.as_str()));
                    *self.event_type = match kind {
                        Some(Kind::Known(EventKind::Object(event_type))) => Some(event_type),
                        _ => None,
                    };
                }
                "object" => match kind.take() {
                    Some(kind) if !self.last && early.is_none() => {
                        let seed = ObjectSeed { kind, metadata: self.metadata, value: self.value };
                        parsed = Some(map.next_value_seed(seed)?);
                    }
                    seen => {
                        repeated = !self.last && (early.is_some() || parsed.is_some());
                        (kind, early) = (seen, Some(map.next_value()?));
                    }
                },
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if repeated {
            return Ok(Parsed::Repeated);
        }
        match (parsed, kind, early) {
            (Some(parsed), ..) => Ok(parsed),
            (None, Some(kind), Some(Unread(object))) => {
                let seed = ObjectSeed { kind, metadata: &mut *self.metadata, value: self.value };
                let read = Reader::read(object, |reader| seed.deserialize(reader));
                self.metadata.failed(read)
            }
            (None, None, _) => Err(A::Error::missing_field("type")),
            (None, Some(_), None) => Err(A::Error::missing_field("object")),
        }
    }
}

/// Reads the object of an event of a known kind.
struct ObjectSeed<'a, T> {
    kind: Kind,
    metadata: &'a mut Metadata,
    value: &'a mut Option<T>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for ObjectSeed<'_, T> {
    type Value = Parsed;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<Parsed, D::Error> {
        let Self { kind, metadata, value } = self;
        metadata.start(matches!(kind, Kind::Known(EventKind::Bookmark)));
        Ok(match kind {
            Kind::Known(EventKind::Object(event_type)) => {
                let tee = Tee { inner, level: Level::Object, types: TypeMeta::default(), metadata };
                *value = Some(T::deserialize(tee)?);
                Parsed::Object(event_type)
            }
            Kind::Known(EventKind::Bookmark) => {
                metadata_only(inner, metadata)?;
                Parsed::Bookmark
            }
            Kind::Known(EventKind::Error) => Parsed::Error(lenient(inner)?),
            Kind::Unknown(name) => {
                IgnoredAny::deserialize(inner)?;
                Parsed::Unknown(name)
            }
        })
    }
}
