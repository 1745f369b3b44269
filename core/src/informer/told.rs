use super::EventOf;
use crate::storage::Keyed;
use alloc::boxed::Box;
use core::fmt;

/// What a [`Subscriber`](super::Subscriber) is told.
#[expect(clippy::large_enum_variant, reason = "nearly all are events")]
pub enum Told<V: Keyed> {
    /// An event of the informer. Of several failures, or several objects that could not be decoded, the last one is
    /// told.
    Event(EventOf<V>),
    /// A mark of a state that is not told; see [`Subscription::marks`](super::Subscription::marks).
    Mark(Box<str>),
    /// States were not told whose marks are not known, because the function of the
    /// [marks](super::Subscription::marks) panicked. The function is not called any more. Later states that are not told
    /// are reported in the same way.
    MarksLost,
}

impl<V: Keyed<Key: Clone> + Clone> Clone for Told<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Event(event) => Self::Event(event.clone()),
            Self::Mark(mark) => Self::Mark(mark.clone()),
            Self::MarksLost => Self::MarksLost,
        }
    }
}

impl<V: Keyed<Key: PartialEq> + PartialEq> PartialEq for Told<V> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Event(one), Self::Event(other)) => one == other,
            (Self::Mark(one), Self::Mark(other)) => one == other,
            (Self::MarksLost, Self::MarksLost) => true,
            (Self::Event(_) | Self::Mark(_) | Self::MarksLost, _) => false,
        }
    }
}

impl<V: Keyed<Key: fmt::Debug> + fmt::Debug> fmt::Debug for Told<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(event) => f.debug_tuple("Event").field(event).finish(),
            Self::Mark(mark) => f.debug_tuple("Mark").field(mark).finish(),
            Self::MarksLost => f.write_str("MarksLost"),
        }
    }
}
