//! Reads JSON for any serde type, and passes over the values that the type does not want.
//!
//! [`Reader`] is the deserializer. It passes over an unwanted value by the framer's
//! [`Scanner`](crate::framing::Scanner): strings are told apart from brackets, and brackets are counted. Numbers with
//! fractions are left to serde_json, which is also the reference for all the rest: values, limits and messages are its
//! own. There are three differences:
//!
//! - The inside of an unwanted string, array or object is not checked.
//! - An enum is left to serde_json, so the brackets around it do not count in the depth of what it has.
//! - Errors of strings are a projection's, and those of numbers quote them as they were written.
//!
//! A [`Watch`] sees the members of an object, and of its metadata, in the same pass that reads the object's type.
//!
//! serde_json's numbers, and its errors, are 25 KB of firmware. They are linked if a type has a number with a fraction, or
//! reads values of any type.

mod access;
mod cursor;
mod deserializer;
mod error;
mod text;
mod watch;

pub(super) use access::{Access, OBJECT, read};
pub(super) use cursor::Reader;
pub(super) use error::Error;
pub(super) use text::Text;
pub(super) use watch::{Given, Level, OBJECT_TEXT, Role, Watch};

#[cfg(test)]
mod tests;
