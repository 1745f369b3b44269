use super::error::Error;
use super::watch::{Given, Level, Role, Watch};
use crate::framing::{Scanner, ends_scalar, is_space, plain_len};
use crate::text::{Printable, Unescape};
use alloc::format;
use alloc::string::String;
use serde::Deserialize;
use serde::de::{Error as _, Expected, IgnoredAny, Unexpected, Visitor};
use serde_json::de::StrRead;

/// How deeply brackets may be nested where a type reads them: as in serde_json.
const DEPTH: u8 = 128;

/// How deeply an array may lie whose values are counted. So each byte is looked at so many times at the most.
const COUNTED_DEPTH: u8 = 16;

/// How many bytes of it are looked at.
const COUNTED: usize = 16 * 1024;

/// How many characters of a number are quoted.
const NUMBER: usize = 64;

/// The name by which serde_json recognises its `RawValue`.
pub(in crate::decode) const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A place in a JSON text. `&mut Reader` is a serde deserializer.
pub(in crate::decode) struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How many more brackets may open.
    depth: u8,
    watch: Option<&'de mut dyn Watch>,
    /// What the object is that comes next.
    level: Level,
    /// The role of the value that comes next, in an object that is watched.
    role: Role,
    given: Given<'de>,
    /// How many of the given members the type has seen.
    handed: usize,
}

impl<'de> Reader<'de> {
    /// Reads `text`, which may have white space around its value and nothing else.
    ///
    /// # Errors
    /// If `read` fails, or does not come to the end. The error has its place.
    pub(in crate::decode) fn read<T>(
        text: &'de str,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        Self::new(text, None, Given::default()).read_all(read)
    }

    /// Reads `text` as [`read`](Self::read) does. `watch` looks at the objects that are [watched](Self::watched), and
    /// these get the members that are `given`.
    pub(in crate::decode) fn watching<T>(
        text: &'de str,
        watch: &'de mut dyn Watch,
        given: Given<'de>,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        Self::new(text, Some(watch), given).read_all(read)
    }

    #[inline]
    fn new(text: &'de str, watch: Option<&'de mut dyn Watch>, given: Given<'de>) -> Self {
        Self { text, at: 0, depth: DEPTH, watch, level: Level::Plain, role: Role::Passed, given, handed: 0 }
    }

    fn read_all<T>(mut self, read: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let mut value = read(&mut self);
        match &mut value {
            Ok(_) if self.peek().is_none() => {}
            Ok(_) => return Err(self.error("trailing characters")),
            Err(error) => error.place(self.address()),
        }
        value
    }

