//! Reads metadata in the same pass that decodes the caller's type.
//!
//! [`Tee`] is a deserializer between the reader and the caller's type. It passes every entry on, and notes those that
//! [`Metadata`] needs. It drops `managedFields` unless the options keep it. It adds the list's `kind` and `apiVersion`
//! to an item.

use super::metadata::{Field, Given, Metadata};
use super::raw;
use super::reader::{MAP_OR_UNIT, RAW_VALUE, Reader, Unread};
use super::text::Text;
use super::type_meta::TypeMeta;
use core::fmt;
use core::marker::PhantomData;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// Which map of the object is being read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Level {
    Object,
    Metadata,
}

/// A deserializer that notes metadata on the way.
pub(super) struct Tee<'a, D> {
    pub(super) inner: D,
    pub(super) level: Level,
    pub(super) types: TypeMeta<'a>,
    pub(super) metadata: &'a mut Metadata,
}

/// Passes the call on, with a visitor that sees maps first.
macro_rules! watched {
    ($($method:ident($($arg:ident: $type:ty),*)),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let (inner, visitor) = self.watch(visitor);
            inner.$method($($arg,)* visitor)
        })+
    };
}

/// Passes the call on as it is: no object has this shape.
macro_rules! passed_on {
    ($($method:ident($($arg:ident: $type:ty),*)),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($arg,)* visitor)
        })+
    };
}

impl<'a, 'de, D: Deserializer<'de>> Tee<'a, D> {
    fn watch<V>(self, visitor: V) -> (D, Watching<'a, V>) {
        (self.inner, Watching { visitor, level: self.level, types: self.types, metadata: self.metadata })
    }

    /// Reads an object as text, for [`Raw`](raw::Raw).
    fn deserialize_raw<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let Self { inner, level, types, metadata } = self;
        let Unread(text) = Unread::deserialize(inner)?;
        let read =
            Reader::read(text, |inner| IgnoredAny::deserialize(Tee { inner, level, types, metadata: &mut *metadata }));
        metadata.failed(read)?;
        let rewritten = raw::rewrite(text, types, metadata.given, &metadata.managed_fields);
        let checked = Reader::check(&rewritten).or_else(|error| Reader::check(text).and(Err(error)));
        metadata.failed(checked)?;
        visitor.visit_string(rewritten)
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tee<'_, D> {
    type Error = D::Error;

    watched! {
        deserialize_any(), deserialize_map(), deserialize_option(),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
    }

