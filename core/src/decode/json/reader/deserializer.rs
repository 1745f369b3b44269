use super::access::{self, ARRAY, OBJECT};
use super::cursor::{RAW_VALUE, Reader};
use super::error::Error;
use super::watch::{Level, OBJECT_TEXT};
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

/// Numbers of which serde_json reads the fractions.
macro_rules! fractions {
    ($($method:ident),+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            if let Some(integer) = self.integer() {
                let value = integer.visit(visitor);
                return self.placed(value);
            }
            match self.peek() {
                Some(b'-' | b'0'..=b'9') => self.delegate(|json| json.$method(visitor)),
                _ => Err(self.refused(&visitor)),
            }
        })+
    };
}

/// What serde_json reads.
macro_rules! delegated {
    ($($method:ident),+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.delegate(|json| json.$method(visitor))
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
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            Some(b'-' | b'0'..=b'9') => self.deserialize_f64(visitor),
            _ => Err(self.refusal()),
        };
        self.placed(value)
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.peek() {
            Some(b'"') => self.string(None, visitor),
            _ => Err(self.refused(&visitor)),
        }
    }

    #[inline]
    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let value = match self.integer() {
            Some(integer) => integer.visit(visitor),
            None => Err(self.refused(&visitor)),
        };
        self.placed(value)
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let value = match self.peek() {
            Some(b't') => self.word("true").and_then(|()| visitor.visit_bool(true)),
            Some(b'f') => self.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => Err(self.refused(&visitor)),
        };
        self.placed(value)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek() != Some(b'n') {
            return Err(self.refused(&visitor));
        }
        self.word("null")?;
        let value = visitor.visit_unit();
        self.placed(value)
    }

    /// The whole of an enum is left to serde_json: few types have one with contents.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.enter_level(Level::Plain);
        self.delegate(|json| json.deserialize_enum(name, variants, visitor))
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
            OBJECT_TEXT if self.is_at(Level::Object) => self.object_text(visitor),
            // The text is kept, so serde_json checks it.
            RAW_VALUE => self.delegate(|json| json.deserialize_newtype_struct(name, visitor)),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    /// A type may ignore an object, but its metadata are noted.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if !self.is_at(Level::Plain) && self.peek() == Some(b'{') {
            return self.deserialize_map(visitor);
        }
        self.pass_over()?;
        visitor.visit_unit()
    }

    read_as! {
        deserialize_i8() = deserialize_i64,
        deserialize_i16() = deserialize_i64,
        deserialize_i32() = deserialize_i64,
        deserialize_u8() = deserialize_i64,
        deserialize_u16() = deserialize_i64,
        deserialize_u32() = deserialize_i64,
        deserialize_u64() = deserialize_i64,
        deserialize_char() = deserialize_str,
        deserialize_string() = deserialize_str,
        deserialize_identifier() = deserialize_str,
        deserialize_byte_buf() = deserialize_bytes,
        deserialize_unit_struct(name: &'static str) = deserialize_unit,
        deserialize_tuple(len: usize) = deserialize_seq,
        deserialize_tuple_struct(name: &'static str, len: usize) = deserialize_seq,
    }

    fractions!(deserialize_f32, deserialize_f64);

    delegated!(deserialize_i128, deserialize_u128, deserialize_bytes);
}
