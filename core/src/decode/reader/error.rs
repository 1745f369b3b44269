use super::found::Found;
use crate::text::Printable;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use serde::de::{self, Expected, Unexpected};

/// How many characters of an error's text are kept, besides its place in the text.
const QUOTED: usize = 512;

/// The reason that a text cannot be read.
#[derive(Debug)]
pub(in crate::decode) struct Error(Box<Cause>);

#[derive(Debug)]
struct Cause {
    message: String,
    /// The address behind the byte that shows the error, once it is known.
    address: Option<usize>,
}

impl Error {
    pub(super) fn new(message: &str, address: usize) -> Self {
        Self(Box::new(Cause { message: message.into(), address: Some(address) }))
    }

    /// What serde_json says of `text`.
    pub(in crate::decode) fn of_json(error: &serde_json::Error, text: &str) -> Self {
        let (whole, place) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
        let message = whole.strip_suffix(&place).map_or(&*whole, |message| message);
        let lines_before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
        let offset = lines_before.map(str::len).sum::<usize>() + error.column();
        Self::new(message, text.as_ptr().addr() + offset)
    }

    /// Places it at this address, unless its place is known.
    #[cold]
    pub(super) fn place(&mut self, address: usize) {
        self.0.address.get_or_insert(address);
    }

    /// The address behind the byte that shows the error.
    pub(in crate::decode) fn address(&self) -> Option<usize> {
        self.0.address
    }

    /// The error as one printable line, with its place in `text` at the end. A message may quote most of the text, and is
    /// cut. `address` comes before the error's own.
    pub(in crate::decode) fn describe(&self, text: &str, address: Option<usize>) -> String {
        let message = Printable::new(&self.0.message).at_most(QUOTED);
        let offset = address.or(self.0.address).and_then(|address| address.checked_sub(text.as_ptr().addr()));
        let Some(before) = offset.and_then(|offset| text.as_bytes().get(..offset)) else { return message.to_string() };
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{message} at line {line} column {}", before.len() - line_start)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl core::error::Error for Error {}

impl de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Cause { message: message.to_string(), address: None }))
    }

    #[cold]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", Found(unexpected)))
    }

    #[cold]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {}, expected {expected}", Found(unexpected)))
    }
}
