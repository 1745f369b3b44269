use super::access::{self, OBJECT};
use super::cursor::Reader;
use super::error::Error;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error as _, Unexpected, VariantAccess, Visitor};

/// The variant of an enum: by its name alone, or as the only member of an object.
pub(super) struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    has_content: bool,
}

/// Lets `visitor` read a variant.
pub(super) fn read<'de, V: Visitor<'de>>(reader: &mut Reader<'de>, visitor: V) -> Result<V::Value, Error> {
    match reader.peek() {
        Some(b'"') => visitor.visit_enum(Variant { reader, has_content: false }),
        Some(b'{') => {
            reader.enter()?;
            let value = visitor.visit_enum(Variant { reader, has_content: true });
            reader.leave();
            let value = value?;
            match reader.peek() {
                Some(b'}') => {
                    reader.step();
                    Ok(value)
                }
                Some(_) => Err(Error::custom("expected value")),
                None => Err(reader.error(OBJECT.unfinished)),
            }
        }
        Some(_) => Err(reader.error("expected value")),
        None => Err(reader.refusal()),
    }
}

impl<'a, 'de> Variant<'a, 'de> {
    /// Where the content begins.
    fn content(self, expected: &str) -> Result<&'a mut Reader<'de>, Error> {
        if self.has_content { Ok(self.reader) } else { Err(Error::invalid_type(Unexpected::UnitVariant, &expected)) }
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        if !self.has_content {
            return Ok((seed.deserialize(&mut *self.reader)?, self));
        }
        let first = self.reader.peek();
        match first {
            Some(b'}') => return Err(self.reader.error("expected value")),
            Some(_) => {}
            None => return Err(self.reader.error(OBJECT.unfinished)),
        }
        let name = seed.deserialize(access::key(self.reader, first)?)?;
        access::colon(self.reader)?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        if self.has_content { <()>::deserialize(self.reader) } else { Ok(()) }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self.content("newtype variant")?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.content("tuple variant")?.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.content("struct variant")?.deserialize_struct("", &[], visitor)
    }
}
