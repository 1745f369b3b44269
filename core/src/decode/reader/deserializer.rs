use super::access::{self, ARRAY, OBJECT};
use super::cursor::{RAW_VALUE, Reader};
use super::error::Error;
use super::unread::UNREAD;
use serde::de::{Deserializer, Visitor};

/// What is read as another type.
macro_rules! read_as {
    ($($method:ident($($arg:ident: $type:ty),*) = $other:ident),+ $(,)?) => {
        $(#[inline]
        fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, Error> {
            $(let _ = $arg;)*
            self.$other(visitor)
        })+
    };
}

/// What serde_json reads.
macro_rules! delegated {
    ($($method:ident($($arg:ident: $type:ty),*)),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, $($arg: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.delegate(|json| json.$method($($arg,)* visitor))
        })+
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let value = match self.peek() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'{') => access::read(self, &OBJECT, |map| visitor.visit_map(map)),
            Some(b'[') => access::read(self, &ARRAY, |seq| visitor.visit_seq(seq)),
            Some(b't') => {
                self.word("true")?;
                visitor.visit_bool(true)
            }
            Some(b'f') => {
                self.word("false")?;
                visitor.visit_bool(false)
            }
            Some(b'n') => {
                self.word("null")?;
                visitor.visit_unit()
            }
            _ => self.delegate(|json| json.deserialize_any(visitor)),
        };
        self.placed(value)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() == Some(b'"')
            && let Some(text) = self.plain_string()
        {
            let value = visitor.visit_borrowed_str(text);
            return self.placed(value);
        }
        self.delegate(|json| json.deserialize_str(visitor))
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'{') => access::read(self, &OBJECT, |map| visitor.visit_map(map)),
            _ => Err(self.refused(&visitor)),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'[') => access::read(self, &ARRAY, |seq| visitor.visit_seq(seq)),
            _ => Err(self.refused(&visitor)),
        }
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'{') => access::read(self, &OBJECT, |map| visitor.visit_map(map)),
            Some(b'[') => access::read(self, &ARRAY, |seq| visitor.visit_seq(seq)),
            _ => Err(self.refused(&visitor)),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() == Some(b'n') {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    // The name is a constant, so that no code for the other ones is left.
    #[inline(always)]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        match name {
            UNREAD => visitor.visit_borrowed_str(self.pass_over()?),
            // The text is kept, so serde_json checks it.
            RAW_VALUE => self.delegate(|json| json.deserialize_newtype_struct(name, visitor)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.pass_over()?;
        visitor.visit_unit()
    }

    read_as! {
        deserialize_char() = deserialize_str,
        deserialize_string() = deserialize_str,
        deserialize_identifier() = deserialize_str,
        deserialize_byte_buf() = deserialize_bytes,
        deserialize_unit_struct(name: &'static str) = deserialize_unit,
        deserialize_tuple(len: usize) = deserialize_seq,
        deserialize_tuple_struct(name: &'static str, len: usize) = deserialize_seq,
    }

    delegated! {
        deserialize_bool(), deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(),
        deserialize_i128(), deserialize_u8(), deserialize_u16(), deserialize_u32(), deserialize_u64(),
        deserialize_u128(), deserialize_f32(), deserialize_f64(), deserialize_bytes(), deserialize_unit(),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
    }
}
