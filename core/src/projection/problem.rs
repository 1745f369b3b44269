//! Why an object, or another part of an answer, could not be decoded.

use crate::text::Printable;
use core::fmt;

/// The reason that an object, or another part of an answer, could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Problem {
    /// The path of the field; `None` if it is about the whole.
    pub field: Option<&'static str>,
    /// The reason.
    pub cause: Cause,
    /// How many bytes of the event, item or object come before.
    pub at: usize,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Cause {
    /// A value has another type.
    WrongType {
        /// What it is.
        found: &'static str,
        /// What the field takes.
        expected: &'static str,
    },
    /// A text is too long for its field.
    TooLong {
        /// How many bytes the field takes.
        most: usize,
    },
    /// A number is too large or too small for its field.
    OutOfRange,
    /// A field refused its value; an earlier problem was told instead, but a later member replaced that value.
    Refused,
    /// The text is no JSON.
    Syntax(&'static str),
    /// The object has no `metadata.name`.
    NoName,
    /// An event has no `type`, or no `object`.
    NoEvent,
    /// An event has a type that no server sends today.
    UnknownType,
    /// A field, or another part of the projection, panicked.
    Panicked,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{}: ", Printable::new(field))?;
        }
        write!(f, "{} at byte {}", self.cause, self.at)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongType { found, expected } => write!(f, "{found} instead of {expected}"),
            Self::TooLong { most } => write!(f, "longer than {most} bytes"),
            Self::OutOfRange => f.write_str("the number is out of range"),
            Self::Refused => f.write_str("the value was refused"),
            Self::Syntax(message) => f.write_str(message),
            Self::NoName => f.write_str("the object has no metadata.name"),
            Self::NoEvent => f.write_str("the event has no type or no object"),
            Self::UnknownType => f.write_str("unknown type of event"),
            Self::Panicked => f.write_str("the projection panicked"),
        }
    }
}

impl core::error::Error for Problem {}