    /// The reader skips an ignored value without a visitor, but an ignored object has metadata.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let (inner, visitor) = self.watch(visitor);
        inner.deserialize_newtype_struct(MAP_OR_UNIT, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        match (name, self.level) {
            (raw::TOKEN, Level::Object) => self.deserialize_raw(visitor),
            // serde_json's own token must reach the reader.
            (RAW_VALUE, _) => self.inner.deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    passed_on! {
        deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(),
        deserialize_u8(), deserialize_u16(), deserialize_u32(), deserialize_u64(), deserialize_f32(),
        deserialize_f64(), deserialize_char(), deserialize_str(), deserialize_string(), deserialize_bytes(),
        deserialize_byte_buf(), deserialize_unit(), deserialize_seq(), deserialize_identifier(),
        deserialize_unit_struct(name: &'static str), deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }
}

/// The caller's visitor, which gets maps through [`TeeMap`].
struct Watching<'a, V> {
    visitor: V,
    level: Level,
    types: TypeMeta<'a>,
    metadata: &'a mut Metadata,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watching<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let Watching { visitor, level, types, metadata } = self;
        let given = match level {
            Level::Object => Given { kind: !types.kind.is_empty(), api_version: !types.api_version.is_empty() },
            Level::Metadata => Given::default(),
        };
        metadata.seen |= level == Level::Metadata;
        visitor.visit_map(TeeMap { inner, level, types, metadata, given, value: Value::Plain, de: PhantomData })
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Tee { inner, level: self.level, types: self.types, metadata: self.metadata })
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.visitor.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.visitor.visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.visitor.visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visitor.visit_f64(value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.visitor.visit_str(value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.visitor.visit_borrowed_str(value)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(seq)
    }
}

/// A map whose entries are noted as they go by.
struct TeeMap<'a, 'de, A> {
    inner: A,
    level: Level,
    types: TypeMeta<'a>,
    metadata: &'a mut Metadata,
    /// Which of the types this object still lacks.
    given: Given,
    /// The role of the next value.
    value: Value,
    de: PhantomData<&'de ()>,
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Plain,
    Metadata,
    Field(Field),
    Kind,
    ApiVersion,
}

impl<'de, A: MapAccess<'de>> TeeMap<'_, 'de, A> {
    /// The role of the value of `name`.
    fn classify(&mut self, name: &str) -> Value {
        match (self.level, name) {
            (Level::Object, "metadata") => {
                // Of two members the last one counts, as in Go.
                self.metadata.builder.clear();
                self.metadata.initial_events_end = false;
                Value::Metadata
            }
            (Level::Object, "kind") => {
                self.given.kind = false;
                Value::Plain
            }
            (Level::Object, "apiVersion") => {
                self.given.api_version = false;
                Value::Plain
            }
            (Level::Metadata, _) => self.metadata.field(name).map_or(Value::Plain, Value::Field),
            _ => Value::Plain,
        }
    }

    /// Returns `name` if its value is hidden from the caller's type. Servers write it without escapes.
    fn hides(&self, name: &Text<'de>) -> Option<&'de str> {
        match name {
            Text::Borrowed(name @ "managedFields")
                if self.level == Level::Metadata && !self.metadata.keep.managed_fields =>
            {
                Some(name)
            }
            _ => None,
        }
    }

    /// The entries that the object lacks and its list has.
    fn given_key<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let name = if core::mem::take(&mut self.given.kind) {
            self.value = Value::Kind;
            self.metadata.given.kind = true;
            "kind"
        } else if core::mem::take(&mut self.given.api_version) {
            self.value = Value::ApiVersion;
            self.metadata.given.api_version = true;
            "apiVersion"
        } else {
            return Ok(None);
        };
        seed.deserialize(Plain(BorrowedStrDeserializer::new(name))).map(Some)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TeeMap<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            let Some(name) = self.inner.next_key::<Text<'de>>()? else { return self.given_key(seed) };
            if let Some(name) = self.hides(&name) {
                self.metadata.skip_managed_fields(name, &mut self.inner)?;
                continue;
            }
            self.value = self.classify(name.as_str());
            return match name {
                Text::Borrowed(name) => seed.deserialize(Plain(BorrowedStrDeserializer::new(name))),
                Text::Owned(name) => seed.deserialize(Plain(name.into_deserializer())),
            }
            .map(Some);
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match core::mem::replace(&mut self.value, Value::Plain) {
            Value::Plain => self.inner.next_value_seed(seed),
            Value::Metadata => self.inner.next_value_seed(MetadataSeed { seed, metadata: self.metadata }),
            Value::Field(field) => {
                let Unread(text) = self.inner.next_value()?;
                self.metadata.read(field, text)?;
                self.metadata.failed(Reader::read(text, |reader| seed.deserialize(reader)))
            }
            Value::Kind => seed.deserialize(Plain(self.types.kind.into_deserializer())),
            Value::ApiVersion => seed.deserialize(Plain(self.types.api_version.into_deserializer())),
        }
    }
}

/// A string that may be read as an `Option` or a newtype, as in JSON. serde's own deserializers of strings refuse both.
struct Plain<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Plain<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// Reads the value of `metadata`.
struct MetadataSeed<'a, S> {
    seed: S,
    metadata: &'a mut Metadata,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for MetadataSeed<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        let Self { seed, metadata } = self;
        seed.deserialize(Tee { inner, level: Level::Metadata, types: TypeMeta::default(), metadata })
    }
}

/// Reads only the metadata of an object.
pub(super) fn metadata_only<'de, D: Deserializer<'de>>(inner: D, metadata: &mut Metadata) -> Result<(), D::Error> {
    let tee = Tee { inner, level: Level::Object, types: TypeMeta::default(), metadata };
    IgnoredAny::deserialize(tee).map(|_| ())
}
