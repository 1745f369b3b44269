use super::cursor::{RAW_VALUE, Reader, by_serde_json};
use super::error::Error;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

/// The name of an object's entry. It may be read as a number or a boolean, as serde_json allows.
pub(super) struct Key<'a, 'de>(pub(super) &'a mut Reader<'de>);

impl<'de> Key<'_, 'de> {
    /// The name without its quotes, with its escapes.
    fn inside(&mut self) -> Result<&'de str, Error> {
        let quoted = self.0.pass_over()?;
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
        self.0.string(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let value = match self.inside()? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            other => Err(Error::invalid_type(Unexpected::Str(other), &visitor)),
        };
        self.0.placed(value)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match name {
            RAW_VALUE => self.0.deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
