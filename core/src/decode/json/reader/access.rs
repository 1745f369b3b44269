use super::cursor::{RAW_VALUE, Reader, by_serde_json};
use super::error::Error;
use super::text::Text;
use super::watch::{Level, Role};
use alloc::borrow::Cow;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// The elements of an array, or the entries of an object.
pub(in crate::decode) struct Access<'a, 'de> {
    reader: &'a mut Reader<'de>,
    kind: &'static Kind,
    first: bool,
    level: Level,
}

/// What tells arrays from objects.
pub(in crate::decode) struct Kind {
    close: u8,
    pub(super) unfinished: &'static str,
    unseparated: &'static str,
}

pub(super) const ARRAY: Kind =
    Kind { close: b']', unfinished: "EOF while parsing a list", unseparated: "expected `,` or `]`" };
pub(in crate::decode) const OBJECT: Kind =
    Kind { close: b'}', unfinished: "EOF while parsing an object", unseparated: "expected `,` or `}`" };

/// Lets `visit` read an array or an object, whose bracket comes next, up to its end.
#[inline]
pub(in crate::decode) fn read<'de, T>(
    reader: &mut Reader<'de>,
    kind: &'static Kind,
    visit: impl FnOnce(Access<'_, 'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    let level = reader.enter_level(Level::Plain);
    reader.enter()?;
    // A value may be kilobytes large. So it is looked at where it is, and not passed through functions.
    let mut value = visit(Access { reader, kind, first: true, level });
    reader.leave();
    let end = end(reader, kind);
    if let Err(error) = &mut value {
        error.place(reader.address());
    } else if let Err(error) = end {
        value = Err(error);
    }
    value
}

/// The name that comes next, with this first byte.
#[inline]
pub(super) fn key<'a, 'de>(reader: &'a mut Reader<'de>, first: Option<u8>) -> Result<Key<'a, 'de>, Error> {
    if first == Some(b'"') { Ok(Key { reader, text: None }) } else { Err(reader.error("key must be a string")) }
}

/// Skips the colon that comes next.
#[inline]
pub(super) fn colon(reader: &mut Reader<'_>) -> Result<(), Error> {
    match reader.peek() {
        Some(b':') => {
            reader.step();
            Ok(())
        }
        Some(_) => Err(reader.error("expected `:`")),
        None => Err(reader.error(OBJECT.unfinished)),
    }
}

#[inline]
fn end(reader: &mut Reader<'_>, kind: &Kind) -> Result<(), Error> {
    if reader.peek() == Some(kind.close) {
        reader.step();
        return Ok(());
    }
    Err(no_end(reader, kind))
}

#[cold]
fn no_end(reader: &mut Reader<'_>, kind: &Kind) -> Error {
    match reader.peek() {
        Some(b',') => {
            reader.step();
            let is_last = reader.peek() == Some(kind.close);
            reader.error(if is_last { "trailing comma" } else { "trailing characters" })
        }
        Some(_) => reader.error("trailing characters"),
        None => reader.error(kind.unfinished),
    }
}

impl Access<'_, '_> {
    /// The first byte of the next element.
    #[inline]
    fn next(&mut self) -> Result<Option<u8>, Error> {
        match self.reader.peek() {
            Some(byte) if byte == self.kind.close => return Ok(None),
            first @ Some(_) if core::mem::take(&mut self.first) => return Ok(first),
            Some(b',') => self.reader.step(),
            other => return Err(self.no_comma(other)),
        }
        match self.reader.peek() {
            first @ Some(byte) if byte != self.kind.close => Ok(first),
            other => Err(self.no_element(other)),
        }
    }

    #[cold]
    fn no_comma(&self, found: Option<u8>) -> Error {
        self.reader.error(if found.is_some() { self.kind.unseparated } else { self.kind.unfinished })
    }

    #[cold]
    fn no_element(&self, found: Option<u8>) -> Error {
        self.reader.error(if found.is_some() { "trailing comma" } else { "EOF while parsing a value" })
    }
}

