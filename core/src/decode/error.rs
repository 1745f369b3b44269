use crate::framing::EventType;
#[cfg(feature = "json")]
use crate::object::Key;
use crate::object::Version;
#[cfg(feature = "fixed")]
use crate::projection::Problem;
use crate::text::{Printable, SharedText};
use core::fmt;

/// A [`DecodeErrorOf`] an object of this key.
#[cfg(feature = "json")]
pub type DecodeError<K = Key> = DecodeErrorOf<K>;

/// An item or event that could not be decoded, with the metadata that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct DecodeErrorOf<K> {
    /// The object's key; `None` where it could not be read.
    pub key: Option<K>,
    /// The object's version; `None` where it could not be read.
    pub version: Option<Version>,
    /// The type of the event; `None` in a list.
    pub event_type: Option<EventType>,
    /// The cause and its place in the frame.
    pub error: Reason,
}

/// The reason that an item or event could not be decoded. [`Display`](fmt::Display) writes it as one printable line
/// ([`Printable`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Reason {
    /// A decoder's own words.
    Text(SharedText),
    /// A projection's problem.
    #[cfg(feature = "fixed")]
    Problem(Problem),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => Printable::new(text).fmt(f),
            #[cfg(feature = "fixed")]
            Self::Problem(problem) => problem.fmt(f),
        }
    }
}

impl<T: Into<SharedText>> From<T> for Reason {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl<K: fmt::Display> fmt::Display for DecodeErrorOf<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{}: {}", Printable::new(key), self.error),
            None => write!(f, "an object without a readable name: {}", self.error),
        }
    }
}

impl<K: fmt::Debug + fmt::Display> core::error::Error for DecodeErrorOf<K> {}