    /// Reads a `T` from `text`.
    pub(in crate::decode) fn value<T: Deserialize<'de>>(text: &'de str) -> Result<T, Error> {
        Self::read(text, |reader| T::deserialize(reader))
    }

    /// Checks that `text` is one JSON value.
    pub(in crate::decode) fn check(text: &str) -> Result<(), Error> {
        serde_json::from_str::<IgnoredAny>(text).map(|_| ()).map_err(|error| Error::of_json(&error, text))
    }

    /// Skips white space; returns the byte behind it. Servers send none, so the loop is not part of the callers.
    #[inline]
    pub(in crate::decode) fn peek(&mut self) -> Option<u8> {
        match self.text.as_bytes().get(self.at) {
            Some(byte) if *byte > b' ' => Some(*byte),
            _ => self.peek_behind_space(),
        }
    }

    #[inline(never)]
    fn peek_behind_space(&mut self) -> Option<u8> {
        let behind = self.text.as_bytes().get(self.at..)?;
        let len = behind.iter().position(|byte| !is_space(*byte)).unwrap_or(behind.len());
        self.at += len;
        behind.get(len).copied()
    }

    /// Goes on behind the byte that was peeked at.
    #[inline]
    pub(super) fn step(&mut self) {
        self.skip(1);
    }

    #[inline]
    pub(super) fn skip(&mut self, len: usize) {
        self.at += len;
    }

    /// Skips an opening bracket, which may be one too many. [`leave`](Self::leave) ends what it begins.
    #[inline]
    pub(super) fn enter(&mut self) -> Result<(), Error> {
        if self.depth == 1 {
            return Err(self.error("recursion limit exceeded"));
        }
        self.step();
        self.depth -= 1;
        Ok(())
    }

    /// Goes back to the depth before the last bracket.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth += 1;
    }

    /// How many values the array has whose first one comes next; fewer if it is long, `None` if it lies deep.
    pub(super) fn count_values(&self) -> Option<usize> {
        let inside = self.rest().as_bytes();
        (self.depth >= DEPTH - COUNTED_DEPTH).then(|| values_in(&inside[..inside.len().min(COUNTED)]))
    }

    /// Skips a word that begins here.
    #[inline]
    pub(super) fn word(&mut self, word: &str) -> Result<(), Error> {
        if !self.rest().starts_with(word) {
            return Err(self.refusal());
        }
        self.at += word.len();
        Ok(())
    }

    /// Lets `visitor` read the string that begins here, unless it was read already.
    #[inline]
    pub(super) fn string<V: Visitor<'de>>(&mut self, read: Option<&'de str>, visitor: V) -> Result<V::Value, Error> {
        let value = match read.or_else(|| self.plain_string()) {
            Some(text) => visitor.visit_borrowed_str(text),
            None => visitor.visit_str(&self.escaped_string()?),
        };
        self.placed(value)
    }

    /// The string that begins here; `None` if it has escapes or is none.
    #[inline]
    fn plain_string(&mut self) -> Option<&'de str> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let end = start + plain_len(bytes.get(start..)?);
        if *bytes.get(end)? != b'"' {
            return None;
        }
        self.at = end + 1;
        self.text.get(start..end)
    }

    /// The string that begins here, with its escapes resolved. What is wrong with it is said in a projection's words.
    #[cold]
    pub(super) fn escaped_string(&mut self) -> Result<String, Error> {
        self.step();
        let (mut unescape, mut text) = (Unescape::NEW, String::new());
        match unescape.feed(self.rest().as_bytes(), &mut |piece| text.push_str(piece)) {
            Ok(Some(len)) => {
                self.skip(len);
                Ok(text)
            }
            Ok(None) => {
                self.at = self.text.len();
                Err(self.error("EOF while parsing a string"))
            }
            Err(bad) => {
                self.skip(bad.at);
                Err(self.error(bad.message))
            }
        }
    }

    /// Passes over the value that comes next. The inside of a string, an array or an object is not checked.
    pub(in crate::decode) fn pass_over(&mut self) -> Result<&'de str, Error> {
        if let Some(b'"' | b'{' | b'[') = self.peek() {
            return self.value_text().ok_or_else(|| self.refusal());
        }
        let start = self.at;
        if self.integer().is_none() {
            self.delegate(|json| IgnoredAny::deserialize(json))?;
        }
        Ok(&self.text[start..self.at])
    }

    /// Lets serde_json read the value that comes next. It refuses an unfinished one.
    pub(super) fn delegate<T>(
        &mut self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> serde_json::Result<T>,
    ) -> Result<T, Error> {
        let text = self.value_text().unwrap_or_else(|| self.rest());
        by_serde_json(text, read)
    }

    /// The error for the value that comes next, which is not `expected`.
    #[cold]
    pub(in crate::decode) fn refused(&mut self, expected: &dyn Expected) -> Error {
        let refused = self.found(|found| Error::invalid_type(found, expected));
        let mut error = refused.unwrap_or_else(|error| error);
        error.place(self.address());
        error
    }

    /// Names the value that comes next, and reads it, unless it is an array or an object.
    fn found(&mut self, name: impl FnOnce(Unexpected<'_>) -> Error) -> Result<Error, Error> {
        Ok(match self.peek() {
            Some(b'{') => name(Unexpected::Map),
            Some(b'[') => name(Unexpected::Seq),
            Some(b'"') => name(Unexpected::Str(&self.escaped_string()?)),
            Some(b't') => self.word("true").map(|()| name(Unexpected::Bool(true)))?,
            Some(b'f') => self.word("false").map(|()| name(Unexpected::Bool(false)))?,
            Some(b'n') => self.word("null").map(|()| name(Unexpected::Unit))?,
            _ => match self.integer() {
                Some(integer) => name(integer.unexpected()),
                None => name(Unexpected::Other(&self.other_number()?)),
            },
        })
    }

    /// The words for a number that is no integer of 64 bits. They quote it as it was written.
    fn other_number(&mut self) -> Result<String, Error> {
        let text = self.pass_over()?;
        Ok(format!("floating point `{}`", Printable::new(text).at_most(NUMBER)))
    }

    /// Goes on behind the value that comes next, and returns its text; `None` if it does not end.
    fn value_text(&mut self) -> Option<&'de str> {
        let first = self.peek()?;
        let rest = self.rest();
        let end = Scanner::default().end_of_value(rest.as_bytes());
        let len = end.or_else(|| (!matches!(first, b'"' | b'[' | b'{')).then_some(rest.len()))?;
        self.at += len;
        Some(&rest[..len])
    }

    /// An error at the byte that was peeked at.
    #[cold]
    pub(super) fn error(&self, message: &str) -> Error {
        Error::new(message, self.address() + usize::from(self.at < self.text.len()))
    }

    /// An error without a place is here.
    #[inline]
    pub(super) fn placed<T>(&self, mut result: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &mut result {
            error.place(self.address());
        }
        result
    }

    /// What serde_json says of the value that comes next, which is none.
    #[cold]
    pub(super) fn refusal(&self) -> Error {
        Self::check(self.rest()).err().unwrap_or_else(|| self.error("expected value"))
    }

    /// Reads the integer that comes next; `None` if there is none. A negative zero is none, as in serde_json.
    #[inline]
    pub(super) fn integer(&mut self) -> Option<Integer> {
        self.peek()?;
        let text = self.rest().as_bytes();
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let is_negative = digits.len() < text.len();
        let (digits, behind) = digits.split_at(digits.iter().take_while(|byte| byte.is_ascii_digit()).count());
        let is_integer = behind.first().is_none_or(|byte| ends_scalar(*byte));
        if !is_integer || matches!(digits, [] | [b'0', _, ..]) || (is_negative && digits == b"0") {
            return None;
        }
        let add = |value: u64, digit: &u8| value.checked_mul(10)?.checked_add((digit - b'0').into());
        let magnitude = digits.iter().try_fold(0, add)?;
        let integer = match is_negative {
            true => Integer::Negative(0_i64.checked_sub_unsigned(magnitude)?),
            false => Integer::Positive(magnitude),
        };
        self.skip(text.len() - behind.len());
        Some(integer)
    }

    pub(super) fn rest(&self) -> &'de str {
        &self.text[self.at..]
    }

    pub(in crate::decode) fn at(&self) -> usize {
        self.at
    }

    /// Goes to a place that it has passed.
    pub(in crate::decode) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(super) fn address(&self) -> usize {
        self.text.as_ptr().addr() + self.at
    }
}

