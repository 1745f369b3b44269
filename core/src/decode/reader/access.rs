use super::cursor::Reader;
use super::error::Error;
use super::key::Key;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

/// The elements of an array, or the entries of an object.
pub(super) struct Access<'a, 'de> {
    reader: &'a mut Reader<'de>,
    kind: &'static Kind,
    first: bool,
}

/// What tells arrays from objects.
pub(super) struct Kind {
    close: u8,
    pub(super) unfinished: &'static str,
    unseparated: &'static str,
}

pub(super) const ARRAY: Kind =
    Kind { close: b']', unfinished: "EOF while parsing a list", unseparated: "expected `,` or `]`" };
pub(super) const OBJECT: Kind =
    Kind { close: b'}', unfinished: "EOF while parsing an object", unseparated: "expected `,` or `}`" };

/// Lets `visit` read an array or an object, whose bracket comes next, up to its end.
#[inline]
pub(super) fn read<'de, T>(
    reader: &mut Reader<'de>,
    kind: &'static Kind,
    visit: impl FnOnce(Access<'_, 'de>) -> Result<T, Error>,
) -> Result<T, Error> {
    reader.enter()?;
    let value = visit(Access { reader, kind, first: true });
    reader.leave();
    let end = end(reader, kind);
    if value.is_ok() {
        end?;
    }
    reader.placed(value)
}

/// The name that comes next.
#[inline]
pub(super) fn key<'a, 'de>(reader: &'a mut Reader<'de>) -> Result<Key<'a, 'de>, Error> {
    if reader.peek() == Some(b'"') { Ok(Key(reader)) } else { Err(reader.error("key must be a string")) }
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

fn end(reader: &mut Reader<'_>, kind: &Kind) -> Result<(), Error> {
    match reader.peek() {
        Some(byte) if byte == kind.close => {
            reader.step();
            Ok(())
        }
        Some(b',') => {
            reader.step();
            let is_last = reader.peek() == Some(kind.close);
            Err(reader.error(if is_last { "trailing comma" } else { "trailing characters" }))
        }
        Some(_) => Err(reader.error("trailing characters")),
        None => Err(reader.error(kind.unfinished)),
    }
}

impl Access<'_, '_> {
    /// Whether another element comes next.
    #[inline]
    fn has_next(&mut self) -> Result<bool, Error> {
        match self.reader.peek() {
            Some(byte) if byte == self.kind.close => return Ok(false),
            Some(_) if core::mem::take(&mut self.first) => {}
            Some(b',') => {
                self.reader.step();
                match self.reader.peek() {
                    Some(byte) if byte == self.kind.close => return Err(self.reader.error("trailing comma")),
                    Some(_) => {}
                    None => return Err(self.reader.error("EOF while parsing a value")),
                }
            }
            Some(_) => return Err(self.reader.error(self.kind.unseparated)),
            None => return Err(self.reader.error(self.kind.unfinished)),
        }
        Ok(true)
    }
}

impl<'de> SeqAccess<'de> for Access<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if self.has_next()? { seed.deserialize(&mut *self.reader).map(Some) } else { Ok(None) }
    }

    /// So a vector neither grows nor keeps room.
    fn size_hint(&self) -> Option<usize> {
        self.reader.count_values()
    }
}

impl<'de> MapAccess<'de> for Access<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        if !self.has_next()? {
            return Ok(None);
        }
        seed.deserialize(key(self.reader)?).map(Some)
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        colon(self.reader)?;
        seed.deserialize(&mut *self.reader)
    }
}
