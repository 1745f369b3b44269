//! Reads JSON for any serde type, and passes over the values that the type does not want.
//!
//! [`Reader`] is the deserializer. Brackets, commas and strings without escapes it reads itself. It passes over an
//! unwanted value by the framer's [`Scanner`](crate::framing::Scanner): strings are told apart from brackets, and brackets
//! are counted. Numbers, escapes, enums and values of the wrong type are left to serde_json, which is also the reference
//! for all the rest: values, limits and messages are its own. There are two differences:
//!
//! - The inside of an unwanted string, array or object is not checked.
//! - serde_json counts brackets anew in a value that is left to it. So an enum may have 127 of them, however deep it is.

mod access;
mod cursor;
mod deserializer;
mod error;
mod key;
mod unread;

pub(super) use cursor::{RAW_VALUE, Reader};
pub(super) use error::Error;
pub(super) use unread::{UNREAD, Unread};

#[cfg(test)]
mod tests;