/// What is watched.
impl<'de> Reader<'de> {
    /// The object that comes next is watched.
    pub(in crate::decode) fn watched(&mut self, is_bookmark: bool) -> &mut Self {
        if let Some(watch) = &mut self.watch {
            watch.start(is_bookmark);
            (self.level, self.handed) = (Level::Object, 0);
        }
        self
    }

    /// What the object is that comes next, and what the one behind it is.
    #[inline]
    pub(super) fn enter_level(&mut self, next: Level) -> Level {
        core::mem::replace(&mut self.level, next)
    }

    #[inline]
    pub(super) fn is_at(&self, level: Level) -> bool {
        self.level == level
    }

    /// Notes the name of a member that is watched.
    pub(super) fn on_name(&mut self, level: Level, name: &str) -> Role {
        let own = self.given.iter_mut().filter(|(given, _)| level == Level::Object && *given == name);
        own.for_each(|(_, json)| *json = "");
        self.role = self.watch.as_mut().map_or(Role::Passed, |watch| watch.on_name(level, name));
        self.role
    }

    /// Passes over the value of a member that begins at `start`.
    pub(super) fn hide_from(&mut self, start: usize) -> Result<(), Error> {
        self.pass_over()?;
        if let Some(watch) = &mut self.watch {
            watch.on_hidden(start..self.at);
        }
        Ok(())
    }