impl<'de> SeqAccess<'de> for Access<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.next()?.is_some() { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    /// So a vector neither grows nor keeps room. Behind the first value there is no hint: the rest would be counted
    /// again.
    fn size_hint(&self) -> Option<usize> {
        if self.first { self.reader.count_values() } else { None }
    }
}

impl<'de> MapAccess<'de> for Access<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let key = if self.level == Level::Plain {
            match self.next()? {
                None => return Ok(None),
                first => key(self.reader, first)?,
            }
        } else {
            match self.watched_key()? {
                None => return Ok(None),
                Some(key) => key,
            }
        };
        seed.deserialize(key).map(Some)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        if self.level == Level::Plain {
            colon(self.reader)?;
            return seed.deserialize(&mut *self.reader);
        }
        let outside = self.reader.begin_watched(colon)?;
        let value = seed.deserialize(&mut *self.reader);
        self.reader.end_watched(outside);
        value
    }
}

impl<'de> Access<'_, 'de> {
    /// Passes over the colon that comes next.
    pub(in crate::decode) fn value(&mut self) -> Result<&mut Reader<'de>, Error> {
        colon(self.reader)?;
        Ok(self.reader)
    }

    /// Lets `read` read the value at a place that was passed.
    pub(in crate::decode) fn at<T>(
        &mut self,
        place: usize,
        read: impl FnOnce(&mut Reader<'de>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let here = self.reader.at();
        self.reader.go_to(place);
        let value = read(self.reader);
        self.reader.go_to(here);
        value
    }

    /// The name that comes next in an object that is watched, and that its type may see.
    #[inline(never)]
    fn watched_key(&mut self) -> Result<Option<Key<'_, 'de>>, Error> {
        loop {
            let Some(first) = self.next()? else {
                let text = if self.level == Level::Object { self.reader.next_given() } else { None };
                return Ok(if text.is_some() { Some(Key { reader: &mut *self.reader, text }) } else { None });
            };
            let start = self.reader.at();
            let name = Text::deserialize(key(self.reader, Some(first))?)?;
            if self.reader.on_name(self.level, name.as_str()) != Role::Hidden {
                let text = if let Cow::Borrowed(name) = name.0 { Some(name) } else { None };
                if text.is_none() {
                    self.reader.go_to(start);
                }
                return Ok(Some(Key { reader: &mut *self.reader, text }));
            }
            colon(self.reader)?;
            self.reader.hide_from(start)?;
        }
    }
}

/// The name of an object's entry. It may be read as a number or a boolean, as serde_json allows.
pub(super) struct Key<'a, 'de> {
    reader: &'a mut Reader<'de>,
    /// The name, if it was read already.
    text: Option<&'de str>,
}

impl<'de> Key<'_, 'de> {
    /// The name without its quotes, with its escapes.
    fn inside(&mut self) -> Result<&'de str, Error> {
        if let Some(name) = self.text {
            return Ok(name);
        }
        let quoted = self.reader.pass_over()?;
        Ok(&quoted[1..quoted.len() - 1])
    }

    fn number(&mut self) -> Result<&'de str, Error> {
        let text = self.inside()?;
        if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Err(Error::new("invalid value: expected key to be a number in quotes", text.as_ptr().addr()));
        }
        if text.ends_with(|last: char| last.is_ascii_whitespace()) {
            return Err(Error::new("expected `\"`", text.as_bytes().as_ptr_range().end.addr()));
        }
        Ok(text)
    }
}

macro_rules! numbers {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
            by_serde_json(self.number()?, |json| json.$method(visitor))
        })+
    };
}

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.reader.string(self.text, visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let value = match self.inside()? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(Error::invalid_type(Unexpected::Str(other), &visitor)),
        };
        self.reader.placed(value)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.text {
            Some(name) => visitor.visit_borrowed_bytes(name.as_bytes()),
            None => self.reader.deserialize_bytes(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match name {
            RAW_VALUE if self.text.is_none() => self.reader.deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.text {
            Some(name) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            None => self.reader.deserialize_enum(name, variants, visitor),
        }
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
