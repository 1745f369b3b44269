use crate::framing::EventType;
use crate::object::Key;
use crate::text::Printable;
use alloc::sync::Arc;
use core::fmt;

/// An item or event that could not be decoded, with the metadata that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError<K = Key> {
    /// The object's key; `None` where it could not be read.
    pub key: Option<K>,
    /// The object's version; `None` where it could not be read.
    pub version: Option<Arc<str>>,
    /// The type of the event; `None` in a list.
    pub event_type: Option<EventType>,
    /// The cause and its place in the frame, as one printable line ([`Printable`]).
    pub error: Arc<str>,
}

impl<K: fmt::Display> fmt::Display for DecodeError<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = Printable::new(&self.error);
        match &self.key {
            Some(key) => write!(f, "{}: {error}", Printable::new(key)),
            None => write!(f, "an object without a readable name: {error}"),
        }
    }
}

impl<K: fmt::Debug + fmt::Display> core::error::Error for DecodeError<K> {}