    /// The name of the next member that the object is given.
    pub(super) fn next_given(&mut self) -> Option<&'static str> {
        while let Some(&(name, json)) = self.given.get(self.handed) {
            self.handed += 1;
            if !json.is_empty() {
                self.role = Role::Given;
                return Some(name);
            }
        }
        None
    }

    /// Goes to the value of the last name; returns the place to come back to, if it stands elsewhere.
    #[inline(never)]
    pub(super) fn begin_watched(
        &mut self,
        colon: fn(&mut Self) -> Result<(), Error>,
    ) -> Result<Option<(&'de str, usize)>, Error> {
        match core::mem::replace(&mut self.role, Role::Passed) {
            Role::Given => {
                let (_, json) = self.given[self.handed - 1];
                return Ok(Some((core::mem::replace(&mut self.text, json), core::mem::take(&mut self.at))));
            }
            Role::Noted => {
                colon(self)?;
                self.peek();
                let start = self.at;
                let json = self.pass_over()?;
                self.at = start;
                self.watch.as_mut().map_or(Ok(()), |watch| watch.on_value(json))?;
            }
            role => {
                colon(self)?;
                self.level = if role == Role::Metadata { Level::Metadata } else { Level::Plain };
            }
        }
        Ok(None)
    }

    /// Ends a value that was begun so.
    #[inline]
    pub(super) fn end_watched(&mut self, outside: Option<(&'de str, usize)>) {
        self.level = Level::Plain;
        if let Some(place) = outside {
            (self.text, self.at) = place;
        }
    }

    /// Reads an object as text, for [`Raw`](super::super::Raw).
    pub(super) fn object_text<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        self.peek();
        let start = self.at;
        IgnoredAny::deserialize(&mut *self)?;
        let text = &self.text[start..self.at];
        let rewritten =
            self.watch.as_ref().map_or_else(|| text.into(), |watch| watch.rewritten(text, start, &self.given));
        Self::check(&rewritten).or_else(|error| Self::check(text).and(Err(error)))?;
        visitor.visit_string(rewritten)
    }
}

/// A number without fraction and exponent, in 64 bits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Integer {
    Positive(u64),
    Negative(i64),
}

impl Integer {
    #[inline]
    pub(super) fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::Positive(value) => visitor.visit_u64(value),
            Self::Negative(value) => visitor.visit_i64(value),
        }
    }

    fn unexpected(self) -> Unexpected<'static> {
        match self {
            Self::Positive(value) => Unexpected::Unsigned(value),
            Self::Negative(value) => Unexpected::Signed(value),
        }
    }
}

/// Lets serde_json read the whole of `text`.
pub(super) fn by_serde_json<'de, T>(
    text: &'de str,
    read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> serde_json::Result<T>,
) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = read(&mut json).and_then(|value| json.end().map(|()| value));
    value.map_err(|error| Error::of_json(&error, text))
}

/// How many values come before the bracket that closes an array, or before the end of these bytes.
#[inline(never)]
fn values_in(mut inside: &[u8]) -> usize {
    let (mut scanner, mut count) = (Scanner::default(), 0);
    loop {
        let between = inside.iter().take_while(|byte| is_space(**byte) || **byte == b',').count();
        inside = &inside[between..];
        if let None | Some(b']') = inside.first() {
            return count;
        }
        count += 1;
        inside = scanner.end_of_value(inside).map_or(&[], |len| &inside[len..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_values_of_an_array_are_counted_whatever_is_inside_of_them() {
        const VALUES: [&str; 8] = [
            "1",
            "[]",
            "{}",
            r#""],[""#,
            r#""\",\\""#,
            r#"{"a":[1,{"b":2}],"y_":"~,"}"#,
            "[[1,2],[3,4,[5]]]",
            "\n null",
        ];
        for len in 0..100 {
            let values: Vec<&str> = (0..len).map(|at| VALUES[at * at % 11 % VALUES.len()]).collect();
            let inside = [&values.join(","), "] ,1,2"].concat();
            assert_eq!(values_in(inside.as_bytes()), len, "{inside}");
        }
    }

    #[test]
    fn of_an_array_without_its_end_the_values_up_to_there_are_counted() {
        assert_eq!(values_in(b"1,[2,3],{"), 3);
        assert_eq!(values_in("1,".repeat(100).as_bytes()), 100);
    }
}
