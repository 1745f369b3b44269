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
    // A value may be kilobytes large. So it is looked at where it is, and not passed through functions.
    let mut value = visit(Access { reader, kind, first: true });
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
    if first == Some(b'"') { Ok(Key(reader)) } else { Err(reader.error("key must be a string")) }
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
        match self.next()? {
            None => Ok(None),
            first => seed.deserialize(key(self.reader, first)?).map(Some),
        }
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        colon(self.reader)?;
        seed.deserialize(&mut *self.reader)
    }
}
