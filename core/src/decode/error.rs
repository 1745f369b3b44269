use super::watch::EventType;
use crate::object::Key;
use crate::text::Printable;
use alloc::sync::Arc;
use core::fmt;

/// A frame that holds no `T`, with what could be read of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError<K = Key> {
    /// The object's key.
    pub key: Option<K>,
    /// The object's version.
    pub version: Option<Arc<str>>,
    /// What happened to the object; `None` in a list.
    pub event_type: Option<EventType>,
    /// What is wrong and where in the frame, for a person: a line that [`Printable`] made.
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
